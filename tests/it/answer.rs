//! Asking a command as a driver does, and keeping of its reply what a client goes by.

use bson::raw::{CStr, cstr};
use bson::{RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::corpus::{fields, number};
use crate::extjson::to_shell;
use crate::server::Server;

/// What came back for a command.
pub(crate) enum Answer {
    /// All documents of a cursor.
    Cursor(Vec<RawDocumentBuf>),
    /// A reply without a cursor, less `ok`, times and messages.
    Reply(RawDocumentBuf),
    Error {
        code: i32,
        code_name: String,
        message: String,
    },
}

/// Runs `command` and drains its cursor with `getMore`.
pub(crate) fn ask(server: &mut dyn Server, db: &str, command: &RawDocument) -> Answer {
    let renames = first_field(command) == Some("renameCollection");
    let command = with_database(command, db);
    let reply = server.run(if renames { "admin" } else { db }, &command);
    read(server, db, &reply)
}

/// What a command's reply says, its cursor drained.
pub(crate) fn read(server: &mut dyn Server, db: &str, reply: &RawDocument) -> Answer {
    if number(reply, "ok") != Some(1) {
        return error(reply);
    }
    if reply.get_document("cursor").is_ok() {
        return drain(server, db, reply);
    }
    Answer::Reply(essence(reply))
}

/// The name of a command.
pub(crate) fn first_field(command: &RawDocument) -> Option<&str> {
    fields(command).next().map(|(name, _)| name)
}

fn error(reply: &RawDocument) -> Answer {
    Answer::Error {
        code: number(reply, "code").unwrap_or_default(),
        code_name: reply.get_str("codeName").unwrap_or_default().to_owned(),
        message: reply.get_str("errmsg").unwrap_or_default().to_owned(),
    }
}

fn drain(server: &mut dyn Server, db: &str, first: &RawDocument) -> Answer {
    let mut docs = Vec::new();
    let mut reply = first.to_owned();
    loop {
        let Ok(cursor) = reply.get_document("cursor") else {
            return error(&reply);
        };
        for (name, value) in fields(cursor) {
            if let ("firstBatch" | "nextBatch", RawBsonRef::Array(batch)) = (name, value) {
                docs.extend(batch.into_iter().filter_map(|item| item.ok()?.as_document().map(RawDocument::to_owned)));
            }
        }
        let id = cursor.get_i64("id").unwrap_or_default();
        if id == 0 {
            return Answer::Cursor(docs);
        }
        let namespace = cursor.get_str("ns").unwrap_or_default();
        let collection = namespace.split_once('.').map_or("", |(_, collection)| collection);
        let mut more = RawDocumentBuf::new();
        more.append(cstr!("getMore"), id);
        more.append(cstr!("collection"), collection);
        reply = server.run(db, &more);
    }
}

/// `$DB.` at the start of a namespace stands for the case's database.
fn with_database(command: &RawDocument, db: &str) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    for (name, value) in fields(command) {
        match value.as_str().and_then(|text| text.strip_prefix("$DB.")) {
            Some(collection) => out.append(key(name), format!("{db}.{collection}")),
            None => out.append(key(name), value),
        }
    }
    out
}

/// A name that came from a document and so has no NUL in it.
pub(crate) fn key(name: &str) -> &CStr {
    name.try_into().expect("a field's name has no NUL")
}

fn essence(reply: &RawDocument) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    for (name, value) in fields(reply) {
        match (name, value) {
            ("ok" | "ns" | "operationTime" | "$clusterTime", _) => {}
            ("writeErrors", RawBsonRef::Array(errors)) => {
                let mut kept = RawArrayBuf::new();
                for error in errors.into_iter().filter_map(|e| e.ok()?.as_document()) {
                    kept.push(only(error, &["index", "code"]));
                }
                out.append(key(name), kept);
            }
            _ => out.append(key(name), value),
        }
    }
    out
}

/// The named fields of a document, in the document's order.
pub(crate) fn only(document: &RawDocument, names: &[&str]) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    for (name, value) in fields(document).filter(|(name, _)| names.contains(name)) {
        out.append(key(name), value);
    }
    out
}

/// A document without the named fields.
pub(crate) fn without(document: &RawDocument, names: &[&str]) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    for (name, value) in fields(document).filter(|(name, _)| !names.contains(name)) {
        out.append(key(name), value);
    }
    out
}

/// A list of documents for people to read.
pub(crate) fn listing<D: AsRef<RawDocument>>(docs: &[D], at_most: usize) -> String {
    let mut lines: Vec<String> = docs
        .iter()
        .take(at_most)
        .map(|doc| format!("\n        {}", to_shell(RawBsonRef::Document(doc.as_ref()))))
        .collect();
    if docs.len() > at_most {
        lines.push(format!("\n        ... {} more", docs.len() - at_most));
    }
    if lines.is_empty() {
        lines.push(" none".to_owned());
    }
    lines.concat()
}
