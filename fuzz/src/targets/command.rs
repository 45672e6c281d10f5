//! Whole commands, one after the other on one database: each gets a reply, which is sound, and at the end so is
//! every collection.

use bindery_document::DocBuf;
use bindery_engine::{Clock, Database, Options, Planner};
use bson::{RawDocument, RawDocumentBuf, rawdoc};

use crate::loose::Reader;

const MONGODB_PLANNER: u8 = 1;

/// The input is a byte of choices and commands.
pub fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let planner = if reader.byte() & MONGODB_PLANNER != 0 { Planner::MongoDb } else { Planner::Bindery };
    let clock = Clock::fixed(1_700_000_000_000);
    let database = Database::with_options(Options { clock, object_id_seed: Some(7), planner });
    for command in reader.documents(12) {
        answer(&database, command);
    }
    let names = database.run_command(&rawdoc! { "listCollections": 1, "nameOnly": true });
    let names = names.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch")).expect("a list");
    for entry in names {
        let entry = entry.ok().and_then(|entry| entry.as_document()).expect("an entry");
        if entry.get_str("type").is_ok_and(|kind| kind != "view") {
            let name = entry.get_str("name").expect("a name");
            let reply = database.run_command(&rawdoc! { "validate": name });
            // The collections that views are kept in and such cannot be asked.
            if is_ok(&reply) {
                assert_eq!(reply.get_bool("valid").ok(), Some(true), "{name}: {reply:?}");
            }
        }
    }
}

fn answer(database: &Database, command: DocBuf) {
    let command = RawDocumentBuf::from_bytes(command.into_bytes()).expect("read as a document");
    let reply = database.run_command(&command);
    bindery_document::validate::validate(reply.as_bytes()).expect("a reply is a document");
    if !is_ok(&reply) {
        assert_eq!(reply.get_f64("ok").ok(), Some(0.0), "{reply:?}");
        let code = reply.get_i32("code").expect("a failure has a code");
        assert!(reply.get_str("codeName").is_ok_and(|name| !name.is_empty()));
        // 1 and 8 say that something of ours went wrong, which no input may bring about.
        assert!(code > 1 && code != 8, "{command:?}: {reply:?}");
    }
}

fn is_ok(reply: &RawDocument) -> bool {
    reply.get_f64("ok").ok() == Some(1.0)
}
