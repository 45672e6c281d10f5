//! Writing the bucket layout: readings into buckets, found without a question where they are still open.

use std::collections::HashMap;

use bindery_document::{Doc, Kind, OwnedValue, Path, Result, Value};
use bindery_index::RecordId;
use bindery_patterns::bucket::{Bucket, FULL_BYTES, Header, Reading, Size};
use bindery_query::filter::{Compare, CompareOp, Filter, canonical};
use bindery_query::plan::Query;

use crate::collection::{State, WriteGuard};
use crate::database::Planner;
use crate::execute::{build, choose};
use crate::trace::Cx;
use crate::write::{self, Changed};

/// For each meta value the bucket that was written to last. A hint only: the bucket is looked at before it is
/// used, and one that is not known here is found by the index.
pub(super) type Open = HashMap<Vec<u8>, RecordId>;

/// What tells meta fields apart, to the byte.
fn key_of(reading: &Reading<'_>) -> Vec<u8> {
    let mut key = reading.meta_at.to_le_bytes().to_vec();
    if let Some(meta) = &reading.meta {
        key.push(meta.kind as u8);
        key.extend_from_slice(meta.bytes);
    }
    key
}

/// Stores a reading: at the end of its bucket, or in a new one.
pub(super) fn insert(
    layout: &Bucket,
    open: &mut Open,
    guard: &mut WriteGuard<'_>,
    document: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let reading = layout.reading(document)?;
    let key = key_of(&reading);
    let fits = |state: &State, record_id: RecordId, cx: &mut Cx<'_>| {
        let stored = Doc::from_stored(state.records.get(record_id, &mut cx.visitor)?);
        let header = Header::read(stored, false);
        let fits = header.is_of(&reading) && layout.has_room(stored, &header, &reading, document.as_bytes().len());
        fits.then_some(record_id)
    };
    let known = open.get(&key).copied().and_then(|record_id| fits(&guard.peek(), record_id, cx));
    let found = match known {
        Some(record_id) => Some(record_id),
        None => {
            let state = guard.snapshot();
            let mut stage = build(&state, choose(&state, &lookup(layout, &reading), Planner::Bindery)?.winner);
            let mut found = None;
            while found.is_none() && stage.advance(&state, cx)? {
                found = stage.record_id().and_then(|record_id| fits(&state, record_id, cx));
            }
            found
        }
    };
    let record_id = match found {
        Some(record_id) => {
            append(layout, guard, record_id, &reading, document, cx)?;
            record_id
        }
        None => {
            let id = new_id(&guard.peek(), layout.start_of(reading.time));
            let Some(stored) = layout.fold(Value::ObjectId(id), std::iter::once(document))? else { return Ok(()) };
            write::insert(guard, Doc::from_stored(&stored), true, cx)?
        }
    };
    open.insert(key, record_id);
    Ok(())
}

/// The question for the buckets that a reading may go into.
fn lookup(layout: &Bucket, reading: &Reading<'_>) -> Query {
    let equal = |path: &str, value: Value<'_>| {
        Filter::Compare(Compare::new(Path::parse(path), CompareOp::Eq, OwnedValue::new(value), None))
    };
    // Undefined cannot be asked for, but null finds it.
    let meta = reading.meta.map_or(Value::Null, |meta| match meta.kind {
        Kind::Undefined => Value::Null,
        _ => meta.value(),
    });
    let mut filters = vec![equal("meta", meta)];
    match layout.size() {
        Size::Span(_) => filters.push(equal("start", Value::DateTime(layout.start_of(reading.time)))),
        Size::Count(most) => filters.push(Filter::Compare(Compare::new(
            Path::parse("count"),
            CompareOp::Lt,
            OwnedValue::new(Value::Int64(i64::from(most))),
            None,
        ))),
    }
    Query::of_filter(canonical::sort(Filter::And(filters)))
}

/// A bucket's `_id`: the seconds of its start, then a number that no other bucket has.
fn new_id(state: &State, start: i64) -> [u8; 12] {
    let mut id = [0; 12];
    id[..4].copy_from_slice(&((start.div_euclid(1000)) as u32).to_be_bytes());
    id[4..].copy_from_slice(&state.records.next_id().0.to_be_bytes());
    id
}

