//! Error codes of a group that MongoDB runs in its other engine.
//!
//! MongoDB 6.0 hands a `$group` at the front of a pipeline, behind nothing but queries, a sort, limits, a projection and
//! plain joins, to an engine whose operators fail with codes of their own. The conditions are the same; only
//! the numbers differ, and a client can see them.

use bindery_document::{Error, Result};

use super::accumulator::{Accumulator, AccumulatorKind};
use crate::filter::Filter;
use crate::pipeline::Stage;
use crate::projection::Rest;

/// By operator: the usual code, and that of the other engine.
const CODES: &[(&str, i32, i32)] = &[
    ("$abs", 28765, 4_903_700),
    ("$add", 16554, 4_974_201),
    ("$arrayElemAt", 28689, 5_126_701),
    ("$bsonSize", 31393, 5_043_001),
    ("$ceil", 28765, 4_903_702),
    ("$concat", 16702, 5_073_001),
    ("$dateAdd", 5_166_403, 5_166_603),
    ("$dateDiff", 5_166_307, 5_166_500),
    ("$divide", 14, 5_073_101),
    ("$exp", 28765, 4_903_703),
    ("$filter", 28651, 5_073_201),
    ("$dateToParts", 16006, 4_997_703),
    ("$floor", 28765, 4_903_704),
    ("$indexOfCP", 40093, 5_075_300),
    ("$ln", 28765, 4_903_705),
    ("$log10", 28765, 4_903_707),
    ("$log10", 28761, 4_903_708),
    ("the accumulator $mergeObjects", 40400, 5_911_200),
    ("$mod", 16611, 5_154_000),
    ("$multiply", 14, 5_073_102),
    ("$range", 34443, 5_154_300),
    ("$regexMatch", 51104, 5_073_401),
    ("$reverseArray", 34435, 5_154_901),
    ("$setIntersection", 17047, 5_126_900),
    ("$setUnion", 17043, 5_126_900),
    ("$sin", 28765, 4_995_502),
    ("$sortArray", 2_942_504, 6_096_700),
    ("$sqrt", 28765, 4_903_709),
    ("$tsSecond", 5_687_301, 5_687_400),
    ("no branch of $switch", 40066, 4_934_200),
];

/// How far a pipeline has come that is handed over: stages must come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Match,
    Sort,
    Cut,
    Project,
    Lookup,
    Group,
}

/// Marks the groups that are handed over, given the stages up to the first one with expressions that the other engine
/// does not know.
pub(in crate::pipeline) fn mark(stages: &mut [Stage]) -> Result<()> {
    let mut reached = Reached::Match;
    for stage in stages {
        let next = match stage {
            Stage::Match(query) if reached <= Reached::Sort && is_ported(&query.filter) => reached,
            Stage::Sort(sort)
                if reached <= Reached::Sort && !sort.order.fields().iter().any(|field| has_position(&field.path)) =>
            {
                Reached::Sort
            }
            Stage::Skip(_) | Stage::Limit(_) if reached <= Reached::Cut => Reached::Cut,
            // What computes may stand behind queries only.
            Stage::Project(project)
                if project.projection.rest() == Rest::Dropped
                    && (reached <= Reached::Match
                        || reached <= Reached::Cut && project.projection.included_paths().is_some()) =>
            {
                Reached::Project
            }
            Stage::Lookup(lookup) if reached <= Reached::Lookup && lookup.is_plain_join() => Reached::Lookup,
            Stage::Group(group) => {
                // A group that reads nothing is not worth it, unless something before it is.
                let reads = reached >= Reached::Project || group.reads_anything();
                if !reads || !group.fields.iter().all(|(_, field)| is_known(field)) {
                    return Ok(());
                }
                let group = crate::pipeline::unshared(group)?;
                group.is_pushed_down = true;
                group.fields.iter_mut().for_each(|(_, field)| field.is_eager = true);
                Reached::Group
            }
            _ => return Ok(()),
        };
        reached = next;
    }
    Ok(())
}

/// Whether the other engine can run a query.
fn is_ported(filter: &Filter) -> bool {
    match filter {
        Filter::ElemMatchValue(_) | Filter::Schema(_) | Filter::SampleRate(_) => false,
        _ => filter.path().is_none_or(|path| !has_position(path.as_str())) && filter.children().iter().all(is_ported),
    }
}

/// Whether one of the names of a path is a position as well.
pub(in crate::pipeline) fn has_position(path: &str) -> bool {
    path.split('.').any(|name| {
        name == "0" || (!name.is_empty() && !name.starts_with('0') && name.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn is_known(accumulator: &Accumulator) -> bool {
    !matches!(
        accumulator.kind(),
        AccumulatorKind::OneInOrder(_)
            | AccumulatorKind::SomeInOrder(_)
            | AccumulatorKind::FirstN
            | AccumulatorKind::LastN
            | AccumulatorKind::MaxN
            | AccumulatorKind::MinN
    )
}

/// The error as the other engine gives it. Messages of expressions begin with the operator's name.
pub(super) fn translate(error: Error) -> Error {
    let found = CODES.iter().find(|(operator, code, _)| *code == error.code && error.message.starts_with(operator));
    match found {
        Some((_, _, code)) => Error::new(*code, error.message),
        None => error,
    }
}
