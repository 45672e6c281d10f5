//! Replacing one document by another version of itself.

use bindery_document::{Doc, Result};
use bindery_index::RecordId;
use bindery_query::filter::Filter;
use bindery_query::update::{Changes, Update};

use super::{unique, validator};
use crate::collection::{Index, WriteGuard};
use crate::trace::Cx;

/// Which parts of the document an update may have changed.
#[derive(Clone, Copy)]
pub(crate) enum Changed<'a> {
    /// Any.
    Anything,
    /// What this update says that it changed.
    By(&'a Update, Changes),
}

impl Changed<'_> {
    /// Whether an index may have to change.
    pub(crate) fn touches(&self, index: &Index) -> bool {
        match self {
            Changed::Anything => true,
            Changed::By(update, changes) => {
                let touches = |path: &str| update.touches(*changes, path);
                index.meta.spec.key.doc().iter().any(|field| touches(field.key_str()))
                    || index.meta.partial.as_ref().is_some_and(|partial| looks_at(partial, &touches))
            }
        }
    }
}

/// Whether a filter looks at such a path.
fn looks_at(filter: &Filter, path: &dyn Fn(&str) -> bool) -> bool {
    match filter.path() {
        Some(looked_at) => path(looked_at.as_str()),
        None => filter.children().iter().any(|child| looks_at(child, path)),
    }
}

/// Stores the new version under the same record id and mends the indexes that it touches.
///
/// # Errors
/// As [`super::insert()`]; nothing is changed then.
pub(crate) fn update(
    guard: &mut WriteGuard<'_>,
    record_id: RecordId,
    document: Doc<'_>,
    changed: Changed<'_>,
    bypass_validation: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let (mut change, scratch) = guard.change_with_scratch();
    let state = change.peek();
    let Some(bytes) = state.records.get(record_id, &mut cx.visitor) else {
        return Ok(());
    };
    let before = Doc::from_stored(bytes);
    if !bypass_validation {
        validator::check_update(&state.options, before, document)?;
    }
    scratch.prepare(state.indexes.len());
    let touched: Vec<bool> = state.indexes.iter().map(|index| changed.touches(index)).collect();
    for (position, index) in state.indexes.iter().enumerate().filter(|(position, _)| touched[*position]) {
        let (old, new) = (&mut scratch.old[position], &mut scratch.new[position]);
        index.keys_of(before, old)?;
        index.keys_of(document, new)?;
        if index.meta.is_unique {
            unique::check(index, new, Some(old), &mut scratch.found, &mut cx.visitor)?;
        }
    }

    let state = change.get();
    for (position, index) in state.indexes.iter_mut().enumerate().filter(|(position, _)| touched[*position]) {
        index.replace_keys(&scratch.old[position], &scratch.new[position], record_id, &mut scratch.entry, cx);
    }
    state.records.update(record_id, document.as_bytes(), &mut cx.visitor);
    Ok(())
}
