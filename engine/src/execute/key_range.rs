//! Bounds as bytes: where an index scan starts, which entries are within, and where to go from one
//! that is not.
//!
//! Intervals of values become intervals of ordered key bytes, so that checking an entry compares bytes
//! and decodes nothing. The walk is that of MongoDB's index scan (manual, "Multikey Index Bounds"): an
//! entry outside of the bounds tells where the next one within could be, the scan seeks there, and both
//! entries count as examined.

use std::cmp::Ordering;
use std::ops::Bound;

use bindery_document::{Doc, OwnedValue, Value};
use bindery_index::key::{CorruptKey, Directions, KeyBuilder, Place, field_end};
use bindery_index::{Tree, Untraced};
use bindery_query::plan::{FieldBounds, IndexBounds, Interval, ScanDirection};

use crate::collection::IndexMeta;

/// One end of an interval, as the bytes of the field's value.
#[derive(Clone, Debug)]
struct End {
    bytes: Box<[u8]>,
    inclusive: bool,
}

/// An interval in the order of the scan: a backward scan meets `first` last in key order.
#[derive(Clone, Debug)]
struct Span {
    first: End,
    last: End,
}

/// The bounds of one scan.
#[derive(Debug)]
pub(super) struct KeyRange {
    directions: Directions,
    backward: bool,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// All entries between two positions: nothing needs to be checked but the end.
    Contiguous { start: Option<Box<[u8]>>, end: Option<Box<[u8]>> },
    /// Several intervals, or intervals behind a range: each entry is checked.
    Checked { fields: Vec<Vec<Span>> },
    /// A field has no interval: no entry is within.
    Empty,
}

/// The low and the high end of a stretch of the index; none where it is open.
type Ends<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// What an entry is to the bounds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Within.
    Within,
    /// Outside; the target was set to where the next one within could be.
    Seek,
    /// Outside, and so is all that follows.
    Done,
}

impl KeyRange {
    /// Encodes bounds for a scan in this direction.
    pub(super) fn new(meta: &IndexMeta, bounds: &IndexBounds, direction: ScanDirection) -> KeyRange {
        let backward = direction == ScanDirection::Backward;
        let directions = meta.directions();
        let shape = match bounds {
            IndexBounds::Range { start, end } => {
                // The start belongs to the range, the end does not: both lie before the keys they name.
                let low = start.as_ref().map(|key| whole_key(meta, key.doc()));
                let high = end.as_ref().map(|key| whole_key(meta, key.doc()));
                if backward {
                    Shape::Contiguous { start: high, end: low }
                } else {
                    Shape::Contiguous { start: low, end: high }
                }
            }
            IndexBounds::Fields(fields) if fields.iter().any(|field| field.intervals.is_empty()) => Shape::Empty,
            IndexBounds::Fields(fields) => {
                let encoded: Vec<Vec<Span>> = fields
                    .iter()
                    .enumerate()
                    .map(|(position, field)| encode_field(meta, position, field, backward))
                    .collect();
                if is_contiguous(fields) {
                    contiguous(&encoded, fields, backward)
                } else {
                    Shape::Checked { fields: encoded }
                }
            }
        };
        KeyRange { directions, backward, shape }
    }

