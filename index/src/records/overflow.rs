//! Overflow pages: the documents that are too large for a leaf.
//!
//! A document longer than a quarter of the page lies in one contiguous allocation of its own, an
//! [`Extent`], so that a reader gets it as one slice. The statistics count an extent of `n` bytes as
//! `n / page size` overflow pages, rounded up, and with its real bytes; an access touches it as one
//! page, because it is read, copied and evicted as a whole.

use std::sync::Arc;

use super::layout::{ALLOCATION_HEADER, zeroed};
use crate::page::{PageId, PageKind, PageVisitor};

/// The most extents that one leaf refers to. A leaf with more is full, whatever its bytes: the
/// table is copied when a snapshot holds it, and renumbered when a large document is removed.
pub(super) const MAX_EXTENTS: usize = 64;

/// One large document and the room that it may grow into.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) id: PageId,
    len: usize,
    body: Arc<[u8]>,
}

impl Extent {
    /// Holds a copy of `document`, without room to grow.
    pub(super) fn new(document: &[u8]) -> Extent {
        Extent { id: PageId::fresh(), len: document.len(), body: Arc::from(document) }
    }

    /// Holds `document`, as far as it goes, followed by zeroes up to `len` bytes.
    pub(super) fn grown(document: &[u8], len: usize) -> Extent {
        let mut extent = Extent { id: PageId::fresh(), len: 0, body: zeroed(len + len / 8) };
        let kept = document.len().min(len);
        extent.resize(len)[..kept].copy_from_slice(&document[..kept]);
        extent
    }

    /// Bytes of the document.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The document.
    #[inline]
    pub(super) fn document(&self) -> &[u8] {
        &self.body[..self.len]
    }

    /// The document, to be changed; copied first if a snapshot holds it.
    pub(super) fn document_mut(&mut self) -> &mut [u8] {
        &mut Arc::make_mut(&mut self.body)[..self.len]
    }

    /// Bytes of memory, slack included.
    pub(super) fn bytes(&self) -> usize {
        self.body.len() + ALLOCATION_HEADER
    }

    /// Bytes of memory that hold something.
    pub(super) fn used_bytes(&self) -> usize {
        self.len + ALLOCATION_HEADER
    }

    /// Tells `visitor` that this extent was read.
    #[inline(always)]
    pub(super) fn touch(&self, visitor: &mut impl PageVisitor) {
        visitor.touch(self.id, PageKind::Overflow, clamp(self.bytes()));
    }

    /// Tells `visitor` that this extent was changed.
    pub(super) fn dirty(&self, visitor: &mut impl PageVisitor) {
        visitor.dirty(self.id, PageKind::Overflow, clamp(self.bytes()));
    }

    /// Gives the document `new_len` bytes, new ones zero, and returns it for writing. One that
    /// outgrows its extent moves to one with an eighth to spare, because a document that grew once
    /// (an array that is pushed to) usually grows again.
    pub(super) fn resize(&mut self, new_len: usize) -> &mut [u8] {
        let kept = self.len.min(new_len);
        let capacity = if new_len > self.body.len() {
            Some(new_len + new_len / 8)
        } else if new_len < self.body.len() / 2 {
            Some(new_len)
        } else {
            None
        };
        if let Some(capacity) = capacity {
            let mut body = zeroed(capacity);
            Arc::make_mut(&mut body)[..kept].copy_from_slice(&self.body[..kept]);
            self.body = body;
        }
        let body = Arc::make_mut(&mut self.body);
        if capacity.is_none() && new_len > self.len {
            body[self.len..new_len].fill(0);
        }
        self.len = new_len;
        &mut body[..new_len]
    }

    /// Whether it has room that the document does not use.
    pub(super) fn has_room(&self) -> bool {
        self.body.len() > self.len
    }

    /// Gives back the room that the document does not use.
    pub(super) fn shrink_to_fit(&mut self) {
        if self.has_room() {
            self.body = Arc::from(&self.body[..self.len]);
        }
    }
}

/// A page size as the visitors take it.
pub(super) fn clamp(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_keeps_the_document_and_zeroes_the_rest() {
        let mut extent = Extent::new(&[7; 1000]);
        assert_eq!(extent.bytes(), 1000 + ALLOCATION_HEADER);
        let document = extent.resize(1008);
        assert_eq!(&document[..1000], &[7; 1000]);
        assert_eq!(&document[1000..], &[0; 8]);
        document.fill(9);
        extent.resize(900);
        assert_eq!(&extent.resize(904)[900..], &[0; 4], "stale bytes must not come back");
        extent.shrink_to_fit();
        assert_eq!(extent.bytes(), 904 + ALLOCATION_HEADER);
    }

    #[test]
    fn a_shared_extent_is_copied_before_it_changes() {
        let before = Extent::new(&[1; 100]);
        let mut after = before.clone();
        after.resize(100).fill(2);
        assert_eq!(before.document(), &[1; 100]);
        assert_eq!(after.document(), &[2; 100]);
        assert_eq!(before.id, after.id);
    }
}
