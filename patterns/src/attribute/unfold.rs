//! From a stored document to the logical one.

use bindery_document::{Builder, Doc, Element, Kind, Value};

use super::{Attribute, part};

impl Attribute {
    /// Writes the logical document into `out`.
    pub fn unfold(&self, stored: Doc<'_>, out: Vec<u8>) -> Vec<u8> {
        let mut logical = Builder::with_buffer(out);
        let mut attributes: Vec<Attributed<'_>> = Vec::new();
        let is_array = |field: &Element<'_>| field.kind == Kind::Array && field.key == self.path.as_bytes();
        if let Some(array) = stored.iter().find(is_array) {
            attributes.extend(Doc::from_stored(array.bytes).iter().map(Attributed::read));
        }
        let mut attributes = attributes.into_iter().peekable();
        let kept = stored.iter().filter(|field| !is_array(field));
        for (before, field) in (0..).zip(kept) {
            while let Some(attribute) = attributes.next_if(|attribute| attribute.after.is_some_and(|n| n <= before)) {
                attribute.write(&mut logical);
            }
            logical.append_element(field);
        }
        attributes.for_each(|attribute| attribute.write(&mut logical));
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
        let mut attribute = Attributed { name: b"", value: None, after: None };
        for part in Doc::from_stored(entry.bytes) {
            match part.key_str() {
                part::NAME | part::AGAIN => {
                    if let Value::String(name) = part.value() {
                        attribute.name = name.as_bytes();
                    }
                }
                part::VALUE => attribute.value = Some(part),
                part::AFTER => {
                    if let Value::Int32(n) = part.value() {
                        attribute.after = Some(n);
                    }
                }
                _ => {}
            }
        }
        attribute
    }

    fn write(&self, logical: &mut Builder) {
        if let Some(value) = self.value {
            logical.append_bytes(self.name, value.kind, value.bytes);
        }
    }
}
