//! The walk of an update's tree over a document's bytes.
//!
//! The new document is written in one pass: runs of elements that no operator names are copied as they
//! lie, named ones are given to their operators, and what is missing is appended in the tree's order.
//! Operators of one update never see each other's work (their paths do not meet), so every one of them
//! reads the old document.
//!
//! When something fails, the error to report is that of the operator that comes first in the tree's
//! order, which the pass in document order need not have met first; [`first_error`] finds it.

use bindery_document::{Builder, Doc, Element, Error, Result, Value, build::index_key, code};

use super::array_filters::ArrayFilter;
use super::changes::LeafSet;
use super::operator::Outcome;
use super::path::array_index;
use super::tree::{ArrayNode, Leaf, Node, ObjectNode, Selector};
use super::{Context, Operators};

/// The most nulls put in when an element past the end of an array is set.
const MAX_PADDING: usize = 1_500_000;

/// MongoDB's code for an array index too far past the end.
const CANNOT_BACKFILL_ARRAY: i32 = 34;

/// What is walked and written.
struct Walk<'w> {
    context: &'w Context<'w>,
    filters: &'w [ArrayFilter],
    out: Builder,
    changed: LeafSet,
    touched: LeafSet,
    /// Only this leaf is applied, if given.
    only: Option<usize>,
}

/// Where an element stands, as far as the rules differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the document itself.
    Top,
    /// In an embedded document.
    Embedded,
    /// In an array.
    Array,
}

/// Which operators did something.
pub(super) struct Done {
    /// Those that changed the document.
    pub(super) changed: LeafSet,
    /// Those whose work counts as a change only where an index holds the field.
    pub(super) touched: LeafSet,
}

/// Applies all operators, writing the new document into the buffer.
///
/// # Errors
/// That of the first operator, in the tree's order, that cannot be applied.
pub(super) fn apply(operators: &Operators, doc: Doc<'_>, context: &Context<'_>, out: &mut Vec<u8>) -> Result<Done> {
    match run(operators, doc, context, None, std::mem::take(out)) {
        Ok((bytes, done)) => {
            *out = bytes;
            Ok(done)
        }
        Err(error) if operators.leaf_count() == 1 => Err(error),
        Err(error) => Err(first_error(operators, doc, context).unwrap_or(error)),
    }
}

/// The error of the first leaf that fails when applied alone.
fn first_error(operators: &Operators, doc: Doc<'_>, context: &Context<'_>) -> Option<Error> {
    (0..operators.leaf_count()).find_map(|leaf| run(operators, doc, context, Some(leaf), Vec::new()).err())
}

fn run(
    operators: &Operators,
    doc: Doc<'_>,
    context: &Context<'_>,
    only: Option<usize>,
    buffer: Vec<u8>,
) -> Result<(Vec<u8>, Done)> {
    let mut walk = Walk {
        context,
        filters: &operators.filters,
        out: Builder::with_buffer(buffer),
        changed: LeafSet::default(),
        touched: LeafSet::default(),
        only,
    };
    walk.fields(&operators.root, doc, Place::Top)?;
    Ok((walk.out.finish().into_bytes(), Done { changed: walk.changed, touched: walk.touched }))
}

