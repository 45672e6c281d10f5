//! What can be done to a leaf within its present body.
//!
//! An insertion, a removal or a change of size moves at most the documents and slots that follow;
//! what needs more room than the body has is left to [`rebuild`](crate::records::rebuild). The body is copied
//! first if a snapshot holds it (`Arc::make_mut`).

use std::sync::Arc;

use super::{Content, DENSE, Leaf, SPARSE, is_dense, put, take};
use crate::page::PageVisitor;
use crate::records::layout::Layout;
use crate::records::overflow::{Extent, MAX_EXTENTS};
use crate::records::slot::{HOLE, Slot, moved_up};

impl Leaf {
    /// Stores `document` under `rid` if the leaf is dense, nobody else holds it, `rid` is the id after
    /// its last slot, and there is room; else changes nothing and returns false.
    #[inline]
    pub(in crate::records) fn try_append(&mut self, rid: u64, document: &[u8]) -> bool {
        let (offset, end) = (self.heap_end(), self.heap_end() + document.len());
        let Some(at) = self.directory_start().checked_sub(DENSE) else {
            return false;
        };
        if self.sparse || rid != self.base + u64::from(self.slots) || self.slots == 0 || end > at {
            return false;
        }
        let Some(body) = Arc::get_mut(&mut self.body) else {
            return false;
        };
        body[offset..end].copy_from_slice(document);
        put(body, at, Slot::Inline { offset, len: document.len() }.encode());
        self.heap_end = end as u32;
        self.live_bytes += document.len() as u32;
        self.slots += 1;
        self.live += 1;
        true
    }

    /// Stores `content` under `rid`, which holds nothing yet, if body and directory have the room;
    /// else changes nothing and returns false.
    pub(in crate::records) fn try_insert(&mut self, rid: u64, content: Content<'_>) -> bool {
        let Some((slot, at, opened, base)) = self.place_for(rid) else {
            return false;
        };
        let full = matches!(content, Content::Overflow(_)) && self.extents().len() >= MAX_EXTENTS;
        // The gap between the documents before and after it, and by how much it is too small.
        let offset = self.end_before(slot.min(self.slots()));
        let next = self.offset_from(if opened > 0 { at } else { slot + 1 });
        let end = offset + content.inline_len();
        let (room, missing) = match next {
            Some(next) => (self.room(), end.saturating_sub(next)),
            None => (self.directory_start() - offset, end - offset),
        };
        if full || room < missing + opened * self.width() {
            return false;
        }
        self.base = base;
        if opened > 0 {
            self.open_slots(at, opened);
        }
        if self.sparse {
            self.set_delta(slot, (rid - base) as u32);
        }
        match next {
            Some(next) if missing > 0 => self.move_up(slot, next, missing),
            Some(_) => {}
            // What was removed after it leaves its room behind, which the slots may have grown into.
            None => self.heap_end = end as u32,
        }
        let word = match content {
            Content::Inline(document) => {
                Arc::make_mut(&mut self.body)[offset..end].copy_from_slice(document);
                self.live_bytes += document.len() as u32;
                Slot::Inline { offset, len: document.len() }
            }
            Content::Overflow(extent) => {
                self.push_extent(extent.clone());
                Slot::Overflow(self.extents().len() - 1)
            }
        };
        self.set_word(slot, word.encode());
        self.live += 1;
        true
    }

