//! `count`.

use bindery_document::{Builder, Error, Result, Value, code};

use super::args::{Args, to_integer};
use super::{Request, Target, find};
use crate::collection::append_number;
use crate::execute::{Question, count};
use crate::layout;
use crate::trace::Cx;

pub(super) const FIELDS: [&str; 6] = ["query", "limit", "skip", "hint", "collation", "fields"];

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("count", request.command, &FIELDS)?;
    let name = collection_name(request)?;
    let mut question = Question::new(args.document("query")?.unwrap_or(bindery_document::doc::EMPTY));
    question.limit = limit(&args)?;
    question.skip = args.count("skip")?.unwrap_or(0);
    question.hint = find::hint(&args)?;
    question.collation = args.document("collation")?;
    question.max_time_ms = find::max_time_ms(&args)?;
    find::check_read_concern(&args)?;
    cx.limit_time(question.max_time_ms);
    let n = match request.target(name) {
        Target::Absent => {
            question.compile(&request.server.scope(), None)?;
            0
        }
        Target::View(view) => super::view::count(request, &view, name, &question, cx)?,
        Target::Layout(collection) => layout::count(request.server, &collection, &question, cx)?,
        Target::Collection(collection) => count(request.server, &collection.snapshot(), &question, cx)?,
    };
    let mut reply = Builder::new();
    append_number(&mut reply, "n", n);
    Ok(reply)
}

/// Unlike other commands', the name of `count` and `distinct` is wrong with another code if it is no string.
pub(super) fn collection_name<'a>(request: &Request<'a>) -> Result<&'a str> {
    match request.command.first().map(|e| e.value()) {
        Some(Value::String(_) | Value::Symbol(_)) => request.readable_name(),
        _ => Err(Error::new(code::INVALID_NAMESPACE, "collection name has invalid type")),
    }
}

/// The limit; a negative one counts like its magnitude, and 0 is none.
pub(super) fn limit(args: &Args<'_>) -> Result<Option<u64>> {
    match args.get("limit") {
        None => Ok(None),
        Some(value) => match value.as_exact_i64() {
            Some(i64::MIN) => Err(Error::new(code::BAD_VALUE, "limit value for count cannot be the least number")),
            Some(n) => Ok(Some(n.unsigned_abs()).filter(|&n| n > 0)),
            None if to_integer(&value).is_some() => {
                Err(Error::new(code::FAILED_TO_PARSE, "limit value for count cannot be a fraction"))
            }
            None => Err(Error::new(code::BAD_VALUE, "limit value for count is not a valid number")),
        },
    }
}
