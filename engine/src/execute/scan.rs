//! COLLSCAN: every document, in its natural order or against it: that of insertion, or of `_id` in a clustered
//! collection. CLUSTERED_IXSCAN: a stretch of the latter.

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::{Doc, Result};
use bindery_index::RecordId;
use bindery_index::key::record_id;
use bindery_index::{records, tree};
use bindery_query::filter::Filter;
use bindery_query::plan::{self, ScanDirection};

use super::fetch::{examine, examine_stored, passes};
use super::index_scan::{IndexScan, corrupt};
use super::stage::{ResultSink, StageStats, stored};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct CollectionScan {
    pub(super) filter: Option<Arc<Filter>>,
    pub(super) direction: ScanDirection,
    cursor: Cursor,
    record_id: RecordId,
}

/// What gives the natural order.
enum Cursor {
    Records(records::Cursor),
    /// The entries of the index on `_id`; whether it has begun.
    Clustered(tree::Cursor, bool),
}

impl Cursor {
    fn new(state: &State, direction: ScanDirection) -> Cursor {
        if let Some(index) = state.id_index().filter(|index| index.meta.spec.clustered) {
            return Cursor::Clustered(tree::Cursor::new(&index.tree), false);
        }
        Cursor::Records(match direction {
            ScanDirection::Forward => state.records.cursor(),
            ScanDirection::Backward => state.records.cursor_at_end(),
        })
    }

    fn advance<'a>(
        &'a mut self,
        state: &'a State,
        direction: ScanDirection,
        cx: &mut Cx<'_>,
    ) -> Result<Option<(RecordId, &'a [u8])>> {
        let forward = direction == ScanDirection::Forward;
        match self {
            Cursor::Records(cursor) => {
                Ok(if forward { cursor.next(&mut cx.visitor) } else { cursor.prev(&mut cx.visitor) })
            }
            Cursor::Clustered(cursor, begun) => {
                let moved = match (std::mem::replace(begun, true), forward) {
                    (false, true) => cursor.seek_first(&mut cx.visitor),
                    (false, false) => cursor.seek_last(&mut cx.visitor),
                    (true, true) => cursor.next(&mut cx.visitor),
                    (true, false) => cursor.prev(&mut cx.visitor),
                };
                if !moved {
                    return Ok(None);
                }
                let found = record_id(cursor.key()).map_err(corrupt)?;
                Ok(state.records.get(found, &mut cx.visitor).map(|bytes| (found, bytes)))
            }
        }
    }
}

impl CollectionScan {
    pub(super) fn new(state: &State, filter: Option<Arc<Filter>>, direction: ScanDirection) -> CollectionScan {
        let cursor = Cursor::new(state, direction);
        CollectionScan { filter, direction, cursor, record_id: RecordId(0) }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        match &mut self.cursor {
            Cursor::Records(cursor) if self.direction == ScanDirection::Forward => {
                let record_id = &mut self.record_id;
                scan(cursor, self.filter.as_deref(), stats, cx, |found, _| {
                    *record_id = found;
                    Ok(ControlFlow::Break(()))
                })
                .map(|flow| flow.is_break())
            }
            _ => self.advance_singly(state, stats, cx),
        }
    }

