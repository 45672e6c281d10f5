//! The stages of a running plan: each moves to its next result when asked.
//!
//! A stage does not hold documents: it stands on a record id or an index key, and gives the document or
//! the key while it stands there. The state that is read is handed down with every call, so a cursor that
//! outlives a command only needs to keep that one snapshot.

use std::ops::ControlFlow;

use bindery_document::{Doc, DocBuf, Result};
use bindery_index::RecordId;
use bindery_query::plan::{IndexBounds, Interval, Query};

use super::combine::{Intersect, Or, SortMerge};
use super::count::CountScan;
use super::fetch::Fetch;
use super::index_scan::IndexScan;
use super::project::{Project, ReturnKey};
use super::scan::{ClusteredScan, CollectionScan};
use super::shape::{Limit, Skip};
use super::sort::Sort;
use crate::collection::State;
use crate::trace::Cx;

/// What a stage has done so far, for `explain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StageStats {
    /// Calls that moved, whether or not to a result.
    pub(crate) works: u64,
    /// Results given.
    pub(crate) advanced: u64,
    /// Index entries looked at by this stage.
    pub(crate) keys_examined: u64,
    /// Documents looked at by this stage.
    pub(crate) docs_examined: u64,
    /// Times an index scan had to seek.
    pub(crate) seeks: u64,
    /// Record ids that came again.
    pub(crate) dups_dropped: u64,
    /// Bytes that a sort held.
    pub(crate) bytes_sorted: u64,
    /// Whether there is nothing more.
    pub(crate) is_eof: bool,
}

/// A running stage.
pub(crate) struct Stage {
    pub(crate) node: Node,
    pub(crate) stats: StageStats,
}

/// The kinds of stages, as the plan names them.
pub(crate) enum Node {
    Eof,
    CollectionScan(CollectionScan),
    ClusteredScan(Box<ClusteredScan>),
    IdLookup(super::fetch::IdLookup),
    IndexScan(IndexScan),
    Fetch(Box<Fetch>),
    Or(Or),
    SortMerge(SortMerge),
    Intersect(Intersect),
    Sort(Box<Sort>),
    Skip(Box<Skip>),
    Limit(Box<Limit>),
    Project(Box<Project>),
    ReturnKey(Box<ReturnKey>),
    CountScan(CountScan),
    DistinctScan(super::distinct::DistinctScan),
}

/// An index entry that a stage stands on.
#[derive(Clone, Copy)]
pub(crate) struct KeyView<'a> {
    /// The index's position in the state.
    pub(crate) index: usize,
    /// Ordered key and record id.
    pub(crate) entry: &'a [u8],
    /// What the ordered key leaves out of the values.
    pub(crate) type_bits: &'a [u8],
}

/// Takes a result, its record (if it is one) and its document, and says whether it takes another.
pub(crate) type ResultSink<'s> = dyn FnMut(Option<RecordId>, Doc<'_>) -> Result<ControlFlow<()>> + 's;

impl Stage {
    pub(crate) fn new(node: Node) -> Stage {
        Stage { node, stats: StageStats::default() }
    }

    /// Moves to the next result; false at the end.
    pub(crate) fn advance(&mut self, state: &State, cx: &mut Cx<'_>) -> Result<bool> {
        if self.stats.is_eof {
            return Ok(false);
        }
        let stats = &mut self.stats;
        let moved = match &mut self.node {
            Node::Eof => Ok(false),
            Node::CollectionScan(scan) => scan.advance(state, stats, cx),
            Node::ClusteredScan(scan) => scan.advance(state, stats, cx),
            Node::IdLookup(lookup) => lookup.advance(state, stats, cx),
            Node::IndexScan(scan) => scan.advance(state, stats, cx),
            Node::Fetch(fetch) => fetch.advance(state, stats, cx),
            Node::Or(or) => or.advance(state, stats, cx),
            Node::SortMerge(merge) => merge.advance(state, stats, cx),
            Node::Intersect(and) => and.advance(state, stats, cx),
            Node::Sort(sort) => sort.advance(state, stats, cx),
            Node::Skip(skip) => skip.advance(state, stats, cx),
            Node::Limit(limit) => limit.advance(state, stats, cx),
            Node::Project(project) => project.advance(state, stats, cx),
            Node::ReturnKey(keys) => keys.advance(state, stats, cx),
            Node::CountScan(scan) => scan.advance(state, stats, cx),
            Node::DistinctScan(scan) => scan.advance(state, stats, cx),
        }?;
        self.stats.works += 1;
        if moved {
            self.stats.advanced += 1;
        } else {
            self.stats.is_eof = true;
        }
        Ok(moved)
    }

