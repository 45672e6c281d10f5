//! Counting without looking, and distinct values by skipping.

use bindery_document::Kind;

use super::access::{Access, conjuncts, is_whole, predicates, whole_index};
use super::candidates::Planning;
use super::ordering::{Provided, provided};
use super::{IndexDescription, IndexScan, Interval, Mode, Plan, Query, ScanDirection, Statistics};
use crate::filter::{CompareOp, Filter};

/// A count that is the number of entries in one stretch of an index, or in two of them for null. Skip and limit are
/// taken off the number.
pub(super) fn count(planning: &Planning<'_>) -> Option<Plan> {
    if *planning.filter == Filter::AlwaysTrue {
        return None;
    }
    let all = conjuncts(planning.filter);
    planning.all_accesses(all, &predicates(all)).into_iter().find_map(|access| {
        let index = &planning.indexes[access.index];
        if index.key.iter().any(|e| e.key.ends_with(b"$**")) || !access.key_filter.is_empty() {
            return None;
        }
        let stretches = match access.residual.as_slice() {
            [] => vec![access],
            [Filter::Compare(test)] if test.op == CompareOp::Eq => of_null(&access, index, test.path.as_str())?,
            _ => return None,
        };
        let scans: Option<Vec<Plan>> = stretches.iter().map(|access| count_scan(access, index)).collect();
        let mut scans = scans?;
        if scans.len() == 1 { scans.pop() } else { Some(Plan::Or { inputs: scans }) }
    })
}

/// Which document of a group is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEnd {
    /// Any of them.
    Any,
    /// The first of the order.
    First,
    /// The last of the order.
    Last,
}

