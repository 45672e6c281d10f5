//! Changing one run of a leaf page: adding, replacing and removing an entry.
//!
//! An insert rewrites the new cell and the header of the one behind it. Neither needs its
//! neighbours' keys put together: for P < K < E, what E shares with P is the smaller of what P and E
//! share with K, so E's cell only loses bytes that K's cell now has; and on removal E takes over
//! bytes that K's cell had.

use super::assemble::new_run_bytes;
use super::cell::{
    ESCAPE, MIXED, MODE_AT, RUN_HEAD, cell_at, common, head, mode_for, push_cell, push_cell_header, push_restart,
    push_value, restart_at, value_at,
};
use super::leaf::{Leaf, Place, SLACK_MAX, SLOT_BYTES, Slot, run_len_bytes};
use super::options::Limits;
use crate::page::PageId;

/// Buffers of the writer, kept from one insert to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    cells: Vec<u8>,
    key: Vec<u8>,
}

/// What came of adding an entry to a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The entry is in the page.
    Done,
    /// The page has no room; the place is where the entry belongs.
    Full(Place),
    /// The page has no room for what its other keys would lose in common prefix: the key lies
    /// before all of them.
    FullBefore,
    /// The same; the key lies behind all of them.
    FullBehind,
}

impl Leaf {
    /// A page of one entry, whose body is at least `body_bytes`, and whose common prefix is the
    /// first `prefix_len` bytes of the key.
    pub(super) fn single(id: PageId, key: &[u8], value: &[u8], prefix_len: usize, body_bytes: usize) -> Leaf {
        let (prefix, rest) = key.split_at(prefix_len);
        let mode = mode_for(value.len());
        let mut body = Vec::with_capacity(body_bytes);
        body.extend_from_slice(prefix);
        push_run(&mut body, rest, mode, value);
        let heap_end = body.len();
        body.reserve_exact(SLOT_BYTES);
        body.resize(body_bytes.max(heap_end + SLOT_BYTES) - SLOT_BYTES, 0);
        let slot = Slot { head: head(rest), offset: prefix_len, count: 1, slack: 0 };
        body.extend_from_slice(&slot.bytes());
        Leaf {
            entries: 1,
            prefix_len: prefix_len as u32,
            heap_end: heap_end as u32,
            live: (heap_end - prefix_len) as u32,
            runs: 1,
            body: body.into_boxed_slice(),
            ..Leaf::empty(id)
        }
    }

    /// Takes `key`'s whole length into account when the page's first key decides the prefix.
    fn start_with(&mut self, key: &[u8], value: &[u8], limits: &Limits) {
        let prefix_len = key.len().min(limits.prefix_max);
        let need = prefix_len + new_run_bytes(key.len() - prefix_len) + SLOT_BYTES + value.len() + 8;
        let kept = self.body.len().min(limits.body_max);
        let body_bytes = limits.body_for(need).max(kept);
        *self = Leaf::single(self.id, key, value, prefix_len, body_bytes);
    }

