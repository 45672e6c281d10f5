//! Partial indexes: whether a query asks only for documents that the index holds.

use std::cmp::Ordering;

use bindery_document::{Kind, OwnedValue, Value, order};

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
        (Filter::Compare(q), Filter::Compare(p)) => q.path == p.path && compare_implies(q.op, &q.operand, p),
        (Filter::In(q), Filter::Compare(p)) => {
            q.path == p.path
                && q.regexes.is_empty()
                && !q.values.is_empty()
                && q.values.iter().all(|value| compare_implies(CompareOp::Eq, value, p))
        }
        (Filter::Compare(q), Filter::In(p)) => {
            q.path == p.path && q.op == CompareOp::Eq && p.values.iter().any(|value| same(value, &q.operand))
        }
        (Filter::In(q), Filter::In(p)) => {
            q.path == p.path
                && q.regexes.is_empty()
                && q.values.iter().all(|value| p.values.iter().any(|other| same(value, other)))
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
            q.path == p.path
                && q.operand.kind() != Kind::Array
                && p.types.contains(q.operand.kind())
                && q.op == CompareOp::Eq
        }
        _ => false,
    }
}

/// Whether a comparison leaves nothing that the partial filter's comparison would not take.
fn compare_implies(op: CompareOp, operand: &OwnedValue, partial: &Compare) -> bool {
    let (a, b) = (operand.value(), partial.operand.value());
    if a.kind().rank() != b.kind().rank() || matches!(a, Value::Array(_)) || is_nan(&a) || is_nan(&b) {
        return false;
    }
    let order = order::compare(&a, &b);
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
