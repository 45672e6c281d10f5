//! Building commands and reading replies, in process.

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code, validate};
use bindery_index::Untraced;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Collection;
use crate::trace::Cx;

impl<T> Collection<T> {
    /// Starts a command on this collection.
    pub(super) fn command(&self, name: &str) -> Builder {
        let mut command = Builder::new();
        command.append(name, &*self.name);
        command
    }

    /// Runs a command.
    ///
    /// # Errors
    /// What the command says.
    pub(super) fn run(&self, command: Builder) -> Result<DocBuf> {
        let command = command.finish();
        self.inner.execute(&self.database, command.doc(), &mut Cx::new(&mut Untraced))
    }

    /// Runs a write command, whose first write error is its error.
    ///
    /// # Errors
    /// What the command says, or its first statement that failed.
    pub(super) fn run_write(&self, command: Builder) -> Result<DocBuf> {
        let reply = self.run(command)?;
        check_write_errors(reply.doc())?;
        Ok(reply)
    }
}

/// # Errors
/// The first of a reply's `writeErrors`.
pub(super) fn check_write_errors(reply: Doc<'_>) -> Result<()> {
    let failed = match reply.get("writeErrors") {
        Some(Value::Array(errors)) => errors.first().and_then(|e| e.value().as_document()),
        _ => None,
    };
    let Some(failed) = failed else { return Ok(()) };
    let number = failed.get("code").and_then(|v| v.as_exact_i64()).unwrap_or(i64::from(code::INTERNAL_ERROR));
    let message = failed.get("errmsg").and_then(|v| v.as_str()).unwrap_or_default();
    Err(Error::new(number as i32, message).with_details(DocBuf::from(failed)))
}

/// A count in a reply; 0 if it is not there.
pub(super) fn number(reply: &DocBuf, field: &str) -> u64 {
    reply.doc().get(field).and_then(|v| v.as_exact_i64()).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

/// Appends a document of the `bson` crate.
///
/// # Errors
/// 22 for one that does not fit BSON.
pub(super) fn append_document(command: &mut Builder, key: &str, document: &bson::Document) -> Result<()> {
    let bytes = document.to_vec().map_err(unfit)?;
    command.append(key, Value::Document(Doc::from_stored(&bytes)));
    Ok(())
}

/// Appends a document, if there is one.
///
/// # Errors
/// As [`append_document`].
pub(super) fn append_optional(command: &mut Builder, key: &str, document: Option<&bson::Document>) -> Result<()> {
    match document {
        Some(document) => append_document(command, key, document),
        None => Ok(()),
    }
}

/// A value as BSON bytes.
///
/// # Errors
/// 22 for what does not serialize into a document, or into a malformed one.
pub(super) fn serialize<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    serialize_into(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends a value's BSON bytes.
///
/// # Errors
/// As [`serialize`]; what the buffer holds behind its old end is of no use then.
pub(super) fn serialize_into<T: Serialize>(value: &T, buffer: &mut Vec<u8>) -> Result<()> {
    let start = buffer.len();
    bson::serialize_to_buffer(value, buffer).map_err(unfit)?;
    // Raw documents are copied as they are, and nobody has looked into them yet.
    Ok(validate::validate(&buffer[start..])?)
}

/// A stored document as a Rust type.
///
/// # Errors
/// 22 if it does not have the type's fields.
pub(super) fn deserialize<T: DeserializeOwned>(document: Doc<'_>) -> Result<T> {
    bson::deserialize_from_slice(document.as_bytes()).map_err(unfit)
}

fn unfit(error: bson::error::Error) -> Error {
    Error::new(code::INVALID_BSON, error.to_string())
}
