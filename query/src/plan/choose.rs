//! Choosing: the special cases that need no weighing, then the best of the candidates.

use bindery_document::{Doc, DocBuf, Error, Result, Value, code, order};

use super::access::whole_index;
use super::bounds::IndexBounds;
use super::candidates::{Planning, Source, collection_scan};
use super::finish::finish;
use super::implied::with_implied;
use super::ordering::{Provided, provided};
use super::{
    Candidate, Hint, IndexDescription, IndexScan, Mode, Plan, Planned, Purpose, Query, ScanDirection, Statistics,
};
use crate::filter::{CompareOp, Filter};

/// Plans a question.
///
/// # Errors
/// 2 for a hint that names no index; 51173 to 51176 for `min` and `max` that do not fit the hint; 291 where no plan is
/// possible.
pub fn plan(
    query: &Query,
    indexes: &[IndexDescription<'_>],
    statistics: &dyn Statistics,
    mode: Mode,
) -> Result<Planned> {
    let implied = with_implied(&query.filter, &[]);
    let filter = implied.as_ref().unwrap_or(&query.filter);
    let mut planning = Planning { query, filter, indexes, statistics, mode, hinted: None };
    let only = |winner| Ok(Planned { winner, rejected: Vec::new() });
    if query.min.is_some() || query.max.is_some() {
        return only(limited(&planning)?);
    }
    match &query.hint {
        Some(Hint::Natural(direction)) => return only(finish(&planning, collection_scan(query, *direction))),
        Some(hint) => planning.hinted = Some(find(hint, indexes)?),
        None => {}
    }
    if *query.filter == Filter::AlwaysFalse {
        return only(finish(&planning, Source { plan: Plan::Eof, ..collection_scan(query, ScanDirection::Forward) }));
    }
    if let Some(id) = id_lookup(&planning) {
        return only(id);
    }
    let plans = special(&planning).map_or_else(|| planning.candidates(), |plan| Ok(vec![plan]))?;
    let best = if plans.len() > 1 { planning.best(&plans) } else { 0 };
    let costs = super::cost::costs(&plans, statistics);
    let mut rejected: Vec<Candidate> =
        plans.into_iter().zip(costs).map(|(plan, cost)| Candidate { plan, cost }).collect();
    if rejected.is_empty() {
        return Err(Error::new(code::NO_QUERY_EXECUTION_PLANS, "no plan is possible for this query"));
    }
    let winner = rejected.swap_remove(best).plan;
    Ok(Planned { winner, rejected })
}

/// The index that a hint names.
fn find(hint: &Hint, indexes: &[IndexDescription<'_>]) -> Result<usize> {
    let same = |a: Doc<'_>, b: Doc<'_>| order::compare(&Value::Document(a), &Value::Document(b)).is_eq();
    let found = match hint {
        Hint::Name(name) => indexes.iter().position(|index| index.name == name && !index.hidden),
        Hint::Key(key) => {
            let mut matching = (0..indexes.len()).filter(|n| same(indexes[*n].key, key.doc()) && !indexes[*n].hidden);
            let first = matching.next();
            if matching.next().is_some() {
                let message = format!("Hint matched multiple indexes, must hint by index name: {:?}", key.doc());
                return Err(Error::new(code::INDEX_NOT_FOUND, message));
            }
            first
        }
        Hint::Natural(_) => None,
    };
    found.ok_or_else(|| {
        Error::new(
            code::BAD_VALUE,
            "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
        )
    })
}

/// `{_id: value}` alone is a look-up.
fn id_lookup(planning: &Planning<'_>) -> Option<Plan> {
    let query = planning.query;
    let index = planning.indexes.iter().position(|index| index.is_id && !index.is_clustered)?;
    if planning.hinted.is_some_and(|hinted| hinted != index)
        || query.return_key
        || !(query.purpose == Purpose::Documents && query.skip == 0
            || query.purpose == Purpose::Count && planning.mode == Mode::MongoDb && planning.hinted.is_none())
    {
        return None;
    }
    let Filter::Compare(test) = &*query.filter else { return None };
    let same_collation = match (planning.indexes[index].collation, &query.collation) {
        (None, None) => true,
        (Some(a), Some(b)) => a.spec() == b.spec(),
        _ => false,
    };
    let is_plain = !matches!(
        test.operand.value(),
        Value::Null | Value::Undefined | Value::Array(_) | Value::Regex { .. } | Value::MinKey | Value::MaxKey
    );
    if !query.is_id_equality || test.op != CompareOp::Eq || !is_plain || !same_collation {
        return None;
    }
    let plan = Plan::IdLookup { id: test.operand.clone() };
    let source = Source { plan, residual: None, sorted: true, access: None, is_collection: true };
    let plan = finish(planning, source);
    // One document needs no limit.
    Some(match plan {
        Plan::Limit { input, count } if count > 0 => *input,
        other => other,
    })
}

/// Counting by positions, and distinct values by skipping.
fn special(planning: &Planning<'_>) -> Option<Plan> {
    match &planning.query.purpose {
        Purpose::Documents => None,
        Purpose::Count => super::special::count(planning),
        Purpose::Distinct(path) => super::special::distinct(planning, path),
    }
}

/// A scan from `min` to `max` of the hinted index.
fn limited(planning: &Planning<'_>) -> Result<Plan> {
    let query = planning.query;
    let fail = |number, why: &str| Err(Error::new(number, why));
    let index = match &query.hint {
        None => return fail(51_173, "When using min()/max() a hint of which index to use must be provided"),
        Some(Hint::Natural(_)) => {
            return fail(code::NO_QUERY_EXECUTION_PLANS, "min and max are incompatible with a hint of $natural");
        }
        Some(hint) => find(hint, planning.indexes)?,
    };
    let key = planning.indexes[index].key;
    let names = |doc: Doc<'_>| doc.iter().map(|e| e.key.to_vec()).collect::<Vec<_>>();
    if let (Some(min), Some(max)) = (&query.min, &query.max)
        && names(min.doc()) != names(max.doc())
    {
        return fail(51_176, "min and max must have the same field names");
    }
    for limit in [&query.min, &query.max].into_iter().flatten() {
        if names(limit.doc()) != names(key) {
            return fail(51_174, "the index chosen is not compatible with min/max");
        }
    }
    if let (Some(min), Some(max)) = (&query.min, &query.max)
        && compare_keys(min, max, key).is_ge()
    {
        return fail(51_175, "min must be less than max in the order of the index");
    }
    let mut residual = Some(query.filter.clone());
    if *query.filter == Filter::AlwaysTrue {
        residual = None;
    }
    let description = &planning.indexes[index];
    // The stretch is in the order of the whole index.
    let access = (!description.is_multikey).then(|| whole_index(index, description, planning.asked(), &[]));
    let order = access.as_ref().zip(query.sort.as_ref()).and_then(|(access, sort)| {
        match provided(access, description, sort, planning.same_collation(description)) {
            Some(Provided::Scan(direction)) => Some(direction),
            Some(Provided::Merge(..)) | None => None,
        }
    });
    let scan = IndexScan {
        index,
        bounds: IndexBounds::Range { start: query.min.clone(), end: query.max.clone() },
        direction: order.unwrap_or(ScanDirection::Forward),
        filter: None,
        dedupe: planning.indexes[index].is_multikey,
    };
    let sorted = query.sort.is_none() || order.is_some();
    let source = Source { plan: Plan::IndexScan(scan), residual, sorted, access, is_collection: false };
    Ok(finish(planning, source))
}

/// Compares two keys in the order of an index.
fn compare_keys(a: &DocBuf, b: &DocBuf, key: Doc<'_>) -> std::cmp::Ordering {
    for ((x, y), field) in a.doc().iter().zip(b.doc().iter()).zip(key.iter()) {
        let order = order::compare(&x.value(), &y.value());
        let descending = field.value().as_f64().is_some_and(|n| n < 0.0);
        if order.is_ne() {
            return if descending { order.reverse() } else { order };
        }
    }
    std::cmp::Ordering::Equal
}
