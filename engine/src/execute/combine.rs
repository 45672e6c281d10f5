//! OR, SORT_MERGE and AND: several scans made one.

use std::sync::Arc;

use bindery_document::Result;
use bindery_index::keygen::Keys;
use bindery_index::{RecordId, RecordSet};
use bindery_query::sort::Sort as Order;

use super::stage::{Stage, StageStats, key_document};
use crate::collection::State;
use crate::trace::Cx;

/// One input after the other; each record once.
pub(crate) struct Or {
    pub(super) inputs: Vec<Stage>,
    current: usize,
    seen: RecordSet,
}

impl Or {
    pub(super) fn new(inputs: Vec<Stage>) -> Or {
        Or { inputs, current: 0, seen: RecordSet::new() }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        while let Some(input) = self.inputs.get_mut(self.current) {
            if !input.advance(state, cx)? {
                if self.current + 1 == self.inputs.len() {
                    return Ok(false);
                }
                self.current += 1;
                continue;
            }
            match input.record_id() {
                Some(record_id) if !self.seen.insert(record_id) => {
                    stats.dups_dropped += 1;
                    stats.works += 1;
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The input that stands on the present result.
    pub(super) fn current(&self) -> &Stage {
        &self.inputs[self.current]
    }
}

/// Sorted inputs, merged in order; each record once.
pub(crate) struct SortMerge {
    order: Arc<Order>,
    heads: Vec<Head>,
    keys: Keys,
    current: Option<usize>,
    seen: RecordSet,
}

/// An input and the sort key of what it stands on; no key at its end or before its start.
struct Head {
    input: Stage,
    key: Option<Vec<u8>>,
    started: bool,
}

impl SortMerge {
    pub(super) fn new(inputs: Vec<Stage>, order: Arc<Order>) -> SortMerge {
        let heads = inputs.into_iter().map(|input| Head { input, key: None, started: false }).collect();
        SortMerge { order, heads, keys: Keys::new(), current: None, seen: RecordSet::new() }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            for position in 0..self.heads.len() {
                if !self.heads[position].started || self.current == Some(position) {
                    self.advance_head(position, state, cx)?;
                }
            }
            // The first of equal heads, so that the order of the inputs decides.
            let least =
                self.heads.iter().enumerate().filter_map(|(i, head)| head.key.as_ref().map(|key| (key, i))).min();
            self.current = least.map(|(_, position)| position);
            let Some(position) = self.current else { return Ok(false) };
            match self.heads[position].input.record_id() {
                Some(record_id) if !self.seen.insert(record_id) => {
                    stats.dups_dropped += 1;
                    stats.works += 1;
                }
                _ => return Ok(true),
            }
        }
    }

    fn advance_head(&mut self, position: usize, state: &State, cx: &mut Cx<'_>) -> Result<()> {
        let head = &mut self.heads[position];
        head.started = true;
        let mut buffer = head.key.take().unwrap_or_default();
        if head.input.advance(state, cx)? {
            buffer.clear();
            // A collated index gives sort keys, not strings; then the document has to say.
            match head.input.key().filter(|key| state.indexes[key.index].meta.collation.is_none()) {
                Some(key) => buffer.extend_from_slice(self.order.key(key_document(state, key)?.doc(), &mut self.keys)?),
                None => buffer.extend_from_slice(self.order.key(head.input.document(state), &mut self.keys)?),
            }
            head.key = Some(buffer);
        }
        Ok(())
    }

    /// The input that stands on the present result.
    pub(super) fn current(&self) -> Option<&Stage> {
        self.current.map(|position| &self.heads[position].input)
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = &Stage> {
        self.heads.iter().map(|head| &head.input)
    }
}

/// The records that all inputs give, ascending.
///
/// Each input is read into a set; nothing but index entries is touched before the sets are intersected.
pub(crate) struct Intersect {
    pub(super) inputs: Vec<Stage>,
    found: Option<std::vec::IntoIter<RecordId>>,
    record_id: Option<RecordId>,
}

impl Intersect {
    pub(super) fn new(inputs: Vec<Stage>) -> Intersect {
        Intersect { inputs, found: None, record_id: None }
    }

    pub(super) fn advance(&mut self, state: &State, _stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if self.found.is_none() {
            self.found = Some(self.intersect(state, cx)?.into_iter());
        }
        self.record_id = self.found.as_mut().and_then(Iterator::next);
        Ok(self.record_id.is_some())
    }

    fn intersect(&mut self, state: &State, cx: &mut Cx<'_>) -> Result<Vec<RecordId>> {
        let mut sets = Vec::with_capacity(self.inputs.len());
        for input in &mut self.inputs {
            let mut set = RecordSet::new();
            while input.advance(state, cx)? {
                if let Some(record_id) = input.record_id() {
                    set.insert(record_id);
                }
            }
            let is_empty = set.is_empty();
            sets.push(set);
            if is_empty {
                break;
            }
        }
        Ok(RecordSet::intersection(sets).iter().collect())
    }

    pub(super) fn record_id(&self) -> Option<RecordId> {
        self.record_id
    }
}
