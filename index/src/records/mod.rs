//! The record store: documents by [`RecordId`], in copy-on-write pages.
//!
//! A document is an opaque string of bytes. It is stored under the next id ([`append`]) or a given
//! one ([`insert_at`]), and lies in memory as one piece, so that [`get`] gives a slice and a matcher
//! can walk it.
//!
//! ```text
//!  root: inner page   | 1      | 40211  | 81011 |            lowest id of each child, documents below
//!                         |        |        `---------.
//!        inner pages  | 1: leaf head | 196: leaf head | ...   heads of leaves: id, base, counts
//!                           |
//!        leaves       | documents ...       slots |            one body of bytes each
//!                                              |
//!        overflow     | one large document |
//! ```
//!
//! Ids are dense, so a leaf finds a document by subtraction, not by search, and the head that tells
//! how lies in the parent: a lookup waits for memory twice (slot, document) once the few inner
//! pages are cached.
//!
//! All pages are reference-counted. Cloning [`Records`] shares the root and so takes a snapshot;
//! a change copies the pages on its way that a snapshot still holds, and writes in place in the
//! others. A [`Cursor`] holds such a snapshot.
//!
//! Pages are as large as they are filled (in steps) and at most as large as the page size of the
//! store. Their bytes in [`stats`] are the bytes allocated. When ids ascend, a full leaf is left full;
//! a leaf less than a quarter full is merged with a neighbour; an empty store has no pages to speak
//! of. Every change needs the store exclusively (`&mut`); locking is the engine's.
//!
//! [`append`]: Records::append
//! [`insert_at`]: Records::insert_at
//! [`get`]: Records::get
//! [`stats`]: Records::stats

mod cursor;
mod edit;
mod inner;
mod layout;
mod leaf;
mod overflow;
mod rebuild;
mod slot;
#[cfg(test)]
mod tests;
mod totals;
mod validate;

use std::fmt;

pub use cursor::Cursor;
pub use layout::DEFAULT_PAGE_BYTES;

use crate::page::{PageId, PageVisitor, RecordId, TreeStats, Untraced};
use edit::Editor;
use inner::Node;
use layout::Layout;
use leaf::Leaf;
use rebuild::Packer;
use totals::Totals;

/// The highest id that a document can be stored under, as in MongoDB: ids are positive `i64`.
pub const MAX_RECORD_ID: RecordId = RecordId(i64::MAX as u64);

/// Why a document was not stored under a given id. The store is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    /// There is a document under this id.
    Occupied(RecordId),
    /// The id is above [`MAX_RECORD_ID`].
    OutOfRange(RecordId),
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertError::Occupied(rid) => write!(f, "record id {} is taken", rid.0),
            InsertError::OutOfRange(rid) => write!(f, "record id {} is too high", rid.0),
        }
    }
}

impl std::error::Error for InsertError {}

/// A record store; see the module. `clone` takes a snapshot in O(1).
#[derive(Clone, Debug)]
pub struct Records {
    layout: Layout,
    root: Node,
    totals: Totals,
    next: u64,
}

impl Default for Records {
    fn default() -> Records {
        Records::new()
    }
}

impl Records {
    /// An empty store with pages of [`DEFAULT_PAGE_BYTES`].
    pub fn new() -> Records {
        Records::with_page_bytes(DEFAULT_PAGE_BYTES)
    }

    /// An empty store whose pages are at most `page_bytes` long, taken to the next power of two
    /// between 4 KiB and 128 KiB.
    pub fn with_page_bytes(page_bytes: usize) -> Records {
        let layout = Layout::new(page_bytes);
        let mut totals = Totals::default();
        let root = Leaf::empty();
        totals.credit_leaf(&root, layout);
        Records { layout, root: Node::Leaf(root), totals, next: 1 }
    }

    /// The largest size of a page.
    pub fn page_bytes(&self) -> usize {
        self.layout.page_bytes()
    }

    // --- reading ---

