//! What lies where: `collStats`, `dbStats`, `validate`, `compact`.
//!
//! Sizes are those of the pages, as a full walk finds them. `size` is logical (bytes of documents),
//! `storageSize` and `indexSizes` are physical (bytes of pages); the two are never mixed.

use bindery_document::{Builder, Error, Result, Value, code};
use bindery_index::TreeStats;

use super::args::{Args, OUT_OF_RANGE};
use super::{Request, Target, not_on_a_view};
use crate::catalog::Entry;
use crate::collection::{Index, State, append_number};
use crate::layout;
use crate::layout::series::not_on_a_series;
use crate::trace::Cx;
use crate::write;

/// The collection asked about; these commands call a name of another type an invalid one.
///
/// # Errors
/// 73 for what is no name.
fn collection_name<'a>(request: &Request<'a>) -> Result<&'a str> {
    match request.command.first().map(|element| element.value()) {
        Some(Value::String(_) | Value::Symbol(_)) => request.collection_name(),
        _ => Err(Error::new(code::INVALID_NAMESPACE, "collection name has invalid type")),
    }
}

pub(super) fn coll_stats(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args { name: "collStats", doc: request.command };
    let name = collection_name(request)?;
    let scale = scale(&args)?;
    let mut reply = Builder::new();
    reply.append("ns", request.namespace(name).as_str());
    match request.target(name) {
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Absent => {
            for field in ["size", "count", "numOrphanDocs", "storageSize", "totalSize", "nindexes", "totalIndexSize"] {
                reply.append(field, 0);
            }
            for field in ["indexDetails", "indexSizes"] {
                let open = reply.open_document(field);
                reply.close(open);
            }
        }
        Target::Layout(collection) => {
            let buckets = request.namespace(&layout::series::buckets_name(name));
            layout::show_stats(&mut reply, &collection, scale, &buckets);
        }
        Target::Collection(collection) => show_collection(&mut reply, &collection.snapshot(), scale),
    }
    append_number(&mut reply, "scaleFactor", scale);
    Ok(reply)
}

fn show_collection(reply: &mut Builder, state: &State, scale: u64) {
    let records = state.records.stats();
    let (size, count) = (state.records.data_bytes(), state.records.len());
    append_number(reply, "size", size / scale);
    append_number(reply, "count", count);
    if let Some(average) = size.checked_div(count) {
        append_number(reply, "avgObjSize", average);
    }
    append_number(reply, "numOrphanDocs", 0);
    append_number(reply, "storageSize", records.bytes() / scale);
    append_number(reply, "freeStorageSize", (records.bytes() - records.used_bytes) / scale);
    reply.append("capped", state.options.capped.is_some());
    if let Some(capped) = state.options.capped {
        append_number(reply, "max", capped.documents.map_or(0, u64::from));
        append_number(reply, "maxSize", capped.bytes / scale);
    }
    let open = reply.open_document("bindery");
    show_tree(reply, "records", &records);
    reply.close(open);
    append_number(reply, "nindexes", state.counted_indexes() as u64);
    let details = reply.open_document("indexDetails");
    for index in &state.indexes {
        show_tree(reply, &index.meta.spec.name, &index.tree.stats());
    }
    reply.close(details);
    let total: u64 = state.indexes.iter().map(|index| index.tree.stats().bytes()).sum();
    let builds = reply.open_array("indexBuilds");
    reply.close(builds);
    append_number(reply, "totalIndexSize", total / scale);
    append_number(reply, "totalSize", (total + records.bytes()) / scale);
    let sizes = reply.open_document("indexSizes");
    for index in &state.indexes {
        append_number(reply, &index.meta.spec.name, index.tree.stats().bytes() / scale);
    }
    reply.close(sizes);
}

/// Appends what a tree occupies.
pub(crate) fn show_tree(reply: &mut Builder, name: &str, stats: &TreeStats) {
    let open = reply.open_document(name);
    append_number(reply, "entries", stats.entries);
    append_number(reply, "height", u64::from(stats.height));
    append_number(reply, "leafPages", stats.leaf_pages);
    append_number(reply, "leafBytes", stats.leaf_bytes);
    append_number(reply, "innerPages", stats.inner_pages);
    append_number(reply, "innerBytes", stats.inner_bytes);
    append_number(reply, "overflowPages", stats.overflow_pages);
    append_number(reply, "overflowBytes", stats.overflow_bytes);
    append_number(reply, "usedBytes", stats.used_bytes);
    reply.append("fill", stats.fill());
    reply.close(open);
}

