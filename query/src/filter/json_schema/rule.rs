//! The conditions of a schema that no query operator can express.

use bindery_document::{Decimal, DecimalClass, Doc, Element, Kind, OwnedValue, Path, Value};

use super::equal_unordered;
use crate::filter::evaluate::Context;
use crate::filter::{Filter, TypeSet};
use crate::regex::Regex;

/// A condition of a schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// On what a path leads to; arrays are taken whole.
    Value {
        /// Where the values are.
        path: Path,
        /// What they must meet.
        rule: Rule,
    },
    /// At least so many fields in the document.
    MinProperties(u64),
    /// At most so many fields in the document.
    MaxProperties(u64),
    /// The document is one of these, whatever the order of fields.
    OneDocumentOf(Vec<OwnedValue>),
    /// `patternProperties` and `additionalProperties`.
    Properties(Box<Properties>),
    /// Exactly one of the schemas.
    OneOf(Vec<Filter>),
}

/// A condition on one value. Values of a type that it is not about do not meet it.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// The value itself has one of these types.
    Type(TypeSet),
    /// At least so many characters.
    MinLength(u64),
    /// At most so many characters.
    MaxLength(u64),
    /// At least so many elements.
    MinItems(u64),
    /// At most so many elements.
    MaxItems(u64),
    /// No two equal elements, whatever the order of their fields.
    UniqueItems,
    /// All elements from this one on.
    ItemsFrom(u32, Box<Filter>),
    /// The element at this position, if there is one.
    ItemAt(u32, Box<Filter>),
    /// The value as a document.
    Object(Box<Filter>),
    /// One of these values, whatever the order of fields.
    OneOf(Vec<OwnedValue>),
    /// A number that leaves no remainder.
    MultipleOf(OwnedValue),
}

/// Which fields a document may have, and what they must meet.
#[derive(Clone, Debug)]
pub struct Properties {
    /// Fields that `additional` says nothing about.
    pub names: Vec<Box<str>>,
    /// Schemas of the fields whose names match.
    pub patterns: Vec<(Regex, Filter)>,
    /// What all other fields must meet.
    pub additional: Filter,
}

impl PartialEq for Properties {
    fn eq(&self, other: &Properties) -> bool {
        let patterns = |properties: &Properties| -> Vec<(String, Filter)> {
            properties.patterns.iter().map(|(regex, filter)| (regex.pattern().to_owned(), filter.clone())).collect()
        };
        (&self.names, &self.additional) == (&other.names, &other.additional) && patterns(self) == patterns(other)
    }
}

impl Properties {
    fn accepts(&self, doc: Doc<'_>, context: &mut Context<'_>) -> bool {
        doc.iter().all(|field| {
            let mut is_named = self.names.iter().any(|name| name.as_bytes() == field.key);
            for (pattern, filter) in &self.patterns {
                if pattern.is_match(field.key).unwrap_or(false) {
                    is_named = true;
                    if !filter.accepts_element(Some(field), context) {
                        return false;
                    }
                }
            }
            is_named || self.additional.accepts_element(Some(field), context)
        })
    }
}

impl Schema {
    /// Whether a document meets it; the paths of [`Schema::Value`] are the caller's to walk.
    pub(in crate::filter) fn accepts_document(&self, doc: Doc<'_>, context: &mut Context<'_>) -> bool {
        match self {
            Schema::Value { .. } => false,
            Schema::MinProperties(n) => doc.count() as u64 >= *n,
            Schema::MaxProperties(n) => doc.count() as u64 <= *n,
            Schema::OneDocumentOf(values) => {
                values.iter().any(|value| equal_unordered(&value.value(), &Value::Document(doc)))
            }
            Schema::Properties(properties) => properties.accepts(doc, context),
            Schema::OneOf(filters) => {
                filters.iter().filter(|filter| filter.accepts_document(doc, context)).take(2).count() == 1
            }
        }
    }

    /// Whether a value meets it.
    pub(in crate::filter) fn accepts_element(&self, element: Option<Element<'_>>, context: &mut Context<'_>) -> bool {
        match (self, element) {
            (Schema::Value { rule, .. }, Some(element)) => rule.accepts(element, context),
            (Schema::OneOf(filters), _) => {
                filters.iter().filter(|filter| filter.accepts_element(element, context)).take(2).count() == 1
            }
            (_, Some(element)) if element.kind == Kind::Document => {
                self.accepts_document(Doc::from_stored(element.bytes), context)
            }
            _ => false,
        }
    }
}

