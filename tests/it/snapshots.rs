//! Snapshots: cursors and forks see one moment, and reading runs beside writing.

use std::sync::atomic::{AtomicBool, Ordering};

use bindery::{Collection, Database};
use bson::{Document, doc};

fn numbers(db: &Database, n: i32) -> Collection<Document> {
    let collection = db.collection::<Document>("numbers");
    collection.create_index(doc! { "k": 1 }).expect("index");
    let documents: Vec<Document> = (0..n).map(|i| doc! { "_id": i, "k": i % 10, "v": 0 }).collect();
    collection.insert_many(&documents).expect("documents");
    collection
}

fn count(collection: &Collection<Document>, filter: Document) -> u64 {
    collection.count_documents(filter).run().expect("count")
}

#[test]
fn a_cursor_sees_the_moment_it_was_opened() {
    let db = Database::new();
    let collection = numbers(&db, 5_000);
    let mut cursor = collection.find(doc! { "k": { "$gte": 0 } }).run().expect("cursor");
    let first = cursor.next().expect("a document").expect("a document");
    assert_eq!(first.get_i32("v").ok(), Some(0));
    collection.update_many(doc! {}, doc! { "$set": { "v": 1 }, "$inc": { "k": 100 } }).run().expect("update");
    collection.delete_many(doc! { "_id": { "$gte": 2_500 } }).expect("delete");
    let rest: Vec<Document> = cursor.collect::<Result<_, _>>().expect("documents");
    assert_eq!(rest.len(), 4_999);
    assert!(rest.iter().all(|d| d.get_i32("v").ok() == Some(0)));
    assert_eq!(count(&collection, doc! { "v": 1 }), 2_500);
}

#[test]
fn get_more_goes_on_in_the_same_snapshot() {
    let db = Database::new();
    let collection = numbers(&db, 1_000);
    let reply = db.run_command(&bson::rawdoc! { "find": "numbers", "batchSize": 10 });
    let id = reply.get_document("cursor").and_then(|c| c.get_i64("id")).expect("id");
    assert_ne!(id, 0);
    collection.delete_many(doc! {}).expect("delete");
    let reply = db.run_command(&bson::rawdoc! { "getMore": id, "collection": "numbers" });
    let batch = reply.get_document("cursor").and_then(|c| c.get_array("nextBatch")).expect("batch");
    assert_eq!(batch.into_iter().count(), 990);
}

#[test]
fn a_fork_and_its_original_go_their_own_ways() {
    let db = Database::new();
    let original = numbers(&db, 2_000);
    let fork = db.fork();
    let copy = fork.collection::<Document>("numbers");
    copy.delete_many(doc! { "k": 3 }).expect("delete");
    original.insert_one(&doc! { "_id": 9_999, "k": 3 }).expect("insert");
    fork.collection::<Document>("other").insert_one(&doc! { "_id": 1 }).expect("insert");
    assert_eq!((count(&original, doc! { "k": 3 }), count(&copy, doc! { "k": 3 })), (201, 0));
    assert_eq!(db.collection::<Document>("other").estimated_document_count(), Ok(0));
    for database in [&db, &fork] {
        let reply = database.run_command(&bson::rawdoc! { "validate": "numbers" });
        assert_eq!(reply.get_bool("valid").ok(), Some(true));
    }
}

/// Writers move one unit from document to document; a reader that saw half of a write would see another sum.
#[test]
fn readers_beside_a_writer_never_see_half_of_a_write() {
    let db = Database::new();
    let collection = db.collection::<Document>("pairs");
    collection.create_index(doc! { "a": 1 }).expect("index");
    let documents: Vec<Document> = (0..200).map(|i| doc! { "_id": i, "a": 0, "b": 0 }).collect();
    collection.insert_many(&documents).expect("documents");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=300 {
                let id = round % 200;
                collection.update_one(doc! { "_id": id }, doc! { "$inc": { "a": 1, "b": -1 } }).run().expect("update");
            }
            done.store(true, Ordering::Release);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let seen: Vec<Document> = collection
                        .find(doc! { "a": { "$gte": 0 } })
                        .run()
                        .expect("cursor")
                        .collect::<Result<_, _>>()
                        .expect("documents");
                    assert_eq!(seen.len(), 200, "each document once, however its key moves");
                    for d in seen {
                        let (a, b) = (d.get_i32("a").expect("a"), d.get_i32("b").expect("b"));
                        assert_eq!(a + b, 0, "{d}");
                    }
                }
            });
        }
    });
    assert_eq!(count(&collection, doc! { "a": { "$gt": 0 } }), 200);
}

#[test]
fn deleting_everything_gives_the_memory_back() {
    let db = Database::new();
    let collection = numbers(&db, 20_000);
    let bytes = || {
        let stats = db.run_command(&bson::rawdoc! { "collStats": "numbers" });
        stats.get_i32("totalSize").expect("totalSize")
    };
    let full = bytes();
    collection.delete_many(doc! {}).expect("delete");
    assert!(bytes() < full / 100, "{} of {full} bytes are left", bytes());
}
