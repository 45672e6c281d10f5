//! Which of several computed fields fails first.
//!
//! A projection's walk computes a nested field where it comes by its place, and what it copies comes in the order of
//! the document. MongoDB first copies all that is kept, then computes in the order in which fields were written, and
//! looks for the positional `$` last. So a walk that failed is gone over again in that order.

use bindery_document::{Builder, Doc, Error, Result, Value, doc};

use super::{Child, Input, Node, Projection};

/// The error that MongoDB meets first; `met` is the one that the walk met.
#[cold]
pub(super) fn first(projection: &Projection, input: &Input<'_>, doc: Doc<'_>, met: Error) -> Error {
    fields(&projection.root, doc, input).err().unwrap_or(met)
}

/// Computes what is below a document, and drops it.
fn fields(node: &Node, doc: Doc<'_>, input: &Input<'_>) -> Result<()> {
    for (name, child) in &node.children {
        match child {
            Child::Computed(expression) => {
                expression.append_to(name.as_bytes(), &input.scope, &mut Builder::new())?;
            }
            Child::ElemMatch(elem_match) => {
                elem_match.find(input.scope.root(), name.as_bytes())?;
            }
            Child::Node(inner) if inner.has_computed => value(inner, doc.get(name), input)?,
            _ => {}
        }
    }
    Ok(())
}

/// Each document in an array gets its fields; whatever else is there becomes a document.
fn value(node: &Node, value_there: Option<Value<'_>>, input: &Input<'_>) -> Result<()> {
    match value_there {
        Some(Value::Document(doc)) => fields(node, doc, input),
        Some(Value::Array(items)) => items.iter().try_for_each(|item| value(node, Some(item.value()), input)),
        _ => fields(node, doc::EMPTY, input),
    }
}
