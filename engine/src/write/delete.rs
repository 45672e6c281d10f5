//! Deleting one document.

use bindery_document::{Doc, Result};
use bindery_index::RecordId;

use super::Scratch;
use crate::collection::{State, WriteGuard};
use crate::trace::Cx;

/// Removes a record and its index entries; false if there is no such record.
///
/// # Errors
/// Only for index entries that cannot be made again, which is a fault of ours.
pub(crate) fn delete(guard: &mut WriteGuard<'_>, record_id: RecordId, cx: &mut Cx<'_>) -> Result<bool> {
    let (mut change, scratch) = guard.change_with_scratch();
    delete_record(change.get(), record_id, scratch, cx)
}

/// As [`delete`], on a state that is being changed already.
pub(super) fn delete_record(
    state: &mut State,
    record_id: RecordId,
    scratch: &mut Scratch,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    scratch.prepare(state.indexes.len());
    let Some(bytes) = state.records.get(record_id, &mut cx.visitor) else {
        return Ok(false);
    };
    let document = Doc::from_stored(bytes);
    for (index, keys) in state.indexes.iter().zip(&mut scratch.old) {
        index.keys_of(document, keys)?;
    }
    for (index, keys) in state.indexes.iter_mut().zip(&scratch.old) {
        index.remove_keys(keys, record_id, &mut scratch.entry, cx);
    }
    state.records.remove(record_id, &mut cx.visitor);
    Ok(true)
}
