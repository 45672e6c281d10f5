//! `createIndexes`, `dropIndexes` and `listIndexes`.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Kind, Result, Value, code};

use super::args::{Args, to_integer};
use super::{Request, Target, create, list, not_on_a_view};
use crate::collection::{Index, IndexSpec, State, same_documents};
use crate::cursor::{Buffered, ServerCursor, reply_listing};
use crate::layout;
use crate::namespace;
use crate::trace::Cx;
use crate::write;

/// The most indexes of a collection, the one on `_id` included.
const MAX_INDEXES: usize = 64;

pub(super) fn create(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args =
        Args::of_command("createIndexes", request.command, &["indexes", "ignoreUnknownIndexOptions", "commitQuorum"])?;
    let name = request.collection_name()?;
    let ignore_unknown = args.loose_flag("ignoreUnknownIndexOptions")?.unwrap_or(false);
    let list = args.required_array("indexes")?;
    let has_quorum = check_quorum(&args)?;
    let target = request.target(name);
    if let Target::Layout(layout) = &target
        && layout.series.is_some()
    {
        layout::series::check_specs(list)?;
    }
    let mut specs = Vec::new();
    let mut expiries = Vec::new();
    for spec in args.required_documents("indexes")? {
        let (spec, expiry) = IndexSpec::read(spec, ignore_unknown)?;
        specs.push(spec);
        expiries.push(expiry);
    }
    if specs.is_empty() {
        return Err(Error::new(code::BAD_VALUE, "Must specify at least one index to create"));
    }
    if has_quorum {
        namespace::check_writable(request.database, name)?;
        return Err(Error::new(code::BAD_VALUE, "commitQuorum is for replica sets, of which there are none"));
    }
    specs.iter().zip(expiries).try_for_each(|(spec, expiry)| spec.check(expiry))?;
    if let Target::View(_) = target {
        return Err(not_on_a_view(&request.namespace(name)));
    }
    let created = matches!(target, Target::Absent);
    namespace::check_writable(request.database, name)?;
    if created {
        // What cannot be compiled fails before the collection is made.
        for spec in &specs {
            let mut spec = spec.clone();
            spec.complete(None)?;
            Index::new(spec)?;
        }
    }
    // Indexes that clients do not see stand in nobody's way.
    let mut hidden = 0;
    let collection = match target {
        Target::Layout(layout) => {
            hidden = layout.hidden_indexes();
            if layout.series.is_none() && specs.iter().any(|spec| spec.expire_after_seconds.is_some()) {
                return Err(Error::new(code::CANNOT_CREATE_INDEX, "documents of a layout do not expire"));
            }
            specs.iter_mut().try_for_each(|spec| layout::translate_index(&layout, spec))?;
            Arc::clone(&layout.stored)
        }
        _ => create::open_or_create(request, name)?,
    };
    let guard = collection.lock_for_writing();
    let snapshot = guard.snapshot();
    let before = snapshot.counted_indexes() - hidden;
    let n_asked = specs.len();
    let mut indexes: Vec<Index> = Vec::new();
    for mut spec in specs {
        let own_collation = spec.collation.is_some();
        spec.complete(snapshot.options.collation.as_ref())?;
        check_for_collection(&snapshot, &spec, own_collation)?;
        let index = Index::new(spec)?;
        if index.meta.is_id || is_among(&snapshot.indexes[hidden..], &index)? {
            continue;
        }
        if is_among(&indexes, &index)? {
            // An empty collection's indexes are made one by one, so that the first is there already.
            let (code, why) = match snapshot.records.len() {
                0 => (code::INDEX_ALREADY_EXISTS, "Identical index already exists"),
                _ => (code::OPERATION_FAILED, "Cannot build two identical indexes"),
            };
            return Err(Error::new(code, format!("{why}: {}", index.meta.spec.name)));
        }
        if snapshot.indexes.len() - hidden + indexes.len() >= MAX_INDEXES {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                format!(
                    "add index fails, too many indexes for {} key:{:?}",
                    request.namespace(name),
                    index.meta.spec.key
                ),
            ));
        }
        indexes.push(write::build_index(&snapshot, index, cx).map_err(|error| request.name_namespace(error, name))?);
    }
    // Pages are not shared with this snapshot any more when they change next.
    std::mem::drop(snapshot);
    let after = before + indexes.len();
    let note = match (indexes.len(), n_asked) {
        (0, _) => Some("all indexes already exist"),
        (new, asked) if new < asked => Some("index already exists"),
        _ => None,
    };
    if !indexes.is_empty() {
        guard.change().get().indexes.extend(indexes);
    }

    let mut reply = Builder::new();
    reply.append("numIndexesBefore", before as i32);
    reply.append("numIndexesAfter", after as i32);
    if created || after > before {
        reply.append("createdCollectionAutomatically", created);
    }
    if let Some(note) = note {
        reply.append("note", note);
    }
    Ok(reply)
}

