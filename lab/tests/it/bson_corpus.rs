//! The drivers' BSON corpus: well-formed documents come back to the byte, malformed ones are refused.
//!
//! Runs where `BINDERY_SPECS` names the folder of the drivers' specification tests.

use bindery::Database;
use bson::{RawDocument, RawDocumentBuf, rawdoc};
use serde_json::Value;

use crate::specs::{cases, files, unhex};

/// The cases of one list, each with the bytes that a field gives in hexadecimal.
fn bytes_of<'a>(file: &'a Value, list: &str, field: &'a str) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
    cases(file, list)
        .filter_map(move |case| Some((case["description"].as_str().unwrap_or_default(), unhex(case[field].as_str()?))))
}

/// `{insert: "c", documents: [<bytes>]}`, whatever the bytes are.
fn insert(document: &[u8]) -> RawDocumentBuf {
    let mut array = vec![0; 4];
    array.extend_from_slice(b"\x030\0");
    array.extend_from_slice(document);
    close(&mut array);
    let mut command = vec![0; 4];
    command.extend_from_slice(b"\x02insert\0\x02\0\0\0c\0\x04documents\0");
    command.extend_from_slice(&array);
    close(&mut command);
    RawDocumentBuf::from_bytes(command).expect("a frame")
}

fn close(document: &mut Vec<u8>) {
    document.push(0);
    let length = document.len() as u32;
    document[..4].copy_from_slice(&length.to_le_bytes());
}

fn is_taken(reply: &RawDocument) -> bool {
    reply.get_f64("ok").ok() == Some(1.0) && reply.get("writeErrors").is_ok_and(|errors| errors.is_none())
}

#[test]
fn well_formed_documents_come_back_to_the_byte() {
    let mut faults = Vec::new();
    for (name, file) in files() {
        for (description, bytes) in bytes_of(&file, "valid", "canonical_bson") {
            let db = Database::new();
            // Names that documents may not have are another matter than well-formed bytes: the value is asked for.
            let wrapped = RawDocumentBuf::from_bytes(bytes).map(|document| rawdoc! {"_id": 1, "d": document});
            let wrapped = wrapped.unwrap_or_else(|e| panic!("{name}: {description}: {e}"));
            let reply = db.run_command(&insert(wrapped.as_bytes()));
            let found = db.run_command(&rawdoc! {"find": "c"});
            let same = found
                .get_document("cursor")
                .and_then(|cursor| cursor.get_array("firstBatch"))
                .and_then(|batch| batch.get_document(0))
                .is_ok_and(|document| document.as_bytes() == wrapped.as_bytes());
            if !is_taken(&reply) || !same {
                faults.push(format!("{name}: {description}: {reply:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn malformed_documents_are_refused() {
    let mut faults = Vec::new();
    for (name, file) in files() {
        for (description, bytes) in bytes_of(&file, "decodeErrors", "bson") {
            let db = Database::new();
            let reply = db.run_command(&insert(&bytes));
            if is_taken(&reply) {
                faults.push(format!("{name}: {description}"));
            }
            // As a command of its own, if it is as much as a frame.
            if let Ok(command) = RawDocumentBuf::from_bytes(bytes) {
                let reply = db.run_command(&command);
                if reply.get_f64("ok").ok() != Some(0.0) {
                    faults.push(format!("{name}: {description}: as a command: {reply:?}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
