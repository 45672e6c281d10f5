//! A `$group` on readings, answered from the summaries of their buckets.
//!
//! Buckets that match as a whole are not unfolded; those at the edge of a span of time are, and their matches
//! are added one by one. Where a summary does not say all, the question goes the general way.

use bindery_document::{Doc, DocBuf, Result, Value};
use bindery_index::key::{Direction, KeyBuilder};
use bindery_patterns::Layout;
use bindery_patterns::bucket::shortcut::{Added, Groups};
use bindery_patterns::bucket::{Header, Wanted};

use super::LayoutCollection;
use super::source::Asked;
use crate::database::Inner;
use crate::execute::{Question, build, choose};
use crate::trace::Cx;

/// The groups of the readings that match; `None` if summaries cannot tell them.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn rollup(
    server: &Inner,
    collection: &LayoutCollection,
    question: &Question<'_>,
    group: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<DocBuf>>> {
    let Layout::Bucket(bucket) = &*collection.layout else { return Ok(None) };
    let Some(rollup) = bucket.rollup(group).filter(|_| question.collation.is_none()) else { return Ok(None) };
    let asked = Asked::compile(server, &collection.layout, question)?;
    let (times, are_all) = bucket.times_of(&asked.logical.filter);
    let state = collection.snapshot().stored;
    let mut stage = build(&state, choose(&state, &asked.stored, server.planner)?.winner);
    let (mut groups, mut key, mut buffer) = (Groups::default(), KeyBuilder::new(), Vec::new());
    while stage.advance(&state, cx)? {
        let stored = stage.document(&state);
        let header = Header::read(stored, false);
        if !rollup.is_told_by(&header) {
            return Ok(None);
        }
        key.clear();
        if rollup.is_by_meta() {
            let meta = header.meta.map_or(Value::Null, |meta| meta.value());
            key.append(&meta, Direction::Ascending);
        }
        let are_within = times.contains(&header.first) && times.contains(&header.last);
        if asked.exact || are_all && are_within || bucket.covers(&asked.logical.filter, stored, &header) {
            rollup.add_bucket(&mut groups, key.as_bytes(), &header);
            continue;
        }
        let mut readings = bucket.open(&header, Wanted::All);
        if are_all && readings.are_ordered() {
            let places = readings.ordered(&times);
            match rollup.add_columns(&mut groups, key.as_bytes(), &header, &readings, places) {
                Added::All => continue,
                Added::Untold => return Ok(None),
                Added::Nothing => {}
            }
        }
        for place in readings.places(&times) {
            buffer.clear();
            readings.write(place, &mut buffer);
            let reading = Doc::from_stored(&buffer);
            if asked.logical.filter.matches(reading)?
                && !rollup.add_reading(&mut groups, key.as_bytes(), &header, reading)
            {
                return Ok(None);
            }
        }
    }
    Ok(rollup.finish(&groups))
}
