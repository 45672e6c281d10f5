//! `find`.

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Kind, Result, Value, code};

use super::args::{Args, to_integer};
use super::{Request, Target};
use crate::cursor::{Buffered, FIRST_BATCH, Rows, ServerCursor, reply_first_batch, reply_listing};
use crate::database::Inner;
use crate::execute::{FindRows, LingeringRows, Question, TailRows};
use crate::layout::LayoutRows;
use crate::namespace;
use crate::trace::Cx;

const FIELDS: [&str; 24] = [
    "filter",
    "sort",
    "projection",
    "hint",
    "skip",
    "limit",
    "batchSize",
    "ntoreturn",
    "singleBatch",
    "allowDiskUse",
    "max",
    "min",
    "returnKey",
    "showRecordId",
    "tailable",
    "oplogReplay",
    "noCursorTimeout",
    "awaitData",
    "allowPartialResults",
    "collation",
    "let",
    "readOnce",
    "allowSpeculativeMajorityRead",
    "term",
];

/// Fields that may not even be null.
const NOT_NULL: [&str; 15] = [
    "filter",
    "sort",
    "projection",
    "max",
    "min",
    "collation",
    "singleBatch",
    "allowDiskUse",
    "returnKey",
    "showRecordId",
    "tailable",
    "noCursorTimeout",
    "awaitData",
    "allowPartialResults",
    "oplogReplay",
];

/// The arguments of a `find`, read and checked; also what `explain` and views work from.
pub(super) struct FindArgs<'a> {
    pub(super) question: Question<'a>,
    batch_size: u64,
    single_batch: bool,
    tailable: bool,
    awaits: bool,
    /// Whether a pipeline can be made of it.
    is_plain: bool,
}

impl<'a> FindArgs<'a> {
    pub(super) fn parse(command: Doc<'a>) -> Result<FindArgs<'a>> {
        let args = Args::of_command("find", command, &FIELDS)?;
        args.refuse_nulls(&NOT_NULL)?;
        let mut question = Question::new(args.document("filter")?.unwrap_or(bindery_document::doc::EMPTY));
        question.sort = args.document("sort")?.filter(|sort| !sort.is_empty());
        question.projection = args.document("projection")?.filter(|projection| !projection.is_empty());
        question.skip = args.count("skip")?.unwrap_or(0);
        let batch_size = args.count("batchSize")?;
        // A limit of 0 is none.
        let limit = args.count("limit")?.filter(|&n| n > 0);
        if args.count("ntoreturn")?.is_some() {
            if limit.is_some() || batch_size.is_some() {
                return Err(Error::new(
                    code::BAD_VALUE,
                    "'limit' and 'batchSize' cannot be used together with 'ntoreturn'",
                ));
            }
            return Err(Error::new(5_746_102, "the 'ntoreturn' of find is not supported any more"));
        }
        question.limit = limit;
        question.hint = hint(&args)?;
        question.min = args.document("min")?.filter(|min| !min.is_empty());
        question.max = args.document("max")?.filter(|max| !max.is_empty());
        question.return_key = args.flag("returnKey")?;
        question.show_record_id = args.flag("showRecordId")?;
        question.collation = args.document("collation")?;
        question.variables = args.document("let")?;
        question.max_time_ms = max_time_ms(&args)?;
        check_read_concern(&args)?;
        args.flag("allowDiskUse")?;
        args.flag("oplogReplay")?;
        if args.integer("term")?.is_some() {
            return Err(Error::new(code::BAD_VALUE, "cannot supply 'term' without active replication"));
        }
        let only_on_collections = ["noCursorTimeout", "allowPartialResults", "readOnce"]
            .into_iter()
            .try_fold(false, |any, flag| Ok::<bool, Error>(args.flag(flag)? || any))?;
        let (tailable, await_data) = (args.flag("tailable")?, args.flag("awaitData")?);
        let single_batch = args.flag("singleBatch")?;
        let refused = |why: &str| Err(Error::new(code::BAD_VALUE, why));
        if await_data && !tailable {
            return Err(Error::new(code::FAILED_TO_PARSE, "Cannot set 'awaitData' without also setting 'tailable'"));
        }
        if tailable && single_batch {
            return refused("cannot use tailable option with the 'singleBatch' option");
        }
        if tailable && question.sort.is_some_and(|sort| !is_natural(sort)) {
            return refused("cannot use tailable option with a sort other than {$natural: 1}");
        }
        if tailable && question.sort.is_some_and(|sort| sort.get("$natural").and_then(|v| v.as_f64()) == Some(-1.0)) {
            return refused("cannot use tailable option with a sort of {$natural: -1}");
        }
        let is_plain = !only_on_collections && !tailable && (!single_batch || limit == Some(1));
        let batch_size = batch_size.unwrap_or(FIRST_BATCH);
        Ok(FindArgs { question, batch_size, single_batch, tailable, awaits: await_data, is_plain })
    }
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let name = request.readable_name()?;
    let args = FindArgs::parse(request.command)?;
    let mut reply = Builder::new();
    let Some(rows) = open(request, name, &args, cx)? else {
        let nothing = ServerCursor::new(request.namespace(name), Box::new(Buffered::new(Vec::new())));
        reply_listing(&request.server.cursors, nothing, 1, &mut reply, cx)?;
        return Ok(reply);
    };
    let mut cursor = ServerCursor::new(request.namespace(name), rows);
    cursor.awaits = args.awaits;
    reply_first_batch(&request.server.cursors, cursor, args.batch_size, args.single_batch, &mut reply, cx)?;
    Ok(reply)
}

/// The results of a `find` command, without the batches of a cursor; none if there is no such collection.
///
/// # Errors
/// What the command says.
pub(crate) fn open_find(
    server: &Arc<Inner>,
    database: &str,
    command: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Option<Box<dyn Rows>>> {
    namespace::check_database(database)?;
    let request = Request { server, database, command };
    let name = request.readable_name()?;
    open(&request, name, &FindArgs::parse(command)?, cx)
}

fn open(request: &Request<'_>, name: &str, args: &FindArgs<'_>, cx: &mut Cx<'_>) -> Result<Option<Box<dyn Rows>>> {
    cx.limit_time(args.question.max_time_ms);
    match request.target(name) {
        Target::View(view) => {
            check_plain(args)?;
            super::view::find(request, &view, name, &args.question, cx).map(Some)
        }
        Target::Layout(collection) => {
            if collection.series.is_some() {
                check_plain(args)?;
                return super::view::find_series(request, collection, &args.question, cx).map(Some);
            }
            if args.tailable {
                return Err(not_capped(&request.namespace(name)));
            }
            Ok(Some(Box::new(LayoutRows::open(request.server, &collection, &args.question)?)))
        }
        Target::Absent => {
            // The question is still checked, so that a wrong one is wrong without a collection too.
            args.question.compile(&request.server.scope(), None)?;
            Ok(None)
        }
        Target::Collection(collection) => {
            let state = collection.snapshot();
            if args.tailable && state.options.capped.is_none() {
                return Err(not_capped(&request.namespace(name)));
            }
            if args.tailable {
                // Only the order of insertion is followed.
                let natural = args.question.hint.is_none_or(|hint| is_forward_natural(&hint));
                return Ok(Some(match natural {
                    true => Box::new(TailRows::open(request.server, collection, &args.question)?),
                    false => Box::new(LingeringRows(FindRows::open(request.server, state, &args.question, cx)?)),
                }));
            }
            Ok(Some(Box::new(FindRows::open(request.server, state, &args.question, cx)?)))
        }
    }
}

/// # Errors
/// 168 for an argument that an aggregation, which a find on a view becomes, has not.
fn check_plain(args: &FindArgs<'_>) -> Result<()> {
    if args.is_plain {
        return Ok(());
    }
    Err(Error::new(code::INVALID_PIPELINE_OPERATOR, "an argument of the find is not supported in aggregation"))
}

fn not_capped(namespace: &str) -> Error {
    Error::new(
        code::BAD_VALUE,
        format!("error processing query: tailable cursor requested on non capped collection {namespace}"),
    )
}

/// A hint: an index's name, its key, or `{$natural: 1}`.
///
/// # Errors
/// 9 for other types.
pub(super) fn hint<'a>(args: &Args<'a>) -> Result<Option<Value<'a>>> {
    match args.get("hint") {
        None => Ok(None),
        Some(Value::Document(doc)) if doc.is_empty() => Ok(None),
        Some(hint @ (Value::String(_) | Value::Document(_))) => Ok(Some(hint)),
        Some(_) => Err(Error::new(code::FAILED_TO_PARSE, "Hint must be a string or an object")),
    }
}

