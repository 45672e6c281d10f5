//! A `$group` on readings, answered from the summaries of their buckets.
//!
//! Buckets that match as a whole, and lie in one group, are not unfolded; of those at the edge of a span of time the
//! columns are added up. Where neither says all, the question goes the general way.

use std::ops::{ControlFlow, RangeInclusive};

use bindery_document::{Doc, DocBuf, OwnedValue, Result};
use bindery_index::key::{Direction, KeyBuilder};
use bindery_patterns::bucket::shortcut::{Added, Groups, Rollup};
use bindery_patterns::bucket::{Bucket, Header};
use bindery_patterns::{Layout, Wanted};

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
    let mut running = Running {
        bucket,
        rollup: &rollup,
        asked: &asked,
        times,
        are_all,
        groups: Groups::default(),
        key: KeyBuilder::new(),
        buffer: Vec::new(),
    };
    let mut is_told = true;
    stage.drain(&state, cx, &mut |_, stored| {
        is_told = running.add(stored)?;
        Ok(if is_told { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(if is_told { rollup.finish(&running.groups) } else { None })
}

/// A rollup on its way through the buckets.
struct Running<'a> {
    bucket: &'a Bucket,
    rollup: &'a Rollup,
    asked: &'a Asked,
    /// The times that readings can have, and whether that is all there is to ask of them.
    times: RangeInclusive<i64>,
    are_all: bool,
    groups: Groups,
    key: KeyBuilder,
    buffer: Vec<u8>,
}

impl Running<'_> {
    /// Adds what matches in a stored bucket; false if only the general way can tell.
    fn add(&mut self, stored: Doc<'_>) -> Result<bool> {
        let (bucket, rollup) = (self.bucket, self.rollup);
        let header = Header::read(stored, false);
        if !rollup.is_told_by(&header) {
            return Ok(false);
        }
        let filter = &self.asked.logical.filter;
        let are_within = self.times.contains(&header.first) && self.times.contains(&header.last);
        let is_covered = self.asked.exact || self.are_all && are_within || bucket.covers(filter, stored, &header);
        if is_covered && rollup.is_one_group(header.first, header.last) {
            let Some(id) = self.enter(&header, header.first) else { return Ok(false) };
            rollup.add_bucket(&mut self.groups, self.key.as_bytes(), &id, &header);
            return Ok(true);
        }
        let mut readings = bucket.open(&header, Wanted::All);
        if (self.are_all || is_covered) && readings.are_ordered() {
            let mut added = Added::All;
            for (time, places) in rollup.pieces(&readings, readings.ordered(&self.times)) {
                let Some(id) = self.enter(&header, time) else { return Ok(false) };
                added = rollup.add_columns(&mut self.groups, self.key.as_bytes(), &id, &readings, places);
                // What stops the first piece stops all of them.
                if added != Added::All {
                    break;
                }
            }
            match added {
                Added::All => return Ok(true),
                Added::Untold => return Ok(false),
                Added::Nothing => {}
            }
        }
        for place in readings.places(&self.times) {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            readings.write(place, &mut buffer);
            let reading = Doc::from_stored(&buffer);
            if filter.matches(reading)? {
                let time = bucket.reading(reading).map_or(header.first, |reading| reading.time);
                let Some(id) = self.enter(&header, time) else { return Ok(false) };
                if !rollup.add_reading(&mut self.groups, self.key.as_bytes(), &id, reading) {
                    return Ok(false);
                }
            }
            self.buffer = buffer;
        }
        Ok(true)
    }

    /// The group of a bucket's readings at a time, with its key made; `None` if that is not known.
    fn enter(&mut self, header: &Header<'_>, time: i64) -> Option<OwnedValue> {
        let id = self.rollup.id(header, time).ok()?;
        self.key.clear();
        self.key.append(&id.value(), Direction::Ascending);
        Some(id)
    }
}