impl Walk<'_> {
    /// Writes the elements of a document with the changes of an object node.
    fn fields(&mut self, node: &ObjectNode, doc: Doc<'_>, place: Place) -> Result<()> {
        let resolved;
        let node = match self.at_position(node)? {
            Some(node) => {
                resolved = node;
                &resolved
            }
            None => node,
        };
        let children = &node.children;
        let mut seen = vec![false; children.len()];
        let mut unseen = children.len();
        let mut elements = doc.iter();
        let mut run_start = elements.remaining();
        while unseen > 0 {
            let before = elements.clone();
            let Some(element) = elements.next() else {
                break;
            };
            let found =
                children.iter().zip(&seen).position(|((name, _), seen)| !seen && name.as_bytes() == element.key);
            let Some(child) = found else {
                continue;
            };
            self.out.append_run(before.run_since(run_start));
            run_start = elements.remaining();
            seen[child] = true;
            unseen -= 1;
            let written_from = self.out.len();
            let name = &children[child].0;
            self.element(&children[child].1, element, place)?;
            if place == Place::Top && **name == *"_id" {
                self.check_id(element, written_from)?;
            }
        }
        self.out.append_run(run_start);
        for ((name, child), seen) in children.iter().zip(seen) {
            if !seen {
                self.missing(child, name.as_bytes(), place)?;
            }
        }
        Ok(())
    }

    /// Writes the elements of an array with the changes of an object node, whose names must be indexes.
    fn items(&mut self, node: &ObjectNode, array: Doc<'_>) -> Result<()> {
        let resolved;
        let node = match self.at_position(node)? {
            Some(node) => {
                resolved = node;
                &resolved
            }
            None => node,
        };
        let mut by_index: Vec<(usize, &Node)> = Vec::with_capacity(node.children.len());
        for (name, child) in &node.children {
            match array_index(name.as_bytes()) {
                Some(index) => match by_index.iter_mut().find(|(other, _)| *other == index) {
                    None => by_index.push((index, child)),
                    // Two ways to write one index ("1" and "01") would be two operators on one element, unless one of
                    // them has nothing to do here.
                    Some(_) if self.is_idle(child) => {}
                    Some((_, other)) if self.is_idle(other) => *other = child,
                    Some(_) => {
                        return Err(Error::new(
                            code::CONFLICTING_UPDATE_OPERATORS,
                            format!("the update names the array element {index} in two ways"),
                        ));
                    }
                },
                None => self.blocked(child, name)?,
            }
        }
        let mut in_order = by_index.clone();
        in_order.sort_by_key(|(index, _)| *index);
        let mut items = array.iter();
        let mut length = 0;
        for (index, child) in in_order {
            // What lies between is copied as it lies.
            let run_start = items.remaining();
            length += items.skip_items(length, index - length);
            self.out.append_run(items.run_since(run_start));
            let Some(item) = items.next() else {
                break;
            };
            self.element(child, item, Place::Array)?;
            length += 1;
        }
        self.out.append_run(items.remaining());
        if by_index.iter().any(|(index, _)| *index >= length) {
            length += items.skip_items(length, usize::MAX);
        }
        for (index, child) in by_index {
            if index < length {
                continue;
            }
            let mut digits = [0; 20];
            if !self.would_create(child) {
                self.missing(child, index_key(index, &mut digits), Place::Array)?;
                continue;
            }
            if index - length > MAX_PADDING {
                return Err(Error::new(
                    CANNOT_BACKFILL_ARRAY,
                    format!("setting array element {index} would put in more than {MAX_PADDING} nulls"),
                ));
            }
            for gap in length..index {
                self.out.append_index(gap, Value::Null);
            }
            self.missing(child, index_key(index, &mut digits), Place::Array)?;
            length = index + 1;
        }
        Ok(())
    }

    /// Writes the elements of an array with the changes of an array node.
    fn selected_items(&mut self, node: &ArrayNode, array: Doc<'_>) -> Result<()> {
        for item in array {
            let mut chosen: Option<std::borrow::Cow<'_, Node>> = None;
            for (_, selector, child) in &node.children {
                let selected = match selector {
                    Selector::Every => true,
                    Selector::Filter(number) => match self.filters.get(*number) {
                        Some(filter) => filter.matches(item)?,
                        None => false,
                    },
                };
                if selected {
                    chosen = Some(match chosen {
                        None => std::borrow::Cow::Borrowed(child),
                        Some(other) => std::borrow::Cow::Owned(other.merge(child)?),
                    });
                }
            }
            match chosen {
                Some(child) => self.element(&child, item, Place::Array)?,
                None => self.out.append_element(item),
            }
        }
        Ok(())
    }

    /// Writes one element with the changes of a node.
    fn element(&mut self, node: &Node, element: Element<'_>, place: Place) -> Result<()> {
        if self.passes(node) {
            self.out.append_element(element);
            return Ok(());
        }
        match node {
            Node::Leaf(leaf) => self.leaf(leaf, element, place),
            Node::Object(object) => match element.value() {
                Value::Document(doc) => {
                    let open = self.out.open_document(element.key);
                    self.fields(object, doc, Place::Embedded)?;
                    self.out.close(open);
                    Ok(())
                }
                Value::Array(array) => {
                    let open = self.out.open_array(element.key);
                    self.items(object, array)?;
                    self.out.close(open);
                    Ok(())
                }
                _ => {
                    self.blocked(node, element.key_str())?;
                    self.out.append_element(element);
                    Ok(())
                }
            },
            Node::Array(array) => {
                let Value::Array(items) = element.value() else {
                    return Err(Error::new(
                        code::BAD_VALUE,
                        format!("'{}' is no array, so it has no elements to update", element.key_str()),
                    ));
                };
                let open = self.out.open_array(element.key);
                self.selected_items(array, items)?;
                self.out.close(open);
                Ok(())
            }
        }
    }

    fn leaf(&mut self, leaf: &Leaf, element: Element<'_>, place: Place) -> Result<()> {
        match leaf.operator.update(element, self.context, &mut self.out)? {
            outcome @ (Outcome::Unchanged | Outcome::Touched) => {
                if outcome == Outcome::Touched {
                    self.touched.add(leaf.number);
                }
                self.out.append_element(element);
                return Ok(());
            }
            // An array has no gaps: what is taken out of it is null.
            Outcome::Removed if place == Place::Array => self.out.append(element.key, Value::Null),
            Outcome::Removed => {}
            Outcome::Written => {
                if place == Place::Top && element.key.first() == Some(&b'$') && !leaf.operator.only_shortens() {
                    self.check_name(element.key)?;
                }
            }
        }
        self.changed.add(leaf.number);
        Ok(())
    }

    /// Writes a missing element, if an operator below creates one.
    fn missing(&mut self, node: &Node, key: &[u8], place: Place) -> Result<()> {
        if self.passes(node) {
            return Ok(());
        }
        match node {
            Node::Leaf(leaf) => {
                if !leaf.operator.creates(self.context) {
                    return Ok(());
                }
                if leaf.operator.create(key, self.context, &mut self.out)? == Outcome::Written {
                    if place == Place::Top {
                        self.check_name(key)?;
                    }
                    self.changed.add(leaf.number);
                }
                Ok(())
            }
            Node::Object(object) => {
                let resolved;
                let object = match self.at_position(object)? {
                    Some(node) => {
                        resolved = node;
                        &resolved
                    }
                    None => object,
                };
                let start = self.out.len();
                let open = self.out.open_document(key);
                let empty = self.out.len();
                for (name, child) in &object.children {
                    self.missing(child, name.as_bytes(), Place::Embedded)?;
                }
                if self.out.len() == empty {
                    self.out.truncate(start);
                    return Ok(());
                }
                self.out.close(open);
                if place == Place::Top { self.check_name(key) } else { Ok(()) }
            }
            Node::Array(_) => Err(Error::new(
                code::BAD_VALUE,
                format!("there is no array '{}' to update the elements of", String::from_utf8_lossy(key)),
            )),
        }
    }

    /// Reports that a value which has no fields stands where a node expects some.
    fn blocked(&self, node: &Node, name: &str) -> Result<()> {
        if self.passes(node) {
            return Ok(());
        }
        match node {
            Node::Leaf(leaf) => {
                if leaf.operator.passes_over(self.context) {
                    return Ok(());
                }
                leaf.operator.check_target(self.context)?;
                Err(Error::new(
                    code::PATH_NOT_VIABLE,
                    format!("what stands at '{name}' has no fields of the name that the update asks for"),
                ))
            }
            Node::Object(object) => {
                if object.matched.is_some() {
                    self.position()?;
                }
                let matched = object.matched.iter().map(|child| ("$", &**child));
                for (_, child) in matched.chain(object.children.iter().map(|(name, child)| (&**name, child))) {
                    self.blocked(child, name)?;
                }
                Ok(())
            }
            Node::Array(_) => {
                Err(Error::new(code::BAD_VALUE, format!("there is no array below '{name}' to update the elements of")))
            }
        }
    }

    /// Whether a missing element would be made by an operator below.
    fn would_create(&self, node: &Node) -> bool {
        match node {
            _ if self.passes(node) => false,
            Node::Leaf(leaf) => leaf.operator.creates(self.context),
            Node::Object(object) => {
                let matched = object.matched.iter().map(|child| &**child);
                matched.chain(object.children.iter().map(|(_, child)| child)).any(|child| self.would_create(child))
            }
            Node::Array(_) => false,
        }
    }

    /// Whether all that a node does is for inserts, and this is none.
    fn is_idle(&self, node: &Node) -> bool {
        !self.context.inserting && node.is_for_inserts_only()
    }

    /// The node with its `$` child at the matched position; `None` if it has no such child.
    fn at_position(&self, node: &ObjectNode) -> Result<Option<ObjectNode>> {
        if node.matched.is_none() {
            return Ok(None);
        }
        node.at_position(self.position()?).map(Some)
    }

    fn position(&self) -> Result<usize> {
        self.context.matched.ok_or_else(|| {
            Error::new(code::BAD_VALUE, "the query matched no array element that the positional operator could mean")
        })
    }

    /// Whether nothing of the node is to be applied.
    fn passes(&self, node: &Node) -> bool {
        self.only.is_some_and(|only| !node.has_leaf(only))
    }

    /// Checks that the `_id` just written is still the one it was.
    fn check_id(&self, old: Element<'_>, written_from: usize) -> Result<()> {
        if !self.context.id_is_fixed {
            return Ok(());
        }
        let new = self.out.written_since(written_from);
        let same = new.first() == Some(&(old.kind as u8)) && new.get(1 + old.key.len() + 1..) == Some(old.bytes);
        if same {
            return Ok(());
        }
        Err(Error::new(code::IMMUTABLE_FIELD, "the update would change the immutable field '_id'"))
    }

    /// Checks the name of a field written at the top of a document that is already stored.
    fn check_name(&self, key: &[u8]) -> Result<()> {
        if self.context.inserting || key.first() != Some(&b'$') {
            return Ok(());
        }
        Err(Error::new(
            code::DOLLAR_PREFIXED_FIELD_NAME,
            format!("an update must not write the top-level field '{}'", String::from_utf8_lossy(key)),
        ))
    }
}

/// Where two documents differ: the range of the second one's bytes that makes it of the first one.
/// `None` if their lengths differ.
pub(super) fn patch_range(old: &[u8], new: &[u8]) -> Option<std::ops::Range<usize>> {
    /// Bytes compared at once.
    const STEP: usize = 64;
    if old.len() != new.len() {
        return None;
    }
    let equal_steps = old.chunks(STEP).zip(new.chunks(STEP)).take_while(|(x, y)| x == y).count();
    let near = (equal_steps * STEP).min(old.len());
    let Some(beyond) = old[near..].iter().zip(&new[near..]).position(|(x, y)| x != y) else {
        return Some(0..0);
    };
    let equal_steps = old.rchunks(STEP).zip(new.rchunks(STEP)).take_while(|(x, y)| x == y).count();
    let end = old.len() - equal_steps * STEP;
    let same_at_end = old[..end].iter().rev().zip(new[..end].iter().rev()).take_while(|(x, y)| x == y).count();
    Some(near + beyond..end - same_at_end)
}
