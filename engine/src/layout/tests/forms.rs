//! What a layout shows of itself: the stored form, options, statistics, plans; and that forks and cursors see
//! one moment.

use bson::{Bson, DateTime, Document, doc};

use crate::{Database, Trace};

fn run(db: &Database, command: Document) -> Document {
    let raw = bson::RawDocumentBuf::try_from(&command).expect("command");
    Document::try_from(&*db.run_command(&raw)).expect("reply")
}

fn rows(reply: &Document) -> Vec<Document> {
    let batch = reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch")).expect("a cursor");
    batch.iter().filter_map(Bson::as_document).cloned().collect()
}

fn at(minutes: i64) -> DateTime {
    DateTime::from_millis(minutes * 60_000)
}

/// 20 hours of 3 sensors, a reading every five minutes.
fn readings() -> Database {
    let db = Database::new();
    run(&db, doc! {"create": "r", "layout": {"bucket": {"time": "ts", "meta": "s", "hours": 1}}});
    for sensor in 0..3 {
        let documents: Vec<Document> = (0..240)
            .map(|i| doc! {"_id": sensor * 1000 + i, "s": sensor, "ts": at(i64::from(i) * 5), "v": i % 7})
            .collect();
        assert_eq!(run(&db, doc! {"insert": "r", "documents": documents}).get_i32("n").ok(), Some(240));
    }
    db
}

/// Documents examined by a command.
fn examined(db: &Database, command: Document) -> u64 {
    let raw = bson::RawDocumentBuf::try_from(&command).expect("command");
    let mut trace = Trace::new();
    db.run_traced(&raw, &mut trace);
    trace.work.docs_examined
}

#[test]
fn the_stored_form_is_read_and_not_written() {
    let db = readings();
    let stored = rows(&run(&db, doc! {"find": "r.$stored", "filter": {"meta": 1}, "sort": {"start": 1}}));
    assert_eq!(stored.len(), 20);
    assert_eq!(stored[0].get_i32("count").ok(), Some(12));
    let columns = stored[0].get_document("columns").expect("columns");
    assert_eq!(columns.keys().collect::<Vec<_>>(), ["_id", "ts", "v"]);
    // Twelve bytes of values: they fit one byte each, after type and width.
    assert!(matches!(columns.get("v"), Some(Bson::Binary(column)) if column.bytes.len() == 2 + 12));
    run(
        &db,
        doc! {"insert": "r", "documents": [{"_id": 1, "s": 1, "ts": at(7), "w": "x"}, {"s": 1, "ts": at(1), "_id": 2}]},
    );
    let stored = rows(&run(&db, doc! {"find": "r.$stored", "filter": {"meta": 1}, "sort": {"start": 1}}));
    assert_eq!(stored[0].get_array("readings").map(Vec::len).ok(), Some(2));
    run(&db, doc! {"delete": "r", "deletes": [{"q": {"_id": {"$in": [1, 2]}, "s": 1, "v": null}, "limit": 0}]});
    assert_eq!(run(&db, doc! {"count": "r.$stored"}).get_i32("n").ok(), Some(60));
    let grouped = doc! {"aggregate": "r.$stored", "pipeline": [{"$group": {"_id": "$meta"}}], "cursor": {}};
    assert_eq!(rows(&run(&db, grouped)).len(), 3);
    assert_eq!(rows(&run(&db, doc! {"listIndexes": "r.$stored"})).len(), 2);
    assert_eq!(run(&db, doc! {"collStats": "r.$stored"}).get_i32("count").ok(), Some(60));
    for write in [
        doc! {"insert": "r.$stored", "documents": [{}]},
        doc! {"update": "r.$stored", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]},
        doc! {"delete": "r.$stored", "deletes": [{"q": {}, "limit": 0}]},
        doc! {"createIndexes": "r.$stored", "indexes": [{"key": {"x": 1}, "name": "x"}]},
        doc! {"drop": "r.$stored"},
    ] {
        assert_eq!(run(&db, write.clone()).get_i32("code").ok(), Some(20), "{write}");
    }
}

