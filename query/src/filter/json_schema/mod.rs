//! `$jsonSchema`: JSON Schema (draft 4 with `bsonType`), compiled to filters.
//!
//! Each keyword becomes a condition in the ordinary filter tree, so that what a schema demands is
//! evaluated, simplified and planned like anything else; the conditions that no query operator can
//! express are [`Schema`] nodes. A keyword that restricts one type (`minLength` strings, `minimum`
//! numbers, ...) holds for values of all other types and for what is missing.
//!
//! | schema | filter |
//! |---|---|
//! | `required: ["a"]` | `Exists(a)` |
//! | `properties: {a: S}` | `Or[Not(Exists(a)), S at a]` |
//! | `minimum: 5` at `a` | `Or[Not(type number at a), a >= 5]` |
//! | `oneOf: [S, T]` | `OneOf[S, T]` |
//!
//! Source: MongoDB's manual, "$jsonSchema"; what it leaves open was asked of a real server. Not
//! supported, there and here: `$ref`, `$schema`, `default`, `definitions`, `format`, `id` and the type
//! `integer`. Not supported here: the keywords of client-side encryption.

mod parse;
mod rule;

pub(super) use parse::{parse, parse_at};
pub use rule::{Rule, Schema};

use std::cmp::Ordering;

use bindery_document::{Value, order};

/// Equality that ignores the order of fields, at any depth; arrays keep theirs.
fn equal_unordered(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Document(x), Value::Document(y)) => {
            x.count() == y.count()
                && x.iter().all(|field| {
                    y.element(field.key).is_some_and(|other| equal_unordered(&field.value(), &other.value()))
                })
        }
        (Value::Array(x), Value::Array(y)) => {
            x.count() == y.count() && x.iter().zip(y.iter()).all(|(m, n)| equal_unordered(&m.value(), &n.value()))
        }
        _ => order::compare(a, b) == Ordering::Equal,
    }
}

#[cfg(test)]
mod tests;
