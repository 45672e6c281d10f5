//! Walking a store in the order of record ids, in both directions.

use std::sync::Arc;

use super::inner::{Inner, Node};
use super::leaf::Leaf;
use crate::page::{PageVisitor, RecordId};

/// A place between two documents of a snapshot.
///
/// It owns what it walks over (no lifetime): the root when it was made, and the inner page whose
/// leaves it is walking. What is written to the store later, it does not see. Going to the next leaf
/// raises no reference count: that would keep the processor from reading ahead into it.
#[derive(Clone, Debug)]
pub struct Cursor {
    root: Node,
    /// The page whose child the leaf is; none if the root is a leaf, or nothing was read yet.
    page: Option<Arc<Inner>>,
    /// Which of its children.
    child: usize,
    /// Slots of the leaf below this lie before the cursor.
    slot: usize,
    /// Ids below `page` are not below this; 0 in the first page.
    low: u64,
    /// Ids below `page` are below this; none in the last page.
    high: Option<u64>,
    /// Where it was told to go, until it has read its leaf.
    target: Option<u64>,
}

impl Cursor {
    pub(super) fn new(root: Node, rid: u64) -> Cursor {
        Cursor { root, page: None, child: 0, slot: 0, low: 0, high: None, target: Some(rid) }
    }

    /// Moves between the documents with ids below `rid` and those from `rid` on.
    pub fn seek(&mut self, rid: RecordId) {
        // The usual next place is in the same leaf, or in one beside it.
        let near = match (&self.page, self.target) {
            (Some(page), None) => {
                let within = self.low <= rid.0 && self.high.is_none_or(|high| rid.0 < high);
                within && page.child_for(rid.0) == self.child
            }
            (None, None) => true,
            (_, Some(_)) => false,
        };
        match self.leaf() {
            Some(leaf) if near => self.slot = leaf.lower_bound(rid.0),
            _ => self.target = Some(rid.0),
        }
    }

    /// Moves before the first document.
    pub fn seek_to_start(&mut self) {
        self.seek(RecordId(0));
    }

    /// Moves after the last document.
    pub fn seek_to_end(&mut self) {
        self.seek(RecordId(u64::MAX));
    }

    /// The next document, which the cursor then lies after.
    ///
    /// (Not an `Iterator`: the document is borrowed from the cursor.)
    #[inline]
    pub fn next(&mut self, visitor: &mut impl PageVisitor) -> Option<(RecordId, &[u8])> {
        let slot = loop {
            match self.next_in_leaf() {
                Some(slot) => break slot,
                None if self.read_next(visitor) => {}
                None => return None,
            }
        };
        self.found(slot, visitor)
    }

    /// The documents after the cursor that lie in its leaf (or, if there are none, in the next): a
    /// scan takes less time over runs than over [`next`](Cursor::next), and may leave one half-way.
    /// None at the end.
    #[inline]
    pub fn next_run<'a, V: PageVisitor>(&'a mut self, visitor: &'a mut V) -> Option<Run<'a, V>> {
        while self.leaf().is_none_or(|leaf| self.slot >= leaf.slots()) {
            if !self.read_next(visitor) {
                return None;
            }
        }
        let node = match &self.page {
            Some(page) => page.children.get(self.child)?,
            None => &self.root,
        };
        match node {
            Node::Leaf(leaf) => Some(Run { leaf, next: self.slot, slot: &mut self.slot, visitor }),
            Node::Inner(_) => None,
        }
    }

    /// The document before the cursor, which it then lies before.
    #[inline]
    pub fn prev(&mut self, visitor: &mut impl PageVisitor) -> Option<(RecordId, &[u8])> {
        let slot = loop {
            match self.prev_in_leaf() {
                Some(slot) => break slot,
                None if self.read_prev(visitor) => {}
                None => return None,
            }
        };
        self.found(slot, visitor)
    }

    /// The leaf that it is in, if it has read one.
    #[inline(always)]
    fn leaf(&self) -> Option<&Leaf> {
        let node = match &self.page {
            Some(page) => page.children.get(self.child)?,
            None => &self.root,
        };
        match node {
            Node::Leaf(leaf) if self.target.is_none() => Some(leaf),
            _ => None,
        }
    }

