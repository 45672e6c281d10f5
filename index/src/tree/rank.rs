//! Counting without scanning: ranks and counts of ranges from the counts in the inner pages.
//!
//! Each answer dereferences one page a level for each end of the range, and is exact.

use std::ops::Bound;

use super::inner::Children;
use super::search::{touch_inner, touch_leaf};
use super::{Node, Tree};
use crate::page::PageVisitor;

impl Tree {
    /// How many entries have a key below `key`.
    pub fn rank(&self, key: &[u8], visitor: &mut impl PageVisitor) -> u64 {
        self.rank_and_presence(key, visitor).0
    }

    /// How many entries lie between two bounds; 0 if the lower lies above the upper.
    pub fn count_range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, visitor: &mut impl PageVisitor) -> u64 {
        let before = match low {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rank(key, visitor),
            Bound::Excluded(key) => self.rank_behind(key, visitor),
        };
        let up_to = match high {
            Bound::Unbounded => self.len(),
            Bound::Included(key) => self.rank_behind(key, visitor),
            Bound::Excluded(key) => self.rank(key, visitor),
        };
        up_to.saturating_sub(before)
    }

    /// How many entries have a key not above `key`.
    fn rank_behind(&self, key: &[u8], visitor: &mut impl PageVisitor) -> u64 {
        let (rank, present) = self.rank_and_presence(key, visitor);
        rank + u64::from(present)
    }

    fn rank_and_presence(&self, key: &[u8], visitor: &mut impl PageVisitor) -> (u64, bool) {
        let mut rank = 0;
        let leaf = match &self.root {
            Node::Leaf(leaf) => leaf,
            Node::Inner(root) => {
                let mut inner = &**root;
                loop {
                    touch_inner(inner, visitor);
                    let child = inner.child_for(key);
                    rank += inner.rank(child);
                    match &inner.children {
                        Children::Leaves(list) => break &list[child],
                        Children::Inners(list) => inner = &list[child],
                    }
                }
            }
        };
        touch_leaf(leaf, visitor);
        let place = leaf.locate(key);
        (rank + leaf.rank(&place) as u64, place.exact)
    }
}
