//! Why a document does not pass a filter: the `details` of a failed validation.
//!
//! The filter is read again as it was written, because that is how the answer names its parts; each part is
//! compiled and asked on its own. This costs much more than matching, and is only done for documents that
//! were refused.
//!
//! ```text
//! clause   the query language: which clauses do not hold, and the values they looked at
//! schema   $jsonSchema: which rules a document breaks
//! ```
//!
//! Source: MongoDB's manual, "Improved Error Messages for Schema Validation"; words and order were asked of a
//! real server.

mod clause;
mod schema;

use bindery_document::{Builder, Doc, DocBuf, Error, Value};

use super::ParseContext;
use clause::Clause;

/// The largest explanation in bytes; in a longer one, clauses are named without values.
const MAX_BYTES: usize = 12 << 20;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// Clauses as they were specified, and the values that they considered.
    Full,
    /// Only which clauses, and the reason.
    Brief,
}

/// Says why a document does not match a query document, as MongoDB's `errInfo.details` does.
///
/// What cannot be explained (a query that fails instead of not matching, `$alwaysFalse`) is explained by its error:
/// `code`, `codeName`, `errmsg`.
pub fn explain(query: Doc<'_>, document: Doc<'_>, context: &ParseContext) -> DocBuf {
    let explained = Clause::of_query(query, context).and_then(|clause| {
        let full = clause.explain(document, false, Detail::Full)?;
        if full.as_bytes().len() <= MAX_BYTES { Ok(full) } else { clause.explain(document, false, Detail::Brief) }
    });
    explained.unwrap_or_else(|error| {
        let mut out = Builder::new();
        append_error(&error, &mut out);
        out.finish()
    })
}

fn append_error(error: &Error, out: &mut Builder) {
    out.append("code", error.code);
    out.append("codeName", error.code_name().as_str());
    out.append("errmsg", error.message.as_str());
}

/// Appends an array of documents.
fn append_documents(name: &str, documents: &[DocBuf], out: &mut Builder) {
    let open = out.open_array(name);
    for (nth, document) in documents.iter().enumerate() {
        out.append_index(nth, Value::Document(document.doc()));
    }
    out.close(open);
}

/// Appends an array of values.
fn append_values<'a>(name: &str, values: impl IntoIterator<Item = Value<'a>>, out: &mut Builder) {
    let open = out.open_array(name);
    for (nth, value) in values.into_iter().enumerate() {
        out.append_index(nth, value);
    }
    out.close(open);
}

/// A document of one field.
fn field_of(name: &str, value: Value<'_>) -> DocBuf {
    let mut out = Builder::new();
    out.append(name, value);
    out.finish()
}

#[cfg(test)]
mod tests;
