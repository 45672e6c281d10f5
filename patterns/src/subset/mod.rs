//! The subset layout: a parent with the first of its children by an order, and all children beside.
//!
//! ```text
//! {_id: 1, name: "lamp", reviews: [r1, r2, ... r57]}                                logical
//! {_id: 1, name: "lamp", reviews: [the 10 first by {date: -1}],                     stored
//!  subset: {total: 57, bytes: 9210, first: 0, last: 58720256, inOrder: true}}
//! {parent: 1, at: 0, child: r1}, {parent: 1, at: 1048576, child: r2}, ...           side collection
//! ```
//!
//! | field of `subset` | meaning |
//! |---|---|
//! | `total`, `bytes` | how many children, and the bytes of their array's elements |
//! | `first`, `last` | the least and greatest `at` among them |
//! | `inOrder` | whether the logical array stands in the layout's order, so that its begin is what the parent holds |
//!
//! `at` orders a parent's children as the logical array does; it has gaps, so that a child put in front, behind
//! or between moves no other. `subset` is the last field, and empty where the array is missing or no array.
//! The side collection is indexed by parent, order and `at`.
//!
//! Source: MongoDB's manual, "Subset Pattern".

mod fold;
mod prune;
pub mod shortcut;
mod spec;
mod unfold;

#[cfg(test)]
mod tests;

pub use fold::Order;
pub use unfold::Parent;

use bindery_document::DocBuf;
use bindery_query::sort::Sort;

/// Which array is kept how.
#[derive(Clone, Debug)]
pub struct Subset {
    array: Box<str>,
    /// The field of children that names their parent.
    key: Box<str>,
    sort: Sort,
    declared: DocBuf,
    /// How many children the parent holds.
    top: usize,
}

/// The distance between the positions of two neighbours.
pub const STEP: i64 = 1 << 20;

/// Names of fields in stored documents.
mod field {
    pub(super) const AT: &str = "at";
    pub(super) const CHILD: &str = "child";
    pub(super) const SUBSET: &str = "subset";
    pub(super) const TOTAL: &str = "total";
    pub(super) const BYTES: &str = "bytes";
    pub(super) const FIRST: &str = "first";
    pub(super) const LAST: &str = "last";
    pub(super) const IN_ORDER: &str = "inOrder";
}