    /// Goes to the end, and counts the documents that match on the way.
    pub(super) fn count_rest(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<u64> {
        if self.filter.is_none() && stats.works == 0 {
            return Ok(state.records.len());
        }
        let mut found = 0;
        match &mut self.cursor {
            Cursor::Records(cursor) if self.direction == ScanDirection::Forward => {
                let count = |_, _: &[u8]| {
                    found += 1;
                    Ok(ControlFlow::Continue(()))
                };
                let _ = scan(cursor, self.filter.as_deref(), stats, cx, count)?;
            }
            _ => {
                while self.advance_singly(state, stats, cx)? {
                    found += 1;
                }
            }
        }
        Ok(found)
    }

    /// Hands over the documents that are left, until the sink takes no more.
    pub(super) fn drain(
        &mut self,
        state: &State,
        stats: &mut StageStats,
        cx: &mut Cx<'_>,
        sink: &mut ResultSink<'_>,
    ) -> Result<()> {
        let mut given = 0;
        let mut flow = ControlFlow::Continue(());
        match &mut self.cursor {
            Cursor::Records(cursor) if self.direction == ScanDirection::Forward => {
                flow = scan(cursor, self.filter.as_deref(), stats, cx, |record_id, bytes| {
                    given += 1;
                    sink(Some(record_id), Doc::from_stored(bytes))
                })?;
            }
            _ => {
                while flow.is_continue() && self.advance_singly(state, stats, cx)? {
                    given += 1;
                    flow = sink(Some(self.record_id), stored(state, self.record_id))?;
                }
            }
        }
        stats.advanced += given;
        stats.works += given + u64::from(flow.is_continue());
        stats.is_eof = flow.is_continue();
        Ok(())
    }

    /// Moves on in the other orders, where the store gives no runs.
    fn advance_singly(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            cx.step()?;
            let Some((record_id, bytes)) = self.cursor.advance(state, self.direction, cx)? else { return Ok(false) };
            if examine_stored(bytes, self.filter.as_deref(), stats, cx)? {
                self.record_id = record_id;
                return Ok(true);
            }
            stats.works += 1;
        }
    }

    pub(super) fn record_id(&self) -> RecordId {
        self.record_id
    }
}

/// The documents of a clustered collection whose `_id`s are within bounds.
pub(crate) struct ClusteredScan {
    places: IndexScan,
    filter: Option<Arc<Filter>>,
    /// What finding the places took: keys of the index that is the collection's own order are none to examine.
    own: StageStats,
}

impl ClusteredScan {
    pub(super) fn new(state: &State, scan: plan::IndexScan, filter: Option<Arc<Filter>>) -> ClusteredScan {
        ClusteredScan { places: IndexScan::new(state, scan), filter, own: StageStats::default() }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            let keys_examined = cx.work.keys_examined;
            let moved = self.places.advance(state, &mut self.own, cx)?;
            cx.work.keys_examined = keys_examined;
            if !moved {
                return Ok(false);
            }
            if examine(state, self.places.record_id(), self.filter.as_deref(), stats, cx)?.is_some() {
                return Ok(true);
            }
            stats.works += 1;
        }
    }

    pub(super) fn record_id(&self) -> RecordId {
        self.places.record_id()
    }
}

/// Hands on what matches, run by run, until told to stop: break if it was, continue at the end.
fn scan(
    cursor: &mut records::Cursor,
    filter: Option<&Filter>,
    stats: &mut StageStats,
    cx: &mut Cx<'_>,
    mut on_match: impl FnMut(RecordId, &[u8]) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    loop {
        let more = cx.step_ahead()?;
        let Some(run) = cursor.next_run(&mut cx.visitor) else { return Ok(ControlFlow::Continue(())) };
        let (mut examined, mut bytes, mut matched) = (0, 0, 0);
        let mut outcome = Ok(ControlFlow::Continue(()));
        for (record_id, document) in run.take(1 + more as usize) {
            examined += 1;
            bytes += document.len() as u64;
            match passes(filter, document, cx.parameters) {
                Ok(false) => continue,
                Ok(true) => {
                    matched += 1;
                    outcome = on_match(record_id, document);
                }
                Err(error) => outcome = Err(error),
            }
            if !matches!(outcome, Ok(ControlFlow::Continue(()))) {
                break;
            }
        }
        cx.stepped((examined as u32).saturating_sub(1));
        cx.work.docs_examined += examined;
        cx.work.doc_bytes += bytes;
        stats.docs_examined += examined;
        // The call that stops here is counted by who made it.
        stats.works += examined - matched;
        if !matches!(outcome, Ok(ControlFlow::Continue(()))) {
            return outcome;
        }
    }
}
