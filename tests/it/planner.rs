//! Whose planner plans: the database's option, and the field that outweighs it for one command.

use bindery::{Database, Options, Planner};
use bson::{Bson, Document, doc};

fn run(db: &Database, command: Document) -> Document {
    let command = bson::serialize_to_raw_document_buf(&command).expect("a document");
    bson::deserialize_from_slice(db.run_command(&command).as_bytes()).expect("a reply")
}

/// A collection in which two indexes each find a few hundred documents, and both together one.
fn database(planner: Planner) -> Database {
    let db = Database::with_options(Options { planner, ..Options::default() });
    let documents: Vec<Bson> = (0..10_000).map(|n| doc! {"_id": n, "a": n % 97, "b": n % 89}.into()).collect();
    assert_eq!(run(&db, doc! {"insert": "c", "documents": documents}).get_i32("n").ok(), Some(10_000));
    let indexes = ["a", "b"].map(|field| doc! {"key": {field: 1}, "name": field});
    assert_eq!(run(&db, doc! {"createIndexes": "c", "indexes": indexes.to_vec()}).get_f64("ok").ok(), Some(1.0));
    db
}

fn find() -> Document {
    doc! {"find": "c", "filter": {"a": 5, "b": 7}}
}

fn with_planner(mut command: Document, planner: impl Into<Bson>) -> Document {
    command.insert("planner", planner);
    command
}

fn examined(db: &Database, command: Document) -> i64 {
    let reply = run(db, command);
    let stats = reply.get_document("executionStats").unwrap_or_else(|e| panic!("{e}: {reply}"));
    match stats.get("totalDocsExamined") {
        Some(Bson::Int32(n)) => i64::from(*n),
        Some(Bson::Int64(n)) => *n,
        _ => panic!("{reply}"),
    }
}

#[test]
fn a_command_may_name_its_planner() {
    let (ours, theirs) = (database(Planner::Bindery), database(Planner::MongoDb));
    let explain = || doc! {"explain": find()};
    // Sets are intersected; MongoDB would fetch what one index finds.
    let few = examined(&ours, explain());
    let many = examined(&theirs, explain());
    assert!(few < 10 && many > 90, "{few} and {many}");
    for db in [&ours, &theirs] {
        assert_eq!(examined(db, with_planner(explain(), "bindery")), few);
        assert_eq!(examined(db, with_planner(explain(), "mongodb")), many);
        assert_eq!(examined(db, doc! {"explain": with_planner(find(), "mongodb")}), many);
    }
}

#[test]
fn every_planner_answers_alike() {
    let db = database(Planner::Bindery);
    let commands = [
        find(),
        doc! {"count": "c", "query": {"a": 5, "b": 7}},
        doc! {"distinct": "c", "key": "_id", "query": {"a": 5, "b": 7}},
        doc! {"aggregate": "c", "pipeline": [{"$match": {"a": 5, "b": 7}}], "cursor": {}},
    ];
    for command in commands {
        let plain = run(&db, command.clone());
        assert_eq!(run(&db, with_planner(command, "mongodb")), plain);
    }
    let update =
        doc! {"update": "c", "updates": [{"q": {"a": 5, "b": 7}, "u": {"$set": {"seen": true}}, "multi": true}]};
    assert_eq!(run(&db, with_planner(update, "mongodb")).get_i32("nModified").ok(), Some(1));
}

#[test]
fn a_cursor_keeps_its_planner_and_its_database() {
    let db = database(Planner::Bindery);
    let command = doc! {"find": "c", "filter": {"a": 5}, "batchSize": 2};
    let reply = run(&db, with_planner(command, "mongodb"));
    let id = reply.get_document("cursor").and_then(|cursor| cursor.get_i64("id")).expect("a cursor");
    let more = run(&db, doc! {"getMore": id, "collection": "c"});
    let rest = more.get_document("cursor").and_then(|cursor| cursor.get_array("nextBatch")).expect("a batch");
    assert_eq!(rest.len(), 10_000 / 97 + 1 - 2);
}

#[test]
fn what_names_no_planner_is_refused() {
    let db = database(Planner::Bindery);
    assert_eq!(run(&db, with_planner(find(), "oracle")).get_i32("code").ok(), Some(2));
    assert_eq!(run(&db, with_planner(find(), 1)).get_i32("code").ok(), Some(14));
}
