//! `explain`: what would be done, and what was, in MongoDB's words.
//!
//! Beside the server's fields a reply holds `bindery`: whose choice of plans it is, pages touched by kind, bytes read,
//! and warnings about questions that are wrong by design.
//!
//! - [`subject`]: what is explained, read from the command;
//! - [`sections`]: `queryPlanner` and `executionStats`;
//! - [`pipeline`]: the stages of an aggregation.

mod pipeline;
mod sections;
mod subject;

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Result, Value, code};
use bindery_index::PageKind;
use bindery_query::filter::Filter;
use bindery_query::plan::{Plan, Purpose, Query};

use super::args::Args;
use super::{Request, Target};
use crate::collection::{State, append_number};
use crate::database::Planner;
use crate::layout;
use crate::trace::{Cx, Trace};
use sections::Explained;
use subject::{Subject, Top};

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Verbosity {
    /// What would be done.
    QueryPlanner,
    /// What was done.
    ExecutionStats,
    /// What the plans that were not taken did in their trial, too.
    AllPlansExecution,
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("explain", request.command, &["verbosity"])?;
    let verbosity = match args.string("verbosity")? {
        None | Some("allPlansExecution") => Verbosity::AllPlansExecution,
        Some("queryPlanner") => Verbosity::QueryPlanner,
        Some("executionStats") => Verbosity::ExecutionStats,
        Some(_) => {
            return Err(Error::new(
                code::BAD_VALUE,
                "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}",
            ));
        }
    };
    let command = args.required_document("explain")?;
    explain(&Request { command, ..*request }, verbosity, cx)
}

/// Explains the request's command. An `aggregate` with `explain: true` comes here too.
///
/// # Errors
/// 59 for what is no command, 20 for one that cannot be explained, and what the command says.
pub(super) fn explain(request: &Request<'_>, verbosity: Verbosity, cx: &mut Cx<'_>) -> Result<Builder> {
    let Some(name) = request.command.first().map(|e| e.key_str()) else {
        return Err(Error::new(code::COMMAND_NOT_FOUND, "explain needs the command to explain"));
    };
    if name == "aggregate" {
        return pipeline::explain(request, verbosity, cx);
    }
    let subject = Subject::of(name, request)?;
    let collection = match name {
        "find" | "count" | "distinct"
            if !request.command.first().is_some_and(|e| matches!(e.value(), Value::String(_) | Value::Symbol(_))) =>
        {
            return Err(Error::new(code::INVALID_NAMESPACE, "collection name has invalid type"));
        }
        "findAndModify" | "findandmodify" => request.writable_name()?,
        _ => request.collection_name()?,
    };
    let scope = request.server.scope();
    let mut asked = None;
    let (state, mut query) = match request.target(collection) {
        Target::Collection(collection) => {
            let state = collection.snapshot();
            let query = subject.question.compile(&scope, Some(&state))?;
            (Some(state), query)
        }
        Target::Layout(series) if series.series.is_some() && matches!(subject.top, Top::Write(_)) => {
            return Err(layout::series::not_on_a_series(&request.namespace(collection)));
        }
        // What is planned and run is the question to the stored documents.
        Target::Layout(collection) => {
            let compiled = layout::Asked::compile(request.server, &collection.layout, &subject.question)?;
            let query = compiled.stored.clone();
            asked = Some((collection.layout.name(), compiled));
            (Some(collection.snapshot().stored), query)
        }
        Target::Absent => (None, subject.question.compile(&scope, None)?),
        Target::View(view) => return pipeline::explain_on_view(request, &view, &subject, verbosity, cx),
    };
    let purpose = match &subject.top {
        Top::Count => Purpose::Count,
        Top::Distinct(path) => Purpose::Distinct((*path).to_owned()),
        Top::Nothing | Top::Write(_) => Purpose::Documents,
    };
    if asked.is_none() || purpose == Purpose::Count && asked.as_ref().is_some_and(|(_, asked)| asked.exact) {
        query.purpose = purpose;
    }
    let mut reply = Builder::new();
    reply.append("explainVersion", "1");
    let empty = empty_state(request)?;
    let explained = Explained {
        request,
        namespace: request.namespace(collection),
        exists: state.is_some(),
        state: state.unwrap_or(empty),
        query,
        subject: &subject,
        is_stored_form: asked.is_some(),
    };
    explained.show(verbosity, &mut reply, cx)?;
    if let Some((name, asked)) = asked {
        asked.show(name, &mut reply);
    }
    show_command(request, !matches!(name, "findAndModify" | "findandmodify"), &mut reply);
    Ok(reply)
}

/// The command itself, with its database, as the server repeats it.
fn show_command(request: &Request<'_>, with_database: bool, out: &mut Builder) {
    let open = out.open_document("command");
    for element in request.command.iter() {
        out.append_element(element);
    }
    if with_database && request.command.get("$db").is_none() {
        out.append("$db", request.database);
    }
    out.close(open);
}

/// A state without documents, for collections that do not exist.
fn empty_state(request: &Request<'_>) -> Result<Arc<State>> {
    Ok(super::create::new_collection(request.server, crate::collection::CollectionOptions::default())?.snapshot())
}

/// What only this engine knows: whose plans these are; pages and bytes; and what is wrong with the question.
fn show_bindery(planner: Planner, trace: Option<&Trace>, warnings: &[String], out: &mut Builder) {
    let open = out.open_document("bindery");
    out.append(
        "planner",
        match planner {
            Planner::Bindery => "bindery",
            Planner::MongoDb => "mongodb",
        },
    );
    if let Some(trace) = trace {
        show_pages(trace, out);
    }
    let list = out.open_array("warnings");
    for (i, warning) in warnings.iter().enumerate() {
        out.append_index(i, warning.as_str());
    }
    out.close(list);
    out.close(open);
}

fn show_pages(trace: &Trace, out: &mut Builder) {
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

/// A document's fields, each as it is.
fn append_fields(doc: Doc<'_>, out: &mut Builder) {
    for element in doc.iter() {
        out.append_element(element);
    }
}
