//! Groups and joins that MongoDB runs in its other engine, and the error codes of such groups.
//!
//! MongoDB 6.0 hands a `$group` at the front of a pipeline, behind nothing but queries, a sort, limits, a projection and
//! plain joins, to an engine whose operators fail with codes of their own. The conditions are the same; only
//! the numbers differ, and a client can see them.

use bindery_document::{Error, Result};

use super::accumulator::{Accumulator, AccumulatorKind};
use crate::filter::Filter;
use crate::pipeline::Stage;
use crate::projection::Rest;

/// By the words that the message begins with, if more than one operator has the code: the usual code, and that of
/// the other engine. Asked of a real server, operator by operator.
const CODES: &[(&str, i32, i32)] = &[
    ("$abs", 28765, 4_903_700),
    ("cannot take $abs", 28680, 4_903_701),
    ("$acos", 28765, 4_995_502),
    ("$acos", 50989, 4_995_503),
    ("$acosh", 28765, 4_995_502),
    ("$acosh", 50989, 4_995_503),
    ("$add of one value", 16554, 4_974_203),
    ("$add", 16554, 4_974_201),
    ("$anyElementTrue", 17041, 5_159_200),
    ("$arrayElemAt", 28689, 5_126_701),
    ("$arrayElemAt", 28690, 5_126_702),
    ("$arrayElemAt", 28691, 5_126_703),
    ("$asin", 28765, 4_995_502),
    ("$asin", 50989, 4_995_503),
    ("$asinh", 28765, 4_995_501),
    ("$atan", 28765, 4_995_501),
    ("$atan2", 51044, 5_688_500),
    ("$atan2", 51045, 5_688_500),
    ("$atanh", 28765, 4_995_502),
    ("$atanh", 50989, 4_995_503),
    ("no branch of $switch", 40066, 4_934_200),
    ("$bsonSize", 31393, 5_043_001),
    ("$ceil", 28765, 4_903_702),
    ("$concat", 16702, 5_073_001),
    ("$concatArrays", 28664, 5_153_400),
    ("$cos", 28765, 4_995_502),
    ("$cos", 50989, 4_995_503),
    ("$cosh", 28765, 4_995_501),
    ("$dateAdd", 9, 5_166_605),
    ("$dateAdd", 40485, 5_166_602),
    ("$dateAdd", 40517, 5_166_601),
    ("$dateAdd", 5_166_403, 5_166_603),
    ("$dateAdd", 5_166_404, 5_166_604),
    ("$dateAdd", 5_166_405, 5_166_606),
    ("$dateDiff's endDate", 5_166_307, 5_166_501),
    ("$dateDiff", 5_166_307, 5_166_500),
    ("$dateDiff", 40485, 5_166_505),
    ("$dateDiff", 40517, 5_166_504),
    ("$dateDiff", 5_439_013, 5_166_502),
    ("$dateDiff", 5_439_014, 5_166_503),
    ("$dateDiff", 5_439_015, 5_338_801),
    ("$dateDiff", 5_439_016, 5_338_802),
    ("$dateFromParts", 40517, 4_848_980),
    ("$dateSubtract", 9, 5_166_605),
    ("$dateSubtract", 40485, 5_166_602),
    ("$dateSubtract", 40517, 5_166_601),
    ("$dateSubtract", 5_166_403, 5_166_603),
    ("$dateSubtract", 5_166_404, 5_166_604),
    ("$dateSubtract", 5_166_405, 5_166_606),
    ("$dateToParts", 16006, 4_997_703),
    ("$dateToParts", 40485, 4_997_704),
    ("$dateToParts", 40517, 4_997_701),
    ("$dayOfMonth", 16006, 4_998_202),
    ("$dayOfMonth", 40485, 4_998_201),
    ("$dayOfWeek", 16006, 4_998_202),
    ("$dayOfWeek", 40485, 4_998_201),
    ("$dayOfYear", 16006, 4_998_202),
    ("$dayOfYear", 40485, 4_998_201),
    ("$degreesToRadians", 28765, 4_995_501),
    ("cannot $divide", 2, 4_848_401),
    ("$divide", 14, 5_073_101),
    ("$exp", 28765, 4_903_703),
    ("$filter", 28651, 5_073_201),
    ("$first", 28689, 5_126_704),
    ("$floor", 28765, 4_903_704),
    ("the accumulator $mergeObjects", 40400, 5_911_200),
    ("$indexOfBytes", 40091, 5_075_300),
    ("$indexOfBytes's second argument must be a string, not null", 40092, 5_075_301),
    ("$indexOfBytes's second argument must be a string, not missing", 40092, 5_075_301),
    ("$indexOfBytes's second argument must be a string, not undefined", 40092, 5_075_301),
    ("$indexOfBytes", 40092, 5_075_302),
    ("$indexOfBytes's ending index", 40096, 5_075_305),
    ("$indexOfBytes's ending index", 40097, 5_075_306),
    ("$indexOfBytes", 40096, 5_075_303),
    ("$indexOfBytes", 40097, 5_075_304),
    ("$indexOfCP", 40093, 5_075_300),
    ("$indexOfCP's ending index", 40096, 5_075_305),
    ("$indexOfCP's ending index", 40097, 5_075_306),
    ("$indexOfCP's second argument must be a string, not null", 40094, 5_075_301),
    ("$indexOfCP's second argument must be a string, not missing", 40094, 5_075_301),
    ("$indexOfCP's second argument must be a string, not undefined", 40094, 5_075_301),
    ("$indexOfCP", 40094, 5_075_302),
    ("$indexOfCP", 40096, 5_075_303),
    ("$indexOfCP", 40097, 5_075_304),
    ("$last", 28689, 5_126_704),
    ("$ln", 28765, 4_903_705),
    ("$ln", 28766, 4_903_706),
    ("$log10", 28761, 4_903_708),
    ("$log10", 28765, 4_903_707),
    ("cannot $mod", 16610, 4_848_403),
    ("$mod", 16611, 5_154_000),
    ("cannot $mod", 5_733_415, 4_848_403),
    ("$multiply", 14, 5_073_102),
    ("$radiansToDegrees", 28765, 4_995_501),
    ("$range", 34443, 5_154_300),
    ("$range", 34444, 5_154_303),
    ("$range", 34445, 5_154_301),
    ("$range", 34446, 5_154_304),
    ("$range", 34447, 5_154_302),
    ("$range", 34448, 5_154_305),
    ("$range", 34449, 5_154_306),
    ("$regexFind", 51104, 5_073_401),
    ("$regexFind", 51105, 5_126_601),
    ("$regexFind", 51106, 5_126_603),
    ("$regexFind", 51109, 5_126_602),
    ("$regexFind", 51110, 5_126_604),
    ("$regexFindAll", 51104, 5_073_401),
    ("$regexFindAll", 51105, 5_126_601),
    ("$regexFindAll", 51106, 5_126_603),
    ("$regexFindAll", 51109, 5_126_602),
    ("$regexFindAll", 51110, 5_126_604),
    ("$regexMatch", 51104, 5_073_401),
    ("$regexMatch", 51105, 5_126_601),
    ("$regexMatch", 51106, 5_126_603),
    ("$regexMatch", 51109, 5_126_602),
    ("$regexMatch", 51110, 5_126_604),
    ("$replaceOne", 51744, 5_154_400),
    ("$replaceOne", 51745, 5_154_400),
    ("$replaceOne", 51746, 5_154_400),
    ("$reverseArray", 34435, 5_154_901),
    ("$setDifference", 17048, 5_126_900),
    ("$setDifference", 17049, 5_126_900),
    ("$setIntersection", 17047, 5_126_900),
    ("$setUnion", 17043, 5_126_900),
    ("$sin", 28765, 4_995_502),
    ("$sin", 50989, 4_995_503),
    ("$sinh", 28765, 4_995_501),
    ("$sortArray", 2_942_504, 6_096_700),
    ("$sqrt", 28714, 4_903_710),
    ("$sqrt", 28765, 4_903_709),
    ("$tan", 28765, 4_995_502),
    ("$tan", 50989, 4_995_503),
    ("$tanh", 28765, 4_995_501),
    ("$tsIncrement", 5_687_302, 5_687_401),
    ("$tsSecond", 5_687_301, 5_687_400),
    ("", 16007, 5_066_300),
    ("", 16612, 4_974_202),
    ("", 31034, 4_848_972),
    ("", 31095, 4_848_972),
    ("", 40515, 4_848_979),
    ("", 40521, 4_997_702),
    ("", 40523, 4_848_972),
    ("", 40533, 4_998_200),
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

/// Marks the groups that are handed over. From stage `n_ported` on there are expressions that the other engine does not
/// know.
pub(in crate::pipeline) fn mark(stages: &mut [Stage], n_ported: usize) -> Result<()> {
    let n_stages = stages.len();
    // A condition that reads nothing of the documents is asked before all stages that it can pass.
    let passable = |stage: &&Stage| {
        matches!(stage, Stage::Match(_) | Stage::Sort(_) | Stage::Project(_) | Stage::Lookup(_) | Stage::Group(_))
    };
    let reads_nothing = |stage: &Stage| match stage {
        Stage::Match(query) => match &query.filter {
            Filter::Expr(test) => {
                let read = test.expression.dependencies();
                read.paths.is_empty() && !read.whole_document
            }
            _ => false,
        },
        _ => false,
    };
    if stages.iter().take_while(passable).any(reads_nothing) {
        return Ok(());
    }
    let ported = stages.get_mut(..n_ported).unwrap_or_default();
    let n_handed_over = hand_over(ported)?;
    if n_handed_over < n_stages
        && let Some(Stage::Group(last)) = n_handed_over.checked_sub(1).and_then(|last| ported.get_mut(last))
    {
        crate::pipeline::unshared(last)?.is_handed_back = true;
    }
    Ok(())
}

/// Takes the marks away: nothing is handed over where documents are not read as they are stored.
pub(in crate::pipeline) fn unmark(stages: &mut [Stage]) -> Result<()> {
    for stage in stages {
        match stage {
            Stage::Lookup(lookup) if lookup.is_pushed_down => {
                crate::pipeline::unshared(lookup)?.is_pushed_down = false;
            }
            Stage::Group(group) if group.is_pushed_down => {
                let group = crate::pipeline::unshared(group)?;
                group.is_pushed_down = false;
                group.is_handed_back = false;
                group.fields.iter_mut().for_each(|(_, field)| field.is_eager = false);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Marks the groups among stages whose expressions the other engine knows; how many stages are handed over up to the
/// last one of them.
fn hand_over(stages: &mut [Stage]) -> Result<usize> {
    let mut n_handed_over = 0;
    let mut reached = Reached::Match;
    for number in 0..stages.len() {
        let Some((stage, rest)) = stages.get_mut(number..).and_then(<[Stage]>::split_first_mut) else {
            break;
        };
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
            // One whose array is unwound at once is run together with the $unwind, by the usual engine.
            Stage::Lookup(lookup)
                if reached <= Reached::Lookup
                    && lookup.is_plain_join()
                    && !matches!(rest.first(), Some(Stage::Unwind(unwind)) if unwind.path == lookup.target) =>
            {
                n_handed_over = number + 1;
                crate::pipeline::unshared(lookup)?.is_pushed_down = true;
                Reached::Lookup
            }
            Stage::Group(group) => {
                // A group that reads nothing is not worth it, unless something before it is.
                let reads = reached >= Reached::Project || group.reads_anything();
                if !reads || !group.fields.iter().all(|(_, field)| is_known(field)) {
                    return Ok(n_handed_over);
                }
                n_handed_over = number + 1;
                let group = crate::pipeline::unshared(group)?;
                group.is_pushed_down = true;
                group.fields.iter_mut().for_each(|(_, field)| field.is_eager = true);
                Reached::Group
            }
            _ => return Ok(n_handed_over),
        };
        reached = next;
    }
    Ok(n_handed_over)
}

/// Whether the other engine can run a query.
fn is_ported(filter: &Filter) -> bool {
    match filter {
        Filter::ElemMatchValue(_) | Filter::Schema(_) | Filter::SampleRate(_) => false,
        Filter::Expr(test) => test.is_ported,
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
    let begins = |words: &str| {
        let rest = error.message.strip_prefix(words);
        words.is_empty() || rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    match CODES.iter().find(|(words, code, _)| *code == error.code && begins(words)) {
        Some((_, _, code)) => Error::new(*code, error.message),
        None => error,
    }
}