/// The time limit; 0 is none.
///
/// # Errors
/// 2 for what is no whole number of milliseconds that fits 32 bits.
pub(super) fn max_time_ms(args: &Args<'_>) -> Result<u64> {
    match args.get("maxTimeMS") {
        None => Ok(0),
        Some(value) => match whole_number(&value) {
            Some(ms) if (0..=i64::from(i32::MAX)).contains(&ms) => Ok(ms as u64),
            _ if to_integer(&value).is_none() => Err(Error::new(code::BAD_VALUE, "maxTimeMS must be a number")),
            _ => Err(Error::new(code::BAD_VALUE, "maxTimeMS must be a whole number between 0 and 2^31 - 1")),
        },
    }
}

/// A number without a fraction; those of decimals are cut off, as the server does.
fn whole_number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Decimal128(_) => to_integer(value),
        _ => value.as_exact_i64(),
    }
}

/// Fields of a read concern.
const CONCERN_FIELDS: [&str; 6] =
    ["level", "afterClusterTime", "afterOpTime", "atClusterTime", "provenance", "allowTransactionTableSnapshot"];

/// Levels read the same on a single node; those that need several, and what is no level, are refused.
///
/// # Errors
/// 123 for levels of replica sets, 72 for unknown fields, 14 for a level that is no string, 9 for other words and
/// types.
pub(super) fn check_read_concern(args: &Args<'_>) -> Result<()> {
    let invalid = |why: &str| Err(Error::new(code::FAILED_TO_PARSE, why));
    match args.get("readConcern") {
        None => Ok(()),
        Some(Value::Document(concern)) => match concern.get("level") {
            _ if concern.iter().any(|field| !CONCERN_FIELDS.contains(&field.key_str())) => {
                Err(Error::new(code::INVALID_OPTIONS, "readConcern has a field that is not known"))
            }
            None => Ok(()),
            Some(level) if level.kind() != Kind::String => {
                Err(Error::new(code::TYPE_MISMATCH, "readConcern.level must be a string"))
            }
            Some(level) => match level.as_str() {
                Some("local" | "available" | "majority") => Ok(()),
                Some("linearizable" | "snapshot") => Err(Error::new(
                    code::NOT_A_REPLICA_SET,
                    "node needs to be a replica set member to use this read concern",
                )),
                _ => invalid(
                    "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'",
                ),
            },
        },
        Some(_) => invalid("\"readConcern\" had the wrong type. Expected object"),
    }
}

fn is_forward_natural(hint: &Value<'_>) -> bool {
    matches!(hint, Value::Document(key) if is_natural(*key) && key.first().and_then(|e| e.value().as_f64()) != Some(-1.0))
}

fn is_natural(sort: Doc<'_>) -> bool {
    sort.first().is_some_and(|e| e.key == b"$natural")
}
