//! How large and how deep a value may become while it is computed.
//!
//! A short expression can ask for more than any machine holds (`$reduce` that doubles its value), or nest a
//! value so deeply that no walk over it comes back. MongoDB fails where it writes such a value down; here it
//! is refused while it grows. What a client may be given is less, and checked where documents leave.

use bindery_document::{Doc, Kind, Result, code};

use super::{Val, fail};

/// The largest value while computing. `$range` of the length that MongoDB allows stays below.
const MAX_VALUE_BYTES: usize = 128 * 1024 * 1024;
/// The largest text while computing; a result must be shorter than a document.
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;
/// MongoDB's code for a buffer that would grow beyond its limit.
const BUFFER_TOO_LARGE: i32 = 13_548;
/// The deepest nesting of a value while computing; what walks recursively has room for several times as much.
const MAX_NESTING: usize = 400;
/// The deepest nesting of a document that a pipeline gives, levels below its top.
const MAX_GIVEN_NESTING: usize = 200;

/// Checks the bytes of a document or an array that is being built.
#[inline]
pub(crate) fn check_value_bytes(bytes: usize) -> Result<()> {
    if bytes <= MAX_VALUE_BYTES {
        return Ok(());
    }
    fail(BUFFER_TOO_LARGE, format!("an expression would make a value of more than {MAX_VALUE_BYTES} bytes"))
}

/// Checks the bytes of a text that is being built.
#[inline]
pub(crate) fn check_text_bytes(bytes: usize) -> Result<()> {
    if bytes <= MAX_TEXT_BYTES {
        return Ok(());
    }
    fail(BUFFER_TOO_LARGE, format!("an expression would make a text of more than {MAX_TEXT_BYTES} bytes"))
}

/// Checks the nesting of a value to which an expression adds levels again and again.
pub(crate) fn check_nesting(value: &Val<'_>) -> Result<()> {
    let inner = value.get().and_then(|v| v.as_document().or(v.as_array()));
    match inner {
        Some(doc) if is_nested_deeper(doc, MAX_NESTING) => {
            fail(code::OVERFLOW, format!("a value would be nested deeper than {MAX_NESTING} levels"))
        }
        _ => Ok(()),
    }
}

/// Checks the nesting of a document that leaves a stage.
pub(crate) fn check_given_nesting(doc: Doc<'_>) -> Result<()> {
    if is_nested_deeper(doc, MAX_GIVEN_NESTING) {
        return fail(code::OVERFLOW, format!("a document is nested deeper than {MAX_GIVEN_NESTING} levels"));
    }
    Ok(())
}

/// Whether there are more levels below the top; walks no deeper than that.
fn is_nested_deeper(doc: Doc<'_>, levels: usize) -> bool {
    doc.iter().filter(|element| matches!(element.kind, Kind::Document | Kind::Array)).any(|element| {
        match levels.checked_sub(1) {
            None => true,
            Some(levels) => is_nested_deeper(Doc::from_stored(element.bytes), levels),
        }
    })
}
