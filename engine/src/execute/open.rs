//! From a question to a running plan.

use bindery_document::Result;
use bindery_query::plan::{
    self, GroupEnd, IndexBounds, IndexDescription, Plan, Planned, ProjectionKind, Query, Statistics,
};

use super::combine::{Intersect, Or, SortMerge};
use super::count::CountScan;
use super::distinct::DistinctScan;
use super::fetch::{Fetch, IdLookup};
use super::index_scan::IndexScan;
use super::key_range::KeyRange;
use super::project::{Project, ReturnKey};
use super::scan::{ClusteredScan, CollectionScan};
use super::shape::{Limit, Skip};
use super::sort::Sort;
use super::stage::{Node, Stage};
use crate::collection::State;
use crate::database::Planner;

/// Plans a question on a collection's present state.
///
/// # Errors
/// What the planner says.
pub(crate) fn choose(state: &State, query: &Query, planner: Planner) -> Result<Planned> {
    let indexes: Vec<IndexDescription<'_>> = state.indexes.iter().map(|index| index.describe()).collect();
    plan::plan(query, &indexes, &Counts { state }, mode(planner))
}

/// A plan for one document of each group of equal values of a path, if an index can skip from one to the next.
pub(crate) fn choose_group_ends(
    state: &State,
    query: &Query,
    planner: Planner,
    path: &str,
    end: GroupEnd,
) -> Option<Plan> {
    let indexes: Vec<IndexDescription<'_>> = state.indexes.iter().map(|index| index.describe()).collect();
    plan::one_of_each_group(query, &indexes, &Counts { state }, mode(planner), path, end)
}

fn mode(planner: Planner) -> plan::Mode {
    match planner {
        Planner::Bindery => plan::Mode::Bindery,
        Planner::MongoDb => plan::Mode::MongoDb,
    }
}

/// What the planner may ask, answered by counted trees.
struct Counts<'a> {
    state: &'a State,
}

impl Statistics for Counts<'_> {
    fn documents(&self) -> u64 {
        self.state.records.len()
    }

    fn record_pages(&self) -> u64 {
        self.state.records.stats().pages()
    }

    fn entries(&self, index: usize) -> u64 {
        self.state.indexes[index].tree.len()
    }

    fn entries_within(&self, index: usize, bounds: &IndexBounds) -> u64 {
        let index = &self.state.indexes[index];
        KeyRange::new(&index.meta, bounds, plan::ScanDirection::Forward).count(&index.tree)
    }

    fn try_out(&self, plans: &[Plan]) -> Option<usize> {
        // A plan that fails will fail again when it runs, and say why.
        super::trial::try_out(self.state, plans).ok()
    }
}

/// Makes stages of a plan.
pub(crate) fn build(state: &State, plan: Plan) -> Stage {
    build_with(state, plan, false)
}

/// As [`build`]; `keys` says whether what comes after is made of index entries.
fn build_with(state: &State, plan: Plan, keys: bool) -> Stage {
    let input = |plan: Box<Plan>| build_with(state, *plan, keys);
    let inputs = |plans: Vec<Plan>| plans.into_iter().map(|plan| build_with(state, plan, keys)).collect::<Vec<Stage>>();
    Stage::new(match plan {
        Plan::Eof => Node::Eof,
        Plan::CollectionScan { filter, direction } => {
            Node::CollectionScan(CollectionScan::new(state, filter, direction))
        }
        Plan::ClusteredScan { scan, filter } => Node::ClusteredScan(Box::new(ClusteredScan::new(state, scan, filter))),
        Plan::IdLookup { id } => Node::IdLookup(IdLookup::new(id)),
        Plan::IndexScan(scan) => Node::IndexScan(IndexScan::new(state, scan)),
        Plan::Fetch { input: below, filter } => Node::Fetch(Box::new(Fetch { input: input(below), filter })),
        Plan::Or { inputs: below } => Node::Or(Or::new(inputs(below))),
        Plan::SortMerge { inputs: below, order } => Node::SortMerge(SortMerge::new(inputs(below), order)),
        Plan::Intersect { inputs: below } => Node::Intersect(Intersect::new(inputs(below))),
        Plan::Sort { input: below, order, limit } => Node::Sort(Box::new(Sort::new(input(below), order, limit, keys))),
        Plan::Skip { input: below, count } => Node::Skip(Box::new(Skip::new(input(below), count))),
        Plan::Limit { input: below, count } => Node::Limit(Box::new(Limit::new(input(below), count))),
        Plan::Project { input: below, shape, kind } => {
            let below =
                build_with(state, *below, matches!(kind, ProjectionKind::Covered | ProjectionKind::CoveredDefault));
            Node::Project(Box::new(Project::new(below, shape, kind)))
        }
        Plan::ReturnKey { input: below } => Node::ReturnKey(Box::new(ReturnKey::new(build_with(state, *below, true)))),
        Plan::CountScan(scan) => Node::CountScan(CountScan::new(state, scan)),
        Plan::DistinctScan { scan, fields } => Node::DistinctScan(DistinctScan::new(state, scan, fields)),
    })
}
