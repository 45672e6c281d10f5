//! Commands that change what collections, indexes and views are, beyond what the corpus asks.
//!
//! The answers are those of a real MongoDB 6.0.5, which was asked the same commands.

use std::time::{Duration, Instant};

use bindery::{Clock, Database, Options};
use bson::{Bson, DateTime, Document, doc};

fn run_in(db: &Database, name: &str, mut command: Document) -> Document {
    command.insert("$db", name);
    let command = bson::serialize_to_raw_document_buf(&command).expect("a document");
    bson::deserialize_from_slice(db.run_command(&command).as_bytes()).expect("a reply")
}

fn run(db: &Database, command: Document) -> Document {
    run_in(db, "d", command)
}

/// The error's code; 0 for success, the first write error's code where there is one.
fn code(reply: &Document) -> i32 {
    match reply.get_array("writeErrors") {
        Ok(errors) => errors[0].as_document().and_then(|error| error.get_i32("code").ok()).unwrap_or(-1),
        Err(_) => reply.get_i32("code").unwrap_or(0),
    }
}

fn codes(db: &Database, cases: Vec<(Document, i32)>) {
    for (command, expected) in cases {
        let reply = run(db, command.clone());
        assert_eq!(code(&reply), expected, "{command} gave {reply}");
    }
}

fn first_batch(db: &Database, command: Document) -> Vec<Bson> {
    let reply = run(db, command);
    reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch")).cloned().unwrap_or_default()
}

fn ids(documents: &[Bson]) -> Vec<i32> {
    documents.iter().filter_map(|document| document.as_document()?.get_i32("_id").ok()).collect()
}

fn insert(db: &Database, name: &str, documents: Vec<Document>) {
    assert_eq!(code(&run(db, doc! {"insert": name, "documents": documents})), 0);
}

fn index(db: &Database, key: Document, name: &str, options: Document) -> Document {
    let mut spec = doc! {"key": key, "name": name};
    spec.extend(options);
    run(db, doc! {"createIndexes": "c", "indexes": [spec]})
}

#[test]
fn indexes_that_refuse_the_same_are_one() {
    let db = Database::new();
    let cases = [
        (doc! {"a": 1}, "a", doc! {"sparse": true}, 0),
        (doc! {"a": 1}, "a", doc! {}, 86),
        (doc! {"a": 1}, "a2", doc! {}, 0),
        (doc! {"a": 1}, "a3", doc! {"unique": true}, 0),
        (doc! {"a": 1}, "a4", doc! {"unique": true}, 85),
        (doc! {"a": 1}, "a", doc! {"sparse": true, "hidden": true}, 0),
        (doc! {"a": 1}, "a", doc! {"sparse": true, "expireAfterSeconds": 5}, 85),
        (doc! {"a": 1}, "p", doc! {"partialFilterExpression": {"b": 1}}, 0),
        (doc! {"a": 1}, "p", doc! {"partialFilterExpression": {"b": {"$in": [1.0]}}}, 0),
        (doc! {"a": 1}, "q", doc! {"partialFilterExpression": {"$and": [{"b": 1}]}}, 85),
        (doc! {"a": 1}, "p", doc! {"partialFilterExpression": {"b": 2}}, 86),
        (doc! {"$**": 1}, "w", doc! {"wildcardProjection": {"a": 1}}, 0),
        (doc! {"$**": 1}, "w", doc! {"wildcardProjection": {"a": true}}, 0),
        (doc! {"$**": 1}, "w", doc! {"wildcardProjection": {"b": 1}}, 86),
        (doc! {"$**": 1}, "w2", doc! {"wildcardProjection": {"b": 1}}, 0),
        (doc! {"_id": 1}, "x", doc! {"collation": {"locale": "fr"}}, 2),
        (doc! {"b": 1}, "b", doc! {"clustered": true, "unique": true}, 6_243_700),
    ];
    for (key, name, options, expected) in cases {
        let reply = index(&db, key.clone(), name, options.clone());
        assert_eq!(code(&reply), expected, "{key} {name} {options} gave {reply}");
    }
    let reply = run(&db, doc! {"dropIndexes": "c", "index": ["*"]});
    assert_eq!(reply.get("nIndexesWas"), Some(&Bson::Int32(7)), "{reply}");
}

