//! Writing a leaf page anew: to push its runs together, to grow or shrink its body, to change its
//! common prefix, to split it and to merge two.
//!
//! All of these copy whole runs. Cells depend only on the cell before them, so a changed prefix
//! touches nothing but each run's restart.

use std::ops::Range;

use super::cell::{MODE_AT, RUN_HEAD, common, head, push_restart, restart_at, restart_len};
use super::edit::Scratch;
use super::leaf::{Leaf, SLOT_BYTES, Slot, run_len_bytes};
use super::options::Limits;
use crate::page::PageId;

/// Most slack that a rewritten page leaves behind each run: about two entries.
const REBUILD_SLACK: usize = 32;
/// Runs of fewer entries on average are put together when entries are removed.
const SHORT_RUN: usize = 4;

/// Some runs of a page, as material for another.
#[derive(Clone)]
pub(super) struct Part<'a> {
    pub(super) leaf: &'a Leaf,
    pub(super) runs: Range<usize>,
}

impl<'a> Part<'a> {
    pub(super) fn whole(leaf: &'a Leaf) -> Part<'a> {
        Part { leaf, runs: 0..leaf.runs() }
    }

    fn slots(&self) -> impl Iterator<Item = Slot> + 'a {
        self.leaf.directory()[self.runs.clone()].iter().map(Slot::read)
    }

    /// Bytes of these runs with their slots under a common prefix of `prefix_len`.
    pub(super) fn bytes(&self, prefix_len: usize) -> usize {
        let old_prefix = self.leaf.prefix_len as usize;
        self.slots()
            .map(|slot| {
                let run = self.leaf.run(&slot);
                let moved = if old_prefix == prefix_len {
                    run.len()
                } else {
                    let old = restart_at(run, RUN_HEAD).key_len;
                    let new = old + old_prefix - prefix_len;
                    run.len() - restart_len(old) + restart_len(new)
                };
                SLOT_BYTES + moved
            })
            .sum()
    }

    fn first_key(&self) -> Vec<u8> {
        let mut key = self.leaf.prefix().to_vec();
        self.leaf.push_restart_key(&self.leaf.slot(self.runs.start), &mut key);
        key
    }

    fn last_key(&self) -> Vec<u8> {
        let mut key = self.leaf.prefix().to_vec();
        let slot = self.leaf.slot(self.runs.end - 1);
        self.leaf.push_key(&slot, slot.count - 1, &mut key);
        key
    }
}

/// The longest prefix that all keys of these parts share, within the limit.
fn common_prefix(parts: &[Part<'_>], limits: &Limits) -> Vec<u8> {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return Vec::new();
    };
    let mut prefix = first.first_key();
    let shared = common(&prefix, &last.last_key());
    prefix.truncate(shared.min(limits.prefix_max));
    prefix
}

