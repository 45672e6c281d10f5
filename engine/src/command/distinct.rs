//! `distinct`.

use bindery_document::{Builder, Error, Result};

use super::args::Args;
use super::{Request, Target, count, find};
use crate::execute::{Question, distinct};
use crate::layout;
use crate::trace::Cx;

pub(super) const FIELDS: [&str; 3] = ["key", "query", "collation"];

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("distinct", request.command, &FIELDS)?;
    let name = count::collection_name(request)?;
    args.required("key")?;
    let key = args.string("key")?.unwrap_or_default();
    let mut question = Question::new(args.document("query")?.unwrap_or(bindery_document::doc::EMPTY));
    question.collation = args.document("collation")?;
    question.max_time_ms = find::max_time_ms(&args)?;
    find::check_read_concern(&args)?;
    cx.limit_time(question.max_time_ms);
    check_path(key)?;
    let values = match request.target(name) {
        Target::Absent => {
            question.compile(&request.server.scope(), None)?;
            Vec::new()
        }
        Target::View(view) => super::view::distinct(request, &view, name, key, &question, cx)?,
        Target::Layout(collection) => layout::distinct(request.server, &collection, key, &question, cx)?,
        Target::Collection(collection) => distinct(request.server, &collection.snapshot(), key, &question, cx)?,
    };
    let mut reply = Builder::new();
    let list = reply.open_array("values");
    for (i, value) in values.iter().enumerate() {
        reply.append_index(i, value.value());
    }
    reply.close(list);
    Ok(reply)
}

/// # Errors
/// 40352 and 40353 for empty parts of the path, 16410 for parts that start with a dollar.
pub(super) fn check_path(path: &str) -> Result<()> {
    if path.contains('\0') {
        return Err(Error::new(31_032, "the 'key' of distinct must not contain a null byte"));
    }
    if path.is_empty() {
        return Err(Error::new(40_352, "FieldPath cannot be constructed with empty string"));
    }
    if path.ends_with('.') {
        return Err(Error::new(40_353, "FieldPath must not end with a '.'."));
    }
    bindery_query::expression::check_length(path.split('.').count())?;
    for part in path.split('.') {
        // The names of references are names of fields like others.
        if part.starts_with('$') && !matches!(part, "$ref" | "$id" | "$db") {
            return Err(Error::new(16_410, "FieldPath field names may not start with '$'."));
        }
        if part.is_empty() {
            return Err(Error::new(15_998, "FieldPath field names may not be empty strings."));
        }
    }
    Ok(())
}
