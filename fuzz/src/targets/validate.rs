//! Bytes as they come: validation decides whether they are a document, and no view of them ever panics.
//!
//! What is valid must also read the same through the `bson` crate's eyes, and come out of the
//! [`Builder`] byte for byte.

use bindery_document::validate::{MAX_DEPTH, depth, validate};
use bindery_document::{Builder, Doc, OwnedValue, Path, Value, order};

/// The input is the bytes.
pub fn run(input: &[u8]) {
    let doc = Doc::from_stored(input);
    if validate(input).is_err() {
        look_at(doc, 0);
        return;
    }
    look_at(doc, 0);
    assert!(depth(doc) <= MAX_DEPTH);
    assert!(order::compare(&Value::Document(doc), &Value::Document(doc)).is_eq());
    assert_eq!(rebuilt(doc), input);
    check_against_bson_crate(doc);
}

/// Calls everything that can be asked of a document.
fn look_at(doc: Doc<'_>, level: usize) {
    assert_eq!(doc.iter().count(), doc.count());
    let _ = (doc.is_empty(), doc.item_count(), doc.first());
    let mut elements = doc.iter();
    let start = elements.remaining();
    elements.skip_items(0, 3);
    let _ = elements.run_since(start);
    for path in ["a", "a.b", "a.0.b", "0"] {
        let path = Path::parse(path);
        path.extract(doc, &mut |element| {
            let _ = element.value();
        });
    }
    if level == 0 {
        let _ = format!("{doc:?}");
    }
    for element in doc {
        let value = element.value();
        let _ =
            (element.key_str(), value.kind(), value.as_str(), value.as_f64(), value.as_exact_i64(), value.is_truthy());
        assert!(order::compare(&value, &value).is_eq(), "{value:?}");
        let _ = doc.get(element.key_str());
        let owned = OwnedValue::new(value);
        assert_eq!(owned.kind(), value.kind());
        match value {
            // Bytes that were never validated may nest as deeply as they are long.
            Value::Document(inner) | Value::Array(inner) if level <= MAX_DEPTH => look_at(inner, level + 1),
            _ => {}
        }
    }
}

/// The document put together anew, value by value.
fn rebuilt(doc: Doc<'_>) -> Vec<u8> {
    let mut out = Builder::new();
    for element in doc {
        match element.value() {
            Value::Document(inner) | Value::Array(inner) => {
                out.append_bytes(element.key, element.kind, &rebuilt(inner));
            }
            value => out.append(element.key, value),
        }
    }
    out.finish().into_bytes()
}

fn check_against_bson_crate(doc: Doc<'_>) {
    let Ok(theirs) = bson::RawDocument::from_bytes(doc.as_bytes()) else {
        panic!("valid here, and no document for the bson crate: {doc:?}");
    };
    let mut names = theirs.iter().map(|element| element.map(|(name, value)| (name.to_owned(), value.element_type())));
    for element in doc {
        match names.next() {
            Some(Ok((name, kind))) => {
                assert_eq!(name.as_str(), element.key_str());
                assert_eq!(kind as u8, element.kind as u8);
            }
            other => panic!("{element:?} is {other:?} for the bson crate"),
        }
    }
    assert!(names.next().is_none());
}
