//! `explain`: what would be done, and what was, in MongoDB's words.
//!
//! Beside the server's fields a reply holds `bindery`: pages touched by kind, bytes read, and warnings about questions
//! that are wrong by design.

use std::sync::Arc;
use std::time::Instant;

use bindery_document::{Builder, Doc, Error, Result, Value, code};
use bindery_index::PageKind;
use bindery_query::filter::Filter;
use bindery_query::plan::{Plan, Planned, Purpose, Query};

use super::args::Args;
use super::find::FindArgs;
use super::{Request, Target};
use crate::collection::{State, append_number};
use crate::execute::{Question, Stage, build, choose, show_plan};
use crate::layout;
use crate::trace::{Cx, Trace};

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Verbosity {
    QueryPlanner,
    ExecutionStats,
    AllPlansExecution,
}

/// What runs on top of the plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    Nothing,
    Count,
    Delete,
    Update,
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("explain", request.command, &["verbosity"])?;
    let verbosity = match args.string("verbosity")? {
        None | Some("allPlansExecution") => Verbosity::AllPlansExecution,
        Some("queryPlanner") => Verbosity::QueryPlanner,
        Some("executionStats") => Verbosity::ExecutionStats,
        Some(_) => {
            return Err(Error::new(
                code::FAILED_TO_PARSE,
                "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}",
            ));
        }
    };
    let Some(Value::Document(command)) = request.command.first().map(|e| e.value()) else {
        return Err(Error::new(code::TYPE_MISMATCH, "explain needs the command to explain"));
    };
    let inner = Request { command, ..*request };
    let Some(name) = command.first().map(|e| e.key_str()) else {
        return Err(Error::new(code::COMMAND_NOT_FOUND, "explain needs the command to explain"));
    };
    let (question, purpose, top) = question(name, command)?;
    let collection = inner.collection_name()?;
    let scope = request.server.scope();
    let mut asked = None;
    let (state, mut query) = match inner.target(collection) {
        Target::Collection(collection) => {
            let state = collection.snapshot();
            let query = question.compile(&scope, Some(&state))?;
            (Some(state), query)
        }
        // What is planned and run is the question to the stored documents.
        Target::Layout(collection) if collection.series.is_some() && matches!(top, Top::Delete | Top::Update) => {
            return Err(layout::series::not_on_a_series(&inner.namespace(inner.collection_name()?)));
        }
        Target::Layout(collection) => {
            let compiled = layout::Asked::compile(request.server, &collection.layout, &question)?;
            let query = compiled.stored.clone();
            asked = Some((collection.layout.name(), compiled));
            (Some(collection.snapshot().stored), query)
        }
        Target::Absent => (None, question.compile(&scope, None)?),
        Target::View(_) => return Err(super::not_on_a_view(&inner.namespace(collection))),
    };
    if asked.is_none() || purpose == Purpose::Count && asked.as_ref().is_some_and(|(_, asked)| asked.exact) {
        query.purpose = purpose;
    }
    let mut reply = Builder::new();
    reply.append("explainVersion", "1");
    explain(&inner, collection, state.as_ref(), &query, top, verbosity, &mut reply, cx)?;
    if let Some((name, asked)) = asked {
        asked.show(name, &mut reply);
    }
    reply.append("command", Value::Document(command));
    Ok(reply)
}

