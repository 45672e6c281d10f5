//! `renameCollection`: a collection under another name, or in another database.
//!
//! Source: MongoDB's manual, "renameCollection"; the codes were asked of a real server.

use std::sync::Arc;

use bindery_document::{Builder, Error, Result, Value, code};

use super::args::Args;
use super::{Request, Target};
use crate::catalog::Entry;
use crate::namespace;
use crate::trace::Cx;

/// What may stand in the way of a rename at the new name.
enum DropTarget {
    /// Nothing.
    Never,
    /// Any collection.
    Always,
    /// The collection with this UUID.
    Only(Vec<u8>),
}

pub(super) fn run(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("renameCollection", request.command, &["to", "dropTarget", "stayTemp"])?;
    let Some(Value::String(source)) = request.command.first().map(|e| e.value()) else {
        return Err(Error::new(code::BAD_VALUE, "collection name has invalid type"));
    };
    let from = split(source.as_str())?;
    let to = split(args.required_string("to")?)?;
    let drop_target = match args.given("dropTarget") {
        None | Some(Value::Boolean(false)) => DropTarget::Never,
        Some(Value::Boolean(true)) => DropTarget::Always,
        Some(Value::Binary { bytes, .. }) => DropTarget::Only(bytes.to_vec()),
        Some(other) => return Err(args.mismatch("dropTarget", other.kind(), "bool")),
    };
    let illegal = |why: String| Error::new(code::ILLEGAL_OPERATION, why);
    if from == to {
        return Err(illegal("Can't rename a collection to itself".to_owned()));
    }
    namespace::check_writable(from.0, from.1).map_err(|e| illegal(format!("error with source namespace: {e}")))?;
    namespace::check_new_collection(to.0, to.1).map_err(|e| illegal(format!("error with target namespace: {e}")))?;

    if let Some(base) = from.1.strip_prefix(namespace::BUCKETS_PREFIX)
        && matches!(request.server.target(from.0, base), Target::Layout(_))
    {
        return Err(illegal("Renaming system.buckets collections is not allowed".to_owned()));
    }
    let mut catalog = request.server.catalog.write();
    let moved = match catalog.get(from.0, from.1) {
        None => return Err(Error::new(code::NAMESPACE_NOT_FOUND, "source namespace does not exist")),
        Some(Entry::View(_)) => {
            return Err(Error::new(
                code::COMMAND_NOT_SUPPORTED_ON_VIEW,
                format!("cannot rename view: {}", source.as_str()),
            ));
        }
        Some(Entry::Layout(layout)) if layout.series.is_some() => {
            return Err(Error::new(
                code::COMMAND_NOT_SUPPORTED_ON_VIEW,
                format!("cannot rename the time-series collection {}", source.as_str()),
            ));
        }
        Some(Entry::Collection(collection)) => Some(Arc::clone(collection)),
        Some(Entry::Layout(_)) => None,
    };
    let uuid = |entry: &Entry| match entry {
        Entry::Collection(collection) => Some(collection.uuid),
        Entry::Layout(layout) => Some(layout.uuid),
        Entry::View(_) => None,
    };
    match (catalog.get(to.0, to.1), drop_target) {
        (Some(Entry::Layout(layout)), _) if layout.series.is_some() => {
            return Err(Error::new(code::NAMESPACE_EXISTS, "a view already exists with the target's name"));
        }
        (Some(Entry::View(_)), _) => {
            return Err(Error::new(code::NAMESPACE_EXISTS, "a view already exists with the target's name"));
        }
        (Some(_), DropTarget::Never) => {
            return Err(Error::new(code::NAMESPACE_EXISTS, "target namespace exists"));
        }
        (Some(target), DropTarget::Only(wanted)) if uuid(target).is_none_or(|uuid| uuid[..] != wanted[..]) => {
            return Err(Error::new(code::COLLECTION_UUID_MISMATCH, "the target's UUID is another than was given"));
        }
        (None, DropTarget::Only(_)) => {
            return Err(Error::new(code::COLLECTION_UUID_MISMATCH, "there is no target with the UUID that was given"));
        }
        _ => {}
    }
    catalog.rename(from, to);
    if let Some(moved) = moved.filter(|_| from.0 != to.0) {
        // In another database it is another collection.
        let copy = moved.fork_as(request.server.new_uuid());
        catalog.replace(to.0, to.1, Entry::Collection(Arc::new(copy)));
    }
    drop(catalog);
    let (from, to) = (format!("{}.{}", from.0, from.1), format!("{}.{}", to.0, to.1));
    request.server.cursors.doom(|namespace| namespace == from, &format!("collection renamed from '{from}' to '{to}'"));
    request.server.cursors.doom(|namespace| namespace == to, "collection dropped");
    Ok(Builder::new())
}

/// Database and collection of a full name.
///
/// # Errors
/// 73 if either cannot be.
fn split(namespace: &str) -> Result<(&str, &str)> {
    let invalid = || Error::new(code::INVALID_NAMESPACE, format!("Invalid namespace specified '{namespace}'"));
    let (database, name) = namespace.split_once('.').ok_or_else(invalid)?;
    namespace::check_database(database)?;
    if name.is_empty() || name.contains('\0') {
        return Err(invalid());
    }
    Ok((database, name))
}
