//! DISTINCT_SCAN: one entry for each value of an index's leading fields, skipping the others.

use bindery_document::Result;
use bindery_index::RecordId;
use bindery_index::key::{prefix_end, record_id};
use bindery_index::tree::Cursor;
use bindery_query::plan::{self, ScanDirection};

use super::index_scan::corrupt;
use super::key_range::{KeyRange, Verdict};
use super::stage::{KeyView, StageStats};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct DistinctScan {
    pub(super) plan: plan::IndexScan,
    /// How many leading fields tell entries apart.
    pub(super) fields: usize,
    range: KeyRange,
    cursor: Cursor,
    begun: bool,
    target: Vec<u8>,
    record_id: RecordId,
}

impl DistinctScan {
    pub(super) fn new(state: &State, plan: plan::IndexScan, fields: usize) -> DistinctScan {
        let index = &state.indexes[plan.index];
        DistinctScan {
            range: KeyRange::new(&index.meta, &plan.bounds, plan.direction),
            cursor: Cursor::new(&index.tree),
            begun: false,
            target: Vec::new(),
            record_id: RecordId(0),
            plan,
            fields,
        }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        let forward = self.plan.direction == ScanDirection::Forward;
        if self.range.is_empty() {
            return Ok(false);
        }
        let mut bounded = true;
        if self.begun {
            // Behind all entries with the same leading fields.
            let directions = state.indexes[self.plan.index].meta.directions();
            let end = prefix_end(self.cursor.key(), self.fields, directions).map_err(corrupt)?;
            self.target.clear();
            self.target.extend_from_slice(&self.cursor.key()[..end]);
            if forward {
                self.target.push(super::key_range::AFTER);
            }
        } else {
            self.begun = true;
            bounded = self.range.start(&mut self.target);
        }
        loop {
            cx.step()?;
            stats.seeks += 1;
            let found = match (bounded, forward) {
                (true, true) => self.cursor.seek(&self.target, &mut cx.visitor),
                (true, false) => self.cursor.seek_below(&self.target, &mut cx.visitor),
                (false, true) => self.cursor.seek_first(&mut cx.visitor),
                (false, false) => self.cursor.seek_last(&mut cx.visitor),
            };
            if !found || self.range.is_beyond(self.cursor.key()) {
                return Ok(false);
            }
            stats.keys_examined += 1;
            cx.work.keys_examined += 1;
            match self.range.check(self.cursor.key(), &mut self.target).map_err(corrupt)? {
                Verdict::Done => return Ok(false),
                Verdict::Seek => {
                    bounded = true;
                    stats.works += 1;
                }
                Verdict::Within => {
                    self.record_id = record_id(self.cursor.key()).map_err(corrupt)?;
                    return Ok(true);
                }
            }
        }
    }

    pub(super) fn record_id(&self) -> RecordId {
        self.record_id
    }

    pub(super) fn key(&self) -> KeyView<'_> {
        KeyView { index: self.plan.index, entry: self.cursor.key(), type_bits: self.cursor.value() }
    }
}
