//! Inserting one document.

use bindery_document::{Doc, Result};
use bindery_index::{PageVisitor, RecordId, Untraced};

use super::{Scratch, capped, unique, validator};
use crate::collection::{State, StateMut, WriteGuard};
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
    Inserter::new(guard).insert(document, bypass_validation, cx)
}

/// Work after which readers that wait go first: some small documents or a large one. Letting them
/// in behind each small document would leave a writer among many readers little but waiting.
const TURN: usize = 8 << 10;
/// What a document counts for besides its bytes.
const DOCUMENT_WORK: usize = 256;

/// Inserts many documents: it keeps the state, but readers who wait have their turn between two of them.
pub(crate) struct Inserter<'a> {
    change: StateMut<'a>,
    scratch: &'a mut Scratch,
    /// Done since readers had their turn.
    work: usize,
}

impl<'a> Inserter<'a> {
    pub(crate) fn new(guard: &'a mut WriteGuard<'_>) -> Inserter<'a> {
        let (change, scratch) = guard.change_with_scratch();
        Inserter { change, scratch, work: 0 }
    }

    /// # Errors
    /// As [`insert()`].
    pub(crate) fn insert(&mut self, document: Doc<'_>, bypass_validation: bool, cx: &mut Cx<'_>) -> Result<RecordId> {
        if self.work > TURN {
            self.change.give_way();
            self.work = 0;
        }
        self.work += DOCUMENT_WORK + document.as_bytes().len();
        let scratch = &mut *self.scratch;
        let state = self.change.peek();
        if !bypass_validation {
            validator::check_insert(&state.options, document)?;
        }
        scratch.prepare(state.indexes.len());
        // If only the first index may refuse its key, which is the one on `_id`, it does so where it would insert it.
        let (first, others) = (state.indexes.first(), state.indexes.get(1..).unwrap_or_default());
        let first = first.filter(|first| first.meta.is_unique && !others.iter().any(|index| index.meta.is_unique));
        for (at, index) in state.indexes.iter().enumerate() {
            if let Err(error) = index.keys_of(document, &mut scratch.new[at]) {
                // Of two faults the earlier index's is told.
                if let Some(first) = first.filter(|_| at > 0) {
                    unique::check(first, &scratch.new[0], None, &mut scratch.found, &mut cx.visitor)?;
                }
                return Err(error);
            }
            if index.meta.is_unique && first.is_none() {
                unique::check(index, &scratch.new[at], None, &mut scratch.found, &mut cx.visitor)?;
            }
        }

        let is_unchecked = first.is_some();
        let state = self.change.get();
        let record_id = match cx.visitor.is_watching() {
            true => store(state, document, is_unchecked, scratch, &mut cx.visitor)?,
            false => store(state, document, is_unchecked, scratch, &mut Untraced)?,
        };
        let new = scratch.new.iter().take(state.indexes.len());
        cx.work.index_entries_written += new.map(|keys| keys.len() as u64).sum::<u64>();
        capped::make_room(state, scratch, cx)?;
        Ok(record_id)
    }
}

/// Stores a document and the keys that were made of it.
///
/// # Errors
/// 11000 if the first index is still to be asked and its key is taken; nothing is changed then.
fn store<V: PageVisitor>(
    state: &mut State,
    document: Doc<'_>,
    is_first_unchecked: bool,
    scratch: &mut Scratch,
    visitor: &mut V,
) -> Result<RecordId> {
    let record_id = state.records.next_id();
    let Scratch { new, entry, found, .. } = scratch;
    let mut indexes = state.indexes.iter_mut().zip(&*new);
    if is_first_unchecked
        && let Some((first, keys)) = indexes.next()
        && !first.insert_distinct(keys, record_id, entry, visitor)
    {
        unique::check(first, keys, None, found, visitor)?;
        first.insert_keys(keys, record_id, entry, visitor);
    }
    for (index, keys) in indexes {
        index.insert_keys(keys, record_id, entry, visitor);
    }
    let stored = state.records.append(document.as_bytes(), visitor);
    debug_assert_eq!(stored, record_id, "the next id was asked for");
    Ok(record_id)
}
