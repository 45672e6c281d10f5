//! Time-series collections beside what the conformance corpus asks of them.

use bson::{DateTime, Document, doc};

use crate::{Clock, Database, Options};

fn run(db: &Database, command: Document) -> Document {
    let raw = bson::RawDocumentBuf::try_from(&command).expect("command");
    Document::try_from(&*db.run_command(&raw)).expect("reply")
}

fn rows(db: &Database, command: Document) -> Vec<Document> {
    let reply = run(db, command);
    let cursor = reply.get_document("cursor").unwrap_or_else(|_| panic!("{reply}"));
    let batch = cursor.get_array("firstBatch").expect("a batch");
    batch.iter().map(|row| row.as_document().expect("a document").clone()).collect()
}

/// A collection of 60 measurements, one every half hour, of three sensors.
fn database(clock: &Clock, extra: Document) -> Database {
    let db = Database::with_options(Options { clock: clock.clone(), ..Options::default() });
    let mut create = doc! {"create": "c", "timeseries": {"timeField": "t", "metaField": "m"}};
    create.extend(extra);
    assert_eq!(run(&db, create).get_f64("ok").ok(), Some(1.0));
    let measurements: Vec<Document> = (0..60)
        .map(|i| doc! {"_id": i, "t": DateTime::from_millis(i64::from(i) * 1_800_000), "m": {"s": i % 3}, "v": i * i})
        .collect();
    assert_eq!(run(&db, doc! {"insert": "c", "documents": measurements}).get_i32("n").ok(), Some(60));
    db
}

#[test]
fn a_coarser_granularity_changes_buckets_but_no_answer() {
    let db = database(&Clock::fixed(0), doc! {});
    run(
        &db,
        doc! {"createIndexes": "c", "indexes": [{"key": {"m.s": 1, "t": -1}, "name": "mt"}, {"key": {"v": 1}, "name": "v"}]},
    );
    let half = DateTime::from_millis(30 * 1_800_000);
    let questions = [
        doc! {"find": "c", "sort": {"_id": 1}},
        doc! {"find": "c", "filter": {"t": {"$gt": half}}, "sort": {"t": -1}},
        doc! {"find": "c", "filter": {"m.s": 1, "t": {"$lte": half}}, "sort": {"t": 1}, "limit": 4},
        doc! {"find": "c", "filter": {"v": {"$gte": 100, "$lt": 900}}, "sort": {"v": 1}, "hint": "v"},
        doc! {"listIndexes": "c"},
    ];
    let ask = |db: &Database| questions.iter().map(|question| rows(db, question.clone())).collect::<Vec<_>>();
    let before = ask(&db);
    let count = |db: &Database| run(db, doc! {"count": "system.buckets.c"}).get_i32("n").ok();
    assert_eq!(count(&db), Some(60));
    for (granularity, buckets) in [("minutes", 6), ("hours", 3)] {
        let fork = db.fork();
        let reply = run(&db, doc! {"collMod": "c", "timeseries": {"granularity": granularity}});
        assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
        assert_eq!(ask(&db), before);
        assert_eq!(ask(&fork), before);
        assert_eq!(count(&db), Some(buckets));
    }
    let reply = run(&db, doc! {"collMod": "c", "timeseries": {"granularity": "seconds"}});
    assert_eq!(reply.get_i32("code").ok(), Some(72));
    run(&db, doc! {"insert": "c", "documents": [{"_id": 60, "t": half, "m": {"s": 1}}]});
    assert_eq!(count(&db), Some(3));
}

#[test]
fn buckets_expire_when_all_of_their_span_has() {
    let clock = Clock::fixed(0);
    let db = database(&clock, doc! {"expireAfterSeconds": 7_200});
    clock.set(3 * 3_600_000 - 1);
    assert_eq!(db.expire(), Ok(0));
    clock.set(3 * 3_600_000);
    assert_eq!(db.expire(), Ok(2));
    assert_eq!(run(&db, doc! {"count": "c"}).get_i32("n").ok(), Some(58));
    run(&db, doc! {"collMod": "c", "expireAfterSeconds": "off"});
    clock.set(i64::from(i32::MAX) * 1000);
    assert_eq!(db.expire(), Ok(0));
}

#[test]
fn buckets_are_read_as_a_collection_and_not_written() {
    let db = database(&Clock::fixed(0), doc! {});
    let first = rows(&db, doc! {"find": "system.buckets.c", "limit": 1, "filter": {"meta.s": 1}}).remove(0);
    let control = first.get_document("control").expect("control");
    assert_eq!(control.get_document("max").expect("max").get_i32("v").ok(), Some(1));
    let same =
        rows(&db, doc! {"find": "system.buckets.c", "filter": {"_id": first.get_object_id("_id").expect("an id")}});
    assert_eq!(same, vec![first]);
    for write in [
        doc! {"insert": "system.buckets.c", "documents": [{"_id": 1}]},
        doc! {"delete": "system.buckets.c", "deletes": [{"q": {}, "limit": 0}]},
        doc! {"createIndexes": "system.buckets.c", "indexes": [{"key": {"a": 1}, "name": "a"}]},
    ] {
        assert_eq!(run(&db, write).get_i32("code").ok(), Some(20));
    }
    assert_eq!(run(&db, doc! {"create": "system.buckets.c"}).get_i32("code").ok(), Some(48));
    assert_eq!(run(&db, doc! {"drop": "system.buckets.c"}).get_f64("ok").ok(), Some(1.0));
    assert_eq!(run(&db, doc! {"drop": "c"}).get_i32("code").ok(), Some(26));
    assert_eq!(rows(&db, doc! {"find": "system.views"}), Vec::<Document>::new());
}

#[test]
fn full_buckets_are_followed_by_others_of_the_same_span() {
    let db = Database::new();
    run(&db, doc! {"create": "c", "timeseries": {"timeField": "t", "metaField": "m"}});
    let measurements: Vec<Document> =
        (0..2_500).map(|i| doc! {"t": DateTime::from_millis(i), "m": 1, "v": i}).collect();
    run(&db, doc! {"insert": "c", "documents": measurements});
    assert_eq!(run(&db, doc! {"count": "system.buckets.c"}).get_i32("n").ok(), Some(3));
    let last = rows(&db, doc! {"find": "c", "sort": {"t": -1}, "limit": 2, "projection": {"v": 1, "_id": 0}});
    assert_eq!(last, vec![doc! {"v": 2_499_i64}, doc! {"v": 2_498_i64}]);
}
