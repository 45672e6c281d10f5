//! What pipelines leave to the trees: counts, the ends of groups, joins. Counted in keys and documents looked at, and
//! held against the same pipelines without an index.

use bindery::{Database, Trace};
use bson::{Bson, Document, doc};

const DOCUMENTS: i32 = 5_000;
const SENSORS: i32 = 25;

fn run(db: &Database, command: Document) -> (Document, Trace) {
    let command = bson::serialize_to_raw_document_buf(&command).expect("a document");
    let mut trace = Trace::new();
    let reply = db.run_traced(&command, &mut trace);
    (bson::deserialize_from_slice(reply.as_bytes()).expect("a reply"), trace)
}

fn ok(db: &Database, command: Document) {
    let (reply, _) = run(db, command);
    assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
}

/// Readings of sensors, some without one, with ties in time; indexed or not.
fn database(indexed: bool) -> Database {
    let db = Database::new();
    let readings: Vec<Bson> = (0..DOCUMENTS)
        .map(|n| {
            let sensor: Bson = match n % (SENSORS + 2) {
                0 => Bson::Null,
                s if s <= SENSORS => s.into(),
                _ => return doc! {"_id": n, "t": n * 31 % 97, "v": n}.into(),
            };
            doc! {"_id": n, "s": sensor, "t": n * 31 % 997, "v": n}.into()
        })
        .collect();
    ok(&db, doc! {"insert": "c", "documents": readings});
    ok(&db, doc! {"insert": "sensors", "documents": (0..SENSORS).map(|n| doc! {"_id": n, "k": n}).collect::<Vec<_>>()});
    if indexed {
        let index = doc! {"key": {"s": 1, "t": -1, "_id": 1}, "name": "s_t"};
        ok(&db, doc! {"createIndexes": "c", "indexes": [index]});
        ok(&db, doc! {"createIndexes": "sensors", "indexes": [doc! {"key": {"k": 1}, "name": "k"}]});
    }
    db
}

/// A pipeline's documents by their ids, and what was looked at.
fn aggregate(db: &Database, stages: &[Document]) -> (Vec<Document>, Trace) {
    aggregate_as(db, stages, "bindery")
}

fn aggregate_as(db: &Database, stages: &[Document], planner: &str) -> (Vec<Document>, Trace) {
    let cursor = doc! {"batchSize": 100_000};
    let command = doc! {"aggregate": "c", "pipeline": stages.to_vec(), "cursor": cursor, "planner": planner};
    let (reply, trace) = run(db, command);
    let batch = reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
    let batch = batch.unwrap_or_else(|e| panic!("{e}: {reply}"));
    let mut documents: Vec<Document> = batch.iter().filter_map(Bson::as_document).cloned().collect();
    documents.sort_by_key(|document| document.get("_id").map(ToString::to_string));
    (documents, trace)
}

#[test]
fn counts_are_read_off_the_trees() {
    let db = database(true);
    let n = |stages: &[Document]| {
        let (documents, trace) = aggregate(&db, stages);
        let n = documents.first().map_or(0, |document| document.get_i32("n").expect("a number"));
        (n, trace.work.docs_examined)
    };
    let count = || doc! {"$count": "n"};
    assert_eq!(n(&[count()]), (DOCUMENTS, 0));
    assert_eq!(n(&[doc! {"$skip": 10}, doc! {"$limit": 7}, count()]), (7, 0));
    assert_eq!(n(&[doc! {"$sort": {"v": 1}}, count()]), (DOCUMENTS, 0));
    let (within, examined) = n(&[doc! {"$match": {"s": {"$gt": 3, "$lt": 9}}}, count()]);
    assert_eq!(examined, 0);
    assert_eq!(within, n(&[doc! {"$match": {"s": {"$in": [4, 5, 6, 7, 8]}}}, count()]).0);
    assert_eq!(n(&[doc! {"$match": {"s": "none"}}, count()]).0, 0);
    assert!(aggregate(&db, &[doc! {"$match": {"s": "none"}}, count()]).0.is_empty());
}