/// A page of these runs, none of them empty, in this order. `body_bytes` must hold them with
/// `slack` bytes behind each.
fn assemble(id: PageId, parts: &[Part<'_>], prefix: &[u8], body_bytes: usize, slack: usize) -> Leaf {
    let mut body = Vec::with_capacity(body_bytes);
    body.extend_from_slice(prefix);
    let mut slots = Vec::with_capacity(parts.iter().map(|p| p.runs.len() * SLOT_BYTES).sum());
    let (mut entries, mut live) = (0, 0);
    let mut restart_key = Vec::new();
    for part in parts {
        let same_prefix = part.leaf.prefix_len as usize == prefix.len();
        for mut slot in part.slots() {
            let run = part.leaf.run(&slot);
            let offset = body.len();
            if same_prefix {
                body.extend_from_slice(run);
            } else {
                restart_key.clear();
                restart_key.extend_from_slice(part.leaf.prefix());
                part.leaf.push_restart_key(&slot, &mut restart_key);
                let rest = &restart_key[prefix.len()..];
                body.extend_from_slice(&[0, 0, run[MODE_AT]]);
                push_restart(&mut body, rest);
                body.extend_from_slice(&run[restart_at(run, RUN_HEAD).field..]);
                let len = body.len() - offset;
                body[offset..offset + 2].copy_from_slice(&run_len_bytes(len));
                slot.head = head(rest);
            }
            let len = body.len() - offset;
            body.resize(body.len() + slack, 0);
            live += len;
            entries += slot.count;
            slot.offset = offset;
            slot.slack = slack;
            slots.extend_from_slice(&slot.bytes());
        }
    }
    let heap_end = body.len();
    let runs = slots.len() / SLOT_BYTES;
    debug_assert!(heap_end + slots.len() <= body_bytes);
    body.resize(body_bytes - slots.len(), 0);
    body.extend_from_slice(&slots);
    Leaf {
        entries: entries as u32,
        prefix_len: prefix.len() as u32,
        heap_end: heap_end as u32,
        live: live as u32,
        runs: runs as u32,
        body: body.into_boxed_slice(),
        ..Leaf::empty(id)
    }
}

impl Leaf {
    /// Writes the page into a body of `body_bytes`, its runs together in key order, and spreads half
    /// of what `need` leaves free behind the runs.
    fn rebuild(&mut self, body_bytes: usize, need: usize) {
        let spare = body_bytes.saturating_sub(self.used_body() + need);
        let slack = (spare / 2 / self.runs().max(1)).min(REBUILD_SLACK);
        let (last_insert, streak) = (self.last_insert, self.streak);
        let prefix = self.prefix().to_vec();
        *self = assemble(self.id, &[Part::whole(self)], &prefix, body_bytes, slack);
        (self.last_insert, self.streak) = (last_insert, streak);
    }

    /// Makes `need` free bytes between heap and directory; `false` if the page is full. The common
    /// prefix and every run stay as they are, except for their offsets and slack.
    pub(super) fn make_room(&mut self, need: usize, limits: &Limits) -> bool {
        if self.is_alone(limits) {
            return false;
        }
        if self.directory_at() - self.heap_end as usize >= need {
            return true;
        }
        let used = self.used_body();
        let spare = self.body.len() - used;
        if spare >= need + limits.reserve() {
            self.rebuild(self.body.len(), need);
            return true;
        }
        if used + need > limits.body_max || self.body.len() >= limits.body_max {
            return false;
        }
        self.rebuild(limits.body_for(used + need), need);
        true
    }

    /// Whether the page is there for one large entry alone. It takes no other, so that the length of
    /// every run that has a neighbour can be noted.
    fn is_alone(&self, limits: &Limits) -> bool {
        self.entries == 1 && self.live as usize > limits.entry_max
    }

    /// Shortens the common prefix to `len`; `false` if the page has no room for the longer restarts.
    pub(super) fn shorten_prefix(&mut self, len: usize, limits: &Limits) -> bool {
        let part = Part::whole(self);
        let used = len + part.bytes(len);
        if used > limits.body_max {
            return false;
        }
        let body_bytes = self.body.len().max(limits.body_for(used));
        let prefix = self.prefix()[..len].to_vec();
        let (last_insert, streak) = (self.last_insert, self.streak);
        *self = assemble(self.id, &[part], &prefix, body_bytes, 0);
        (self.last_insert, self.streak) = (last_insert, streak);
        true
    }

    /// Gives back all that the page does not use, and takes out the longest common prefix.
    pub(super) fn trim(&mut self, limits: &Limits) {
        let parts = [Part::whole(self)];
        let prefix = common_prefix(&parts, limits);
        let body_bytes = prefix.len() + parts[0].bytes(prefix.len());
        *self = assemble(self.id, &parts, &prefix, body_bytes, 0);
    }

    /// After removals: puts entries of runs that have become short together, and gives back half of
    /// the body when most of it is free.
    pub(super) fn tidy(&mut self, limits: &Limits, scratch: &mut Scratch) {
        if self.entries == 0 {
            *self = Leaf::empty(self.id);
            return;
        }
        let runs = self.runs();
        let short = (self.entries as usize) < SHORT_RUN * runs;
        if runs > 1 && short && (self.live as usize) < runs * limits.run_bytes / SHORT_RUN {
            self.regroup(limits, scratch);
        }
        let body_bytes = limits.body_for(self.used_body());
        if 2 * body_bytes <= self.body.len() {
            self.rebuild(body_bytes, 0);
        }
    }

    /// Writes the page from its entries, in full runs.
    fn regroup(&mut self, limits: &Limits, scratch: &mut Scratch) {
        let mut page = Leaf::empty(self.id);
        let mut last = Vec::new();
        self.for_each(|key, value| {
            let shared = common(&last, key);
            page.append(key, value, &last, shared, limits, scratch);
            last.clear();
            last.extend_from_slice(key);
        });
        debug_assert_eq!(page.entries, self.entries);
        if page.entries == self.entries {
            *self = page;
        }
    }

    /// Moves the runs from `run` on, which must leave some on both sides, to a new page.
    pub(super) fn split_off(&mut self, run: usize, limits: &Limits) -> Leaf {
        debug_assert!(run > 0 && run < self.runs());
        let half = |id, runs: Range<usize>| {
            let parts = [Part { leaf: self, runs }];
            let prefix = common_prefix(&parts, limits);
            let used = prefix.len() + parts[0].bytes(prefix.len());
            let body_bytes = limits.body_for(used);
            let slack = (body_bytes - used) / 2 / parts[0].runs.len();
            assemble(id, &parts, &prefix, body_bytes, slack.min(REBUILD_SLACK))
        };
        let mut right = half(PageId::fresh(), run..self.runs());
        let mut left = half(self.id, 0..run);
        let (at, cell) = self.last_insert;
        match at.checked_sub(run as u32) {
            Some(at) => (right.last_insert, right.streak) = ((at, cell), self.streak),
            None => (left.last_insert, left.streak) = ((at, cell), self.streak),
        }
        *self = left;
        right
    }

    /// The run at which a split leaves the two pages nearest to equal; `None` for a single run.
    pub(super) fn middle_run(&self) -> Option<usize> {
        if self.runs < 2 {
            return None;
        }
        let half = (self.live as usize + SLOT_BYTES * self.runs()) / 2;
        let mut left = 0;
        for run in 0..self.runs() {
            let bytes = SLOT_BYTES + self.run_len(&self.slot(run));
            if left + bytes / 2 >= half {
                return Some(run.clamp(1, self.runs() - 1));
            }
            left += bytes;
        }
        Some(self.runs() - 1)
    }

    /// This page and its right neighbour in one, under this page's id, if that fills no more than
    /// three quarters of a page; two pages merged any fuller would soon be split again.
    pub(super) fn merged_with(&self, right: &Leaf, limits: &Limits) -> Option<Leaf> {
        let parts: Vec<Part<'_>> = [self, right].into_iter().filter(|leaf| leaf.runs > 0).map(Part::whole).collect();
        if parts.is_empty() {
            return Some(Leaf::empty(self.id));
        }
        let prefix = common_prefix(&parts, limits);
        let used = prefix.len() + parts.iter().map(|p| p.bytes(prefix.len())).sum::<usize>();
        let alone = self.is_alone(limits) || right.is_alone(limits);
        if parts.len() == 2 && (alone || used > limits.body_max * 3 / 4) {
            return None;
        }
        Some(assemble(self.id, &parts, &prefix, limits.body_for(used), 0))
    }
}

/// Bytes that a restart of `rest_len` needs besides its value field.
pub(super) fn new_run_bytes(rest_len: usize) -> usize {
    RUN_HEAD + restart_len(rest_len)
}
