//! What holds for all commands alike: where they may run, the stable API, sessions, and the concerns.
//!
//! The tables are what a real server's `listCommands` says (`adminOnly`, `apiVersions`), and which commands it
//! refuses a write concern for. Sessions have no effect on a single node; transactions are refused.

use bindery_document::{Doc, Error, Result, Value, code};

use super::args::{Args, check_duplicates, to_integer};
use super::find;

/// Commands that run on the database `admin` only.
const ADMIN_ONLY: [&str; 15] = [
    "abortTransaction",
    "commitTransaction",
    "currentOp",
    "fsync",
    "getCmdLineOpts",
    "getDefaultRWConcern",
    "getFreeMonitoringStatus",
    "getLog",
    "getParameter",
    "killOp",
    "listDatabases",
    "renameCollection",
    "replSetGetConfig",
    "replSetGetStatus",
    "top",
];

/// Commands of version 1 of the stable API.
const API_VERSION_1: [&str; 26] = [
    "abortTransaction",
    "aggregate",
    "collMod",
    "commitTransaction",
    "count",
    "create",
    "createIndexes",
    "delete",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "endSessions",
    "explain",
    "find",
    "findAndModify",
    "findandmodify",
    "getMore",
    "hello",
    "insert",
    "killCursors",
    "listCollections",
    "listDatabases",
    "listIndexes",
    "ping",
    "refreshSessions",
    "update",
];

/// Commands that take a write concern.
const WITH_WRITE_CONCERN: [&str; 20] = [
    "abortTransaction",
    "aggregate",
    "cloneCollectionAsCapped",
    "collMod",
    "commitTransaction",
    "convertToCapped",
    "create",
    "createIndexes",
    "delete",
    "deleteIndexes",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "endSessions",
    "findAndModify",
    "findandmodify",
    "insert",
    "refreshSessions",
    "renameCollection",
    "update",
];

/// The most nodes that a write concern may name.
const MAX_NODES: i64 = 50;

/// Checks what every command may be given.
///
/// # Errors
/// 40413 for a field given twice, 13 for a command of another database, 322 and 323 for another API than version 1 or commands outside of it,
/// 4886600 for its parameters without a version, 20 for transactions, 72 for fields that do not go together
/// or do not belong to the command, 9 and 2 for a write concern that cannot be met, 2 for a `maxTimeMS` that is no
/// time (`aggregate` and `getMore` read their own).
pub(super) fn check(name: &str, database: &str, command: Doc<'_>) -> Result<()> {
    let args = Args { name: "command", doc: command };
    check_duplicates(name, command)?;
    check_api(name, &args)?;
    if is_admin_only(name) && database != "admin" {
        return Err(Error::new(code::UNAUTHORIZED, format!("{name} may only be run against the admin database.")));
    }
    check_transaction(&args)?;
    if !matches!(name, "aggregate" | "getMore") {
        find::max_time_ms(&args)?;
    }
    if let Some(concern) = command.get("writeConcern") {
        let Value::Document(concern) = concern else {
            return Err(args.mismatch("writeConcern", concern.kind(), "object"));
        };
        // An empty one is the default, as if it were not there.
        if !concern.is_empty() {
            if WITH_WRITE_CONCERN.binary_search(&name).is_err() {
                return Err(Error::new(code::INVALID_OPTIONS, "Command does not support writeConcern"));
            }
            check_write_concern(concern)?;
        }
    }
    Ok(())
}

/// Whether the command runs on the database `admin` only.
pub(super) fn is_admin_only(name: &str) -> bool {
    ADMIN_ONLY.binary_search(&name).is_ok()
}

/// Whether the command belongs to version 1 of the stable API.
pub(super) fn is_in_api_version_1(name: &str) -> bool {
    API_VERSION_1.binary_search(&name).is_ok()
}

fn check_api(name: &str, args: &Args<'_>) -> Result<()> {
    let version = args.string("apiVersion")?;
    let (strict, errors) = (args.optional_flag("apiStrict")?, args.optional_flag("apiDeprecationErrors")?);
    match version {
        None if strict.is_some() || errors.is_some() => {
            Err(Error::new(4_886_600, "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion"))
        }
        None => Ok(()),
        Some("1") if strict == Some(true) && !is_in_api_version_1(name) => Err(Error::new(
            code::API_STRICT_ERROR,
            format!("Provided apiStrict:true, but the command {name} is not in API Version 1"),
        )),
        Some("1") => Ok(()),
        Some(_) => Err(Error::new(code::API_VERSION_ERROR, "API version must be \"1\"")),
    }
}