    /// Gives the document in `slot` `new_len` bytes, new ones zero, and returns it for writing;
    /// none, and nothing changed, if there is no room or it has to come back from an extent.
    pub(in crate::records) fn try_resize(
        &mut self,
        slot: usize,
        new_len: usize,
        layout: Layout,
        visitor: &mut impl PageVisitor,
    ) -> Option<&mut [u8]> {
        let large = new_len > layout.max_inline();
        match self.slot(slot) {
            Slot::Hole => None,
            Slot::Overflow(_) if !large => None,
            Slot::Overflow(index) => {
                let extents = Arc::make_mut(self.extents.as_mut()?);
                let extent = extents.get_mut(index)?;
                extent.resize(new_len);
                extent.dirty(visitor);
                Some(extent.document_mut())
            }
            Slot::Inline { offset, len } if large => {
                if self.extents().len() >= MAX_EXTENTS {
                    return None;
                }
                let extent = Extent::grown(&self.body[offset..offset + len], new_len);
                extent.dirty(visitor);
                self.forget_inline(slot, offset, len);
                self.set_word(slot, Slot::Overflow(self.extents().len()).encode());
                Some(self.push_extent(extent).document_mut())
            }
            Slot::Inline { offset, len } => {
                if new_len > len && !self.widen(slot, offset, new_len) {
                    return None;
                }
                if new_len != len {
                    self.set_word(slot, Slot::Inline { offset, len: new_len }.encode());
                    self.live_bytes = self.live_bytes - len as u32 + new_len as u32;
                }
                if new_len < len && offset + len == self.heap_end as usize {
                    self.lower_heap_end(slot, offset + new_len);
                }
                let body = Arc::make_mut(&mut self.body);
                if new_len > len {
                    body[offset + len..offset + new_len].fill(0);
                }
                Some(&mut body[offset..offset + new_len])
            }
        }
    }

    /// Removes the document in `slot`, which is not a hole.
    pub(in crate::records) fn remove(&mut self, slot: usize) {
        match self.slot(slot) {
            Slot::Hole => return,
            Slot::Inline { offset, len } => self.forget_inline(slot, offset, len),
            Slot::Overflow(index) => self.forget_extent(index),
        }
        self.live -= 1;
        if self.sparse {
            self.close_slot(slot);
            return;
        }
        self.set_word(slot, HOLE);
        while self.slots > 0 && self.word(self.slots() - 1) == HOLE {
            self.slots -= 1;
        }
    }

    /// Where `rid` belongs: its slot, then where how many slots must be opened, then the base after
    /// that. None if the directory would have to change its form.
    fn place_for(&self, rid: u64) -> Option<(usize, usize, usize, u64)> {
        if self.slots == 0 {
            return (!self.sparse).then_some((0, 0, 1, rid));
        }
        if self.sparse {
            let delta = rid.checked_sub(self.base)?;
            let slot = self.search(rid).unwrap_or_else(|slot| slot);
            return (delta <= u64::from(u32::MAX)).then_some((slot, slot, 1, self.base));
        }
        let slots = u64::from(self.slots);
        let (slot, at, opened, base) = if rid < self.base {
            (0, 0, self.base - rid, rid)
        } else {
            let slot = rid - self.base;
            (slot, self.slots, (slot + 1).saturating_sub(slots), self.base)
        };
        let span = slots.checked_add(opened)?;
        (opened == 0 || is_dense(span, self.live() + 1)).then_some((slot as usize, at as usize, opened as usize, base))
    }

    /// Makes room for `new_len` bytes from `offset`, the document in `slot`, if there is any.
    fn widen(&mut self, slot: usize, offset: usize, new_len: usize) -> bool {
        let end = offset + new_len;
        let Some(next) = self.offset_from(slot + 1) else {
            if end > self.directory_start() {
                return false;
            }
            self.heap_end = end as u32;
            return true;
        };
        if end <= next {
            return true;
        }
        let (needed, room) = (end - next, self.room());
        if needed > room {
            return false;
        }
        // A document that grows once usually grows again: with room to spare, it gets some.
        let spare = (new_len / 8).min((room - needed) / 2);
        self.move_up(slot, next, needed + spare);
        true
    }

