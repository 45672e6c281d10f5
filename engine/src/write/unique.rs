//! Unique indexes: no two records may share a key.

use bindery_document::{Builder, Error, Result, Value, code};
use bindery_index::RecordId;
use bindery_index::key::{KeyBuilder, split_record_id};
use bindery_index::keygen::Keys;

use crate::collection::Index;
use crate::execute::corrupt;
use crate::trace::Cx;

/// Checks that no record but `own` has one of the keys.
///
/// # Errors
/// 11000, with the key pattern and the value that is taken.
pub(super) fn check(
    index: &Index,
    keys: &Keys,
    own: Option<RecordId>,
    buffer: &mut KeyBuilder,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for key in keys.iter() {
        buffer.clear();
        buffer.append_encoded(key.bytes);
        let mut found = Vec::new();
        if index.tree.first_from(buffer.as_bytes(), &mut found, &mut cx.visitor).is_none() {
            continue;
        }
        let (taken, record_id) = split_record_id(&found).map_err(corrupt)?;
        if taken == key.bytes && own != Some(record_id) {
            return Err(duplicate(index, key.bytes, key.type_bits));
        }
    }
    Ok(())
}

/// The error for a key that is taken. The namespace is filled in by the command, which knows it.
pub(super) fn duplicate(index: &Index, key: &[u8], type_bits: &[u8]) -> Error {
    let mut details = Builder::new();
    details.append("keyPattern", Value::Document(index.meta.spec.key.doc()));
    let value = index.values_of(key, type_bits);
    if let Ok(value) = &value {
        details.append("keyValue", Value::Document(value.doc()));
    }
    let shown = value.map_or_else(|_| "?".to_owned(), |value| format!("{value:?}"));
    let name = &index.meta.spec.name;
    Error::new(code::DUPLICATE_KEY, format!("E11000 duplicate key error index: {name} dup key: {shown}"))
        .with_details(details.finish())
}
