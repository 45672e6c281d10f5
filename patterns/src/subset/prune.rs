//! Conditions on parents: those on the array leave nothing, all others stay as they are.

use bindery_document::{Doc, DocBuf};
use bindery_query::filter::Filter;
use bindery_query::sort::SortField;

use super::{Subset, field};
use crate::prune::{Pruned, StoredOrder, all_paths, first_of, rewrite, sort_document};

impl Subset {
    /// See [`Layout::prune`](crate::Layout::prune).
    pub(crate) fn prune(&self, filter: &Filter) -> Pruned {
        rewrite(filter, &|leaf| match leaf.path() {
            Some(path) if self.is_kept(path.first()) => Pruned::exact(leaf.clone()),
            _ => Pruned::anything(),
        })
    }

    /// Whether a field is stored as it is.
    pub fn is_kept(&self, name: &str) -> bool {
        name != &*self.array && name != field::SUBSET
    }

    /// Kept fields give their order unchanged.
    pub(crate) fn order(&self, fields: &[SortField]) -> StoredOrder {
        match fields.iter().all(|field| self.is_kept(first_of(&field.path))) {
            true => StoredOrder::Exact(sort_document(fields)),
            false => StoredOrder::Any,
        }
    }

    /// Kept fields are indexed as they are.
    pub(crate) fn index_key(&self, key: Doc<'_>) -> Option<DocBuf> {
        all_paths(key, |first| self.is_kept(first)).then(|| DocBuf::from(key))
    }
}
