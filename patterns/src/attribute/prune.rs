//! Conditions on attributes as `$elemMatch`es on the array.

use bindery_document::{Doc, DocBuf, OwnedValue, Path, Value};
use bindery_query::filter::{Compare, CompareOp, ElemMatchObject, Filter};
use bindery_query::sort::SortField;

use super::{Attribute, part};
use crate::prune::{Pruned, StoredOrder, accepts_missing, all_paths, below_first, first_of, moved, rewrite};

impl Attribute {
    /// See [`Layout::prune`](crate::Layout::prune). A condition on an attribute that a document without it
    /// does not meet is exactly an `$elemMatch`; others leave no trace in the array. Conditions on one attribute
    /// share an `$elemMatch`, so that they bound the same index entries.
    pub(crate) fn prune(&self, filter: &Filter) -> Pruned {
        match filter {
            Filter::And(parts) => self.prune_all(parts),
            Filter::Or(parts) => Pruned::or(parts.iter().map(|part| self.prune(part)).collect()),
            _ => rewrite(filter, &|leaf| self.prune_leaf(leaf)),
        }
    }

    fn prune_all(&self, parts: &[Filter]) -> Pruned {
        let mut pruned = Vec::new();
        let mut attributes: Vec<(&str, Vec<Filter>)> = Vec::new();
        for part in parts {
            match part.path().zip(self.condition(part)) {
                Some((path, conditions)) => {
                    let at = attributes.iter().position(|(name, _)| *name == path.first());
                    let at = at.unwrap_or_else(|| {
                        attributes.push((path.first(), Vec::new()));
                        attributes.len() - 1
                    });
                    attributes[at].1.extend(conditions);
                }
                None => pruned.push(self.prune(part)),
            }
        }
        pruned.extend(attributes.into_iter().map(|(name, conditions)| self.has_attribute(name, conditions)));
        Pruned::and(pruned)
    }

    fn prune_leaf(&self, leaf: &Filter) -> Pruned {
        match leaf.path() {
            Some(path) if !self.is_attribute(path.first().as_bytes()) => Pruned::exact(leaf.clone()),
            Some(path) => match self.condition(leaf) {
                Some(condition) => self.has_attribute(path.first(), condition.into_iter().collect()),
                None => Pruned::anything(),
            },
            None => Pruned::anything(),
        }
    }

    /// What a leaf on an attribute asks of the attribute's value, if it asks that there is one; nothing more, if
    /// that is all.
    fn condition(&self, leaf: &Filter) -> Option<Option<Filter>> {
        let path = leaf.path().filter(|path| self.is_attribute(path.first().as_bytes()))?;
        if accepts_missing(leaf) {
            return None;
        }
        if matches!(leaf, Filter::Exists(path) if path.is_top_level()) {
            return Some(None);
        }
        let below = Path::parse(&format!("{}{}", part::VALUE, below_first(path.as_str())));
        moved(leaf, below).map(Some)
    }

    /// That there is an attribute of this name whose value meets the conditions.
    fn has_attribute(&self, name: &str, mut conditions: Vec<Filter>) -> Pruned {
        let name = OwnedValue::new(Value::from(name));
        conditions.insert(0, Filter::Compare(Compare::new(Path::parse(part::NAME), CompareOp::Eq, name, None)));
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
