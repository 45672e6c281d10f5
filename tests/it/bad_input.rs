//! Bad input gets the right error and loses nothing: broken bytes, documents that are too large or too deep, wrong types.

use bindery::Database;
use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

fn run(db: &Database, command: &Document) -> Document {
    let raw = RawDocumentBuf::try_from(command).expect("command");
    Document::try_from(&*db.run_command(&raw)).expect("reply")
}

fn code(reply: &Document) -> i32 {
    reply.get_i32("code").unwrap_or(0)
}

/// A database with one document, which must still be there afterwards.
fn holding() -> Database {
    let db = Database::new();
    let reply = run(&db, &doc! { "insert": "c", "documents": [{ "_id": 1, "a": [1, { "b": "x" }] }] });
    assert_eq!(reply.get_i32("n").ok(), Some(1));
    db
}

fn assert_unchanged(db: &Database) {
    let reply = run(db, &doc! { "find": "c" });
    let expected = vec![Bson::Document(doc! { "_id": 1, "a": [1, { "b": "x" }] })];
    assert_eq!(reply.get_document("cursor").and_then(|c| c.get_array("firstBatch")).ok(), Some(&expected));
    let reply = run(db, &doc! { "validate": "c" });
    assert_eq!(reply.get_bool("valid").ok(), Some(true), "{reply}");
}

/// An insert of a document with a value of many types.
fn sample() -> Vec<u8> {
    let document = doc! {
        "_id": 2, "double": 1.5, "string": "text", "array": [1, "x", { "y": null }], "id": bson::oid::ObjectId::from_bytes([7; 12]),
        "date": bson::DateTime::from_millis(7), "long": 1_i64, "decimal": "1.5".parse::<bson::Decimal128>().expect("decimal"),
        "code": Bson::JavaScriptCode("f".into()), "timestamp": bson::Timestamp { time: 1, increment: 2 },
    };
    doc! { "insert": "d", "documents": [document] }.to_vec().expect("bytes")
}

#[test]
fn every_cut_and_every_flipped_bit_of_a_command_is_answered() {
    let db = holding();
    let bytes = sample();
    for end in 5..bytes.len() {
        // The crate's own frame check refuses most cuts; the length is mended to get past it.
        let mut cut = bytes[..end].to_vec();
        let length = cut.len() as u32;
        cut[..4].copy_from_slice(&length.to_le_bytes());
        cut[end - 1] = 0;
        if let Ok(command) = RawDocument::from_bytes(&cut) {
            let _ = db.run_command(command);
        }
    }
    for at in 4..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(command) = RawDocument::from_bytes(&flipped) {
                let _ = db.run_command(command);
            }
        }
    }
    assert_unchanged(&db);
    // What was let in by a flip is whole: every collection still walks.
    let names = run(&db, &doc! { "listCollections": 1, "nameOnly": true });
    for entry in names.get_document("cursor").and_then(|c| c.get_array("firstBatch")).expect("names") {
        let name = entry.as_document().and_then(|d| d.get_str("name").ok()).expect("name");
        assert_eq!(run(&db, &doc! { "validate": name }).get_bool("valid").ok(), Some(true), "{name}");
    }
}

#[test]
fn a_document_of_sixteen_megabytes_and_one_is_refused() {
    let db = holding();
    let text = |n: usize| "x".repeat(n);
    // _id (9 bytes), the string's head (2 + 1 + 4 + 1) and the document's own five.
    let overhead = doc! { "_id": 2, "s": "" }.to_vec().expect("bytes").len();
    let most = 16 * 1024 * 1024 - overhead;
    let reply = run(&db, &doc! { "insert": "big", "documents": [{ "_id": 2, "s": text(most) }] });
    assert_eq!(reply.get_i32("n").ok(), Some(1), "exactly 16 MB");
    let reply = run(&db, &doc! { "insert": "big", "documents": [{ "_id": 3, "s": text(most + 1) }] });
    let error = reply.get_array("writeErrors").ok().and_then(|e| e.first()).and_then(Bson::as_document).map(code);
    assert!(error == Some(10334) || code(&reply) == 10334, "{reply:.300?}");
    assert_eq!(run(&db, &doc! { "count": "big" }).get_i32("n").ok(), Some(1));
    assert_unchanged(&db);
}