/// One document of each group: those that are equal at a path, which an index holds together and in the order of the
/// query's sort. The scan skips from group to group.
pub fn one_of_each_group(
    query: &Query,
    indexes: &[IndexDescription<'_>],
    statistics: &dyn Statistics,
    mode: Mode,
    path: &str,
    end: GroupEnd,
) -> Option<Plan> {
    if query.hint.is_some() || query.min.is_some() || query.max.is_some() || query.collation.is_some() {
        return None;
    }
    // Without an order no document is the first.
    if query.sort.is_none() && end != GroupEnd::Any || has_number(path) {
        return None;
    }
    let planning = Planning { query, filter: &query.filter, indexes, statistics, mode, hinted: None };
    let all = conjuncts(planning.filter);
    let mut accesses = planning.all_accesses(all, &predicates(all));
    if all.is_empty() {
        let whole = indexes.iter().enumerate().filter(|(_, index)| index.partial.is_none() && !index.sparse);
        accesses.extend(
            whole
                .filter(|(_, index)| !index.hidden)
                .map(|(position, index)| whole_index(position, index, planning.asked(), all)),
        );
    }
    let plans = accesses.into_iter().filter_map(|access| {
        let index = &indexes[access.index];
        let at = access.fields.iter().position(|(field, _)| field == path)?;
        let bound = access.fields[..at].iter().all(|(_, intervals)| is_point(intervals));
        // What an array holds would be in several groups.
        let has_arrays = index.is_multikey || index.is_clustered || index.collation.is_some() || !is_plain(index);
        if has_arrays || !bound || !access.residual.is_empty() || !access.key_filter.is_empty() {
            return None;
        }
        // Groups of one document each are found no faster by seeking.
        if (index.unique || index.is_id) && index.key.count() == at + 1 {
            return None;
        }
        let direction = match &query.sort {
            None => ScanDirection::Forward,
            Some(sort) => match provided(&access, index, sort, true)? {
                Provided::Scan(direction) => direction,
                Provided::Merge(..) => return None,
            },
        };
        let direction = match (end, direction) {
            (GroupEnd::Last, ScanDirection::Forward) => ScanDirection::Backward,
            (GroupEnd::Last, ScanDirection::Backward) => ScanDirection::Forward,
            (GroupEnd::First | GroupEnd::Any, direction) => direction,
        };
        let scan =
            IndexScan { index: access.index, bounds: access.index_bounds(), direction, filter: None, dedupe: false };
        let input = Box::new(Plan::DistinctScan { scan, fields: at + 1 });
        Some((index.key.count(), Plan::Fetch { input, filter: None }))
    });
    plans.min_by_key(|(n_fields, _)| *n_fields).map(|(_, plan)| plan)
}

/// Whether an index is ordered by the values of its fields.
fn is_plain(index: &IndexDescription<'_>) -> bool {
    !index.key.iter().any(|e| e.value().as_str().is_some() || e.key.ends_with(b"$**"))
}

/// Whether a path has a name that can be a position.
fn has_number(path: &str) -> bool {
    path.split('.').any(|part| part.bytes().all(|b| b.is_ascii_digit()))
}

fn count_scan(access: &Access, index: &IndexDescription<'_>) -> Option<Plan> {
    let leading = access.fields.iter().take_while(|(_, intervals)| is_point(intervals)).count();
    let contiguous =
        access.fields.iter().skip(leading).enumerate().all(|(n, (_, i))| (n == 0 && i.len() == 1) || is_whole(i));
    // An array has several entries in a range, but only one for each value.
    let once = !index.is_multikey || leading == access.fields.len();
    (contiguous && once).then(|| {
        Plan::CountScan(IndexScan {
            index: access.index,
            bounds: access.index_bounds(),
            direction: ScanDirection::Forward,
            filter: None,
            dedupe: false,
        })
    })
}

/// The stretches of null and of undefined, if having such a key is all that a test for null asks: null and what is
/// missing need not be told apart to be counted, but an array would have to be looked at.
fn of_null(access: &Access, index: &IndexDescription<'_>, path: &str) -> Option<Vec<Access>> {
    let field = access.fields.iter().position(|(field, _)| field == path)?;
    let has_text = index.key.iter().any(|e| e.value().as_str().is_some());
    if access.multikey.iter().any(|multikey| *multikey) || has_text {
        return None;
    }
    let intervals = &access.fields[field].1;
    if !intervals
        .iter()
        .all(|interval| interval.is_point() && matches!(interval.start.kind(), Kind::Null | Kind::Undefined))
    {
        return None;
    }
    let alone = |interval: &Interval| {
        let mut part = access.clone();
        part.fields[field].1 = vec![interval.clone()];
        part
    };
    Some(intervals.iter().map(alone).collect())
}

fn is_point(intervals: &[Interval]) -> bool {
    matches!(intervals, [one] if one.is_point())
}

/// Distinct values of a path that an index starts with, or has behind fields bound to one value.
///
/// As on the server the values are those of the keys, which is not quite the same: what is missing has the key null,
/// and an empty array the key undefined.
pub(super) fn distinct(planning: &Planning<'_>, path: &str) -> Option<Plan> {
    let query = planning.query;
    let all = conjuncts(planning.filter);
    let predicates = predicates(all);
    let mut accesses = planning.all_accesses(all, &predicates);
    if all.is_empty() {
        // The index with the fewest fields, be it sparse.
        let starts = |index: &IndexDescription<'_>| index.key.first().is_some_and(|e| e.key_str() == path);
        let fitting = planning.indexes.iter().enumerate();
        let fitting = fitting.filter(|(_, index)| starts(index) && index.partial.is_none() && !index.hidden);
        let shortest = fitting.min_by_key(|(_, index)| index.key.count());
        accesses.extend(shortest.map(|(position, index)| whole_index(position, index, planning.asked(), all)));
    }
    accesses.into_iter().find_map(|access| {
        let index = &planning.indexes[access.index];
        let at = access.fields.iter().position(|(field, _)| field == path)?;
        let bound = access.fields[..at].iter().all(|(_, intervals)| is_point(intervals));
        let exact = access.residual.is_empty() && access.key_filter.is_empty();
        // An array's elements are its values only where the index was not bounded by them.
        let arrays_fit = !access.multikey[at] || all.is_empty();
        // What is above the path is in the key too, and says that the path leads nowhere where the key has null.
        let is_above = |other: &str| path.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
        let holds_parent = index.key.iter().any(|e| is_above(e.key_str()));
        if !is_plain(index)
            || !bound
            || !exact
            || !arrays_fit
            || holds_parent
            || index.is_clustered
            || index.collation.is_some()
            || query.collation.is_some()
            || has_number(path)
        {
            return None;
        }
        let scan = IndexScan {
            index: access.index,
            bounds: access.index_bounds(),
            direction: ScanDirection::Forward,
            filter: None,
            dedupe: false,
        };
        Some(Plan::DistinctScan { scan, fields: at + 1 })
    })
}
