//! What blocking stages hold while they run, and that nothing of it stays.
//!
//! A binary of its own, because its allocator counts. The stated limit of a stage is 100 MiB: a `$group` of a million
//! keys and a `$sort` of a million documents either hold less or fail with code 292, and when a cursor is dropped
//! every byte is given back. Debug builds do the same with a tenth of the documents, each ten times as large.

use std::alloc::System;

use bindery::{Collection, Database};
use bson::{Document, RawDocumentBuf, doc, rawdoc};
use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const LIMIT_BYTES: usize = 100 * 1024 * 1024;
/// What parsing, replies and the like may take beside a stage.
const SLACK_BYTES: usize = 1024 * 1024;

const DOCUMENTS: i64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
const KEY_BYTES: usize = if cfg!(debug_assertions) { 1000 } else { 60 };

/// Documents with a long key of their own, and a short one that they share.
fn load() -> Collection<RawDocumentBuf> {
    let collection = Database::new().collection("c");
    for start in (0..DOCUMENTS).step_by(500) {
        let batch: Vec<RawDocumentBuf> = (start..start + 500)
            .map(|n| rawdoc! { "_id": n, "long": format!("{n:0KEY_BYTES$}"), "short": n % 1000, "v": (n * 7919) % DOCUMENTS })
            .collect();
        collection.insert_many(&batch).expect("batch");
    }
    collection
}

/// What a pipeline gave: how many documents, or the code of its error.
fn run(collection: &Collection<RawDocumentBuf>, stages: &[Document]) -> Result<usize, i32> {
    let documents = collection.aggregate(stages.iter().cloned()).run_as::<RawDocumentBuf>().map_err(|e| e.code)?;
    let mut count = 0;
    for document in documents {
        document.map_err(|e| e.code)?;
        count += 1;
    }
    Ok(count)
}

/// One test, so that no other thread allocates meanwhile.
#[test]
fn blocking_stages_stay_within_their_limit_and_leave_nothing() {
    let collection = load();
    let (documents, most) = (DOCUMENTS as usize, DOCUMENTS / 10 * 7);
    let group = |key: &str| doc! { "$group": { "_id": key, "n": { "$sum": 1 }, "greatest": { "$max": "$v" } } };
    let push = doc! { "$group": { "_id": null, "all": { "$push": "$$ROOT" } } };
    let set = doc! { "$group": { "_id": null, "all": { "$addToSet": "$long" } } };
    let cases: Vec<(&str, Vec<Document>, Result<usize, i32>)> = vec![
        ("few groups", vec![group("$short")], Ok(1000)),
        ("many groups", vec![group("$long")], Err(292)),
        ("pushed values", vec![push], Err(292)),
        ("different values", vec![set], Err(292)),
        ("the first of a sort", vec![doc! { "$sort": { "v": 1 } }, doc! { "$limit": 10 }], Ok(10)),
        ("a sort of all", vec![doc! { "$sort": { "v": 1 } }], Err(292)),
        (
            "a sort of most",
            vec![doc! { "$match": { "_id": { "$lt": most } } }, doc! { "$sort": { "v": 1 } }],
            Ok(most as usize),
        ),
        ("a sort within the pipeline", vec![doc! { "$set": { "w": "$v" } }, doc! { "$sort": { "w": 1 } }], Err(292)),
    ];
    // What is made once for all (tables, buffers of the thread) is there after the first run.
    run(&collection, &[doc! { "$match": { "_id": 0 } }]).expect("a document");
    for (what, stages, expected) in cases {
        let before = ALLOCATOR.allocated();
        let outcome = run(&collection, &stages);
        let after = ALLOCATOR.allocated();
        let held = ALLOCATOR.max_allocated().saturating_sub(before);
        println!("{what}: {outcome:?}, at most {:.1} MiB", held as f64 / 1048576.0);
        assert_eq!(outcome, expected, "{what} of {documents} documents");
        assert!(held <= LIMIT_BYTES + SLACK_BYTES, "{what} held {held} bytes");
        assert!(after <= before, "{what} left {} bytes", after - before);
    }
}
