//! What layouts share about filters and orders: moving conditions to other paths, and what comes of it.

use bindery_document::{Builder, Doc, DocBuf, Path, doc};
use bindery_query::filter::{BitTest, ElemMatchObject, ElemMatchValue, Modulo, RegexTest, SizeTest, TypeTest};
use bindery_query::filter::{Compare, Filter, Membership, canonical};
use bindery_query::sort::SortField;

/// A stored filter made of a logical one.
#[derive(Clone, Debug)]
pub struct Pruned {
    /// What every stored document with a match satisfies.
    pub filter: Filter,
    /// Whether the converse holds, too: all logical documents in a stored one that satisfies it match.
    pub exact: bool,
}

impl Pruned {
    /// Nothing is known: every stored document may hold a match.
    pub fn anything() -> Pruned {
        Pruned { filter: Filter::AlwaysTrue, exact: false }
    }

    /// The same condition.
    pub(crate) fn exact(filter: Filter) -> Pruned {
        Pruned { filter, exact: true }
    }

    /// In the form that the planner takes.
    pub(crate) fn simplified(self) -> Pruned {
        Pruned { filter: canonical::sort(canonical::simplify(self.filter)), exact: self.exact }
    }

    /// All of them.
    pub(crate) fn and(parts: Vec<Pruned>) -> Pruned {
        let exact = parts.iter().all(|part| part.exact);
        Pruned { filter: Filter::And(parts.into_iter().map(|part| part.filter).collect()), exact }
    }

    /// At least one of them.
    pub(crate) fn or(parts: Vec<Pruned>) -> Pruned {
        let exact = parts.iter().all(|part| part.exact);
        Pruned { filter: Filter::Or(parts.into_iter().map(|part| part.filter).collect()), exact }
    }
}

/// In what order stored documents are to be read so that logical ones come in a wanted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredOrder {
    /// No order of stored documents helps.
    Any,
    /// This order of stored documents gives the wanted one.
    Exact(DocBuf),
    /// Stored documents that are equal under this order must be sorted among themselves; between those that
    /// are not, this order decides.
    Groups(DocBuf),
}

/// What becomes of the leaves of a filter. Combinations are taken apart here once for all layouts.
///
/// `leaf` says what a condition on one path means for stored documents.
pub(crate) fn rewrite(filter: &Filter, leaf: &dyn Fn(&Filter) -> Pruned) -> Pruned {
    match filter {
        Filter::And(parts) => Pruned::and(parts.iter().map(|part| rewrite(part, leaf)).collect()),
        Filter::Or(parts) => Pruned::or(parts.iter().map(|part| rewrite(part, leaf)).collect()),
        // A negation can be turned around only where nothing was lost below it.
        Filter::Nor(parts) => {
            let parts = Pruned::or(parts.iter().map(|part| rewrite(part, leaf)).collect());
            negated(parts)
        }
        Filter::Not(part) => negated(rewrite(part, leaf)),
        Filter::AlwaysTrue | Filter::AlwaysFalse => Pruned::exact(filter.clone()),
        _ if filter.path().is_some() => leaf(filter),
        _ => Pruned::anything(),
    }
}

fn negated(part: Pruned) -> Pruned {
    match part.exact {
        true => Pruned::exact(Filter::Not(Box::new(part.filter))),
        false => Pruned::anything(),
    }
}

/// A leaf with its path replaced; `None` for what is no leaf that can be moved.
pub(crate) fn moved(leaf: &Filter, path: Path) -> Option<Filter> {
    Some(match leaf {
        Filter::Compare(test) => {
            Filter::Compare(Compare::new(path, test.op, test.operand.clone(), test.collation.clone()))
        }
        Filter::In(test) => {
            let (values, regexes) = (test.values.clone(), test.regexes.clone());
            Filter::In(Membership::new(path, values, regexes, test.collation.clone()))
        }
        Filter::Regex(test) => Filter::Regex(RegexTest { path, ..test.clone() }),
        Filter::Exists(_) => Filter::Exists(path),
        Filter::Type(test) => Filter::Type(TypeTest { path, ..test.clone() }),
        Filter::Mod(test) => Filter::Mod(Modulo { path, ..test.clone() }),
        Filter::Size(test) => Filter::Size(SizeTest { path, ..test.clone() }),
        Filter::ElemMatchObject(test) => Filter::ElemMatchObject(ElemMatchObject { path, filter: test.filter.clone() }),
        Filter::ElemMatchValue(test) => Filter::ElemMatchValue(ElemMatchValue { path, filters: test.filters.clone() }),
        Filter::Bits(test) => Filter::Bits(BitTest { path, ..test.clone() }),
        _ => return None,
    })
}

/// Whether a leaf passes where there is nothing.
pub(crate) fn accepts_missing(leaf: &Filter) -> bool {
    leaf.matches(doc::EMPTY).unwrap_or(true)
}

/// What follows the first name of a dotted path, its dot included.
pub(crate) fn below_first(path: &str) -> &str {
    path.find('.').map_or("", |dot| &path[dot..])
}

/// The first name of a dotted path.
pub(crate) fn first_of(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

/// Whether all fields of a key pattern are plain paths whose first name passes.
pub(crate) fn all_paths(key: Doc<'_>, passes: impl Fn(&str) -> bool) -> bool {
    key.iter().all(|field| passes(first_of(field.key_str())) && !field.key_str().ends_with("$**"))
}

/// Sort fields as a sort document.
pub(crate) fn sort_document(fields: &[SortField]) -> DocBuf {
    let mut order = Builder::new();
    for field in fields {
        order.append(&*field.path, if field.descending { -1 } else { 1 });
    }
    order.finish()
}
