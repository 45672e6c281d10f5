//! `system.views`: the collection that shows a database's views as documents.
//!
//! It is made with the first view and stays when the last is gone, as on the server. Clients may read it;
//! the definitions in force are those in the catalogue.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result, Value};

use super::{Request, Target, create};
use crate::catalog::{Entry, View};
use crate::collection::{Collection, CollectionOptions};
use crate::namespace::VIEWS;
use crate::trace::Cx;
use crate::write;

/// Writes the view's definition, in place of one that is there.
///
/// # Errors
/// None but faults of ours.
pub(super) fn record(request: &Request<'_>, name: &str, view: &View, cx: &mut Cx<'_>) -> Result<()> {
    let collection = open(request)?;
    remove(request, &collection, name, cx)?;
    let mut definition = Builder::new();
    definition.append("_id", request.namespace(name).as_str());
    for element in view.options.doc().iter() {
        definition.append_element(element);
    }
    let definition: DocBuf = definition.finish();
    write::insert(&mut collection.lock_for_writing(), definition.doc(), true, cx)?;
    Ok(())
}

/// Removes the definition of a view that was dropped.
///
/// # Errors
/// None but faults of ours.
pub(super) fn forget(request: &Request<'_>, name: &str, cx: &mut Cx<'_>) -> Result<()> {
    match request.target(VIEWS) {
        Target::Collection(collection) => remove(request, &collection, name, cx),
        _ => Ok(()),
    }
}

fn open(request: &Request<'_>) -> Result<Arc<Collection>> {
    if let Target::Collection(collection) = request.target(VIEWS) {
        return Ok(collection);
    }
    let made = Arc::new(create::new_collection(request.server, CollectionOptions::default())?);
    let mut catalog = request.server.catalog.write();
    // Somebody else may have made it meanwhile; then theirs is the one.
    if let Some(Entry::Collection(theirs)) = catalog.get(request.database, VIEWS) {
        return Ok(Arc::clone(theirs));
    }
    catalog.insert(request.database, VIEWS, Entry::Collection(Arc::clone(&made)))?;
    Ok(made)
}

fn remove(request: &Request<'_>, collection: &Collection, name: &str, cx: &mut Cx<'_>) -> Result<()> {
    let id = request.namespace(name);
    let mut guard = collection.lock_for_writing();
    let mut found = None;
    let state = guard.snapshot();
    let mut cursor = state.records.cursor();
    while let Some((record_id, bytes)) = cursor.next(&mut cx.visitor) {
        if matches!(Doc::from_stored(bytes).get("_id"), Some(Value::String(text)) if text.as_str() == id) {
            found = Some(record_id);
            break;
        }
    }
    drop((cursor, state));
    if let Some(record_id) = found {
        write::delete(&mut guard, record_id, cx)?;
    }
    Ok(())
}