fn check_transaction(args: &Args<'_>) -> Result<()> {
    let has = |field: &str| args.given(field).is_some();
    let requires = |field: &str, other: &str| {
        Err(Error::new(code::INVALID_OPTIONS, format!("'{field}' requires '{other}' to also be specified")))
    };
    if has("startTransaction") && !has("autocommit") {
        return requires("startTransaction", "autocommit");
    }
    if has("autocommit") && !has("txnNumber") {
        return requires("autocommit", "a transaction number");
    }
    if has("txnNumber") {
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            "Transaction numbers are only allowed on a replica set member or mongos",
        ));
    }
    Ok(())
}

/// # Errors
/// 40415 for unknown fields, 9 for a number that cannot be, 2 for more nodes than there are.
fn check_write_concern(concern: Doc<'_>) -> Result<()> {
    let fields = ["w", "j", "fsync", "wtimeout", "wElectionId", "wOpTime", "getLastError", "provenance"];
    let args = Args::of_statement("WriteConcernOptions", concern, &fields)?;
    let (journal, fsync) = (args.loose_flag("j")?, args.loose_flag("fsync")?);
    if journal == Some(true) && fsync == Some(true) {
        return Err(Error::new(code::FAILED_TO_PARSE, "fsync and j options cannot be used together"));
    }
    if args.given("wtimeout").as_ref().and_then(to_integer).is_some_and(|ms| i32::try_from(ms).is_err()) {
        return Err(Error::new(code::FAILED_TO_PARSE, "wtimeout must be a 32-bit number of milliseconds"));
    }
    match args.get("w") {
        None => Ok(()),
        Some(Value::Null | Value::Undefined) => Err(Error::new(code::BAD_VALUE, "w must not be null")),
        // Tags of members, of which there are none.
        Some(Value::Document(tags)) if !tags.is_empty() => Ok(()),
        Some(Value::String(mode)) if mode.as_str() == "majority" => Ok(()),
        Some(Value::String(mode)) => Err(Error::new(
            code::BAD_VALUE,
            format!(
                "cannot use non-majority 'w' mode \"{}\" when a host is not a member of a replica set",
                mode.as_str()
            ),
        )),
        Some(value) => match rounded(&value) {
            Some(0 | 1) => Ok(()),
            Some(2..=MAX_NODES) => Err(Error::new(code::BAD_VALUE, "cannot use 'w' > 1 when a host is not replicated")),
            Some(n) => Err(Error::new(
                code::FAILED_TO_PARSE,
                format!("w has to be a non-negative number and not greater than {MAX_NODES}; found: {n}"),
            )),
            None => Err(Error::new(code::FAILED_TO_PARSE, "w has to be a number or a string")),
        },
    }
}

/// As an integer: decimals are rounded, doubles are cut.
fn rounded(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Decimal128(decimal) => Some(decimal.to_f64().round_ties_even() as i64),
        other => to_integer(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::doc;

    fn code_of(name: &str, database: &str, command: bson::Document) -> i32 {
        let command = DocBuf::from_bson(&command).expect("document");
        check(name, database, command.doc()).err().map_or(0, |error| error.code)
    }

    #[test]
    fn tables_are_sorted() {
        assert!(ADMIN_ONLY.is_sorted());
        assert!(API_VERSION_1.is_sorted());
        assert!(WITH_WRITE_CONCERN.is_sorted());
    }

    #[test]
    fn generic_arguments_are_checked_with_mongodbs_codes() {
        let cases = [
            ("ping", doc! {"ping": 1, "apiVersion": "1"}, 0),
            ("ping", doc! {"ping": 1, "apiVersion": "9"}, 322),
            ("ping", doc! {"ping": 1, "apiVersion": 1}, 14),
            ("ping", doc! {"ping": 1, "apiStrict": true}, 4_886_600),
            ("distinct", doc! {"distinct": "c", "apiVersion": "1", "apiStrict": true}, 323),
            ("replSetGetStatus", doc! {"replSetGetStatus": 1}, 13),
            ("find", doc! {"find": "c", "writeConcern": {"w": 1}}, 72),
            ("insert", doc! {"insert": "c", "writeConcern": {"w": 1, "j": true}}, 0),
            ("insert", doc! {"insert": "c", "writeConcern": {"w": 2}}, 2),
            ("insert", doc! {"insert": "c", "writeConcern": {"w": 51}}, 9),
            ("insert", doc! {"insert": "c", "writeConcern": {"w": "x"}}, 2),
            ("insert", doc! {"insert": "c", "writeConcern": {"x": 1}}, 40_415),
            ("insert", doc! {"insert": "c", "writeConcern": 1}, 14),
            ("find", doc! {"find": "c", "txnNumber": 1_i64}, 20),
            ("find", doc! {"find": "c", "autocommit": false}, 72),
        ];
        for (name, command, expected) in cases {
            assert_eq!(code_of(name, "d", command.clone()), expected, "{command}");
        }
        assert_eq!(code_of("replSetGetStatus", "admin", doc! {"replSetGetStatus": 1}), 0);
    }
}