#[test]
fn options_show_the_layout_and_statistics_count_logical_documents() {
    let db = readings();
    let listed = rows(&run(&db, doc! {"listCollections": 1}));
    let options = listed[0].get_document("options").expect("options");
    assert_eq!(options, &doc! {"layout": {"bucket": {"time": "ts", "meta": "s", "hours": 1}}});
    let stats = run(&db, doc! {"collStats": "r"});
    assert_eq!(stats.get_i32("count").ok(), Some(720));
    assert!(stats.get_document("indexSizes").is_ok_and(|sizes| sizes.contains_key("meta_1_start_1")));
    for declared in [doc! {}, doc! {"heap": {}}, doc! {"bucket": {}}, doc! {"bucket": {"time": "a", "heap": 1}}] {
        let reply = run(&db, doc! {"create": "x", "layout": declared.clone()});
        assert_eq!(reply.get_i32("code").ok(), Some(72), "{declared}");
    }
}

#[test]
fn the_latest_reading_is_in_the_last_bucket() {
    let db = readings();
    let latest = doc! {"find": "r", "filter": {"s": 1}, "sort": {"ts": -1}, "limit": 1};
    assert_eq!(rows(&run(&db, latest.clone()))[0].get_i32("_id").ok(), Some(1239));
    assert_eq!(examined(&db, latest), 1);
    let hour = doc! {"find": "r", "filter": {"s": 1, "ts": {"$gte": at(300), "$lt": at(360)}}};
    assert_eq!(rows(&run(&db, hour.clone())).len(), 12);
    assert_eq!(examined(&db, hour.clone()), 1);
    let explained = run(&db, doc! {"explain": hour});
    assert_eq!(explained.get_document("layout").and_then(|layout| layout.get_str("name")).ok(), Some("bucket"));
    let values = doc! {"count": "r", "query": {"v": {"$gt": 100}}};
    assert_eq!(run(&db, values).get_i32("n").ok(), Some(0));
}

#[test]
fn indexes_on_what_a_layout_stores_otherwise_are_refused() {
    let db = readings();
    let create = |key: Document| run(&db, doc! {"createIndexes": "r", "indexes": [{"key": key, "name": "i"}]});
    assert_eq!(create(doc! {"v": 1}).get_i32("code").ok(), Some(67));
    assert_eq!(create(doc! {"ts": 1}).get_f64("ok").ok(), Some(1.0));
    let drop = |index: &str| run(&db, doc! {"dropIndexes": "r", "index": index});
    assert_eq!(drop("meta_1_start_1").get_i32("code").ok(), Some(72));
    assert_eq!(drop("i").get_f64("ok").ok(), Some(1.0));
}

#[test]
fn forks_and_cursors_see_one_moment() {
    let db = readings();
    let first = run(&db, doc! {"find": "r", "batchSize": 10});
    let id = first.get_document("cursor").and_then(|cursor| cursor.get_i64("id")).expect("an open cursor");
    let fork = db.fork();
    run(&db, doc! {"delete": "r", "deletes": [{"q": {}, "limit": 0}]});
    run(&fork, doc! {"insert": "r", "documents": [{"_id": -1, "s": 1, "ts": at(0), "v": 1}]});
    assert_eq!(run(&db, doc! {"count": "r"}).get_i32("n").ok(), Some(0));
    assert_eq!(run(&fork, doc! {"count": "r"}).get_i32("n").ok(), Some(721));
    assert_eq!(run(&fork, doc! {"validate": "r"}).get_bool("valid").ok(), Some(true));
    let rest = run(&db, doc! {"getMore": id, "collection": "r"});
    let rest = rest.get_document("cursor").and_then(|cursor| cursor.get_array("nextBatch")).expect("a batch");
    assert_eq!(rest.len(), 710);
}