/// Whether a quorum is given, which only replica sets have a use for.
///
/// # Errors
/// 14 for another type, 9 for one that cannot be.
fn check_quorum(args: &Args<'_>) -> Result<bool> {
    const MOST: i64 = 50;
    let Some(quorum) = args.given("commitQuorum") else { return Ok(false) };
    let is_possible = match (&quorum, to_integer(&quorum)) {
        (Value::String(name), _) => !name.as_bytes().is_empty(),
        (_, Some(n)) => (0..=MOST).contains(&n),
        _ => return Err(args.mismatch("commitQuorum", quorum.kind(), "long")),
    };
    if !is_possible {
        return Err(Error::new(code::FAILED_TO_PARSE, format!("commitQuorum is a name or a number from 0 to {MOST}")));
    }
    Ok(true)
}

/// What depends on the collection.
fn check_for_collection(state: &State, spec: &IndexSpec, own_collation: bool) -> Result<()> {
    if let Some(clustered) = &state.options.clustered
        && spec.name == clustered.name
        && !spec.is_id_key()
    {
        return Err(Error::new(
            6_100_906,
            "Cannot create an index where the name matches the clusteredIndex but the key does not",
        ));
    }
    if spec.clustered && (state.options.clustered.is_none() || !spec.is_id_key()) {
        return Err(Error::new(
            6_243_700,
            "Cannot create index with option 'clustered' that does not match an existing clustered index",
        ));
    }
    if spec.is_id_key() && own_collation && spec.collation != state.options.collation {
        return Err(Error::new(code::BAD_VALUE, "The _id index must have the same collation as the collection."));
    }
    if spec.expire_after_seconds.is_some() && state.options.capped.is_some() {
        return Err(Error::new(code::CANNOT_CREATE_INDEX, "Cannot create TTL index on a capped collection"));
    }
    Ok(())
}

/// Whether the same index is among these. Being hidden and the version do not tell indexes apart.
///
/// # Errors
/// 86 for another index of the same name, 85 for the same one under another name or with another expiry.
fn is_among(indexes: &[Index], index: &Index) -> Result<bool> {
    let spec = &index.meta.spec;
    if let Some(other) = indexes.iter().find(|other| other.meta.spec.name == spec.name) {
        if !other.meta.same_signature(&index.meta) {
            return Err(Error::new(
                code::INDEX_KEY_SPECS_CONFLICT,
                format!("An existing index has the same name as the requested index: {}", spec.name),
            ));
        }
        if other.meta.spec.expire_after_seconds != spec.expire_after_seconds {
            return Err(Error::new(
                code::INDEX_OPTIONS_CONFLICT,
                format!("An equivalent index already exists with the same name but different options: {}", spec.name),
            ));
        }
        return Ok(true);
    }
    match indexes.iter().find(|other| other.meta.same_signature(&index.meta)) {
        Some(other) => Err(Error::new(
            code::INDEX_OPTIONS_CONFLICT,
            format!("Index already exists with a different name: {}", other.meta.spec.name),
        )),
        None => Ok(false),
    }
}

