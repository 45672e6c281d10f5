//! Reading and writing the subset layout: parents in the stored collection, children beside.

use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Element, Kind, OwnedValue, Path, Result, Value};
use bindery_index::RecordId;
use bindery_patterns::subset::shortcut::{Need, Push};
use bindery_patterns::subset::{STEP, Subset};
use bindery_query::filter::{Compare, CompareOp, Filter};
use bindery_query::plan::Query;
use bindery_query::sort::Sort;

use super::source::Place;
use crate::collection::{State, WriteGuard};
use crate::database::Planner;
use crate::execute::{build, choose};
use crate::trace::Cx;
use crate::write::{self, Changed};

/// A child of the side collection.
struct Child {
    at: i64,
    record_id: RecordId,
    kind: Kind,
    bytes: Vec<u8>,
}

/// Writes the logical document of a stored parent, with as much of its array as is needed.
pub(super) fn unfold(
    layout: &Subset,
    side: Option<&Arc<State>>,
    stored: Doc<'_>,
    need: Need,
    out: Vec<u8>,
    cx: &mut Cx<'_>,
) -> Result<Vec<u8>> {
    let parent = layout.parent(stored);
    let (Some(children), Some(side)) = (parent.children, side) else {
        return Ok(layout.unfold(stored, std::iter::empty(), out));
    };
    let top = children.top.iter().map(|child| (child.kind, child.bytes));
    let held = children.top.count() as u64;
    let is_whole = children.in_order && u64::from(children.total) == held;
    match need {
        Need::Nothing => Ok(layout.unfold(stored, top, out)),
        Need::All | Need::Part { .. } if is_whole => Ok(layout.unfold(stored, top, out)),
        Need::Part { skip, limit } if children.in_order && skip.saturating_add(limit) <= held => {
            Ok(layout.unfold(stored, top, out))
        }
        Need::Part { skip, limit } if children.in_order && skip < u64::from(children.total) => {
            // What comes before is not looked at, but keeps its places.
            let part = ordered_part(layout, side, parent.id, skip, limit, cx)?;
            let before = std::iter::repeat_n((Kind::Null, &[][..]), usize::try_from(skip).unwrap_or(usize::MAX));
            Ok(layout.unfold(stored, before.chain(part.iter().map(|c| (c.kind, &*c.bytes))), out))
        }
        Need::All | Need::Part { .. } => {
            let all = children_of(layout, side, parent.id, cx)?;
            Ok(layout.unfold(stored, all.iter().map(|child| (child.kind, &*child.bytes)), out))
        }
    }
}

/// All children of a parent, in the order of the logical array.
fn children_of(layout: &Subset, side: &Arc<State>, parent: Value<'_>, cx: &mut Cx<'_>) -> Result<Vec<Child>> {
    let mut children = ask(layout, side, &question(layout, parent), cx)?;
    children.sort_by_key(|child| child.at);
    Ok(children)
}

/// Some children of a parent, by the layout's order.
fn ordered_part(
    layout: &Subset,
    side: &Arc<State>,
    parent: Value<'_>,
    skip: u64,
    limit: u64,
    cx: &mut Cx<'_>,
) -> Result<Vec<Child>> {
    let mut query = question(layout, parent);
    query.sort = Some(Arc::new(Sort::parse(layout.side_order().doc(), None)?));
    (query.skip, query.limit) = (skip, Some(limit));
    ask(layout, side, &query, cx)
}

fn question(layout: &Subset, parent: Value<'_>) -> Query {
    let parent = match parent {
        Value::Undefined => Value::Null,
        other => other,
    };
    let filter = Compare::new(Path::parse(layout.key()), CompareOp::Eq, OwnedValue::new(parent), None);
    Query::of_filter(Filter::Compare(filter))
}