#[test]
fn an_index_that_cannot_be_makes_no_collection() {
    let db = Database::new();
    assert_eq!(code(&index(&db, doc! {"a": 1}, "a", doc! {"partialFilterExpression": {"$expr": 1}})), 224);
    assert_eq!(code(&run(&db, doc! {"insert": "c", "documents": [{"_id": [1]}]})), 53);
    assert!(first_batch(&db, doc! {"listCollections": 1}).is_empty());
}

#[test]
fn an_index_becomes_unique_in_two_steps() {
    let db = Database::new();
    insert(&db, "c", vec![doc! {"_id": 1, "a": 1}, doc! {"_id": 2, "a": 1}]);
    index(&db, doc! {"a": 1}, "a", doc! {});
    let modify = |option: Document| {
        let mut index = doc! {"name": "a"};
        index.extend(option);
        run(&db, doc! {"collMod": "c", "index": index})
    };
    assert_eq!(code(&modify(doc! {"unique": true})), 72);
    assert_eq!(code(&modify(doc! {"unique": false})), 2);
    let reply = modify(doc! {"prepareUnique": true});
    assert_eq!(reply, doc! {"prepareUnique_old": false, "prepareUnique_new": true, "ok": 1.0});
    assert_eq!(code(&modify(doc! {"unique": true})), 359);
    codes(
        &db,
        vec![
            (doc! {"insert": "c", "documents": [{"_id": 3, "a": 1}]}, 11_000),
            // A document that has the key already may be written.
            (doc! {"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"z": 1}}}]}, 0),
            (doc! {"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 2}}}]}, 0),
            (doc! {"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 1}}}]}, 11_000),
        ],
    );
    assert_eq!(modify(doc! {"unique": true}), doc! {"unique_new": true, "ok": 1.0});
    assert_eq!(modify(doc! {"unique": true}), doc! {"ok": 1.0});
}

#[test]
fn coll_mod_refuses_what_does_not_belong() {
    let db = Database::new();
    insert(&db, "c", vec![doc! {"_id": 1}]);
    index(&db, doc! {"a": 1}, "a", doc! {});
    run(&db, doc! {"create": "k", "capped": true, "size": 1000});
    run(&db, doc! {"create": "v", "viewOn": "c", "pipeline": []});
    codes(
        &db,
        vec![
            (doc! {"collMod": "c", "x": 1}, 40_415),
            (doc! {"collMod": "c", "index": {}}, 72),
            (doc! {"collMod": "c", "index": {"name": "a", "keyPattern": {"a": 1}, "hidden": true}}, 72),
            (doc! {"collMod": "c", "index": {"name": "a", "x": 1}}, 40_415),
            (doc! {"collMod": "c", "index": {"name": "_id_", "hidden": true}}, 2),
            (doc! {"collMod": "c", "index": {"name": "_id_", "expireAfterSeconds": 1}}, 72),
            (doc! {"collMod": "c", "index": {"name": "a", "expireAfterSeconds": -1}}, 72),
            (doc! {"collMod": "c", "cappedMax": 1}, 72),
            (doc! {"collMod": "c", "viewOn": "x"}, 72),
            (doc! {"collMod": "c", "expireAfterSeconds": 1}, 72),
            (doc! {"collMod": "c", "validationLevel": "x"}, 2),
            (doc! {"collMod": "k", "cappedSize": 0}, 51_024),
            (doc! {"collMod": "k", "cappedMax": 2_147_483_648_i64}, 51_024),
            (doc! {"collMod": "k", "index": {"name": "_id_", "expireAfterSeconds": 1}}, 72),
            (doc! {"collMod": "v", "validator": {}}, 72),
            (doc! {"collMod": "v", "viewOn": "v", "pipeline": []}, 5),
            (doc! {"collMod": "v", "viewOn": "", "pipeline": []}, 2),
            (doc! {"collMod": "nope"}, 26),
        ],
    );
}

#[test]
fn views_stand_on_others_but_not_on_themselves() {
    let db = Database::new();
    let view =
        |name: &str, on: &str, pipeline: Vec<Document>| doc! {"create": name, "viewOn": on, "pipeline": pipeline};
    codes(&db, vec![(view("v1", "v2", vec![]), 0), (view("v2", "v1", vec![]), 5), (view("v2", "v3", vec![]), 0)]);
    codes(&db, vec![(view("v3", "c", vec![doc! {"$out": "x"}]), 167), (view("v3", "a$b", vec![]), 73)]);
    for i in 0..20 {
        let on = if i == 0 { "base".to_owned() } else { format!("d{}", i - 1) };
        codes(&db, vec![(view(&format!("d{i}"), &on, vec![]), 0)]);
    }
    codes(&db, vec![(view("d20", "d19", vec![]), 165)]);
    run(&db, doc! {"create": "f", "viewOn": "c", "pipeline": [], "collation": {"locale": "fr"}});
    codes(&db, vec![(view("g", "f", vec![]), 167), (view("v1", "c", vec![]), 48)]);

    // They are shown as documents, and go with the collection that shows them.
    assert_eq!(
        first_batch(&db, doc! {"find": "system.views", "limit": 1}),
        [Bson::from(doc! {
            "_id": "d.v1", "viewOn": "v2", "pipeline": [],
        })]
    );
    codes(
        &db,
        vec![
            (doc! {"insert": "system.views", "documents": [{"_id": 1}]}, 73),
            (doc! {"drop": "system.views"}, 0),
            (doc! {"create": "v1"}, 0),
        ],
    );
}

#[test]
fn collections_move_with_their_documents() {
    let db = Database::new();
    insert(&db, "c", vec![doc! {"_id": 1}]);
    insert(&db, "k", vec![doc! {"_id": 2}]);
    run(&db, doc! {"create": "v", "viewOn": "c", "pipeline": []});
    let rename = |from: &str, to: &str, drop: Bson| {
        code(&run_in(&db, "admin", doc! {"renameCollection": from, "to": to, "dropTarget": drop}))
    };
    assert_eq!(code(&run(&db, doc! {"renameCollection": "d.c", "to": "d.z"})), 13);
    let cases = [
        ("d.v", "d.w", Bson::Null, 166),
        ("d.c", "d.v", true.into(), 48),
        ("d.c", "d.k", false.into(), 48),
        ("d.c", "d.k", 1.into(), 14),
        ("d.c", "d.system.x", Bson::Null, 20),
        ("d.c", "d..x", Bson::Null, 20),
        ("d.c", "d", Bson::Null, 73),
        ("d.nope", "d.nope", Bson::Null, 20),
        ("d.nope", "e.x", Bson::Null, 26),
        ("d.c", "d.k", true.into(), 0),
        ("d.k", "e.k", Bson::Null, 0),
    ];
    for (from, to, drop, expected) in cases {
        assert_eq!(rename(from, to, drop.clone()), expected, "{from} to {to}, {drop}");
    }
    let found = run_in(&db, "e", doc! {"find": "k"});
    assert_eq!(ids(found.get_document("cursor").and_then(|c| c.get_array("firstBatch")).expect("documents")), [1]);
}

#[test]
fn a_cursor_ends_with_its_collection() {
    let db = Database::new();
    for (command, admin) in [
        (doc! {"drop": "c"}, false),
        (doc! {"dropDatabase": 1}, false),
        (doc! {"convertToCapped": "c", "size": 1000}, false),
        (doc! {"renameCollection": "d.c", "to": "d.c2", "dropTarget": true}, true),
    ] {
        insert(&db, "c", vec![doc! {"_id": 1}, doc! {"_id": 2}]);
        let reply = run(&db, doc! {"find": "c", "batchSize": 1});
        let id = reply.get_document("cursor").and_then(|cursor| cursor.get_i64("id")).expect("a cursor");
        assert_eq!(code(&run_in(&db, if admin { "admin" } else { "d" }, command.clone())), 0, "{command}");
        let more = doc! {"getMore": id, "collection": "c"};
        codes(&db, vec![(more.clone(), 175), (more, 43)]);
        run(&db, doc! {"drop": "c"});
    }
}

#[test]
fn a_capped_copy_holds_the_newest_that_fit() {
    let db = Database::new();
    let documents = (0..10).map(|i| doc! {"_id": i, "a": i, "s": "x".repeat(100)}).collect();
    insert(&db, "c", documents);
    index(&db, doc! {"a": 1}, "a", doc! {});
    codes(
        &db,
        vec![
            (doc! {"cloneCollectionAsCapped": "c", "toCollection": "k", "size": 600}, 0),
            (doc! {"cloneCollectionAsCapped": "c", "toCollection": "k", "size": 600}, 48),
            (doc! {"convertToCapped": "c", "size": -1}, 2),
            (doc! {"convertToCapped": "nope", "size": 100}, 26),
            (doc! {"convertToCapped": "c", "size": 600.5}, 0),
        ],
    );
    assert_eq!(ids(&first_batch(&db, doc! {"find": "c"})), [5, 6, 7, 8, 9]);
    assert_eq!(ids(&first_batch(&db, doc! {"find": "k"})), [5, 6, 7, 8, 9]);
    assert_eq!(first_batch(&db, doc! {"listIndexes": "c"}).len(), 1);
    // The newest document stays even where it is larger than all may be; updates make no room.
    insert(&db, "k", vec![doc! {"_id": 11, "s": "y".repeat(2000)}]);
    assert_eq!(ids(&first_batch(&db, doc! {"find": "k"})), [11]);
}

fn tail(db: &Database, command: Document) -> i64 {
    let reply = run(db, command);
    reply.get_document("cursor").and_then(|cursor| cursor.get_i64("id")).expect("a cursor")
}

fn more(db: &Database, id: i64) -> Vec<i32> {
    let reply = run(db, doc! {"getMore": id, "collection": "t"});
    let cursor = reply.get_document("cursor").expect("a batch");
    assert_eq!(cursor.get("id"), Some(&Bson::Int64(id)));
    ids(cursor.get_array("nextBatch").expect("documents"))
}

#[test]
fn a_tailable_cursor_gives_what_comes_later() {
    let db = Database::new();
    run(&db, doc! {"create": "t", "capped": true, "size": 100_000, "max": 5});
    // There is no place to go on from yet.
    assert_eq!(tail(&db, doc! {"find": "t", "tailable": true}), 0);
    insert(&db, "t", (0..3).map(|i| doc! {"_id": i}).collect());
    let id = tail(&db, doc! {"find": "t", "tailable": true, "filter": {"_id": {"$ne": 3}}, "batchSize": 2});
    assert_eq!(more(&db, id), [2]);
    assert!(more(&db, id).is_empty());
    insert(&db, "t", vec![doc! {"_id": 3}, doc! {"_id": 4}]);
    assert_eq!(more(&db, id), [4]);
    codes(&db, vec![(doc! {"getMore": id, "collection": "t", "maxTimeMS": 5}, 2)]);
    insert(&db, "t", (5..20).map(|i| doc! {"_id": i}).collect());
    let lost = doc! {"getMore": id, "collection": "t"};
    codes(&db, vec![(lost.clone(), 136), (lost, 43)]);
    // At its limit a cursor is open still, as is one that nothing can come to.
    let id = tail(&db, doc! {"find": "t", "tailable": true, "limit": 2});
    assert!(more(&db, id).is_empty());
    let id = tail(&db, doc! {"find": "t", "tailable": true, "hint": {"$natural": -1}});
    assert!(more(&db, id).is_empty());
}

#[test]
fn an_awaiting_cursor_wakes_when_a_document_comes() {
    let db = Database::new();
    run(&db, doc! {"create": "t", "capped": true, "size": 100_000});
    insert(&db, "t", vec![doc! {"_id": 1}]);
    let id = tail(&db, doc! {"find": "t", "tailable": true, "awaitData": true});
    let started = Instant::now();
    let reply = run(&db, doc! {"getMore": id, "collection": "t", "maxTimeMS": 20});
    assert!(reply.get_document("cursor").is_ok_and(|cursor| cursor.get_array("nextBatch").is_ok_and(Vec::is_empty)));
    assert!(started.elapsed() >= Duration::from_millis(20));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let reply = run(&db, doc! {"getMore": id, "collection": "t", "maxTimeMS": 60_000});
            ids(reply.get_document("cursor").and_then(|c| c.get_array("nextBatch")).expect("documents"))
        });
        insert(&db, "t", vec![doc! {"_id": 2}]);
        assert_eq!(reader.join().expect("no panic"), [2]);
    });
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_is_too_old_expires_when_told() {
    let clock = Clock::fixed(100_000);
    let db = Database::with_options(Options { clock: clock.clone(), ..Options::default() });
    let date = |seconds: i64| DateTime::from_millis(seconds * 1000);
    insert(
        &db,
        "c",
        vec![
            doc! {"_id": 1, "t": date(40)},
            doc! {"_id": 2, "t": date(41)},
            // The earliest date of an array counts.
            doc! {"_id": 3, "t": [date(90), date(30), "x"]},
            doc! {"_id": 4, "t": 1},
            doc! {"_id": 5, "t": bson::Timestamp {time: 1, increment: 1}},
            doc! {"_id": 6},
            doc! {"_id": 7, "u": date(1), "keep": true},
            doc! {"_id": 8, "u": date(1)},
        ],
    );
    index(&db, doc! {"t": -1}, "t", doc! {"expireAfterSeconds": 60, "hidden": true});
    let partial = doc! {"expireAfterSeconds": 0, "partialFilterExpression": {"keep": {"$exists": true}}};
    index(&db, doc! {"u": 1}, "u", partial);
    assert_eq!(db.expire(), Ok(3));
    assert_eq!(ids(&first_batch(&db, doc! {"find": "c"})), [2, 4, 5, 6, 8]);
    clock.set(101_000);
    assert_eq!(db.expire(), Ok(1));
    assert_eq!(db.expire(), Ok(0));

    run(&db, doc! {"create": "k", "clusteredIndex": {"key": {"_id": 1}, "unique": true}, "expireAfterSeconds": 1});
    run(&db, doc! {"insert": "k", "documents": [{"_id": date(1)}, {"_id": date(101)}]});
    assert_eq!(db.expire(), Ok(1));
    assert_eq!(code(&run(&db, doc! {"collMod": "k", "expireAfterSeconds": "off"})), 0);
    clock.set(200_000);
    assert_eq!(db.expire(), Ok(0));
}

#[test]
fn a_clustered_collection_is_in_the_order_of_its_ids() {
    let db = Database::new();
    run(&db, doc! {"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true, "name": "cx"}});
    insert(&db, "c", [5, 1, 9, 2].map(|i| doc! {"_id": i, "a": i}).to_vec());
    assert_eq!(ids(&first_batch(&db, doc! {"find": "c"})), [1, 2, 5, 9]);
    assert_eq!(ids(&first_batch(&db, doc! {"find": "c", "sort": {"$natural": -1}})), [9, 5, 2, 1]);
    assert_eq!(ids(&first_batch(&db, doc! {"find": "c", "hint": "cx", "filter": {"a": {"$lt": 6}}})), [1, 2, 5]);
    let shown = doc! {"v": 2, "key": {"_id": 1}, "name": "cx", "unique": true, "clustered": true};
    assert_eq!(first_batch(&db, doc! {"listIndexes": "c"}), [Bson::from(shown)]);
    codes(
        &db,
        vec![
            (doc! {"insert": "c", "documents": [{"_id": 1}]}, 11_000),
            (doc! {"dropIndexes": "c", "index": "cx"}, 5_979_800),
            (doc! {"dropIndexes": "c", "index": "*"}, 0),
            (doc! {"collMod": "c", "index": {"name": "cx", "hidden": true}}, 6_011_800),
        ],
    );
    assert_eq!(code(&index(&db, doc! {"a": 1}, "cx", doc! {})), 6_100_906);
    assert_eq!(index(&db, doc! {"a": 1}, "a", doc! {}).get("numIndexesAfter"), Some(&Bson::Int32(1)));
}

#[test]
fn options_of_create_are_checked_and_shown() {
    let db = Database::new();
    let created = |options: Document| {
        let mut command = doc! {"create": "c"};
        command.extend(options);
        let reply = run(&db, command);
        run(&db, doc! {"drop": "c"});
        code(&reply)
    };
    let clustered = |spec: Document| doc! {"clusteredIndex": spec};
    let cases = [
        (doc! {"capped": null, "size": null}, 0),
        (doc! {"size": 10}, 72),
        (doc! {"capped": true, "size": 1_i64 << 51}, 51_024),
        (doc! {"autoIndexId": false}, 50_001),
        (doc! {"temp": true}, 72),
        (doc! {"storageEngine": {"wiredTiger": {}}}, 0),
        (doc! {"storageEngine": {"x": {}}}, 72),
        (doc! {"storageEngine": {"x": 1}}, 2),
        (doc! {"indexOptionDefaults": {"x": 1}}, 40_415),
        (doc! {"idIndex": {"key": {"a": 1}, "name": "a"}}, 2),
        (doc! {"idIndex": {"key": {"_id": 1}}}, 9),
        (doc! {"idIndex": {"key": {"_id": 1}, "name": "x", "sparse": true}}, 197),
        (doc! {"expireAfterSeconds": 10}, 72),
        (doc! {"changeStreamPreAndPostImages": {}}, 40_414),
        (doc! {"encryptedFields": {"fields": []}}, 6_346_402),
        (clustered(doc! {"key": {"_id": 1}}), 40_414),
        (clustered(doc! {"key": {"_id": 1}, "unique": false}), 5_979_700),
        (clustered(doc! {"key": {"_id": -1}, "unique": true}), 197),
        (clustered(doc! {"key": {"_id": 1}, "unique": true, "v": 1}), 5_979_704),
        (doc! {"clusteredIndex": true}, 5_979_703),
        (doc! {"viewOn": "x", "clusteredIndex": {"key": {"_id": 1}, "unique": true}}, 6_026_500),
        (doc! {"viewOn": "x", "pipeline": 1}, 14),
        (doc! {"viewOn": "x", "pipeline": [1]}, 14),
        (doc! {"viewOn": "x", "capped": true, "size": 100}, 0),
    ];
    for (options, expected) in cases {
        assert_eq!(created(options.clone()), expected, "{options}");
    }
}

#[test]
fn what_a_validator_cannot_be_asked_of_is_refused() {
    let db = Database::new();
    run(&db, doc! {"create": "c", "validator": {"$expr": {"$gt": [{"$divide": [1, "$a"]}, 0]}}});
    run(&db, doc! {"create": "n", "validator": {"$expr": {"$lt": ["$t", "$$NOW"]}}});
    codes(
        &db,
        vec![
            (doc! {"insert": "c", "documents": [{"a": 2}]}, 0),
            (doc! {"insert": "c", "documents": [{"a": 0}]}, 121),
            // There is no $$NOW in validators, as each document finds out.
            (doc! {"insert": "n", "documents": [{"t": DateTime::from_millis(0)}]}, 121),
        ],
    );
}
