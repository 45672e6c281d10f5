//! COLLSCAN: every document, in the order of insertion or against it.

use std::sync::Arc;

use bindery_document::{Doc, Result};
use bindery_index::RecordId;
use bindery_index::records::Cursor;
use bindery_query::filter::Filter;
use bindery_query::plan::ScanDirection;

use super::stage::StageStats;
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct CollectionScan {
    pub(super) filter: Option<Arc<Filter>>,
    pub(super) direction: ScanDirection,
    cursor: Cursor,
    record_id: RecordId,
}

impl CollectionScan {
    pub(super) fn new(state: &State, filter: Option<Arc<Filter>>, direction: ScanDirection) -> CollectionScan {
        let cursor = match direction {
            ScanDirection::Forward => state.records.cursor(),
            ScanDirection::Backward => state.records.cursor_at_end(),
        };
        CollectionScan { filter, direction, cursor, record_id: RecordId(0) }
    }

    pub(super) fn advance(&mut self, _state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            cx.step()?;
            let next = match self.direction {
                ScanDirection::Forward => self.cursor.next(&mut cx.visitor),
                ScanDirection::Backward => self.cursor.prev(&mut cx.visitor),
            };
            let Some((record_id, bytes)) = next else { return Ok(false) };
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
