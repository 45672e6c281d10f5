//! The walk of a projection's tree over a document's bytes.

use bindery_document::build::index_key;
use bindery_document::{Builder, Doc, Element, Error, Kind, Result, Value};

use super::slotted::{append_slot, is_slot};
use super::{Child, Input, Node, Projection, Rest, failure, position};

/// MongoDB's code for a positional `$` when the query matched no array element.
const NO_POSITION: i32 = 51246;

/// MongoDB's code for a matched position that the array does not have.
const POSITION_MISMATCH: i32 = 51247;

/// Writes the projected document.
pub(super) fn apply(projection: &Projection, input: &Input<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut walk = Walk::new(projection, input, std::mem::take(out));
    let root = input.scope.root();
    walk.fields(&projection.root, root, Way::default()).map_err(|met| failure::first(projection, input, root, met))?;
    let projected = walk.out.finish();
    if let Some(found) = position::find(projected.doc(), root, &projection.position_path) {
        let at = input.position.ok_or_else(no_position)?;
        let item = found.item(at).ok_or_else(mismatch)?;
        *out = found.put(projected.doc(), input.scope.root(), &projection.position_path, item);
        return Ok(());
    }
    *out = projected.into_bytes();
    Ok(())
}

/// Writes the projected document with slots where fields go; `doc` is the input's document with the slots
/// that it has. Tells whether there are slots now.
pub(super) fn apply_with_slots(
    projection: &Projection,
    input: &Input<'_>,
    doc: Doc<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let had_slots = doc.as_bytes().len() != input.scope.root().as_bytes().len();
    let computes = projection.root.has_computed;
    let mut walk = Walk { slots: Some(had_slots), computes, ..Walk::new(projection, input, std::mem::take(out)) };
    walk.fields(&projection.root, doc, Way::default()).map_err(|met| failure::first(projection, input, doc, met))?;
    let has_slots = walk.slots.unwrap_or(false);
    *out = walk.out.finish().into_bytes();
    Ok(has_slots)
}

struct Walk<'w> {
    rest: Rest,
    input: &'w Input<'w>,
    out: Builder,
    /// Whether slots have been met or left; `None` where none are to be left.
    slots: Option<bool>,
    /// Whether fields are computed, and slots are left.
    computes: bool,
}

/// How a document was come to.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Through an array; the positional `$` means the first one only.
    through_array: bool,
    /// Through an array directly in an array, where `$slice` does not reach.
    through_nested_array: bool,
}

