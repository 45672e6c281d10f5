//! The words every tree shares: page ids, page kinds, accesses and statistics.
//!
//! A page is counted where it is dereferenced, into a [`PageVisitor`] that the caller hands down;
//! there are no process-wide counters, so tests can assert exact counts in parallel.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a page for as long as it lives; unique within the process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u64);

impl PageId {
    /// The next unused id.
    pub fn fresh() -> PageId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        PageId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// The position of a document in its record store; ascending in order of insertion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub u64);

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PageKind {
    /// Documents.
    RecordLeaf,
    /// Index entries.
    IndexLeaf,
    /// Separators and child references, of an index or of a record store.
    Inner,
    /// A part of one document too large for a record leaf.
    Overflow,
}

/// Told of every page that an operation dereferences.
pub trait PageVisitor {
    /// `bytes` is the page's size in memory, the same figure that the statistics count.
    fn touch(&mut self, page: PageId, kind: PageKind, bytes: u32);
    /// Told of a page that was changed (or copied to be changed).
    fn dirty(&mut self, page: PageId, kind: PageKind, bytes: u32) {
        let _ = (page, kind, bytes);
    }
    /// Whether it matters what it is told. An operation on many pages that asks first, and hands [`Untraced`] down
    /// where it does not, saves a call for each page.
    fn is_watching(&self) -> bool {
        true
    }
}

/// Counts nothing; the visitor of operations that nobody measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untraced;

impl PageVisitor for Untraced {
    #[inline(always)]
    fn touch(&mut self, _page: PageId, _kind: PageKind, _bytes: u32) {}
    #[inline(always)]
    fn dirty(&mut self, _page: PageId, _kind: PageKind, _bytes: u32) {}
    fn is_watching(&self) -> bool {
        false
    }
}

impl<V: PageVisitor + ?Sized> PageVisitor for &mut V {
    fn touch(&mut self, page: PageId, kind: PageKind, bytes: u32) {
        (**self).touch(page, kind, bytes);
    }
    fn dirty(&mut self, page: PageId, kind: PageKind, bytes: u32) {
        (**self).dirty(page, kind, bytes);
    }
    fn is_watching(&self) -> bool {
        (**self).is_watching()
    }
}

/// What a tree occupies, recomputed by a full walk or kept up to date; both must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// Entries (index) or documents (records).
    pub entries: u64,
    /// Inner levels plus the leaf level; 1 for a tree that is one leaf, also when empty.
    pub height: u32,
    /// Pages that hold entries.
    pub leaf_pages: u64,
    /// Bytes of those pages, directories and slack included.
    pub leaf_bytes: u64,
    /// Pages that hold separators.
    pub inner_pages: u64,
    /// Bytes of those pages.
    pub inner_bytes: u64,
    /// Overflow pages of large documents.
    pub overflow_pages: u64,
    /// Bytes of those pages.
    pub overflow_bytes: u64,
    /// Bytes of all pages that hold something: entries, separators, headers, directories; not slack.
    pub used_bytes: u64,
}

impl TreeStats {
    /// All pages.
    pub fn pages(&self) -> u64 {
        self.leaf_pages + self.inner_pages + self.overflow_pages
    }
    /// Bytes of all pages; what `collStats.indexSizes` reports for an index.
    pub fn bytes(&self) -> u64 {
        self.leaf_bytes + self.inner_bytes + self.overflow_bytes
    }
    /// The share of the pages' bytes that holds something, 0 to 1.
    pub fn fill(&self) -> f64 {
        if self.bytes() == 0 {
            return 1.0;
        }
        self.used_bytes as f64 / self.bytes() as f64
    }
}
