//! Candidates: every plan worth weighing for a question.
//!
//! A conjunction is served by one index, or by a disjunction inside it; a disjunction by an index for every
//! branch. Whole indexes are candidates where they spare a sort. Without any of them the collection is scanned.

use std::sync::Arc;

use bindery_document::{Error, Result, code};

use super::access::{Access, Asked, accesses, conjuncts, fetch_order, predicates, whole_index};
use super::finish::finish;
use super::implied::is_implied;
use super::ordering::{Provided, provided};
use super::{IndexDescription, IndexScan, Mode, Plan, Query, ScanDirection, Statistics};
use crate::filter::Filter;

/// What is being planned.
pub(super) struct Planning<'p> {
    pub(super) query: &'p Query,
    /// The query's filter, and what its expressions imply.
    pub(super) filter: &'p Filter,
    pub(super) indexes: &'p [IndexDescription<'p>],
    pub(super) statistics: &'p dyn Statistics,
    pub(super) mode: Mode,
    /// The only index that may be used.
    pub(super) hinted: Option<usize>,
}

/// How documents are found, before sort, skip, limit and projection.
#[derive(Clone)]
pub(super) struct Source {
    /// Gives record ids.
    pub(super) plan: Plan,
    /// What the documents must still match.
    pub(super) residual: Option<Arc<Filter>>,
    /// Whether the sort's order is given already.
    pub(super) sorted: bool,
    /// The access behind it, if it is one scan or a merge of scans of one index.
    pub(super) access: Option<Access>,
    /// Whether it is a scan of the collection, which gives documents.
    pub(super) is_collection: bool,
}

