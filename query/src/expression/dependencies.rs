//! Which fields an expression reads, so that plans can leave the others alone.

use std::collections::BTreeSet;

use bindery_document::FieldSet;

use super::Node;
use super::field_path::{Base, FieldPath};

/// The paths that are read of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Dotted paths. A path may lie inside another one.
    pub paths: BTreeSet<String>,
    /// Whether the document is used as a whole (`$$ROOT`).
    pub whole_document: bool,
}

impl Dependencies {
    /// Adds a dotted path.
    pub fn add_path(&mut self, path: &str) {
        self.paths.insert(path.to_owned());
    }

    /// The top-level fields that are read; `None` if the whole document is.
    pub fn top_level_fields(&self) -> Option<BTreeSet<&str>> {
        (!self.whole_document).then(|| self.paths.iter().map(|p| p.split('.').next().unwrap_or(p)).collect())
    }
}

/// Has the fields of the document that an expression reads found in one walk.
pub(super) fn bind(node: &mut Node, fields: &mut FieldSet) {
    match node {
        Node::Constant(_) => {}
        Node::Path(path) => path.bind(fields),
        Node::Object(parts) => parts.iter_mut().for_each(|(_, value)| bind(value, fields)),
        Node::Array(items) => items.iter_mut().for_each(|item| bind(item, fields)),
        Node::Call { operands, .. } => operands.iter_mut().for_each(|operand| bind(operand, fields)),
        Node::Named { operands, .. } => operands.iter_mut().flatten().for_each(|operand| bind(operand, fields)),
        Node::Operator(operator) => operator.operands_mut().into_iter().for_each(|operand| bind(operand, fields)),
    }
}

pub(super) fn collect(node: &Node, into: &mut Dependencies) {
    match node {
        Node::Constant(_) => {}
        Node::Path(FieldPath { base: Base::Root, names, .. }) if names.is_empty() => into.whole_document = true,
        Node::Path(FieldPath { base: Base::Root, names, .. }) => {
            into.paths.insert(names.join("."));
        }
        // What a variable holds was counted where it is bound.
        Node::Path(_) => {}
        Node::Object(fields) => fields.iter().for_each(|(_, value)| collect(value, into)),
        Node::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Node::Call { operands, .. } => operands.iter().for_each(|operand| collect(operand, into)),
        Node::Named { operands, .. } => operands.iter().flatten().for_each(|operand| collect(operand, into)),
        Node::Operator(operator) => operator.operands().into_iter().for_each(|operand| collect(operand, into)),
    }
}