#[test]
fn nesting_too_deep_is_refused() {
    let db = holding();
    let nest = |levels: usize| (0..levels).fold(doc! { "x": 1 }, |inner, _| doc! { "a": inner });
    let mut deep = nest(250);
    deep.insert("_id", 2);
    let reply = run(&db, &doc! { "insert": "c", "documents": [deep] });
    assert_ne!(code(&reply), 0);
    let mut deep = nest(185);
    deep.insert("_id", 2);
    let reply = run(&db, &doc! { "insert": "c", "documents": [deep] });
    assert_eq!(reply.get_i32("n").unwrap_or(0), 0);
    assert_unchanged(&db);
}

#[test]
fn parallel_arrays_are_refused_whole() {
    let db = holding();
    run(&db, &doc! { "createIndexes": "p", "indexes": [{ "key": { "x": 1, "y": 1 }, "name": "xy" }] });
    let reply = run(&db, &doc! { "insert": "p", "documents": [{ "_id": 1, "x": [1], "y": [2] }] });
    let error = reply.get_array("writeErrors").ok().and_then(|e| e.first()).and_then(Bson::as_document).map(code);
    assert_eq!(error, Some(171), "{reply}");
    assert_eq!(run(&db, &doc! { "count": "p" }).get_i32("n").ok(), Some(0));
    assert_eq!(run(&db, &doc! { "validate": "p" }).get_bool("valid").ok(), Some(true));
}

#[test]
fn wrong_commands_are_refused_with_mongodbs_codes() {
    let db = holding();
    let cases = [
        (doc! { "frobnicate": 1 }, 59),
        (doc! { "find": "c", "filter": { "a": { "$foo": 1 } } }, 2),
        (doc! { "find": "c", "filter": 5 }, 14),
        (doc! { "find": "c", "unknown": 1 }, 40415),
        (doc! { "find": "", "filter": {} }, 73),
        (doc! { "find": "c", "skip": -1 }, 51024),
        (doc! { "aggregate": "c", "pipeline": [{ "$foo": 1 }], "cursor": {} }, 40324),
        (doc! { "getMore": 77_i64, "collection": "c" }, 43),
        (doc! { "createIndexes": "c", "indexes": [{ "key": { "a": "text" }, "name": "t" }] }, 67),
        (doc! { "insert": "c" }, 40414),
        (doc! {}, 59),
    ];
    for (command, expected) in cases {
        let reply = run(&db, &command);
        assert_eq!((code(&reply), reply.get_f64("ok").ok()), (expected, Some(0.0)), "{command}: {reply}");
        assert!(reply.get_str("codeName").is_ok() && reply.get_str("errmsg").is_ok());
    }
    assert_unchanged(&db);
}

#[test]
fn a_refused_write_of_many_leaves_what_came_before_and_nothing_of_its_own() {
    let db = holding();
    run(&db, &doc! { "createIndexes": "u", "indexes": [{ "key": { "k": 1 }, "name": "k", "unique": true }] });
    let reply = run(
        &db,
        &doc! { "insert": "u", "documents": [{ "_id": 1, "k": 1 }, { "_id": 2, "k": 1 }, { "_id": 3, "k": 3 }] },
    );
    assert_eq!(reply.get_i32("n").ok(), Some(1));
    let reply =
        run(&db, &doc! { "insert": "u", "documents": [{ "_id": 2, "k": 1 }, { "_id": 3, "k": 3 }], "ordered": false });
    assert_eq!(reply.get_i32("n").ok(), Some(1));
    let reply = run(&db, &doc! { "update": "u", "updates": [{ "q": { "_id": 3 }, "u": { "$set": { "k": 1 } } }] });
    assert_eq!(reply.get_i32("nModified").ok(), Some(0));
    assert_eq!(run(&db, &doc! { "validate": "u" }).get_bool("valid").ok(), Some(true));
    assert_eq!(run(&db, &doc! { "count": "u" }).get_i32("n").ok(), Some(2));
}
