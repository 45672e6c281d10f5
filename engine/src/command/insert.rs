//! `insert`.

use std::borrow::Cow;

use bindery_document::{Builder, Doc, Error, Kind, Result, Value, code, validate};
use bindery_patterns::Layout;
use bindery_query::update;

use super::args::Args;
use super::statements::{WriteErrors, check_batch_size, is_ordered};
use super::{Request, Target, create, not_on_a_view};
use crate::database::Inner;
use crate::layout;
use crate::trace::Cx;
use crate::write;

/// A level of nesting takes seven bytes at least, so that smaller documents cannot be nested too deeply.
const MIN_DEEP_BYTES: usize = 7 * validate::MAX_STORED_DEPTH;

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("insert", request.command, &["documents", "ordered", "bypassDocumentValidation"])?;
    let name = request.writable_name()?;
    let ordered = is_ordered(&args)?;
    let bypass = args.loose_flag("bypassDocumentValidation")?.unwrap_or(false);
    let documents = args.required_documents("documents")?;
    check_batch_size(documents.len())?;

    let mut errors = WriteErrors::default();
    let mut inserted = 0;
    let target = request.target(name);
    let is_view = matches!(target, Target::View(_));
    let series = match &target {
        Target::Layout(layout) => layout.series.as_ref().zip(match &*layout.layout {
            Layout::Bucket(bucket) => Some(bucket.clone()),
            Layout::Attribute(_) | Layout::Subset(_) => None,
        }),
        _ => None,
    };
    let is_series = series.is_some();
    let mut prepared = documents.iter().enumerate().map(|(position, &document)| {
        let outcome = match &series {
            Some((series, bucket)) => series.prepare(bucket, document).map(|made| Cow::Owned(made.into_bytes())),
            None => prepare(request.server, document),
        };
        // The server reports this per document, not for the command.
        (position, if is_view { outcome.and(Err(not_on_a_view(&request.namespace(name)))) } else { outcome })
    });
    // The collection is made for the first document that can be stored.
    let mut first = None;
    for (position, outcome) in prepared.by_ref() {
        match outcome {
            Ok(document) => {
                first = Some((position, Ok(document)));
                break;
            }
            Err(error) => errors.push(position, error),
        }
        if ordered {
            break;
        }
    }
    if first.is_some() {
        let mut insert_each = |insert: &mut dyn FnMut(Doc<'_>, &mut Cx<'_>) -> Result<()>| {
            for (position, outcome) in first.take().into_iter().chain(prepared.by_ref()) {
                cx.step()?;
                match outcome.and_then(|document| insert(Doc::from_stored(&document), cx)) {
                    Ok(()) => inserted += 1,
                    Err(error) => {
                        errors.push(position, request.name_namespace(error, name));
                        if ordered {
                            break;
                        }
                    }
                }
            }
            Ok::<(), Error>(())
        };
        if let Target::Layout(collection) = &target {
            let mut writer = collection.lock_for_writing();
            insert_each(&mut |document, cx| layout::insert(&mut writer, document, bypass, cx))?;
        } else {
            let collection = create::open_or_create(request, name)?;
            let mut guard = collection.lock_for_writing();
            insert_each(&mut |document, cx| write::insert(&mut guard, document, bypass, cx).map(drop))?;
        }
    }
    if is_series && ordered {
        // The server counts what it does not store, too.
        inserted = i32::try_from(documents.len()).unwrap_or(i32::MAX);
    }
    let mut reply = Builder::new();
    reply.append("n", inserted);
    errors.show(&mut reply);
    Ok(reply)
}

/// Makes a document ready to be stored: `_id` first, made if missing; empty timestamps at the top filled in.
///
/// # Errors
/// 10334 for a document that is too large, 15 for one nested too deeply, 53 and 52 for an `_id` that cannot be.
pub(crate) fn prepare<'a>(server: &Inner, document: Doc<'a>) -> Result<Cow<'a, [u8]>> {
    let id = document.element(b"_id");
    if let Some(id) = id {
        check_id(&id.value())?;
    }
    if document.as_bytes().len() > MIN_DEEP_BYTES {
        update::check_depth(document)?;
    }
    let is_first = id.is_some() && document.first().is_some_and(|e| e.key == b"_id");
    let has_empty_timestamp =
        document.iter().any(|e| e.kind == Kind::Timestamp && e.bytes == [0; 8] && e.key != b"_id");
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
            if element.kind == Kind::Timestamp && element.bytes == [0; 8] {
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
