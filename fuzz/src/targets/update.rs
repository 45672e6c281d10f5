//! Updates: any update parses or is refused, and what it makes of a document is a document.
//!
//! The `_id` stays, the range to patch is all that differs, and what an update says it left alone is as it was.

use bindery_document::validate::validate;
use bindery_document::{Doc, DocBuf, Value};
use bindery_query::filter::{Filter, ParseContext};
use bindery_query::update::{Applied, Now, Options, Update};

use crate::loose::Reader;

const NOW: Now = Now { date_ms: 1_700_000_000_000, timestamp: 1_700_000_000 << 32 | 1 };

/// Choices in the input's first byte.
const PIPELINE: u8 = 1;
const ARRAY_FILTERS: u8 = 2;
const MULTI: u8 = 4;

/// The input is a byte of choices, an update (`{u: ...}`), a filter, if chosen two array filters, and documents.
pub fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let choices = reader.byte();
    let update = reader.document();
    let query = reader.document();
    let array_filters: Vec<DocBuf> =
        if choices & ARRAY_FILTERS != 0 { vec![reader.document(), reader.document()] } else { Vec::new() };
    let array_filters: Vec<Doc<'_>> =
        array_filters.iter().map(DocBuf::doc).filter(|filter| !filter.is_empty()).collect();
    let documents = reader.documents(6);
    let options = Options { collation: None, multi: choices & MULTI != 0 };
    let mut context = ParseContext::new();
    let described = update.doc().get("u").unwrap_or(Value::Document(update.doc()));
    let parsed = match described {
        Value::Array(pipeline) if choices & PIPELINE != 0 => {
            Update::parse_pipeline(pipeline, &array_filters, options, &mut context)
        }
        described => Update::parse(described, &array_filters, options),
    };
    let Ok(parsed) = parsed else { return };
    let filter = Filter::parse(query.doc(), &ParseContext::new()).unwrap_or(Filter::AlwaysTrue);
    if let Ok(new) = parsed.upsert(&filter, NOW) {
        assert_eq!(validate(new.as_bytes()), Ok(()), "upsert of {:?}", update.doc());
    }
    let mut out = Vec::new();
    for document in &documents {
        let document = document.doc();
        // Documents are stored with their `_id`, which is never an array and never missing.
        if document.first().is_none_or(|first| first.key != b"_id") {
            continue;
        }
        let matched = filter.matches_at(document).ok().and_then(|(_, position)| position).map(|at| at as usize);
        if let Ok(applied) = parsed.apply(document, matched, NOW, &mut out) {
            check(&parsed, document, Doc::from_stored(&out), &applied);
        }
    }
}

fn check(update: &Update, old: Doc<'_>, new: Doc<'_>, applied: &Applied) {
    if !applied.modified {
        return;
    }
    assert_eq!(validate(new.as_bytes()), Ok(()), "{update:?} of {old:?}");
    let ids = [old, new].map(|doc| doc.get("_id").expect("a stored document has an _id"));
    assert!(bindery_document::order::compare(&ids[0], &ids[1]).is_eq(), "{ids:?}");
    if let Some(patch) = &applied.patch {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        assert_eq!(old.len(), new.len());
        assert_eq!((&old[..patch.start], &old[patch.end..]), (&new[..patch.start], &new[patch.end..]));
    }
    for field in old.iter().chain(new).filter(|field| !field.key.is_empty() && !field.key.contains(&b'.')) {
        if !update.touches(applied.changes, field.key_str()) {
            let [a, b] = [old, new].map(|doc| doc.get(field.key_str()));
            assert!(
                a.zip(b).is_some_and(|(a, b)| a.is_identical(&b)),
                "{:?} of {old:?} became {b:?}, untouched by {update:?}",
                field.key_str()
            );
        }
    }
}