    /// Documents.
    #[inline]
    pub fn len(&self) -> u64 {
        self.totals.stats().entries
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all documents together.
    pub fn data_bytes(&self) -> u64 {
        self.totals.document_bytes()
    }

    /// The id that [`append`](Records::append) gives next: above every id ever used.
    pub fn next_id(&self) -> RecordId {
        RecordId(self.next)
    }

    /// The document under `rid`.
    #[inline]
    pub fn get(&self, rid: RecordId, visitor: &mut impl PageVisitor) -> Option<&[u8]> {
        self.leaf_for(rid.0, visitor).get(rid.0, visitor)
    }

    /// Whether there is a document under `rid`.
    pub fn contains(&self, rid: RecordId) -> bool {
        self.page_of(rid).is_some()
    }

    /// The page in which the bytes of the document under `rid` lie: a leaf or an overflow page.
    pub fn page_of(&self, rid: RecordId) -> Option<PageId> {
        let leaf = self.leaf_for(rid.0, &mut Untraced);
        leaf.page_of(leaf.find(rid.0)?)
    }

    /// The lowest id.
    pub fn first(&self) -> Option<RecordId> {
        self.nth(0, &mut Untraced)
    }

    /// The highest id.
    pub fn last(&self) -> Option<RecordId> {
        self.nth(self.len().checked_sub(1)?, &mut Untraced)
    }

    /// The id of the `n`-th document in order, from 0. O(log n) pages.
    pub fn nth(&self, n: u64, visitor: &mut impl PageVisitor) -> Option<RecordId> {
        let (mut node, mut n) = (&self.root, n);
        loop {
            match node {
                Node::Leaf(leaf) => {
                    leaf.touch(visitor);
                    return leaf.nth(n).map(|slot| RecordId(leaf.rid_at(slot)));
                }
                Node::Inner(child) => {
                    child.page.touch(visitor);
                    node = child.page.children.iter().find(|node| {
                        let below = n < node.entries();
                        if !below {
                            n -= node.entries();
                        }
                        below
                    })?;
                }
            }
        }
    }

    /// How many documents have lower ids than `rid`. O(log n) pages.
    pub fn rank(&self, rid: RecordId, visitor: &mut impl PageVisitor) -> u64 {
        let (mut node, mut before) = (&self.root, 0);
        loop {
            match node {
                Node::Leaf(leaf) => {
                    leaf.touch(visitor);
                    return before + leaf.live_before(leaf.lower_bound(rid.0));
                }
                Node::Inner(child) => {
                    child.page.touch(visitor);
                    let at = child.page.child_for(rid.0);
                    before += child.page.children[..at].iter().map(Node::entries).sum::<u64>();
                    node = &child.page.children[at];
                }
            }
        }
    }

    /// A cursor before the first document. It sees the store as it is now.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.root.clone(), 0)
    }

    /// A cursor between the documents with ids below `rid` and those from `rid` on.
    pub fn cursor_at(&self, rid: RecordId) -> Cursor {
        Cursor::new(self.root.clone(), rid.0)
    }

    /// A cursor after the last document.
    pub fn cursor_at_end(&self) -> Cursor {
        Cursor::new(self.root.clone(), u64::MAX)
    }

    /// What the store occupies. Kept up to date; costs a few additions.
    pub fn stats(&self) -> TreeStats {
        TreeStats { height: self.root.height(), ..*self.totals.stats() }
    }

