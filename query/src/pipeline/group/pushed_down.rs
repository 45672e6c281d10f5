//! Error codes of a group that MongoDB runs in its other engine.
//!
//! MongoDB 6.0 hands a `$group` at the front of a pipeline, behind nothing but queries, sorts, limits and
//! inclusions, to an engine whose operators fail with codes of their own. The conditions are the same; only
//! the numbers differ, and a client can see them.

use bindery_document::Error;

use super::accumulator::{Accumulator, AccumulatorKind};
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

/// Whether a group behind these stages is handed over.
pub(in crate::pipeline) fn is_pushed_down<'a>(before: &[Stage], fields: impl Iterator<Item = &'a Accumulator>) -> bool {
    let keeps_company = |stage: &Stage| match stage {
        Stage::Match(_) | Stage::Sort(_) | Stage::Limit(_) | Stage::Skip(_) => true,
        Stage::Group(group) => group.is_pushed_down,
        Stage::Project(project) => {
            project.projection.rest() == Rest::Dropped && project.projection.included_paths().is_some()
        }
        _ => false,
    };
    let mut kinds = fields.map(Accumulator::kind);
    before.iter().all(keeps_company)
        && kinds.all(|kind| {
            !matches!(
                kind,
                AccumulatorKind::OneInOrder(_)
                    | AccumulatorKind::SomeInOrder(_)
                    | AccumulatorKind::FirstN
                    | AccumulatorKind::LastN
                    | AccumulatorKind::MaxN
                    | AccumulatorKind::MinN
            )
        })
}

/// The error as the other engine gives it. Messages of expressions begin with the operator's name.
pub(super) fn translate(error: Error) -> Error {
    let found = CODES.iter().find(|(operator, code, _)| *code == error.code && error.message.starts_with(operator));
    match found {
        Some((_, _, code)) => Error::new(*code, error.message),
        None => error,
    }
}
