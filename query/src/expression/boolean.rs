//! `$and`, `$or`, `$not`.

use bindery_document::Result;

use super::registry::{Arity, Entry, Folding};
use super::{Node, Scope, Val};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$and", Arity::Any, and).folding(Folding::Commutative),
    Entry::variadic("$or", Arity::Any, or).folding(Folding::Commutative),
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

fn not<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(!value.is_truthy()))
}