pub(super) fn db_stats(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args { name: "dbStats", doc: request.command };
    if let Some(Value::String(_)) = args.get("dbStats") {
        return Err(Error::new(code::INVALID_NAMESPACE, "dbStats is about a database, not a collection"));
    }
    let scale = scale(&args)? as f64;
    let (mut collections, mut views, mut objects, mut indexes) = (0u64, 0u64, 0u64, 0u64);
    let (mut data, mut storage, mut index_bytes) = (0u64, 0u64, 0u64);
    for (_, entry) in request.server.catalog.read().entries(request.database) {
        match entry {
            Entry::View(_) => views += 1,
            Entry::Layout(layout) => {
                let moment = layout.snapshot();
                collections += 1;
                views += u64::from(layout.series.is_some());
                objects += match layout.series {
                    Some(_) => moment.stored.records.len(),
                    None => layout::logical_count(&moment, layout),
                };
                for (_, state) in layout.parts(&moment) {
                    data += state.records.data_bytes();
                    storage += state.records.stats().bytes();
                    indexes += (state.indexes.len() - layout.hidden_indexes()) as u64;
                    index_bytes += state.indexes.iter().map(|index| index.tree.stats().bytes()).sum::<u64>();
                }
            }
            Entry::Collection(collection) => {
                let state = collection.snapshot();
                collections += 1;
                objects += state.records.len();
                data += state.records.data_bytes();
                storage += state.records.stats().bytes();
                indexes += state.counted_indexes() as u64;
                index_bytes += state.indexes.iter().map(|index| index.tree.stats().bytes()).sum::<u64>();
            }
        }
    }
    let mut reply = Builder::new();
    reply.append("db", request.database);
    append_number(&mut reply, "collections", collections);
    append_number(&mut reply, "views", views);
    append_number(&mut reply, "objects", objects);
    reply.append("avgObjSize", if objects == 0 { 0.0 } else { data as f64 / objects as f64 });
    reply.append("dataSize", data as f64 / scale);
    reply.append("storageSize", storage as f64 / scale);
    append_number(&mut reply, "indexes", indexes);
    reply.append("indexSize", index_bytes as f64 / scale);
    reply.append("totalSize", (storage + index_bytes) as f64 / scale);
    reply.append("scaleFactor", scale);
    Ok(reply)
}

/// The divisor of all sizes.
fn scale(args: &Args<'_>) -> Result<u64> {
    match args.integer("scale")? {
        None => Ok(1),
        Some(n) if n >= 1 => Ok(n.unsigned_abs()),
        Some(n) => Err(Error::new(OUT_OF_RANGE, format!("BSON field 'scale' value must be >= 1, actual value '{n}'"))),
    }
}

/// Walks all pages and entries, and compares them with the statistics, and the indexes with the documents.
pub(super) fn validate(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let name = collection_name(request)?;
    let is_set = |flag: &str| request.command.get(flag).is_some_and(|value| value.is_truthy());
    if is_set("background") && is_set("full") {
        return Err(Error::new(
            code::INVALID_OPTIONS,
            "Running the validate command with both { background: true } and { full: true } is not supported.",
        ));
    }
    let collection = match request.target(name) {
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Absent => {
            return Err(Error::new(
                code::NAMESPACE_NOT_FOUND,
                format!("Collection '{}' does not exist to validate.", request.namespace(name)),
            ));
        }
        Target::Layout(collection) if collection.series.is_some() => {
            return Err(not_on_a_series(&request.namespace(name)));
        }
        Target::Layout(collection) => {
            let moment = collection.snapshot();
            let found = layout::validate(&moment, &collection, cx)?;
            return Ok(show_faults(
                request,
                name,
                layout::logical_count(&moment, &collection),
                &collection.parts(&moment),
                &found,
            ));
        }
        Target::Collection(collection) => collection,
    };
    let state = collection.snapshot();
    let found = write::validate(&state, cx)?;
    Ok(show_faults(request, name, state.records.len(), &[(String::new(), &state)], &found))
}

