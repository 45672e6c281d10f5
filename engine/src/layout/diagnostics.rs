//! What lies where, for a collection with a layout: all its parts together.

use bindery_document::{Builder, Doc, Result};

use bindery_patterns::bucket::Header;
use bindery_patterns::{Layout, Wanted};

use super::{LayoutCollection, Moment, subset};
use crate::collection::{State, append_number};
use crate::command::show_tree;
use crate::trace::Cx;
use crate::write::{self, Fault};

/// The bytes of all pages of a state.
pub(crate) fn bytes(state: &State) -> u64 {
    state.records.stats().bytes() + state.indexes.iter().map(|index| index.tree.stats().bytes()).sum::<u64>()
}

/// The number of logical documents.
pub(crate) fn logical_count(moment: &Moment, collection: &LayoutCollection) -> u64 {
    if collection.layout.is_one_to_one() {
        return moment.stored.records.len();
    }
    let (mut cursor, mut count) = (moment.stored.records.cursor(), 0);
    while let Some((_, stored)) = cursor.next(&mut bindery_index::Untraced) {
        count += u64::from(Header::read(Doc::from_stored(stored), false).count);
    }
    count
}

/// Appends `collStats`' figures: logical documents are counted, bytes are those of the stored form; indexes
/// of a side collection are named with its suffix. `buckets` is what a time-series collection's buckets are read under.
pub(crate) fn show_stats(reply: &mut Builder, collection: &LayoutCollection, scale: u64, buckets: &str) {
    let moment = collection.snapshot();
    let parts = collection.parts(&moment);
    let sum = |figure: &dyn Fn(&State) -> u64| parts.iter().map(|(_, state)| figure(state)).sum::<u64>();
    let is_series = collection.series.is_some();
    let size = sum(&|state| state.records.data_bytes());
    let storage = sum(&|state| state.records.stats().bytes());
    let used = sum(&|state| state.records.stats().used_bytes);
    let index_bytes = sum(&|state| state.indexes.iter().map(|index| index.tree.stats().bytes()).sum());
    append_number(reply, "size", size / scale);
    if is_series {
        collection.show_series_stats(reply, buckets);
    } else {
        let count = logical_count(&moment, collection);
        append_number(reply, "count", count);
        if let Some(average) = size.checked_div(count) {
            append_number(reply, "avgObjSize", average);
        }
    }
    append_number(reply, "numOrphanDocs", 0);
    append_number(reply, "storageSize", storage / scale);
    append_number(reply, "freeStorageSize", (storage - used) / scale);
    reply.append("capped", false);
    let open = reply.open_document("bindery");
    reply.append("layout", collection.layout.name());
    for (suffix, state) in &parts {
        show_tree(reply, &format!("records{suffix}"), &state.records.stats());
    }
    reply.close(open);
    // Clients of a time-series collection see their own indexes only; bytes are those of all.
    let hidden = collection.hidden_indexes();
    append_number(reply, "nindexes", sum(&|state| (state.indexes.len() - hidden) as u64));
    let details = reply.open_document("indexDetails");
    each_index(&parts, hidden, |name, index| show_tree(reply, name, &index.tree.stats()));
    reply.close(details);
    let builds = reply.open_array("indexBuilds");
    reply.close(builds);
    append_number(reply, "totalIndexSize", index_bytes / scale);
    append_number(reply, "totalSize", (index_bytes + storage) / scale);
    let sizes = reply.open_document("indexSizes");
    each_index(&parts, hidden, |name, index| append_number(reply, name, index.tree.stats().bytes() / scale));
    reply.close(sizes);
}

fn each_index(parts: &[(String, &State)], hidden: usize, mut show: impl FnMut(&str, &crate::collection::Index)) {
    for (suffix, state) in parts {
        for index in state.indexes.iter().skip(hidden) {
            show(&format!("{}{suffix}", index.meta.spec.name), index);
        }
    }
}

/// Walks everything: each part as a plain collection, and every stored document against the layout.
///
/// # Errors
/// Only when the time limit ends the walk; faults are the result.
pub(crate) fn validate(moment: &Moment, collection: &LayoutCollection, cx: &mut Cx<'_>) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for (suffix, state) in collection.parts(moment) {
        for fault in write::validate(state, cx)? {
            faults.push(Fault { index: fault.index.map(|name| format!("{name}{suffix}")), message: fault.message });
        }
    }
    let mut cursor = moment.stored.records.cursor();
    let mut children = 0;
    while let Some((record_id, stored)) = cursor.next(&mut cx.visitor) {
        cx.step()?;
        match check_stored(moment, collection, Doc::from_stored(stored), cx) {
            Ok(n) => children += n,
            Err(message) => faults.push(Fault { index: None, message: format!("{record_id:?}: {message}") }),
        }
    }
    let found = moment.side.as_ref().map_or(0, |side| side.records.len());
    if children != found {
        faults.push(Fault { index: None, message: format!("there are {found} children, but parents of {children}") });
    }
    Ok(faults)
}

/// What is stored must be what its logical documents are stored as. Gives how many children are its own.
fn check_stored(
    moment: &Moment,
    collection: &LayoutCollection,
    stored: Doc<'_>,
    cx: &mut Cx<'_>,
) -> std::result::Result<u64, String> {
    match &*collection.layout {
        Layout::Attribute(layout) => {
            let logical = layout.unfold(stored, Wanted::All, Vec::new());
            match layout.fold(Doc::from_stored(&logical), Vec::new()) == stored.as_bytes() {
                true => Ok(0),
                false => Err("is not what its logical document is stored as".to_owned()),
            }
        }
        Layout::Bucket(layout) => match layout.is_sound(stored) {
            true => Ok(0),
            false => Err("is not the bucket of its readings".to_owned()),
        },
        Layout::Subset(layout) => match &moment.side {
            Some(side) => subset::check(layout, side, stored, cx),
            None => Err("has no side collection".to_owned()),
        },
    }
}

/// Rebuilds all records and indexes at full fill; gives the bytes before and after.
pub(crate) fn compact(collection: &LayoutCollection, cx: &mut Cx<'_>) -> (u64, u64) {
    let writer = collection.lock_for_writing();
    let (mut before, mut after) = (0, 0);
    for guard in std::iter::once(&writer.stored).chain(&writer.side) {
        before += bytes(&guard.peek());
        // The work is done on a copy, so that readers go on meanwhile.
        let mut compacted = State::clone(&guard.peek());
        compacted.compact(cx);
        after += bytes(&compacted);
        *guard.change().get() = compacted;
    }
    (before, after)
}
