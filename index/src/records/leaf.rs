//! A leaf: the documents of a range of record ids, in one body of bytes.
//!
//! ```text
//! body:  | doc a | doc b | gap | doc d | ... room ... | slot d | slot c (hole) | slot b | slot a |
//!        0                             heap_end       directory_start                    body.len()
//! ```
//!
//! Documents lie in the order of their ids, so that a scan walks the body upwards; what a removed or
//! shrunk document leaves is a gap, used by its neighbours and squeezed out when the leaf is built
//! anew. The directory grows down from the end, one entry per slot, in one of two forms:
//!
//! | form | entry | slot of a record id |
//! | --- | --- | --- |
//! | dense | [slot word](super::slot), 4 bytes | `id - base`: found without a search; ids that hold nothing are holes |
//! | sparse | slot word, then `id - base`, 4 bytes each | found by binary search; no holes |
//!
//! Ids are handed out one after another, so leaves are dense until deletions leave more holes than
//! documents. Integers are little-endian.
//!
//! The few fields beside the body live in the parent page (see [`inner`](super::inner)), so a
//! lookup reads the slot without first reading the head of the leaf. This file has what a leaf
//! is and tells; what changes within its body is in [`place`], what needs a new one in
//! [`rebuild`](super::rebuild).

mod place;

use std::sync::Arc;

use super::layout::{ALLOCATION_HEADER, Layout, zeroed};
use super::overflow::{Extent, MAX_EXTENTS, clamp};
use super::slot::{HOLE, Slot};
use crate::page::{PageId, PageKind, PageVisitor, TreeStats};

/// Bytes of a directory entry in a dense leaf.
pub(super) const DENSE: usize = 4;
/// Bytes of a directory entry in a sparse leaf.
pub(super) const SPARSE: usize = 8;

/// What is stored under a record id: bytes for the body, or a reference to an overflow extent.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Inline(&'a [u8]),
    Overflow(&'a Extent),
}

impl Content<'_> {
    /// Bytes that it takes of the body.
    pub(super) fn inline_len(self) -> usize {
        match self {
            Content::Inline(document) => document.len(),
            Content::Overflow(_) => 0,
        }
    }
}

/// A record id and its content, as a leaf is taken apart and built.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) rid: u64,
    pub(super) content: Content<'a>,
}

/// See the module. Cloning shares the body and the extents.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) id: PageId,
    /// The record id that slot 0 (dense) or difference 0 (sparse) stands for.
    base: u64,
    body: Arc<[u8]>,
    extents: Option<Arc<Vec<Extent>>>,
    /// Entries of the directory, holes included.
    slots: u32,
    /// Documents.
    live: u32,
    /// Where the last document in the body ends, or later.
    heap_end: u32,
    /// Bytes of the documents in the body.
    live_bytes: u32,
    sparse: bool,
}

impl Leaf {
    /// A leaf without documents, and without memory but a header.
    pub(super) fn empty() -> Leaf {
        Leaf {
            id: PageId::fresh(),
            base: 0,
            body: zeroed(0),
            extents: None,
            slots: 0,
            live: 0,
            heap_end: 0,
            live_bytes: 0,
            sparse: false,
        }
    }

    /// A leaf of these entries (ascending, less than 2^32 apart) in a body of `body_bytes`, which
    /// must suffice for [`cost_of`].
    pub(super) fn build(id: PageId, entries: &[Entry<'_>], body_bytes: usize) -> Leaf {
        let mut leaf = Leaf::empty();
        leaf.id = id;
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return leaf;
        };
        let span = last.rid - first.rid + 1;
        leaf.base = first.rid;
        leaf.sparse = !is_dense(span, entries.len() as u64);
        leaf.slots = if leaf.sparse { entries.len() as u32 } else { span as u32 };
        leaf.live = entries.len() as u32;
        let width = leaf.width();
        let mut shared = zeroed(body_bytes);
        let body = Arc::make_mut(&mut shared);
        let directory = body_bytes - width * leaf.slots as usize;
        body[directory..].fill(0xFF);
        let mut extents = Vec::new();
        let mut heap_end = 0;
        for (nth, entry) in entries.iter().enumerate() {
            let slot = match entry.content {
                Content::Inline(document) => {
                    let offset = heap_end;
                    heap_end += document.len();
                    body[offset..heap_end].copy_from_slice(document);
                    Slot::Inline { offset, len: document.len() }
                }
                Content::Overflow(extent) => {
                    extents.push(extent.clone());
                    Slot::Overflow(extents.len() - 1)
                }
            };
            let delta = (entry.rid - first.rid) as u32;
            let at = body_bytes - width * (if leaf.sparse { nth } else { delta as usize } + 1);
            put(body, at, slot.encode());
            if leaf.sparse {
                put(body, at + DENSE, delta);
            }
        }
        leaf.heap_end = heap_end as u32;
        leaf.live_bytes = heap_end as u32;
        leaf.body = shared;
        if !extents.is_empty() {
            extents.shrink_to_fit();
            leaf.extents = Some(Arc::new(extents));
        }
        leaf
    }