/// What `validate` replies. The parts of a collection are more than one where it has a layout; each has what
/// its indexes' names end in.
fn show_faults(
    request: &Request<'_>,
    name: &str,
    count: u64,
    parts: &[(String, &State)],
    found: &[write::Fault],
) -> Builder {
    let indexes = || {
        let of_part = |(suffix, state): &'_ (String, &'_ State)| {
            let entry = |index: &Index| (format!("{}{suffix}", index.meta.spec.name), index.tree.len());
            state.indexes.iter().map(entry).collect::<Vec<_>>()
        };
        parts.iter().flat_map(of_part).collect::<Vec<_>>()
    };
    let mut reply = Builder::new();
    reply.append("ns", request.namespace(name).as_str());
    reply.append("nInvalidDocuments", 0);
    reply.append("nNonCompliantDocuments", 0);
    append_number(&mut reply, "nrecords", count);
    append_number(&mut reply, "nIndexes", indexes().len() as u64);
    let keys = reply.open_document("keysPerIndex");
    for (index, entries) in indexes() {
        append_number(&mut reply, &index, entries);
    }
    reply.close(keys);
    let details = reply.open_document("indexDetails");
    for (index, _) in indexes() {
        let open = reply.open_document(&index);
        reply.append("valid", !found.iter().any(|fault| fault.index.as_ref() == Some(&index)));
        reply.close(open);
    }
    reply.close(details);
    reply.append("valid", found.is_empty());
    reply.append("repaired", false);
    let warnings = reply.open_array("warnings");
    reply.close(warnings);
    let errors = reply.open_array("errors");
    for (i, fault) in found.iter().enumerate() {
        reply.append_index(i, fault.message.as_str());
    }
    reply.close(errors);
    for field in ["extraIndexEntries", "missingIndexEntries", "corruptRecords"] {
        let open = reply.open_array(field);
        reply.close(open);
    }
    reply
}

/// Rebuilds records and indexes at full fill.
pub(super) fn compact(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("compact", request.command, &["force"])?;
    args.loose_flag("force")?;
    let name = collection_name(request)?;
    let collection = match request.target(name) {
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Absent => return Err(Error::new(code::NAMESPACE_NOT_FOUND, "collection does not exist")),
        Target::Layout(collection) if collection.series.is_some() => {
            return Err(not_on_a_series(&request.namespace(name)));
        }
        Target::Layout(collection) => return Ok(show_freed(layout::compact(&collection, cx))),
        Target::Collection(collection) => collection,
    };
    let guard = collection.lock_for_writing();
    let before = layout::bytes(&guard.peek());
    // The work is done on a copy, so that readers go on meanwhile.
    let mut compacted = State::clone(&guard.peek());
    compacted.compact(cx);
    let after = layout::bytes(&compacted);
    *guard.change().get() = compacted;
    Ok(show_freed((before, after)))
}

/// What `compact` replies, of the bytes before and after.
fn show_freed((before, after): (u64, u64)) -> Builder {
    let mut reply = Builder::new();
    reply.append("bytesFreed", Value::Int64(i64::try_from(before.saturating_sub(after)).unwrap_or(0)));
    reply
}

/// The bytes of a collection's documents.
pub(super) fn data_size(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let Some(Value::String(full)) = request.command.first().map(|e| e.value()) else {
        return Err(Error::new(code::BAD_VALUE, "collection name has invalid type"));
    };
    let full = full.as_str();
    let Some((database, name)) = full.split_once('.').filter(|(_, name)| !name.is_empty()) else {
        return Err(Error::new(code::INVALID_NAMESPACE, format!("Invalid namespace specified '{full}'")));
    };
    for field in ["keyPattern", "min", "max"] {
        if request.command.get(field).is_some() {
            return Err(Error::new(code::COMMAND_NOT_SUPPORTED, format!("dataSize does not take '{field}'")));
        }
    }
    let mut reply = Builder::new();
    let request = Request { database, ..*request };
    let (size, count) = match request.target(name) {
        Target::View(_) => return Err(not_on_a_view(full)),
        Target::Absent => (0, 0),
        Target::Layout(collection) if collection.series.is_some() => return Err(not_on_a_series(full)),
        Target::Layout(collection) => {
            let state = collection.snapshot().stored;
            (state.records.data_bytes(), state.records.len())
        }
        Target::Collection(collection) => {
            let state = collection.snapshot();
            reply.append("estimate", request.command.get("estimate").is_some_and(|flag| flag.is_truthy()));
            (state.records.data_bytes(), state.records.len())
        }
    };
    append_number(&mut reply, "size", size);
    append_number(&mut reply, "numObjects", count);
    reply.append("millis", 0);
    Ok(reply)
}
