//! Access paths: which predicates of a conjunction one index can bound, and what remains to be checked.
//!
//! The rules for arrays (manual, "Multikey Index Bounds") come down to one: two predicates may bound an index
//! together unless some array lies on both their paths, and then only if the same `$elemMatch` ties them to one
//! element of it.

use std::sync::Arc;

use bindery_document::Path;
use bindery_document::path::Component;

use super::bounds::{FieldBounds, IndexBounds};
use super::implied::is_implied;
use super::interval::{Axis, reverse, whole};
use super::predicate::{Field, Tightness, bounds};
use super::{IndexDescription, Mode, Query};
use crate::filter::{Filter, canonical};

/// A predicate and where it stands.
#[derive(Clone)]
pub(super) struct Predicate<'f> {
    pub(super) filter: &'f Filter,
    /// The whole dotted path, those of enclosing `$elemMatch`es included.
    pub(super) path: String,
    /// Which conjunct it is, or is part of.
    pub(super) conjunct: usize,
    /// The enclosing `$elemMatch`es: path and identity.
    elements: Vec<(String, *const Filter)>,
}

/// The conjuncts of a filter.
pub(super) fn conjuncts(filter: &Filter) -> &[Filter] {
    match filter {
        Filter::And(children) => children,
        Filter::AlwaysTrue => &[],
        other => std::slice::from_ref(other),
    }
}

/// The predicates that an index might bound.
pub(super) fn predicates(conjuncts: &[Filter]) -> Vec<Predicate<'_>> {
    let mut found = Vec::new();
    for (position, conjunct) in conjuncts.iter().enumerate() {
        collect(conjunct, position, "", &[], &mut found);
    }
    found
}

fn collect<'f>(
    filter: &'f Filter,
    conjunct: usize,
    prefix: &str,
    elements: &[(String, *const Filter)],
    found: &mut Vec<Predicate<'f>>,
) {
    let full = |path: &str| if prefix.is_empty() { path.to_owned() } else { format!("{prefix}.{path}") };
    match filter {
        Filter::And(children) if !prefix.is_empty() => {
            for child in children {
                collect(child, conjunct, prefix, elements, found);
            }
        }
        Filter::ElemMatchObject(test) => {
            let path = full(test.path.as_str());
            let mut elements = elements.to_vec();
            elements.push((path.clone(), std::ptr::from_ref(filter)));
            collect(&test.filter, conjunct, &path, &elements, found);
        }
        Filter::Not(inner) => {
            if let Some(path) = inner.path() {
                let path = full(path.as_str());
                found.push(Predicate { filter, path, conjunct, elements: elements.to_vec() });
            }
        }
        other => {
            // A number below an element is a position in it, which keys of elements do not tell.
            let is_position = |path: &Path| !elements.is_empty() && path.components().iter().any(Component::is_numeric);
            if let Some(path) = other.path().filter(|path| !is_position(path)) {
                let path = full(path.as_str());
                found.push(Predicate { filter, path, conjunct, elements: elements.to_vec() });
            }
        }
    }
}

/// One index and how it bounds a conjunction.
#[derive(Clone)]
pub(super) struct Access {
    /// The index's position.
    pub(super) index: usize,
    /// Ascending intervals for each field; [`Access::index_bounds`] turns them for descending fields.
    pub(super) fields: Vec<(String, Vec<super::Interval>)>,
    /// For each field whether it descends.
    pub(super) descending: Vec<bool>,
    /// What the document must still match.
    pub(super) residual: Vec<Filter>,
    /// What the key's values must still match.
    pub(super) key_filter: Vec<Filter>,
    /// Whether any predicate bounds it.
    pub(super) is_bounded: bool,
    /// Which fields lead through arrays.
    pub(super) multikey: Vec<bool>,
    /// Whether documents that match may have no key, as the server puts up with.
    pub(super) misses_some: bool,
}

impl Access {
    /// The bounds in the index's orientation.
    pub(super) fn index_bounds(&self) -> IndexBounds {
        let fields = self.fields.iter().zip(&self.descending).map(|((path, intervals), descending)| {
            let mut intervals = intervals.clone();
            if *descending {
                reverse(&mut intervals);
            }
            FieldBounds { path: path.clone(), intervals }
        });
        IndexBounds::Fields(fields.collect())
    }

    /// Whether its keys are one stretch of the index, so that counting them is exact: points, then at most one list of
    /// intervals, then whole fields.
    pub(super) fn is_one_stretch(&self) -> bool {
        let is_point = |intervals: &[super::Interval]| matches!(intervals, [one] if one.is_point());
        let mut rest = self.fields.iter().skip_while(|(_, intervals)| is_point(intervals)).skip(1);
        rest.all(|(_, intervals)| is_whole(intervals))
    }

