//! Hashed fields: only equality can be asked of them, and the hash only narrows it down.

use bindery_document::{Kind, OwnedValue, Value};
use bindery_index::key::hash_value;

use super::bounds::Interval;
use super::predicate::{Field, Tightness};
use crate::filter::{Compare, CompareOp, Filter};

/// The hashes of the values that a predicate asks for; `None` for what is no equality.
pub(super) fn bounds(filter: &Filter, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    if let Filter::Not(inner) = filter
        && matches!(**inner, Filter::Exists(_))
        && !field.sparse
    {
        return Some((vec![point(&Value::Null)], Tightness::Document));
    }
    let values: Vec<&OwnedValue> = match filter {
        Filter::Compare(Compare { op: CompareOp::Eq, operand, .. })
        | Filter::ExprCompare(Compare { op: CompareOp::Eq, operand, .. }) => vec![operand],
        Filter::In(test) if test.regexes.is_empty() => test.values.iter().collect(),
        _ => return None,
    };
    let mut points = Vec::new();
    for value in values {
        // Arrays cannot be in the index, and strings under a collation have no hash of their own.
        let stringy = matches!(value.kind(), Kind::String | Kind::Document);
        if value.kind() == Kind::Array || (stringy && !field.same_collation) {
            return None;
        }
        if matches!(value.value(), Value::Null | Value::Undefined) && field.sparse {
            return None;
        }
        // What is undefined is null to a filter, but not to a hash.
        if matches!(value.value(), Value::Null | Value::Undefined) {
            points.extend([point(&Value::Undefined), point(&Value::Null)]);
        } else {
            points.push(point(&value.value()));
        }
    }
    Some((field.axis.unite(points), Tightness::Document))
}

fn point(value: &Value<'_>) -> Interval {
    Interval::point(OwnedValue::new(Value::Int64(hash_value(value))))
}
