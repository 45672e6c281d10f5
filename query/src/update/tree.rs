//! The tree of an update: its paths joined at their common parts, an operator at each leaf.
//!
//! Joining finds conflicts before any document is seen: two operators on one path, or on a path and a
//! part of it, are error 40. Children stand in the order in which they are applied (see
//! [`compare_names`]), which is also the order of new fields.

use std::sync::Arc;

use bindery_document::{Error, Result, code};

use super::operator::Operator;
use super::path::{Part, compare_names};

/// A node of the tree.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Named children.
    Object(ObjectNode),
    /// Children for every or for selected elements of an array.
    Array(ArrayNode),
    /// An operator.
    Leaf(Leaf),
}

/// Children by name, and one for the matched position.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectNode {
    /// In the order of [`compare_names`].
    pub(super) children: Vec<(Box<str>, Node)>,
    /// The child under `$`.
    pub(super) matched: Option<Box<Node>>,
}

/// Which elements a child of an [`ArrayNode`] is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// All.
    Every,
    /// Those that satisfy the array filter with this number.
    Filter(usize),
}

/// Children by selector.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrayNode {
    /// In the order of their identifiers; `$[]` counts as the empty one.
    pub(super) children: Vec<(Box<str>, Selector, Node)>,
}

/// An operator at the end of its path.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Its number among the leaves, in the order of application.
    pub(super) number: usize,
    /// What it does; shared with the copies that [`Node::merge`] makes.
    pub(super) operator: Arc<Operator>,
}

impl Node {
    /// An inner node fit to hold a child under this part.
    fn inner_for(part: &Part) -> Node {
        match part {
            Part::Name(_) | Part::Matched => Node::Object(ObjectNode::default()),
            Part::Every | Part::Filtered(_) => Node::Array(ArrayNode::default()),
        }
    }

    /// Puts an operator at the end of a path.
    ///
    /// `selector` gives the number of an array filter by its identifier.
    ///
    /// # Errors
    /// [`code::CONFLICTING_UPDATE_OPERATORS`]; what `selector` returns.
    pub(super) fn insert(
        &mut self,
        path: &str,
        parts: &[Part],
        operator: Arc<Operator>,
        selector: &mut dyn FnMut(&str) -> Result<usize>,
    ) -> Result<()> {
        let Some((part, rest)) = parts.split_first() else {
            return Err(conflict(path));
        };
        let fresh = || match rest.first() {
            Some(next) => Node::inner_for(next),
            None => Node::Leaf(Leaf { number: 0, operator: Arc::clone(&operator) }),
        };
        let (child, is_new) = match (&mut *self, part) {
            (Node::Object(object), Part::Name(name)) => match object.find(name) {
                Ok(at) => (&mut object.children[at].1, false),
                Err(at) => {
                    object.children.insert(at, (name.clone(), fresh()));
                    (&mut object.children[at].1, true)
                }
            },
            (Node::Object(object), Part::Matched) => {
                let is_new = object.matched.is_none();
                (&mut **object.matched.get_or_insert_with(|| Box::new(fresh())), is_new)
            }
            (Node::Array(array), Part::Every | Part::Filtered(_)) => {
                let (identifier, select): (&str, Selector) = match part {
                    Part::Filtered(identifier) => (identifier, Selector::Filter(selector(identifier)?)),
                    _ => ("", Selector::Every),
                };
                match array.children.binary_search_by(|(other, _, _)| other.as_ref().cmp(identifier)) {
                    Ok(at) => (&mut array.children[at].2, false),
                    Err(at) => {
                        array.children.insert(at, (identifier.into(), select, fresh()));
                        (&mut array.children[at].2, true)
                    }
                }
            }
            _ => return Err(conflict(path)),
        };
        match (rest.is_empty(), is_new) {
            (true, true) => Ok(()),
            (true, false) => Err(conflict(path)),
            (false, _) => child.insert(path, rest, operator, selector),
        }
    }

