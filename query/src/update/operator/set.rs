//! `$set`, and `$setOnInsert` while a document is being made.

use bindery_document::{Builder, Element, OwnedValue};

use super::Outcome;

/// Puts the value in the field's place, unless it is there already, byte for byte.
pub(super) fn replace(field: Element<'_>, value: &OwnedValue, out: &mut Builder) -> Outcome {
    if field.kind == value.kind() && field.bytes == value.bytes() {
        return Outcome::Unchanged;
    }
    out.append_bytes(field.key, value.kind(), value.bytes());
    Outcome::Written
}
