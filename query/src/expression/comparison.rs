//! `$eq`, `$ne`, `$lt`, `$lte`, `$gt`, `$gte`, `$cmp`: by the total order, across types.

use std::cmp::Ordering;

use bindery_document::{OwnedValue, Result};

use super::field_path::walk;
use super::registry::Entry;
use super::{Base, Expression, FieldPath, Node, Scope, Val};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::binary("$eq", eq),
    Entry::binary("$ne", ne),
    Entry::binary("$lt", lt),
    Entry::binary("$lte", lte),
    Entry::binary("$gt", gt),
    Entry::binary("$gte", gte),
    Entry::binary("$cmp", cmp),
];

/// A comparison operator, for those who look into an expression ([`Expression::as_condition`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `$eq`
    Eq,
    /// `$lt`
    Lt,
    /// `$lte`
    Lte,
    /// `$gt`
    Gt,
    /// `$gte`
    Gte,
}

impl Comparison {
    fn named(name: &str) -> Option<Comparison> {
        Some(match name {
            "$eq" => Comparison::Eq,
            "$lt" => Comparison::Lt,
            "$lte" => Comparison::Lte,
            "$gt" => Comparison::Gt,
            "$gte" => Comparison::Gte,
            _ => return None,
        })
    }

    /// The comparison that says the same of its operands in the other order.
    fn turned(self) -> Comparison {
        match self {
            Comparison::Eq => Comparison::Eq,
            Comparison::Lt => Comparison::Gt,
            Comparison::Lte => Comparison::Gte,
            Comparison::Gt => Comparison::Lt,
            Comparison::Gte => Comparison::Lte,
        }
    }
}

/// What a planner can use of an expression that must hold.
#[derive(Clone, Debug)]
pub enum Condition<'a> {
    /// `$and` of these.
    And(Vec<Condition<'a>>),
    /// `$or` of these.
    Or(Vec<Condition<'a>>),
    /// A path from the document's root (its names, at least one) compared with a value.
    Compare(&'a [Box<str>], Comparison, OwnedValue),
    /// Anything else.
    Other,
}

impl Expression {
    /// The expression as a condition on paths; `parameters` are the values of those variables that come from outside.
    pub fn as_condition(&self, parameters: &[Option<OwnedValue>]) -> Condition<'_> {
        condition(&self.node, parameters)
    }
}

fn condition<'a>(node: &'a Node, parameters: &[Option<OwnedValue>]) -> Condition<'a> {
    let Node::Call { entry, operands } = node else {
        return Condition::Other;
    };
    let parts = || operands.iter().map(|operand| condition(operand, parameters)).collect();
    match entry.name {
        "$and" => return Condition::And(parts()),
        "$or" => return Condition::Or(parts()),
        _ => {}
    }
    let (Some(operator), [left, right]) = (Comparison::named(entry.name), &**operands) else {
        return Condition::Other;
    };
    let path = |node: &'a Node| node.as_field_path().filter(|names| !names.is_empty());
    if let (Some(names), Some(value)) = (path(left), known(right, parameters)) {
        return Condition::Compare(names, operator, value);
    }
    if let (Some(value), Some(names)) = (known(left, parameters), path(right)) {
        return Condition::Compare(names, operator.turned(), value);
    }
    Condition::Other
}

/// The value of what does not depend on the document; none for the missing value.
fn known(node: &Node, parameters: &[Option<OwnedValue>]) -> Option<OwnedValue> {
    match node {
        Node::Constant(value) => value.clone(),
        Node::Path(FieldPath { base: Base::Parameter(index), names, .. }) => {
            let value = parameters.get(*index)?.as_ref()?;
            walk(value.value(), names).get().map(OwnedValue::new)
        }
        _ => None,
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