    /// Its documents with their ids, ascending.
    pub(super) fn entries(&self) -> Vec<Entry<'_>> {
        let mut entries = Vec::with_capacity(self.live as usize + 1);
        for slot in 0..self.slots() {
            let content = match self.slot(slot) {
                Slot::Hole => continue,
                Slot::Inline { offset, len } => Content::Inline(&self.body[offset..offset + len]),
                Slot::Overflow(index) => Content::Overflow(&self.extents()[index]),
            };
            entries.push(Entry { rid: self.rid_at(slot), content });
        }
        entries
    }

    /// Entries of the directory: slots are numbered below this.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Documents.
    #[inline(always)]
    pub(super) fn live(&self) -> u64 {
        u64::from(self.live)
    }

    /// The document under `rid`.
    #[inline(always)]
    pub(super) fn get(&self, rid: u64, visitor: &mut impl PageVisitor) -> Option<&[u8]> {
        self.document(self.find(rid)?, visitor)
    }

    /// The document in `slot`, which is below [`slots`](Leaf::slots); none in a hole.
    #[inline(always)]
    pub(super) fn document(&self, slot: usize, visitor: &mut impl PageVisitor) -> Option<&[u8]> {
        match self.slot(slot) {
            Slot::Inline { offset, len } => Some(&self.body[offset..offset + len]),
            Slot::Hole => None,
            Slot::Overflow(index) => {
                let extent = &self.extents()[index];
                extent.touch(visitor);
                Some(extent.document())
            }
        }
    }

    /// The slot that holds `rid`, if there is one; in a dense leaf it may be a hole.
    #[inline(always)]
    pub(super) fn find(&self, rid: u64) -> Option<usize> {
        if self.sparse {
            return self.search(rid).ok();
        }
        let slot = rid.wrapping_sub(self.base);
        (slot < u64::from(self.slots)).then_some(slot as usize)
    }

    /// The first slot whose id is not below `rid`.
    pub(super) fn lower_bound(&self, rid: u64) -> usize {
        if self.sparse {
            return self.search(rid).unwrap_or_else(|slot| slot);
        }
        rid.saturating_sub(self.base).min(u64::from(self.slots)) as usize
    }

    /// The record id that `slot` stands for.
    #[inline(always)]
    pub(super) fn rid_at(&self, slot: usize) -> u64 {
        if self.sparse { self.base + u64::from(self.delta(slot)) } else { self.base + slot as u64 }
    }

    /// The lowest record id that holds a document.
    pub(super) fn first_rid(&self) -> Option<u64> {
        (0..self.slots()).find(|slot| self.word(*slot) != HOLE).map(|slot| self.rid_at(slot))
    }

    /// The highest record id that holds a document.
    pub(super) fn last_rid(&self) -> Option<u64> {
        (0..self.slots()).rfind(|slot| self.word(*slot) != HOLE).map(|slot| self.rid_at(slot))
    }

    /// The `n`-th document's slot, from 0.
    pub(super) fn nth(&self, n: u64) -> Option<usize> {
        if self.live == self.slots {
            return (n < self.live()).then_some(n as usize);
        }
        (0..self.slots()).filter(|slot| self.word(*slot) != HOLE).nth(n as usize)
    }

    /// Documents in slots before `slot`.
    pub(super) fn live_before(&self, slot: usize) -> u64 {
        if self.live == self.slots {
            return slot as u64;
        }
        (0..slot).filter(|slot| self.word(*slot) != HOLE).count() as u64
    }

    /// Whether nothing is stored in `slot`.
    #[inline(always)]
    pub(super) fn is_hole(&self, slot: usize) -> bool {
        self.word(slot) == HOLE
    }

    /// Where the last document in the body ends, or later.
    pub(super) fn heap_end(&self) -> usize {
        self.heap_end as usize
    }

    /// The page in which the bytes of the document in `slot` lie.
    pub(super) fn page_of(&self, slot: usize) -> Option<PageId> {
        match self.slot(slot) {
            Slot::Hole => None,
            Slot::Inline { .. } => Some(self.id),
            Slot::Overflow(index) => Some(self.extents()[index].id),
        }
    }

    /// Brings the directory and the first documents near the processor, for a scan that comes here
    /// next: by itself it looks ahead along the documents, but not to the far end of the next body.
    /// (Worth a tenth of a scan that comes from memory; bench `records`.)
    pub(super) fn warm(&self) {
        const LINE: usize = 64;
        let directory = &self.body[self.directory_start()..];
        let documents = &self.body[..self.body.len().min(4 * LINE)];
        let lines = directory.iter().rev().step_by(LINE).chain(documents.iter().step_by(LINE));
        std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    /// Tells `visitor` that this page was read.
    #[inline(always)]
    pub(super) fn touch(&self, visitor: &mut impl PageVisitor) {
        visitor.touch(self.id, PageKind::RecordLeaf, clamp(self.page_bytes()));
    }

    /// Tells `visitor` that this page was changed.
    pub(super) fn dirty(&self, visitor: &mut impl PageVisitor) {
        visitor.dirty(self.id, PageKind::RecordLeaf, clamp(self.page_bytes()));
    }

    /// Bytes of memory: the body and the table of extents (not the extents).
    pub(super) fn page_bytes(&self) -> usize {
        let table = self.extents.as_ref().map_or(0, |extents| {
            ALLOCATION_HEADER + size_of::<Vec<Extent>>() + extents.capacity() * size_of::<Extent>()
        });
        ALLOCATION_HEADER + self.body.len() + table
    }

    /// Bytes that its documents and directory need of a body.
    pub(super) fn cost(&self) -> usize {
        self.live_bytes as usize + self.slots() * self.width()
    }

    /// Bytes that a body would need for this leaf and `other`, whose ids are all higher; none if
    /// they cannot share a leaf.
    pub(super) fn cost_with(&self, other: &Leaf) -> Option<usize> {
        let end = other.rid_at(other.slots().checked_sub(1)?);
        if self.extents().len() + other.extents().len() > MAX_EXTENTS {
            return None;
        }
        let bytes = self.live_bytes as usize + other.live_bytes as usize;
        cost_of(bytes, self.base, end, self.live() + other.live())
    }

    /// Bytes that a body would need with `content` added under `rid`; none if it cannot be added.
    pub(super) fn cost_with_document(&self, rid: u64, content: Content<'_>) -> Option<usize> {
        let last = self.slots().checked_sub(1).map_or(rid, |slot| self.rid_at(slot).max(rid));
        let first = if self.slots == 0 { rid } else { self.base.min(rid) };
        if matches!(content, Content::Overflow(_)) && self.extents().len() >= MAX_EXTENTS {
            return None;
        }
        let bytes = self.live_bytes as usize + content.inline_len();
        cost_of(bytes, first, last, self.live() + 1)
    }

    /// Bytes of the body.
    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Bytes of its documents, those in overflow pages included.
    pub(super) fn document_bytes(&self) -> u64 {
        let large: usize = self.extents().iter().map(Extent::len).sum();
        u64::from(self.live_bytes) + large as u64
    }

    /// What it adds to the statistics of its store.
    pub(super) fn figures(&self, layout: Layout) -> TreeStats {
        let slack = self.body.len() - self.cost();
        let mut figures = TreeStats {
            entries: self.live(),
            leaf_pages: 1,
            leaf_bytes: self.page_bytes() as u64,
            used_bytes: (self.page_bytes() - slack) as u64,
            ..TreeStats::default()
        };
        for extent in self.extents() {
            figures.overflow_pages += layout.overflow_pages(extent.bytes());
            figures.overflow_bytes += extent.bytes() as u64;
            figures.used_bytes += extent.used_bytes() as u64;
        }
        figures
    }

    pub(super) fn extents(&self) -> &[Extent] {
        self.extents.as_ref().map_or(&[], |extents| extents.as_slice())
    }

    /// What `slot` says.
    #[inline(always)]
    pub(super) fn slot(&self, slot: usize) -> Slot {
        Slot::decode(self.word(slot))
    }

    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        if self.sparse { SPARSE } else { DENSE }
    }

    #[inline(always)]
    fn directory_start(&self) -> usize {
        self.body.len() - self.width() * self.slots()
    }

    #[inline(always)]
    fn word(&self, slot: usize) -> u32 {
        take(&self.body, self.body.len() - self.width() * (slot + 1))
    }

    fn delta(&self, slot: usize) -> u32 {
        take(&self.body, self.body.len() - SPARSE * (slot + 1) + DENSE)
    }

    /// Binary search in a sparse directory.
    fn search(&self, rid: u64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.slots());
        while low < high {
            let middle = (low + high) / 2;
            match self.rid_at(middle).cmp(&rid) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}

/// Whether a directory over `span` ids with `live` documents is dense: when it then takes no more
/// bytes than a sparse one, but for a few holes.
pub(super) fn is_dense(span: u64, live: u64) -> bool {
    span <= live * 2 + 16
}

/// Bytes of body for `live` documents of `document_bytes` bytes under ids from `first` to `last`;
/// none if the ids lie too far apart for one leaf.
pub(super) fn cost_of(document_bytes: usize, first: u64, last: u64, live: u64) -> Option<usize> {
    let span = last.checked_sub(first)?.checked_add(1)?;
    if is_dense(span, live) {
        return Some(document_bytes + DENSE * span as usize);
    }
    (span <= u64::from(u32::MAX)).then_some(document_bytes + SPARSE * live as usize)
}

#[inline(always)]
fn take(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[inline(always)]
fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}
