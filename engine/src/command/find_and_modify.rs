//! `findAndModify`: one document found, changed, and given back.

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Result, Value, code};
use bindery_query::plan::Shape;
use bindery_query::update;

use super::args::Args;
use super::statements::check_statement_ids;
use super::update::{Compiled, Statement, array_filters};
use super::{Request, Target, create, find, not_on_a_view};
use crate::collection::{State, WriteGuard};
use crate::execute::{Question, matching_records, project};
use crate::layout;
use crate::trace::Cx;
use crate::write;

pub(super) const FIELDS: [&str; 13] = [
    "query",
    "sort",
    "remove",
    "update",
    "new",
    "fields",
    "upsert",
    "bypassDocumentValidation",
    "collation",
    "arrayFilters",
    "hint",
    "let",
    "stmtId",
];

pub(crate) struct Arguments<'a> {
    pub(crate) statement: Statement<'a>,
    pub(crate) remove: bool,
    pub(crate) new: bool,
    pub(super) fields: Option<Doc<'a>>,
    pub(crate) bypass: bool,
}

/// What was done, as `lastErrorObject` shows it.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) n: i32,
    pub(crate) updated_existing: Option<bool>,
    pub(crate) upserted: Option<OwnedValue>,
    pub(crate) value: Option<DocBuf>,
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("findAndModify", request.command, &FIELDS)?;
    let name = request.writable_name()?;
    check_statement_ids(&args, 1)?;
    let arguments = parse(&args)?;
    let max_time_ms = find::max_time_ms(&args)?;
    cx.limit_time(max_time_ms);
    let outcome = modify(request, name, &arguments, cx).map_err(|error| request.name_namespace(error, name))?;

    let mut reply = Builder::new();
    let last = reply.open_document("lastErrorObject");
    reply.append("n", outcome.n);
    if let Some(updated) = outcome.updated_existing {
        reply.append("updatedExisting", updated);
    }
    if let Some(id) = &outcome.upserted {
        reply.append("upserted", id.value());
    }
    reply.close(last);
    reply.append("value", outcome.value.as_ref().map_or(Value::Null, |value| Value::Document(value.doc())));
    Ok(reply)
}

/// The command's arguments.
///
/// # Errors
/// 9 for arguments that contradict each other.
pub(super) fn parse<'a>(args: &Args<'a>) -> Result<Arguments<'a>> {
    let mut question = Question::new(args.document("query")?.unwrap_or(bindery_document::doc::EMPTY));
    question.sort = args.document("sort")?.filter(|sort| !sort.is_empty());
    question.collation = args.document("collation")?;
    question.hint = find::hint(args)?;
    question.variables = args.document("let")?;
    question.limit = Some(1);
    let remove = args.loose_flag("remove")?.unwrap_or(false);
    let new = args.loose_flag("new")?.unwrap_or(false);
    let upsert = args.loose_flag("upsert")?.unwrap_or(false);
    let fields = args.document("fields")?.filter(|fields| !fields.is_empty());
    let has_array_filters = args.documents("arrayFilters")?.is_some();
    let array_filters = array_filters(args)?;
    let update = args.get("update");
    let refused = |why: &str| Err(Error::new(code::FAILED_TO_PARSE, why));
    match (remove, update) {
        (true, Some(_)) => return refused("Cannot specify both an update and remove=true"),
        (false, None) => return refused("Either an update or remove=true must be specified"),
        _ => {}
    }
    if remove && upsert {
        return refused("Cannot specify both upsert=true and remove=true");
    }
    if remove && new {
        return refused("Cannot specify both new=true and remove=true; 'remove' always returns the deleted document");
    }
    if remove && !array_filters.is_empty() {
        return refused("Cannot specify arrayFilters and remove=true");
    }
    if has_array_filters && matches!(update, Some(Value::Array(_))) {
        return refused("Cannot specify arrayFilters and a pipeline update");
    }
    let update = update.unwrap_or(Value::Null);
    if !remove && !matches!(update, Value::Document(_) | Value::Array(_)) {
        return refused("Update argument must be either an object or an array");
    }
    let statement = Statement { question, update, array_filters, multi: false, upsert };
    let bypass = args.loose_flag("bypassDocumentValidation")?.unwrap_or(false);
    Ok(Arguments { statement, remove, new, fields, bypass })
}