#[test]
fn a_product_page_touches_no_child_and_a_push_adds_one() {
    let db = Database::new();
    run(&db, doc! {"create": "p", "layout": {"subset": {"array": "reviews", "sort": {"date": -1}, "top": 10}}});
    let reviews: Vec<Document> = (0..500).map(|i| doc! {"date": 1000 - i, "stars": i % 5}).collect();
    run(&db, doc! {"insert": "p", "documents": [{"_id": 1, "name": "lamp", "reviews": reviews}]});
    let page = doc! {"find": "p", "filter": {"_id": 1}, "projection": {"reviews": {"$slice": 10}}};
    assert_eq!(rows(&run(&db, page.clone()))[0].get_array("reviews").map(Vec::len).ok(), Some(10));
    assert_eq!(examined(&db, page), 1);
    let push = doc! {"$push": {"reviews": {"$each": [{"date": 2000}], "$sort": {"date": -1}}}};
    let update = doc! {"update": "p", "updates": [{"q": {"_id": 1}, "u": push}]};
    assert_eq!(examined(&db, update), 1);
    let later = doc! {"find": "p", "filter": {"_id": 1}, "projection": {"reviews": {"$slice": [60, 10]}}};
    let shown = rows(&run(&db, later.clone()));
    let dates: Vec<i32> = shown[0].get_array("reviews").map_or(vec![], |reviews| {
        reviews.iter().filter_map(|review| review.as_document()?.get_i32("date").ok()).collect()
    });
    assert_eq!(dates, (0..10).map(|i| 941 - i).collect::<Vec<i32>>());
    assert!(examined(&db, later) <= 71);
    let counted = run(&db, doc! {"count": "p.$stored.reviews"});
    assert_eq!(counted.get_i32("n").ok(), Some(501), "{counted}");
    assert_eq!(run(&db, doc! {"validate": "p"}).get_bool("valid").ok(), Some(true));
}

#[test]
fn three_attributes_are_met_before_documents_are_read() {
    let db = Database::new();
    run(&db, doc! {"create": "p", "layout": {"attribute": {"path": "specs", "except": ["name"]}}});
    let documents: Vec<Document> =
        (0..900).map(|i| doc! {"_id": i, "name": "n", "a": i % 9, "b": i % 10, "c": i % 11, "d": i}).collect();
    run(&db, doc! {"insert": "p", "documents": documents});
    let three = doc! {"find": "p", "filter": {"a": 4, "b": 4, "c": 4}};
    assert_eq!(rows(&run(&db, three.clone())).len(), 1);
    assert_eq!(examined(&db, three), 1);
    assert_eq!(examined(&db, doc! {"find": "p", "filter": {"d": {"$gte": 10, "$lt": 20}}}), 10);
    // An entry of an array does not say enough about null, so that documents are looked at.
    assert_eq!(examined(&db, doc! {"count": "p", "query": {"a": 4}}), 100);
}

/// A string of so many bytes.
fn long(megabytes: usize) -> String {
    "x".repeat(megabytes << 20)
}

#[test]
fn buckets_close_by_size_and_grown_readings_find_others() {
    let db = Database::new();
    run(&db, doc! {"create": "r", "layout": {"bucket": {"time": "ts", "meta": "s", "hours": 1}}});
    for id in 0..6 {
        run(
            &db,
            doc! {"insert": "r", "documents": [{"_id": id, "s": 1, "ts": at(i64::from(id)), "v": "x".repeat(400_000)}]},
        );
    }
    let sizes = || -> Vec<usize> {
        let stored = rows(&run(&db, doc! {"find": "r.$stored", "batchSize": 1000}));
        stored.iter().map(|bucket| bucket.to_vec().map_or(0, |bytes| bytes.len())).collect()
    };
    assert_eq!(sizes().len(), 3);
    // All of them grow: the buckets would hold more than a document may.
    let grown = doc! {"update": "r", "updates": [{"q": {}, "u": {"$set": {"v": long(9)}}, "multi": true}]};
    let reply = run(&db, grown);
    assert_eq!((reply.get_i32("n").ok(), reply.get_i32("nModified").ok()), (Some(6), Some(6)), "{reply}");
    assert!(sizes().iter().all(|size| *size <= 10 << 20), "{:?}", sizes());
    // One that is too large is refused, and nothing is lost.
    let too_large = doc! {"update": "r", "updates": [{"q": {"_id": 2}, "u": {"$set": {"w": long(9)}}}]};
    let reply = run(&db, too_large);
    let errors = reply.get_array("writeErrors").expect("errors");
    assert_eq!(errors[0].as_document().and_then(|error| error.get_i32("code").ok()), Some(10334), "{:?}", errors[0]);
    assert_eq!(run(&db, doc! {"count": "r"}).get_i32("n").ok(), Some(6));
    assert_eq!(run(&db, doc! {"validate": "r"}).get_bool("valid").ok(), Some(true));
    let order = rows(&run(&db, doc! {"find": "r", "sort": {"ts": -1}, "projection": {"_id": 1}}));
    assert_eq!(order.iter().filter_map(|row| row.get_i32("_id").ok()).collect::<Vec<_>>(), [5, 4, 3, 2, 1, 0]);
}

