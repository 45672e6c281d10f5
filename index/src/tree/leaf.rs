//! The leaf page: entries in runs, and a directory of the runs.
//!
//! ```text
//! body:  [common prefix][run][run][run]...   free   [slot][slot][slot]...
//!                                        ^heap_end  ^directory, in key order, up to the body's end
//! ```
//!
//! | slot | bytes | meaning |
//! |---|---|---|
//! | head | 8, big-endian | first bytes of the run's restart key, after the page's common prefix |
//! | place | 4, little-endian | bits 14..32: the run's offset in the body; 8..14: its entries; 0..8: its slack, bytes kept free behind it |
//!
//! A search stays in the directory until it knows the run (see [`cell`](super::cell) for its
//! bytes). Runs lie in the heap in any order: a run that outgrows its slack moves to the heap's end
//! and leaves a hole, and a page that runs out of free bytes is written anew
//! ([`assemble`](super::assemble)). The body is allocated in steps up to the tree's page size, so a
//! small tree takes little; what is allocated is what [`Leaf::allocated`] reports.
//!
//! A page of a single entry may exceed the page size: keys have no limit but a document's.

use std::cmp::Ordering;
use std::mem::size_of;

use super::cell::{HEAD_BYTES, MODE_AT, RUN_HEAD, cell_at, common, head, restart_at, value_at};
use crate::page::PageId;

/// Bytes of a directory slot.
pub(super) const SLOT_BYTES: usize = 12;
/// Bytes of a leaf page besides its body: the struct and its two reference counts.
pub(super) const LEAF_HEADER: usize = size_of::<Leaf>() + 2 * size_of::<usize>();
/// Most entries that a slot can count.
pub(super) const SLOT_ENTRIES_MAX: usize = 63;
/// Most slack that a slot can note.
pub(super) const SLACK_MAX: usize = 255;
/// In a run's length: it goes up to the heap's end.
const TO_HEAP_END: usize = 0xFFFF;

/// A leaf page of a tree.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) id: PageId,
    pub(super) entries: u32,
    /// Length of the common prefix at the body's start.
    pub(super) prefix_len: u32,
    /// End of the last run in the heap, slack included.
    pub(super) heap_end: u32,
    /// Sum of the runs' lengths, without slack and holes.
    pub(super) live: u32,
    /// Runs in the directory.
    pub(super) runs: u32,
    /// Where the last entry was inserted: run and cell.
    pub(super) last_insert: (u32, u32),
    /// How many entries in a row came right behind (positive) or right before (negative) the one
    /// inserted before them; tells a sequential load from a random one when the page is split.
    pub(super) streak: i32,
    pub(super) body: Box<[u8]>,
}

/// A decoded directory slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) head: u64,
    pub(super) offset: usize,
    pub(super) count: usize,
    pub(super) slack: usize,
}

