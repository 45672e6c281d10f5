//! `mongodump`'s files: BSON documents one after the other, nothing between them.

use std::path::Path;

use bson::{RawArray, RawBsonRef, RawDocument};

use super::{Sink, Stop};
use crate::error::{Error, Place};

/// Larger than any stored document (16 MiB and MongoDB's own allowance of 16 KiB): no length is
/// believed beyond it.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024 + 16 * 1024;

/// Levels of nesting that MongoDB stores at most, with room to spare.
const MAX_DEPTH: usize = 200;

pub(super) fn read(path: &Path, bytes: &[u8], sink: &mut Sink) -> std::result::Result<(), Stop> {
    let mut offset = 0;
    while offset < bytes.len() {
        let rest = &bytes[offset..];
        let wrong = |message: String| Error::at(path, Place::Offset(offset as u64), message);
        let length = match rest.first_chunk::<4>() {
            Some(length) => i32::from_le_bytes(*length),
            None => return Err(wrong("the file ends within a document's length".to_owned()).into()),
        };
        let length = match usize::try_from(length) {
            Ok(length) if (5..=MAX_DOCUMENT_BYTES).contains(&length) => length,
            _ => return Err(wrong(format!("{length} is no document's length")).into()),
        };
        let Some(document) = rest.get(..length) else {
            let message = format!("the file ends {} bytes into a document of {length}", rest.len());
            return Err(wrong(message).into());
        };
        // Copied first, so that what is checked is what is kept.
        let document = document.to_vec();
        let document = bson::RawDocumentBuf::from_bytes(document).map_err(|error| wrong(error.to_string()))?;
        validate(&document, 0).map_err(wrong)?;
        offset += length;
        sink.document(&document, offset as u64)?;
    }
    Ok(())
}

/// Walks every element, so that lengths, types and text are known to be right.
fn validate(document: &RawDocument, depth: usize) -> std::result::Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    for element in document.iter() {
        let (_, value) = element.map_err(|error| format!("not valid BSON: {error}"))?;
        validate_value(value, depth)?;
    }
    Ok(())
}

fn validate_value(value: RawBsonRef<'_>, depth: usize) -> std::result::Result<(), String> {
    match value {
        RawBsonRef::Document(document) => validate(document, depth + 1),
        RawBsonRef::Array(array) => validate_array(array, depth + 1),
        RawBsonRef::JavaScriptCodeWithScope(code) => validate(code.scope, depth + 1),
        _ => Ok(()),
    }
}

fn validate_array(array: &RawArray, depth: usize) -> std::result::Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    for element in array {
        validate_value(element.map_err(|error| format!("not valid BSON: {error}"))?, depth)?;
    }
    Ok(())
}