#[test]
fn a_parent_beyond_what_a_document_may_hold_is_refused_whole() {
    let db = Database::new();
    run(&db, doc! {"create": "p", "layout": {"subset": {"array": "reviews", "sort": {"date": -1}, "top": 2}}});
    run(&db, doc! {"create": "plain"});
    for name in ["p", "plain"] {
        let reviews: Vec<Document> = (0..3).map(|date| doc! {"date": date, "text": long(4)}).collect();
        run(&db, doc! {"insert": name, "documents": [{"_id": 1, "reviews": reviews}, {"_id": 2}]});
        let update = |change: Document| {
            let reply = run(&db, doc! {"update": name, "updates": [{"q": {"_id": 1}, "u": change}]});
            let errors = reply.get_array("writeErrors").cloned().unwrap_or_default();
            errors.first().and_then(Bson::as_document).and_then(|error| error.get_i32("code").ok())
        };
        let push = |megabytes| doc! {"$push": {"reviews": {"date": 9, "text": long(megabytes)}}};
        assert_eq!(update(push(3)), None, "{name}");
        for change in [push(4), doc! {"$set": {"name": long(2)}}] {
            assert_eq!(update(change), Some(10334), "{name}");
        }
        let found = rows(&run(&db, doc! {"find": name, "filter": {"_id": 1}}));
        assert_eq!(found[0].get_array("reviews").map(Vec::len).ok(), Some(4), "{name}");
        assert!(!found[0].contains_key("name"));
    }
    assert_eq!(run(&db, doc! {"count": "p.$stored.reviews"}).get_i32("n").ok(), Some(4));
    assert_eq!(run(&db, doc! {"validate": "p"}).get_bool("valid").ok(), Some(true));
}

#[test]
fn parents_are_sorted_by_their_newest_child_without_the_others() {
    let db = Database::new();
    run(&db, doc! {"create": "p", "layout": {"subset": {"array": "reviews", "sort": {"date": -1}, "top": 3}}});
    let parents: Vec<Document> = (0..20)
        .map(|id| {
            let reviews: Vec<Document> = (0..30).map(|n| doc! {"date": (id * 7 + n * 11) % 97}).collect();
            doc! {"_id": id, "name": format!("n{id}"), "reviews": reviews}
        })
        .collect();
    run(&db, doc! {"insert": "p", "documents": parents});
    let newest = doc! {"find": "p", "sort": {"reviews.date": -1, "_id": 1}, "projection": {"name": 1}, "limit": 5};
    assert_eq!(rows(&run(&db, newest.clone())).len(), 5);
    assert_eq!(examined(&db, newest), 20);
    // The oldest is not among those that the parents hold.
    let oldest = doc! {"find": "p", "sort": {"reviews.date": 1, "_id": 1}, "projection": {"name": 1}, "limit": 5};
    assert!(examined(&db, oldest) > 20);
    let group = doc! {"aggregate": "p", "pipeline": [{"$group": {"_id": "$name", "n": {"$sum": 1}}}], "cursor": {}};
    assert_eq!(examined(&db, group), 20);
}

#[test]
fn a_reading_is_found_by_its_id_without_making_others() {
    let db = readings();
    for filter in [doc! {"_id": 1100}, doc! {"_id": {"$in": [1100, 9999]}}, doc! {"_id": 1100, "v": {"$gte": 0}}] {
        let found = rows(&run(&db, doc! {"find": "r", "filter": filter.clone()}));
        assert_eq!(found, [doc! {"_id": 1100, "s": 1, "ts": at(500), "v": 100 % 7}]);
        assert_eq!(run(&db, doc! {"count": "r", "query": filter}).get_i32("n").ok(), Some(1));
    }
    let by_hour = doc! {"$group": {"_id": {"$dateTrunc": {"date": "$ts", "unit": "hour"}}, "most": {"$max": "$v"}}};
    let groups = rows(&run(&db, doc! {"aggregate": "r", "pipeline": [by_hour, {"$sort": {"_id": 1}}], "cursor": {}}));
    assert_eq!(groups.len(), 20);
    assert_eq!(groups[3], doc! {"_id": at(180), "most": 6});
}
