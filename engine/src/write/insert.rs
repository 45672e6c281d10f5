//! Inserting one document.

use bindery_document::{Doc, Result};
use bindery_index::RecordId;

use super::{capped, unique, validator};
use crate::collection::WriteGuard;
use crate::trace::Cx;

/// Stores a document that was made ready, with all its index entries.
///
/// # Errors
/// 11000 for a key that is taken, 171 for parallel arrays, 121 for what the validator refuses (unless
/// `bypass_validation`); nothing is changed then.
pub(crate) fn insert(
    guard: &mut WriteGuard<'_>,
    document: Doc<'_>,
    bypass_validation: bool,
    cx: &mut Cx<'_>,
) -> Result<RecordId> {
    let (mut change, scratch) = guard.change_with_scratch();
    if !bypass_validation {
        validator::check_insert(&change.peek().options, document)?;
    }
    scratch.prepare(change.peek().indexes.len());
    for (index, keys) in change.peek().indexes.iter().zip(&mut scratch.new) {
        index.keys_of(document, keys)?;
        if index.meta.is_unique {
            unique::check(index, keys, None, &mut scratch.entry, cx)?;
        }
    }

    let state = change.get();
    let record_id = state.records.append(document.as_bytes(), &mut cx.visitor);
    for (index, keys) in state.indexes.iter_mut().zip(&scratch.new) {
        index.insert_keys(keys, record_id, &mut scratch.entry, cx);
    }
    capped::make_room(state, scratch, cx)?;
    Ok(record_id)
}
