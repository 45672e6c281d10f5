//! The running statistics of a store.

use super::inner::Inner;
use super::layout::Layout;
use super::leaf::{DENSE, Leaf};
use crate::page::TreeStats;

/// What all pages together occupy and hold, kept up to date page by page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Everything but the height.
    stats: TreeStats,
    document_bytes: u64,
}

impl Totals {
    /// All figures but the height, which is 0.
    #[inline]
    pub(super) fn stats(&self) -> &TreeStats {
        &self.stats
    }

    /// Bytes of all documents.
    pub(super) fn document_bytes(&self) -> u64 {
        self.document_bytes
    }

    pub(super) fn credit_leaf(&mut self, leaf: &Leaf, layout: Layout) {
        let figures = leaf.figures(layout);
        self.document_bytes += leaf.document_bytes();
        self.stats.entries += figures.entries;
        self.stats.leaf_pages += figures.leaf_pages;
        self.stats.leaf_bytes += figures.leaf_bytes;
        self.stats.overflow_pages += figures.overflow_pages;
        self.stats.overflow_bytes += figures.overflow_bytes;
        self.stats.used_bytes += figures.used_bytes;
    }

    /// A document of `len` bytes was added to the body of a dense leaf.
    #[inline]
    pub(super) fn credit_append(&mut self, len: usize) {
        self.document_bytes += len as u64;
        self.stats.entries += 1;
        self.stats.used_bytes += (len + DENSE) as u64;
    }

    pub(super) fn debit_leaf(&mut self, leaf: &Leaf, layout: Layout) {
        let figures = leaf.figures(layout);
        self.document_bytes -= leaf.document_bytes();
        self.stats.entries -= figures.entries;
        self.stats.leaf_pages -= figures.leaf_pages;
        self.stats.leaf_bytes -= figures.leaf_bytes;
        self.stats.overflow_pages -= figures.overflow_pages;
        self.stats.overflow_bytes -= figures.overflow_bytes;
        self.stats.used_bytes -= figures.used_bytes;
    }

    pub(super) fn credit_inner(&mut self, page: &Inner) {
        self.stats.inner_pages += 1;
        self.stats.inner_bytes += page.bytes() as u64;
        self.stats.used_bytes += page.used_bytes() as u64;
    }

    pub(super) fn debit_inner(&mut self, page: &Inner) {
        self.stats.inner_pages -= 1;
        self.stats.inner_bytes -= page.bytes() as u64;
        self.stats.used_bytes -= page.used_bytes() as u64;
    }
}
