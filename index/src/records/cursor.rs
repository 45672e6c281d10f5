//! Walking a store in the order of record ids, in both directions.

use super::inner::Node;
use super::leaf::Leaf;
use crate::page::{PageVisitor, RecordId};

/// A place between two documents of a snapshot.
///
/// It owns what it walks over (no lifetime): the root when it was made, and the leaf that it is in. What
/// is written to the store later, it does not see. Going from leaf to leaf is a way down from the
/// root, a matter of nanoseconds against the documents of a leaf, and needs no stack of pages.
#[derive(Clone, Debug)]
pub struct Cursor {
    root: Node,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// Before the documents from this id on; its leaf was not yet read.
    Unread(u64),
    Within {
        leaf: Leaf,
        /// Slots below this lie before the cursor.
        slot: usize,
        /// Ids in this leaf are not below this; 0 in the first leaf.
        low: u64,
        /// Ids in this leaf are below this; none in the last leaf.
        high: Option<u64>,
    },
}

impl Cursor {
    pub(super) fn new(root: Node, rid: u64) -> Cursor {
        Cursor { root, place: Place::Unread(rid) }
    }

    /// Moves between the documents with ids below `rid` and those from `rid` on.
    pub fn seek(&mut self, rid: RecordId) {
        match &mut self.place {
            Place::Within { leaf, slot, low, high } if *low <= rid.0 && high.is_none_or(|high| rid.0 < high) => {
                *slot = leaf.lower_bound(rid.0);
            }
            place => *place = Place::Unread(rid.0),
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
        loop {
            match &mut self.place {
                Place::Within { leaf, slot, .. } if *slot < leaf.slots() => {
                    if !leaf.is_hole(*slot) {
                        break;
                    }
                    *slot += 1;
                }
                Place::Within { high: None, .. } => return None,
                Place::Within { high: Some(high), .. } => {
                    let high = *high;
                    self.read(high, visitor);
                }
                Place::Unread(rid) => {
                    let rid = *rid;
                    self.read(rid, visitor);
                }
            }
        }
        let Place::Within { leaf, slot, .. } = &mut self.place else {
            return None;
        };
        let at = *slot;
        *slot += 1;
        Some((RecordId(leaf.rid_at(at)), leaf.document(at, visitor)?))
    }

    /// The document before the cursor, which it then lies before.
    #[inline]
    pub fn prev(&mut self, visitor: &mut impl PageVisitor) -> Option<(RecordId, &[u8])> {
        loop {
            match &mut self.place {
                Place::Within { leaf, slot, .. } if *slot > 0 => {
                    *slot -= 1;
                    if !leaf.is_hole(*slot) {
                        break;
                    }
                }
                Place::Within { low: 0, .. } => return None,
                Place::Within { low, .. } => {
                    let before = *low - 1;
                    self.read(before, visitor);
                    // All of that leaf lies before `low`.
                    if let Place::Within { leaf, slot, .. } = &mut self.place {
                        *slot = leaf.slots();
                    }
                }
                Place::Unread(rid) => {
                    let rid = *rid;
                    self.read(rid, visitor);
                }
            }
        }
        let Place::Within { leaf, slot, .. } = &self.place else {
            return None;
        };
        Some((RecordId(leaf.rid_at(*slot)), leaf.document(*slot, visitor)?))
    }

    /// Goes down to the leaf of `rid` and places the cursor before `rid` in it.
    #[cold]
    fn read(&mut self, rid: u64, visitor: &mut impl PageVisitor) {
        let (mut node, mut low, mut high) = (&self.root, 0, None);
        let leaf = loop {
            match node {
                Node::Leaf(leaf) => break leaf,
                Node::Inner(child) => {
                    child.page.touch(visitor);
                    let page = &child.page;
                    let at = page.child_for(rid);
                    if at > 0 {
                        low = page.firsts[at];
                    }
                    high = page.firsts.get(at + 1).copied().or(high);
                    node = &page.children[at];
                }
            }
        };
        leaf.touch(visitor);
        let slot = leaf.lower_bound(rid);
        self.place = Place::Within { leaf: leaf.clone(), slot, low, high };
    }
}
