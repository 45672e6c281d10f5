//! Trial runs, as MongoDB's planner makes them: candidates work side by side until one ends or has given enough, and
//! the most productive is kept.
//!
//! Only the mode `planner: "mongodb"` tries plans out: MongoDB's choice depends on the data in ways that counts do not
//! tell, and the numbers of a plan it would not choose transfer nowhere. Sources: the manual, "Query Plans", and the
//! server parameters `internalQueryPlanEvaluationWorks`, `...CollFraction` and `...MaxResults`.

use bindery_document::Result;
use bindery_index::Untraced;
use bindery_query::plan::Plan;

use super::open::build;
use super::stage::{Node, Stage};
use crate::collection::State;
use crate::trace::Cx;

/// The least works that a trial may take, and the share of the collection that it may take instead.
const WORKS: u64 = 10_000;
const COLLECTION_SHARE: f64 = 0.3;
/// Results that are enough.
const RESULTS: usize = 101;

/// A candidate after its trial.
pub(crate) struct Tried {
    /// With what its stages did.
    pub(crate) stage: Stage,
    /// MongoDB's score.
    pub(crate) score: f64,
}

/// What a candidate did in its trial.
struct Trial {
    stage: Stage,
    /// The works done when each result came.
    results: Vec<u64>,
    /// The works done at its end, if it came to one.
    end: Option<u64>,
}

/// Which plan MongoDB would keep.
///
/// # Errors
/// What running the plans says.
pub(super) fn try_out(state: &State, plans: &[Plan]) -> Result<usize> {
    let scores: Vec<f64> = try_all(state, plans)?.into_iter().map(|tried| tried.score).collect();
    // Of equal scores the first wins.
    Ok((0..scores.len()).fold(0, |best, n| if scores[n] > scores[best] { n } else { best }))
}

/// Tries all plans out.
///
/// # Errors
/// What running the plans says.
pub(crate) fn try_all(state: &State, plans: &[Plan]) -> Result<Vec<Tried>> {
    let limit = WORKS.max((state.records.len() as f64 * COLLECTION_SHARE) as u64);
    let mut shortest = limit;
    let mut trials = Vec::with_capacity(plans.len());
    for plan in plans {
        let trial = run(state, plan, shortest)?;
        if let Some(end) = trial.end {
            shortest = shortest.min(end);
        } else if trial.results.len() >= RESULTS {
            shortest = shortest.min(trial.results[RESULTS - 1]);
        }
        trials.push(trial);
    }
    let scores: Vec<f64> = plans.iter().zip(&trials).map(|(plan, trial)| score(plan, trial, shortest)).collect();
    Ok(trials.into_iter().zip(scores).map(|(trial, score)| Tried { stage: trial.stage, score }).collect())
}

fn run(state: &State, plan: &Plan, limit: u64) -> Result<Trial> {
    let mut trial = Trial { stage: build(state, plan.clone()), results: Vec::new(), end: None };
    let mut untraced = Untraced;
    let mut cx = Cx::new(&mut untraced);
    cx.work_limit = Some(limit);
    loop {
        match trial.stage.advance(state, &mut cx) {
            Ok(true) => trial.results.push(works(&trial.stage)),
            Ok(false) => {
                trial.end = Some(works(&trial.stage));
                return Ok(trial);
            }
            Err(_) if cx.is_out_of_works() => return Ok(trial),
            Err(error) => return Err(error),
        }
        if trial.results.len() >= RESULTS || works(&trial.stage) >= limit {
            return Ok(trial);
        }
    }
}

/// Works in MongoDB's sense: the calls that the plan's root would have taken.
fn works(stage: &Stage) -> u64 {
    match &stage.node {
        Node::Sort(_) => stage.inputs().into_iter().map(works).sum::<u64>() + stage.stats.advanced,
        Node::SortMerge(_) => stage.inputs().into_iter().map(works).sum::<u64>() + stage.stats.advanced,
        _ => {
            let below: u64 = stage.inputs().into_iter().map(works).sum();
            if below == 0 { stage.stats.works } else { below }
        }
    }
}

/// MongoDB's score: productivity, small bonuses, and one for coming to the end.
fn score(plan: &Plan, trial: &Trial, works: u64) -> f64 {
    let works = works.max(1) as f64;
    let advanced = trial.results.iter().filter(|at| **at as f64 <= works).count() as f64;
    let epsilon = (1.0 / (10.0 * works)).min(1e-4);
    let mut bonus = 0.0;
    for absent in [has(plan, &|p| matches!(p, Plan::Fetch { .. })), has(plan, &|p| matches!(p, Plan::Sort { .. }))] {
        if !absent {
            bonus += epsilon;
        }
    }
    if !has(plan, &|p| matches!(p, Plan::Intersect { .. })) {
        bonus += epsilon;
    }
    let ended = trial.end.is_some_and(|end| end as f64 <= works);
    1.0 + advanced / works + bonus + if ended { 1.0 } else { 0.0 }
}

fn has(plan: &Plan, wanted: &dyn Fn(&Plan) -> bool) -> bool {
    wanted(plan) || super::describe::inputs(plan).into_iter().any(|input| has(input, wanted))
}
