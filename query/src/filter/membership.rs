//! `$in`: one value against a sorted set of values, and against regular expressions.

use std::cmp::Ordering;

use bindery_document::{Element, Error, Kind, OwnedValue, Path, Result, Value, code, order};

use super::compare::{Compare, CompareOp, holds_strings};
use super::parse::Place;
use super::{Filter, RegexTest, parse};
use crate::collation::Collation;

/// `$in` on what a path leads to.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Where the values are.
    pub path: Path,
    /// The values in MongoDB's order (by the collation, if there is one), without duplicates.
    pub values: Vec<OwnedValue>,
    /// The regular expressions, as written; their paths are empty.
    pub regexes: Vec<RegexTest>,
    /// How strings compare; `None` for byte order.
    pub collation: Option<Collation>,
    has_null: bool,
    /// The ranks that occur among the values, one bit each.
    ranks: u32,
}

impl PartialEq for Membership {
    fn eq(&self, other: &Membership) -> bool {
        (&self.path, &self.values, &self.regexes, &self.collation)
            == (&other.path, &other.values, &other.regexes, &other.collation)
    }
}

impl Membership {
    /// A test for any of the values and regular expressions; sorts the values.
    pub fn new(
        path: Path,
        mut values: Vec<OwnedValue>,
        regexes: Vec<RegexTest>,
        collation: Option<Collation>,
    ) -> Membership {
        let collation = collation.filter(|_| values.iter().any(|v| holds_strings(v.kind())));
        values.sort_by(|a, b| compare(&a.value(), &b.value(), collation.as_ref()));
        values.dedup_by(|b, a| compare(&a.value(), &b.value(), collation.as_ref()) == Ordering::Equal);
        let ranks = values.iter().fold(0, |ranks, value| ranks | (1 << value.kind().rank()));
        let has_null = values.iter().any(|value| value.kind() == Kind::Null);
        Membership { path, values, regexes, collation, has_null, ranks }
    }

    /// Whether null, and so what is missing, is among the values.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// Whether one element, or nothing, is among the values. Regular expressions are not asked.
    pub fn accepts(&self, element: Option<Element<'_>>) -> bool {
        let Some(element) = element else {
            return self.has_null;
        };
        if self.has_null && element.kind == Kind::Undefined {
            return true;
        }
        if self.ranks & (1 << element.kind.rank()) == 0 {
            return false;
        }
        let value = element.value();
        let collation = self.collation.as_ref();
        self.values.binary_search_by(|probe| compare(&probe.value(), &value, collation)).is_ok()
    }

    /// A `$in` of a single member is that member's own test.
    pub(super) fn simplify(mut self) -> Filter {
        match (self.values.len(), self.regexes.len()) {
            (1, 0) => match self.values.pop() {
                Some(value) => Filter::Compare(Compare::new(self.path, CompareOp::Eq, value, self.collation)),
                None => Filter::AlwaysFalse,
            },
            (0, 1) => match self.regexes.pop() {
                Some(regex) => Filter::Regex(RegexTest { path: self.path, ..regex }),
                None => Filter::AlwaysFalse,
            },
            _ => Filter::In(self),
        }
    }
}

fn compare(a: &Value<'_>, b: &Value<'_>, collation: Option<&Collation>) -> Ordering {
    match collation {
        None => order::compare(a, b),
        Some(collation) => order::compare_with(a, b, &|x: &[u8], y: &[u8]| collation.compare(x, y)),
    }
}

/// Parses the operand of `$in` or `$nin`.
///
/// # Errors
/// Code 2 for what is no array and for operator documents in it; those of regular expressions.
pub(super) fn parse(path: Path, operator: &str, operand: Value<'_>, place: Place<'_>) -> Result<Filter> {
    let Value::Array(members) = operand else {
        return Err(Error::new(code::BAD_VALUE, format!("{operator} needs an array")));
    };
    let mut values = Vec::new();
    let mut regexes = Vec::new();
    for member in members {
        match member.value() {
            Value::Undefined => return Err(Error::new(code::BAD_VALUE, "cannot compare to undefined")),
            Value::Regex { pattern, options } => {
                regexes.push(RegexTest::parse(Path::of_value(), pattern.as_str(), options.as_str())?);
            }
            value if parse::operator_document(&value, false).is_some() => {
                return Err(Error::new(code::BAD_VALUE, format!("cannot nest operators under {operator}")));
            }
            value => values.push(OwnedValue::new(value)),
        }
    }
    Ok(Filter::In(Membership::new(path, values, regexes, place.collation())))
}
