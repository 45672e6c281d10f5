//! `drop` and `dropDatabase`.

use bindery_document::{Builder, Error, Result, code};

use super::Request;
use super::args::Args;
use crate::catalog::Entry;
use crate::trace::Cx;

pub(super) fn run(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Args::of_command("drop", request.command, &[])?;
    let name = request.collection_name()?;
    let removed = request.server.catalog.write().remove(request.database, name);
    let mut reply = Builder::new();
    match removed {
        None => return Err(Error::new(code::NAMESPACE_NOT_FOUND, "ns not found")),
        Some(Entry::Collection(collection)) => {
            reply.append("nIndexesWas", collection.snapshot().indexes.len() as i32);
        }
        Some(Entry::Layout(layout)) => {
            reply.append("nIndexesWas", layout.stored.snapshot().indexes.len() as i32);
        }
        Some(Entry::View(_)) => {}
    }
    reply.append("ns", request.namespace(name).as_str());
    Ok(reply)
}

pub(super) fn database(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Args::of_command("dropDatabase", request.command, &[])?;
    let existed = request.server.catalog.write().remove_database(request.database);
    let mut reply = Builder::new();
    if existed {
        reply.append("dropped", request.database);
    }
    Ok(reply)
}
