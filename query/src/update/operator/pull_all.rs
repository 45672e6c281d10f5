//! `$pullAll`: takes out every element that equals one of a list.

use std::cmp::Ordering;

use bindery_document::{Builder, Element, Error, OwnedValue, Result, Value, code};

use super::{Context, Outcome, array_items, item_value, write_items};

/// The values to take out.
#[derive(Debug)]
pub(in crate::update) struct PullAll(Vec<OwnedValue>);

impl PullAll {
    /// Takes the argument.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for what is no array.
    pub(super) fn parse(argument: Value<'_>) -> Result<PullAll> {
        let Value::Array(values) = argument else {
            return Err(Error::new(
                code::BAD_VALUE,
                format!("$pullAll needs an array, but was given one of type {}", argument.kind().alias()),
            ));
        };
        Ok(PullAll(values.iter().map(|value| OwnedValue::new(value.value())).collect()))
    }

    /// Thins a field.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for a field that is no array.
    pub(super) fn update(&self, field: Element<'_>, context: &Context<'_>, out: &mut Builder) -> Result<Outcome> {
        let mut items = array_items(field, "$pullAll", code::BAD_VALUE)?;
        let before = items.len();
        items.retain(|item| {
            let item = item_value(item);
            !self.0.iter().any(|value| context.options.compare(&item, &value.value()) == Ordering::Equal)
        });
        if items.len() == before {
            return Ok(Outcome::Unchanged);
        }
        write_items(field.key, &items, out);
        Ok(Outcome::Written)
    }
}
