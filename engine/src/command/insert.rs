//! `insert`.

use std::borrow::Cow;

use bindery_document::{Builder, Doc, Error, Kind, Result, Value, code, validate};
use bindery_patterns::Layout;
use bindery_query::update;

use super::args::Args;
use super::statements::{WriteErrors, check_batch_size, check_statement_ids, is_ordered};
use super::{Request, Target, create, not_on_a_view};
use crate::database::Inner;
use crate::layout;
use crate::trace::Cx;
use crate::write;

/// A level of nesting takes seven bytes at least, so that smaller documents cannot be nested too deeply.
const MIN_DEEP_BYTES: usize = 7 * validate::MAX_STORED_DEPTH;

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let fields = ["documents", "ordered", "bypassDocumentValidation", "stmtId", "stmtIds"];
    let args = Args::of_command("insert", request.command, &fields)?;
    request.writable_name()?;
    let ordered = is_ordered(&args)?;
    let bypass = args.loose_flag("bypassDocumentValidation")?.unwrap_or(false);
    let documents = args.required_documents("documents")?;
    check_batch_size(documents.len())?;
    check_statement_ids(&args, documents.len())?;
    Ok(insert_documents(request, documents.into_iter(), How { ordered, bypass }, cx)?.reply())
}

/// How documents are inserted.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// The first that is refused ends it.
    pub(super) ordered: bool,
    /// The validator is not asked.
    pub(super) bypass: bool,
}

/// What came of inserting documents.
#[must_use = "documents may have been refused"]
pub(crate) struct Inserted {
    n: i32,
    errors: WriteErrors,
}

impl Inserted {
    /// The command's reply.
    pub(crate) fn reply(&self) -> Builder {
        let mut reply = Builder::new();
        reply.append("n", self.n);
        self.errors.show(&mut reply);
        reply
    }

    /// Notes what came of one document; whether others may follow.
    fn note(&mut self, position: usize, outcome: Result<()>, how: How) -> bool {
        match outcome {
            Ok(()) => self.n += 1,
            Err(error) => {
                self.errors.push(position, error);
                return !how.ordered;
            }
        }
        true
    }
}

/// Inserts documents into the command's collection, which is made for the first that can be stored.
///
/// # Errors
/// For what is no failure of a single document.
pub(super) fn insert_documents<'d>(
    request: &Request<'_>,
    documents: impl ExactSizeIterator<Item = Doc<'d>>,
    how: How,
    cx: &mut Cx<'_>,
) -> Result<Inserted> {
    let name = request.writable_name()?;
    let n_documents = documents.len();
    let target = request.target(name);
    let is_view = matches!(target, Target::View(_));
    let series = match &target {
        Target::Layout(layout) => layout.series.as_ref().zip(match &*layout.layout {
            Layout::Bucket(bucket) => Some(bucket.clone()),
            Layout::Attribute(_) | Layout::Subset(_) => None,
        }),
        _ => None,
    };
    let mut inserted = Inserted { n: 0, errors: WriteErrors::default() };
    let mut prepared = documents.enumerate().map(|(position, document)| {
        let outcome = match &series {
            Some((series, bucket)) => series.prepare(bucket, document).map(|made| Cow::Owned(made.into_bytes())),
            None => prepare(request.server, document),
        };
        // The server reports this per document, not for the command.
        (position, if is_view { outcome.and(Err(not_on_a_view(&request.namespace(name)))) } else { outcome })
    });
    let mut first = None;
    for (position, outcome) in prepared.by_ref() {
        match outcome {
            Ok(document) => {
                first = Some((position, Ok(document)));
                break;
            }
            Err(error) => {
                if !inserted.note(position, Err(error), how) {
                    break;
                }
            }
        }
    }
    if first.is_some() {
        let prepared = first.into_iter().chain(prepared);
        let named = |error| request.name_namespace(error, name);
        if let Target::Layout(collection) = &target {
            let mut writer = collection.lock_for_writing();
            for (position, outcome) in prepared {
                cx.step()?;
                let outcome = outcome
                    .and_then(|document| layout::insert(&mut writer, Doc::from_stored(&document), how.bypass, cx));
                if !inserted.note(position, outcome.map_err(named), how) {
                    break;
                }
            }
        } else {
            let collection = create::open_or_create(request, name)?;
            let mut guard = collection.lock_for_writing();
            let mut inserter = write::Inserter::new(&mut guard);
            for (position, outcome) in prepared {
                cx.step()?;
                let outcome = outcome.and_then(|document| inserter.insert(Doc::from_stored(&document), how.bypass, cx));
                if !inserted.note(position, outcome.map(drop).map_err(named), how) {
                    break;
                }
            }
        }
    }
    if series.is_some() && how.ordered {
        // The server counts what it does not store, too.
        inserted.n = i32::try_from(n_documents).unwrap_or(i32::MAX);
    }
    Ok(inserted)
}

