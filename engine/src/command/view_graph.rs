//! What views stand on: no view may stand on itself, nor on too many others, nor on one with another collation.
//!
//! Source: MongoDB's manual, "Views"; the bounds and codes were asked of a real server.

use std::collections::BTreeMap;

use bindery_document::{Doc, Error, Result, Value, code};

use super::{Request, Target};
use crate::catalog::{Entry, View};

/// The most views that may stand upon each other.
const MAX_DEPTH: usize = 20;

/// Checks a view that is about to be defined, or defined anew.
///
/// # Errors
/// 5 if it would stand on itself, 165 if too many views would stand upon each other, 167 if it or a view on it
/// has another collation than what it stands on, or if its pipeline writes.
pub(super) fn check(request: &Request<'_>, name: &str, view: &View) -> Result<()> {
    for (position, stage) in view.pipeline.doc().iter().enumerate() {
        if let Value::Document(stage) = stage.value()
            && let Some(operator @ ("$out" | "$merge")) = stage.first().map(|e| e.key_str())
        {
            return Err(Error::new(
                code::OPTION_NOT_SUPPORTED_ON_VIEW,
                format!("the stage {operator} at {position} writes to disk, which the pipeline of a view cannot"),
            ));
        }
    }
    let mut graph: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (other, entry) in request.server.catalog.read().entries(request.database) {
        if let Entry::View(other_view) = entry
            && other != name
        {
            graph.insert(other.to_owned(), references(other_view));
        }
    }
    graph.insert(name.to_owned(), references(view));
    if reaches(&graph, name, name, &mut Vec::new()) {
        return Err(Error::new(code::GRAPH_CONTAINS_CYCLE, format!("View cycle detected: {name} stands on itself")));
    }
    let mut depths = BTreeMap::new();
    if graph.keys().any(|view| depth(&graph, view, &mut depths) > MAX_DEPTH) {
        return Err(Error::new(
            code::VIEW_DEPTH_LIMIT_EXCEEDED,
            format!("View depth limit exceeded; maximum depth is {MAX_DEPTH}"),
        ));
    }
    check_collations(request, name, view)
}

fn check_collations(request: &Request<'_>, name: &str, view: &View) -> Result<()> {
    let conflict = |a: &str, b: &str| {
        Err(Error::new(code::OPTION_NOT_SUPPORTED_ON_VIEW, format!("View {a} has conflicting collation with view {b}")))
    };
    for below in references(view) {
        if let Target::View(other) = request.target(&below)
            && other.collation != view.collation
        {
            return conflict(name, &below);
        }
    }
    for (above, entry) in request.server.catalog.read().entries(request.database) {
        if let Entry::View(other) = entry
            && above != name
            && references(other).iter().any(|below| below == name)
            && other.collation != view.collation
        {
            return conflict(above, name);
        }
    }
    Ok(())
}

/// The names that a view reads: what it is on, and what its stages look into.
fn references(view: &View) -> Vec<String> {
    let mut names = vec![view.on.clone()];
    stages(view.pipeline.doc(), &mut names);
    names
}

fn stages(pipeline: Doc<'_>, names: &mut Vec<String>) {
    for stage in pipeline.iter() {
        let Value::Document(stage) = stage.value() else { continue };
        let Some(first) = stage.first() else { continue };
        match (first.key_str(), first.value()) {
            ("$lookup" | "$graphLookup", Value::Document(spec)) => source(spec, "from", names),
            ("$unionWith", Value::String(name)) => names.push(name.as_str().to_owned()),
            ("$unionWith", Value::Document(spec)) => source(spec, "coll", names),
            ("$facet", Value::Document(facets)) => {
                for facet in facets.iter() {
                    if let Value::Array(pipeline) = facet.value() {
                        stages(pipeline, names);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A stage's collection, and those of the pipeline that it runs there.
fn source(spec: Doc<'_>, field: &str, names: &mut Vec<String>) {
    if let Some(Value::String(name)) = spec.get(field) {
        names.push(name.as_str().to_owned());
    }
    if let Some(Value::Array(pipeline)) = spec.get("pipeline") {
        stages(pipeline, names);
    }
}

/// Whether the goal can be reached from below `from`.
fn reaches<'g>(graph: &'g BTreeMap<String, Vec<String>>, from: &str, goal: &str, seen: &mut Vec<&'g str>) -> bool {
    graph.get(from).into_iter().flatten().any(|below| {
        if below == goal {
            return true;
        }
        if seen.contains(&below.as_str()) {
            return false;
        }
        seen.push(below);
        reaches(graph, below, goal, seen)
    })
}

/// The number of views on the longest way down. The graph has no cycle.
fn depth<'g>(graph: &'g BTreeMap<String, Vec<String>>, view: &'g str, known: &mut BTreeMap<&'g str, usize>) -> usize {
    if let Some(depth) = known.get(view) {
        return *depth;
    }
    let Some(below) = graph.get(view) else { return 0 };
    let depth = 1 + below.iter().map(|name| depth(graph, name, known)).max().unwrap_or(0);
    known.insert(view, depth);
    depth
}
