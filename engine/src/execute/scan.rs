//! COLLSCAN: every document, in its natural order or against it: that of insertion, or of `_id` in a clustered
//! collection.

use std::sync::Arc;

use bindery_document::{Doc, Result};
use bindery_index::RecordId;
use bindery_index::key::record_id;
use bindery_index::{records, tree};
use bindery_query::filter::Filter;
use bindery_query::plan::ScanDirection;

use super::index_scan::corrupt;
use super::stage::StageStats;
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
        loop {
            cx.step()?;
            let Some((record_id, bytes)) = self.cursor.advance(state, self.direction, cx)? else { return Ok(false) };
            stats.docs_examined += 1;
            cx.work.docs_examined += 1;
            cx.work.doc_bytes += bytes.len() as u64;
            let matches = match &self.filter {
                None => true,
                Some(filter) => filter.matches_with(Doc::from_stored(bytes), cx.parameters)?,
            };
            if matches {
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
