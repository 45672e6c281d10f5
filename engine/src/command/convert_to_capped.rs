//! `convertToCapped` and `cloneCollectionAsCapped`: the newest documents that fit, in a capped collection.
//!
//! Source: MongoDB's manual, "convertToCapped".

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Result, Value, code};

use super::args::to_integer;
use super::{Request, Target, count, create, not_on_a_view};
use crate::catalog::Entry;
use crate::collection::{Capped, Collection, CollectionOptions};
use crate::namespace;
use crate::trace::Cx;
use crate::write;

/// Makes a collection capped. It loses all indexes but the one on `_id`.
pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let name = count::collection_name(request)?;
    let size = size(request)?;
    namespace::check_writable(request.database, name)?;
    let source = source(request, name)?;
    // Nobody writes until the copy has the name.
    let guard = source.lock_for_writing();
    let capped = capped_copy(request, &source, size, cx)?;
    request.server.catalog.write().replace(request.database, name, Entry::Collection(Arc::new(capped)));
    drop(guard);
    let namespace = request.namespace(name);
    request.server.cursors.doom(|cursor| cursor == namespace, "collection dropped");
    Ok(Builder::new())
}

/// Copies a collection into a new, capped one.
pub(super) fn clone_collection(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let name = count::collection_name(request)?;
    let Some(Value::String(to)) = request.command.get("toCollection") else {
        return Err(Error::new(code::TYPE_MISMATCH, "'toCollection' must be of type String"));
    };
    let to = to.as_str();
    namespace::check_new_collection(request.database, to)?;
    let size = size(request)?;
    let source = source(request, name)?;
    if !matches!(request.target(to), Target::Absent) {
        return Err(Error::new(
            code::NAMESPACE_EXISTS,
            format!("destination collection {} already exists", request.namespace(to)),
        ));
    }
    let capped = capped_copy(request, &source, size, cx)?;
    request.server.catalog.write().insert(request.database, to, Entry::Collection(Arc::new(capped)))?;
    Ok(Builder::new())
}

/// # Errors
/// 2 for a size that is none or cannot be.
fn size(request: &Request<'_>) -> Result<u64> {
    let invalid = |why: &str| Err(Error::new(code::BAD_VALUE, why));
    match request.command.get("size").and_then(|size| to_integer(&size)) {
        None | Some(0) => invalid("invalid command spec: 'size' must be a number other than 0"),
        Some(n) if n < 0 => invalid("size has to be >= 0"),
        Some(n) if n > Capped::MAX_BYTES => invalid("size cannot exceed 1 PB"),
        Some(n) => Ok(n.unsigned_abs()),
    }
}

fn source(request: &Request<'_>, name: &str) -> Result<Arc<Collection>> {
    match request.target(name) {
        Target::Collection(collection) => Ok(collection),
        Target::Layout(layout) if layout.series.is_some() => {
            Err(crate::layout::series::not_on_a_series(&request.namespace(name)))
        }
        Target::Layout(_) => Err(Error::new(
            code::INVALID_OPTIONS,
            "a collection with a layout cannot be capped, nor be copied into one",
        )),
        Target::View(_) => Err(not_on_a_view(&request.namespace(name))),
        Target::Absent => Err(Error::new(
            code::NAMESPACE_NOT_FOUND,
            format!("source collection {} does not exist", request.namespace(name)),
        )),
    }
}

fn capped_copy(request: &Request<'_>, source: &Collection, size: u64, cx: &mut Cx<'_>) -> Result<Collection> {
    let state = source.snapshot();
    let mut options = CollectionOptions::clone(&state.options);
    options.capped = Some(Capped::new(size, options.capped.and_then(|capped| capped.documents)));
    options.clustered = None;
    options.expire_after_seconds = None;
    let copy = create::new_collection(request.server, options)?;
    let mut guard = copy.lock_for_writing();
    let mut cursor = state.records.cursor();
    while let Some((_, document)) = cursor.next(&mut cx.visitor) {
        cx.step()?;
        let document = document.to_vec();
        write::insert(&mut guard, Doc::from_stored(&document), true, cx)?;
    }
    drop(guard);
    Ok(copy)
}
