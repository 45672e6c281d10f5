//! Commands about the server itself: `ping`, `hello`, `buildInfo`.

use bindery_document::{Builder, Result, Value, validate};

use super::Request;
use crate::trace::Cx;

/// The version of MongoDB whose answers these are.
const VERSION: [i32; 3] = [6, 0, 5];

pub(super) fn ping(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Ok(Builder::new())
}

/// What drivers ask first: a writable single node that speaks the wire versions of MongoDB 6.0.
pub(super) fn hello(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    let legacy = request.command.first().is_some_and(|e| e.key != b"hello");
    reply.append(if legacy { "ismaster" } else { "isWritablePrimary" }, true);
    if request.command.get("helloOk").is_some_and(|v| v.is_truthy()) {
        reply.append("helloOk", true);
    }
    reply.append("maxBsonObjectSize", validate::MAX_DOCUMENT_BYTES as i32);
    reply.append("maxMessageSizeBytes", 48_000_000);
    reply.append("maxWriteBatchSize", super::statements::MAX_BATCH as i32);
    reply.append("localTime", Value::DateTime(request.server.now_millis()));
    reply.append("logicalSessionTimeoutMinutes", 30);
    reply.append("minWireVersion", 0);
    reply.append("maxWireVersion", 17);
    reply.append("readOnly", false);
    Ok(reply)
}

pub(super) fn build_info(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    reply.append("version", VERSION.map(|n| n.to_string()).join(".").as_str());
    reply.append("bindery", env!("CARGO_PKG_VERSION"));
    let array = reply.open_array("modules");
    reply.close(array);
    let array = reply.open_array("versionArray");
    for (i, part) in VERSION.into_iter().chain([0]).enumerate() {
        reply.append_index(i, part);
    }
    reply.close(array);
    reply.append("bits", 64);
    reply.append("debug", cfg!(debug_assertions));
    reply.append("maxBsonObjectSize", validate::MAX_DOCUMENT_BYTES as i32);
    let engines = reply.open_array("storageEngines");
    reply.append_index(0, "bindery");
    reply.close(engines);
    Ok(reply)
}