    /// Whether no entry can be within.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.shape, Shape::Empty)
    }

    /// Where the scan begins; `None` for the end of the index it comes from.
    pub(super) fn start(&self, target: &mut Vec<u8>) -> bool {
        target.clear();
        match &self.shape {
            Shape::Empty => false,
            Shape::Contiguous { start: None, .. } => false,
            Shape::Contiguous { start: Some(start), .. } => {
                target.extend_from_slice(start);
                true
            }
            Shape::Checked { fields } => {
                self.seek_starts(fields, target);
                true
            }
        }
    }

    /// The two ends in key order, if the range is contiguous; for counting without looking.
    pub(super) fn contiguous_ends(&self) -> Option<Ends<'_>> {
        match &self.shape {
            Shape::Contiguous { start, end } if self.backward => Some((end.as_deref(), start.as_deref())),
            Shape::Contiguous { start, end } => Some((start.as_deref(), end.as_deref())),
            _ => None,
        }
    }

    /// Entries within, read off the tree's counts: exact for one stretch and for stretches behind points; an
    /// upper bound where ranges follow ranges. Forward ranges only.
    pub(super) fn count(&self, tree: &Tree) -> u64 {
        match &self.shape {
            Shape::Empty => 0,
            Shape::Contiguous { start, end } => {
                let low = start.as_deref().map_or(Bound::Unbounded, Bound::Included);
                let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                tree.count_range(low, high, &mut Untraced)
            }
            Shape::Checked { fields } => {
                let mut budget = MAX_COUNTED_STRETCHES;
                count_stretches(tree, fields, &mut Vec::new(), &mut budget)
            }
        }
    }

    /// Whether the entry lies beyond the end of a contiguous range, which is no examination of it.
    pub(super) fn is_beyond(&self, entry: &[u8]) -> bool {
        match &self.shape {
            Shape::Contiguous { end: Some(end), .. } => self.oriented(entry.cmp(end)) != Ordering::Less,
            Shape::Contiguous { end: None, .. } | Shape::Checked { .. } => false,
            Shape::Empty => true,
        }
    }

    /// Checks an entry; sets `target` when it says [`Verdict::Seek`].
    ///
    /// # Errors
    /// [`CorruptKey`] if the entry is no key of this index.
    pub(super) fn check(&self, entry: &[u8], target: &mut Vec<u8>) -> Result<Verdict, CorruptKey> {
        let Shape::Checked { fields } = &self.shape else {
            return Ok(Verdict::Within);
        };
        let mut at = 0;
        for (position, spans) in fields.iter().enumerate() {
            let end = field_end(entry, at, self.directions.of(position))?;
            let value = &entry[at..end];
            // The first interval that does not end before the value.
            let next = spans.partition_point(|span| self.ends_before(&span.last, value));
            let Some(span) = spans.get(next) else {
                if position == 0 || !self.can_advance(&fields[..position], entry)? {
                    return Ok(Verdict::Done);
                }
                // Past all entries that share the fields before this one.
                target.clear();
                target.extend_from_slice(&entry[..at]);
                self.end_after(target);
                return Ok(Verdict::Seek);
            };
            if self.starts_after(&span.first, value) {
                target.clear();
                target.extend_from_slice(&entry[..at]);
                if self.push_first(&span.first, target) {
                    self.seek_starts(&fields[position + 1..], target);
                }
                return Ok(Verdict::Seek);
            }
            at = end;
        }
        Ok(Verdict::Within)
    }

    /// Whether any of the leading fields of an entry within may take another value further on: those that stand at
    /// the end of their last interval may not.
    fn can_advance(&self, fields: &[Vec<Span>], entry: &[u8]) -> Result<bool, CorruptKey> {
        let mut at = 0;
        for (position, spans) in fields.iter().enumerate() {
            let end = field_end(entry, at, self.directions.of(position))?;
            if spans.last().is_some_and(|span| *span.last.bytes != entry[at..end]) {
                return Ok(true);
            }
            at = end;
        }
        Ok(false)
    }

    /// Appends the starts of the first intervals, up to one that does not belong to its interval.
    fn seek_starts(&self, fields: &[Vec<Span>], target: &mut Vec<u8>) {
        for spans in fields {
            let Some(span) = spans.first() else { return };
            if !self.push_first(&span.first, target) {
                return;
            }
        }
        // Before all entries of this key, in the direction of the scan.
        if self.backward {
            target.push(AFTER);
        }
    }

    /// Appends a start; false if the target is complete because the start itself is left out.
    fn push_first(&self, first: &End, target: &mut Vec<u8>) -> bool {
        target.extend_from_slice(&first.bytes);
        if first.inclusive {
            return true;
        }
        self.end_after(target);
        false
    }

    /// Completes a target that lies behind all entries with these fields, in the direction of the scan.
    fn end_after(&self, target: &mut Vec<u8>) {
        if !self.backward {
            target.push(AFTER);
        }
    }

    fn oriented(&self, order: Ordering) -> Ordering {
        if self.backward { order.reverse() } else { order }
    }

    fn ends_before(&self, last: &End, value: &[u8]) -> bool {
        match self.oriented(last.bytes.as_ref().cmp(value)) {
            Ordering::Less => true,
            Ordering::Equal => !last.inclusive,
            Ordering::Greater => false,
        }
    }

    fn starts_after(&self, first: &End, value: &[u8]) -> bool {
        match self.oriented(first.bytes.as_ref().cmp(value)) {
            Ordering::Greater => true,
            Ordering::Equal => !first.inclusive,
            Ordering::Less => false,
        }
    }
}

