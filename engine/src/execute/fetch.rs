//! FETCH and IDHACK: from record ids and `_id`s to documents.

use std::sync::Arc;

use bindery_document::{Doc, OwnedValue, Result};
use bindery_index::RecordId;
use bindery_query::filter::Filter;

use super::stage::{Stage, StageStats};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct Fetch {
    pub(super) input: Stage,
    pub(super) filter: Option<Arc<Filter>>,
}

impl Fetch {
    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        while self.input.advance(state, cx)? {
            let Some(record_id) = self.input.record_id() else { continue };
            if examine(state, record_id, self.filter.as_deref(), stats, cx)? {
                return Ok(true);
            }
            stats.works += 1;
        }
        Ok(false)
    }
}

/// Looks at a record, counted, and says whether it matches.
pub(super) fn examine(
    state: &State,
    record_id: RecordId,
    filter: Option<&Filter>,
    stats: &mut StageStats,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let Some(bytes) = state.records.get(record_id, &mut cx.visitor) else {
        return Ok(false);
    };
    stats.docs_examined += 1;
    cx.work.docs_examined += 1;
    cx.work.doc_bytes += bytes.len() as u64;
    match filter {
        None => Ok(true),
        Some(filter) => filter.matches_with(Doc::from_stored(bytes), cx.parameters),
    }
}

pub(crate) struct IdLookup {
    pub(super) id: OwnedValue,
    found: Option<RecordId>,
    done: bool,
}

impl IdLookup {
    pub(super) fn new(id: OwnedValue) -> IdLookup {
        IdLookup { id, found: None, done: false }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        let Some(index) = state.id_index() else { return Ok(false) };
        self.found = index.find_one(&self.id.value(), &mut cx.visitor)?;
        let Some(record_id) = self.found else { return Ok(false) };
        stats.keys_examined += 1;
        cx.work.keys_examined += 1;
        examine(state, record_id, None, stats, cx)
    }

    pub(super) fn record_id(&self) -> Option<RecordId> {
        self.found
    }
}