/// The question inside a command.
fn question<'a>(name: &str, command: Doc<'a>) -> Result<(Question<'a>, Purpose, Top)> {
    let statement = |list: &str| -> Result<Doc<'a>> {
        let list = command.get(list).and_then(|v| v.as_array()).and_then(|list| list.first());
        match list.map(|e| e.value()) {
            Some(Value::Document(statement)) => Ok(statement),
            _ => Err(Error::new(code::FAILED_TO_PARSE, format!("explained {name} needs one statement"))),
        }
    };
    let empty = bindery_document::doc::EMPTY;
    match name {
        "find" => Ok((FindArgs::parse(command)?.question, Purpose::Documents, Top::Nothing)),
        "count" => {
            let args = Args { name: "count", doc: command };
            let mut question = Question::new(args.document("query")?.unwrap_or(empty));
            question.limit = args.count("limit")?.filter(|&n| n > 0);
            question.skip = args.count("skip")?.unwrap_or(0);
            question.hint = super::find::hint(&args)?;
            question.collation = args.document("collation")?;
            Ok((question, Purpose::Count, Top::Count))
        }
        "distinct" => {
            let args = Args { name: "distinct", doc: command };
            let mut question = Question::new(args.document("query")?.unwrap_or(empty));
            question.collation = args.document("collation")?;
            args.required("key")?;
            Ok((question, Purpose::Distinct(args.string("key")?.unwrap_or_default().to_owned()), Top::Nothing))
        }
        "delete" | "update" => {
            let doc = statement(if name == "delete" { "deletes" } else { "updates" })?;
            let args = Args { name: "statement", doc };
            let mut question = Question::new(args.required_document("q")?);
            question.hint = super::find::hint(&args)?;
            question.collation = args.document("collation")?;
            let one = match name {
                "delete" => args.integer("limit")?.unwrap_or(0) == 1,
                _ => !args.flag("multi")?,
            };
            // A write stops at its first document by itself; there is no stage for it.
            question.limit = one.then_some(1);
            Ok((question, Purpose::Documents, if name == "delete" { Top::Delete } else { Top::Update }))
        }
        "findAndModify" | "findandmodify" => {
            let args = Args { name: "findAndModify", doc: command };
            let mut question = Question::new(args.document("query")?.unwrap_or(empty));
            question.sort = args.document("sort")?.filter(|sort| !sort.is_empty());
            question.hint = super::find::hint(&args)?;
            question.collation = args.document("collation")?;
            question.limit = Some(1);
            let remove = args.loose_flag("remove")?.unwrap_or(false);
            Ok((question, Purpose::Documents, if remove { Top::Delete } else { Top::Update }))
        }
        other => Err(Error::new(code::COMMAND_NOT_FOUND, format!("explain does not know the command '{other}'"))),
    }
}

#[expect(clippy::too_many_arguments, reason = "what is explained, of what, and where it goes")]
fn explain(
    request: &Request<'_>,
    collection: &str,
    state: Option<&Arc<State>>,
    query: &Query,
    top: Top,
    verbosity: Verbosity,
    reply: &mut Builder,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let fast_count = top == Top::Count && *query.filter == Filter::AlwaysTrue && query.hint.is_none();
    let planned = match state {
        Some(state) => choose(state, query, request.server.planner)?,
        None => Planned { winner: Plan::Eof, rejected: Vec::new() },
    };
    let empty = empty_state(request)?;
    let state = state.unwrap_or(&empty);
    let wrap = Wrap { top, fast_count, is_subplan: matches!(&*query.filter, Filter::Or(_)) && query.hint.is_none() };

    let planner = reply.open_document("queryPlanner");
    reply.append("namespace", request.namespace(collection).as_str());
    reply.append("indexFilterSet", false);
    reply.append("parsedQuery", Value::Document(query.filter.to_document().doc()));
    let winning = reply.open_document("winningPlan");
    wrap.show(state, &planned.winner, None, reply);
    reply.close(winning);
    let rejected = reply.open_array("rejectedPlans");
    for (i, candidate) in planned.rejected.iter().enumerate() {
        let mut digits = [0; 20];
        let open = reply.open_document(bindery_document::build::index_key(i, &mut digits));
        show_plan(state, &candidate.plan, None, reply);
        reply.append("cost", candidate.cost);
        reply.close(open);
    }
    reply.close(rejected);
    reply.close(planner);

    if verbosity >= Verbosity::ExecutionStats {
        let started = Instant::now();
        let mut trace = Trace::new();
        let mut stage = build(state, planned.winner.clone());
        let mut inner = Cx::new(&mut trace);
        inner.deadline = cx.deadline;
        let mut returned = 0;
        while !fast_count && stage.advance(state, &mut inner)? {
            returned += 1;
            if query.limit.is_some_and(|limit| returned >= limit) && top == Top::Update {
                break;
            }
        }
        let stats = reply.open_document("executionStats");
        reply.append("executionSuccess", true);
        append_number(reply, "nReturned", if top == Top::Nothing { returned } else { 0 });
        reply.append("executionTimeMillis", started.elapsed().as_millis() as i32);
        append_number(reply, "totalKeysExamined", stage.total(|s| s.keys_examined));
        append_number(reply, "totalDocsExamined", stage.total(|s| s.docs_examined));
        let stages = reply.open_document("executionStages");
        wrap.show(state, &planned.winner, Some(&stage), reply);
        reply.close(stages);
        if verbosity == Verbosity::AllPlansExecution {
            let list = reply.open_array("allPlansExecution");
            reply.close(list);
        }
        reply.close(stats);
        drop(stage);
        show_bindery(&trace, &warnings(query, &planned.winner), reply);
    }
    Ok(())
}

