//! IXSCAN: the entries of an index within bounds.

use std::ops::Bound;

use bindery_document::{Error, Result, code};
use bindery_index::key::{CorruptKey, record_id, split_record_id};
use bindery_index::tree::Cursor;
use bindery_index::{RecordId, RecordSet, Untraced};
use bindery_query::plan::{self, ScanDirection};

use super::key_range::{KeyRange, Verdict};
use super::stage::{KeyView, StageStats};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct IndexScan {
    /// What is scanned, as planned.
    pub(super) plan: plan::IndexScan,
    range: KeyRange,
    cursor: Cursor,
    seen: Option<RecordSet>,
    next: Next,
    target: Vec<u8>,
    record_id: RecordId,
}

/// How the scan moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Begin,
    Step,
}

impl IndexScan {
    pub(super) fn new(state: &State, plan: plan::IndexScan) -> IndexScan {
        let index = &state.indexes[plan.index];
        let range = KeyRange::new(&index.meta, &plan.bounds, plan.direction);
        IndexScan {
            range,
            cursor: Cursor::new(&index.tree),
            seen: plan.dedupe.then(RecordSet::new),
            next: Next::Begin,
            target: Vec::new(),
            record_id: RecordId(0),
            plan,
        }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        let mut seek = false;
        loop {
            cx.step()?;
            if !self.step(seek, stats, cx) || self.range.is_beyond(self.cursor.key()) {
                return Ok(false);
            }
            stats.keys_examined += 1;
            cx.work.keys_examined += 1;
            match self.range.check(self.cursor.key(), &mut self.target).map_err(corrupt)? {
                Verdict::Done => return Ok(false),
                Verdict::Seek => {
                    seek = true;
                    stats.works += 1;
                    continue;
                }
                Verdict::Within => seek = false,
            }
            self.record_id = record_id(self.cursor.key()).map_err(corrupt)?;
            if let Some(seen) = &mut self.seen
                && !seen.insert(self.record_id)
            {
                stats.dups_dropped += 1;
                stats.works += 1;
                continue;
            }
            if let Some(filter) = &self.plan.filter {
                let document = super::stage::key_document(state, self.key())?;
                if !filter.matches_with(document.doc(), cx.parameters)? {
                    stats.works += 1;
                    continue;
                }
            }
            return Ok(true);
        }
    }

    /// Moves to the next entry, or to where `target` says; false if there is none.
    fn step(&mut self, seek: bool, stats: &mut StageStats, cx: &mut Cx<'_>) -> bool {
        let forward = self.plan.direction == ScanDirection::Forward;
        if self.next == Next::Begin {
            self.next = Next::Step;
            stats.seeks += 1;
            if self.range.is_empty() {
                return false;
            }
            return match (self.range.start(&mut self.target), forward) {
                (true, true) => self.cursor.seek(&self.target, &mut cx.visitor),
                (true, false) => self.cursor.seek_below(&self.target, &mut cx.visitor),
                (false, true) => self.cursor.seek_first(&mut cx.visitor),
                (false, false) => self.cursor.seek_last(&mut cx.visitor),
            };
        }
        match (seek, forward) {
            (false, true) => self.cursor.next(&mut cx.visitor),
            (false, false) => self.cursor.prev(&mut cx.visitor),
            (true, forward) => {
                stats.seeks += 1;
                if forward {
                    self.cursor.seek(&self.target, &mut cx.visitor)
                } else {
                    self.cursor.seek_below(&self.target, &mut cx.visitor)
                }
            }
        }
    }

    pub(super) fn record_id(&self) -> RecordId {
        self.record_id
    }

    /// Whether no other entry has the key of the present one, whatever its record.
    pub(super) fn is_sole_entry(&self, state: &State) -> bool {
        let Ok((key, _)) = split_record_id(self.cursor.key()) else { return false };
        let mut after = key.to_vec();
        while let Some(last) = after.pop() {
            if let Some(next) = last.checked_add(1) {
                after.push(next);
                break;
            }
        }
        let tree = &state.indexes[self.plan.index].tree;
        tree.count_range(Bound::Included(key), Bound::Excluded(&after), &mut Untraced) <= 1
    }

    pub(super) fn key(&self) -> KeyView<'_> {
        KeyView { index: self.plan.index, entry: self.cursor.key(), type_bits: self.cursor.value() }
    }
}

/// An index entry that cannot be read is a fault of ours, not the caller's.
pub(crate) fn corrupt(fault: CorruptKey) -> Error {
    Error::new(code::INTERNAL_ERROR, format!("an index entry cannot be read: {fault:?}"))
}
