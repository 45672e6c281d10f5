//! Partial indexes: whether a query asks only for documents that the index holds.

use std::cmp::Ordering;

use bindery_document::{Kind, OwnedValue, Value, order};

use crate::collation::Collation;
use crate::filter::{Compare, CompareOp, Filter};

/// Whether every document that matches all conjuncts matches the partial filter. Says no where it cannot tell.
pub(super) fn implies(conjuncts: &[Filter], partial: &Filter) -> bool {
    match partial {
        Filter::AlwaysTrue => true,
        Filter::And(parts) => parts.iter().all(|part| implies(conjuncts, part)),
        Filter::Or(parts) => {
            parts.iter().any(|part| implies(conjuncts, part))
                || conjuncts
                    .iter()
                    .any(|c| matches!(c, Filter::Or(branches) if branches.iter().all(|b| implies(branch(b), partial))))
        }
        leaf => conjuncts.iter().any(|conjunct| match conjunct {
            Filter::Or(branches) => branches.iter().all(|b| implies(branch(b), leaf)),
            other => leaf_implies(other, leaf),
        }),
    }
}

fn branch(filter: &Filter) -> &[Filter] {
    super::access::conjuncts(filter)
}

fn leaf_implies(query: &Filter, partial: &Filter) -> bool {
    if query == partial {
        return true;
    }
    match (query, partial) {
        (Filter::Compare(q), Filter::Compare(p)) => {
            q.path == p.path && same_order(&q.collation, p) && compare_implies(q.op, &q.operand, p)
        }
        (Filter::In(q), Filter::Compare(p)) => {
            q.path == p.path
                && q.regexes.is_empty()
                && !q.values.is_empty()
                && same_order(&q.collation, p)
                && q.values.iter().all(|value| compare_implies(CompareOp::Eq, value, p))
        }
        (Filter::Compare(q), Filter::In(p)) => {
            q.path == p.path
                && q.op == CompareOp::Eq
                && compares_by_bytes(&q.operand, &q.collation)
                && p.values.iter().any(|value| same(value, &q.operand))
        }
        (Filter::In(q), Filter::In(p)) => {
            q.path == p.path
                && q.regexes.is_empty()
                && q.values.iter().all(|value| {
                    compares_by_bytes(value, &q.collation) && p.values.iter().any(|other| same(value, other))
                })
        }
        (Filter::Compare(q), Filter::Exists(path)) => {
            // What compares with something other than null is there.
            q.path == *path
                && !matches!(q.operand.value(), Value::Null | Value::Undefined | Value::MinKey | Value::MaxKey)
        }
        (Filter::In(q), Filter::Exists(path)) => q.path == *path && !q.has_null(),
        (Filter::Regex(q), Filter::Exists(path)) => q.path == *path,
        (Filter::Type(q), Filter::Exists(path)) => q.path == *path,
        (Filter::Mod(q), Filter::Exists(path)) => q.path == *path,
        (Filter::Size(q), Filter::Exists(path)) => q.path == *path,
        (Filter::ElemMatchValue(q), Filter::Exists(path)) => q.path == *path,
        (Filter::ElemMatchObject(q), Filter::Exists(path)) => q.path == *path,
        (Filter::Not(inner), Filter::Exists(path)) => match &**inner {
            Filter::Compare(q) => q.path == *path && q.op == CompareOp::Eq && q.operand.kind() == Kind::Null,
            _ => false,
        },
        (Filter::Compare(q), Filter::Type(p)) => {
            let equals = equals_of(q.operand.kind());
            q.path == p.path
                && q.op == CompareOp::Eq
                && !equals.is_empty()
                && equals.iter().all(|k| p.types.contains(*k))
        }
        _ => false,
    }
}

/// The types of the values that may equal one of this type; none where nothing at all may, or an array's elements.
fn equals_of(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => {
            &[Kind::Double, Kind::Int32, Kind::Int64, Kind::Decimal128]
        }
        Kind::String | Kind::Symbol => &[Kind::String, Kind::Symbol],
        Kind::Document => &[Kind::Document],
        Kind::Boolean => &[Kind::Boolean],
        Kind::ObjectId => &[Kind::ObjectId],
        Kind::DateTime => &[Kind::DateTime],
        Kind::Timestamp => &[Kind::Timestamp],
        Kind::Binary => &[Kind::Binary],
        Kind::MinKey => &[Kind::MinKey],
        Kind::MaxKey => &[Kind::MaxKey],
        _ => &[],
    }
}

/// Whether strings compare in the query as they do in the partial filter; either has a collation only if its operand
/// holds strings.
fn same_order(query: &Option<Collation>, partial: &Compare) -> bool {
    query.as_ref().map(Collation::spec) == partial.collation.as_ref().map(Collation::spec)
}

/// Whether equality of this value does not depend on a collation.
fn compares_by_bytes(value: &OwnedValue, collation: &Option<Collation>) -> bool {
    collation.is_none() || !crate::filter::holds_strings(value.kind())
}

/// Whether a comparison leaves nothing that the partial filter's comparison would not take.
fn compare_implies(op: CompareOp, operand: &OwnedValue, partial: &Compare) -> bool {
    let (a, b) = (operand.value(), partial.operand.value());
    if a.kind().rank() != b.kind().rank() || matches!(a, Value::Array(_)) || is_nan(&a) || is_nan(&b) {
        return false;
    }
    let order = match &partial.collation {
        None => order::compare(&a, &b),
        Some(collation) => order::compare_with(&a, &b, &|x: &[u8], y: &[u8]| collation.compare(x, y)),
    };
    match (op, partial.op) {
        (CompareOp::Eq, p) => p.accepts(order),
        (CompareOp::Lt, CompareOp::Lt | CompareOp::Lte) => order != Ordering::Greater,
        (CompareOp::Lte, CompareOp::Lte) => order != Ordering::Greater,
        (CompareOp::Lte, CompareOp::Lt) => order == Ordering::Less,
        (CompareOp::Gt, CompareOp::Gt | CompareOp::Gte) => order != Ordering::Less,
        (CompareOp::Gte, CompareOp::Gte) => order != Ordering::Less,
        (CompareOp::Gte, CompareOp::Gt) => order == Ordering::Greater,
        _ => false,
    }
}

fn same(a: &OwnedValue, b: &OwnedValue) -> bool {
    order::compare(&a.value(), &b.value()).is_eq()
}

fn is_nan(value: &Value<'_>) -> bool {
    match value {
        Value::Double(d) => d.is_nan(),
        Value::Decimal128(d) => d.is_nan(),
        _ => false,
    }
}
