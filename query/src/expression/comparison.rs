//! `$eq`, `$ne`, `$lt`, `$lte`, `$gt`, `$gte`, `$cmp`: by the total order, across types.

use std::cmp::Ordering;

use bindery_document::Result;

use super::registry::Entry;
use super::{Expression, Node, Scope, Val};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::binary("$eq", eq),
    Entry::binary("$ne", ne),
    Entry::binary("$lt", lt),
    Entry::binary("$lte", lte),
    Entry::binary("$gt", gt),
    Entry::binary("$gte", gte),
    Entry::binary("$cmp", cmp),
];

/// A comparison operator, for those who look into an expression ([`Expression::as_comparison`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `$eq`
    Eq,
    /// `$ne`
    Ne,
    /// `$lt`
    Lt,
    /// `$lte`
    Lte,
    /// `$gt`
    Gt,
    /// `$gte`
    Gte,
}

impl Expression {
    /// If this is a comparison with `$eq`, `$ne`, `$lt`, `$lte`, `$gt` or `$gte`: the operator
    /// and its operands, left then right. `$cmp` is none.
    pub fn as_comparison(&self) -> Option<(Comparison, Operand<'_>, Operand<'_>)> {
        comparison_of(&self.node)
    }

    /// If this is an `$and`: its operands' comparisons; `None` in the list stands for what is none.
    pub fn conjuncts(&self) -> Option<Vec<Option<(Comparison, Operand<'_>, Operand<'_>)>>> {
        let Node::Call { entry, operands } = &self.node else {
            return None;
        };
        if entry.name != "$and" {
            return None;
        }
        Some(operands.iter().map(comparison_of).collect())
    }
}

fn comparison_of(node: &Node) -> Option<(Comparison, Operand<'_>, Operand<'_>)> {
    let Node::Call { entry, operands } = node else {
        return None;
    };
    let [left, right] = &**operands else {
        return None;
    };
    let operator = match entry.name {
        "$eq" => Comparison::Eq,
        "$ne" => Comparison::Ne,
        "$lt" => Comparison::Lt,
        "$lte" => Comparison::Lte,
        "$gt" => Comparison::Gt,
        "$gte" => Comparison::Gte,
        _ => return None,
    };
    Some((operator, Operand::of(left), Operand::of(right)))
}

/// What a planner can use of an operand.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// The names of a path from the document's root; empty for `$$ROOT`.
    Path(&'a [Box<str>]),
    /// A constant; `None` is the missing value.
    Constant(Option<bindery_document::Value<'a>>),
    /// Anything else.
    Other,
}

impl<'a> Operand<'a> {
    fn of(node: &'a Node) -> Operand<'a> {
        match node {
            Node::Constant(value) => Operand::Constant(value.as_ref().map(|v| v.value())),
            other => other.as_field_path().map_or(Operand::Other, Operand::Path),
        }
    }
}

#[inline]
fn order(scope: &Scope<'_>, left: &Val<'_>, right: &Val<'_>) -> Ordering {
    scope.compare_maybe(left.get(), right.get())
}

fn eq<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right).is_eq()))
}

fn ne<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right).is_ne()))
}

fn lt<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right).is_lt()))
}

fn lte<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right).is_le()))
}

fn gt<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right).is_gt()))
}

fn gte<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right).is_ge()))
}

fn cmp<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(order(scope, &left, &right) as i32))
}