impl Planning<'_> {
    pub(super) fn usable(&self) -> impl Iterator<Item = (usize, &IndexDescription<'_>)> {
        self.indexes.iter().enumerate().filter(|(position, index)| match self.hinted {
            Some(hinted) => *position == hinted,
            None => !index.hidden,
        })
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { query: self.query, mode: self.mode }
    }

    /// Whether the order of strings in an index is the query's.
    pub(super) fn same_collation(&self, index: &IndexDescription<'_>) -> bool {
        match (index.collation, &self.query.collation) {
            (None, None) => true,
            (Some(a), Some(b)) => a.spec() == b.spec(),
            _ => false,
        }
    }

    /// All whole plans, in MongoDB's order of enumeration.
    ///
    /// # Errors
    /// Those of weighing the branches of a disjunction.
    pub(super) fn candidates(&self) -> Result<Vec<Plan>> {
        let mut sources = self.sources(self.filter)?;
        let gives_order = sources.iter().any(|source| source.sorted);
        if let Some(sort) = &self.query.sort
            && !gives_order
        {
            for (position, index) in self.usable() {
                // Such indexes leave documents out.
                if (index.sparse || index.partial.is_some()) && self.hinted.is_none() {
                    continue;
                }
                let access = whole_index(position, index, self.asked(), conjuncts(self.filter));
                if let Some(Provided::Scan(direction)) = provided(&access, index, sort, self.same_collation(index)) {
                    sources.push(self.scan(access, direction, true));
                }
            }
        }
        if sources.is_empty()
            && let Some(hinted) = self.hinted
        {
            let index = &self.indexes[hinted];
            if index.key.iter().any(|e| e.key.ends_with(b"$**")) {
                return Err(Error::new(
                    code::NO_QUERY_EXECUTION_PLANS,
                    "No query solutions: a wildcard index holds only some of what is asked for",
                ));
            }
            let access = whole_index(hinted, index, self.asked(), conjuncts(self.filter));
            sources.push(self.scan(access, ScanDirection::Forward, self.query.sort.is_none()));
        }
        if sources.is_empty() {
            sources.push(collection_scan(self.query, ScanDirection::Forward));
        } else if self.mode == Mode::Bindery && self.hinted.is_none() {
            sources.extend(super::intersect::sources(self, &sources));
            if self.all_look_at_everything(&sources) {
                sources.push(collection_scan(self.query, ScanDirection::Forward));
            }
        }
        Ok(sources.into_iter().map(|source| finish(self, source)).collect())
    }

    /// Whether each of these will fetch every document: then the collection is better scanned without an index. Where
    /// an index gives an order or stops early, or bounds leave it open how much they leave out, it is not certain.
    fn all_look_at_everything(&self, sources: &[Source]) -> bool {
        let documents = self.statistics.documents();
        let all = |source: &Source| match (&source.plan, &source.access) {
            (Plan::IndexScan(scan), Some(access)) => {
                access.is_one_stretch()
                    && scan.filter.is_none()
                    && (self.query.sort.is_none() || !source.sorted)
                    && self.statistics.entries_within(scan.index, &scan.bounds) >= documents
                    && !self.indexes[scan.index].is_multikey
            }
            _ => false,
        };
        self.query.limit.is_none() && sources.iter().all(all)
    }

    /// The ways to find the documents that match a filter by indexes.
    pub(super) fn sources(&self, filter: &Filter) -> Result<Vec<Source>> {
        match filter {
            Filter::Or(branches) => Ok(self.disjunction(branches, &[])?.into_iter().collect()),
            _ => self.conjunction(conjuncts(filter)),
        }
    }

    fn conjunction(&self, conjuncts: &[Filter]) -> Result<Vec<Source>> {
        let predicates = predicates(conjuncts);
        let mut sources = Vec::new();
        for access in self.all_accesses(conjuncts, &predicates) {
            sources.push(self.ordered(access));
        }
        for (position, conjunct) in conjuncts.iter().enumerate() {
            if let Filter::Or(branches) = conjunct {
                let rest: Vec<Filter> = conjuncts
                    .iter()
                    .enumerate()
                    .filter(|(n, c)| *n != position && !is_implied(c))
                    .map(|(_, c)| c.clone())
                    .collect();
                sources.extend(self.disjunction(branches, &rest)?);
            }
        }
        Ok(sources)
    }

    /// All accesses of all indexes to a conjunction.
    pub(super) fn all_accesses(
        &self,
        conjuncts: &[Filter],
        predicates: &[super::access::Predicate<'_>],
    ) -> Vec<Access> {
        let mut all = Vec::new();
        for (position, index) in self.usable() {
            if index.partial.is_some_and(|partial| !super::partial::implies(conjuncts, partial)) {
                continue;
            }
            if index.key.iter().any(|e| e.key.ends_with(b"$**")) {
                all.extend(super::wildcard::accesses(position, index, self.asked(), conjuncts, predicates));
            } else {
                all.extend(accesses(position, index, self.asked(), conjuncts, predicates));
            }
        }
        // Rather another index than one that may not have it all.
        if self.mode == Mode::Bindery && all.iter().any(|access| !access.misses_some) {
            all.retain(|access| !access.misses_some);
        }
        all
    }

    /// A scan, in the sort's direction if it gives the order.
    fn ordered(&self, access: Access) -> Source {
        let index = &self.indexes[access.index];
        let Some(sort) = &self.query.sort else {
            return self.scan(access, ScanDirection::Forward, true);
        };
        match provided(&access, index, sort, self.same_collation(index)) {
            None => self.scan(access, ScanDirection::Forward, false),
            Some(Provided::Scan(direction)) => self.scan(access, direction, true),
            Some(Provided::Merge(..)) if index.is_clustered => self.scan(access, ScanDirection::Forward, false),
            Some(Provided::Merge(parts, direction)) => {
                let inputs = parts.iter().map(|part| self.scan(part.clone(), direction, true).plan).collect();
                let plan = Plan::SortMerge { inputs, order: Arc::clone(sort) };
                Source { plan, residual: access.residual(), sorted: true, access: Some(access), is_collection: false }
            }
        }
    }

    fn scan(&self, access: Access, direction: ScanDirection, sorted: bool) -> Source {
        let index = &self.indexes[access.index];
        if index.is_clustered {
            return clustered_scan(access, direction, sorted);
        }
        let plan = Plan::IndexScan(IndexScan {
            index: access.index,
            bounds: access.index_bounds(),
            direction,
            filter: super::access::conjunction(&access.key_filter),
            dedupe: index.is_multikey || access.visits_several_paths(),
        });
        Source { plan, residual: access.residual(), sorted, access: Some(access), is_collection: false }
    }

    /// The union of the best way for each branch; none if a branch has no index.
    fn disjunction(&self, branches: &[Filter], rest: &[Filter]) -> Result<Option<Source>> {
        let mut parts = Vec::new();
        for branch in branches {
            let sources = self.sources(branch)?;
            match sources.len() {
                0 => return Ok(None),
                1 => parts.extend(sources),
                _ => {
                    let plans: Vec<Plan> = sources.iter().map(|source| fetched(source.clone())).collect();
                    let best = self.best(&plans);
                    parts.extend(sources.into_iter().nth(best));
                }
            }
        }
        let residual = super::access::conjunction(&fetch_order(rest.to_vec()));
        let clustered = parts.iter().any(|part| part.is_collection);
        if let Some(merged) = self.merge_leaves(&parts).filter(|_| !clustered || residual.is_none()) {
            let sorted = self.query.sort.is_none();
            return Ok(Some(Source { residual, sorted: sorted || merged.sorted, ..merged }));
        }
        // What scans the collection gives documents, which are not looked up again.
        if clustered {
            return Ok(None);
        }
        let order = self.query.sort.as_ref().filter(|_| parts.iter().all(|part| part.sorted));
        let sorted = order.is_some() || self.query.sort.is_none();
        let inputs: Vec<Plan> = parts.into_iter().map(fetched_if_needed).collect();
        let plan = match order {
            Some(order) => Plan::SortMerge { inputs, order: Arc::clone(order) },
            None => Plan::Or { inputs },
        };
        Ok(Some(Source { plan, residual, sorted, access: None, is_collection: false }))
    }

    /// Branches that bound the same single field of the same index become one scan.
    fn merge_leaves(&self, parts: &[Source]) -> Option<Source> {
        let accesses: Vec<&Access> = parts.iter().map(|part| part.access.as_ref()).collect::<Option<_>>()?;
        let first = accesses.first()?;
        let mergeable = accesses
            .iter()
            .all(|a| a.index == first.index && a.fields.len() == 1 && a.residual.is_empty() && a.key_filter.is_empty());
        if !mergeable || parts.len() < 2 {
            return None;
        }
        let axis = super::interval::Axis { collation: self.indexes[first.index].collation };
        let mut merged = Access::clone(first);
        merged.fields[0].1 = axis.unite(accesses.iter().flat_map(|a| a.fields[0].1.iter().cloned()).collect());
        Some(self.ordered(merged))
    }

    /// The best of some plans: by trial where the data can be tried, else by cost.
    pub(super) fn best(&self, plans: &[Plan]) -> usize {
        if self.mode == Mode::MongoDb
            && let Some(best) = self.statistics.try_out(plans)
        {
            return best;
        }
        let costs = super::cost::costs(plans, self.statistics);
        let least = (0..plans.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        least.unwrap_or(0)
    }
}

/// The whole collection.
pub(super) fn collection_scan(query: &Query, direction: ScanDirection) -> Source {
    let filter = match &*query.filter {
        Filter::AlwaysTrue => None,
        _ => Some(Arc::clone(&query.filter)),
    };
    Source {
        plan: Plan::CollectionScan { filter, direction },
        residual: None,
        sorted: query.sort.is_none(),
        access: None,
        is_collection: true,
    }
}

/// A stretch of a clustered collection, or all of it in one direction or the other.
fn clustered_scan(mut access: Access, direction: ScanDirection, sorted: bool) -> Source {
    access.residual.append(&mut access.key_filter);
    let filter = access.residual();
    let plan = if access.is_bounded {
        let (index, bounds) = (access.index, access.index_bounds());
        let scan = IndexScan { index, bounds, direction, filter: None, dedupe: false };
        Plan::ClusteredScan { scan, filter }
    } else {
        Plan::CollectionScan { filter, direction }
    };
    Source { plan, residual: None, sorted, access: Some(access), is_collection: true }
}

/// A source that gives documents.
pub(super) fn fetched(source: Source) -> Plan {
    Plan::Fetch { input: Box::new(source.plan), filter: source.residual }
}

/// A source of record ids; documents are looked at only if the filter needs them.
fn fetched_if_needed(source: Source) -> Plan {
    if source.residual.is_some() { fetched(source) } else { source.plan }
}