/// A state without documents, for collections that do not exist.
fn empty_state(request: &Request<'_>) -> Result<Arc<State>> {
    Ok(super::create::new_collection(request.server, crate::collection::CollectionOptions::default())?.snapshot())
}

/// What stands above the plan in the server's words.
struct Wrap {
    top: Top,
    fast_count: bool,
    is_subplan: bool,
}

impl Wrap {
    fn show(&self, state: &State, plan: &Plan, ran: Option<&Stage>, out: &mut Builder) {
        if self.fast_count {
            out.append("stage", "RECORD_STORE_FAST_COUNT");
            if ran.is_some() {
                out.append("nReturned", 0);
                append_number(out, "nCounted", state.records.len());
            }
            return;
        }
        let mut open = Vec::new();
        for name in self.names() {
            out.append("stage", name);
            if let Some(ran) = ran {
                append_number(out, "nReturned", if self.top == Top::Nothing { ran.stats.advanced } else { 0 });
            }
            open.push(out.open_document("inputStage"));
        }
        // The server's writes stop by themselves: there is no LIMIT below an update of one.
        match (plan, self.top) {
            (Plan::Limit { input, .. }, Top::Update | Top::Delete) => {
                show_plan(state, input, ran.and_then(|r| r.inputs().first().copied()), out);
            }
            _ => show_plan(state, plan, ran, out),
        }
        while let Some(inner) = open.pop() {
            out.close(inner);
        }
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        match self.top {
            Top::Nothing => {}
            Top::Count => names.push("COUNT"),
            Top::Delete => names.push("DELETE"),
            Top::Update => names.push("UPDATE"),
        }
        if self.is_subplan {
            names.push("SUBPLAN");
        }
        names
    }
}

/// What only this engine knows: pages and bytes, and what is wrong with the question.
fn show_bindery(trace: &Trace, warnings: &[String], out: &mut Builder) {
    let open = out.open_document("bindery");
    let pages = out.open_document("pagesTouched");
    for (name, kind) in [
        ("recordLeaf", PageKind::RecordLeaf),
        ("indexLeaf", PageKind::IndexLeaf),
        ("inner", PageKind::Inner),
        ("overflow", PageKind::Overflow),
    ] {
        let distinct: std::collections::BTreeSet<_> =
            trace.accesses.iter().filter(|a| a.kind == kind).map(|a| a.page).collect();
        append_number(out, name, distinct.len() as u64);
    }
    out.close(pages);
    let distinct: std::collections::BTreeMap<_, _> = trace.accesses.iter().map(|a| (a.page, a.bytes)).collect();
    append_number(out, "bytesRead", distinct.values().map(|bytes| u64::from(*bytes)).sum());
    let list = out.open_array("warnings");
    for (i, warning) in warnings.iter().enumerate() {
        out.append_index(i, warning.as_str());
    }
    out.close(list);
    out.close(open);
}

/// Questions that seldom mean what they say.
fn warnings(query: &Query, winner: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    let conjuncts: &[Filter] = match &*query.filter {
        Filter::And(children) => children,
        one => std::slice::from_ref(one),
    };
    let mut tops: Vec<(&str, &str)> = Vec::new();
    for path in conjuncts.iter().filter_map(Filter::path).filter(|path| !path.is_top_level()) {
        if let Some((_, other)) = tops.iter().find(|(top, other)| *top == path.first() && *other != path.as_str()) {
            found.push(format!(
                "'{other}' and '{}' may be matched by different elements of an array '{}'; $elemMatch asks for one",
                path.as_str(),
                path.first()
            ));
        }
        tops.push((path.first(), path.as_str()));
    }
    if let (Some(sort), Plan::Sort { .. }) = (&query.sort, winner) {
        let fields: Vec<&str> = sort.fields().iter().map(|field| &*field.path).collect();
        found.push(format!(
            "no index gives the order by {}: all matches are read before the first is given",
            fields.join(", ")
        ));
    }
    found
}
