//! `$addToSet`: appends the values that an array does not hold yet.

use std::cmp::Ordering;

use bindery_document::{Builder, Element, Error, OwnedValue, Result, Value, code};

use super::{Context, Options, Outcome, array_items, item_value, write_items};

/// The values to add, each once.
#[derive(Debug)]
pub(in crate::update) struct AddToSet(Vec<OwnedValue>);

impl AddToSet {
    /// Takes the argument: a value, or `{$each: [values]}`. A document whose first field is not `$each` is a
    /// value.
    ///
    /// # Errors
    /// [`code::TYPE_MISMATCH`] if `$each` is no array, [`code::BAD_VALUE`] if something stands beside it.
    pub(super) fn parse(argument: Value<'_>, options: &Options) -> Result<AddToSet> {
        let Some((each, count)) = argument
            .as_document()
            .and_then(|doc| doc.first().filter(|first| first.key == b"$each").map(|first| (first, doc.count())))
        else {
            return Ok(AddToSet(vec![OwnedValue::new(argument)]));
        };
        let Value::Array(each) = each.value() else {
            return Err(Error::new(
                code::TYPE_MISMATCH,
                format!("$each of $addToSet needs an array, but is of type {}", each.kind.alias()),
            ));
        };
        if count > 1 {
            return Err(Error::new(code::BAD_VALUE, "$addToSet takes nothing beside $each"));
        }
        let mut values: Vec<OwnedValue> = Vec::new();
        for value in each {
            let value = value.value();
            if !values.iter().any(|other| options.compare(&other.value(), &value) == Ordering::Equal) {
                values.push(OwnedValue::new(value));
            }
        }
        Ok(AddToSet(values))
    }

    /// The values to add.
    pub(super) fn values(&self) -> &[OwnedValue] {
        &self.0
    }

    /// Extends a field.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for a field that is no array.
    pub(super) fn update(&self, field: Element<'_>, context: &Context<'_>, out: &mut Builder) -> Result<Outcome> {
        let mut items = array_items(field, "$addToSet", code::BAD_VALUE)?;
        let before = items.len();
        for value in &self.0 {
            let present = items[..before]
                .iter()
                .any(|item| context.options.compare(&item_value(item), &value.value()) == Ordering::Equal);
            if !present {
                items.push((value.kind(), value.bytes()));
            }
        }
        if items.len() == before {
            return Ok(Outcome::Unchanged);
        }
        write_items(field.key, &items, out);
        Ok(Outcome::Written)
    }

    /// Makes a missing field.
    pub(super) fn create(&self, key: &[u8], out: &mut Builder) {
        let items: Vec<_> = self.0.iter().map(|value| (value.kind(), value.bytes())).collect();
        write_items(key, &items, out);
    }
}
