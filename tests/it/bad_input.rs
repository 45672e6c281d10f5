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
fn every_flipped_bit_of_a_raw_document_is_stored_whole_or_refused() {
    let db = holding();
    let raw = db.collection::<RawDocumentBuf>("c");
    let bytes = doc! { "_id": 2, "s": "text", "a": [1, { "b": true }], "e": { "x": "y" } }.to_vec().expect("bytes");
    let mut refused = 0;
    for at in 4..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let Ok(document) = RawDocumentBuf::from_bytes(flipped.clone()) else { continue };
            let is_well_formed = RawDocument::from_bytes(&flipped).is_ok_and(|raw| Document::try_from(raw).is_ok());
            for result in
                [raw.insert_one(&document).map(drop), raw.replace_one(doc! { "_id": 3 }, &document).run().map(drop)]
            {
                match result {
                    Ok(()) => assert!(is_well_formed, "byte {at}, bit {bit}"),
                    Err(error) => refused += i32::from(error.code == 22),
                }
            }
            db.collection::<Document>("c").delete_many(doc! { "_id": { "$ne": 1 } }).expect("deleted");
        }
    }
    assert!(refused > 100, "{refused}");
    assert_unchanged(&db);
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

/// A document nested by a function, so many levels deep.
fn nested(levels: usize, start: Bson, wrap: impl Fn(Bson) -> Bson) -> Bson {
    (0..levels).fold(start, |inner, _| wrap(inner))
}

fn projected(expression: impl Into<Bson>) -> Document {
    doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": expression.into() } }], "cursor": {} }
}

/// Starts with a value and wraps it in another `steps` times.
fn reduced(steps: i32, start: impl Into<Bson>, step: impl Into<Bson>) -> Document {
    doc! { "$reduce": { "input": { "$range": [0, steps] }, "initialValue": start.into(), "in": step.into() } }
}

/// A command with something in it of a length.
type Length<'a> = &'a dyn Fn(usize) -> Document;

/// The first code of a reply: the command's, or that of a failed statement.
fn first_code(reply: &Document) -> i32 {
    let failed = reply.get_array("writeErrors").ok().and_then(|errors| errors.first()).and_then(Bson::as_document);
    failed.map_or_else(|| code(reply), code)
}

#[test]
fn what_would_grow_beyond_all_bounds_is_refused_with_mongodbs_codes() {
    let db = holding();
    let lookups = nested(25, Bson::Array(vec![]), |inner| {
        Bson::Array(vec![doc! { "$lookup": { "from": "c", "pipeline": inner, "as": "x" } }.into()])
    });
    let unions = nested(25, Bson::Array(vec![]), |inner| {
        Bson::Array(vec![doc! { "$unionWith": { "coll": "c", "pipeline": inner } }.into()])
    });
    let wrapping: Vec<Document> = (0..990)
        .map(|_| doc! { "$addFields": { "x": nested(90, Bson::String("$x".into()), |inner| doc! { "a": inner }.into()) } })
        .collect();
    let text = |n: usize| "y".repeat(n);
    let cases = [
        (projected(doc! { "$size": { "$range": [0, 10_000_000] } }), 146),
        (projected(doc! { "$range": [0, 3_000_000] }), 10334),
        (projected(reduced(40, "x", doc! { "$concat": ["$$value", "$$value"] })), 16493),
        (projected(reduced(40, doc! { "a": 1 }, doc! { "a": "$$value", "b": "$$value" })), 13548),
        (projected(reduced(300, 1, vec![Bson::String("$$value".into())])), 15),
        (projected(doc! { "$bsonSize": reduced(100_000, doc! {}, doc! { "a": "$$value" }) }), 15),
        (doc! { "aggregate": "c", "pipeline": wrapping, "cursor": {} }, 15),
        (
            projected(doc! { "$replaceAll": { "input": text(1 << 12), "find": "y", "replacement": text(1 << 15) } }),
            13548,
        ),
        (
            projected(doc! { "$replaceAll": { "input": text(1 << 12), "find": "y", "replacement": text(1 << 12) } }),
            16493,
        ),
        (doc! { "aggregate": "c", "pipeline": lookups, "cursor": {} }, 232),
        (doc! { "aggregate": "c", "pipeline": unions, "cursor": {} }, 232),
        (
            doc! { "aggregate": "c", "cursor": {}, "pipeline": [
                { "$densify": { "field": "_id", "range": { "step": 1, "bounds": [2, 2_000_000_000] } } },
                { "$count": "n" },
            ] },
            5_897_900,
        ),
    ];
    for (command, expected) in cases {
        let reply = run(&db, &command);
        assert_eq!(code(&reply), expected, "{command:.200?}: {reply:.300?}");
    }
    assert_unchanged(&db);
}

