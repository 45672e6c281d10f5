//! `insert`.

use std::borrow::Cow;

use bindery_document::{Builder, Doc, Error, Kind, Result, Value, code, validate};
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
    let name = request.collection_name()?;
    let ordered = is_ordered(&args)?;
    let bypass = args.loose_flag("bypassDocumentValidation")?.unwrap_or(false);
    let documents = args.required_array("documents")?;
    check_batch_size(documents.count())?;
    for element in documents.iter() {
        if element.kind != Kind::Document {
            return Err(args.mismatch("documents", element.kind, "object"));
        }
    }

    let mut errors = WriteErrors::default();
    let mut inserted = 0;
    if let Target::View(_) = request.target(name) {
        // The server reports this per statement, not for the command.
        errors.push(0, not_on_a_view(&request.namespace(name)));
    } else if let Target::Layout(collection) = request.target(name) {
        let mut writer = collection.lock_for_writing();
        for (position, element) in documents.iter().enumerate() {
            cx.step()?;
            let outcome = prepare(request.server, Doc::from_stored(element.bytes))
                .and_then(|document| layout::insert(&mut writer, Doc::from_stored(&document), bypass, cx));
            match outcome {
                Ok(()) => inserted += 1,
                Err(error) => {
                    errors.push(position, request.name_namespace(error, name));
                    if ordered {
                        break;
                    }
                }
            }
        }
    } else {
        let collection = create::open_or_create(request, name)?;
        let mut guard = collection.lock_for_writing();
        for (position, element) in documents.iter().enumerate() {
            cx.step()?;
            let outcome = prepare(request.server, Doc::from_stored(element.bytes))
                .and_then(|document| write::insert(&mut guard, Doc::from_stored(&document), bypass, cx));
            match outcome {
                Ok(_) => inserted += 1,
                Err(error) => {
                    errors.push(position, request.name_namespace(error, name));
                    if ordered {
                        break;
                    }
                }
            }
        }
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
        Value::Document(doc) => match doc.iter().find(|e| e.key.starts_with(b"$")) {
            Some(e) if !matches!(e.key, b"$ref" | b"$id" | b"$db") => Err(Error::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!("_id fields may not contain '$'-prefixed fields: {} is not valid for storage.", e.key_str()),
            )),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