#[test]
fn the_ends_of_groups_are_found_by_skipping() {
    let (indexed, plain) = (database(true), database(false));
    let order = || doc! {"$sort": {"s": 1, "t": -1, "_id": 1}};
    let against = || doc! {"$sort": {"s": -1, "t": 1, "_id": -1}};
    let group = |operator: &str| doc! {"$group": {"_id": "$s", "v": {operator: "$v"}, "t": {operator: "$t"}}};
    let bare = || doc! {"$group": {"_id": "$s"}};
    let groups = SENSORS as u64 + 1;
    let cases = [
        (vec![order(), group("$first")], groups),
        (vec![order(), group("$last")], groups),
        (vec![against(), group("$first")], groups),
        (vec![against(), group("$last")], groups),
        (vec![bare()], groups),
        (vec![order(), bare()], groups),
        (vec![doc! {"$group": {"_id": {"k": "$s"}}}], groups),
        (vec![order(), doc! {"$group": {"_id": {"k": "$s"}, "v": {"$first": "$v"}}}], groups),
        (vec![doc! {"$match": {"s": {"$gte": 10, "$lt": 15}}}, order(), group("$first")], 5),
        (vec![order(), group("$max")], DOCUMENTS as u64),
        (vec![doc! {"$match": {"v": {"$gt": 100}}}, order(), group("$last")], DOCUMENTS as u64),
        (vec![order(), doc! {"$limit": 100}, group("$last")], 100),
    ];
    for (stages, most) in cases {
        let (found, trace) = aggregate(&indexed, &stages);
        assert_eq!(found, aggregate(&plain, &stages).0, "{stages:?}");
        assert!(trace.work.docs_examined <= most, "{stages:?} looked at {}", trace.work.docs_examined);
    }
}

#[test]
fn windows_are_read_by_an_index_where_the_server_reads_them_so() {
    let (indexed, plain) = (database(true), database(false));
    let sums = doc! {"sum": {"$sum": "$v", "window": {"documents": ["unbounded", "current"]}}};
    let cases = [
        (doc! {"partitionBy": "$s", "sortBy": {"t": -1, "_id": 1}, "output": &sums}, true),
        (doc! {"sortBy": {"s": -1, "t": 1, "_id": -1}, "output": &sums}, true),
        (doc! {"partitionBy": "$s", "sortBy": {"_id": 1}, "output": &sums}, false),
        (doc! {"partitionBy": {"$ifNull": ["$s", 0]}, "sortBy": {"_id": 1}, "output": &sums}, false),
    ];
    for (windows, is_by_index) in cases {
        let stages = [doc! {"$match": {"v": {"$gte": 0}}}, doc! {"$setWindowFields": windows}];
        let expected = aggregate(&plain, &stages).0;
        assert_eq!(aggregate(&indexed, &stages).0, expected, "{stages:?}");
        let (found, trace) = aggregate_as(&indexed, &stages, "mongodb");
        assert_eq!(found, expected, "{stages:?}");
        let keys = if is_by_index { DOCUMENTS as u64 } else { 0 };
        assert_eq!((trace.work.keys_examined, trace.work.docs_examined), (keys, DOCUMENTS as u64), "{stages:?}");
    }
}

#[test]
fn joins_look_at_what_they_find() {
    let (indexed, plain) = (database(true), database(false));
    for foreign in ["_id", "k"] {
        let join = doc! {"$lookup": {"from": "sensors", "localField": "s", "foreignField": foreign, "as": "sensor"}};
        let stages = [doc! {"$match": {"s": {"$gt": 0}}}, join];
        let (found, trace) = aggregate(&indexed, &stages);
        assert_eq!(found, aggregate(&plain, &stages).0, "{foreign}");
        let joined = found.iter().filter(|d| d.get_array("sensor").is_ok_and(|found| !found.is_empty())).count();
        assert_eq!(trace.work.docs_examined, (found.len() + joined) as u64, "{foreign}");
    }
}