fn ask(layout: &Subset, side: &Arc<State>, query: &Query, cx: &mut Cx<'_>) -> Result<Vec<Child>> {
    let mut stage = build(side, choose(side, query, Planner::Bindery)?.winner);
    let mut children = Vec::new();
    while stage.advance(side, cx)? {
        let Some(record_id) = stage.record_id() else { continue };
        if let Some((at, child)) = layout.child(stage.document(side)) {
            children.push(Child { at, record_id, kind: child.kind, bytes: child.bytes.to_vec() });
        }
    }
    Ok(children)
}

/// Stores a parent and its children.
pub(super) fn insert(
    layout: &Subset,
    stored: &mut WriteGuard<'_>,
    side: &mut WriteGuard<'_>,
    document: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let children = layout.children(document).unwrap_or_default();
    let last = (children.len() as i64 - 1) * STEP;
    let parent = layout.fold_parent(document, 0, last);
    write::insert(stored, Doc::from_stored(&parent), true, cx)?;
    let id = document.get("_id").unwrap_or(Value::Null);
    add(layout, side, id, &children, |i| i as i64 * STEP, cx)
}

fn add(
    layout: &Subset,
    side: &mut WriteGuard<'_>,
    parent: Value<'_>,
    children: &[Element<'_>],
    at: impl Fn(usize) -> i64,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for (i, child) in children.iter().enumerate() {
        cx.step()?;
        let child = layout.fold_child(parent, at(i), (child.kind, child.bytes));
        write::insert(side, Doc::from_stored(&child), true, cx)?;
    }
    Ok(())
}

/// The stored parent at a place.
fn parent_at(stored: &WriteGuard<'_>, place: Place, cx: &mut Cx<'_>) -> Vec<u8> {
    stored.peek().records.get(place.record_id, &mut cx.visitor).map_or_else(|| vec![5, 0, 0, 0, 0], <[u8]>::to_vec)
}

/// Puts a new version in the place of a logical document. Children that are the same at the begin and at the end
/// of the array stay; what is between goes and comes.
pub(super) fn replace(
    layout: &Subset,
    stored: &mut WriteGuard<'_>,
    side: &mut WriteGuard<'_>,
    place: Place,
    new: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let before = parent_at(stored, place, cx);
    let parent = layout.parent(Doc::from_stored(&before));
    let old = match parent.children {
        Some(_) => {
            let state = side.snapshot();
            children_of(layout, &state, parent.id, cx)?
        }
        None => Vec::new(),
    };
    let children = layout.children(new).unwrap_or_default();
    let same = |a: &Child, b: &Element<'_>| a.kind == b.kind && a.bytes == b.bytes;
    let head = old.iter().zip(&children).take_while(|(a, b)| same(a, b)).count();
    let tail = old[head..].iter().rev().zip(children[head..].iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let (gone, come) = (&old[head..old.len() - tail], &children[head..children.len() - tail]);
    let low = head.checked_sub(1).map(|i| old[i].at);
    let high = (tail > 0).then(|| old[old.len() - tail].at);
    let positions = between(low, high, come.len());
    // Without room between neighbours all children are numbered anew.
    let (gone, come, positions, head, tail) = match positions {
        Some(positions) => (gone, come, positions, head, tail),
        None => (&old[..], &children[..], (0..children.len() as i64).map(|i| i * STEP).collect(), 0, 0),
    };
    let first = if head > 0 { old.first().map(|c| c.at) } else { positions.first().copied().or(high) };
    let last = if tail > 0 { old.last().map(|c| c.at) } else { positions.last().copied().or(low) };
    let after = layout.fold_parent(new, first.unwrap_or(0), last.unwrap_or(0));
    write::update(stored, place.record_id, Doc::from_stored(&after), Changed::Anything, true, cx)?;
    for child in gone {
        write::delete(side, child.record_id, cx)?;
    }
    add(layout, side, parent.id, come, |i| positions.get(i).copied().unwrap_or(0), cx)
}

/// Positions for `n` children between two that stay; `None` if there is no room.
fn between(low: Option<i64>, high: Option<i64>, n: usize) -> Option<Vec<i64>> {
    let n = i64::try_from(n).ok()?;
    let (start, step) = match (low, high) {
        (None, None) => (0, STEP),
        (Some(low), None) => (low.checked_add(STEP)?, STEP),
        (None, Some(high)) => (high.checked_sub(n.checked_mul(STEP)?)?, STEP),
        (Some(low), Some(high)) => {
            let step = high.checked_sub(low)? / (n + 1);
            (low + step, step)
        }
    };
    start.checked_add(n.checked_mul(STEP)?)?;
    (step > 0).then(|| (0..n).map(|i| start + i * step).collect())
}

/// Puts a new version in the place of a logical document whose array is as before; `new` holds any array there.
/// False, and nothing done, if the whole may be too large.
pub(super) fn replace_parent(
    layout: &Subset,
    stored: &mut WriteGuard<'_>,
    place: Place,
    new: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let before = parent_at(stored, place, cx);
    let children = layout.parent(Doc::from_stored(&before)).children;
    if layout.is_near_limit(new, children.as_ref()) {
        return Ok(false);
    }
    let after = layout.kept(new, children.as_ref());
    write::update(stored, place.record_id, Doc::from_stored(&after), Changed::Anything, true, cx)?;
    Ok(true)
}

/// Adds children without looking at those that are there; false, and nothing done, if that cannot be.
pub(super) fn push(
    layout: &Subset,
    stored: &mut WriteGuard<'_>,
    side: &mut WriteGuard<'_>,
    place: Place,
    new: Doc<'_>,
    push: &Push<'_>,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let before = parent_at(stored, place, cx);
    let parent = layout.parent(Doc::from_stored(&before));
    let Some((after, positions)) = parent.children.and_then(|children| layout.pushed(new, &children, push)) else {
        return Ok(false);
    };
    write::update(stored, place.record_id, Doc::from_stored(&after), Changed::Anything, true, cx)?;
    add(layout, side, parent.id, &push.children, |i| positions.get(i).copied().unwrap_or(0), cx)?;
    Ok(true)
}

/// Removes a parent and its children.
pub(super) fn delete(
    layout: &Subset,
    stored: &mut WriteGuard<'_>,
    side: &mut WriteGuard<'_>,
    place: Place,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let before = parent_at(stored, place, cx);
    let parent = layout.parent(Doc::from_stored(&before));
    if parent.children.is_some_and(|children| children.total > 0) {
        let state = side.snapshot();
        let children = children_of(layout, &state, parent.id, cx)?;
        drop(state);
        for child in children {
            write::delete(side, child.record_id, cx)?;
        }
    }
    write::delete(stored, place.record_id, cx)?;
    Ok(())
}

/// Whether a stored parent is what its logical document is stored as; gives how many children it has.
pub(super) fn check(
    layout: &Subset,
    side: &Arc<State>,
    stored: Doc<'_>,
    cx: &mut Cx<'_>,
) -> std::result::Result<u64, String> {
    let parent = layout.parent(stored);
    let children = children_of(layout, side, parent.id, cx).map_err(|error| error.to_string())?;
    if children.windows(2).any(|pair| pair[0].at == pair[1].at) {
        return Err("has two children at one place".to_owned());
    }
    let logical = layout.unfold(stored, children.iter().map(|child| (child.kind, &*child.bytes)), Vec::new());
    let (first, last) = (children.first().map_or(0, |c| c.at), children.last().map_or(0, |c| c.at));
    match layout.fold_parent(Doc::from_stored(&logical), first, last) == stored.as_bytes() {
        true => Ok(children.len() as u64),
        false => Err("is not what its logical document is stored as".to_owned()),
    }
}

/// The logical document, whole, for a writer.
pub(super) fn read(
    layout: &Subset,
    side: &WriteGuard<'_>,
    stored: Doc<'_>,
    need: Need,
    cx: &mut Cx<'_>,
) -> Result<DocBuf> {
    let state = side.snapshot();
    Ok(DocBuf::from_stored(unfold(layout, Some(&state), stored, need, Vec::new(), cx)?))
}
