//! What a plan costs, in the unit of one document fetched.
//!
//! Entries are counted exactly where bounds are one stretch of an index. The weights were set by the bench
//! `plans`; they only have to be right about the order of plans.

use super::{Plan, Statistics};

/// Looking at an entry while scanning an index.
const KEY: f64 = 0.12;
/// Looking at a document while scanning the collection.
const SCANNED: f64 = 0.35;
/// Fetching a document by its record id.
const FETCHED: f64 = 1.0;
/// Adding a record id to a set.
const SET: f64 = 0.1;
/// Making a set of an input's record ids, however few; without it sets would be made where they spare next to nothing.
const SET_UP: f64 = 4.0;
/// Comparing two sort keys.
const COMPARED: f64 = 0.05;
/// Starting a scan.
const SEEK: f64 = 2.0;

/// Cost, and how many results come out.
#[derive(Clone, Copy)]
struct Estimate {
    cost: f64,
    results: f64,
    /// Whether the results come only after all the work.
    blocks: bool,
}

/// The cost of a plan.
pub(super) fn cost(plan: &Plan, statistics: &dyn Statistics) -> f64 {
    estimate(plan, statistics).cost
}

fn estimate(plan: &Plan, statistics: &dyn Statistics) -> Estimate {
    match plan {
        Plan::Eof => Estimate { cost: 0.0, results: 0.0, blocks: false },
        Plan::CollectionScan { .. } => {
            let documents = statistics.documents() as f64;
            Estimate { cost: documents * SCANNED, results: documents, blocks: false }
        }
        Plan::ClusteredScan { scan, .. } => {
            let documents = statistics.entries_within(scan.index, &scan.bounds) as f64;
            Estimate { cost: SEEK + documents * SCANNED, results: documents, blocks: false }
        }
        Plan::IdLookup { .. } => Estimate { cost: SEEK, results: 1.0, blocks: false },
        Plan::IndexScan(scan) | Plan::CountScan(scan) | Plan::DistinctScan { scan, .. } => {
            let entries = statistics.entries_within(scan.index, &scan.bounds) as f64;
            Estimate { cost: SEEK + entries * KEY, results: entries, blocks: false }
        }
        Plan::Fetch { input, .. } => {
            let input = estimate(input, statistics);
            Estimate { cost: input.cost + input.results * FETCHED, ..input }
        }
        Plan::Or { inputs } | Plan::SortMerge { inputs, .. } => {
            let inputs = inputs.iter().map(|input| estimate(input, statistics));
            inputs.fold(Estimate { cost: 0.0, results: 0.0, blocks: false }, |sum, input| Estimate {
                cost: sum.cost + input.cost + input.results * SET,
                results: sum.results + input.results,
                blocks: sum.blocks || input.blocks,
            })
        }
        Plan::Intersect { inputs } => {
            let inputs: Vec<Estimate> = inputs.iter().map(|input| estimate(input, statistics)).collect();
            let documents = (statistics.documents() as f64).max(1.0);
            // As if the sets were independent of each other.
            let results = inputs.iter().fold(documents, |left, input| left * (input.results / documents).min(1.0));
            let cost = inputs.iter().map(|input| SET_UP + input.cost + input.results * SET).sum();
            Estimate { cost, results, blocks: true }
        }
        Plan::Sort { input, limit, .. } => {
            let input = estimate(input, statistics);
            let kept = limit.map_or(input.results, |limit| input.results.min(limit as f64)).max(2.0);
            let cost = input.cost + input.results * (COMPARED * kept.log2() + SET);
            Estimate { cost, results: kept.min(input.results), blocks: true }
        }
        Plan::Skip { input, count } => {
            let input = estimate(input, statistics);
            Estimate { results: (input.results - *count as f64).max(0.0), ..input }
        }
        Plan::Limit { input, count } => {
            let input = estimate(input, statistics);
            let share = if input.results > 0.0 { (*count as f64 / input.results).min(1.0) } else { 1.0 };
            let cost = if input.blocks { input.cost } else { input.cost * share };
            Estimate { cost, results: input.results * share, blocks: input.blocks }
        }
        Plan::Project { input, .. } | Plan::ReturnKey { input } => estimate(input, statistics),
    }
}
