//! Capped collections: the oldest documents make room for the newest.
//!
//! Source: MongoDB's manual, "Capped Collections".

use bindery_document::{Doc, Error, Result, code};

use super::Scratch;
use super::delete::delete_record;
use crate::collection::State;
use crate::trace::Cx;

/// # Errors
/// 10334 for a document larger than the whole collection may be.
pub(super) fn check_size(state: &State, document: Doc<'_>) -> Result<()> {
    match state.options.capped {
        Some(capped) if document.as_bytes().len() as u64 > capped.bytes => {
            Err(Error::new(code::BSON_OBJECT_TOO_LARGE, "object to insert exceeds cappedMaxSize"))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// 10003 for an update that changes a document's size, where the size is bounded.
pub(super) fn check_growth(state: &State, before: Doc<'_>, after: Doc<'_>) -> Result<()> {
    if state.options.capped.is_some() && before.as_bytes().len() != after.as_bytes().len() {
        return Err(Error::new(10_003, "Cannot change the size of a document in a capped collection"));
    }
    Ok(())
}

/// Removes the oldest documents until the bounds hold.
pub(super) fn make_room(state: &mut State, scratch: &mut Scratch, cx: &mut Cx<'_>) -> Result<()> {
    let Some(capped) = state.options.capped else { return Ok(()) };
    let is_over = |state: &State| {
        state.records.data_bytes() > capped.bytes
            || capped.documents.is_some_and(|most| state.records.len() > u64::from(most))
    };
    while is_over(state) {
        let Some(oldest) = state.records.first() else { break };
        delete_record(state, oldest, scratch, cx)?;
    }
    Ok(())
}
