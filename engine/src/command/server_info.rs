//! What shells, drivers and tools ask about a server: parameters, logs, host, options, status.
//!
//! The answers say what is so for an embedded engine: no users, no options, no log, no other nodes.

use bindery_document::{Builder, Error, Result, Value, code};

use super::args::Args;
use super::{Request, names, session};
use crate::collection::append_number;
use crate::trace::Cx;

/// Nobody is authenticated: whoever has the database may do everything.
pub(super) fn connection_status(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("connectionStatus", request.command, &["showPrivileges"])?;
    let mut reply = Builder::new();
    let info = reply.open_document("authInfo");
    append_empty_array(&mut reply, "authenticatedUsers");
    append_empty_array(&mut reply, "authenticatedUserRoles");
    if args.loose_flag("showPrivileges")?.unwrap_or(false) {
        append_empty_array(&mut reply, "authenticatedUserPrivileges");
    }
    reply.close(info);
    Ok(reply)
}

/// A command of old that is still known, and refused.
pub(super) fn get_last_error(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Err(Error::new(5_739_000, "getLastError command is not supported"))
}

pub(super) fn no_replication(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Err(Error::new(code::NO_REPLICATION_ENABLED, "not running with --replSet"))
}

pub(super) fn default_concerns(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Err(Error::new(51_300, "'getDefaultRWConcern' is not supported on standalone nodes."))
}

/// The parameters that clients look at, by name, or all of them.
pub(super) fn get_parameter(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let all = request.command.first().and_then(|e| e.value().as_str()) == Some("*");
    let wanted = |name: &str| all || request.command.iter().skip(1).any(|e| e.key_str() == name);
    let mut reply = Builder::new();
    if wanted("authenticationMechanisms") {
        append_empty_array(&mut reply, "authenticationMechanisms");
    }
    if wanted("featureCompatibilityVersion") {
        let open = reply.open_document("featureCompatibilityVersion");
        reply.append("version", format!("{}.{}", session::VERSION[0], session::VERSION[1]).as_str());
        reply.close(open);
    }
    if wanted("quiet") {
        reply.append("quiet", true);
    }
    if reply.len() == Builder::new().len() {
        return Err(Error::new(code::INVALID_OPTIONS, "no option found to get"));
    }
    Ok(reply)
}

/// An embedded database is spoken to from its own process.
pub(super) fn whatsmyuri(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    reply.append("you", "localhost:0");
    Ok(reply)
}

/// There are the server's logs, and nothing in them.
pub(super) fn get_log(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("getLog", request.command, &[])?;
    args.required("getLog")?;
    let mut reply = Builder::new();
    match args.string("getLog")?.unwrap_or_default() {
        "*" => {
            let list = reply.open_array("names");
            for (i, name) in ["global", "startupWarnings"].into_iter().enumerate() {
                reply.append_index(i, name);
            }
            reply.close(list);
        }
        "global" | "startupWarnings" => {
            reply.append("totalLinesWritten", 0);
            append_empty_array(&mut reply, "log");
        }
        other => return Err(Error::new(code::OPERATION_FAILED, format!("No log named '{other}'"))),
    }
    Ok(reply)
}

pub(super) fn host_info(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    Args::of_command("hostInfo", request.command, &[])?;
    let mut reply = Builder::new();
    let system = reply.open_document("system");
    reply.append("currentTime", Value::DateTime(request.server.now_millis()));
    reply.append("hostname", "localhost");
    reply.append("cpuAddrSize", i32::try_from(usize::BITS).unwrap_or(64));
    append_number(&mut reply, "numCores", std::thread::available_parallelism().map_or(1, |n| n.get() as u64));
    reply.append("cpuArch", std::env::consts::ARCH);
    reply.close(system);
    let os = reply.open_document("os");
    reply.append("type", std::env::consts::OS);
    reply.append("name", std::env::consts::OS);
    reply.close(os);
    let extra = reply.open_document("extra");
    reply.close(extra);
    Ok(reply)
}

pub(super) fn server_status(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    reply.append("host", "localhost");
    reply.append("version", session::version().as_str());
    reply.append("process", "bindery");
    reply.append("pid", i64::from(std::process::id()));
    reply.append("localTime", Value::DateTime(request.server.now_millis()));
    let cursors = reply.open_document("metrics");
    let open = reply.open_document("cursor");
    let totals = reply.open_document("open");
    append_number(&mut reply, "total", request.server.cursors.len() as u64);
    reply.close(totals);
    reply.close(open);
    reply.close(cursors);
    let engine = reply.open_document("storageEngine");
    reply.append("name", "bindery");
    reply.append("persistent", false);
    reply.append("readOnly", false);
    reply.close(engine);
    Ok(reply)
}

pub(super) fn get_cmd_line_opts(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    append_empty_array(&mut reply, "argv");
    let open = reply.open_document("parsed");
    reply.close(open);
    Ok(reply)
}

pub(super) fn free_monitoring(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    reply.append("state", "disabled");
    Ok(reply)
}

pub(super) fn list_commands(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    let commands = reply.open_document("commands");
    for name in names() {
        let command = reply.open_document(name);
        reply.append("adminOnly", super::generic::is_admin_only(name));
        let versions = reply.open_array("apiVersions");
        if super::generic::is_in_api_version_1(name) {
            reply.append_index(0, "1");
        }
        reply.close(versions);
        reply.close(command);
    }
    reply.close(commands);
    Ok(reply)
}

/// Commands run one at a time and to their end, so that there is never another to show.
pub(super) fn current_op(_request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let mut reply = Builder::new();
    append_empty_array(&mut reply, "inprog");
    Ok(reply)
}

/// Plans are made for each command; there is nothing to forget.
pub(super) fn plan_cache_clear(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    super::count::collection_name(request)?;
    Ok(Builder::new())
}

/// There is no profiler; asking for its level is answered, setting it is refused.
pub(super) fn profile(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("profile", request.command, &["slowms", "sampleRate", "filter"])?;
    args.required("profile")?;
    if args.integer("profile")?.is_some_and(|level| level == 1 || level == 2) {
        return Err(Error::new(code::COMMAND_NOT_SUPPORTED, "there is no profiler"));
    }
    let mut reply = Builder::new();
    reply.append("was", 0);
    reply.append("slowms", 100);
    reply.append("sampleRate", 1.0);
    Ok(reply)
}

/// Nothing is kept on a disk, so nothing is to be written there; a lock on writes is refused.
pub(super) fn fsync(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    if request.command.get("lock").is_some_and(|lock| lock.is_truthy()) {
        return Err(Error::new(code::COMMAND_NOT_SUPPORTED, "an in-memory database cannot be locked for a copy"));
    }
    let mut reply = Builder::new();
    reply.append("numFiles", 1);
    Ok(reply)
}

fn append_empty_array(reply: &mut Builder, key: &str) {
    let open = reply.open_array(key);
    reply.close(open);
}
