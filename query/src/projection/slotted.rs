//! Documents on their way through several projections, which remember where removed fields stood.
//!
//! A field that one stage removes and a later one sets again comes back to its old place, and a computed
//! field that came out missing keeps the place it would have had. So between stages a removed field stays as
//! a *slot*: an element with the field's name that no stored document can hold (a boolean that is neither
//! true nor false, which [validation](bindery_document::validate) refuses). Expressions see the document
//! without slots, and so does whoever takes the result.
//!
//! Slots follow fields through projections, not through the values that expressions copy.

use bindery_document::{Builder, Doc, DocBuf, Element, Kind, Result, Value};

use super::{Input, Projection};

/// The value of a slot: a boolean of this byte.
const SLOT: [u8; 1] = [2];

/// Whether an element is a slot.
#[inline]
pub(crate) fn is_slot(element: &Element<'_>) -> bool {
    element.kind == Kind::Boolean && element.bytes == SLOT
}

/// Appends a slot.
pub(crate) fn append_slot(key: &[u8], out: &mut Builder) {
    out.append_bytes(key, Kind::Boolean, &SLOT);
}

/// A document between stages.
#[derive(Clone, Debug, Default)]
pub struct Slotted {
    /// With slots, if there are any.
    bytes: Vec<u8>,
    /// Without them; empty if there are none.
    clean: Vec<u8>,
    has_slots: bool,
    /// Memory for the next stage's result.
    spare: Vec<u8>,
}

impl Slotted {
    /// A document without slots.
    pub fn new(doc: Doc<'_>) -> Slotted {
        let mut slotted = Slotted::default();
        slotted.replace(doc);
        slotted
    }

    /// The document, without slots.
    pub fn doc(&self) -> Doc<'_> {
        Doc::from_stored(if self.has_slots { &self.clean } else { &self.bytes })
    }

    /// The document with its slots; `None` if there are none.
    pub fn slotted(&self) -> Option<Doc<'_>> {
        self.has_slots.then(|| Doc::from_stored(&self.bytes))
    }

    /// Puts what a function writes of a document in its place; `has_slots` says whether slots may be among it.
    pub(crate) fn rewrite(&mut self, doc: Doc<'_>, has_slots: bool, write: impl FnOnce(Doc<'_>, &mut Builder)) {
        let mut out = Builder::with_buffer(std::mem::take(&mut self.spare));
        write(doc, &mut out);
        self.spare = std::mem::replace(&mut self.bytes, out.finish().into_bytes());
        self.has_slots = has_slots;
        self.clean();
    }

    /// As [`Slotted::rewrite`], of the document that it holds.
    pub(crate) fn change(&mut self, write: impl FnOnce(Doc<'_>, &mut Builder)) {
        let bytes = std::mem::take(&mut self.bytes);
        self.rewrite(Doc::from_stored(&bytes), self.has_slots, write);
        self.spare = bytes;
    }

    fn clean(&mut self) {
        if self.has_slots {
            let mut clean = Builder::with_buffer(std::mem::take(&mut self.clean));
            append_without_slots(Doc::from_stored(&self.bytes), &mut clean);
            self.clean = clean.finish().into_bytes();
        }
    }

    /// Puts another document in its place, given with its slots if it has any.
    pub fn replace_slotted(&mut self, doc: Doc<'_>, slotted: Option<Doc<'_>>) {
        self.replace(slotted.unwrap_or(doc));
        self.has_slots = slotted.is_some();
        self.clean();
    }

    /// Puts another document in its place.
    pub fn replace(&mut self, doc: Doc<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(doc.as_bytes());
        self.has_slots = false;
    }

    /// Replaces the document by its projection. The input's scope gets the document as its root.
    ///
    /// # Errors
    /// As [`Projection::apply`]; the document is then as before.
    pub fn project(&mut self, projection: &Projection, input: &Input<'_>) -> Result<()> {
        let mut out = std::mem::take(&mut self.spare);
        let left_slots = {
            let input = Input { scope: input.scope.with_root(self.doc()), ..*input };
            super::apply::apply_with_slots(projection, &input, Doc::from_stored(&self.bytes), &mut out)?
        };
        self.spare = std::mem::replace(&mut self.bytes, out);
        self.has_slots = left_slots;
        self.clean();
        Ok(())
    }
}

/// The document without its slots.
pub(crate) fn without_slots(doc: Doc<'_>) -> DocBuf {
    let mut clean = Builder::new();
    append_without_slots(doc, &mut clean);
    clean.finish()
}

fn append_without_slots(doc: Doc<'_>, out: &mut Builder) {
    for element in doc {
        if is_slot(&element) {
            continue;
        }
        match element.value() {
            Value::Document(inner) | Value::Array(inner) if has_slots(inner) => {
                let open = out.open_kind(element.kind, element.key);
                append_without_slots(inner, out);
                out.close(open);
            }
            _ => out.append_element(element),
        }
    }
}

fn has_slots(doc: Doc<'_>) -> bool {
    doc.iter().any(|element| match element.value() {
        Value::Document(inner) | Value::Array(inner) => has_slots(inner),
        _ => is_slot(&element),
    })
}
