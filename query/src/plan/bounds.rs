//! Bounds: which keys of an index a scan visits.
//!
//! For every field of the index an ordered list of disjoint intervals of values, as `explain` prints
//! them. Intervals are kept in the index's orientation: for a descending field they run from the
//! greater to the lesser value.

use bindery_document::{DocBuf, Kind, OwnedValue};

/// An interval of values of one field.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Where it starts, in the orientation of the field.
    pub start: OwnedValue,
    /// Whether the start belongs to it.
    pub start_inclusive: bool,
    /// Where it ends.
    pub end: OwnedValue,
    /// Whether the end belongs to it.
    pub end_inclusive: bool,
}

/// The intervals of one field.
#[derive(Clone, Debug)]
pub struct FieldBounds {
    /// The field's path, as in the key pattern.
    pub path: String,
    /// Disjoint, in the orientation of the field; none means that nothing can match.
    pub intervals: Vec<Interval>,
}

/// The keys that a scan visits.
#[derive(Clone, Debug)]
pub enum IndexBounds {
    /// For each field of the index its intervals.
    Fields(Vec<FieldBounds>),
    /// From one whole key to another; what the `min` and `max` options ask for.
    Range {
        /// Values of all fields, under empty names; the start of the index without.
        start: Option<DocBuf>,
        /// Values of all fields, under empty names; the end of the index without. Does not belong to the range.
        end: Option<DocBuf>,
    },
}

impl Interval {
    /// The interval that holds one value.
    pub fn point(value: OwnedValue) -> Interval {
        Interval { start: value.clone(), start_inclusive: true, end: value, end_inclusive: true }
    }

    /// Whether it holds one value only.
    pub fn is_point(&self) -> bool {
        self.start_inclusive
            && self.end_inclusive
            && bindery_document::order::compare(&self.start.value(), &self.end.value()).is_eq()
    }
}

impl FieldBounds {
    /// Whether every value is within: `[MinKey, MaxKey]`.
    pub fn is_whole(&self) -> bool {
        let ends = |interval: &Interval| {
            let kinds = (interval.start.kind(), interval.end.kind());
            matches!(kinds, (Kind::MinKey, Kind::MaxKey) | (Kind::MaxKey, Kind::MinKey))
        };
        matches!(self.intervals.as_slice(), [one] if one.start_inclusive && one.end_inclusive && ends(one))
    }
}
