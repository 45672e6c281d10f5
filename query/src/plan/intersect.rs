//! Set intersection: several constraints, each bounding an index of its own, met by the record ids that all give.
//!
//! Sets of record ids cost little beside documents, so that this pays where no index bounds all constraints and
//! each leaves many documents: above all several `$elemMatch`es on one array of attributes, which no index can bound
//! together.

use super::access::{Access, conjuncts, predicates};
use super::candidates::{Planning, Source};
use super::{IndexScan, Plan, ScanDirection};
use crate::filter::Filter;

/// The intersection of the most selective access for each conjunct, if there are two or more.
pub(super) fn sources(planning: &Planning<'_>, singles: &[Source]) -> Vec<Source> {
    let all = conjuncts(planning.filter);
    if all.len() < 2 || singles.is_empty() || planning.query.sort.is_some() && planning.query.limit.is_some() {
        return Vec::new();
    }
    let entries = |access: &Access| planning.statistics.entries_within(access.index, &access.index_bounds());
    let mut chosen: Vec<(u64, Access)> = Vec::new();
    for conjunct in all {
        let alone = std::slice::from_ref(conjunct);
        let accesses = planning.all_accesses(alone, &predicates(alone));
        let best = accesses
            .into_iter()
            .filter(|a| a.is_bounded && !planning.indexes[a.index].is_clustered)
            .map(|a| (entries(&a), a))
            .min_by_key(|(n, _)| *n);
        chosen.extend(best);
    }
    if chosen.len() < 2 {
        return Vec::new();
    }
    chosen.sort_by_key(|(n, _)| *n);
    // A set many times as large as the smallest costs more to read than the documents it would spare.
    let least = chosen[0].0.max(1);
    chosen.retain(|(n, _)| *n <= least.saturating_mul(20));
    if chosen.len() < 2 {
        return Vec::new();
    }
    let inputs: Vec<Plan> = chosen
        .iter()
        .map(|(_, access)| {
            Plan::IndexScan(IndexScan {
                index: access.index,
                bounds: access.index_bounds(),
                direction: ScanDirection::Forward,
                filter: super::access::conjunction(&access.key_filter),
                dedupe: false,
            })
        })
        .collect();
    let residual: Vec<Filter> = all
        .iter()
        .filter(|conjunct| !super::implied::is_implied(conjunct))
        .filter(|conjunct| !chosen.iter().any(|(_, a)| a.residual.is_empty() && serves(planning, a, conjunct)))
        .cloned()
        .collect();
    let residual = super::access::conjunction(&residual);
    let sorted = planning.query.sort.is_none();
    vec![Source { plan: Plan::Intersect { inputs }, residual, sorted, access: None, is_collection: false }]
}

/// Whether an access was made for this conjunct alone.
fn serves(planning: &Planning<'_>, access: &Access, conjunct: &Filter) -> bool {
    let alone = std::slice::from_ref(conjunct);
    planning
        .all_accesses(alone, &predicates(alone))
        .iter()
        .any(|other| other.index == access.index && other.residual.is_empty() && other.fields_equal(access))
}
