//! Plans as data: a tree of stages, named as `explain` names them.
//!
//! A plan says what to do and holds nothing that runs; the engine's executor builds its stages from it, and
//! `explain` prints it.

use std::sync::Arc;

use bindery_document::OwnedValue;

use super::bounds::IndexBounds;
use crate::expression::StringOrder;
use crate::filter::Filter;
use crate::projection::Projection;
use crate::sort::Sort;

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanDirection {
    /// In the order of the keys or of insertion.
    #[default]
    Forward,
    /// Against it.
    Backward,
}

/// A stage and what it reads from.
#[derive(Clone, Debug)]
pub enum Plan {
    /// EOF: no results.
    Eof,
    /// COLLSCAN: every document that matches, in the order of insertion or against it.
    CollectionScan {
        /// What documents must match.
        filter: Option<Arc<Filter>>,
        /// Which way.
        direction: ScanDirection,
    },
    /// CLUSTERED_IXSCAN: the documents of a clustered collection whose `_id`s are within bounds, as far as they match.
    /// The index it is kept in the order of is where the documents are: there are no keys to examine besides.
    ClusteredScan {
        /// The stretch of `_id`s.
        scan: IndexScan,
        /// What documents must match.
        filter: Option<Arc<Filter>>,
    },
    /// IDHACK: the document with this `_id`.
    IdLookup {
        /// The `_id`.
        id: OwnedValue,
    },
    /// IXSCAN: record ids and keys of the entries within bounds.
    IndexScan(IndexScan),
    /// FETCH: the documents of the input's record ids, as far as they match.
    Fetch {
        /// Gives record ids.
        input: Box<Plan>,
        /// What documents must match.
        filter: Option<Arc<Filter>>,
    },
    /// OR: each record id of any input once.
    Or {
        /// Give record ids.
        inputs: Vec<Plan>,
    },
    /// SORT_MERGE: the inputs, each sorted, merged in order, each record id once.
    SortMerge {
        /// Give record ids and keys, or documents, in that order.
        inputs: Vec<Plan>,
        /// The order.
        order: Arc<Sort>,
    },
    /// AND_SORTED: the record ids that all inputs give, ascending; computed on sets.
    Intersect {
        /// Give record ids.
        inputs: Vec<Plan>,
    },
    /// SORT: the input's documents in order; only the first `limit` if it is given.
    Sort {
        /// Gives documents.
        input: Box<Plan>,
        /// The order.
        order: Arc<Sort>,
        /// Only so many, counted after sorting (skip included).
        limit: Option<u64>,
    },
    /// SKIP.
    Skip {
        /// What to skip in.
        input: Box<Plan>,
        /// How many.
        count: u64,
    },
    /// LIMIT.
    Limit {
        /// What to limit.
        input: Box<Plan>,
        /// To how many.
        count: u64,
    },
    /// PROJECTION_*: the input's documents, or the documents that its keys give, in another shape.
    Project {
        /// Gives documents, or keys if the plan is covered.
        input: Box<Plan>,
        /// The shape.
        shape: Arc<Shape>,
        /// Which of the three stages it is.
        kind: ProjectionKind,
    },
    /// RETURN_KEY: the input's index keys as documents; empty documents where there is none.
    ReturnKey {
        /// Gives keys, or documents of collection scans.
        input: Box<Plan>,
    },
    /// COUNT_SCAN: the number of record ids in one interval of an index, without looking at each.
    CountScan(IndexScan),
    /// DISTINCT_SCAN: one entry for each value of the index's first `fields` fields.
    DistinctScan {
        /// The scan to skip in.
        scan: IndexScan,
        /// How many leading fields tell entries apart.
        fields: usize,
    },
}

/// A walk over index entries.
#[derive(Clone, Debug)]
pub struct IndexScan {
    /// The index's position among those described to the planner.
    pub index: usize,
    /// Which entries, in the index's own (forward) orientation whatever the direction.
    pub bounds: IndexBounds,
    /// Which way.
    pub direction: ScanDirection,
    /// What the values in the key must match; evaluated on a document made of the key.
    pub filter: Option<Arc<Filter>>,
    /// Whether record ids may come more than once (multikey), and must be told apart.
    pub dedupe: bool,
}

/// How a projection gets at its fields; the three stages that MongoDB tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionKind {
    /// PROJECTION_SIMPLE: top-level fields of documents.
    Simple,
    /// PROJECTION_COVERED: top-level fields of index keys.
    Covered,
    /// PROJECTION_DEFAULT over an index scan: other fields of index keys.
    CoveredDefault,
    /// PROJECTION_DEFAULT: everything else.
    Default,
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shape { projection, position, sort_key, strings: _ } = self;
        f.debug_struct("Shape")
            .field("projection", projection)
            .field("position", position)
            .field("sort_key", sort_key)
            .finish_non_exhaustive()
    }
}

/// A projection and what it needs besides the document.
pub struct Shape {
    /// The projection.
    pub projection: Projection,
    /// How strings compare in its expressions; by their bytes without.
    pub strings: Option<Arc<StringOrder>>,
    /// The filter, in the order it was written in, if the projection needs the position that it matched.
    pub position: Option<Filter>,
    /// The order, if the projection shows the sort key.
    pub sort_key: Option<Arc<Sort>>,
}
