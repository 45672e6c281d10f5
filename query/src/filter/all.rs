//! `$all`: every operand is met by some element (or the whole value); it stands for an `$and`.

use bindery_document::{Error, Path, Result, Value, code};

use super::compare::CompareOp;
use super::parse::Place;
use super::{Filter, RegexTest, compare, elem_match, parse};

/// Parses `$all: [...]` into the conditions it stands for.
///
/// # Errors
/// Code 2 for what is no array, for operators other than `$elemMatch` in it, and for a mixture of
/// `$elemMatch` and values.
pub(super) fn parse(path: Path, operand: Value<'_>, place: Place<'_>) -> Result<Filter> {
    let Value::Array(members) = operand else {
        return Err(Error::new(code::BAD_VALUE, "$all needs an array"));
    };
    let elem_match_of = |value: &Value<'_>| {
        value.as_document().and_then(|inner| inner.first()).is_some_and(|first| first.key == b"$elemMatch")
    };
    let are_elem_matches = members.first().is_some_and(|first| elem_match_of(&first.value()));
    let mut conditions = Vec::new();
    for member in members {
        let value = member.value();
        let condition = match value {
            _ if are_elem_matches => match value.as_document().and_then(|inner| inner.first()) {
                Some(first) if first.key == b"$elemMatch" => elem_match::parse(path.clone(), first.value(), place)?,
                _ => return Err(Error::new(code::BAD_VALUE, "$all takes $elemMatch everywhere or nowhere")),
            },
            Value::Regex { pattern, options } => {
                Filter::Regex(RegexTest::parse(path.clone(), pattern.as_str(), options.as_str())?)
            }
            _ if parse::operator_document(&value, false).is_some() => {
                return Err(Error::new(code::BAD_VALUE, "no operators but $elemMatch in $all"));
            }
            _ => compare::parse(path.clone(), CompareOp::Eq, value, place)?,
        };
        conditions.push(condition);
    }
    Ok(if conditions.is_empty() { Filter::AlwaysFalse } else { Filter::And(conditions) })
}
