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

/// The costs of plans for the same question.
pub(super) fn costs(plans: &[Plan], statistics: &dyn Statistics) -> Vec<f64> {
    // Every plan finds the same documents: not more than the plan that bounds them best looks at.
    let documents = statistics.documents() as f64;
    let matching = plans.iter().map(|plan| looked_at(plan, statistics)).fold(documents, f64::min);
    let known = Known { statistics, matching };
    plans.iter().map(|plan| estimate(plan, &known).cost).collect()
}

/// What is known of the data.
struct Known<'a> {
    statistics: &'a dyn Statistics,
    /// At most so many documents match.
    matching: f64,
}

/// How many documents, or keys of them, a plan looks at if nothing stops it.
fn looked_at(plan: &Plan, statistics: &dyn Statistics) -> f64 {
    let of = |input: &Plan| looked_at(input, statistics);
    match plan {
        Plan::Eof => 0.0,
        Plan::CollectionScan { .. } => statistics.documents() as f64,
        Plan::IdLookup { .. } => 1.0,
        Plan::ClusteredScan { scan, .. } | Plan::IndexScan(scan) | Plan::CountScan(scan) => {
            statistics.entries_within(scan.index, &scan.bounds) as f64
        }
        // It passes over most.
        Plan::DistinctScan { .. } => statistics.documents() as f64,
        Plan::Or { inputs } | Plan::SortMerge { inputs, .. } => inputs.iter().map(of).sum(),
        Plan::Intersect { inputs } => inputs.iter().map(of).fold(f64::INFINITY, f64::min),
        Plan::Fetch { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Skip { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Project { input, .. }
        | Plan::ReturnKey { input } => of(input),
    }
}

fn estimate(plan: &Plan, known: &Known<'_>) -> Estimate {
    let statistics = known.statistics;
    let most = |results: f64, filtered: bool| if filtered { results.min(known.matching) } else { results };
    match plan {
        Plan::Eof => Estimate { cost: 0.0, results: 0.0, blocks: false },
        Plan::CollectionScan { filter, .. } => {
            let documents = statistics.documents() as f64;
            Estimate { cost: documents * SCANNED, results: most(documents, filter.is_some()), blocks: false }
        }
        Plan::ClusteredScan { scan, filter } => {
            let documents = statistics.entries_within(scan.index, &scan.bounds) as f64;
            let results = most(documents, filter.is_some());
            Estimate { cost: SEEK + documents * SCANNED, results, blocks: false }
        }
        Plan::IdLookup { .. } => Estimate { cost: SEEK, results: 1.0, blocks: false },
        Plan::IndexScan(scan) | Plan::CountScan(scan) | Plan::DistinctScan { scan, .. } => {
            let entries = statistics.entries_within(scan.index, &scan.bounds) as f64;
            Estimate { cost: SEEK + entries * KEY, results: entries, blocks: false }
        }
        Plan::Fetch { input, filter } => {
            let input = estimate(input, known);
            let cost = input.cost + input.results * FETCHED;
            Estimate { cost, results: most(input.results, filter.is_some()), ..input }
        }
        Plan::Or { inputs } | Plan::SortMerge { inputs, .. } => {
            let inputs = inputs.iter().map(|input| estimate(input, known));
            inputs.fold(Estimate { cost: 0.0, results: 0.0, blocks: false }, |sum, input| Estimate {
                cost: sum.cost + input.cost + input.results * SET,
                results: sum.results + input.results,
                blocks: sum.blocks || input.blocks,
            })
        }
        Plan::Intersect { inputs } => {
            let inputs: Vec<Estimate> = inputs.iter().map(|input| estimate(input, known)).collect();
            let documents = (statistics.documents() as f64).max(1.0);
            // As if the sets were independent of each other.
            let results = inputs.iter().fold(documents, |left, input| left * (input.results / documents).min(1.0));
            let cost = inputs.iter().map(|input| SET_UP + input.cost + input.results * SET).sum();
            Estimate { cost, results, blocks: true }
        }
        Plan::Sort { input, limit, .. } => {
            let input = estimate(input, known);
            let kept = limit.map_or(input.results, |limit| input.results.min(limit as f64)).max(2.0);
            let cost = input.cost + input.results * (COMPARED * kept.log2() + SET);
            Estimate { cost, results: kept.min(input.results), blocks: true }
        }
        Plan::Skip { input, count } => {
            let input = estimate(input, known);
            Estimate { results: (input.results - *count as f64).max(0.0), ..input }
        }
        Plan::Limit { input, count } => {
            let input = estimate(input, known);
            let share = if input.results > 0.0 { (*count as f64 / input.results).min(1.0) } else { 1.0 };
            let cost = if input.blocks { input.cost } else { input.cost * share };
            Estimate { cost, results: input.results * share, blocks: input.blocks }
        }
        Plan::Project { input, .. } | Plan::ReturnKey { input } => estimate(input, known),
    }
}
