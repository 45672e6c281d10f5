//! A MongoDB as a target: commands in OP_MSG messages over one connection.
//!
//! Enough of the wire protocol to ask a server on the loopback: no compression, no authentication.
//! <https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};

use bindery_lab::target::{Planner, StorageFigures, Target, Targets, Trace, TreeFigures};
use bindery_lab::{Error, Result};
use bson::raw::cstr;
use bson::{RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

const OP_MSG: i32 = 2013;

/// Opens a database of its own on the server for each schema.
pub(crate) struct Mongod {
    address: String,
}

impl Mongod {
    /// The server that the environment names, if it does.
    pub(crate) fn from_environment() -> Option<Mongod> {
        let Ok(uri) = std::env::var("BINDERY_MONGOD_URI") else {
            eprintln!("BINDERY_MONGOD_URI is not set: nothing was asked of a MongoDB");
            return None;
        };
        let rest = uri.strip_prefix("mongodb://").unwrap_or(&uri);
        let address = rest.split(['/', '?']).next().unwrap_or(rest);
        Some(Mongod { address: address.to_owned() })
    }
}

impl Targets for Mongod {
    fn open(&self, _planner: Planner) -> Result<Box<dyn Target>> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let database = format!("lab_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let stream = TcpStream::connect(&self.address).map_err(undelivered)?;
        stream.set_nodelay(true).map_err(undelivered)?;
        Ok(Box::new(Connection { stream, database, trace: None }))
    }

    fn describe(&self) -> String {
        "mongod".to_owned()
    }
}

fn undelivered(error: std::io::Error) -> Error {
    Error::Target(format!("the server cannot be reached: {error}"))
}

struct Connection {
    stream: TcpStream,
    database: String,
    trace: Option<Trace>,
}

impl Connection {
    fn send(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        let mut command = command.to_owned();
        if !matches!(command.get("$db"), Ok(Some(_))) {
            command.append(cstr!("$db"), self.database.as_str());
        }
        let body = command.as_bytes();
        let length = (16 + 4 + 1 + body.len()) as i32;
        let mut message = Vec::with_capacity(length as usize);
        for word in [length, 1, 0, OP_MSG, 0] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        message.push(0);
        message.extend_from_slice(body);
        self.stream.write_all(&message).map_err(undelivered)?;
        let mut header = [0; 21];
        self.stream.read_exact(&mut header).map_err(undelivered)?;
        let length = i32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        let mut body = vec![0; length - header.len()];
        self.stream.read_exact(&mut body).map_err(undelivered)?;
        RawDocumentBuf::from_bytes(body).map_err(|error| Error::Target(error.to_string()))
    }

    /// Adds what `explain` says that `command` examines.
    fn explain(&mut self, command: &RawDocument) -> Result<()> {
        let name = command.iter().next().and_then(|e| e.ok()).map(|(name, _)| name.as_str().to_owned());
        if !matches!(name.as_deref(), Some("find" | "aggregate" | "update" | "distinct" | "count")) {
            return Ok(());
        }
        let reply = self.send(&rawdoc! { "explain": command.to_owned(), "verbosity": "executionStats" })?;
        let stats = match reply.get_document("executionStats") {
            Ok(stats) => Some(stats),
            Err(_) => reply
                .get_array("stages")
                .and_then(|stages| stages.get_document(0))
                .and_then(|stage| stage.get_document("$cursor"))
                .and_then(|cursor| cursor.get_document("executionStats"))
                .ok(),
        };
        let stats = stats.ok_or_else(|| Error::Target(format!("no executionStats in {reply:?}")))?;
        let trace = self.trace.get_or_insert_default();
        trace.keys_examined += number(stats, "totalKeysExamined");
        trace.documents_examined += number(stats, "totalDocsExamined");
        Ok(())
    }
}

fn number(document: &RawDocument, name: &str) -> u64 {
    match document.get(name) {
        Ok(Some(RawBsonRef::Int32(n))) => n as u64,
        Ok(Some(RawBsonRef::Int64(n))) => n as u64,
        Ok(Some(RawBsonRef::Double(n))) => n as u64,
        other => panic!("{name} is {other:?}"),
    }
}

impl Target for Connection {
    fn run(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        if self.trace.is_some() {
            self.explain(command)?;
        }
        self.send(command)
    }

    fn begin_trace(&mut self) {
        self.trace = Some(Trace::default());
    }

    fn end_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    fn storage(&mut self, collection: &str) -> Result<StorageFigures> {
        let stats = self.send(&rawdoc! { "collStats": collection })?;
        let tree = |name: &str, entries: u64, bytes: u64| TreeFigures {
            collection: collection.to_owned(),
            name: name.to_owned(),
            entries,
            bytes,
            ..TreeFigures::default()
        };
        let documents = number(&stats, "count");
        let sizes = stats.get_document("indexSizes").map_err(|error| Error::Target(error.to_string()))?;
        let names = sizes.iter().flatten().map(|(name, _)| name.as_str().to_owned());
        Ok(StorageFigures {
            documents,
            data_bytes: number(&stats, "size"),
            records: vec![tree("records", documents, number(&stats, "storageSize"))],
            indexes: names.map(|name| tree(&name, 0, number(sizes, &name))).collect(),
        })
    }

    fn compact(&mut self, _collection: &str) -> Result<()> {
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.send(&rawdoc! { "dropDatabase": 1 });
    }
}