    /// Goes to the end and counts the results on the way, those that the question's skip and limit leave.
    pub(crate) fn count_rest(&mut self, state: &State, query: &Query, cx: &mut Cx<'_>) -> Result<u64> {
        let mut found = 0;
        if let Node::CollectionScan(scan) = &mut self.node
            && !self.stats.is_eof
        {
            found = scan.count_rest(state, &mut self.stats, cx)?;
            self.stats.works += found + 1;
            self.stats.advanced += found;
            self.stats.is_eof = true;
        }
        while self.advance(state, cx)? {
            found += 1;
        }
        // A plan that only counts knows nothing of skip and limit.
        let cut = |counted: u64| counted.saturating_sub(query.skip).min(query.limit.unwrap_or(u64::MAX));
        Ok(self.counted().map_or(found, cut))
    }

    /// Whether it is known that there are no further results, without looking for one.
    pub(crate) fn is_at_end(&self) -> bool {
        self.stats.is_eof
            || match &self.node {
                Node::Eof => true,
                Node::IdLookup(lookup) => lookup.is_done(),
                Node::Limit(limit) => limit.is_reached() || limit.input.is_at_end(),
                Node::Fetch(fetch) => fetch.input.is_at_end(),
                Node::Skip(skip) => skip.input.is_at_end(),
                Node::Project(project) => project.input.is_at_end(),
                Node::ReturnKey(keys) => keys.input.is_at_end(),
                _ => false,
            }
    }

    /// What a plan counted without giving results; `None` if it gives what it finds.
    pub(crate) fn counted(&self) -> Option<u64> {
        match &self.node {
            Node::CountScan(scan) => Some(scan.count.unwrap_or(0)),
            Node::Or(or) => or.inputs.iter().map(Stage::counted).sum(),
            _ => None,
        }
    }

