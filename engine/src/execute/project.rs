//! PROJECTION_* and RETURN_KEY: results in another shape.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result};
use bindery_index::RecordId;
use bindery_index::keygen::Keys;
use bindery_query::plan::{ProjectionKind, Shape};
use bindery_query::projection::{Input, Metadata};
use bindery_query::sort::Sort;

use super::stage::{Stage, StageStats, key_document};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct Project {
    pub(super) input: Stage,
    pub(super) shape: Arc<Shape>,
    pub(super) kind: ProjectionKind,
    output: Vec<u8>,
}

impl Project {
    pub(super) fn new(input: Stage, shape: Arc<Shape>, kind: ProjectionKind) -> Project {
        Project { input, shape, kind, output: Vec::new() }
    }

    pub(super) fn advance(&mut self, state: &State, _stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.input.advance(state, cx)? {
            return Ok(false);
        }
        match self.input.key().filter(|_| matches!(self.kind, ProjectionKind::Covered | ProjectionKind::CoveredDefault))
        {
            Some(key) => apply(&self.shape, key_document(state, key)?.doc(), None, &mut self.output)?,
            None => apply(&self.shape, self.input.document(state), self.input.record_id(), &mut self.output)?,
        }
        Ok(true)
    }

    pub(super) fn document(&self) -> Doc<'_> {
        Doc::from_stored(&self.output)
    }
}

pub(crate) struct ReturnKey {
    pub(super) input: Stage,
    output: DocBuf,
}

impl ReturnKey {
    pub(super) fn new(input: Stage) -> ReturnKey {
        ReturnKey { input, output: DocBuf::new() }
    }

    pub(super) fn advance(&mut self, state: &State, _stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.input.advance(state, cx)? {
            return Ok(false);
        }
        self.output = match self.input.key() {
            Some(key) => state.indexes[key.index].values_of(key.entry, key.type_bits)?,
            None => DocBuf::new(),
        };
        Ok(true)
    }

    pub(super) fn document(&self) -> Doc<'_> {
        self.output.doc()
    }
}

/// Writes a document in another shape.
///
/// # Errors
/// What the projection says.
pub(crate) fn apply(shape: &Shape, document: Doc<'_>, record_id: Option<RecordId>, out: &mut Vec<u8>) -> Result<()> {
    let mut input = Input::new(document);
    input.scope = input.scope.with_strings(shape.strings.as_deref());
    if let Some(filter) = &shape.position {
        input.position = filter.matches_at(document)?.1.map(|position| position as usize);
    }
    let sort_key = match &shape.sort_key {
        Some(order) => Some(sort_key_array(order, document)?),
        None => None,
    };
    input.metadata = Metadata {
        slotted: None,
        record_id: record_id.map(|id| id.0 as i64),
        sort_key: sort_key.as_ref().map(DocBuf::doc),
        ..Metadata::default()
    };
    shape.projection.apply(&input, out)
}

/// The values that a document is sorted by, as an array.
fn sort_key_array(order: &Sort, document: Doc<'_>) -> Result<DocBuf> {
    let mut array = Builder::new();
    for (i, value) in order.key_values(document, &mut Keys::new())?.iter().enumerate() {
        array.append_index(i, value.value());
    }
    Ok(array.finish())
}

/// A document in another shape, on its own.
///
/// # Errors
/// What the projection says.
pub(crate) fn project(shape: &Shape, document: Doc<'_>) -> Result<DocBuf> {
    let mut out = Vec::new();
    apply(shape, document, None, &mut out)?;
    Ok(DocBuf::from_stored(out))
}