fn modify(request: &Request<'_>, name: &str, arguments: &Arguments<'_>, cx: &mut Cx<'_>) -> Result<Outcome> {
    let statement = &arguments.statement;
    let none = || Outcome { updated_existing: (!arguments.remove).then_some(false), ..Outcome::default() };
    let collection = match request.target(name) {
        Target::View(_) => {
            compile(request, arguments, None)?;
            return Err(not_on_a_view(&request.namespace(name)));
        }
        Target::Layout(collection) if collection.series.is_some() => {
            statement.question.compile(&request.server.scope(), None)?;
            return Err(layout::series::not_on_a_series(&request.namespace(name)));
        }
        Target::Layout(collection) => {
            let wanted = shape(request, arguments, None)?;
            return layout::find_and_modify(request, &collection, arguments, wanted.as_ref(), cx);
        }
        Target::Collection(collection) => collection,
        Target::Absent if statement.upsert => {
            // A statement that cannot be compiled makes no collection.
            compile(request, arguments, None)?;
            create::open_or_create(request, name)?
        }
        Target::Absent => {
            compile(request, arguments, None)?;
            return Ok(none());
        }
    };
    let mut guard = collection.lock_for_writing();
    let state = guard.snapshot();
    let (compiled, wanted) = compile(request, arguments, Some(&state))?;
    drop(state);
    let found = matching_records(request.server, &guard, &statement.question, cx)?.first()?;
    let shape = |document: Doc<'_>| match &wanted {
        Some(wanted) => project(wanted, document),
        None => Ok(DocBuf::from(document)),
    };
    let Some(record_id) = found else {
        let Some(compiled) = compiled.filter(|_| statement.upsert) else { return Ok(none()) };
        let (id, document) = compiled.upsert(request, &mut guard, arguments.bypass, cx)?;
        let value = if arguments.new { Some(shape(document.doc())?) } else { None };
        return Ok(Outcome { n: 1, updated_existing: Some(false), upserted: Some(id), value });
    };
    // A projection that fails does so after the change, which stays.
    let before = if arguments.new { Vec::new() } else { version(&guard, record_id, cx) };
    match compiled {
        None => {
            write::delete(&mut guard, record_id, cx)?;
            Ok(Outcome { n: 1, value: Some(shape(Doc::from_stored(&before))?), ..Outcome::default() })
        }
        Some(compiled) => {
            compiled.apply(&mut guard, record_id, arguments.bypass, &mut Vec::new(), cx)?;
            let shown = if arguments.new { version(&guard, record_id, cx) } else { before };
            let value = Some(shape(Doc::from_stored(&shown))?);
            Ok(Outcome { n: 1, updated_existing: Some(true), upserted: None, value })
        }
    }
}

/// The update, if there is one, and the shape of what is given back.
///
/// # Errors
/// What is wrong with the update, then with the query and the sort, then with `fields`.
fn compile(
    request: &Request<'_>,
    arguments: &Arguments<'_>,
    state: Option<&State>,
) -> Result<(Option<Compiled>, Option<Shape>)> {
    let statement = &arguments.statement;
    if let Value::Array(pipeline) = statement.update {
        statement.question.collation(state)?;
        statement.question.expressions(&request.server.scope())?;
        update::check_stage_names(pipeline)?;
    }
    let compiled = match arguments.remove {
        true => None,
        false => Some(Compiled::new(request, statement, state)?),
    };
    let question = || statement.question.compile(&request.server.scope(), state);
    if state.is_none() {
        // Nothing will be looked for, which would show what is wrong with the question.
        question()?;
    }
    let wanted = shape(request, arguments, state).map_err(|wrong| question().err().unwrap_or(wrong))?;
    Ok((compiled, wanted))
}

/// A copy of the record as it is now.
fn version(guard: &WriteGuard<'_>, record_id: bindery_index::RecordId, cx: &mut Cx<'_>) -> Vec<u8> {
    guard.peek().records.get(record_id, &mut cx.visitor).map_or_else(Vec::new, <[u8]>::to_vec)
}

/// The compiled `fields`.
///
/// # Errors
/// What the language says; 2 for a positional projection of the new version, whose position is not known.
fn shape(request: &Request<'_>, arguments: &Arguments<'_>, state: Option<&State>) -> Result<Option<Shape>> {
    let Some(fields) = arguments.fields else { return Ok(None) };
    let question = &arguments.statement.question;
    let shape = question.shape(fields, &request.server.scope(), question.collation(state)?)?;
    if arguments.new && shape.projection.needs_position() {
        return Err(Error::new(code::BAD_VALUE, "cannot use a positional projection and return the new document"));
    }
    Ok(Some(shape))
}