pub(super) fn drop(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("dropIndexes", request.command, &["index"])?;
    let name = request.collection_name()?;
    let index = args.required_or_null("index")?;
    match index {
        Value::String(_) | Value::Document(_) => {}
        Value::Array(names) => {
            if let Some(element) = names.iter().find(|element| element.kind != Kind::String) {
                return Err(args.mismatch("index", element.kind, "string"));
            }
        }
        other => return Err(args.mismatch("index", other.kind(), "string")),
    }
    let mut hidden = 0;
    let target = request.target(name);
    // A key is that of buckets.
    let translated = match (&index, &target) {
        (Value::Document(key), Target::Layout(layout)) if layout.series.is_some() => layout.layout.index_key(*key),
        _ => None,
    };
    let (collection, fixed) = match target {
        Target::Absent => {
            return Err(Error::new(code::NAMESPACE_NOT_FOUND, format!("ns not found {}", request.namespace(name))));
        }
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Layout(layout) => {
            hidden = layout.hidden_indexes();
            (Arc::clone(&layout.stored), layout.fixed_indexes())
        }
        Target::Collection(collection) => (collection, 1),
    };
    let guard = collection.lock_for_writing();
    let state = guard.snapshot();
    let mut dropped = Vec::new();
    let mut all = false;
    let mut add = |name: &str| {
        if name == "*" {
            all = true;
            dropped.extend((fixed..state.indexes.len()).filter(|&position| !state.indexes[position].meta.is_id));
        } else {
            dropped.push(droppable_by_name(&state, name, hidden)?);
        }
        Ok::<(), Error>(())
    };
    match index {
        Value::Document(key) => {
            let key = translated.as_ref().map_or(key, DocBuf::doc);
            dropped.push(droppable_by_key(&state, key, hidden)?);
        }
        Value::Array(names) => {
            for element in names.iter() {
                add(element.value().as_str().unwrap_or_default())?;
            }
        }
        other => add(other.as_str().unwrap_or_default())?,
    }
    if dropped.iter().any(|&position| position < fixed) {
        return Err(Error::new(code::INVALID_OPTIONS, "cannot drop an index that the layout rests on"));
    }
    let before = state.counted_indexes() - hidden;
    std::mem::drop(state);
    let mut change = guard.change();
    let mut position = 0;
    change.get().indexes.retain(|_| {
        position += 1;
        !dropped.contains(&(position - 1))
    });
    let mut reply = Builder::new();
    reply.append("nIndexesWas", before as i32);
    if all {
        reply.append("msg", "non-_id indexes dropped for collection");
    }
    Ok(reply)
}

/// The position of the index with this name. The first `hidden` ones are not a client's to drop.
fn droppable_by_name(state: &State, name: &str, hidden: usize) -> Result<usize> {
    if hidden > 0 && name == "_id_" {
        return Err(Error::new(5_979_800, "It is illegal to drop the clusteredIndex"));
    }
    match state.index_named(name).filter(|&position| position >= hidden) {
        None => Err(Error::new(code::INDEX_NOT_FOUND, format!("index not found with name [{name}]"))),
        Some(position) => droppable(state, position),
    }
}

fn droppable_by_key(state: &State, key: Doc<'_>, hidden: usize) -> Result<usize> {
    let same = |index: &&Index| same_documents(index.meta.spec.key.doc(), key);
    let mut found = state.indexes.iter().enumerate().skip(hidden).filter(|(_, index)| same(index));
    match (found.next(), found.next()) {
        (None, _) => Err(Error::new(code::INDEX_NOT_FOUND, format!("can't find index with key: {key:?}"))),
        (Some(_), Some(_)) => Err(Error::new(
            code::AMBIGUOUS_INDEX_KEY_PATTERN,
            format!("{key:?} is the key of more than one index; drop it by name"),
        )),
        (Some((position, _)), None) => droppable(state, position),
    }
}

fn droppable(state: &State, position: usize) -> Result<usize> {
    let meta = &state.indexes[position].meta;
    if meta.spec.clustered {
        return Err(Error::new(5_979_800, "It is illegal to drop the clusteredIndex"));
    }
    if meta.is_id {
        return Err(Error::new(code::INVALID_OPTIONS, "cannot drop _id index"));
    }
    Ok(position)
}

pub(super) fn list(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args =
        Args::of_command("listIndexes", request.command, &["cursor", "includeBuildUUIDs", "includeIndexBuildInfo"])?;
    let name = request.collection_name()?;
    let batch_size = list::cursor_batch_size(&args)?;
    let rows: Vec<DocBuf> = match request.target(name) {
        Target::Absent => {
            return Err(Error::new(
                code::NAMESPACE_NOT_FOUND,
                format!("ns does not exist: {}", request.namespace(name)),
            ));
        }
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Layout(layout) => {
            let state = layout.stored.snapshot();
            let indexes = state.indexes.iter().skip(layout.hidden_indexes());
            indexes.map(|index| shown(&index.meta.spec.as_declared())).collect()
        }
        Target::Collection(collection) => {
            collection.snapshot().indexes.iter().map(|index| shown(&index.meta.spec)).collect()
        }
    };
    let mut reply = Builder::new();
    let cursor = ServerCursor::new(request.namespace(name), Box::new(Buffered::new(rows)));
    reply_listing(&request.server.cursors, cursor, batch_size, &mut reply, cx)?;
    Ok(reply)
}

fn shown(spec: &IndexSpec) -> DocBuf {
    let mut row = Builder::new();
    spec.show(&mut row);
    row.finish()
}
