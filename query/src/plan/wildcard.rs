//! Wildcard indexes: for each constrained path, the index on that path which a wildcard index contains.
//!
//! Keys are (path, value): a scan is bounded to one path. What is missing has no key, so a wildcard index serves
//! as a sparse one does; objects are not in it as a whole, and empty arrays are.

use bindery_document::{Kind, OwnedValue, Value};

use super::access::{Access, Asked, Predicate, fetch_order};
use super::bounds::Interval;
use super::implied::is_implied;
use super::interval::{Axis, whole};
use super::predicate::{Field, Tightness, bounds};
use super::{IndexDescription, Mode, Purpose, Query};
use crate::filter::{CompareOp, Filter};

/// Every way in which a wildcard index can bound a conjunction: by one predicate each.
pub(super) fn accesses(
    position: usize,
    index: &IndexDescription<'_>,
    Asked { query, mode }: Asked<'_>,
    conjuncts: &[Filter],
    predicates: &[Predicate<'_>],
) -> Vec<Access> {
    let mut found: Vec<Access> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for predicate in predicates {
        let path = predicate.path.as_str();
        let is_whole = asks_for_whole(predicate.filter);
        let positions = path.split('.').filter(|part| is_number(part)).count();
        // Arrays within arrays are in the index as a whole: positions in them are found only by who insists.
        if positions > MAX_POSITIONS
            || (positions > 0 && query.hint.is_none())
            || !index.wildcard_projection.covers(path)
            || asks_for_objects(predicate.filter)
            || (is_whole && !takes_missing_for_absent(predicate.filter, query, mode))
        {
            continue;
        }
        let is_array = |at: &str| index.wildcard_multikey.contains(at);
        let multikey = path.match_indices('.').map(|(at, _)| &path[..at]).chain([path]).any(is_array);
        // A number behind an array is a position, which the paths of keys leave out.
        let variants = without_positions(path, &is_array);
        let multikey = multikey || variants.len() > 1;
        let axis = Axis { collation: index.collation };
        let same_collation = match (index.collation, &query.collation) {
            (None, None) => true,
            (Some(a), Some(b)) => a.spec() == b.spec(),
            _ => false,
        };
        let field =
            Field { axis, multikey, sparse: true, is_alone: true, same_collation, mode, is_positional: positions > 0 };
        let is_negation = matches!(predicate.filter, Filter::Not(_));
        let Some((intervals, tightness)) = bounds(predicate.filter, field).filter(|_| !is_negation) else { continue };
        let is_whole_conjunct = std::ptr::eq(&conjuncts[predicate.conjunct], predicate.filter);
        let exact = tightness == Tightness::Exact && is_whole_conjunct && !multikey;
        // Several predicates on one path that is no array are intersected.
        if !multikey
            && done.contains(&path)
            && let Some(access) = found.iter_mut().find(|access| access.fields[1].0 == path)
        {
            access.fields[1].1 = axis.intersect(&access.fields[1].1, &intervals);
            if exact {
                access.residual.retain(|filter| *filter != conjuncts[predicate.conjunct]);
            }
            continue;
        }
        done.push(path);
        let proves = is_whole && says_exists(predicate.filter) && is_whole_conjunct && variants.len() == 1;
        let mut rest = conjuncts.to_vec();
        let served = rest.remove(predicate.conjunct);
        rest.retain(|conjunct| !is_implied(conjunct));
        let mut residual = if exact || proves || is_implied(&served) { Vec::new() } else { vec![served] };
        residual.append(&mut fetch_order(rest));
        let values = if is_whole { whole() } else { intervals };
        found.push(Access {
            index: position,
            fields: vec![
                (PATHS.to_owned(), NAMES.unite(variants.iter().flat_map(|path| paths(path, &values)).collect())),
                (path.to_owned(), values),
            ],
            descending: vec![false, false],
            residual,
            key_filter: Vec::new(),
            is_bounded: true,
            multikey: vec![multikey, multikey],
            misses_some: is_whole && !matches!(predicate.filter, Filter::Exists(_)),
        });
    }
    found
}

/// What the field of paths is called that the keys of a wildcard index begin with.
pub(super) const PATHS: &str = "$_path";

/// The order of paths, which are names and have no collation.
const NAMES: Axis<'static> = Axis { collation: None };

/// How many numbers a path may have for its variants to be looked at; the server's limit.
const MAX_POSITIONS: usize = 8;

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

/// The path, and the path without those numbers that follow an array, in every combination.
fn without_positions(path: &str, is_array: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut variants = vec![String::new()];
    for part in path.split('.') {
        let longer = |prefix: &String| if prefix.is_empty() { part.to_owned() } else { format!("{prefix}.{part}") };
        let mut next: Vec<String> = variants.iter().map(longer).collect();
        if is_number(part) {
            next.extend(variants.iter().filter(|prefix| is_array(prefix)).cloned());
        }
        variants = next;
    }
    variants
}

/// The stretch of paths: the one asked for; for bounds that embedded documents lie within, what is below it too.
fn paths(path: &str, values: &[Interval]) -> Vec<Interval> {
    let mut intervals = vec![Interval::point(OwnedValue::new(Value::from(path)))];
    let holds_objects = values.iter().any(|i| i.start.kind() == Kind::MinKey && i.end.kind() == Kind::MaxKey);
    if holds_objects {
        let (from, to) = (format!("{path}."), format!("{path}/"));
        intervals.push(super::interval::between(Value::from(from.as_str()), true, Value::from(to.as_str()), false));
    }
    intervals
}

/// Whether a predicate that takes everything may be answered by the index, which has no keys for what is missing. The
/// server does so though missing values match, unless a sort lets it prefer another index; this planner only where it
/// counts, which the server always does like that.
fn takes_missing_for_absent(filter: &Filter, query: &Query, mode: Mode) -> bool {
    matches!(filter, Filter::Exists(_))
        || (query.sort.is_none() && (mode == Mode::MongoDb || query.purpose == Purpose::Count))
}

/// Whether the predicate takes whatever the path leads to, objects included.
fn asks_for_whole(filter: &Filter) -> bool {
    match filter {
        Filter::Exists(_) => true,
        Filter::Compare(test) => matches!(
            (test.operand.kind(), test.op),
            (Kind::MinKey, CompareOp::Gt | CompareOp::Gte) | (Kind::MaxKey, CompareOp::Lt | CompareOp::Lte)
        ),
        Filter::ExprCompare(test) => test.op != CompareOp::Eq,
        _ => false,
    }
}

/// Whether having a key is all that the predicate asks for.
fn says_exists(filter: &Filter) -> bool {
    match filter {
        Filter::Exists(_) => true,
        Filter::Compare(test) => matches!(test.op, CompareOp::Gte | CompareOp::Lte),
        _ => false,
    }
}

/// Whether the predicate asks for what a wildcard index does not hold: objects, and arrays as a whole.
fn asks_for_objects(filter: &Filter) -> bool {
    let is_object = |value: &OwnedValue| match value.value() {
        Value::Document(_) => true,
        Value::Array(array) => !array.is_empty(),
        Value::Null | Value::Undefined => true,
        _ => false,
    };
    match filter {
        Filter::Compare(test) => is_object(&test.operand),
        Filter::ExprCompare(test) => test.op == CompareOp::Eq && is_object(&test.operand),
        Filter::In(test) => test.values.iter().any(is_object),
        Filter::Type(_) | Filter::ElemMatchValue(_) => true,
        _ => false,
    }
}
