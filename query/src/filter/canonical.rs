//! The canonical form: simplified, and in an order that does not depend on how the query was written.
//!
//! Both steps follow what MongoDB's `explain` shows as `parsedQuery`, since the planner's choices
//! rest on it.
//!
//! - [`simplify`] splices an `$and` into the end of the `$and` around it (and `$or` likewise), drops what always
//!   or never holds, unwraps what is alone, and turns several equalities on one path of an `$or`
//!   into one `$in`.
//! - [`sort`] orders the children of `$and`, `$or`, `$nor` and of value `$elemMatch` by kind of
//!   condition, then path, then their own children. Equal ones keep the order they were written in.

use std::cmp::Ordering;

use super::{Bits, Compare, CompareOp, ElemMatchObject, ElemMatchValue, Filter, Membership, RegexTest};
use bindery_document::Path;

/// Simplifies a tree without reordering it.
pub fn simplify(filter: Filter) -> Filter {
    simplify_with(filter, Depth::Whole)
}

/// How much is found out about what can never match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// All that the tree's shape tells.
    Whole,
    /// Only `$alwaysFalse`, and what combines it: as far as MongoDB goes.
    Constants,
}

/// As [`simplify`], with what can never match left as it is where so asked.
pub(super) fn simplify_with(filter: Filter, depth: Depth) -> Filter {
    let simplify = |filter: Filter| simplify_with(filter, depth);
    let whole = depth == Depth::Whole;
    match filter {
        Filter::And(children) => {
            let (mut kept, mut spliced) = (Vec::new(), Vec::new());
            for child in children.into_iter().map(simplify) {
                match child {
                    Filter::AlwaysTrue => {}
                    Filter::AlwaysFalse => return Filter::AlwaysFalse,
                    Filter::And(inner) => spliced.extend(inner),
                    // With the comparisons that it implies it is a conjunction to MongoDB.
                    Filter::Expr(test) if test.implies_comparisons() => spliced.push(Filter::Expr(test)),
                    other => kept.push(other),
                }
            }
            kept.append(&mut spliced);
            single_or(kept, Filter::And, Filter::AlwaysTrue)
        }
        Filter::Or(children) => {
            let (mut kept, mut spliced) = (Vec::new(), Vec::new());
            for child in children.into_iter().map(simplify) {
                match child {
                    Filter::AlwaysFalse => {}
                    Filter::AlwaysTrue => return Filter::AlwaysTrue,
                    Filter::Or(inner) => spliced.extend(inner),
                    other => kept.push(other),
                }
            }
            kept.append(&mut spliced);
            single_or(gather_equalities(kept), Filter::Or, Filter::AlwaysFalse)
        }
        Filter::Nor(children) => {
            let mut kept = Vec::new();
            for child in children.into_iter().map(simplify) {
                match child {
                    Filter::AlwaysFalse => {}
                    Filter::AlwaysTrue if whole => return Filter::AlwaysFalse,
                    other => kept.push(other),
                }
            }
            match kept.len() {
                0 => Filter::AlwaysTrue,
                1 => Filter::Not(Box::new(Filter::And(kept).unwrapped())),
                _ => Filter::Nor(kept),
            }
        }
        Filter::Not(child) => match simplify(*child) {
            Filter::AlwaysTrue if whole => Filter::AlwaysFalse,
            Filter::AlwaysFalse => Filter::AlwaysTrue,
            other => Filter::Not(Box::new(other)),
        },
        Filter::In(test) => match test.simplify() {
            // Nothing is in no values.
            Filter::AlwaysFalse if !whole => Filter::Nor(vec![Filter::AlwaysTrue]),
            other => other,
        },
        Filter::ElemMatchObject(ElemMatchObject { path, filter }) => match simplify(*filter) {
            Filter::AlwaysFalse if whole => Filter::AlwaysFalse,
            filter => Filter::ElemMatchObject(ElemMatchObject { path, filter: Box::new(filter) }),
        },
        Filter::ElemMatchValue(ElemMatchValue { path, filters }) => {
            // Only `$all` and `$not` have combined conditions inside; the former is spliced in.
            match simplify(Filter::And(filters)) {
                Filter::AlwaysFalse if whole => Filter::AlwaysFalse,
                Filter::And(filters) => Filter::ElemMatchValue(ElemMatchValue { path, filters }),
                other => Filter::ElemMatchValue(ElemMatchValue { path, filters: vec![other] }),
            }
        }
        other => other,
    }
}

impl Filter {
    /// The only child of an `And`, or the filter itself.
    fn unwrapped(self) -> Filter {
        match self {
            Filter::And(mut children) if children.len() == 1 => children.pop().unwrap_or(Filter::AlwaysTrue),
            other => other,
        }
    }
}

fn single_or(mut children: Vec<Filter>, combine: fn(Vec<Filter>) -> Filter, empty: Filter) -> Filter {
    match children.len() {
        0 => empty,
        1 => children.pop().unwrap_or(empty),
        _ => combine(children),
    }
}

