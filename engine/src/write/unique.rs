//! Unique indexes: no two records may share a key.

use bindery_document::{Builder, Doc, Error, Kind, Result, Value, code};
use bindery_index::key::split_record_id;
use bindery_index::keygen::Keys;
use bindery_index::{PageVisitor, tree};

use crate::collection::Index;
use crate::execute::corrupt;
use crate::trace::Cx;

/// Checks that no record has one of the keys, those aside which the document has already.
///
/// # Errors
/// 11000, with the key pattern and the value that is taken.
pub(super) fn check(
    index: &Index,
    keys: &Keys,
    own: Option<&Keys>,
    found: &mut Vec<u8>,
    visitor: &mut impl PageVisitor,
) -> Result<()> {
    for key in keys.iter() {
        // What is above all entries is not taken: the usual case where ids ascend.
        if index.tree.is_above_all(key.bytes) || own.is_some_and(|own| own.iter().any(|old| old.bytes == key.bytes)) {
            continue;
        }
        if index.tree.first_from(key.bytes, found, visitor).is_none() {
            continue;
        }
        let (taken, _) = split_record_id(found).map_err(corrupt)?;
        if taken == key.bytes {
            return Err(duplicate(index, key.bytes, key.type_bits));
        }
    }
    Ok(())
}

/// Whether two entries of the index have the same key.
///
/// # Errors
/// Only for an entry that cannot be read, which is a fault of ours.
pub(crate) fn has_duplicates(index: &Index, cx: &mut Cx<'_>) -> Result<bool> {
    let mut cursor = tree::Cursor::new(&index.tree);
    let mut last: Option<Vec<u8>> = None;
    while cursor.next(&mut cx.visitor) {
        cx.step()?;
        let (key, _) = split_record_id(cursor.key()).map_err(corrupt)?;
        if last.as_deref() == Some(key) {
            return Ok(true);
        }
        last = Some(key.to_vec());
    }
    Ok(false)
}

/// The error for a key that is taken. The namespace is filled in by the command, which knows it.
pub(super) fn duplicate(index: &Index, key: &[u8], type_bits: &[u8]) -> Error {
    let mut details = Builder::new();
    details.append("keyPattern", Value::Document(index.meta.spec.key.doc()));
    let value = index.values_of(key, type_bits);
    if let Ok(value) = &value {
        match &index.meta.spec.collation {
            None => details.append("keyValue", Value::Document(value.doc())),
            Some(collation) => show_collated(value.doc(), collation.doc(), &mut details),
        }
    }
    let shown = value.map_or_else(|_| "?".to_owned(), |value| format!("{value:?}"));
    let name = &index.meta.spec.name;
    Error::new(code::DUPLICATE_KEY, format!("E11000 duplicate key error index: {name} dup key: {shown}"))
        .with_details(details.finish())
}

/// The values of a key under a collation, which holds what strings are compared by: that is shown in hexadecimal, and
/// which values are, and by which collation.
fn show_collated(value: Doc<'_>, collation: Doc<'_>, out: &mut Builder) {
    let strings: Vec<bool> = value.iter().map(|element| element.kind == Kind::String).collect();
    let shown = out.open_document("keyValue");
    for element in value {
        match element.value() {
            Value::String(text) => {
                let digits: String = text.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                out.append(element.key, digits.as_str());
            }
            _ => out.append_element(element),
        }
    }
    out.close(shown);
    if strings.contains(&true) {
        let list = out.open_array("hexEncoded");
        strings.into_iter().enumerate().for_each(|(at, is_string)| out.append_index(at, is_string));
        out.close(list);
    }
    out.append("collation", Value::Document(collation));
}
