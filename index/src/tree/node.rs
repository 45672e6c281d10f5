//! What the tree's verbs need of a page of either kind.

use std::sync::Arc;

use super::inner::{Children, Inner};
use super::leaf::Leaf;
use crate::page::TreeStats;

/// A page of either kind.
#[derive(Clone)]
pub(super) enum Node {
    Leaf(Arc<Leaf>),
    Inner(Arc<Inner>),
}

/// A page below an inner page, and its part in the tree's accounts.
pub(super) trait Page: Sized + Clone {
    /// Entries in or below the page.
    fn entries(&self) -> u64;
    /// What the page occupies in memory.
    fn bytes(&self) -> usize;
    /// The children of this kind, if these children are.
    fn list(children: &mut Children) -> Option<&mut Vec<Arc<Self>>>;
    /// Children of this kind.
    fn children(list: Vec<Arc<Self>>) -> Children;
    /// Counts the page itself.
    fn count(&self, stats: &mut TreeStats);
    /// Takes the page itself out of the statistics, before it is changed or dropped.
    fn uncount(&self, stats: &mut TreeStats);
    /// Takes the page and all below it out of the statistics.
    fn discard(&self, stats: &mut TreeStats);
}

impl Page for Leaf {
    #[inline]
    fn entries(&self) -> u64 {
        u64::from(self.entries)
    }
    #[inline]
    fn bytes(&self) -> usize {
        self.allocated()
    }
    fn list(children: &mut Children) -> Option<&mut Vec<Arc<Leaf>>> {
        match children {
            Children::Leaves(list) => Some(list),
            Children::Inners(_) => None,
        }
    }
    fn children(list: Vec<Arc<Leaf>>) -> Children {
        Children::Leaves(list)
    }
    #[inline]
    fn count(&self, stats: &mut TreeStats) {
        stats.leaf_pages += 1;
        stats.leaf_bytes += self.allocated() as u64;
        stats.used_bytes += self.in_use() as u64;
    }
    #[inline]
    fn uncount(&self, stats: &mut TreeStats) {
        stats.leaf_pages -= 1;
        stats.leaf_bytes -= self.allocated() as u64;
        stats.used_bytes -= self.in_use() as u64;
    }
    fn discard(&self, stats: &mut TreeStats) {
        self.uncount(stats);
    }
}

impl Page for Inner {
    #[inline]
    fn entries(&self) -> u64 {
        self.entries
    }
    #[inline]
    fn bytes(&self) -> usize {
        self.allocated()
    }
    fn list(children: &mut Children) -> Option<&mut Vec<Arc<Inner>>> {
        match children {
            Children::Inners(list) => Some(list),
            Children::Leaves(_) => None,
        }
    }
    fn children(list: Vec<Arc<Inner>>) -> Children {
        Children::Inners(list)
    }
    #[inline]
    fn count(&self, stats: &mut TreeStats) {
        stats.inner_pages += 1;
        stats.inner_bytes += self.allocated() as u64;
        stats.used_bytes += self.in_use() as u64;
    }
    #[inline]
    fn uncount(&self, stats: &mut TreeStats) {
        stats.inner_pages -= 1;
        stats.inner_bytes -= self.allocated() as u64;
        stats.used_bytes -= self.in_use() as u64;
    }
    fn discard(&self, stats: &mut TreeStats) {
        match &self.children {
            Children::Leaves(list) => list.iter().for_each(|page| page.discard(stats)),
            Children::Inners(list) => list.iter().for_each(|page| page.discard(stats)),
        }
        self.uncount(stats);
    }
}
