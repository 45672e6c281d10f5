//! `createIndexes`, `dropIndexes` and `listIndexes`.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};

use super::args::Args;
use super::{Request, Target, create, list, not_on_a_view};
use crate::collection::{Index, IndexSpec, State, same_documents};
use crate::cursor::{Buffered, ServerCursor, reply_first_batch};
use crate::layout;
use crate::trace::Cx;
use crate::write;

/// The most indexes of a collection, the one on `_id` included.
const MAX_INDEXES: usize = 64;

pub(super) fn create(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args =
        Args::of_command("createIndexes", request.command, &["indexes", "ignoreUnknownIndexOptions", "commitQuorum"])?;
    let name = request.collection_name()?;
    if matches!(args.get("indexes"), Some(Value::Null)) {
        return Err(Error::new(10_065, "invalid parameter: expected an object (indexes)"));
    }
    let list = args.required_array("indexes")?;
    if list.is_empty() {
        return Err(Error::new(code::BAD_VALUE, "Must specify at least one index to create"));
    }
    if args.get("commitQuorum").is_some() {
        return Err(Error::new(
            code::BAD_VALUE,
            "commitQuorum is supported only for two phase index builds with commit quorum",
        ));
    }
    let mut specs = Vec::new();
    for element in list.iter() {
        let Value::Document(spec) = element.value() else {
            return Err(args.mismatch("indexes", element.kind, "object"));
        };
        specs.push(IndexSpec::parse(spec)?);
    }
    if let Target::View(_) = request.target(name) {
        return Err(not_on_a_view(&request.namespace(name)));
    }
    let created = matches!(request.target(name), Target::Absent);
    let collection = match request.target(name) {
        Target::Layout(layout) => {
            specs.iter_mut().try_for_each(|spec| layout::translate_index(&layout, spec))?;
            Arc::clone(&layout.stored)
        }
        _ => create::open_or_create(request, name)?,
    };
    let guard = collection.lock_for_writing();
    let before = guard.peek().indexes.len();
    let mut indexes = Vec::new();
    for mut spec in specs {
        let snapshot = guard.snapshot();
        spec.complete(snapshot.options.collation.as_ref())?;
        if is_there(&snapshot, &indexes, &spec)? {
            continue;
        }
        if snapshot.indexes.len() + indexes.len() >= MAX_INDEXES {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                format!("add index fails, too many indexes for {} key:{:?}", request.namespace(name), spec.key),
            ));
        }
        let index = Index::new(spec)?;
        indexes.push(write::build_index(&snapshot, index, cx).map_err(|error| request.name_namespace(error, name))?);
    }
    let after = before + indexes.len();
    let none_new = indexes.is_empty();
    if !none_new {
        guard.change().get().indexes.extend(indexes);
    }

    let mut reply = Builder::new();
    reply.append("numIndexesBefore", before as i32);
    reply.append("numIndexesAfter", after as i32);
    if created {
        reply.append("createdCollectionAutomatically", true);
    }
    if none_new {
        reply.append("note", "all indexes already exist");
    }
    Ok(reply)
}

/// Whether an equal index exists already.
///
/// # Errors
/// 85 for the same key under another name or with other options, 86 for the same name with another key.
fn is_there(state: &State, new: &[Index], spec: &IndexSpec) -> Result<bool> {
    if spec.is_id_key() {
        return Ok(true);
    }
    let specs = || state.indexes.iter().chain(new).map(|index| &index.meta.spec);
    let in_this_command = |name: &str| new.iter().any(|index| index.meta.spec.name == name);
    if let Some(other) = specs().find(|other| other.same_entries(spec)) {
        if other.name == spec.name && other.same_options(spec) {
            if in_this_command(&spec.name) {
                return Err(Error::new(
                    code::OPERATION_FAILED,
                    format!("Identical index already exists: {}", spec.name),
                ));
            }
            return Ok(true);
        }
        if other.name == spec.name && (other.unique, other.sparse) != (spec.unique, spec.sparse) {
            return Err(Error::new(
                code::INDEX_KEY_SPECS_CONFLICT,
                format!("An existing index has the same name as the requested index but other options: {}", spec.name),
            ));
        }
        if other.same_options(spec) || (other.unique, other.sparse) == (spec.unique, spec.sparse) {
            return Err(Error::new(
                code::INDEX_OPTIONS_CONFLICT,
                format!("Index already exists with a different name or options: {}", other.name),
            ));
        }
    }
    if specs().any(|other| other.name == spec.name) {
        return Err(Error::new(
            code::INDEX_KEY_SPECS_CONFLICT,
            format!("An existing index has the same name as the requested index: {}", spec.name),
        ));
    }
    Ok(false)
}

pub(super) fn drop(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("dropIndexes", request.command, &["index"])?;
    let name = request.collection_name()?;
    let (collection, fixed) = match request.target(name) {
        Target::Absent => {
            return Err(Error::new(code::NAMESPACE_NOT_FOUND, format!("ns not found {}", request.namespace(name))));
        }
        Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
        Target::Layout(layout) => (Arc::clone(&layout.stored), layout.fixed_indexes()),
        Target::Collection(collection) => (collection, 1),
    };
    let guard = collection.lock_for_writing();
    let state = guard.snapshot();
    let mut dropped = Vec::new();
    let mut all = false;
    match args.required_or_null("index")? {
        Value::String(text) if text.as_str() == "*" => {
            all = true;
            dropped.extend(fixed..state.indexes.len());
        }
        Value::String(text) => dropped.push(droppable_by_name(&state, text.as_str())?),
        Value::Document(key) => dropped.push(droppable_by_key(&state, key)?),
        Value::Array(names) => {
            for element in names.iter() {
                let Value::String(text) = element.value() else {
                    return Err(args.mismatch("index", element.kind, "string"));
                };
                dropped.push(droppable_by_name(&state, text.as_str())?);
            }
        }
        other => return Err(args.mismatch("index", other.kind(), "string")),
    }
    if dropped.iter().any(|&position| position < fixed) {
        return Err(Error::new(code::INVALID_OPTIONS, "cannot drop an index that the layout rests on"));
    }
    let before = state.indexes.len();
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

fn droppable_by_name(state: &State, name: &str) -> Result<usize> {
    match state.index_named(name) {
        None => Err(Error::new(code::INDEX_NOT_FOUND, format!("index not found with name [{name}]"))),
        Some(position) => droppable(state, position),
    }
}

fn droppable_by_key(state: &State, key: Doc<'_>) -> Result<usize> {
    let same = |index: &&Index| same_documents(index.meta.spec.key.doc(), key);
    let mut found = state.indexes.iter().enumerate().filter(|(_, index)| same(index));
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
    if state.indexes[position].meta.is_id {
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
            layout.stored.snapshot().indexes.iter().map(|index| shown(&index.meta.spec)).collect()
        }
        Target::Collection(collection) => {
            collection.snapshot().indexes.iter().map(|index| shown(&index.meta.spec)).collect()
        }
    };
    let mut reply = Builder::new();
    let cursor = ServerCursor::new(request.namespace(name), Box::new(Buffered::new(rows)));
    reply_first_batch(&request.server.cursors, cursor, batch_size, false, &mut reply, cx)?;
    Ok(reply)
}

fn shown(spec: &IndexSpec) -> DocBuf {
    let mut row = Builder::new();
    spec.show(&mut row);
    row.finish()
}