    /// Whether a document may have several keys among those of a wildcard index: for fields below the one asked for.
    pub(super) fn visits_several_paths(&self) -> bool {
        matches!(self.fields.first(), Some((path, intervals)) if path == super::wildcard::PATHS && intervals.len() > 1)
    }

    /// Whether both visit the same keys.
    pub(super) fn fields_equal(&self, other: &Access) -> bool {
        let same = |a: &super::Interval, b: &super::Interval| {
            (a.start_inclusive, a.end_inclusive) == (b.start_inclusive, b.end_inclusive)
                && a.start == b.start
                && a.end == b.end
        };
        self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|((p, i), (q, j))| p == q && i.len() == j.len() && i.iter().zip(j).all(|(a, b)| same(a, b)))
    }

    /// The remaining filter.
    pub(super) fn residual(&self) -> Option<Arc<Filter>> {
        conjunction(&self.residual)
    }
}

/// Whether every value is within.
pub(super) fn is_whole(intervals: &[super::Interval]) -> bool {
    use bindery_document::Kind::{MaxKey, MinKey};
    matches!(intervals, [one] if one.start.kind() == MinKey && one.end.kind() == MaxKey
        && one.start_inclusive && one.end_inclusive)
}

/// A conjunction of these, if there are any.
pub(super) fn conjunction(filters: &[Filter]) -> Option<Arc<Filter>> {
    match filters {
        [] => None,
        [one] => Some(Arc::new(one.clone())),
        many => Some(Arc::new(Filter::And(many.to_vec()))),
    }
}

/// Conjuncts in the order in which MongoDB looks at those that an index leaves over: it shows where one of them fails
/// and another would have settled the matter before. So they stay as they are where none can fail.
pub(super) fn fetch_order(conjuncts: Vec<Filter>) -> Vec<Filter> {
    if !conjuncts.iter().any(Filter::has_expression) {
        return conjuncts;
    }
    match canonical::sort_by(Filter::And(conjuncts), canonical::compare_by_path) {
        Filter::And(conjuncts) => conjuncts,
        other => vec![other],
    }
}

/// A field of an index, as far as planning needs it.
pub(super) struct IndexField<'a> {
    pub(super) path: &'a str,
    pub(super) descending: bool,
    pub(super) hashed: bool,
}

/// A question, and whose plans are wanted for it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'q> {
    pub(super) query: &'q Query,
    pub(super) mode: Mode,
}

/// The fields of a plain or hashed index.
pub(super) fn index_fields<'a>(index: &IndexDescription<'a>) -> Vec<IndexField<'a>> {
    index
        .key
        .iter()
        .map(|e| {
            let value = e.value();
            IndexField {
                path: e.key_str(),
                descending: value.as_f64().is_some_and(|n| n < 0.0),
                hashed: value.as_str() == Some("hashed"),
            }
        })
        .collect()
}

/// The array paths on a field's path, the path itself included if it ends in arrays.
fn array_paths(index: &IndexDescription<'_>, field: usize, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('.').collect();
    index.multikey.field(field).iter().filter(|&n| n < parts.len()).map(|n| parts[..=n].join(".")).collect()
}

/// Whether an index on a path could be wrong about a query's strings.
fn same_collation(index: &IndexDescription<'_>, query: &Query) -> bool {
    match (index.collation, &query.collation) {
        (None, None) => true,
        (Some(a), Some(b)) => a.spec() == b.spec(),
        _ => false,
    }
}

