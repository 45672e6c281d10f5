//! `$pull`: takes out the elements that equal a value or satisfy a condition.
//!
//! What the argument is decides how elements are asked:
//!
//! | argument | an element goes if |
//! |---|---|
//! | a document of operators (`{$gte: 5}`), a regular expression | it satisfies them; an array among the elements satisfies them as a field would |
//! | another document (`{k: 1}`) | it is a document that satisfies the query |
//! | any other value | it is equal |

use std::cmp::Ordering;

use bindery_document::{Builder, Doc, Element, OwnedValue, Result, Value, code};

use super::{Context, Options, Outcome, array_items, item_value, write_items};
use crate::filter::{Allowed, Filter, ParseContext};

/// Which elements go.
#[derive(Debug)]
pub(in crate::update) enum Pull {
    /// Those equal to a value.
    Equal(OwnedValue),
    /// Documents that satisfy a query.
    Matching(Filter),
    /// Those that satisfy conditions on a field of the empty name.
    Satisfying(Filter),
}

impl Pull {
    /// Takes the argument.
    ///
    /// # Errors
    /// Those of the query language without what means whole documents.
    pub(super) fn parse(argument: Value<'_>, options: &Options) -> Result<Pull> {
        let context = ParseContext::with_collation(options.collation.clone()).allowing(Allowed::NoWholeDocuments);
        match argument {
            Value::Document(query) if !is_operator_document(query) => {
                Ok(Pull::Matching(Filter::parse_in_order(query, &context)?))
            }
            Value::Document(_) | Value::Regex { .. } => {
                let mut query = Builder::new();
                query.append("", argument);
                Ok(Pull::Satisfying(Filter::parse_in_order(query.finish().doc(), &context)?))
            }
            other => Ok(Pull::Equal(OwnedValue::new(other))),
        }
    }

    /// Thins a field.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for a field that is no array.
    pub(super) fn update(&self, field: Element<'_>, context: &Context<'_>, out: &mut Builder) -> Result<Outcome> {
        let items = array_items(field, "$pull", code::BAD_VALUE)?;
        let before = items.len();
        let mut kept = Vec::with_capacity(before);
        for item in items {
            if !self.takes(item_value(&item), context)? {
                kept.push(item);
            }
        }
        if kept.len() == before {
            return Ok(Outcome::Unchanged);
        }
        write_items(field.key, &kept, out);
        Ok(Outcome::Written)
    }

    fn takes(&self, item: Value<'_>, context: &Context<'_>) -> Result<bool> {
        match self {
            Pull::Equal(value) => Ok(context.options.compare(&item, &value.value()) == Ordering::Equal),
            Pull::Matching(filter) => match item {
                Value::Document(doc) => filter.matches(doc),
                _ => Ok(false),
            },
            Pull::Satisfying(filter) => {
                let mut document = Builder::new();
                document.append("", item);
                filter.matches(document.finish().doc())
            }
        }
    }
}

/// Whether the document is one of operators on a value: its first name is one.
fn is_operator_document(doc: Doc<'_>) -> bool {
    const OPERATORS: [&str; 25] = [
        "$eq",
        "$ne",
        "$gt",
        "$gte",
        "$lt",
        "$lte",
        "$in",
        "$nin",
        "$exists",
        "$type",
        "$mod",
        "$regex",
        "$options",
        "$size",
        "$all",
        "$elemMatch",
        "$bitsAllSet",
        "$bitsAllClear",
        "$bitsAnySet",
        "$bitsAnyClear",
        "$geoWithin",
        "$within",
        "$geoIntersects",
        "$near",
        "$nearSphere",
    ];
    doc.first().is_some_and(|first| OPERATORS.contains(&first.key_str()))
}
