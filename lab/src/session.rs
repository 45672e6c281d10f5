//! One schema's conversation with its target: commands out, rows back, time counted.

use std::time::Instant;

use bson::raw::CString;
use bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use crate::error::{Error, Result};
use crate::target::Target;

/// A batch large enough that a question takes one round trip unless its answer is very large.
pub const BATCH: i32 = 100_000;

/// Runs the commands of an operation and adds up what they took.
///
/// Only the time inside the target counts: what an application does with the rows is not measured, but
/// the bytes that it had to be sent are.
pub struct Session<'t> {
    target: &'t mut dyn Target,
    /// Nanoseconds spent in the target.
    pub elapsed_ns: u64,
    /// Commands run.
    pub commands: u64,
    /// Bytes of all replies.
    pub reply_bytes: u64,
}

impl<'t> Session<'t> {
    /// A session with nothing counted yet.
    pub fn new(target: &'t mut dyn Target) -> Session<'t> {
        Session { target, elapsed_ns: 0, commands: 0, reply_bytes: 0 }
    }

    /// Runs `command` and returns the reply. Fails with [`Error::Command`] on an error reply and on
    /// write errors within a reply.
    pub fn run(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        let started = Instant::now();
        let reply = self.target.run(command)?;
        self.elapsed_ns += started.elapsed().as_nanos() as u64;
        self.commands += 1;
        self.reply_bytes += reply.as_bytes().len() as u64;
        refuse_errors(command, &reply)?;
        Ok(reply)
    }

    /// Runs a command that returns a cursor, and gives each of its documents to `row`.
    pub fn each_row(&mut self, command: &RawDocument, mut row: impl FnMut(&RawDocument) -> Result<()>) -> Result<()> {
        let collection = match command.iter().next() {
            Some(Ok((_, RawBsonRef::String(collection)))) => collection.to_owned(),
            _ => return Err(Error::Target("a command without a collection returns no cursor".to_owned())),
        };
        let mut reply = self.run(command)?;
        loop {
            let (batch, id) = batch_of(&reply)?;
            for document in batch {
                match document {
                    Ok(RawBsonRef::Document(document)) => row(document)?,
                    _ => return Err(Error::Target("a cursor's batch holds what is no document".to_owned())),
                }
            }
            if id == 0 {
                return Ok(());
            }
            reply = self.run(&rawdoc! { "getMore": id, "collection": collection.as_str(), "batchSize": BATCH })?;
        }
    }

    /// Runs a command that returns a cursor, and returns all of its documents.
    pub fn rows(&mut self, command: &RawDocument) -> Result<Vec<RawDocumentBuf>> {
        let mut rows = Vec::new();
        self.each_row(command, |row| {
            rows.push(row.to_owned());
            Ok(())
        })?;
        Ok(rows)
    }
}

fn batch_of(reply: &RawDocument) -> Result<(&bson::RawArray, i64)> {
    let wrong = || Error::Target("the reply has no cursor".to_owned());
    let cursor = reply.get_document("cursor").map_err(|_| wrong())?;
    let batch = match cursor.get_array("firstBatch") {
        Ok(batch) => batch,
        Err(_) => cursor.get_array("nextBatch").map_err(|_| wrong())?,
    };
    Ok((batch, cursor.get_i64("id").map_err(|_| wrong())?))
}

fn refuse_errors(command: &RawDocument, reply: &RawDocument) -> Result<()> {
    let refused = |from: &RawDocument| {
        let name = match command.iter().next() {
            Some(Ok((name, _))) => name.as_str().to_owned(),
            _ => String::new(),
        };
        Error::Command {
            code: from.get_i32("code").unwrap_or(0),
            message: from.get_str("errmsg").unwrap_or("no message").to_owned(),
            command: name,
        }
    };
    let ok = match reply.get("ok") {
        Ok(Some(RawBsonRef::Double(ok))) => ok == 1.0,
        Ok(Some(RawBsonRef::Int32(ok))) => ok == 1,
        _ => false,
    };
    if !ok {
        return Err(refused(reply));
    }
    if let Ok(errors) = reply.get_array("writeErrors")
        && let Ok(error) = errors.get_document(0)
    {
        return Err(refused(error));
    }
    Ok(())
}

/// A field name made while running: the user's own fields, and paths into them.
///
/// Fails with [`Error::Unsuitable`] where the name contains a zero byte.
pub fn field(name: impl Into<String>) -> Result<CString> {
    let name = name.into();
    CString::try_from(name).map_err(|_| Error::Unsuitable("a field name may not contain a zero byte".to_owned()))
}

/// The owned form of a document's field, if it is there.
pub fn owned(document: &RawDocument, name: &str) -> Result<Option<Bson>> {
    let corrupt = |error: bson::error::Error| Error::Target(format!("not valid BSON: {error}"));
    match document.get(name).map_err(corrupt)? {
        Some(value) => Ok(Some(Bson::try_from(value).map_err(corrupt)?)),
        None => Ok(None),
    }
}