fn append(
    layout: &Bucket,
    guard: &mut WriteGuard<'_>,
    record_id: RecordId,
    reading: &Reading<'_>,
    document: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let appended = {
        let state = guard.peek();
        let Some(stored) = state.records.get(record_id, &mut cx.visitor) else { return Ok(()) };
        let appended = layout.append(Doc::from_stored(stored), reading, document)?;
        if appended.start_changed {
            // The start is indexed: the bucket is written as a new version.
            let mut whole = stored.to_vec();
            whole.resize(appended.bytes.max(stored.len()), 0);
            appended.write(&mut whole);
            whole.truncate(appended.bytes);
            drop(state);
            return write::update(guard, record_id, Doc::from_stored(&whole), Changed::Anything, true, cx);
        }
        appended
    };
    write::patch(guard, record_id, appended.bytes, |place| appended.write(place), cx);
    Ok(())
}

/// Puts new versions in the places of readings of one bucket. Those that belong into another bucket now are only taken
/// out, and given in `moved`; so are those that the bucket would become too large with.
pub(super) fn replace<'a>(
    layout: &Bucket,
    guard: &mut WriteGuard<'_>,
    record_id: RecordId,
    changed: &'a [(u32, Vec<u8>)],
    moved: &mut Vec<&'a [u8]>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let stored = read(guard, record_id, cx);
    let header = Header::read(Doc::from_stored(&stored), false);
    let mut documents: Vec<Option<Vec<u8>>> =
        layout.documents(Doc::from_stored(&stored)).into_iter().map(Some).collect();
    let is_alone = documents.len() == 1;
    let mut bytes = stored.len();
    for (ordinal, new) in changed {
        let Some(document) = documents.get_mut(*ordinal as usize) else { continue };
        let reading = layout.reading(Doc::from_stored(new))?;
        let belongs = header.is_of(&reading)
            && match layout.size() {
                Size::Span(_) => header.start == layout.start_of(reading.time),
                Size::Count(_) => true,
            };
        let before = document.as_ref().map_or(0, Vec::len);
        let grown = bytes.saturating_sub(before) + new.len();
        // One that is alone has no better place.
        let fits = new.len() <= before || grown <= FULL_BYTES || is_alone;
        if belongs && fits {
            (*document, bytes) = (Some(new.clone()), grown);
        } else {
            (*document, bytes) = (None, bytes.saturating_sub(before));
            moved.push(new);
        }
    }
    let kept: Vec<Vec<u8>> = documents.into_iter().flatten().collect();
    rewrite(layout, guard, record_id, &header, &kept, cx)
}

/// Removes the readings at these places of one bucket, and the bucket with its last one.
pub(super) fn remove(
    layout: &Bucket,
    guard: &mut WriteGuard<'_>,
    record_id: RecordId,
    ordinals: &[u32],
    cx: &mut Cx<'_>,
) -> Result<()> {
    let stored = read(guard, record_id, cx);
    let stored = Doc::from_stored(&stored);
    let documents = (0u32..).zip(layout.documents(stored));
    let kept: Vec<Vec<u8>> = documents
        .filter(|(ordinal, _)| ordinals.binary_search(ordinal).is_err())
        .map(|(_, document)| document)
        .collect();
    rewrite(layout, guard, record_id, &Header::read(stored, false), &kept, cx)
}

fn rewrite(
    layout: &Bucket,
    guard: &mut WriteGuard<'_>,
    record_id: RecordId,
    header: &Header<'_>,
    documents: &[Vec<u8>],
    cx: &mut Cx<'_>,
) -> Result<()> {
    let documents = documents.iter().map(|document| Doc::from_stored(document));
    match layout.fold(header.id, documents)? {
        Some(stored) => write::update(guard, record_id, Doc::from_stored(&stored), Changed::Anything, true, cx),
        None => write::delete(guard, record_id, cx).map(|_| ()),
    }
}

fn read(guard: &WriteGuard<'_>, record_id: RecordId, cx: &mut Cx<'_>) -> Vec<u8> {
    guard.peek().records.get(record_id, &mut cx.visitor).map_or_else(|| vec![5, 0, 0, 0, 0], <[u8]>::to_vec)
}