    #[inline(always)]
    fn found(&self, slot: usize, visitor: &mut impl PageVisitor) -> Option<(RecordId, &[u8])> {
        let leaf = self.leaf()?;
        Some((RecordId(leaf.rid_at(slot)), leaf.document(slot, visitor)?))
    }

    #[inline(always)]
    fn next_in_leaf(&mut self) -> Option<usize> {
        let leaf = self.leaf()?;
        let slot = (self.slot..leaf.slots()).find(|slot| !leaf.is_hole(*slot))?;
        self.slot = slot + 1;
        Some(slot)
    }

    #[inline(always)]
    fn prev_in_leaf(&mut self) -> Option<usize> {
        let leaf = self.leaf()?;
        let slot = (0..self.slot).rfind(|slot| !leaf.is_hole(*slot))?;
        self.slot = slot;
        Some(slot)
    }

    /// Goes to the start of the leaf after this one, or to the target; false if there is none.
    #[inline(never)]
    fn read_next(&mut self, visitor: &mut impl PageVisitor) -> bool {
        if let Some(rid) = self.target {
            self.read(rid, visitor);
            return true;
        }
        let next = self.child + 1;
        match (&self.page, self.high) {
            (Some(page), _) if next < page.children.len() => {
                if let Some(Node::Leaf(after)) = page.children.get(next + 1) {
                    after.warm();
                }
                self.child = next;
                self.slot = 0;
                self.touch_leaf(visitor);
                true
            }
            (_, Some(high)) => {
                self.read(high, visitor);
                true
            }
            (_, None) => false,
        }
    }

    /// Goes to the end of the leaf before this one, or to the target; false if there is none.
    #[inline(never)]
    fn read_prev(&mut self, visitor: &mut impl PageVisitor) -> bool {
        if let Some(rid) = self.target {
            self.read(rid, visitor);
            return true;
        }
        if self.child > 0 {
            self.child -= 1;
            self.touch_leaf(visitor);
        } else if let Some(before) = self.low.checked_sub(1) {
            self.read(before, visitor);
        } else {
            return false;
        }
        self.slot = self.leaf().map_or(0, Leaf::slots);
        true
    }

    fn touch_leaf(&self, visitor: &mut impl PageVisitor) {
        if let Some(leaf) = self.leaf() {
            leaf.touch(visitor);
        }
    }

    /// Goes down to the leaf of `rid` and places the cursor before `rid` in it.
    fn read(&mut self, rid: u64, visitor: &mut impl PageVisitor) {
        (self.page, self.child, self.low, self.high) = (None, 0, 0, None);
        let mut node = &self.root;
        while let Node::Inner(below) = node {
            let page = &below.page;
            page.touch(visitor);
            let child = page.child_for(rid);
            node = &page.children[child];
            if let Node::Leaf(_) = node {
                self.page = Some(Arc::clone(page));
                self.child = child;
            } else {
                if child > 0 {
                    self.low = page.firsts[child];
                }
                self.high = page.firsts.get(child + 1).copied().or(self.high);
            }
        }
        self.target = None;
        self.touch_leaf(visitor);
        self.slot = self.leaf().map_or(0, |leaf| leaf.lower_bound(rid));
    }
}

/// Documents of one leaf, in order; see [`Cursor::next_run`]. The cursor goes along: it lies after the
/// last document taken when the run is dropped.
pub struct Run<'a, V> {
    leaf: &'a Leaf,
    next: usize,
    /// The cursor's place, set when the run ends.
    slot: &'a mut usize,
    visitor: &'a mut V,
}

impl<'a, V: PageVisitor> Iterator for Run<'a, V> {
    type Item = (RecordId, &'a [u8]);

    #[inline(always)]
    fn next(&mut self) -> Option<(RecordId, &'a [u8])> {
        while self.next < self.leaf.slots() {
            let slot = self.next;
            self.next += 1;
            if let Some(document) = self.leaf.document(slot, self.visitor) {
                return Some((RecordId(self.leaf.rid_at(slot)), document));
            }
        }
        None
    }
}

impl<V> Drop for Run<'_, V> {
    fn drop(&mut self) {
        *self.slot = self.next;
    }
}
