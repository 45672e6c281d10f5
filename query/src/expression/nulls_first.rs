//! Operators of several operands that look for nulls before they look at types.
//!
//! MongoDB's other engine, to which some groups are handed over (see `pipeline::group::pushed_down`), evaluates all
//! operands of `$add`, `$multiply`, `$concat`, `$concatArrays`, `$setUnion`, `$setIntersection` and `$atan2` first; a null
//! among them is the result, whatever the others are. Its usual engine goes from operand to operand and stops at the
//! first that is null or of a wrong type. Asked of a real server; [`Scope::nulls_first`] says which one is meant.

use bindery_document::{Error, Result};

use super::{Node, Scope, Val};

/// The result of an operator that has met a null, with the operands behind it.
#[cold]
pub(super) fn null<'a>(scope: &Scope<'a>, rest: &'a [Node]) -> Result<Val<'a>> {
    if scope.nulls_first() {
        has_null(scope, rest)?;
    }
    Ok(Val::NULL)
}

/// The result of an operator that has met an operand of a wrong type, with the operands behind it.
#[cold]
pub(super) fn wrong_type<'a>(scope: &Scope<'a>, rest: &'a [Node], error: Error) -> Result<Val<'a>> {
    if scope.nulls_first() && has_null(scope, rest)? {
        return Ok(Val::NULL);
    }
    Err(error)
}

fn has_null<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<bool> {
    operands.iter().try_fold(false, |found, operand| Ok(operand.evaluate(scope)?.is_nullish() || found))
}
