//! Conditions on attributes as `$elemMatch`es on the array.

use bindery_document::{Doc, DocBuf, OwnedValue, Path, Value};
use bindery_query::filter::{Compare, CompareOp, ElemMatchObject, Filter};
use bindery_query::sort::SortField;

use super::{Attribute, part};
use crate::prune::{Pruned, StoredOrder, accepts_missing, all_paths, below_first, first_of, moved, rewrite};

impl Attribute {
    /// See [`Layout::prune`](crate::Layout::prune). A condition on an attribute that a document without it
    /// does not meet is exactly an `$elemMatch`; others leave no trace in the array.
    pub(crate) fn prune(&self, filter: &Filter) -> Pruned {
        rewrite(filter, &|leaf| self.prune_leaf(leaf))
    }

    fn prune_leaf(&self, leaf: &Filter) -> Pruned {
        let Some(path) = leaf.path() else { return Pruned::anything() };
        if !self.is_attribute(path.first().as_bytes()) {
            return Pruned::exact(leaf.clone());
        }
        if accepts_missing(leaf) {
            return Pruned::anything();
        }
        let name = OwnedValue::new(Value::from(path.first()));
        let mut conditions = vec![Filter::Compare(Compare::new(Path::parse(part::NAME), CompareOp::Eq, name, None))];
        if !matches!(leaf, Filter::Exists(path) if path.is_top_level()) {
            let below = Path::parse(&format!("{}{}", part::VALUE, below_first(path.as_str())));
            match moved(leaf, below) {
                Some(condition) => conditions.push(condition),
                None => return Pruned::anything(),
            }
        }
        let filter = Box::new(Filter::And(conditions));
        Pruned::exact(Filter::ElemMatchObject(ElemMatchObject { path: Path::parse(&self.path), filter }))
    }

    /// Kept fields give their order unchanged.
    pub(crate) fn order(&self, fields: &[SortField]) -> StoredOrder {
        match fields.iter().all(|field| !self.is_attribute(first_of(&field.path).as_bytes())) {
            true => StoredOrder::Exact(crate::prune::sort_document(fields)),
            false => StoredOrder::Any,
        }
    }

    /// Kept fields are indexed as they are; attributes have their index already.
    pub(crate) fn index_key(&self, key: Doc<'_>) -> Option<DocBuf> {
        all_paths(key, |first| !self.is_attribute(first.as_bytes())).then(|| DocBuf::from(key))
    }
}