    /// The union of two nodes that turn out to be for the same element.
    ///
    /// # Errors
    /// [`code::CONFLICTING_UPDATE_OPERATORS`] when both decide about the element itself, or about a
    /// common part of it.
    pub(super) fn merge(&self, other: &Node) -> Result<Node> {
        match (self, other) {
            (Node::Object(a), Node::Object(b)) => {
                let mut merged = a.clone();
                for (name, child) in &b.children {
                    merged.add(name, child)?;
                }
                merged.matched = match (&a.matched, &b.matched) {
                    (Some(x), Some(y)) => Some(Box::new(x.merge(y)?)),
                    (x, y) => x.clone().or_else(|| y.clone()),
                };
                Ok(Node::Object(merged))
            }
            (Node::Array(a), Node::Array(b)) => {
                let mut merged = a.clone();
                for (identifier, selector, child) in &b.children {
                    match merged.children.binary_search_by(|(other, _, _)| other.cmp(identifier)) {
                        Ok(at) => merged.children[at].2 = merged.children[at].2.merge(child)?,
                        Err(at) => merged.children.insert(at, (identifier.clone(), selector.clone(), child.clone())),
                    }
                }
                Ok(Node::Array(merged))
            }
            _ => Err(Error::new(
                code::CONFLICTING_UPDATE_OPERATORS,
                "the update would change one array element by two paths",
            )),
        }
    }

    fn has_matched(&self) -> bool {
        match self {
            Node::Object(object) => object.has_matched(),
            Node::Array(array) => array.children.iter().any(|(_, _, child)| child.has_matched()),
            Node::Leaf(_) => false,
        }
    }

    /// Whether the leaf of this number is below.
    pub(super) fn has_leaf(&self, number: usize) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.number == number,
            Node::Object(object) => {
                let matched = object.matched.iter().map(|child| &**child);
                matched.chain(object.children.iter().map(|(_, child)| child)).any(|child| child.has_leaf(number))
            }
            Node::Array(array) => array.children.iter().any(|(_, _, child)| child.has_leaf(number)),
        }
    }

    /// Whether there is nothing but `$setOnInsert` below.
    pub(super) fn is_for_inserts_only(&self) -> bool {
        match self {
            Node::Leaf(leaf) => matches!(*leaf.operator, Operator::SetOnInsert(_)),
            Node::Object(object) => {
                let matched = object.matched.iter().map(|child| &**child);
                matched.chain(object.children.iter().map(|(_, child)| child)).all(Node::is_for_inserts_only)
            }
            Node::Array(array) => array.children.iter().all(|(_, _, child)| child.is_for_inserts_only()),
        }
    }

    /// Numbers the leaves in the order of application; returns the next number.
    pub(super) fn number_leaves(&mut self, mut next: usize, register: &mut dyn FnMut(&Leaf)) -> usize {
        match self {
            Node::Leaf(leaf) => {
                leaf.number = next;
                register(leaf);
                next + 1
            }
            Node::Object(object) => {
                let matched = object.matched.iter_mut().map(|child| &mut **child);
                for child in matched.chain(object.children.iter_mut().map(|(_, child)| child)) {
                    next = child.number_leaves(next, register);
                }
                next
            }
            Node::Array(array) => {
                for (_, _, child) in &mut array.children {
                    next = child.number_leaves(next, register);
                }
                next
            }
        }
    }
}

impl ObjectNode {
    /// Whether there is a `$` here or below.
    pub(super) fn has_matched(&self) -> bool {
        self.matched.is_some() || self.children.iter().any(|(_, child)| child.has_matched())
    }

    /// This node with the child under `$` put under the array index that was matched.
    ///
    /// # Errors
    /// As [`Node::merge`].
    pub(super) fn at_position(&self, position: usize) -> Result<ObjectNode> {
        let mut merged = ObjectNode { children: self.children.clone(), matched: None };
        if let Some(child) = &self.matched {
            merged.add(&position.to_string(), child)?;
        }
        Ok(merged)
    }

    /// Where the child of this name is, or where to put it.
    fn find(&self, name: &str) -> std::result::Result<usize, usize> {
        let found = self.children.binary_search_by(|(other, _)| compare_names(other, name));
        match found {
            // The order is no total one where numbers and names that begin with digits are mixed ("9" before
            // "10" before "1a" before "9"), so a search may pass a name by.
            Err(at) if name.starts_with(|c: char| c.is_ascii_digit()) => {
                self.children.iter().position(|(other, _)| **other == *name).ok_or(at)
            }
            found => found,
        }
    }

    fn add(&mut self, name: &str, child: &Node) -> Result<()> {
        match self.find(name) {
            Ok(at) => self.children[at].1 = self.children[at].1.merge(child)?,
            Err(at) => self.children.insert(at, (name.into(), child.clone())),
        }
        Ok(())
    }
}

fn conflict(path: &str) -> Error {
    Error::new(
        code::CONFLICTING_UPDATE_OPERATORS,
        format!("updating the path '{path}' conflicts with another part of the update"),
    )
}