impl Slot {
    #[inline(always)]
    pub(super) fn read(bytes: &[u8; SLOT_BYTES]) -> Slot {
        let [a, b, c, d, e, f, g, h, p0, p1, p2, p3] = *bytes;
        let place = u32::from_le_bytes([p0, p1, p2, p3]);
        Slot {
            head: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            offset: (place >> 14) as usize,
            count: (place >> 8 & 63) as usize,
            slack: (place & 255) as usize,
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> [u8; SLOT_BYTES] {
        debug_assert!(self.offset < 1 << 18 && self.count <= SLOT_ENTRIES_MAX && self.slack <= SLACK_MAX);
        let place = (self.offset << 14 | self.count << 8 | self.slack) as u32;
        let mut bytes = [0; SLOT_BYTES];
        bytes[..HEAD_BYTES].copy_from_slice(&self.head.to_be_bytes());
        bytes[HEAD_BYTES..].copy_from_slice(&place.to_le_bytes());
        bytes
    }
}

#[inline(always)]
fn head_of(slot: &[u8; SLOT_BYTES]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *slot;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Where a key is, or would be, in a leaf. "The next" is the first entry not below the key, "the
/// one before" the last entry below it, in the same run; offsets count from the run's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The next entry has this very key.
    pub(super) exact: bool,
    pub(super) run: usize,
    /// The next entry's index in the run; the run's count if there is none in this run.
    pub(super) cell: usize,
    /// Offset of the next entry's cell, or the run's length.
    pub(super) at: usize,
    /// Offset of the next entry's value field, if `exact`.
    pub(super) field: usize,
    /// Length of the key before, after the page's prefix.
    pub(super) prev_len: usize,
    /// Leading bytes, after the page's prefix, shared with the key before.
    pub(super) prev_shared: usize,
    /// The same with the next key.
    pub(super) next_shared: usize,
}

impl Leaf {
    /// A page without entries; it allocates no body.
    pub(super) fn empty(id: PageId) -> Leaf {
        Leaf {
            id,
            entries: 0,
            prefix_len: 0,
            heap_end: 0,
            live: 0,
            runs: 0,
            last_insert: (0, 0),
            streak: 0,
            body: Box::default(),
        }
    }

    /// What the page occupies in memory.
    #[inline]
    pub(super) fn allocated(&self) -> usize {
        LEAF_HEADER + self.body.len()
    }

    /// What of that holds something.
    #[inline]
    pub(super) fn in_use(&self) -> usize {
        LEAF_HEADER + self.used_body()
    }

    /// Bytes of prefix, runs and directory.
    #[inline]
    pub(super) fn used_body(&self) -> usize {
        self.prefix_len as usize + self.live as usize + SLOT_BYTES * self.runs as usize
    }

    #[inline]
    pub(super) fn runs(&self) -> usize {
        self.runs as usize
    }

    /// The bytes that every key of the page begins with.
    #[inline]
    pub(super) fn prefix(&self) -> &[u8] {
        &self.body[..self.prefix_len as usize]
    }

    /// Where the directory starts in the body.
    #[inline]
    pub(super) fn directory_at(&self) -> usize {
        self.body.len() - SLOT_BYTES * self.runs as usize
    }

    #[inline]
    pub(super) fn directory(&self) -> &[[u8; SLOT_BYTES]] {
        self.body[self.directory_at()..].as_chunks().0
    }

    #[inline]
    pub(super) fn slot(&self, run: usize) -> Slot {
        Slot::read(&self.directory()[run])
    }

    /// Length of the run in this slot.
    #[inline]
    pub(super) fn run_len(&self, slot: &Slot) -> usize {
        let len = u16::from_le_bytes([self.body[slot.offset], self.body[slot.offset + 1]]) as usize;
        if len == TO_HEAP_END {
            return self.heap_end as usize - slot.offset;
        }
        len
    }

    /// Bytes of the run in this slot.
    #[inline]
    pub(super) fn run(&self, slot: &Slot) -> &[u8] {
        &self.body[slot.offset..slot.offset + self.run_len(slot)]
    }

    /// Notes the length of the run at `offset`.
    pub(super) fn set_run_len(&mut self, offset: usize, len: usize) {
        let bytes = run_len_bytes(len);
        self.body[offset..offset + 2].copy_from_slice(&bytes);
    }

    /// Appends the restart key of a run, without the page's prefix.
    pub(super) fn push_restart_key(&self, slot: &Slot, out: &mut Vec<u8>) {
        let run = self.run(slot);
        let restart = restart_at(run, RUN_HEAD);
        let head = slot.head.to_be_bytes();
        out.extend_from_slice(&head[..restart.key_len.min(HEAD_BYTES)]);
        out.extend_from_slice(&run[restart.tail..restart.field]);
    }

    /// Appends the key of entry `cell` of a run, without the page's prefix; gives the offset of its
    /// cell in the run (that of the restart cell for 0).
    pub(super) fn push_key(&self, slot: &Slot, cell: usize, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        self.push_restart_key(slot, out);
        let run = self.run(slot);
        let mode = run[MODE_AT];
        let mut field = restart_at(run, RUN_HEAD).field;
        let mut at = RUN_HEAD;
        for _ in 0..cell {
            let (value, len) = value_at(run, field, mode);
            at = value + len;
            let next = cell_at(run, at);
            let kept = out.len() - next.drop;
            debug_assert!(kept >= start);
            out.truncate(kept);
            out.extend_from_slice(&run[next.suffix..next.field()]);
            field = next.field();
        }
        at
    }

    /// The page's first key, whole.
    pub(super) fn first_key(&self) -> Vec<u8> {
        let mut key = self.prefix().to_vec();
        if self.runs > 0 {
            self.push_restart_key(&self.slot(0), &mut key);
        }
        key
    }

    /// The page's last key, whole.
    pub(super) fn last_key(&self) -> Vec<u8> {
        let mut key = self.prefix().to_vec();
        if self.runs > 0 {
            let slot = self.slot(self.runs() - 1);
            self.push_key(&slot, slot.count - 1, &mut key);
        }
        key
    }

    /// The value of the entry at an exact place.
    #[inline]
    pub(super) fn value(&self, place: &Place) -> &[u8] {
        let run = self.run(&self.slot(place.run));
        let (start, len) = value_at(run, place.field, run[MODE_AT]);
        &run[start..start + len]
    }

    /// How many entries lie before a place.
    pub(super) fn rank(&self, place: &Place) -> usize {
        let before = &self.directory()[..place.run];
        place.cell + before.iter().map(|s| Slot::read(s).count).sum::<usize>()
    }

    /// The place behind the last entry, for a key that shares `shared` bytes (after the page's
    /// prefix) with the last one, whose length is `last_len`.
    pub(super) fn end(&self, last_len: usize, shared: usize) -> Place {
        let run = self.runs().saturating_sub(1);
        let (cell, at) = match self.runs {
            0 => (0, 0),
            _ => {
                let slot = self.slot(run);
                (slot.count, self.run_len(&slot))
            }
        };
        Place { exact: false, run, cell, at, field: 0, prev_len: last_len, prev_shared: shared, next_shared: 0 }
    }

    /// The place before the first entry, with which the key shares `shared` bytes.
    fn start(&self, shared: usize) -> Place {
        Place {
            exact: false,
            run: 0,
            cell: 0,
            at: RUN_HEAD,
            field: 0,
            prev_len: 0,
            prev_shared: 0,
            next_shared: shared,
        }
    }

    /// Where `key` is or would be. For a key that does not begin with the page's prefix only run
    /// and cell are right: the first or one past the last.
    #[inline]
    pub(super) fn locate(&self, key: &[u8]) -> Place {
        if self.runs == 0 {
            return self.start(0);
        }
        let prefix = self.prefix();
        let Some(rest) = key.strip_prefix(prefix) else {
            return match key.cmp(prefix) {
                Ordering::Less => self.start(0),
                _ => self.end(0, 0),
            };
        };
        let key_head = head(rest);
        let directory = self.directory();
        let mut run = directory.partition_point(|slot| head_of(slot) <= key_head);
        if run > 0 && head_of(&directory[run - 1]) == key_head {
            run = self.last_restart_not_above(rest, key_head, run);
        }
        let Some(run) = run.checked_sub(1) else {
            let slot = self.slot(0);
            return self.start(self.compare_restart(rest, key_head, &slot).1);
        };
        self.locate_in_run(rest, key_head, run)
    }

    /// Among the runs before `end` whose restarts have the key's head: one past the last whose
    /// restart is not above the key.
    fn last_restart_not_above(&self, rest: &[u8], key_head: u64, end: usize) -> usize {
        let directory = self.directory();
        let mut low = directory[..end].partition_point(|slot| head_of(slot) < key_head);
        let mut high = end;
        while low < high {
            let middle = low.midpoint(high);
            let slot = Slot::read(&directory[middle]);
            match self.compare_restart(rest, key_head, &slot).0 {
                Ordering::Less => high = middle,
                _ => low = middle + 1,
            }
        }
        low
    }

    /// Compares a key with a run's restart; also gives how many bytes they share.
    #[inline]
    fn compare_restart(&self, rest: &[u8], key_head: u64, slot: &Slot) -> (Ordering, usize) {
        let run = self.run(slot);
        let restart = restart_at(run, RUN_HEAD);
        let shortest = rest.len().min(restart.key_len);
        if key_head != slot.head {
            let shared = (key_head ^ slot.head).leading_zeros() as usize / 8;
            return (key_head.cmp(&slot.head), shared.min(shortest));
        }
        let mut shared = shortest.min(HEAD_BYTES);
        if shortest > HEAD_BYTES {
            let tail = &run[restart.tail..restart.field];
            shared += common(&rest[HEAD_BYTES..], tail);
            if shared < shortest {
                return (rest[shared].cmp(&tail[shared - HEAD_BYTES]), shared);
            }
        }
        (rest.len().cmp(&restart.key_len), shared)
    }

    /// Walks a run whose restart is not above the key. No key is put together: how many bytes of
    /// the key the last entry below it shares decides most cells by their header alone.
    #[inline]
    fn locate_in_run(&self, rest: &[u8], key_head: u64, index: usize) -> Place {
        let slot = self.slot(index);
        let run = self.run(&slot);
        let mode = run[MODE_AT];
        let (order, mut shared) = self.compare_restart(rest, key_head, &slot);
        let restart = restart_at(run, RUN_HEAD);
        let mut place = Place {
            exact: true,
            run: index,
            cell: 0,
            at: RUN_HEAD,
            field: restart.field,
            prev_len: 0,
            prev_shared: 0,
            next_shared: shared,
        };
        if order == Ordering::Equal {
            return place;
        }
        let mut len = restart.key_len;
        let (value, value_len) = value_at(run, restart.field, mode);
        let mut at = value + value_len;
        let mut index = 1;
        while index < slot.count {
            let cell = cell_at(run, at);
            let kept = len - cell.drop;
            if kept <= shared {
                // With fewer kept bytes than shared ones, the entry rises where the key agrees
                // with the entry before: it is above the key.
                let mut next_shared = kept;
                let mut above = kept < shared;
                let mut exact = false;
                if !above {
                    let suffix = &run[cell.suffix..cell.field()];
                    let more = &rest[shared..];
                    let equal = common(suffix, more);
                    next_shared = shared + equal;
                    if equal == more.len() {
                        exact = equal == suffix.len();
                        above = true;
                    } else if equal < suffix.len() && suffix[equal] > more[equal] {
                        above = true;
                    }
                }
                if above {
                    place.exact = exact;
                    place.cell = index;
                    place.at = at;
                    place.field = cell.field();
                    place.prev_len = len;
                    place.prev_shared = shared;
                    place.next_shared = next_shared;
                    return place;
                }
                shared = next_shared;
            }
            len = kept + cell.suffix_len;
            let (value, value_len) = value_at(run, cell.field(), mode);
            at = value + value_len;
            index += 1;
        }
        place.exact = false;
        place.cell = index;
        place.at = at;
        place.prev_len = len;
        place.prev_shared = shared;
        place.next_shared = 0;
        place
    }

    /// Calls `f` with each entry in order; for rewriting a page and for tests, not for scans.
    pub(super) fn for_each(&self, mut f: impl FnMut(&[u8], &[u8])) {
        let mut key = self.prefix().to_vec();
        for index in 0..self.runs() {
            let slot = self.slot(index);
            let run = self.run(&slot);
            let mode = run[MODE_AT];
            key.truncate(self.prefix_len as usize);
            self.push_restart_key(&slot, &mut key);
            let mut field = restart_at(run, RUN_HEAD).field;
            for cell in 0..slot.count {
                if cell > 0 {
                    let (value, len) = value_at(run, field, mode);
                    let next = cell_at(run, value + len);
                    key.truncate(key.len() - next.drop);
                    key.extend_from_slice(&run[next.suffix..next.field()]);
                    field = next.field();
                }
                let (value, len) = value_at(run, field, mode);
                f(&key, &run[value..value + len]);
            }
        }
    }
}

/// A run's length as it stands at the run's start.
pub(super) fn run_len_bytes(len: usize) -> [u8; 2] {
    (len.min(TO_HEAP_END) as u16).to_le_bytes()
}
