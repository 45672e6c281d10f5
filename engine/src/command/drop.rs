//! `drop` and `dropDatabase`.

use bindery_document::{Builder, Error, Result, code};

use super::args::Args;
use super::{Request, Target, views_collection};
use crate::catalog::Entry;
use crate::namespace::{BUCKETS_PREFIX, VIEWS};
use crate::trace::Cx;

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    Args::of_command("drop", request.command, &["collectionUUID"])?;
    let name = request.collection_name()?;
    if matches!(name, "system.js" | "system.users") && !matches!(request.target(name), Target::Absent) {
        return Err(Error::new(code::ILLEGAL_OPERATION, format!("can't drop system collection {name}")));
    }
    // A time-series collection goes with its buckets.
    let series = name.strip_prefix(BUCKETS_PREFIX).filter(|base| request.is_series(base));
    let name = series.unwrap_or(name);
    let removed = {
        let mut catalog = request.server.catalog.write();
        if name == VIEWS {
            // The views go with the collection that shows them.
            catalog.remove_views(request.database);
        }
        catalog.remove(request.database, name)
    };
    let namespace = request.namespace(name);
    let mut reply = Builder::new();
    match removed {
        None => return Err(Error::new(code::NAMESPACE_NOT_FOUND, "ns not found")),
        Some(Entry::Collection(collection)) => {
            reply.append("nIndexesWas", collection.snapshot().counted_indexes() as i32);
            request.server.cursors.doom(|cursor| cursor == namespace, "collection dropped");
        }
        Some(Entry::Layout(layout)) => {
            let indexes = layout.stored.snapshot().indexes.len() - layout.hidden_indexes();
            reply.append("nIndexesWas", indexes as i32);
            if layout.series.is_some() {
                views_collection::forget(request, name, cx)?;
            }
            request.server.cursors.doom(|cursor| cursor == namespace, "collection dropped");
        }
        Some(Entry::View(_)) => views_collection::forget(request, name, cx)?,
    }
    reply.append("ns", namespace.as_str());
    Ok(reply)
}

pub(super) fn database(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("dropDatabase", request.command, &[])?;
    args.required("dropDatabase")?;
    if args.integer("dropDatabase")? != Some(1) {
        return Err(Error::new(5_255_100, "Have to pass 1 as 'drop' parameter"));
    }
    if matches!(request.database, "admin" | "config" | "local") {
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            format!("Dropping the '{}' database is prohibited.", request.database),
        ));
    }
    request.server.catalog.write().remove_database(request.database);
    let prefix = format!("{}.", request.database);
    request.server.cursors.doom(|cursor| cursor.starts_with(&prefix), "database dropped");
    Ok(Builder::new())
}