    /// Adds an entry whose key is above all of the page's; it shares `shared` bytes with the last
    /// one, `last`.
    pub(super) fn append(
        &mut self,
        key: &[u8],
        value: &[u8],
        last: &[u8],
        shared: usize,
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Step {
        if self.entries == 0 {
            self.start_with(key, value, limits);
            return Step::Done;
        }
        if shared < self.prefix_len as usize && !self.shorten_prefix(shared, limits) {
            return Step::FullBehind;
        }
        let prefix_len = self.prefix_len as usize;
        if self.append_in_place(key, value, shared, last.len() - shared, limits) {
            self.streak = self.streak.max(0).saturating_add(1);
            return Step::Done;
        }
        let place = self.end(last.len() - prefix_len, shared - prefix_len);
        self.insert_at(place, key, value, limits, scratch)
    }

    /// The usual case of [`Leaf::append`]: the last run takes the cell where it lies. `kept` counts
    /// the bytes of the last key that the new one shares, `drop` the others.
    #[inline]
    fn append_in_place(&mut self, key: &[u8], value: &[u8], kept: usize, drop: usize, limits: &Limits) -> bool {
        let run = self.runs() - 1;
        let mut slot = self.slot(run);
        let len = self.run_len(&slot);
        let suffix = &key[kept..];
        let cell_len = 1 + suffix.len() + value.len();
        let end = slot.offset + len;
        let fits = slot.count < limits.run_fill
            && end == self.heap_end as usize
            && self.body[slot.offset + MODE_AT] as usize == value.len()
            && value.len() != MIXED as usize
            && drop < ESCAPE
            && suffix.len() < ESCAPE
            && len + cell_len <= limits.run_bytes
            && end + cell_len <= self.directory_at();
        if !fits {
            return false;
        }
        let cell = &mut self.body[end..end + cell_len];
        cell[0] = (drop << 4 | suffix.len()) as u8;
        cell[1..1 + suffix.len()].copy_from_slice(suffix);
        cell[1 + suffix.len()..].copy_from_slice(value);
        self.set_run_len(slot.offset, len + cell_len);
        slot.count += 1;
        self.set_slot(run, &slot);
        self.heap_end += cell_len as u32;
        self.live += cell_len as u32;
        self.entries += 1;
        self.last_insert = (run as u32, slot.count as u32 - 1);
        true
    }

    /// Adds an entry that the page does not hold; `known` is its place if the caller has looked.
    pub(super) fn insert(
        &mut self,
        key: &[u8],
        value: &[u8],
        known: Option<Place>,
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Step {
        if self.entries == 0 {
            self.start_with(key, value, limits);
            return Step::Done;
        }
        let shared = common(key, self.prefix());
        let mut known = known;
        if shared < self.prefix_len as usize {
            known = None;
            let before = key < self.prefix();
            if !self.shorten_prefix(shared, limits) {
                return if before { Step::FullBefore } else { Step::FullBehind };
            }
        }
        let place = known.unwrap_or_else(|| self.locate(key));
        self.insert_at(place, key, value, limits, scratch)
    }

    /// Adds an entry at its place; its key begins with the page's prefix.
    pub(super) fn insert_at(
        &mut self,
        place: Place,
        key: &[u8],
        value: &[u8],
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Step {
        let streak = self.streak_with(&place);
        let step = self.put_at(place, key, value, limits, scratch);
        if matches!(step, Step::Done) {
            self.streak = streak;
        }
        step
    }

    fn put_at(&mut self, place: Place, key: &[u8], value: &[u8], limits: &Limits, scratch: &mut Scratch) -> Step {
        debug_assert!(!place.exact);
        let rest = &key[self.prefix_len as usize..];
        let slot = self.slot(place.run);
        let behind = place.cell == slot.count;
        let sequential = self.streak >= 2;
        // Behind a run that is full enough the next one is opened, if more is likely to come here;
        // else the run fills up and is split in the middle.
        let opens = behind && (sequential || place.run + 1 == self.runs());
        let entry_bytes = 1 + rest.len() - place.prev_shared + value.len();
        let full = slot.count >= if opens { limits.run_fill } else { limits.run_max };
        if full || self.run_len(&slot) + entry_bytes > limits.run_bytes {
            let run = match (place.cell, slot.count) {
                (0, _) => 0,
                (_, 1) => place.run + 1,
                _ if opens => place.run + 1,
                (cell, count) => {
                    let at = if sequential && !behind { cell } else { count / 2 };
                    if !self.split_run(place.run, at, limits, scratch) {
                        return Step::Full(place);
                    }
                    let place = self.locate(key);
                    return self.put_at(place, key, value, limits, scratch);
                }
            };
            if !self.insert_run(run, rest, value, limits, scratch) {
                return Step::Full(place);
            }
            self.last_insert = (run as u32, 0);
            return Step::Done;
        }
        let mode = self.body[slot.offset + MODE_AT];
        if mode != MIXED && value.len() != mode as usize {
            if !self.mix_values(place.run, limits, scratch) {
                return Step::Full(place);
            }
            let place = self.locate(key);
            return self.put_at(place, key, value, limits, scratch);
        }

        let run = self.run(&slot);
        let cells = &mut scratch.cells;
        cells.clear();
        let (from, to);
        if place.cell == 0 {
            // The new entry becomes the restart, the old restart a cell behind it.
            let restart = restart_at(run, RUN_HEAD);
            push_restart(cells, rest);
            push_value(cells, mode, value);
            push_cell_header(cells, rest.len() - place.next_shared, restart.key_len - place.next_shared);
            let old = slot.head.to_be_bytes();
            let in_head = restart.key_len.min(old.len());
            cells.extend_from_slice(old[..in_head].get(place.next_shared..).unwrap_or_default());
            let tail_from = place.next_shared.saturating_sub(old.len());
            cells.extend_from_slice(&run[restart.tail + tail_from..restart.field]);
            (from, to) = (RUN_HEAD, restart.field);
        } else {
            push_cell(cells, place.prev_len - place.prev_shared, &rest[place.prev_shared..]);
            push_value(cells, mode, value);
            from = place.at;
            if behind {
                to = from;
            } else {
                let next = cell_at(run, from);
                let lost = place.next_shared - (place.prev_len - next.drop);
                push_cell_header(cells, rest.len() - place.next_shared, next.suffix_len - lost);
                to = next.suffix + lost;
            }
        }
        if !self.splice_run(place.run, from, to, &scratch.cells, limits) {
            return Step::Full(place);
        }
        let mut slot = self.slot(place.run);
        slot.count += 1;
        if place.cell == 0 {
            slot.head = head(rest);
        }
        self.set_slot(place.run, &slot);
        self.entries += 1;
        self.last_insert = (place.run as u32, place.cell as u32);
        Step::Done
    }

    /// Writes another value of the same length; `false`, and nothing changed, for another length.
    pub(super) fn overwrite(&mut self, place: &Place, value: &[u8]) -> bool {
        let slot = self.slot(place.run);
        let run = self.run(&slot);
        let (start, len) = value_at(run, place.field, run[MODE_AT]);
        if len != value.len() {
            return false;
        }
        let start = slot.offset + start;
        self.body[start..start + len].copy_from_slice(value);
        true
    }

    /// Removes the entry at an exact place.
    pub(super) fn remove_at(&mut self, place: &Place, limits: &Limits, scratch: &mut Scratch) {
        debug_assert!(place.exact);
        self.entries -= 1;
        self.streak = 0;
        let mut slot = self.slot(place.run);
        if slot.count == 1 {
            self.remove_run(place.run);
            return;
        }
        let run = self.run(&slot);
        let mode = run[MODE_AT];
        let (value, value_len) = value_at(run, place.field, mode);
        let behind = value + value_len;
        let cells = &mut scratch.cells;
        cells.clear();
        let (from, to);
        if place.cell == 0 {
            let next = cell_at(run, behind);
            let key = &mut scratch.key;
            key.clear();
            self.push_restart_key(&slot, key);
            key.truncate(key.len() - next.drop);
            key.extend_from_slice(&run[next.suffix..next.field()]);
            push_restart(cells, key);
            slot.head = head(key);
            (from, to) = (RUN_HEAD, next.field());
        } else if place.cell + 1 == slot.count {
            (from, to) = (place.at, behind);
        } else {
            let gone = cell_at(run, place.at);
            let next = cell_at(run, behind);
            let gone_shared = place.prev_len - gone.drop;
            let next_shared = gone_shared + gone.suffix_len - next.drop;
            let taken = next_shared.saturating_sub(gone_shared);
            push_cell_header(cells, place.prev_len - next_shared.min(gone_shared), taken + next.suffix_len);
            cells.extend_from_slice(&run[gone.suffix..gone.suffix + taken]);
            (from, to) = (place.at, next.suffix);
        }
        slot.count -= 1;
        self.set_slot(place.run, &slot);
        let fits = self.splice_run(place.run, from, to, &scratch.cells, limits);
        debug_assert!(fits, "a run does not grow when it loses an entry");
    }

    /// Replaces bytes `from..to` of a run; `false`, and nothing changed but offsets, if it finds no
    /// room.
    fn splice_run(&mut self, run: usize, from: usize, to: usize, with: &[u8], limits: &Limits) -> bool {
        let mut slot = self.slot(run);
        let old_len = self.run_len(&slot);
        let new_len = old_len - (to - from) + with.len();
        let mut room = old_len + slot.slack;
        let last = slot.offset + room == self.heap_end as usize;
        if new_len > room && last {
            room = self.directory_at() - slot.offset;
        }
        if new_len > room {
            return self.move_run(run, from, to, with, limits);
        }
        let start = slot.offset;
        self.body.copy_within(start + to..start + old_len, start + from + with.len());
        self.body[start + from..start + from + with.len()].copy_from_slice(with);
        self.set_run_len(start, new_len);
        self.live = self.live + new_len as u32 - old_len as u32;
        if last && new_len >= old_len + slot.slack {
            slot.slack = 0;
            self.heap_end = (start + new_len) as u32;
        } else {
            slot.slack = (old_len + slot.slack - new_len).min(SLACK_MAX);
            if last {
                self.heap_end = (start + new_len + slot.slack) as u32;
            }
        }
        self.set_slot(run, &slot);
        true
    }

    /// [`Self::splice_run`] for a run that must move to the heap's end.
    fn move_run(&mut self, run: usize, from: usize, to: usize, with: &[u8], limits: &Limits) -> bool {
        let old_len = self.run_len(&self.slot(run));
        let new_len = old_len - (to - from) + with.len();
        if !self.make_room(new_len, limits) {
            return false;
        }
        let mut slot = self.slot(run);
        if old_len + slot.slack >= new_len {
            // Writing the page anew has left room behind the run.
            return self.splice_run(run, from, to, with, limits);
        }
        let (start, end) = (slot.offset, self.heap_end as usize);
        self.body.copy_within(start..start + from, end);
        self.body[end + from..end + from + with.len()].copy_from_slice(with);
        self.body.copy_within(start + to..start + old_len, end + from + with.len());
        self.set_run_len(end, new_len);
        let free = self.directory_at() - end - new_len;
        slot.offset = end;
        slot.slack = (new_len / 8).min(free / 4).min(SLACK_MAX);
        self.heap_end = (end + new_len + slot.slack) as u32;
        self.live = self.live + new_len as u32 - old_len as u32;
        self.set_slot(run, &slot);
        true
    }

    /// Adds a run of one entry before run `run`.
    fn insert_run(&mut self, run: usize, rest: &[u8], value: &[u8], limits: &Limits, scratch: &mut Scratch) -> bool {
        let cells = &mut scratch.cells;
        cells.clear();
        push_run(cells, rest, mode_for(value.len()), value);
        if !self.place_run(run, head(rest), 1, &scratch.cells, limits) {
            return false;
        }
        self.entries += 1;
        true
    }

    /// Adds the bytes of a run at the heap's end and its slot before run `run`.
    fn place_run(&mut self, run: usize, head: u64, count: usize, bytes: &[u8], limits: &Limits) -> bool {
        if !self.make_room(bytes.len() + SLOT_BYTES, limits) {
            return false;
        }
        let offset = self.heap_end as usize;
        self.body[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.heap_end += bytes.len() as u32;
        self.live += bytes.len() as u32;
        let from = self.directory_at();
        self.body.copy_within(from..from + run * SLOT_BYTES, from - SLOT_BYTES);
        self.runs += 1;
        self.set_slot(run, &Slot { head, offset, count, slack: 0 });
        true
    }

    /// Takes a run out of the directory; its bytes become a hole.
    fn remove_run(&mut self, run: usize) {
        let slot = self.slot(run);
        let len = self.run_len(&slot);
        self.live -= len as u32;
        if slot.offset + len + slot.slack == self.heap_end as usize {
            self.heap_end = slot.offset as u32;
        }
        let from = self.directory_at();
        self.body.copy_within(from..from + run * SLOT_BYTES, from + SLOT_BYTES);
        self.runs -= 1;
    }

    /// Splits a run before its entry `cell`, which must leave some on both sides.
    pub(super) fn split_run(&mut self, run: usize, cell: usize, limits: &Limits, scratch: &mut Scratch) -> bool {
        let slot = self.slot(run);
        debug_assert!(cell > 0 && cell < slot.count);
        let bytes = self.run(&slot);
        let key = &mut scratch.key;
        key.clear();
        let at = self.push_key(&slot, cell, key);
        let field = cell_at(bytes, at).field();
        let cells = &mut scratch.cells;
        cells.clear();
        cells.extend_from_slice(&[0, 0, bytes[MODE_AT]]);
        push_restart(cells, key);
        cells.extend_from_slice(&bytes[field..]);
        let len = run_len_bytes(cells.len());
        cells[..2].copy_from_slice(&len);
        let head = head(key);
        if !self.place_run(run + 1, head, slot.count - cell, &scratch.cells, limits) {
            return false;
        }
        let mut slot = self.slot(run);
        let old_len = self.run_len(&slot);
        self.set_run_len(slot.offset, at);
        self.live -= (old_len - at) as u32;
        slot.slack = (old_len + slot.slack - at).min(SLACK_MAX);
        slot.count = cell;
        self.set_slot(run, &slot);
        true
    }

    /// Writes a run's values with their lengths, so that it takes values of any length.
    fn mix_values(&mut self, run: usize, limits: &Limits, scratch: &mut Scratch) -> bool {
        let slot = self.slot(run);
        let bytes = self.run(&slot);
        let mode = bytes[MODE_AT];
        let cells = &mut scratch.cells;
        cells.clear();
        cells.push(MIXED);
        let (mut from, mut field) = (RUN_HEAD, restart_at(bytes, RUN_HEAD).field);
        for cell in 0..slot.count {
            if cell > 0 {
                field = cell_at(bytes, from).field();
            }
            let (value, len) = value_at(bytes, field, mode);
            cells.extend_from_slice(&bytes[from..field]);
            push_value(cells, MIXED, &bytes[value..value + len]);
            from = value + len;
        }
        let len = bytes.len();
        self.splice_run(run, MODE_AT, len, &scratch.cells, limits)
    }

    pub(super) fn set_slot(&mut self, run: usize, slot: &Slot) {
        let at = self.directory_at() + run * SLOT_BYTES;
        self.body[at..at + SLOT_BYTES].copy_from_slice(&slot.bytes());
    }

    /// Whether the entry inserted last is the page's last.
    pub(super) fn is_last_insert_at_end(&self) -> bool {
        let (run, cell) = (self.last_insert.0 as usize, self.last_insert.1 as usize);
        run + 1 == self.runs() && cell + 1 == self.slot(run).count
    }

    /// What [`Leaf::streak`] becomes with an insert at this place.
    fn streak_with(&self, place: &Place) -> i32 {
        let (run, cell) = (self.last_insert.0 as usize, self.last_insert.1 as usize);
        if place.run != run {
            return 0;
        }
        if place.cell == cell + 1 {
            return self.streak.max(0).saturating_add(1);
        }
        if place.cell == cell {
            return self.streak.min(0).saturating_sub(1);
        }
        0
    }
}

/// Appends a run of one entry.
fn push_run(out: &mut Vec<u8>, rest: &[u8], mode: u8, value: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, mode]);
    push_restart(out, rest);
    push_value(out, mode, value);
    let len = run_len_bytes(out.len() - start);
    out[start..start + 2].copy_from_slice(&len);
}
