//! From a stored document to the logical one.

use bindery_document::{Builder, Doc, Element, Kind, Value};

use super::{Attribute, part};
use crate::Wanted;

impl Attribute {
    /// Writes the logical document, or as much of it as is asked for, into `out`.
    pub fn unfold(&self, stored: Doc<'_>, wanted: Wanted<'_>, out: Vec<u8>) -> Vec<u8> {
        let mut logical = Builder::with_buffer(out);
        let is_array = |field: &Element<'_>| field.kind == Kind::Array && field.key == self.path.as_bytes();
        let array = stored.iter().find(is_array).map(|array| Doc::from_stored(array.bytes));
        let mut attributes = array.into_iter().flatten().map(Attributed::read).peekable();
        let kept = stored.iter().filter(|field| !is_array(field));
        for (before, field) in (0..).zip(kept) {
            while let Some(attribute) = attributes.next_if(|attribute| attribute.after.is_some_and(|n| n <= before)) {
                attribute.write(wanted, &mut logical);
            }
            if wanted.has(field.key) {
                logical.append_element(field);
            }
        }
        attributes.for_each(|attribute| attribute.write(wanted, &mut logical));
        logical.finish().into_bytes()
    }
}

/// One element of the array.
struct Attributed<'a> {
    name: &'a [u8],
    value: Option<Element<'a>>,
    after: Option<i32>,
}

impl<'a> Attributed<'a> {
    fn read(entry: Element<'a>) -> Attributed<'a> {
        const NAME: &[u8] = part::NAME.as_bytes();
        const AGAIN: &[u8] = part::AGAIN.as_bytes();
        const VALUE: &[u8] = part::VALUE.as_bytes();
        const AFTER: &[u8] = part::AFTER.as_bytes();
        let mut attribute = Attributed { name: b"", value: None, after: None };
        for part in Doc::from_stored(entry.bytes) {
            match part.key {
                NAME | AGAIN => {
                    if let Value::String(name) = part.value() {
                        attribute.name = name.as_bytes();
                    }
                }
                VALUE => attribute.value = Some(part),
                AFTER => {
                    if let Value::Int32(n) = part.value() {
                        attribute.after = Some(n);
                    }
                }
                _ => {}
            }
        }
        attribute
    }

    fn write(&self, wanted: Wanted<'_>, logical: &mut Builder) {
        if let Some(value) = self.value.filter(|_| wanted.has(self.name)) {
            logical.append_bytes(self.name, value.kind, value.bytes);
        }
    }
}
