//! Several top-level fields of a document, found in one walk.
//!
//! A reader that needs `sensorId` and `value` would walk a document twice, and once more for each field that it
//! does not have. A [`FieldSet`] is compiled once, [`FieldSet::find`] walks once and stops at the last of its fields,
//! and [`FoundFields`] keeps where they lie, so that it can be used again for the next document without allocating.
//!
//! ```
//! use bindery_document::{DocBuf, FieldSet, FoundFields, Value};
//! let mut fields = FieldSet::default();
//! let (a, b) = (fields.add("a"), fields.add("b"));
//! let document = DocBuf::from_bson(&bson::doc! {"x": 0, "b": 7})?;
//! let mut found = FoundFields::default();
//! fields.find(document.doc(), &mut found);
//! assert!(found.get(document.doc(), a).is_none());
//! assert!(matches!(found.get(document.doc(), b), Some(Value::Int32(7))));
//! # Ok::<(), bson::error::Error>(())
//! ```

use crate::path::{Component, elements_of, pass_over};
use crate::{Doc, Kind, Value};

/// The names of fields to find.
#[derive(Clone, Debug, Default)]
pub struct FieldSet {
    names: Vec<Component>,
}

/// Where the fields of a [`FieldSet`] lie in one document.
#[derive(Clone, Debug, Default)]
pub struct FoundFields {
    places: Vec<Place>,
}

/// A value in a document; [`Place::ABSENT`] for none.
#[derive(Clone, Copy, Debug)]
struct Place {
    type_byte: u8,
    start: u32,
    end: u32,
}

impl Place {
    /// No type has the number 0.
    const ABSENT: Place = Place { type_byte: 0, start: 0, end: 0 };
}

impl FieldSet {
    /// Adds a name, if it is not there yet; its number.
    pub fn add(&mut self, name: &str) -> usize {
        if let Some(number) = self.names.iter().position(|known| known.name() == name) {
            return number;
        }
        self.names.push(Component::new(name));
        self.names.len() - 1
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Finds the fields of a document; of several fields of one name the first.
    #[inline]
    pub fn find(&self, doc: Doc<'_>, found: &mut FoundFields) {
        found.places.clear();
        found.places.resize(self.names.len(), Place::ABSENT);
        let Some(elements) = elements_of(doc) else {
            return;
        };
        let (mut rest, mut missing) = (elements, self.names.len());
        while missing > 0 {
            let Some(passed) = pass_over(&mut rest) else {
                return;
            };
            for (name, place) in self.names.iter().zip(&mut found.places) {
                if passed.is_named(name) {
                    if place.type_byte == 0 {
                        // The elements start four bytes into the document.
                        let end = 4 + elements.len() - rest.len();
                        let start = end - passed.bytes.len();
                        *place = Place { type_byte: passed.type_byte, start: start as u32, end: end as u32 };
                        missing -= 1;
                    }
                    break;
                }
            }
        }
    }
}

impl FoundFields {
    /// The value of the field with this number in the document that was walked; `None` if it has no such field.
    #[inline]
    pub fn get<'a>(&self, doc: Doc<'a>, number: usize) -> Option<Value<'a>> {
        let (kind, bytes) = self.get_bytes(doc, number)?;
        Value::decode(kind, bytes)
    }

    /// As [`FoundFields::get`], not decoded: the value's type and bytes.
    #[inline(always)]
    pub fn get_bytes<'a>(&self, doc: Doc<'a>, number: usize) -> Option<(Kind, &'a [u8])> {
        let place = self.places.get(number)?;
        let kind = Kind::from_byte(place.type_byte)?;
        Some((kind, doc.as_bytes().get(place.start as usize..place.end as usize)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, DocBuf};

    fn found(document: &DocBuf, names: &[&str]) -> Vec<Option<String>> {
        let mut fields = FieldSet::default();
        let numbers: Vec<usize> = names.iter().map(|name| fields.add(name)).collect();
        let mut found = FoundFields::default();
        fields.find(document.doc(), &mut found);
        numbers.into_iter().map(|number| found.get(document.doc(), number).map(|v| format!("{v:?}"))).collect()
    }

    #[test]
    fn all_fields_are_found_as_one_by_one() {
        let document = bson::doc! {
            "_id": 1, "sensorId": "s", "a_rather_long_name": 2.5, "a_rather_long_nam": true, "": 5, "nested": {"a": 1},
            "z": bson::Bson::Null, "end": [1],
        };
        let document = DocBuf::from_bson(&document).expect("document");
        let names = ["z", "_id", "a_rather_long_name", "", "nope", "sensorId", "nested", "end", "a_rather_long_n"];
        let expected: Vec<_> = names.iter().map(|n| document.doc().get(n).map(|v| format!("{v:?}"))).collect();
        assert_eq!(found(&document, &names), expected);
        assert_eq!(found(&document, &[]), Vec::<Option<String>>::new());
    }

    #[test]
    fn of_equal_names_the_first_counts() {
        let mut builder = Builder::new();
        for (name, value) in [("a", 1), ("b", 2), ("a", 3)] {
            builder.append(name, value);
        }
        assert_eq!(
            found(&builder.finish(), &["a", "c", "a"]),
            found(
                &{
                    let mut first = Builder::new();
                    first.append("a", 1);
                    first.finish()
                },
                &["a", "c", "a"]
            )
        );
    }
}
