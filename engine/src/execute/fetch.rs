//! FETCH and IDHACK: from record ids and `_id`s to documents.

use std::sync::Arc;

use bindery_document::{Doc, OwnedValue, Result};
use bindery_index::RecordId;
use bindery_query::filter::Filter;

use super::stage::{ResultSink, Stage, StageStats};
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
            if examine(state, record_id, self.filter.as_deref(), stats, cx)?.is_some() {
                return Ok(true);
            }
            stats.works += 1;
        }
        Ok(false)
    }

    /// Hands over the documents that are left, until the sink takes no more.
    pub(super) fn drain(
        &mut self,
        state: &State,
        stats: &mut StageStats,
        cx: &mut Cx<'_>,
        sink: &mut ResultSink<'_>,
    ) -> Result<()> {
        while self.input.advance(state, cx)? {
            let Some(record_id) = self.input.record_id() else { continue };
            stats.works += 1;
            if let Some(document) = examine(state, record_id, self.filter.as_deref(), stats, cx)? {
                stats.advanced += 1;
                if sink(Some(record_id), document)?.is_break() {
                    return Ok(());
                }
            }
        }
        stats.works += 1;
        stats.is_eof = true;
        Ok(())
    }
}

/// Looks at a record, counted: its document, if it matches.
pub(super) fn examine<'s>(
    state: &'s State,
    record_id: RecordId,
    filter: Option<&Filter>,
    stats: &mut StageStats,
    cx: &mut Cx<'_>,
) -> Result<Option<Doc<'s>>> {
    let Some(bytes) = state.records.get(record_id, &mut cx.visitor) else {
        return Ok(None);
    };
    Ok(examine_stored(bytes, filter, stats, cx)?.then_some(Doc::from_stored(bytes)))
}

/// Looks at a document that was found already, counted: whether it matches.
pub(super) fn examine_stored(
    document: &[u8],
    filter: Option<&Filter>,
    stats: &mut StageStats,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    stats.docs_examined += 1;
    cx.work.docs_examined += 1;
    cx.work.doc_bytes += document.len() as u64;
    passes(filter, document, cx.parameters)
}

/// Whether a document matches, uncounted.
#[inline]
pub(super) fn passes(filter: Option<&Filter>, document: &[u8], parameters: &[Option<OwnedValue>]) -> Result<bool> {
    match filter {
        None => Ok(true),
        Some(filter) => filter.matches_with(Doc::from_stored(document), parameters),
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

    /// Whether it has looked.
    pub(super) fn is_done(&self) -> bool {
        self.done
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
        Ok(examine(state, record_id, None, stats, cx)?.is_some())
    }

    pub(super) fn record_id(&self) -> Option<RecordId> {
        self.found
    }
}