    /// Walks all pages, and compares what it finds with everything that is stored redundantly:
    /// order, separators, counts, placement of documents, statistics.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn validate(&self) -> Result<TreeStats, String> {
        validate::walk(self)
    }

    #[inline(always)]
    fn leaf_for(&self, rid: u64, visitor: &mut impl PageVisitor) -> &Leaf {
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    leaf.touch(visitor);
                    return leaf;
                }
                Node::Inner(child) => {
                    child.page.touch(visitor);
                    node = &child.page.children[child.page.child_for(rid)];
                }
            }
        }
    }

    // --- changing ---

    /// Stores `document` under the next id.
    pub fn append(&mut self, document: &[u8], visitor: &mut impl PageVisitor) -> RecordId {
        let rid = self.next;
        let mut editor = Editor { layout: self.layout, totals: &mut self.totals, visitor };
        if !editor.append(&mut self.root, rid, document) {
            editor.insert(&mut self.root, rid, document);
        }
        self.next += 1;
        RecordId(rid)
    }

    /// Stores `document` under `rid`: an id above all others, or one that is free.
    ///
    /// # Errors
    /// If the id is taken or too high.
    pub fn insert_at(
        &mut self,
        rid: RecordId,
        document: &[u8],
        visitor: &mut impl PageVisitor,
    ) -> Result<(), InsertError> {
        if rid > MAX_RECORD_ID {
            return Err(InsertError::OutOfRange(rid));
        }
        if rid.0 < self.next && self.contains(rid) {
            return Err(InsertError::Occupied(rid));
        }
        let mut editor = Editor { layout: self.layout, totals: &mut self.totals, visitor };
        editor.insert(&mut self.root, rid.0, document);
        self.next = self.next.max(rid.0 + 1);
        Ok(())
    }

    /// Puts `document` in place of what is under `rid`; false, and nothing changed, if that is
    /// nothing.
    ///
    /// The same size is written in place. Another size stays in its page while that has the room.
    pub fn update(&mut self, rid: RecordId, document: &[u8], visitor: &mut impl PageVisitor) -> bool {
        let write = |place: &mut [u8]| place.copy_from_slice(document);
        self.update_with(rid, document.len(), write, visitor)
    }

    /// Gives the document under `rid` `new_len` bytes and lets `write` change it: it finds what was
    /// there, as far as `new_len` goes, followed by zeroes. False, and `write` not called, if there
    /// is nothing under `rid`.
    ///
    /// With room in the page the document is changed where it lies, and grows without being
    /// assembled elsewhere first.
    pub fn update_with(
        &mut self,
        rid: RecordId,
        new_len: usize,
        write: impl FnOnce(&mut [u8]),
        visitor: &mut impl PageVisitor,
    ) -> bool {
        // Looked up first, so that a miss copies no page that a snapshot holds.
        if !self.contains(rid) {
            return false;
        }
        let mut editor = Editor { layout: self.layout, totals: &mut self.totals, visitor };
        editor.resize(&mut self.root, rid.0, new_len, write);
        true
    }

    /// Removes the document under `rid`; false if there is none. The id is not given out again.
    pub fn remove(&mut self, rid: RecordId, visitor: &mut impl PageVisitor) -> bool {
        if !self.contains(rid) {
            return false;
        }
        let mut editor = Editor { layout: self.layout, totals: &mut self.totals, visitor };
        editor.remove(&mut self.root, rid.0);
        true
    }

    /// Removes all documents. Ids go on where they were.
    pub fn clear(&mut self) {
        let next = self.next;
        *self = Records { next, ..Records::with_page_bytes(self.page_bytes()) };
    }

    /// Builds all pages anew, full and without room to spare. Ids stay; page ids do not.
    pub fn compact(&mut self) {
        let mut leaves = Vec::new();
        collect_leaves(std::mem::replace(&mut self.root, Node::Leaf(Leaf::empty())), &mut leaves);
        let mut packer = Packer::new(self.layout);
        for mut leaf in leaves {
            leaf.trim_extents();
            packer.push(leaf);
        }
        let mut nodes: Vec<(u64, Node)> =
            packer.finish().into_iter().map(|leaf| (leaf.first_rid().unwrap_or(0), Node::Leaf(leaf))).collect();
        while nodes.len() > 1 {
            // Pages of nearly the same number of children, none of them nearly empty.
            let pages = nodes.len().div_ceil(self.layout.fan_out());
            let per_page = nodes.len().div_ceil(pages);
            let mut level = Vec::with_capacity(pages);
            let mut rest = nodes.into_iter().peekable();
            while let Some((first, _)) = rest.peek() {
                let first = *first;
                level.push((first, Node::parent(rest.by_ref().take(per_page).collect())));
            }
            nodes = level;
        }
        if let Some((_, root)) = nodes.pop() {
            self.root = root;
        }
        self.totals = validate::totals_of(&self.root, self.layout);
    }
}

/// Takes the leaves out of a tree, in order, letting go of its inner pages.
fn collect_leaves(node: Node, leaves: &mut Vec<Leaf>) {
    match node {
        Node::Leaf(leaf) => leaves.push(leaf),
        Node::Inner(child) => {
            let page = std::sync::Arc::unwrap_or_clone(child.page);
            page.children.into_iter().for_each(|node| collect_leaves(node, leaves));
        }
    }
}
