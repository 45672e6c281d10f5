//! What pages say of themselves for the tree's accounts, and the list of leaf pages for teaching
//! tools.

use std::sync::Arc;

use super::inner::{Children, Inner};
use super::leaf::Leaf;
use super::{Node, Tree};
use crate::page::{PageId, TreeStats};

/// What the tree's verbs need of a page of either kind.
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

/// A leaf page as a teaching tool shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafPage {
    /// The page's id.
    pub id: PageId,
    /// Entries in the page.
    pub entries: u32,
    /// Runs of prefix-compressed entries; each starts with a key stored whole.
    pub runs: u32,
    /// The bytes that all keys of the page share and that are stored once.
    pub common_prefix: Vec<u8>,
    /// Bytes that hold something, header included.
    pub used_bytes: u32,
    /// Bytes the page occupies.
    pub bytes: u32,
}

/// Iterates over a tree's leaf pages in key order.
struct LeafPages<'a> {
    path: Vec<(&'a Inner, usize)>,
    next: Option<&'a Leaf>,
}

impl Tree {
    /// The leaf pages in key order.
    pub fn leaf_pages(&self) -> impl Iterator<Item = LeafPage> + '_ {
        let mut pages = LeafPages { path: Vec::new(), next: None };
        match &self.root {
            Node::Leaf(leaf) => pages.next = Some(leaf),
            Node::Inner(inner) => pages.descend(inner),
        }
        pages.map(|leaf| LeafPage {
            id: leaf.id,
            entries: leaf.entries,
            runs: leaf.runs,
            common_prefix: leaf.prefix().to_vec(),
            used_bytes: leaf.in_use() as u32,
            bytes: leaf.allocated() as u32,
        })
    }
}

impl<'a> LeafPages<'a> {
    /// Goes down to the first leaf below a page.
    fn descend(&mut self, mut inner: &'a Inner) {
        loop {
            self.path.push((inner, 1));
            match &inner.children {
                Children::Leaves(list) => {
                    self.next = list.first().map(|page| &**page);
                    return;
                }
                Children::Inners(list) => match list.first() {
                    Some(child) => inner = child,
                    None => return,
                },
            }
        }
    }
}

impl<'a> Iterator for LeafPages<'a> {
    type Item = &'a Leaf;

    fn next(&mut self) -> Option<&'a Leaf> {
        let leaf = self.next.take()?;
        while let Some((inner, child)) = self.path.pop() {
            if child == inner.len() {
                continue;
            }
            self.path.push((inner, child + 1));
            match &inner.children {
                Children::Leaves(list) => self.next = Some(&list[child]),
                Children::Inners(list) => self.descend(&list[child]),
            }
            break;
        }
        Some(leaf)
    }
}
