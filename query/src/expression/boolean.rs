//! `$and`, `$or`, `$not`.

use bindery_document::{Result, Value};

use super::registry::{Arity, Entry, Folding};
use super::{Node, Scope, Val};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$and", Arity::Any, and).folding(Folding::Commutative).simplify(simplify_and),
    Entry::variadic("$or", Arity::Any, or).folding(Folding::Commutative).simplify(simplify_or),
    Entry::unary("$not", not),
];

fn and<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    for operand in operands {
        if !operand.evaluate(scope)?.is_truthy() {
            return Ok(Val::from(false));
        }
    }
    Ok(Val::from(true))
}

fn or<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    for operand in operands {
        if operand.evaluate(scope)?.is_truthy() {
            return Ok(Val::from(true));
        }
    }
    Ok(Val::from(false))
}

/// A constant, which stands at the end, decides at once or not at all.
fn simplify_and(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    Ok(simplify(operands, false))
}

fn simplify_or(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    Ok(simplify(operands, true))
}

fn simplify(operands: &mut Vec<Node>, deciding: bool) -> Option<Node> {
    let Some(Node::Constant(value)) = operands.last() else {
        return None;
    };
    let truth = value.as_ref().is_some_and(|value| value.value().is_truthy());
    if truth == deciding {
        return Some(Node::constant(Value::Boolean(deciding)));
    }
    if operands.len() > 1 {
        operands.pop();
    }
    None
}

fn not<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(!value.is_truthy()))
}