    /// Hands over the results that are left, until the sink takes no more; each document is looked up once.
    pub(crate) fn drain(&mut self, state: &State, cx: &mut Cx<'_>, sink: &mut ResultSink<'_>) -> Result<()> {
        if self.stats.is_eof {
            return Ok(());
        }
        match &mut self.node {
            Node::CollectionScan(scan) => scan.drain(state, &mut self.stats, cx, sink),
            Node::Fetch(fetch) => fetch.drain(state, &mut self.stats, cx, sink),
            _ => {
                while self.advance(state, cx)? {
                    if sink(self.record_id(), self.document(state))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// The record that the stage stands on; `None` where results are no records.
    pub(crate) fn record_id(&self) -> Option<RecordId> {
        match &self.node {
            Node::Eof | Node::CountScan(_) => None,
            Node::CollectionScan(scan) => Some(scan.record_id()),
            Node::ClusteredScan(scan) => Some(scan.record_id()),
            Node::IdLookup(lookup) => lookup.record_id(),
            Node::IndexScan(scan) => Some(scan.record_id()),
            Node::Fetch(fetch) => fetch.input.record_id(),
            Node::Or(or) => or.current().record_id(),
            Node::SortMerge(merge) => merge.current().and_then(Stage::record_id),
            Node::Intersect(and) => and.record_id(),
            Node::Sort(sort) => sort.record_id(),
            Node::Skip(skip) => skip.input.record_id(),
            Node::Limit(limit) => limit.input.record_id(),
            Node::Project(project) => project.input.record_id(),
            Node::ReturnKey(keys) => keys.input.record_id(),
            Node::DistinctScan(scan) => Some(scan.record_id()),
        }
    }

    /// The document that the stage stands on. Stages over index keys look their record up.
    pub(crate) fn document<'a>(&'a self, state: &'a State) -> Doc<'a> {
        match &self.node {
            Node::Project(project) => project.document(),
            Node::ReturnKey(keys) => keys.document(),
            Node::Skip(skip) => skip.input.document(state),
            Node::Limit(limit) => limit.input.document(state),
            Node::Sort(sort) if let Some(shaped) = sort.shaped() => shaped,
            _ => self.record_id().map_or(bindery_document::doc::EMPTY, |rid| stored(state, rid)),
        }
    }

    /// The index entry that the stage stands on, where its results are entries.
    pub(crate) fn key(&self) -> Option<KeyView<'_>> {
        match &self.node {
            Node::IndexScan(scan) => Some(scan.key()),
            Node::DistinctScan(scan) => Some(scan.key()),
            Node::Fetch(fetch) => fetch.input.key(),
            Node::Or(or) => or.current().key(),
            Node::SortMerge(merge) => merge.current().and_then(Stage::key),
            Node::Sort(sort) => sort.key(),
            Node::Skip(skip) => skip.input.key(),
            Node::Limit(limit) => limit.input.key(),
            _ => None,
        }
    }

    /// Whether the stage stands on the only index entry with its key, in a scan that bounds or orders by every field
    /// of the index: all but those `ordered` by must be bound to one value. False where that is not known.
    pub(crate) fn is_alone(&self, state: &State, ordered: &dyn Fn(&str) -> bool) -> bool {
        let scan = match &self.node {
            Node::IndexScan(scan) => scan,
            Node::Fetch(fetch) => match &fetch.input.node {
                Node::IndexScan(scan) => scan,
                _ => return false,
            },
            _ => return false,
        };
        let IndexBounds::Fields(bounds) = &scan.plan.bounds else { return false };
        let key = state.indexes[scan.plan.index].meta.spec.key.doc();
        let is_point = |intervals: &[Interval]| matches!(intervals, [one] if one.is_point());
        let mut fields = key.iter().zip(bounds);
        fields.all(|(field, bounds)| ordered(field.key_str()) || is_point(&bounds.intervals))
            && scan.is_sole_entry(state)
    }

    /// The stages below, in order.
    pub(crate) fn inputs(&self) -> Vec<&Stage> {
        match &self.node {
            Node::Fetch(fetch) => vec![&fetch.input],
            Node::Or(or) => or.inputs.iter().collect(),
            Node::SortMerge(merge) => merge.inputs().collect(),
            Node::Intersect(and) => and.inputs.iter().collect(),
            Node::Sort(sort) => vec![&sort.input],
            Node::Skip(skip) => vec![&skip.input],
            Node::Limit(limit) => vec![&limit.input],
            Node::Project(project) => vec![&project.input],
            Node::ReturnKey(keys) => vec![&keys.input],
            _ => Vec::new(),
        }
    }

    /// The sum of a figure over this stage and all below it.
    pub(crate) fn total(&self, figure: fn(&StageStats) -> u64) -> u64 {
        figure(&self.stats) + self.inputs().into_iter().map(|input| input.total(figure)).sum::<u64>()
    }
}

/// A record of the snapshot; it was there when its id was found, so it is there now.
pub(super) fn stored(state: &State, rid: RecordId) -> Doc<'_> {
    state.records.get(rid, &mut bindery_index::Untraced).map_or(bindery_document::doc::EMPTY, Doc::from_stored)
}

/// A document made of an index entry's values, under the fields' paths; nested where paths are dotted.
pub(super) fn key_document(state: &State, key: KeyView<'_>) -> Result<DocBuf> {
    state.indexes[key.index].document_of(key.entry, key.type_bits)
}
