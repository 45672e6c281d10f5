//! `$min` and `$max`: by the order of all values, strings by the collation. Equal values stay as they are.

use std::cmp::Ordering;

use bindery_document::{Builder, Element, OwnedValue};

use super::{Context, Outcome};

/// `$max`: puts the value in the field's place if the field is less.
pub(super) fn replace_if_less(
    field: Element<'_>,
    value: &OwnedValue,
    context: &Context<'_>,
    out: &mut Builder,
) -> Outcome {
    replace_if(Ordering::Less, field, value, context, out)
}

/// `$min`: puts the value in the field's place if the field is greater.
pub(super) fn replace_if_greater(
    field: Element<'_>,
    value: &OwnedValue,
    context: &Context<'_>,
    out: &mut Builder,
) -> Outcome {
    replace_if(Ordering::Greater, field, value, context, out)
}

fn replace_if(
    wanted: Ordering,
    field: Element<'_>,
    value: &OwnedValue,
    context: &Context<'_>,
    out: &mut Builder,
) -> Outcome {
    if context.options.compare(&field.value(), &value.value()) != wanted {
        return Outcome::Unchanged;
    }
    out.append_bytes(field.key, value.kind(), value.bytes());
    Outcome::Written
}