/// Counts the stretches of entries that start with a prefix and go on within the fields' spans.
fn count_stretches(tree: &Tree, fields: &[Vec<Span>], prefix: &mut Vec<u8>, budget: &mut u32) -> u64 {
    let Some((spans, rest)) = fields.split_first() else { return 0 };
    let is_point = |span: &Span| span.first.bytes == span.last.bytes;
    let mut total = 0;
    for span in spans {
        let length = prefix.len();
        if is_point(span) && !rest.is_empty() && *budget > 0 {
            prefix.extend_from_slice(&span.first.bytes);
            total += count_stretches(tree, rest, prefix, budget);
            prefix.truncate(length);
            continue;
        }
        *budget = budget.saturating_sub(1);
        let bound = |end: &End, place_after: bool| {
            let mut key = prefix.clone();
            key.extend_from_slice(&end.bytes);
            if place_after {
                key.push(AFTER);
            }
            key
        };
        let (low, high) = (bound(&span.first, !span.first.inclusive), bound(&span.last, span.last.inclusive));
        total += tree.count_range(Bound::Included(&low), Bound::Excluded(&high), &mut Untraced);
    }
    total
}

/// How many stretches are counted one by one before the rest is counted by their prefixes only.
const MAX_COUNTED_STRETCHES: u32 = 1_000;

/// Above everything that continues a key; what [`Place::After`] writes.
pub(super) const AFTER: u8 = 0xFF;

/// The bytes of one value of a field.
pub(super) fn encode_value(meta: &IndexMeta, position: usize, value: &Value<'_>) -> Box<[u8]> {
    let mut key = KeyBuilder::new();
    meta.append_value(position, value, &mut key);
    key.as_bytes().into()
}

fn whole_key(meta: &IndexMeta, values: Doc<'_>) -> Box<[u8]> {
    let mut key = KeyBuilder::new();
    for (position, element) in values.iter().enumerate() {
        meta.append_value(position, &element.value(), &mut key);
    }
    key.end(Place::Before);
    key.as_bytes().into()
}

fn encode_field(meta: &IndexMeta, position: usize, field: &FieldBounds, backward: bool) -> Vec<Span> {
    let end = |value: &OwnedValue, inclusive| End { bytes: encode_value(meta, position, &value.value()), inclusive };
    let span = |interval: &Interval| {
        let start = end(&interval.start, interval.start_inclusive);
        let stop = end(&interval.end, interval.end_inclusive);
        if backward { Span { first: stop, last: start } } else { Span { first: start, last: stop } }
    };
    let mut spans: Vec<Span> = field.intervals.iter().map(span).collect();
    if backward {
        spans.reverse();
    }
    spans
}

/// Points, then at most one range, then only whole fields: such bounds are one stretch of the index.
fn is_contiguous(fields: &[FieldBounds]) -> bool {
    let mut rest = fields.iter().skip_while(|field| matches!(field.intervals.as_slice(), [one] if one.is_point()));
    match rest.next() {
        None => true,
        Some(range) => range.intervals.len() == 1 && rest.all(FieldBounds::is_whole),
    }
}

fn contiguous(encoded: &[Vec<Span>], fields: &[FieldBounds], backward: bool) -> Shape {
    let (mut start, mut end) = (Vec::new(), Vec::new());
    let (mut start_inclusive, mut end_inclusive) = (true, true);
    let mut unbounded = true;
    for (spans, field) in encoded.iter().zip(fields) {
        let Some(span) = spans.first() else { return Shape::Empty };
        if field.is_whole() {
            break;
        }
        unbounded = false;
        start.extend_from_slice(&span.first.bytes);
        end.extend_from_slice(&span.last.bytes);
        (start_inclusive, end_inclusive) = (span.first.inclusive, span.last.inclusive);
        if !field.intervals.iter().all(Interval::is_point) {
            break;
        }
    }
    if unbounded {
        return Shape::Contiguous { start: None, end: None };
    }
    // Forward, an exclusive start and an inclusive end lie behind their keys; backward it is the other way round.
    if start_inclusive == backward {
        start.push(AFTER);
    }
    if end_inclusive != backward {
        end.push(AFTER);
    }
    Shape::Contiguous { start: Some(start.into()), end: Some(end.into()) }
}