/// Makes a document ready to be stored: `_id` first, made if missing; empty timestamps at the top filled in.
///
/// # Errors
/// 10334 for a document that is too large, 15 for one nested too deeply, 53 and 52 for an `_id` that cannot be, 2 for
/// more than one.
pub(crate) fn prepare<'a>(server: &Inner, document: Doc<'a>) -> Result<Cow<'a, [u8]>> {
    prepare_filling(server, document, true)
}

/// As [`prepare`], for the document that an upsert has made: timestamps in it stay as they are.
pub(crate) fn prepare_upserted<'a>(server: &Inner, document: Doc<'a>) -> Result<Cow<'a, [u8]>> {
    prepare_filling(server, document, false)
}

fn prepare_filling<'a>(server: &Inner, document: Doc<'a>, fills: bool) -> Result<Cow<'a, [u8]>> {
    let first = document.first();
    let is_first = first.is_some_and(|e| e.key == b"_id");
    let id = if is_first { first } else { document.element(b"_id") };
    if let Some(id) = id {
        check_id(&id.value())?;
        if document.iter().filter(|e| e.key == b"_id").nth(1).is_some() {
            return Err(Error::new(code::BAD_VALUE, "can't have multiple _id fields in one document"));
        }
    }
    if document.as_bytes().len() > MIN_DEEP_BYTES {
        update::check_depth(document)?;
    }
    let has_empty_timestamp = fills
        && may_have_timestamp(document)
        && document.iter().any(|e| e.kind == Kind::Timestamp && e.bytes == [0; 8] && e.key != b"_id");
    let stored = if is_first && !has_empty_timestamp {
        Cow::Borrowed(document.as_bytes())
    } else {
        let now = server.now_millis();
        let mut builder = Builder::with_buffer(Vec::with_capacity(document.as_bytes().len() + 17));
        match id {
            Some(id) => builder.append_element(id),
            None => builder.append("_id", Value::ObjectId(server.object_ids.next(now))),
        }
        for element in document.iter().filter(|e| e.key != b"_id") {
            if has_empty_timestamp && element.kind == Kind::Timestamp && element.bytes == [0; 8] {
                builder.append(element.key, Value::Timestamp(((now / 1000) as u64) << 32 | server.next_increment()));
            } else {
                builder.append_element(element);
            }
        }
        Cow::Owned(builder.finish().into_bytes())
    };
    update::check_inserted_size(stored.len())?;
    Ok(stored)
}

/// Whether the type's byte is anywhere in the document: told faster than by a walk, and seldom wrong.
fn may_have_timestamp(document: Doc<'_>) -> bool {
    // Without a way out of the loop it is vectorised.
    document.as_bytes().iter().fold(false, |seen, &byte| seen | (byte == Kind::Timestamp as u8))
}

/// Checks that a value may be an `_id`.
///
/// # Errors
/// 53 for arrays, regular expressions and undefined; 52 for a document with a field that starts with a dollar.
pub(crate) fn check_id(id: &Value<'_>) -> Result<()> {
    match id {
        Value::Array(_) | Value::Regex { .. } | Value::Undefined => {
            Err(Error::new(code::INVALID_ID_FIELD, format!("The '_id' value cannot be of type {}", id.kind().alias())))
        }
        Value::Document(doc) => check_id_names(*doc),
        _ => Ok(()),
    }
}

/// Names that start with a dollar are those of a reference only, which has `$ref` and `$id` in front.
fn check_id_names(doc: Doc<'_>) -> Result<()> {
    let mut names = doc.iter().map(|e| e.key);
    let is_reference = names.next() == Some(b"$ref") && names.next() == Some(b"$id");
    for element in doc.iter() {
        if element.key.starts_with(b"$") && !(is_reference && matches!(element.key, b"$ref" | b"$id" | b"$db")) {
            return Err(Error::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!(
                    "_id fields may not contain '$'-prefixed fields: {} is not valid for storage.",
                    element.key_str()
                ),
            ));
        }
        if let Value::Document(inner) | Value::Array(inner) = element.value() {
            check_id_names(inner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::{Bson, doc};

    #[test]
    fn an_id_holds_no_dollar_names_but_references() {
        let allowed = |id: bson::Document| {
            let doc = DocBuf::from_bson(&doc! {"_id": Bson::Document(id)}).expect("document");
            check_id(&doc.doc().get("_id").expect("id")).is_ok()
        };
        assert!(allowed(doc! {"$ref": "c", "$id": 1}));
        assert!(allowed(doc! {"a": {"$ref": "c", "$id": 1, "$db": "d"}}));
        for refused in [doc! {"$id": 1}, doc! {"a": {"$b": 1}}, doc! {"a": [{"$b": 1}]}, doc! {"$ref": "c"}] {
            assert!(!allowed(refused.clone()), "{refused}");
        }
    }
}
