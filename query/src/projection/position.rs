//! Where the positional `$` finds its array.
//!
//! The array stands at the path, and the projection's walk cuts it down there. But MongoDB looks for it by going
//! down the projected document and passing over every name that leads to no document, so that with `{b: 5, c: [1, 2]}`
//! and `{"b.c.$": 1, c: 1}` it finds `c`, and puts the element at `b.c`. What was found by passing over names is
//! put in here, after the walk.

use bindery_document::{Builder, Doc, Element, Kind, Value};

/// An array that was found by passing over names.
pub(super) struct Found<'a> {
    /// How many names of the path were gone through.
    names: usize,
    array: Doc<'a>,
    /// The array as it was before the projection.
    original: Option<Doc<'a>>,
}

/// The array that the path leads to in a projected document, if names have to be passed over.
pub(super) fn find<'a>(projected: Doc<'a>, original: Doc<'a>, path: &[Box<str>]) -> Option<Found<'a>> {
    let (mut below, mut before) = (projected, Some(original));
    let mut passed_over = false;
    for (number, name) in path.iter().enumerate() {
        let was = before.and_then(|before| before.get(name));
        match below.get(name) {
            Some(Value::Array(array)) => {
                let original = was.and_then(|was| if let Value::Array(was) = was { Some(was) } else { None });
                return passed_over.then_some(Found { names: number + 1, array, original });
            }
            Some(Value::Document(inner)) => {
                below = inner;
                before = was.and_then(|was| was.as_document());
            }
            _ => passed_over = true,
        }
    }
    None
}

impl<'a> Found<'a> {
    /// The element that stood at a position before the projection; none if nothing is left of it.
    pub(super) fn item(&self, position: usize) -> Option<Element<'a>> {
        let mut at = position;
        // Of an array that was projected itself, what has no fields is gone.
        if let Some(original) = self.original.filter(|original| original.count() != self.array.count()) {
            let stays = |item: &Element<'_>| matches!(item.kind, Kind::Document | Kind::Array);
            original.iter().nth(position).filter(stays)?;
            at = original.iter().take(position).filter(stays).count();
        }
        self.array.iter().nth(at)
    }

    /// The projected document with the element, in an array of its own, at the path; `original` tells the places of
    /// fields that the projection left out.
    pub(super) fn put(&self, projected: Doc<'_>, original: Doc<'_>, path: &[Box<str>], item: Element<'_>) -> Vec<u8> {
        let mut out = Builder::new();
        put(projected, Some(original), path.get(..self.names).unwrap_or(path), item, &mut out);
        out.finish().into_bytes()
    }
}

fn put(projected: Doc<'_>, original: Option<Doc<'_>>, path: &[Box<str>], item: Element<'_>, out: &mut Builder) {
    let Some((name, below)) = path.split_first() else {
        return;
    };
    let key = name.as_bytes();
    let inner = document_at(projected, name).unwrap_or(bindery_document::doc::EMPTY);
    let write = |out: &mut Builder| {
        if below.is_empty() {
            let open = out.open_array(key);
            out.append_bytes(b"0", item.kind, item.bytes);
            out.close(open);
        } else {
            let open = out.open_document(key);
            put(inner, original.and_then(|original| document_at(original, name)), below, item, out);
            out.close(open);
        }
    };
    // A field that was left out comes back before those that stood behind it.
    let behind: Vec<&[u8]> = original.map_or(Vec::new(), |original| {
        original.iter().map(|field| field.key).skip_while(|other| *other != key).skip(1).collect()
    });
    let is_there = projected.element(key).is_some();
    let mut written = false;
    for field in projected {
        let here = if is_there { field.key == key } else { behind.contains(&field.key) };
        if here && !written {
            write(out);
            written = true;
        }
        if field.key != key {
            out.append_element(field);
        }
    }
    if !written {
        write(out);
    }
}

fn document_at<'a>(doc: Doc<'a>, name: &str) -> Option<Doc<'a>> {
    doc.get(name)?.as_document()
}

/// The path of the positional `$` in a projection's tree.
pub(super) fn path(node: &super::Node) -> Vec<Box<str>> {
    for (name, child) in &node.children {
        match child {
            super::Child::Position => return vec![name.clone()],
            super::Child::Node(inner) if inner.on_position => {
                return std::iter::once(name.clone()).chain(path(inner)).collect();
            }
            _ => {}
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use bindery_document::DocBuf;
    use bson::{Document, doc};

    use super::*;

    fn put(projected: Document, original: Document, path: &str) -> Option<Document> {
        let (projected, original) = (buffer(&projected), buffer(&original));
        let path: Vec<Box<str>> = path.split('.').map(Into::into).collect();
        let found = find(projected.doc(), original.doc(), &path)?;
        let item = found.item(1).expect("an element");
        let bytes = found.put(projected.doc(), original.doc(), &path, item);
        Some(bson::deserialize_from_slice(&bytes).expect("bson"))
    }

    fn buffer(document: &Document) -> DocBuf {
        DocBuf::from_bson(document).expect("document")
    }

    #[test]
    fn names_that_lead_to_no_document_are_passed_over() {
        let array = || doc! { "_id": 1, "c": [1, 2] };
        assert_eq!(
            put(array(), doc! { "_id": 1, "b": 5, "c": [1, 2] }, "b.c"),
            Some(doc! { "_id": 1, "b": { "c": [2] }, "c": [1, 2] })
        );
        assert_eq!(put(array(), array(), "b.c"), Some(doc! { "_id": 1, "c": [1, 2], "b": { "c": [2] } }));
        assert_eq!(put(array(), array(), "c"), None);
        let both = doc! { "b": { "d": [3, 4] }, "c": { "d": [1, 2] } };
        assert_eq!(
            put(both.clone(), both, "b.c.d"),
            Some(doc! { "b": { "d": [3, 4], "c": { "d": [4] } }, "c": { "d": [1, 2] } })
        );
    }
}