impl<'w> Walk<'w> {
    fn new(projection: &Projection, input: &'w Input<'w>, buffer: Vec<u8>) -> Walk<'w> {
        Walk { rest: projection.rest, input, out: Builder::with_buffer(buffer), slots: None, computes: false }
    }

    /// Leaves a slot where a field would be, if slots are wanted.
    fn leave_slot(&mut self, key: &[u8]) {
        if self.slots.is_some() {
            append_slot(key, &mut self.out);
            self.slots = Some(true);
        }
    }

    /// Writes the fields of a document.
    fn fields(&mut self, node: &Node, doc: Doc<'_>, way: Way) -> Result<()> {
        let mut seen = Seen::new(node, self.rest);
        let mut elements = doc.iter();
        let mut run_start = elements.remaining();
        while !seen.all() {
            let before = elements.clone();
            let Some(element) = elements.next() else {
                break;
            };
            let Some(number) = node.find(element.key) else {
                continue;
            };
            if self.rest != Rest::Dropped {
                self.out.append_run(before.run_since(run_start));
            }
            run_start = elements.remaining();
            let child = &node.children[number].1;
            // In an inclusion what is computed comes after all that is kept.
            if self.rest == Rest::Dropped && child.is_computed() {
                continue;
            }
            if self.slots == Some(true) && is_slot(&element) {
                // An inclusion does not see what is gone; elsewhere it comes back to its place.
                if self.rest != Rest::Dropped && seen.mark(number) {
                    self.slot(child, element.key)?;
                }
                continue;
            }
            // Of two fields with one name the first counts; the second goes with the rest.
            if seen.mark(number) {
                let length = self.out.len();
                self.child(child, element, way)?;
                if self.out.len() == length {
                    seen.note_empty(number);
                }
            }
        }
        if self.rest != Rest::Dropped {
            self.out.append_run(run_start);
        }
        if node.has_computed {
            self.additions(node, &seen)?;
        }
        Ok(())
    }

    /// Writes a field that is there and named.
    fn child(&mut self, child: &Child, element: Element<'_>, way: Way) -> Result<()> {
        match child {
            Child::Keep => self.out.append_element(element),
            Child::Drop => self.leave_slot(element.key),
            Child::Node(node) => {
                let length = self.out.len();
                self.value(node, element, way)?;
                // An inclusion of fields below a value that has none, where others are computed: MongoDB hands a plain
                // inclusion to the query, whose documents have no slots.
                if self.out.len() == length && self.computes {
                    self.leave_slot(element.key);
                }
            }
            Child::Slice(slice) => match element.value() {
                Value::Array(array) if !way.through_nested_array => {
                    let open = self.out.open_array(element.key);
                    let mut digits = [0; 20];
                    for (index, (kind, bytes)) in slice.of(array).enumerate() {
                        self.out.append_bytes(index_key(index, &mut digits), kind, bytes);
                    }
                    self.out.close(open);
                }
                _ => self.out.append_element(element),
            },
            Child::Position => match element.value() {
                Value::Array(array) if !way.through_array => {
                    let position = self.position()?;
                    let item = array.iter().nth(position).ok_or_else(mismatch)?;
                    let open = self.out.open_array(element.key);
                    self.out.append_bytes(b"0", item.kind, item.bytes);
                    self.out.close(open);
                }
                _ => self.out.append_element(element),
            },
            Child::Computed(_) | Child::ElemMatch(_) | Child::Meta(_) => self.computed(child, element.key)?,
        }
        Ok(())
    }

    /// Writes what is to stand in a slot.
    fn slot(&mut self, child: &Child, key: &[u8]) -> Result<()> {
        match child {
            Child::Node(node) if node.has_computed => self.made_document(node, key),
            Child::Computed(_) => self.computed(child, key),
            _ => {
                self.leave_slot(key);
                Ok(())
            }
        }
    }

    /// Writes a field with the changes below it.
    fn value(&mut self, node: &Node, element: Element<'_>, way: Way) -> Result<()> {
        match element.value() {
            Value::Document(doc) => {
                let open = self.out.open_document(element.key);
                self.fields(node, doc, way)?;
                self.out.close(open);
                Ok(())
            }
            Value::Array(array) => {
                let open = self.out.open_array(element.key);
                if node.on_position && !way.through_array {
                    self.item_at_position(node, array, way)?;
                } else {
                    self.items(node, array, Way { through_array: true, ..way })?;
                }
                self.out.close(open);
                Ok(())
            }
            _ => self.scalar(node, element),
        }
    }

    /// Writes the elements of an array; those that an inclusion leaves nothing of are left out.
    fn items(&mut self, node: &Node, array: Doc<'_>, way: Way) -> Result<()> {
        let mut digits = [0; 20];
        let mut index = 0;
        for item in array {
            let length = self.out.len();
            self.item(node, item, index_key(index, &mut digits), way)?;
            if self.out.len() > length {
                index += 1;
            }
        }
        Ok(())
    }

    /// Writes the array element that the query matched, of which the projection must leave something.
    fn item_at_position(&mut self, node: &Node, array: Doc<'_>, way: Way) -> Result<()> {
        let way = Way { through_array: true, ..way };
        let item = array.iter().nth(self.position()?).ok_or_else(mismatch)?;
        let length = self.out.len();
        self.item(node, item, b"0", way)?;
        if self.out.len() == length { Err(mismatch()) } else { Ok(()) }
    }

    fn item(&mut self, node: &Node, item: Element<'_>, key: &[u8], way: Way) -> Result<()> {
        let nested = item.kind == Kind::Array;
        let way = Way { through_nested_array: way.through_nested_array || nested, ..way };
        self.value(node, Element { key, ..item }, way)
    }

    /// Writes a value that has no fields, though some were named.
    fn scalar(&mut self, node: &Node, element: Element<'_>) -> Result<()> {
        if node.has_computed {
            return self.made_document(node, element.key);
        }
        if self.rest != Rest::Dropped {
            self.out.append_element(element);
        }
        Ok(())
    }

    /// Writes a document of computed fields only.
    fn made_document(&mut self, node: &Node, key: &[u8]) -> Result<()> {
        let open = self.out.open_document(key);
        self.additions(node, &Seen::none())?;
        self.out.close(open);
        Ok(())
    }

    /// Writes the computed fields that have not found their place yet, in the order written. Among them what an
    /// inclusion names below a field, but does not find, has its place.
    fn additions(&mut self, node: &Node, seen: &Seen) -> Result<()> {
        for (number, (name, child)) in node.children.iter().enumerate() {
            match child {
                Child::Node(inner) if inner.has_computed && !seen.has(number) => {
                    self.made_document(inner, name.as_bytes())?;
                }
                Child::Node(_) if self.rest == Rest::Dropped && !seen.gave(number) => self.leave_slot(name.as_bytes()),
                Child::Computed(_) | Child::ElemMatch(_) | Child::Meta(_)
                    if self.rest == Rest::Dropped || !seen.has(number) =>
                {
                    self.computed(child, name.as_bytes())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn computed(&mut self, child: &Child, key: &[u8]) -> Result<()> {
        match child {
            Child::Computed(expression) => {
                let is_there = expression.append_to(key, &self.input.scope, &mut self.out)?;
                if !is_there {
                    self.leave_slot(key);
                }
            }
            Child::ElemMatch(elem_match) => {
                if let Some(item) = elem_match.find(self.input.scope.root(), key)? {
                    let open = self.out.open_array(key);
                    self.out.append_bytes(b"0", item.kind, item.bytes);
                    self.out.close(open);
                }
            }
            Child::Meta(meta) => meta.append_to(key, &self.input.metadata, &mut self.out),
            _ => {}
        }
        Ok(())
    }

    fn position(&self) -> Result<usize> {
        self.input.position.ok_or_else(no_position)
    }
}

fn no_position() -> Error {
    Error::new(NO_POSITION, "the query matched no array element that the positional projection could mean")
}

fn mismatch() -> Error {
    Error::new(POSITION_MISMATCH, "the array of the positional projection is shorter than the one the query matched in")
}

/// Which children of a node were met.
struct Seen {
    /// The first 64.
    bits: u64,
    /// The others, if there are any.
    more: Vec<bool>,
    /// How many are still to be met.
    left: usize,
    /// Those of the first 64 of which nothing was left.
    empty: u64,
}

impl Seen {
    fn new(node: &Node, rest: Rest) -> Seen {
        let count = node.children.len();
        let more = if count > 64 { vec![false; count - 64] } else { Vec::new() };
        Seen { bits: 0, more, left: if rest == Rest::Dropped { node.sought } else { count }, empty: 0 }
    }

    /// For a field that was not there: nothing was met below it.
    fn none() -> Seen {
        Seen { bits: 0, more: Vec::new(), left: 0, empty: 0 }
    }

    /// Notes a child; whether it is new.
    #[inline]
    fn mark(&mut self, number: usize) -> bool {
        if self.has(number) {
            return false;
        }
        if number < 64 {
            self.bits |= 1 << number;
        } else if let Some(flag) = self.more.get_mut(number - 64) {
            *flag = true;
        }
        self.left -= 1;
        true
    }

    /// Notes that nothing was left of a child.
    #[inline]
    fn note_empty(&mut self, number: usize) {
        if number < 64 {
            self.empty |= 1 << number;
        }
    }

    /// Whether a child was met and something was left of it.
    fn gave(&self, number: usize) -> bool {
        self.has(number) && !(number < 64 && self.empty & (1 << number) != 0)
    }

    #[inline]
    fn has(&self, number: usize) -> bool {
        if number < 64 { self.bits & (1 << number) != 0 } else { self.more.get(number - 64).copied().unwrap_or(false) }
    }

    #[inline]
    fn all(&self) -> bool {
        self.left == 0
    }
}