/// Every way in which an index can bound a conjunction: one, or several where arrays force a choice. None if
/// its first field is not constrained.
pub(super) fn accesses(
    position: usize,
    index: &IndexDescription<'_>,
    asked: Asked<'_>,
    conjuncts: &[Filter],
    predicates: &[Predicate<'_>],
) -> Vec<Access> {
    let fields = index_fields(index);
    let arrays: Vec<Vec<String>> = (0..fields.len()).map(|n| array_paths(index, n, fields[n].path)).collect();
    let usable = |n: usize| -> Vec<&Predicate<'_>> {
        predicates
            .iter()
            .filter(|p| p.path == fields[n].path)
            .filter(|p| translate(index, asked, &fields[n], &arrays[n], p).is_some())
            .collect()
    };
    let firsts = usable(0);
    let mut seen: Vec<Vec<*const Filter>> = Vec::new();
    let mut found = Vec::new();
    for lead in &firsts {
        let mut chosen: Vec<(usize, &Predicate<'_>)> = vec![(0, lead)];
        for other in &firsts {
            if !std::ptr::eq(other.filter, lead.filter) && is_compatible(&chosen, (0, other), &arrays) {
                chosen.push((0, other));
            }
        }
        let mut identity: Vec<*const Filter> = chosen.iter().map(|(_, p)| std::ptr::from_ref(p.filter)).collect();
        identity.sort_unstable();
        if seen.contains(&identity) {
            continue;
        }
        seen.push(identity);
        for n in 1..fields.len() {
            for predicate in usable(n) {
                if is_compatible(&chosen, (n, predicate), &arrays) {
                    chosen.push((n, predicate));
                }
            }
        }
        found.push(assemble(position, index, asked, &fields, &arrays, conjuncts, &chosen));
    }
    found
}

/// The whole of an index, for its order or because a hint names it.
pub(super) fn whole_index(
    position: usize,
    index: &IndexDescription<'_>,
    asked: Asked<'_>,
    conjuncts: &[Filter],
) -> Access {
    let fields = index_fields(index);
    let arrays: Vec<Vec<String>> = (0..fields.len()).map(|n| array_paths(index, n, fields[n].path)).collect();
    assemble(position, index, asked, &fields, &arrays, conjuncts, &[])
}

/// Whether a predicate may bound the index beside those chosen.
fn is_compatible(chosen: &[(usize, &Predicate<'_>)], new: (usize, &Predicate<'_>), arrays: &[Vec<String>]) -> bool {
    chosen.iter().all(|(field, other)| {
        let shared = arrays[*field].iter().filter(|path| arrays[new.0].contains(path));
        shared.clone().all(|path| {
            let tie = |p: &Predicate<'_>| p.elements.iter().find(|(at, _)| at == path).map(|(_, id)| *id);
            tie(other).is_some() && tie(other) == tie(new.1)
        })
    })
}

fn translate(
    index: &IndexDescription<'_>,
    asked: Asked<'_>,
    field: &IndexField<'_>,
    arrays: &[String],
    predicate: &Predicate<'_>,
) -> Option<(Vec<super::Interval>, Tightness)> {
    let axis = Axis { collation: index.collation };
    let context = Field {
        axis,
        multikey: !arrays.is_empty(),
        sparse: index.sparse,
        is_alone: index.key.count() == 1,
        same_collation: same_collation(index, asked.query),
        mode: asked.mode,
        is_positional: field.path.split('.').any(|part| part.bytes().all(|b| b.is_ascii_digit())),
    };
    if field.hashed {
        return super::hashed::bounds(predicate.filter, context);
    }
    bounds(predicate.filter, context)
}

fn assemble(
    position: usize,
    index: &IndexDescription<'_>,
    asked: Asked<'_>,
    fields: &[IndexField<'_>],
    arrays: &[Vec<String>],
    conjuncts: &[Filter],
    chosen: &[(usize, &Predicate<'_>)],
) -> Access {
    let axis = Axis { collation: index.collation };
    let mut intervals: Vec<Vec<super::Interval>> = fields.iter().map(|_| whole()).collect();
    // How each conjunct is served: not at all, by the key with a look at it, or by the bounds alone.
    let mut served: Vec<Option<Tightness>> = vec![None; conjuncts.len()];
    for (field, predicate) in chosen {
        let Some((part, tightness)) = translate(index, asked, &fields[*field], &arrays[*field], predicate) else {
            continue;
        };
        intervals[*field] = axis.intersect(&intervals[*field], &part);
        let is_whole_conjunct = conjuncts.get(predicate.conjunct).is_some_and(|c| std::ptr::eq(c, predicate.filter));
        let tightness = if is_whole_conjunct { tightness } else { Tightness::Document };
        served[predicate.conjunct] = Some(served[predicate.conjunct].map_or(tightness, |other| other.max(tightness)));
    }
    // What bounds the index is looked at before the rest.
    let (mut residual, mut unserved, mut key_filter) = (Vec::new(), Vec::new(), Vec::new());
    for (conjunct, served) in conjuncts.iter().zip(&served).filter(|(conjunct, _)| !is_implied(conjunct)) {
        match served {
            Some(Tightness::Exact) => {}
            Some(Tightness::Key) if !index.is_multikey && index.collation.is_none() => {
                key_filter.push(conjunct.clone())
            }
            Some(_) => residual.push(conjunct.clone()),
            None => unserved.push(conjunct.clone()),
        }
    }
    residual.append(&mut if chosen.is_empty() || index.is_clustered { unserved } else { fetch_order(unserved) });
    Access {
        index: position,
        fields: fields.iter().zip(intervals).map(|(field, intervals)| (field.path.to_owned(), intervals)).collect(),
        descending: fields.iter().map(|field| field.descending).collect(),
        residual,
        key_filter,
        is_bounded: !chosen.is_empty(),
        multikey: arrays.iter().map(|paths| !paths.is_empty()).collect(),
        misses_some: false,
    }
}
