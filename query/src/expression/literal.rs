//! `$literal` (and its old name `$const`), `$expr` is no expression; JavaScript is refused.

use bindery_document::{Result, Value, code};

use super::registry::Entry;
use super::{Node, ParseContext, fail};

pub(super) const OPERATORS: &[Entry] =
    &[Entry::parsed("$literal", literal), Entry::parsed("$const", literal), Entry::parsed("$function", javascript)];

/// The argument as it stands, dollars and all.
fn literal(argument: Value<'_>, _: &mut ParseContext) -> Result<Node> {
    Ok(Node::constant(argument))
}

fn javascript(_: Value<'_>, _: &mut ParseContext) -> Result<Node> {
    fail(code::INVALID_PIPELINE_OPERATOR, "server-side JavaScript is not supported: $function")
}
