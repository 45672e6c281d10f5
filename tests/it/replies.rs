//! Whole replies, their fields in order, as MongoDB 6.0.5 gave them in the sessions of `replies.jsonl`.
//!
//! A line is the beginning of a session (`scene`, and whose plans are asked for), a command with the reply to it, or
//! a command that only prepares for others. Left out of replies is what tells of the machine, of the moment or of the
//! engine, and the wording of errors.

use bindery::{Database, Options, Planner};
use bson::raw::CString;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::extjson::{read_document, to_line};

/// Fields of the machine, the moment and the engine.
const LEFT_OUT: [&str; 26] = [
    "bindery",
    "executionTimeMillis",
    "executionTimeMillisEstimate",
    "saveState",
    "restoreState",
    "needYield",
    "works",
    "advanced",
    "needTime",
    "queryHash",
    "planCacheKey",
    "serverInfo",
    "serverParameters",
    "maxIndexedOrSolutionsReached",
    "maxIndexedAndSolutionsReached",
    "maxScansToExplodeReached",
    "optimizedPipeline",
    "explainVersion",
    "indexFilterSet",
    "uuid",
    "usedDisk",
    "spills",
    "totalDataSizeSorted",
    "totalDataSizeSortedBytesEstimate",
    "pagesTouched",
    "bytesRead",
];

/// A reply less what is left out; a cursor's id, if it is open, is 1.
fn told(reply: &RawDocument) -> RawDocumentBuf {
    let is_error = reply.get("code").ok().flatten().is_some();
    let mut kept = RawDocumentBuf::new();
    for (name, value) in reply.iter().map(|field| field.expect("a well-formed reply")) {
        let name = name.as_str();
        if LEFT_OUT.contains(&name) || (is_error && name == "errmsg") {
            continue;
        }
        let value = match value {
            RawBsonRef::Int64(id) if name == "id" && id != 0 => RawBson::Int64(1),
            other => told_value(other),
        };
        kept.append(CString::try_from(name).expect("a name"), value);
    }
    kept
}

fn told_value(value: RawBsonRef<'_>) -> RawBson {
    match value {
        RawBsonRef::Document(inner) => RawBson::Document(told(inner)),
        RawBsonRef::Array(items) => {
            let mut kept = RawArrayBuf::new();
            for item in items {
                kept.push(told_value(item.expect("a well-formed reply")));
            }
            RawBson::Array(kept)
        }
        other => other.into(),
    }
}

#[test]
fn replies_are_mongodbs() {
    let mut db = Database::new();
    let mut scene = String::new();
    let (mut compared, mut differing) = (0, Vec::new());
    for line in include_str!("replies.jsonl").lines() {
        let line = read_document(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        if let Ok(name) = line.get_str("scene") {
            let planner = match line.get_str("planner") {
                Ok("mongodb") => Planner::MongoDb,
                _ => Planner::Bindery,
            };
            db = Database::with_options(Options { planner, ..Options::default() });
            name.clone_into(&mut scene);
            continue;
        }
        let command = line.get_document("command").expect("a command");
        let reply = told(&db.run_command(command));
        if let Ok(expected) = line.get_document("reply") {
            compared += 1;
            if *reply != *expected {
                let [command, expected, reply] = [command, expected, &*reply].map(to_line);
                differing.push(format!("{scene}: {command}\n  expected {expected}\n  got      {reply}"));
            }
        }
    }
    assert!(compared > 300, "{compared}");
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
}
