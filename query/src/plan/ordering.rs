//! Which order a scan gives: as asked, against it, or by merging scans.
//!
//! Fields bound to one value do not matter for the order; what follows must be the sort's fields in its
//! directions, or all against them. An array has its least or greatest element for a sort key, which a bounded
//! scan may never visit, so bounded multikey fields give no order.

use bindery_document::OwnedValue;

use super::access::Access;
use super::{IndexDescription, Interval, ScanDirection};
use crate::sort::Sort;

/// The most scans that a merge is made of; MongoDB's `internalQueryMaxScansToExplode`.
const MAX_SCANS: usize = 200;

/// How an access path gives an order.
pub(super) enum Provided {
    /// By being scanned this way.
    Scan(ScanDirection),
    /// By merging the scans of these accesses, each scanned this way.
    Merge(Vec<Access>, ScanDirection),
}

/// Whether and how an access path gives the order.
pub(super) fn provided(
    access: &Access,
    index: &IndexDescription<'_>,
    sort: &Sort,
    same_collation: bool,
) -> Option<Provided> {
    if !same_collation || index.key.iter().any(|e| e.key.ends_with(b"$**")) {
        return None;
    }
    // Hashes are in no order; one value is.
    let is_scattered = |path: &str| {
        let fields = index.key.iter().zip(&access.fields);
        fields
            .filter(|(e, _)| e.value().as_str() == Some("hashed"))
            .any(|(_, (hashed, intervals))| hashed == path && !is_point(intervals))
    };
    if sort.fields().iter().any(|field| is_scattered(&field.path)) {
        return None;
    }
    if let Some(direction) = scan_direction(access, sort) {
        return Some(Provided::Scan(direction));
    }
    let parts = explode(access)?;
    let direction = scan_direction(parts.first()?, sort)?;
    Some(Provided::Merge(parts, direction))
}

fn is_point(intervals: &[Interval]) -> bool {
    matches!(intervals, [one] if one.is_point())
}

fn is_whole(intervals: &[Interval]) -> bool {
    use bindery_document::Kind::{MaxKey, MinKey};
    matches!(intervals, [one] if one.start.kind() == MinKey && one.end.kind() == MaxKey)
}

fn scan_direction(access: &Access, sort: &Sort) -> Option<ScanDirection> {
    let mut backward: Option<bool> = None;
    let fixed = |path: &str| {
        access.fields.iter().zip(&access.multikey).any(|((p, i), multikey)| p == path && !multikey && is_point(i))
    };
    let mut wanted = sort.fields().iter().filter(|field| !fixed(&field.path)).peekable();
    for (position, (path, intervals)) in access.fields.iter().enumerate() {
        let Some(next) = wanted.peek() else { break };
        if *next.path == **path {
            if access.multikey[position] && (!is_whole(intervals) || shares_array_with_bounds(access, position)) {
                return None;
            }
            let against = access.descending[position] != next.descending;
            if backward.is_some_and(|b| b != against) {
                return None;
            }
            backward = Some(against);
            wanted.next();
        } else if !is_point(intervals) {
            return None;
        }
    }
    if wanted.peek().is_some() {
        return None;
    }
    Some(if backward == Some(true) { ScanDirection::Backward } else { ScanDirection::Forward })
}

/// Whether a bounded field shares its array with this one.
fn shares_array_with_bounds(access: &Access, position: usize) -> bool {
    let top = |n: usize| access.fields[n].0.split('.').next();
    (0..access.fields.len())
        .any(|n| n != position && access.multikey[n] && !is_whole(&access.fields[n].1) && top(n) == top(position))
}

/// One access for each combination of points of the leading fields, if there are not too many.
fn explode(access: &Access) -> Option<Vec<Access>> {
    let leading = access.fields.iter().take_while(|(_, i)| !i.is_empty() && i.iter().all(Interval::is_point)).count();
    let scans = access.fields[..leading].iter().fold(1, |scans: usize, (_, points)| scans.saturating_mul(points.len()));
    if leading == 0 || !(2..=MAX_SCANS).contains(&scans) || access.multikey[..leading].iter().any(|m| *m) {
        return None;
    }
    let mut parts = vec![access.clone()];
    for n in 0..leading {
        let points: Vec<OwnedValue> = access.fields[n].1.iter().map(|i| i.start.clone()).collect();
        parts = parts
            .into_iter()
            .flat_map(|part| {
                points.iter().map(move |point| {
                    let mut part = part.clone();
                    part.fields[n].1 = vec![Interval::point(point.clone())];
                    part
                })
            })
            .collect();
    }
    Some(parts)
}
