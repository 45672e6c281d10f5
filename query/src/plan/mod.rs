//! The planner: from a question, index descriptions and statistics to a plan. A pure function.
//!
//! The planner holds no data. It sees indexes as [`IndexDescription`]s and asks a [`Statistics`] how many
//! entries lie within bounds, which a counted tree answers exactly; so a plan can be tested with text and
//! no documents. In the mode [`Mode::MongoDb`] only what MongoDB 6.0 would choose is chosen, its odd choices
//! included, so that examined counts transfer.

mod access;
mod bounds;
mod candidates;
mod choose;
mod cost;
mod finish;
mod hashed;
mod implied;
mod intersect;
mod interval;
mod node;
mod ordering;
mod partial;
mod predicate;
mod show;
mod special;
mod wildcard;

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_document::{Doc, DocBuf};
use bindery_index::keygen::{MultikeyPaths, WildcardProjection};

pub use bounds::{FieldBounds, IndexBounds, Interval};
pub use choose::plan;
pub use implied::with_implied;
pub use node::{IndexScan, Plan, ProjectionKind, ScanDirection, Shape};
pub use special::{GroupEnd, one_of_each_group};

use crate::collation::Collation;
use crate::filter::Filter;
use crate::sort::Sort;

/// How plans are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The cheapest by exact counts; set intersection and counting by subtree are candidates.
    #[default]
    Bindery,
    /// What MongoDB 6.0 would do.
    MongoDb,
}

/// What the results are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Documents, projected.
    #[default]
    Documents,
    /// Only how many there are.
    Count,
    /// The distinct values of this path.
    Distinct(String),
}

/// A question to be planned.
#[derive(Clone, Debug)]
pub struct Query {
    /// What documents must match, in canonical form.
    pub filter: Arc<Filter>,
    /// In which order they are asked for.
    pub sort: Option<Arc<Sort>>,
    /// In which shape.
    pub shape: Option<Arc<Shape>>,
    /// How many to leave out first.
    pub skip: u64,
    /// How many to give at most.
    pub limit: Option<u64>,
    /// Which index to use, or in which direction to scan.
    pub hint: Option<Hint>,
    /// The first key of the hinted index to look at, in the order of its fields.
    pub min: Option<DocBuf>,
    /// The first key of the hinted index not to look at any more.
    pub max: Option<DocBuf>,
    /// Whether index keys are asked for in place of documents.
    pub return_key: bool,
    /// How strings compare; their bytes without.
    pub collation: Option<Collation>,
    /// Whether the filter was written as `{_id: value}`, which MongoDB looks up without planning;
    /// `{_id: {$eq: value}}` is planned like any other.
    pub is_id_equality: bool,
    /// What the results are for.
    pub purpose: Purpose,
}

impl Query {
    /// The documents that match a filter (in canonical form), and nothing else asked.
    pub fn of_filter(filter: Filter) -> Query {
        Query {
            filter: Arc::new(filter),
            sort: None,
            shape: None,
            skip: 0,
            limit: None,
            hint: None,
            min: None,
            max: None,
            return_key: false,
            collation: None,
            is_id_equality: false,
            purpose: Purpose::Documents,
        }
    }
}

/// What the caller says of the plan.
#[derive(Clone, Debug)]
pub enum Hint {
    /// An index by its name.
    Name(String),
    /// An index by its key pattern.
    Key(DocBuf),
    /// No index, and this direction.
    Natural(ScanDirection),
}

/// What the planner needs to know of an index.
#[derive(Clone, Debug)]
pub struct IndexDescription<'a> {
    /// The name.
    pub name: &'a str,
    /// The key pattern as declared; values tell direction, `"hashed"`; names may end in `$**`.
    pub key: Doc<'a>,
    /// Which parts of which paths have met arrays.
    pub multikey: &'a MultikeyPaths,
    /// For a wildcard index, the paths of arrays that it met.
    pub wildcard_multikey: &'a BTreeSet<String>,
    /// Whether any document led through an array.
    pub is_multikey: bool,
    /// Whether it is the index on `_id`.
    pub is_id: bool,
    /// Whether it is what a clustered collection is kept in the order of: its entries are the documents' places.
    pub is_clustered: bool,
    /// Whether two documents may not share a key.
    pub unique: bool,
    /// Whether documents without any of the fields are left out.
    pub sparse: bool,
    /// Whether it may not be used unless a hint would name it (then it is as if it did not exist).
    pub hidden: bool,
    /// What documents in the index match.
    pub partial: Option<&'a Filter>,
    /// How its strings are ordered.
    pub collation: Option<&'a Collation>,
    /// Which paths a wildcard index holds.
    pub wildcard_projection: &'a WildcardProjection,
}

/// What the planner may ask of the data.
pub trait Statistics {
    /// Documents in the collection.
    fn documents(&self) -> u64;
    /// Pages that hold them.
    fn record_pages(&self) -> u64;
    /// Entries in an index.
    fn entries(&self, index: usize) -> u64;
    /// Entries of an index within bounds: exact where the bounds are one stretch of it, an upper bound else.
    fn entries_within(&self, index: usize, bounds: &IndexBounds) -> u64;
    /// Which of some plans MongoDB would keep after trying all of them out on the data; `None` if they cannot be tried.
    fn try_out(&self, plans: &[Plan]) -> Option<usize> {
        let _ = plans;
        None
    }
}

/// A plan, and those that were not taken.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan to run.
    pub winner: Plan,
    /// The other candidates.
    pub rejected: Vec<Candidate>,
}

/// A plan that was weighed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The plan.
    pub plan: Plan,
    /// Its cost in the planner's unit: a document fetched is 1.
    pub cost: f64,
}
