//! `$sortByCount`: a group with a count, the greatest first. It is parsed into those two stages.

use std::sync::Arc;

use bindery_document::{Builder, Error, Result, Value};

use super::group::{Accumulator, Group};
use super::{Stage, sort};
use crate::expression::Expression;
use crate::filter::ParseContext;

/// Parses the expression to group by.
///
/// # Errors
/// 40147 for a document that is no expression, 40148 for a string that is no path, 40149 for anything else; those
/// of expressions.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<[Stage; 2]> {
    match argument {
        Value::Document(doc) if doc.first().is_some_and(|first| first.key.first() == Some(&b'$')) => {}
        Value::Document(_) => return Err(Error::new(40147, "$sortByCount takes an expression, not a plain document")),
        Value::String(text) if text.as_bytes().first() == Some(&b'$') => {}
        Value::String(_) => return Err(Error::new(40148, "$sortByCount takes a path with a dollar in front")),
        _ => return Err(Error::new(40149, "$sortByCount takes a path or an expression")),
    }
    let id = Expression::parse_unfolded(argument, &mut context.expressions)?;
    let mut written = Builder::new();
    written.append("_id", argument);
    append_count(&mut written);
    let fields = vec![("count".into(), Accumulator::count_one())];
    let group = Group::new(id, fields, context.collation.clone(), written.finish());
    let mut order = Builder::new();
    order.append("count", -1);
    let order = order.finish();
    let sort = sort::parse(Value::Document(order.doc()), context)?;
    Ok([Stage::Group(Arc::new(group)), Stage::Sort(Arc::new(sort))])
}

/// Appends the field that counts, as a `$group` has it.
pub(super) fn append_count(out: &mut Builder) {
    let count = out.open_document("count");
    out.append("$sum", 1);
    out.close(count);
}