/// Joins the equalities (and regular expressions) on the first path of an `$or` that has several into
/// one `$in`. MongoDB 6.0 does this for one path only, and puts what is left into an `$or` of its own.
fn gather_equalities(children: Vec<Filter>) -> Vec<Filter> {
    let equality_path = |filter: &Filter| -> Option<Path> {
        match filter {
            Filter::Compare(Compare { op: CompareOp::Eq, path, .. }) | Filter::Regex(RegexTest { path, .. }) => {
                Some(path.clone())
            }
            _ => None,
        }
    };
    let repeated = children.iter().enumerate().find_map(|(at, child)| {
        let path = equality_path(child)?;
        children[at + 1..].iter().any(|other| equality_path(other).as_ref() == Some(&path)).then_some(path)
    });
    let Some(path) = repeated else {
        return children;
    };
    let (mut values, mut regexes, mut rest, mut collation) = (Vec::new(), Vec::new(), Vec::new(), None);
    for child in children {
        match child {
            Filter::Compare(test) if test.op == CompareOp::Eq && test.path == path => {
                values.push(test.operand);
                collation = collation.or(test.collation);
            }
            Filter::Regex(test) if test.path == path => {
                regexes.push(RegexTest { path: Path::of_value(), ..test });
            }
            other => rest.push(other),
        }
    }
    let gathered = Filter::In(Membership::new(path, values, regexes, collation));
    if rest.len() > 1 {
        rest = vec![Filter::Or(rest)];
    }
    rest.push(gathered);
    rest
}

/// Brings the children of every node into canonical order.
pub fn sort(filter: Filter) -> Filter {
    sort_by(filter, compare)
}

/// Brings the children of every node into an order.
pub(crate) fn sort_by(filter: Filter, compare: fn(&Filter, &Filter) -> Ordering) -> Filter {
    let sort = |filter: Filter| sort_by(filter, compare);
    let sorted = |children: Vec<Filter>| {
        let mut children: Vec<Filter> = children.into_iter().map(sort).collect();
        children.sort_by(compare);
        children
    };
    let sorted_branches = |children: Vec<Filter>| {
        let mut children: Vec<Filter> = children.into_iter().map(sort).collect();
        children.sort_by(|a, b| branches(a, b).then_with(|| compare(a, b)));
        children
    };
    match filter {
        Filter::And(children) => Filter::And(sorted(children)),
        Filter::Or(children) => Filter::Or(sorted_branches(children)),
        Filter::Nor(children) => Filter::Nor(sorted_branches(children)),
        Filter::Not(child) => Filter::Not(Box::new(sort(*child))),
        Filter::ElemMatchObject(test) => {
            Filter::ElemMatchObject(ElemMatchObject { filter: Box::new(sort(*test.filter)), ..test })
        }
        Filter::ElemMatchValue(test) => {
            Filter::ElemMatchValue(ElemMatchValue { filters: sorted(test.filters), ..test })
        }
        other => other,
    }
}

/// The order of branches as far as it is another one than that of conditions: an expression that implies plain
/// comparisons is a conjunction of both to MongoDB, and conjunctions come first.
fn branches(a: &Filter, b: &Filter) -> Ordering {
    let rank = |filter: &Filter| match filter {
        Filter::And(_) => 0,
        Filter::Expr(test) if test.implies_comparisons() => 1,
        _ => 2,
    };
    rank(a).cmp(&rank(b))
}

/// The canonical order of two conditions.
pub fn compare(a: &Filter, b: &Filter) -> Ordering {
    let path = |filter: &Filter| filter.path().map_or(String::new(), |path| path.as_str().to_owned());
    place(a).cmp(&place(b)).then_with(|| path(a).cmp(&path(b))).then_with(|| {
        let (a, b) = (a.children(), b.children());
        let first = a.iter().zip(b).map(|(x, y)| compare(x, y)).find(|order| *order != Ordering::Equal);
        first.unwrap_or_else(|| a.len().cmp(&b.len()))
    })
}

/// The order in which MongoDB looks at conditions of which an index has served others: by path, those without a path of
/// their own first, then by kind.
pub(crate) fn compare_by_path(a: &Filter, b: &Filter) -> Ordering {
    fn path(filter: &Filter) -> &str {
        match filter {
            Filter::Not(_) => "",
            filter => filter.path().map_or("", Path::as_str),
        }
    }
    path(a).cmp(path(b)).then_with(|| place(a).cmp(&place(b)))
}

/// The place of a kind of condition.
fn place(filter: &Filter) -> u8 {
    match filter {
        Filter::And(_) => 0,
        Filter::Or(_) => 1,
        Filter::ElemMatchObject(_) => 2,
        Filter::ElemMatchValue(_) => 3,
        Filter::Size(_) => 4,
        Filter::Compare(test) => match test.op {
            CompareOp::Eq => 5,
            CompareOp::Lte => 6,
            CompareOp::Lt => 7,
            CompareOp::Gt => 8,
            CompareOp::Gte => 9,
        },
        Filter::Regex(_) => 10,
        Filter::Mod(_) => 11,
        Filter::Exists(_) => 12,
        Filter::In(_) => 13,
        Filter::Bits(test) => match test.test {
            Bits::AllSet => 14,
            Bits::AllClear => 15,
            Bits::AnySet => 16,
            Bits::AnyClear => 17,
        },
        Filter::Not(_) => 18,
        Filter::Nor(_) => 19,
        Filter::Type(_) => 20,
        Filter::Expr(_) | Filter::SampleRate(_) => 21,
        Filter::ExprCompare(_) => 22,
        Filter::AlwaysFalse => 23,
        Filter::AlwaysTrue => 24,
        Filter::Schema(_) => 25,
    }
}
