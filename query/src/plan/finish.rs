//! What comes after documents are found: fetch, sort, skip, projection, limit, in the order in which they touch the
//! least.

use std::sync::Arc;

use bindery_document::Kind;

use super::candidates::{Planning, Source};
use super::{Plan, ProjectionKind, Purpose, Shape};
use crate::sort::Sort;

/// A whole plan from a source.
pub(super) fn finish(planning: &Planning<'_>, source: Source) -> Plan {
    let query = planning.query;
    let covered =
        covers(planning, &source) && (query.sort.is_none() || source.sorted || keys_hold_order(planning, &source));
    let needs_documents = !source.is_collection && !covered;
    let sort_by_keys = keys_hold_order(planning, &source);
    let Source { plan, residual, sorted, is_collection, .. } = source;
    let must_match = residual.is_some();
    let mut plan = plan;
    let mut fetched = is_collection || !needs_documents;
    let sort = query.sort.as_ref().filter(|_| !sorted);
    let limit = query.limit.map(|limit| limit.saturating_add(query.skip));

    // Record ids are sorted before documents are fetched if the keys hold what they are sorted by.
    if needs_documents && (must_match || (sort.is_some() && !sort_by_keys)) {
        plan = Plan::Fetch { input: Box::new(plan), filter: residual };
        fetched = true;
    }
    let shape = query.shape.as_ref();
    // A projection that keeps what is sorted by comes first if it is covered, as there is less to hold then; and if it
    // may fail, for then the first document to fail is the first found, not the first in order. Which of the others
    // comes first cannot be seen, and stored documents are not held while they are sorted.
    let may_fail = |shape: &Shape| fetched && shape.projection.needs_position();
    let project_first = |shape: &&Arc<Shape>| {
        let keeps = |sort: &Arc<Sort>| keeps_sort(shape, sort);
        limit.is_none() && (covered || may_fail(shape)) && sort.is_some_and(keeps)
    };
    let mut projected = false;
    if let Some(shape) = shape.filter(project_first) {
        let kind = kind_of(shape, covered);
        plan = Plan::Project { input: Box::new(plan), shape: shape.clone(), kind };
        projected = true;
    }
    if let Some(order) = sort {
        plan = Plan::Sort { input: Box::new(plan), order: order.clone(), limit };
    }
    if query.skip > 0 {
        plan = Plan::Skip { input: Box::new(plan), count: query.skip };
    }
    if needs_documents && !fetched && query.purpose != Purpose::Count && !query.return_key {
        plan = Plan::Fetch { input: Box::new(plan), filter: None };
    }
    if query.return_key {
        plan = Plan::ReturnKey { input: Box::new(plan) };
    } else if let Some(shape) = shape.filter(|_| !projected) {
        let kind = kind_of(shape, covered);
        plan = Plan::Project { input: Box::new(plan), shape: shape.clone(), kind };
    }
    match query.limit {
        // A sort keeps no more than the limit already.
        Some(count) if sort.is_none() => Plan::Limit { input: Box::new(plan), count },
        _ => plan,
    }
}

/// Whether the keys that a source gives hold all that the sort looks at.
fn keys_hold_order(planning: &Planning<'_>, source: &Source) -> bool {
    let access = source.access.as_ref().filter(|_| !source.is_collection);
    let Some((access, sort)) = access.zip(planning.query.sort.as_ref()) else { return false };
    let index = &planning.indexes[access.index];
    let is_plain = index.collation.is_none() && !index.key.iter().any(|e| e.value().as_str().is_some());
    let holds = |path: &str| access.fields.iter().any(|(field, _)| field == path);
    is_plain && !index.is_multikey && sort.fields().iter().all(|field| holds(&field.path))
}

fn kind_of(shape: &Shape, covered: bool) -> ProjectionKind {
    match (covered, shape.projection.is_simple()) {
        (true, true) => ProjectionKind::Covered,
        (true, false) => ProjectionKind::CoveredDefault,
        (false, true) => ProjectionKind::Simple,
        (false, false) => ProjectionKind::Default,
    }
}

/// Whether the projection leaves what is sorted by as it is, and computes nothing.
fn keeps_sort(shape: &Shape, sort: &Sort) -> bool {
    let Some(paths) = shape.projection.selected_paths() else { return false };
    let keeps = |path: &str| {
        let below = |kept: &String| path.strip_prefix(kept.as_str()).is_some_and(|rest| rest.starts_with('.'));
        paths.iter().any(|kept| kept == path || below(kept))
    };
    sort.fields().iter().all(|field| keeps(&field.path))
}

/// Whether index keys hold all that is asked for, so that no document is needed.
fn covers(planning: &Planning<'_>, source: &Source) -> bool {
    let query = planning.query;
    let from_keys = !source.is_collection && source.residual.is_none();
    let Some(access) = source.access.as_ref().filter(|_| from_keys) else { return false };
    let index = &planning.indexes[access.index];
    let holds = |path: &str| {
        let is_plain = |value: bindery_document::Value<'_>| value.kind() != Kind::String;
        let at = index.key.iter().position(|e| e.key_str() == path && is_plain(e.value()));
        at.is_some_and(|n| index.multikey.field(n).is_empty())
    };
    if index.collation.is_some() {
        return false;
    }
    if query.return_key {
        return true;
    }
    match (&query.purpose, query.shape.as_deref()) {
        (Purpose::Count, _) => true,
        (_, Some(shape)) if shape.position.is_none() && shape.sort_key.is_none() => {
            shape.projection.read_paths().is_some_and(|paths| paths.iter().all(|path| holds(path)))
        }
        _ => false,
    }
}
