//! The bucket layout: readings over time, bound by what they were measured on and a span of time.
//!
//! ```text
//! {_id: 7, sensorId: 3, ts: 10:15, value: 20.5}                                     logical
//! {_id, meta: 3, start: 10:00, first: 10:15, last: 10:15, count: 1, metaAt: 1,      stored
//!  summary: {value: {min: 20.5, max: 20.5, sum: 20.5, rest: 0.0, n: 1}},
//!  columns: {_id: <7>, ts: <0:15>, value: <20.5>}}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `meta` | the readings' meta field, absent if they have none |
//! | `start` | the time span's begin; with buckets by count, the earliest time |
//! | `first`, `last` | the earliest and latest time in it |
//! | `count` | how many readings |
//! | `metaAt` | the place of the meta field among a reading's fields |
//! | `summary` | for each field that has numbers: least, greatest, sum with its rounding rest, how many; `mixed` if there is anything else but null |
//! | `columns` | the readings that have the same fields as the first, without the meta field: [a column](mod@column) for each, in the order of time, so that a span of time is found by halving and a reading is made of fixed pieces |
//! | `readings` | the readings with other fields, as documents without the meta field, in the order of their arrival; absent, as `columns` is, if there are none |
//!
//! Declared with `columns: false`, all readings are documents, as the pattern is written by hand.
//!
//! A bucket holds readings whose meta field is the same to the byte and at the same place. Readings without a
//! date in the time field are refused, as MongoDB's time series collections do.
//!
//! Sources: MongoDB's manual, "Bucket Pattern" and "Time Series Collections".

mod column;
mod fold;
mod header;
mod prune;
mod series;
pub mod shortcut;
mod sieve;
mod spec;
mod summary;
mod unfold;

#[cfg(test)]
mod tests;

pub use fold::{Appended, Reading};
pub use header::Header;
pub use sieve::Sieve;
pub use summary::Summary;
pub use unfold::Readings;

/// What is bound into one bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    time: Box<str>,
    meta: Option<Box<str>>,
    size: Size,
    /// The fields that are summed up; all that have numbers, if they are not listed.
    summarized: Option<Vec<Box<str>>>,
    /// Whether readings with the same fields are kept in columns.
    in_columns: bool,
    /// The most readings of a bucket that is bounded by a span.
    most: u32,
    /// Whether it is that of a time-series collection, which has indexes on measurements.
    is_series: bool,
}

/// When a bucket is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Readings of one span of this many milliseconds, from the epoch on.
    Span(i64),
    /// This many readings.
    Count(u32),
}

/// The bytes from which on a bucket takes no more readings, whatever its span.
pub const FULL_BYTES: usize = 1 << 20;

/// Names of fields in stored documents.
mod field {
    pub(super) const META: &str = "meta";
    pub(super) const START: &str = "start";
    pub(super) const FIRST: &str = "first";
    pub(super) const LAST: &str = "last";
    pub(super) const COUNT: &str = "count";
    pub(super) const META_AT: &str = "metaAt";
    pub(super) const SUMMARY: &str = "summary";
    pub(super) const COLUMNS: &str = "columns";
    pub(super) const READINGS: &str = "readings";
    pub(super) const MIN: &str = "min";
    pub(super) const MAX: &str = "max";
    pub(super) const SUM: &str = "sum";
    pub(super) const REST: &str = "rest";
    pub(super) const N: &str = "n";
    pub(super) const MIXED: &str = "mixed";
}