impl Rule {
    fn accepts(&self, element: Element<'_>, context: &mut Context<'_>) -> bool {
        let items = || (element.kind == Kind::Array).then(|| Doc::from_stored(element.bytes));
        let length = || match element.value() {
            Value::String(text) => Some(text.as_str().chars().count() as u64),
            _ => None,
        };
        match self {
            Rule::Type(types) => types.contains(element.kind),
            Rule::MinLength(n) => length().is_some_and(|length| length >= *n),
            Rule::MaxLength(n) => length().is_some_and(|length| length <= *n),
            Rule::MinItems(n) => items().is_some_and(|items| items.count() as u64 >= *n),
            Rule::MaxItems(n) => items().is_some_and(|items| items.count() as u64 <= *n),
            Rule::UniqueItems => items().is_some_and(are_unique),
            Rule::ItemsFrom(start, filter) => items().is_some_and(|items| {
                items.iter().skip(*start as usize).all(|item| filter.accepts_element(Some(item), context))
            }),
            Rule::ItemAt(index, filter) => items().is_some_and(|items| {
                let item = items.iter().nth(*index as usize);
                item.is_none_or(|item| filter.accepts_element(Some(item), context))
            }),
            Rule::Object(filter) => {
                element.kind == Kind::Document && filter.accepts_document(Doc::from_stored(element.bytes), context)
            }
            Rule::OneOf(values) => values.iter().any(|value| equal_unordered(&value.value(), &element.value())),
            Rule::MultipleOf(divisor) => is_multiple(&element.value(), &divisor.value()),
        }
    }
}

fn are_unique(items: Doc<'_>) -> bool {
    let values: Vec<Value<'_>> = items.iter().map(|item| item.value()).collect();
    // Without documents in them equal values are neighbours in the total order.
    let ordered = !values.iter().any(|value| matches!(value, Value::Document(_) | Value::Array(_)));
    if ordered {
        let mut sorted = values;
        sorted.sort_by(bindery_document::order::compare);
        return sorted.windows(2).all(|pair| bindery_document::order::compare(&pair[0], &pair[1]).is_ne());
    }
    values.iter().enumerate().all(|(at, value)| !values[at + 1..].iter().any(|other| equal_unordered(value, other)))
}

/// Whether a number divides without remainder, as decimals see it.
fn is_multiple(value: &Value<'_>, divisor: &Value<'_>) -> bool {
    match (decimal(value), decimal(divisor)) {
        (Some(value), Some(divisor)) => is_decimal_multiple(value, divisor),
        _ => false,
    }
}

fn decimal(value: &Value<'_>) -> Option<Decimal> {
    match value {
        Value::Decimal128(decimal) => Some(*decimal),
        Value::Double(double) => {
            // Fifteen digits, as MongoDB turns doubles into decimals.
            let text: bson::Decimal128 = format!("{double:.14e}").parse().ok()?;
            Some(Decimal::from_bytes(text.bytes()))
        }
        other => other.as_exact_i64().map(Decimal::from_i64),
    }
}

/// Whether `coefficient * 10^exponent` of one is a multiple of the other's; the signs do not matter.
fn is_decimal_multiple(value: Decimal, divisor: Decimal) -> bool {
    let (
        DecimalClass::Finite { coefficient: value, exponent: value_exponent, .. },
        DecimalClass::Finite { coefficient: divisor, exponent: divisor_exponent, .. },
    ) = (value.class(), divisor.class())
    else {
        return false;
    };
    if value == 0 {
        return divisor != 0;
    }
    if divisor == 0 {
        return false;
    }
    // value * 10^shift / divisor must be whole; only the factors 2 and 5 of the divisor can be met by
    // the power of ten, so a shift beyond what the divisor holds of them changes nothing.
    let shift = value_exponent - divisor_exponent;
    if shift >= 0 {
        let mut rest = value % divisor;
        for _ in 0..shift.min(120) {
            rest = times_ten(rest, divisor);
        }
        rest == 0
    } else {
        let mut reduced = value;
        for _ in 0..shift.unsigned_abs() {
            if reduced % 10 != 0 {
                return false;
            }
            reduced /= 10;
        }
        reduced % divisor == 0
    }
}

/// `10 * rest mod divisor` for rest < divisor <= 10^34, which stays within 128 bits.
fn times_ten(rest: u128, divisor: u128) -> u128 {
    rest * 10 % divisor
}
