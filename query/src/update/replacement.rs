//! Replacement documents.
//!
//! The `_id` of the stored document stays; it may be given, if it is equal. A replacement counts as a
//! change unless it is, `_id` and all, the stored document byte for byte. A `Timestamp(0, 0)` at the top
//! becomes the time of the command.

use std::cmp::Ordering;

use bindery_document::{Builder, Doc, DocBuf, Element, Error, Kind, Result, Value, code, order};

use super::Now;

/// A replacement document.
#[derive(Debug)]
pub(super) struct Replacement {
    document: DocBuf,
    has_empty_timestamp: bool,
}

impl Replacement {
    /// Takes the document.
    pub(super) fn new(document: Doc<'_>) -> Replacement {
        let has_empty_timestamp = document.iter().any(|field| is_empty_timestamp(&field));
        Replacement { document: DocBuf::from(document), has_empty_timestamp }
    }

    /// Writes the document that takes the stored one's place; returns whether it counts as a change.
    ///
    /// # Errors
    /// [`code::DOLLAR_PREFIXED_FIELD_NAME`] for a top-level name that starts with a dollar sign, which a new document
    /// of an upsert may have; [`INVALID_DB_REF`] for a part of a reference that is not complete; as [`keep_id`].
    pub(super) fn apply(&self, stored: Doc<'_>, now: Now, out: &mut Vec<u8>) -> Result<bool> {
        check_dollar_names(self.document.doc())?;
        let document = self.filled(now);
        keep_id(stored, document.doc(), out)
    }

    /// Writes the new document of an upsert, with the `_id` that the query gives.
    ///
    /// # Errors
    /// [`code::IMMUTABLE_FIELD`] if the document has another one, [`code::NOT_SINGLE_VALUE_FIELD`] if it is an array.
    pub(super) fn insert(&self, id: Option<Value<'_>>, now: Now) -> Result<DocBuf> {
        let document = self.filled(now);
        if let Some(id @ Value::Array(_)) = document.doc().get("_id") {
            return Err(super::array_id(&id));
        }
        let mut start = Builder::new();
        if let Some(id) = id {
            start.append("_id", id);
        }
        let mut out = Vec::new();
        keep_id(start.finish().doc(), document.doc(), &mut out)?;
        Ok(DocBuf::from_stored(out))
    }

    fn filled(&self, now: Now) -> DocBuf {
        if !self.has_empty_timestamp {
            return self.document.clone();
        }
        let mut filled = Builder::new();
        for field in self.document.doc() {
            if is_empty_timestamp(&field) && field.key != b"_id" {
                filled.append(field.key, Value::Timestamp(now.timestamp));
            } else {
                filled.append_element(field);
            }
        }
        filled.finish()
    }
}

/// Writes the new document with its `_id` in front, which is the old one if it has none; returns whether
/// the new document, as it was given, differs from the old one.
///
/// # Errors
/// [`code::IMMUTABLE_FIELD`] if both have an `_id` and the two are not equal; those of [`check_id`].
pub(super) fn keep_id(old: Doc<'_>, new: Doc<'_>, out: &mut Vec<u8>) -> Result<bool> {
    let old_id = old.element(b"_id");
    let new_id = new.element(b"_id");
    if let Some(new_id) = new_id {
        check_id(&new_id.value())?;
    }
    if let (Some(x), Some(y)) = (old_id, new_id)
        && order::compare(&x.value(), &y.value()) != Ordering::Equal
    {
        return Err(Error::new(code::IMMUTABLE_FIELD, "the new document has another '_id' than the stored one"));
    }
    let mut document = Builder::with_buffer(std::mem::take(out));
    if let Some(id) = new_id.or(old_id) {
        document.append_element(id);
    }
    for field in new {
        if field.key != b"_id" {
            document.append_element(field);
        }
    }
    *out = document.finish().into_bytes();
    Ok(old.as_bytes() != new.as_bytes())
}

/// MongoDB's code for a reference that is not well formed.
const INVALID_DB_REF: i32 = 55;

/// Checks that names with a dollar sign at the top of a document are those of a reference: `$ref`, a string, then
/// `$id`, then perhaps `$db`, a string.
fn check_dollar_names(document: Doc<'_>) -> Result<()> {
    let broken = |what: &str| Err(Error::new(INVALID_DB_REF, format!("a reference in the replacement {what}")));
    let mut before: Option<Element<'_>> = None;
    let mut fields = document.iter().peekable();
    while let Some(field) = fields.next() {
        let follows = |name: &[u8]| before.is_some_and(|before| before.key == name);
        match field.key {
            b"$db" if field.kind != Kind::String => return broken("has a $db that is no string"),
            b"$db" if !follows(b"$id") => return broken("has a $db without an $id before it"),
            b"$id" if !follows(b"$ref") => return broken("has an $id without a $ref before it"),
            b"$ref" if field.kind != Kind::String => return broken("has a $ref that is no string"),
            b"$ref" if fields.peek().is_none_or(|next| next.key != b"$id") => {
                return broken("has a $ref without an $id behind it");
            }
            b"$db" | b"$id" | b"$ref" => {}
            [b'$', ..] => {
                return Err(Error::new(
                    code::DOLLAR_PREFIXED_FIELD_NAME,
                    format!("a replacement must not have the top-level field '{}'", field.key_str()),
                ));
            }
            _ => {}
        }
        before = Some(field);
    }
    Ok(())
}

/// Checks that a value may be an `_id`.
///
/// # Errors
/// [`code::INVALID_ID_FIELD`] for arrays, regular expressions and undefined;
/// [`code::DOLLAR_PREFIXED_FIELD_NAME`] for a name in it, at any depth, that starts with a dollar sign and is no
/// part of a reference.
pub fn check_id(id: &Value<'_>) -> Result<()> {
    match id.kind() {
        kind @ (Kind::Array | Kind::Regex | Kind::Undefined) => {
            Err(Error::new(code::INVALID_ID_FIELD, format!("'_id' must not be of type {}", kind.alias())))
        }
        _ => check_names(id),
    }
}

fn check_names(value: &Value<'_>) -> Result<()> {
    let (Value::Document(doc) | Value::Array(doc)) = value else {
        return Ok(());
    };
    for field in *doc {
        if field.key.first() == Some(&b'$') && !matches!(field.key, b"$ref" | b"$id" | b"$db") {
            return Err(Error::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!("'_id' must not have the field '{}'", field.key_str()),
            ));
        }
        check_names(&field.value())?;
    }
    Ok(())
}

fn is_empty_timestamp(field: &Element<'_>) -> bool {
    field.kind == Kind::Timestamp && field.bytes == [0; 8]
}
