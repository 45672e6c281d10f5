//! What a client says to get going and to go: `ping`, `hello`, `buildInfo`, and sessions.

use bindery_document::{Builder, Error, Result, Value, code, validate};

use super::Request;
use super::args::Args;
use crate::trace::Cx;

/// The version of MongoDB whose answers these are.
pub(super) const VERSION: [i32; 3] = [6, 0, 5];

/// How long a session lives without use; clients renew theirs by it.
const SESSION_MINUTES: i32 = 30;

/// The version as text.
pub(super) fn version() -> String {
    VERSION.map(|n| n.to_string()).join(".")
}

pub(super) fn ping(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Args::of_command("ping", request.command, &[])?;
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
    reply.append("logicalSessionTimeoutMinutes", SESSION_MINUTES);
    reply.append("minWireVersion", 0);
    reply.append("maxWireVersion", 17);
    reply.append("readOnly", false);
    Ok(reply)
}

pub(super) fn build_info(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    reply.append("version", version().as_str());
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

/// A session's id. Sessions carry nothing on a single node without transactions, so that none is kept.
pub(super) fn start(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Args::of_command("startSession", request.command, &[])?;
    let mut reply = Builder::new();
    let id = reply.open_document("id");
    reply.append("id", Value::Binary { subtype: 4, bytes: &request.server.new_uuid() });
    reply.close(id);
    reply.append("timeoutMinutes", SESSION_MINUTES);
    Ok(reply)
}

/// `endSessions`, `refreshSessions` and their kin: a list of sessions, of which nothing is kept.
pub(super) fn sessions(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let Some(first) = request.command.first() else { return Ok(Builder::new()) };
    let args = Args::of_command("sessions", request.command, &[])?;
    match first.value() {
        Value::Array(list) => match list.iter().find(|e| !matches!(e.value(), Value::Document(_))) {
            Some(other) => Err(args.mismatch(first.key_str(), other.kind, "object")),
            None => Ok(Builder::new()),
        },
        other => Err(args.mismatch(first.key_str(), other.kind(), "array")),
    }
}

/// `commitTransaction` and `abortTransaction`: there are no transactions.
pub(super) fn transaction(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let fields = ["commitTimestamp", "durableTimestamp", "recoveryToken"];
    Args::of_command("transaction", request.command, &fields)?;
    Err(Error::new(code::COMMAND_FAILED, "Transaction isn't in progress"))
}
