//! Counting and distinct values.

use std::sync::Arc;

use bindery_document::{OwnedValue, Path, Result, Value, order};
use bindery_index::key::{Direction, KeyBuilder};
use bindery_query::collation::Collation;
use bindery_query::filter::Filter;
use bindery_query::plan::{Purpose, Query};

use super::open::{build, choose};
use super::question::Question;
use super::stage::{Node, key_document};
use crate::collection::State;
use crate::cursor::Rows;
use crate::database::Inner;
use crate::trace::Cx;

/// The number of documents that match, skip and limit applied.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn count(server: &Inner, state: &Arc<State>, question: &Question<'_>, cx: &mut Cx<'_>) -> Result<u64> {
    let mut query = question.compile(&server.scope(), Some(state))?;
    query.purpose = Purpose::Count;
    if is_of_everything(&query) {
        return Ok(state.records.len().saturating_sub(query.skip).min(query.limit.unwrap_or(u64::MAX)));
    }
    build(state, choose(state, &query, server.planner)?.winner).count_rest(state, &query, cx)
}

/// Whether a count is of all documents, whose number is known.
pub(crate) fn is_of_everything(query: &Query) -> bool {
    *query.filter == Filter::AlwaysTrue && query.hint.is_none() && query.min.is_none() && query.max.is_none()
}
/// The distinct values of a path over the documents that match, sorted; of equal numbers the first seen.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn distinct(
    server: &Inner,
    state: &Arc<State>,
    key: &str,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Vec<OwnedValue>> {
    let mut query = question.compile(&server.scope(), Some(state))?;
    // Only where nothing is asked at all, an index that holds every document is walked from value to value, and gives
    // null for what is missing.
    if *query.filter != Filter::AlwaysTrue || question.filter.is_empty() {
        query.purpose = Purpose::Distinct(key.to_owned());
    }
    let collation = query.collation.clone();
    let mut stage = build(state, choose(state, &query, server.planner)?.winner);
    let path = Path::parse(key);
    let mut values = Distinct::default();
    while stage.advance(state, cx)? {
        let mut add = |value: Value<'_>| values.add(value, collation.as_ref());
        match stage.key().filter(|_| matches!(stage.node, Node::DistinctScan(_))) {
            Some(view) => path.extract(key_document(state, view)?.doc(), &mut |element| add(element.value())),
            None => path.extract(stage.document(state), &mut |element| add(element.value())),
        }
    }
    Ok(values.into_sorted(collation.as_ref()))
}

/// The distinct values of a path over documents that are found already.
///
/// # Errors
/// What reading them says.
pub(crate) fn distinct_of_rows(
    rows: &mut dyn Rows,
    key: &str,
    collation: Option<&Collation>,
    cx: &mut Cx<'_>,
) -> Result<Vec<OwnedValue>> {
    let path = Path::parse(key);
    let mut values = Distinct::default();
    while rows.advance(cx)? {
        path.extract(rows.current(), &mut |element| values.add(element.value(), collation));
    }
    Ok(values.into_sorted(collation))
}

/// Values, told apart by their ordered keys, which are the same for equal values.
#[derive(Default)]
pub(crate) struct Distinct {
    seen: std::collections::HashSet<Box<[u8]>>,
    values: Vec<OwnedValue>,
    key: KeyBuilder,
}

impl Distinct {
    fn add(&mut self, value: Value<'_>, collation: Option<&Collation>) {
        self.key.clear();
        match collation {
            None => self.key.append(&value, Direction::Ascending),
            Some(collation) => {
                let collator = |text: &[u8], out: &mut Vec<u8>| collation.write_sort_key(text, out);
                self.key.append_collated(&value, Direction::Ascending, &collator);
            }
        }
        if !self.seen.contains(self.key.as_bytes()) {
            self.seen.insert(self.key.as_bytes().into());
            self.values.push(OwnedValue::new(value));
        }
    }

    fn into_sorted(mut self, collation: Option<&Collation>) -> Vec<OwnedValue> {
        self.values.sort_by(|a, b| match collation {
            None => order::compare(&a.value(), &b.value()),
            Some(collation) => {
                order::compare_with(&a.value(), &b.value(), &|x: &[u8], y: &[u8]| collation.compare(x, y))
            }
        });
        self.values
    }
}
