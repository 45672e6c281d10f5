//! The commands, one file each, and the table that lists them.
//!
//! A command reads its arguments ([`args`]), finds its collection, and calls the executor or the write
//! door. Names are matched exactly, as MongoDB does.

mod aggregate;
mod aggregate_fields;
mod aggregate_output;
mod aggregate_source;
pub(crate) mod args;
mod coll_mod;
mod convert_to_capped;
mod count;
mod create;
mod delete;
mod diagnostics;
mod distinct;
mod drop;
mod explain;
mod find;
mod find_and_modify;
mod generic;
mod get_more;
mod indexes;
mod insert;
mod list;
mod rename_collection;
mod server_info;
mod session;
mod statements;
mod update;
mod view;
mod view_graph;
mod views_collection;

pub(crate) use aggregate::open_aggregate;
pub(crate) use aggregate_source::told_to_another;
pub(crate) use create::new_collection;
pub(crate) use diagnostics::show_tree;
pub(crate) use find::open_find;
pub(crate) use find_and_modify::{Arguments as ModifyArguments, Outcome as ModifyOutcome};
pub(crate) use insert::{Inserted, prepare_upserted};
pub(crate) use statements::MAX_BATCH;
pub(crate) use update::{Compiled, Outcome as UpdateOutcome, Statement};
pub(crate) use view::{check_whole_collation as check_view_collation, open_view};

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Result, Value, code};

use crate::catalog::View;
use crate::collection::Collection;
use crate::database::Inner;
use crate::layout::{self, LayoutCollection};
use crate::namespace;
use crate::trace::Cx;

/// A command to run.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) server: &'a Arc<Inner>,
    pub(crate) database: &'a str,
    pub(crate) command: Doc<'a>,
}

/// A command's work: arguments in, reply fields (without `ok`) out.
type Run = fn(&Request<'_>, &mut Cx<'_>) -> Result<Builder>;

/// Every command, by each of its names.
const COMMANDS: &[(&str, Run)] = &[
    ("abortTransaction", session::transaction),
    ("aggregate", aggregate::run),
    ("buildInfo", session::build_info),
    ("buildinfo", session::build_info),
    ("cloneCollectionAsCapped", convert_to_capped::clone_collection),
    ("collMod", coll_mod::run),
    ("collStats", diagnostics::coll_stats),
    ("collstats", diagnostics::coll_stats),
    ("commitTransaction", session::transaction),
    ("compact", diagnostics::compact),
    ("connectionStatus", server_info::connection_status),
    ("convertToCapped", convert_to_capped::run),
    ("count", count::run),
    ("create", create::run),
    ("createIndexes", indexes::create),
    ("currentOp", server_info::current_op),
    ("dataSize", diagnostics::data_size),
    ("dbStats", diagnostics::db_stats),
    ("dbstats", diagnostics::db_stats),
    ("delete", delete::run),
    ("deleteIndexes", indexes::drop),
    ("distinct", distinct::run),
    ("drop", drop::run),
    ("dropDatabase", drop::database),
    ("dropIndexes", indexes::drop),
    ("endSessions", session::sessions),
    ("explain", explain::run),
    ("find", find::run),
    ("findAndModify", find_and_modify::run),
    ("findandmodify", find_and_modify::run),
    ("fsync", server_info::fsync),
    ("getCmdLineOpts", server_info::get_cmd_line_opts),
    ("getDefaultRWConcern", server_info::default_concerns),
    ("getFreeMonitoringStatus", server_info::free_monitoring),
    ("getLastError", server_info::get_last_error),
    ("getLog", server_info::get_log),
    ("getMore", get_more::run),
    ("getParameter", server_info::get_parameter),
    ("getlasterror", server_info::get_last_error),
    ("hello", session::hello),
    ("hostInfo", server_info::host_info),
    ("insert", insert::run),
    ("isMaster", session::hello),
    ("ismaster", session::hello),
    ("killAllSessions", session::sessions),
    ("killCursors", get_more::kill),
    ("killSessions", session::sessions),
    ("listCollections", list::collections),
    ("listCommands", server_info::list_commands),
    ("listDatabases", list::databases),
    ("listIndexes", indexes::list),
    ("logout", session::ping),
    ("ping", session::ping),
    ("planCacheClear", server_info::plan_cache_clear),
    ("profile", server_info::profile),
    ("refreshSessions", session::sessions),
    ("renameCollection", rename_collection::run),
    ("replSetGetConfig", server_info::no_replication),
    ("replSetGetStatus", server_info::no_replication),
    ("serverStatus", server_info::server_status),
    ("startSession", session::start),
    ("update", update::run),
    ("validate", diagnostics::validate),
    ("whatsmyuri", server_info::whatsmyuri),
];

/// Runs the command with this name.
///
/// # Errors
/// 59 if there is no such command; what [`generic::check`] says; else what the command says.
pub(crate) fn run(name: &str, request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    match COMMANDS.binary_search_by(|(known, _)| (*known).cmp(name)) {
        Ok(at) => {
            generic::check(name, request.database, request.command)?;
            check_read_only(name, request)?;
            COMMANDS[at].1(request, cx)
        }
        Err(_) => Err(Error::new(code::COMMAND_NOT_FOUND, format!("no such command: '{name}'"))),
    }
}