#[test]
fn numbers_at_their_ends_are_answered() {
    let db = holding();
    let date = |ms| Bson::DateTime(bson::DateTime::from_millis(ms));
    let cases = [
        (doc! { "find": "c", "skip": i64::MAX, "limit": i64::MAX, "batchSize": i64::MAX }, 0),
        (doc! { "count": "c", "limit": i64::MIN }, 2),
        (doc! { "find": "c", "projection": { "a": { "$slice": [i64::MIN, i64::MAX] } } }, 0),
        (doc! { "find": "c", "filter": { "_id": { "$mod": [-1, i64::MIN] } } }, 0),
        (projected(doc! { "$subtract": [date(i64::MIN), date(i64::MAX)] }), 0),
        (projected(doc! { "$dateAdd": { "startDate": date(i64::MAX), "unit": "day", "amount": 1 } }), 5_166_406),
        (projected(doc! { "$dateAdd": { "startDate": date(1), "unit": "millisecond", "amount": i64::MAX } }), 159),
        (projected(doc! { "$dateTrunc": { "date": date(i64::MIN), "unit": "week" } }), 5_166_406),
        (projected(doc! { "$dateTrunc": { "date": date(i64::MIN), "unit": "hour" } }), 5_439_000),
        (projected(doc! { "$dateTrunc": { "date": date(0), "unit": "hour", "binSize": 1_i64 << 60 } }), 5_439_002),
        (projected(doc! { "$dateTrunc": { "date": date(0), "unit": "year", "binSize": 1_000_000_000 } }), 5_976_500),
        (projected(doc! { "$dateTrunc": { "date": date(0), "unit": "day", "binSize": i64::MAX } }), 5_439_006),
        (projected(doc! { "$dateFromParts": { "year": 9999, "second": 1_i64 << 62 } }), 159),
        (projected(doc! { "$dateToString": { "date": date(i64::MAX) } }), 18537),
        (projected(doc! { "$abs": i64::MIN }), 28680),
        (
            doc! { "aggregate": "c", "cursor": {}, "pipeline": [
                { "$skip": i64::MAX }, { "$limit": i64::MAX }, { "$skip": i64::MAX },
            ] },
            0,
        ),
    ];
    for (command, expected) in cases {
        let reply = run(&db, &command);
        assert_eq!(code(&reply), expected, "{command}: {reply}");
    }
    assert_unchanged(&db);
}

#[test]
fn paths_and_patterns_of_unusual_length_are_refused() {
    let db = holding();
    let path = |n: usize| vec!["a"; n].join(".");
    let dollar = |n: usize| format!("${}", path(n));
    let staged = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    let many: Document = (0..33).map(|i| (format!("f{i}"), Bson::Int32(1))).collect();
    // The longest that goes, how much longer, and the code for it.
    let by_length: [(Length<'_>, usize, i32); 12] = [
        (&|n| doc! { "find": "c", "filter": { path(n): 1 } }, 180, 5_729_100),
        (&|n| doc! { "delete": "none", "deletes": [{ "q": { path(n): 1 }, "limit": 0 }] }, 180, 5_729_100),
        (&|n| doc! { "find": "c", "projection": { path(n): 1 } }, 200, 15),
        (&|n| doc! { "find": "c", "projection": { "a": { path(n): 1 } } }, 199, 15),
        (&|n| doc! { "find": "c", "sort": { path(n): 1 } }, 200, 15),
        (&|n| doc! { "distinct": "c", "key": path(n) }, 200, 15),
        (&|n| projected(dollar(n)), 199, 15),
        (&|n| staged(doc! { "$addFields": { path(n): "$none" } }), 200, 15),
        (&|n| staged(doc! { "$group": { "_id": dollar(n) } }), 199, 15),
        (
            &|n| staged(doc! { "$lookup": { "from": "d", "localField": path(n), "foreignField": "a", "as": "x" } }),
            200,
            15,
        ),
        (&|n| doc! { "find": "c", "filter": { "a": { "$regex": ".".repeat(n) } } }, 32_763, 51091),
        (&|n| doc! { "find": "c", "filter": { "a": { "$regex": "(".repeat(n) + &")".repeat(n) } } }, 240, 51091),
    ];
    for (command, longest, expected) in by_length {
        let (fits, beyond) = (command(longest), command(longest + if longest == 240 { 60 } else { 1 }));
        assert_eq!(first_code(&run(&db, &fits)), 0, "{longest}: {fits:.100?}");
        assert_eq!(first_code(&run(&db, &beyond)), expected, "{longest}: {beyond:.100?}");
    }
    let reply = run(&db, &doc! { "createIndexes": "c", "indexes": [{ "key": many, "name": "many" }] });
    assert_eq!(code(&reply), 13103);
    assert_unchanged(&db);
}

#[test]
fn patterns_that_explode_come_to_an_end() {
    let db = holding();
    run(&db, &doc! { "insert": "s", "documents": [{ "s": "x".repeat(100) }] });
    for pattern in ["(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x|(?1)x)+y", "((x*)*)*y"] {
        for command in [
            doc! { "find": "s", "filter": { "s": { "$regex": pattern } } },
            doc! { "delete": "s", "deletes": [{ "q": { "s": { "$regex": pattern } }, "limit": 0 }] },
            doc! { "aggregate": "s", "cursor": {}, "pipeline": [
                { "$project": { "x": { "$regexFindAll": { "input": "$s", "regex": pattern } } } },
            ] },
        ] {
            let reply = run(&db, &command);
            assert!(first_code(&reply) == 0 || first_code(&reply) > 1, "{command}: {reply}");
        }
    }
    assert_eq!(run(&db, &doc! { "count": "s" }).get_i32("n").ok(), Some(1));
}
