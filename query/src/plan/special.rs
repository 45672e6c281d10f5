//! Counting without looking, and distinct values by skipping.

use bindery_document::Kind;

use super::access::{conjuncts, predicates, whole_index};
use super::candidates::Planning;
use super::{IndexScan, Interval, Mode, Plan, ScanDirection};
use crate::filter::Filter;

/// A count that is the number of entries in one stretch of an index.
pub(super) fn count(planning: &Planning<'_>) -> Option<Plan> {
    let query = planning.query;
    if query.skip > 0 || query.limit.is_some() || *query.filter == Filter::AlwaysTrue {
        return None;
    }
    let all = conjuncts(&query.filter);
    for access in planning.all_accesses(all, &predicates(all)) {
        let index = &planning.indexes[access.index];
        let is_wildcard = index.key.iter().any(|e| e.key.ends_with(b"$**"));
        let leading = access.fields.iter().take_while(|(_, i)| matches!(i.as_slice(), [one] if one.is_point())).count();
        let is_whole = |intervals: &[Interval]| matches!(intervals, [one] if one.start.kind() == Kind::MinKey && one.end.kind() == Kind::MaxKey);
        let contiguous =
            access.fields.iter().skip(leading).enumerate().all(|(n, (_, i))| (n == 0 && i.len() == 1) || is_whole(i));
        // An array has several entries in a range, but only one for each value.
        let once = !index.is_multikey || leading == access.fields.len();
        if access.residual.is_empty() && access.key_filter.is_empty() && contiguous && once && !is_wildcard {
            return Some(Plan::CountScan(IndexScan {
                index: access.index,
                bounds: access.index_bounds(),
                direction: ScanDirection::Forward,
                filter: None,
                dedupe: false,
            }));
        }
    }
    None
}

/// Distinct values of a path that an index starts with, or has behind fields bound to one value.
pub(super) fn distinct(planning: &Planning<'_>, path: &str) -> Option<Plan> {
    let query = planning.query;
    let all = conjuncts(&query.filter);
    let predicates = predicates(all);
    let mut accesses = planning.all_accesses(all, &predicates);
    if all.is_empty() {
        for (position, index) in planning.indexes.iter().enumerate() {
            let starts = index.key.first().is_some_and(|e| e.key_str() == path);
            if starts && !index.sparse && index.partial.is_none() && !index.hidden {
                accesses.push(whole_index(position, index, query, all));
            }
        }
    }
    let has_number = path.split('.').any(|part| part.bytes().all(|b| b.is_ascii_digit()));
    accesses.into_iter().find_map(|access| {
        let index = &planning.indexes[access.index];
        let at = access.fields.iter().position(|(field, _)| field == path)?;
        let is_plain = !index.key.iter().any(|e| e.value().as_str().is_some() || e.key.ends_with(b"$**"));
        let bound = access.fields[..at].iter().all(|(_, i)| matches!(i.as_slice(), [one] if one.is_point()));
        let exact = access.residual.is_empty() && access.key_filter.is_empty();
        // An array's elements are its values only where the index was not bounded by them, and in the server's eyes
        // only for paths without dots.
        let arrays_fit =
            !access.multikey[at] || (all.is_empty() && !path.contains('.') && planning.mode == Mode::MongoDb);
        if !is_plain
            || !bound
            || !exact
            || !arrays_fit
            || index.collation.is_some()
            || query.collation.is_some()
            || has_number
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