/// Runs an `insert` whose documents are not in the command: they are well-formed, and few enough for one.
///
/// # Errors
/// What the command says; failures of single documents are in the result.
pub(crate) fn insert_documents<'d>(
    request: &Request<'_>,
    documents: impl ExactSizeIterator<Item = Doc<'d>>,
    cx: &mut Cx<'_>,
) -> Result<Inserted> {
    namespace::check_database(request.database)?;
    check_read_only("insert", request)?;
    insert::insert_documents(request, documents, insert::How { ordered: true, bypass: false }, cx)
}

/// Whether there is a command with this name.
pub(crate) fn is_command(name: &str) -> bool {
    COMMANDS.binary_search_by(|(known, _)| (*known).cmp(name)).is_ok()
}

/// Commands that change their collection.
const WRITES: [&str; 15] = [
    "collMod",
    "compact",
    "create",
    "createIndexes",
    "delete",
    "deleteIndexes",
    "drop",
    "dropIndexes",
    "findAndModify",
    "findandmodify",
    "insert",
    "reIndex",
    "renameCollection",
    "truncate",
    "update",
];

/// The stored form of a collection with a layout changes through the logical collection only.
///
/// # Errors
/// 20 for a command that would write to a stored form.
fn check_read_only(name: &str, request: &Request<'_>) -> Result<()> {
    let Some(Value::String(target)) = request.command.first().map(|e| e.value()) else { return Ok(()) };
    let series =
        target.as_str().strip_prefix(namespace::BUCKETS_PREFIX).filter(|_| WRITES.contains(&name) && name != "drop");
    if let Some(base) = series
        && let Target::Layout(_) = request.target(base)
        && !(name == "create" || name == "renameCollection")
    {
        return Err(layout::read_only(&request.namespace(target.as_str())));
    }
    match layout::split_stored(target.as_str()) {
        Some((base, _)) if WRITES.contains(&name) && matches!(request.target(base), Target::Layout(_)) => {
            Err(layout::read_only(&request.namespace(target.as_str())))
        }
        _ => Ok(()),
    }
}

/// What a command's target turned out to be.
pub(crate) enum Target {
    /// There is nothing of this name.
    Absent,
    /// A collection.
    Collection(Arc<Collection>),
    /// A collection with a layout.
    Layout(Arc<LayoutCollection>),
    /// A view.
    View(Arc<View>),
}

impl<'a> Request<'a> {
    /// The collection's name: the value of the command's first field.
    ///
    /// # Errors
    /// 2 if it is no string, 73 if it cannot be a name.
    pub(crate) fn collection_name(&self) -> Result<&'a str> {
        let value = self.command.first().map(|e| e.value());
        // Symbols are strings to the server.
        let Some(Value::String(name) | Value::Symbol(name)) = value else {
            return Err(Error::new(code::BAD_VALUE, "collection name has invalid type"));
        };
        let name = name.as_str();
        namespace::check_collection(self.database, name)?;
        Ok(name)
    }

    /// As [`Request::collection_name`], for commands that read: they refuse names that no collection can have.
    ///
    /// # Errors
    /// 73 for a name with a dollar, too.
    pub(crate) fn readable_name(&self) -> Result<&'a str> {
        let name = self.collection_name()?;
        namespace::check_readable(self.database, name)?;
        Ok(name)
    }

    /// As [`Request::collection_name`], for commands that write documents.
    ///
    /// # Errors
    /// 73 for a name with a dollar or of the server's own collections, too.
    pub(crate) fn writable_name(&self) -> Result<&'a str> {
        let name = self.collection_name()?;
        namespace::check_writable(self.database, name)?;
        Ok(name)
    }

    /// Database and collection, joined by a dot.
    pub(crate) fn namespace(&self, collection: &str) -> String {
        format!("{}.{collection}", self.database)
    }

    /// Says in a duplicate key error which collection it happened in; the write door does not know.
    pub(crate) fn name_namespace(&self, mut error: Error, collection: &str) -> Error {
        if error.code == code::DUPLICATE_KEY {
            let namespace = self.namespace(collection);
            error.message = error.message.replacen("error index:", &format!("error collection: {namespace} index:"), 1);
        }
        error
    }

    /// Whether the name is a time-series collection's.
    pub(crate) fn is_series(&self, name: &str) -> bool {
        matches!(self.target(name), Target::Layout(layout) if layout.series.is_some())
    }

    /// What the name stands for.
    pub(crate) fn target(&self, name: &str) -> Target {
        self.server.target(self.database, name)
    }
}

/// The names of all commands.
fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, _)| *name)
}

/// The error for a command that views do not take.
pub(crate) fn not_on_a_view(namespace: &str) -> Error {
    Error::new(code::COMMAND_NOT_SUPPORTED_ON_VIEW, format!("Namespace {namespace} is a view, not a collection"))
}

#[cfg(test)]
mod tests {
    use super::COMMANDS;

    #[test]
    fn the_table_is_sorted() {
        assert!(COMMANDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
