//! SORT: the input's results in order.
//!
//! Results stay in the snapshot while they are sorted: what is held is sort keys and record ids (and
//! index entries, if what comes after is made of them). Only documents that were given another shape below are
//! held themselves. The memory limit still counts documents, as the server does.

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Result};
use bindery_index::RecordId;
use bindery_index::keygen::Keys;
use bindery_query::sort::{SORT_MEMORY_BYTES, Sort as Order, Sorted, Sorter};

use super::stage::{KeyView, Node, Stage, StageStats, key_document};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct Sort {
    pub(super) input: Stage,
    pub(super) order: Arc<Order>,
    pub(super) limit: Option<u64>,
    /// Whether index entries are kept beside record ids.
    keep_keys: bool,
    sorted: Option<Sorted<Item>>,
    current: Option<Item>,
}

/// What is held of a result.
#[derive(Debug)]
struct Item {
    record_id: Option<RecordId>,
    key: Option<Box<Entry>>,
    shaped: Option<DocBuf>,
}

#[derive(Debug)]
struct Entry {
    index: usize,
    entry: Box<[u8]>,
    type_bits: Box<[u8]>,
}

impl Sort {
    pub(super) fn new(input: Stage, order: Arc<Order>, limit: Option<u64>, keep_keys: bool) -> Sort {
        Sort { input, order, limit, keep_keys, sorted: None, current: None }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(state, stats, cx)?);
        }
        self.current = self.sorted.as_mut().and_then(Iterator::next);
        Ok(self.current.is_some())
    }

    fn sort(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<Sorted<Item>> {
        let limit = self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let mut sorter = Sorter::new(limit, SORT_MEMORY_BYTES);
        let mut keys = Keys::new();
        let has_documents = gives_documents(&self.input);
        let has_shapes = gives_shapes(&self.input);
        let shaped = |document: Doc<'_>| has_shapes.then(|| DocBuf::from(document));
        if has_documents && !self.keep_keys {
            self.input.drain(state, cx, &mut |record_id, document| {
                stats.works += 1;
                let item = || Item { record_id, key: None, shaped: shaped(document) };
                sorter.offer(&self.order, document, &mut keys, 0, item)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        while self.input.advance(state, cx)? {
            stats.works += 1;
            let view = self.input.key().filter(|_| self.keep_keys);
            let (key, bytes) = match self.input.key().filter(|_| !has_documents) {
                Some(view) => {
                    let document = key_document(state, view)?;
                    let length = document.as_bytes().len();
                    (self.order.key(document.doc(), &mut keys)?, length)
                }
                None => {
                    let document = self.input.document(state);
                    (self.order.key(document, &mut keys)?, document.as_bytes().len())
                }
            };
            if !sorter.wants(key) {
                continue;
            }
            let entry = |view: KeyView<'_>| {
                let (entry, type_bits) = (view.entry.into(), view.type_bits.into());
                Box::new(Entry { index: view.index, entry, type_bits })
            };
            let shaped = if has_shapes { shaped(self.input.document(state)) } else { None };
            let item = Item { record_id: self.input.record_id(), key: view.map(entry), shaped };
            sorter.push(key, item, bytes)?;
        }
        stats.bytes_sorted = sorter.used_bytes() as u64;
        Ok(sorter.finish())
    }

    pub(super) fn record_id(&self) -> Option<RecordId> {
        self.current.as_ref().and_then(|item| item.record_id)
    }

    /// The document, where it was given another shape before it was sorted.
    pub(super) fn shaped(&self) -> Option<Doc<'_>> {
        Some(self.current.as_ref()?.shaped.as_ref()?.doc())
    }

    pub(super) fn key(&self) -> Option<KeyView<'_>> {
        let key = self.current.as_ref()?.key.as_deref()?;
        Some(KeyView { index: key.index, entry: &key.entry, type_bits: &key.type_bits })
    }
}

/// Whether documents were looked at below; else what is sorted by is taken from index keys.
fn gives_documents(stage: &Stage) -> bool {
    match &stage.node {
        Node::IndexScan(_) | Node::DistinctScan(_) => false,
        Node::Or(_) | Node::SortMerge(_) | Node::Skip(_) | Node::Limit(_) => {
            stage.inputs().into_iter().all(gives_documents)
        }
        _ => true,
    }
}

/// Whether documents come from below in another shape than they are stored in.
fn gives_shapes(stage: &Stage) -> bool {
    match &stage.node {
        Node::Project(_) | Node::ReturnKey(_) => true,
        Node::Skip(_) | Node::Limit(_) => stage.inputs().into_iter().all(gives_shapes),
        _ => false,
    }
}