    /// Moves the documents of the slots after `slot`, which begin at `from`, up by `delta` bytes.
    fn move_up(&mut self, slot: usize, from: usize, delta: usize) {
        let (width, heap_end) = (self.width(), self.heap_end as usize);
        let directory = self.directory_start();
        let body = Arc::make_mut(&mut self.body);
        body.copy_within(from..heap_end, from + delta);
        let after = body.len() - width * (slot + 1);
        for entry in body[directory..after].chunks_exact_mut(width) {
            put(entry, 0, moved_up(take(entry, 0), delta as u32));
        }
        self.heap_end += delta as u32;
    }

    /// The offset of the first document in the body from `slot` on.
    fn offset_from(&self, slot: usize) -> Option<usize> {
        (slot..self.slots()).find_map(|slot| match self.slot(slot) {
            Slot::Inline { offset, .. } => Some(offset),
            _ => None,
        })
    }

    /// Where the last document in the body before `slot` ends.
    fn end_before(&self, slot: usize) -> usize {
        let before = (0..slot).rev().find_map(|slot| match self.slot(slot) {
            Slot::Inline { offset, len } => Some(offset + len),
            _ => None,
        });
        before.unwrap_or(0)
    }

    fn forget_inline(&mut self, slot: usize, offset: usize, len: usize) {
        self.live_bytes -= len as u32;
        if offset + len == self.heap_end as usize {
            self.lower_heap_end(slot, offset);
        }
    }

    /// Lets the documents end at `end`, unless one (without bytes) follows that in `slot`.
    fn lower_heap_end(&mut self, slot: usize, end: usize) {
        if self.offset_from(slot + 1).is_none() {
            self.heap_end = end as u32;
        }
    }

    /// Gives back the room of all its extents.
    pub(in crate::records) fn trim_extents(&mut self) {
        if let Some(shared) = self.extents.as_mut()
            && shared.iter().any(Extent::has_room)
        {
            Arc::make_mut(shared).iter_mut().for_each(Extent::shrink_to_fit);
        }
    }

    fn push_extent(&mut self, extent: Extent) -> &mut Extent {
        let extents = Arc::make_mut(self.extents.get_or_insert_default());
        extents.reserve_exact(1);
        extents.push(extent);
        let last = extents.len() - 1;
        &mut extents[last]
    }

    fn forget_extent(&mut self, index: usize) {
        let Some(shared) = self.extents.as_mut() else {
            return;
        };
        let extents = Arc::make_mut(shared);
        extents.remove(index);
        extents.shrink_to_fit();
        if extents.is_empty() {
            self.extents = None;
        }
        for slot in 0..self.slots() {
            if let Slot::Overflow(later) = self.slot(slot)
                && later > index
            {
                self.set_word(slot, Slot::Overflow(later - 1).encode());
            }
        }
    }

    /// Inserts `opened` holes into the directory before slot `at`. In a sparse leaf the caller then
    /// fills the hole.
    fn open_slots(&mut self, at: usize, opened: usize) {
        let (width, start) = (self.width(), self.directory_start());
        let body = Arc::make_mut(&mut self.body);
        let end = body.len() - width * at;
        body.copy_within(start..end, start - width * opened);
        body[end - width * opened..end].fill(0xFF);
        self.slots += opened as u32;
    }

    /// Takes `slot` out of the directory.
    fn close_slot(&mut self, slot: usize) {
        let (width, start) = (self.width(), self.directory_start());
        let body = Arc::make_mut(&mut self.body);
        let end = body.len() - width * (slot + 1);
        body.copy_within(start..end, start + width);
        self.slots -= 1;
    }

    /// Bytes between the documents and the directory.
    fn room(&self) -> usize {
        self.directory_start() - self.heap_end as usize
    }

    fn set_word(&mut self, slot: usize, word: u32) {
        let at = self.body.len() - self.width() * (slot + 1);
        put(Arc::make_mut(&mut self.body), at, word);
    }

    fn set_delta(&mut self, slot: usize, delta: u32) {
        let at = self.body.len() - SPARSE * (slot + 1) + DENSE;
        put(Arc::make_mut(&mut self.body), at, delta);
    }
}
