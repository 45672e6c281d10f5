//! `explain` beyond the plans of the corpus: pipelines with what each stage gave, what writes would do, the plans that
//! were not taken. The figures are MongoDB's on the same documents.

use bindery::{Database, Options, Planner};
use bson::{Bson, Document, doc};

fn run(db: &Database, command: Document) -> Document {
    let command = bson::serialize_to_raw_document_buf(&command).expect("a document");
    bson::deserialize_from_slice(db.run_command(&command).as_bytes()).expect("a reply")
}

/// Fifty documents, seven of each `a`, under {a} and {a, b}.
fn database() -> Database {
    let db = Database::with_options(Options { planner: Planner::MongoDb, ..Options::default() });
    let document = |i: i32| doc! {"_id": i, "a": i % 7, "b": i % 3, "t": (0..i % 4).collect::<Vec<i32>>()};
    run(&db, doc! {"insert": "c", "documents": (0..50).map(document).collect::<Vec<_>>()});
    for key in [doc! {"a": 1}, doc! {"a": 1, "b": 1}] {
        let name = if key.len() == 1 { "a_1" } else { "a_1_b_1" };
        run(&db, doc! {"createIndexes": "c", "indexes": [{"key": key, "name": name}]});
    }
    db
}

fn explain(db: &Database, command: Document, verbosity: &str) -> Document {
    let reply = run(db, doc! {"explain": command, "verbosity": verbosity});
    assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
    reply
}

fn stats(db: &Database, command: Document) -> Document {
    explain(db, command, "executionStats").get_document("executionStats").expect("it ran").clone()
}

/// The value at a dotted path, array positions included; null where there is nothing.
fn at(document: &Document, path: &str) -> Bson {
    path.split('.').fold(Bson::from(document.clone()), |value, part| match (&value, part.parse::<usize>()) {
        (Bson::Array(items), Ok(n)) => items.get(n).cloned().unwrap_or(Bson::Null),
        (Bson::Document(fields), _) => fields.get(part).cloned().unwrap_or(Bson::Null),
        _ => Bson::Null,
    })
}

/// The number at a path; -1 where there is none.
fn int(document: &Document, path: &str) -> i64 {
    match at(document, path) {
        Bson::Int32(n) => i64::from(n),
        Bson::Int64(n) => n,
        _ => -1,
    }
}

fn text(document: &Document, path: &str) -> String {
    at(document, path).as_str().unwrap_or_default().to_owned()
}

fn pipeline(stages: Vec<Document>) -> Document {
    doc! {"aggregate": "c", "pipeline": stages, "cursor": {}}
}

/// The name of each stage, and how many documents it gave.
fn counts(reply: &Document) -> Vec<(String, i64)> {
    let stages = reply.get_array("stages").unwrap_or_else(|e| panic!("{e}: {reply}"));
    let stages = stages.iter().filter_map(Bson::as_document);
    let name = |stage: &Document| stage.keys().next().cloned().unwrap_or_default();
    stages.map(|stage| (name(stage), stage.get_i64("nReturned").unwrap_or(-1))).collect()
}

fn named(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

#[test]
fn every_stage_of_a_pipeline_says_how_many_documents_it_gave() {
    let db = database();
    let stages = vec![
        doc! {"$match": {"a": 1}},
        doc! {"$unwind": "$t"},
        doc! {"$match": {"t": 1}},
        doc! {"$set": {"x": 1}},
        doc! {"$count": "n"},
    ];
    let reply = explain(&db, pipeline(stages.clone()), "executionStats");
    let expected = [("$cursor", 7), ("$unwind", 10), ("$match", 3), ("$set", 3), ("$group", 1), ("$project", 1)];
    assert_eq!(counts(&reply), named(&expected));
    let examined = |what: &str| int(&reply, &format!("stages.0.$cursor.executionStats.{what}"));
    assert_eq!((examined("totalKeysExamined"), examined("totalDocsExamined")), (7, 7));

    // What is only planned has no figures.
    let planned = explain(&db, pipeline(stages.clone()), "queryPlanner");
    assert!(counts(&planned).iter().all(|(_, n)| *n == -1), "{planned}");
    let mut command = pipeline(stages);
    command.insert("explain", true);
    assert_eq!(counts(&run(&db, command)), counts(&planned));
}

#[test]
fn a_pipeline_that_is_one_plan_is_explained_as_a_find() {
    let db = database();
    let stages = vec![doc! {"$match": {"a": 1}}, doc! {"$sort": {"b": 1}}, doc! {"$limit": 2}];
    let reply = explain(&db, pipeline(stages), "executionStats");
    assert_eq!(at(&reply, "queryPlanner.optimizedPipeline"), Bson::from(true));
    assert_eq!(text(&reply, "queryPlanner.winningPlan.stage"), "LIMIT");
    assert_eq!(int(&reply, "executionStats.nReturned"), 2);
}

#[test]
fn pipelines_read_keys_where_they_hold_all_that_is_asked() {
    let db = database();
    let examined = |stages: Vec<Document>| {
        let reply = explain(&db, pipeline(stages), "executionStats");
        let figure = |what: &str| int(&reply, &format!("stages.0.$cursor.executionStats.{what}"));
        (figure("totalKeysExamined"), figure("totalDocsExamined"))
    };
    assert_eq!(examined(vec![doc! {"$group": {"_id": "$a"}}]), (7, 0));
    assert_eq!(examined(vec![doc! {"$match": {"a": 1}}, doc! {"$group": {"_id": "$b", "n": {"$sum": 1}}}]), (7, 0));
    // Counted off the tree.
    assert_eq!(examined(vec![doc! {"$match": {"a": 1}}, doc! {"$count": "n"}]), (0, 0));
}

#[test]
fn lookups_say_what_they_examined() {
    let db = database();
    run(&db, doc! {"insert": "d", "documents": (0..5).map(|i| doc! {"_id": i, "a": i}).collect::<Vec<_>>()});
    let lookup = doc! {"$lookup": {"from": "d", "localField": "a", "foreignField": "_id", "as": "x"}};
    let reply = explain(&db, pipeline(vec![lookup]), "executionStats");
    let examined = (int(&reply, "stages.1.totalKeysExamined"), int(&reply, "stages.1.totalDocsExamined"));
    assert_eq!(examined, (36, 36), "{reply}");
}

#[test]
fn writes_say_what_they_would_do_and_do_nothing() {
    let db = database();
    let before = run(&db, doc! {"find": "c", "batchSize": 100});
    let ran = |command: Document| stats(&db, command);
    let update = |q: Document, u: Document, rest: Document| {
        let mut statement = doc! {"q": q, "u": u};
        statement.extend(rest);
        ran(doc! {"update": "c", "updates": [statement]})
    };
    // As on the server, documents count as modified that are as they would be already.
    let shown = update(doc! {"a": 1}, doc! {"$set": {"b": 0}}, doc! {"multi": true});
    let figure = |name: &str| int(&shown, &format!("executionStages.{name}"));
    assert_eq!((figure("nReturned"), figure("nMatched"), figure("nWouldModify")), (0, 7, 7), "{shown}");
    let shown = update(doc! {"a": 99}, doc! {"$set": {"b": 0}}, doc! {"upsert": true});
    let figure = |name: &str| int(&shown, &format!("executionStages.{name}"));
    assert_eq!((figure("nMatched"), figure("nWouldUpsert")), (0, 1), "{shown}");
    let shown = ran(doc! {"delete": "c", "deletes": [{"q": {"a": 1}, "limit": 0}]});
    assert_eq!(int(&shown, "executionStages.nWouldDelete"), 7, "{shown}");
    let shown = ran(doc! {"findAndModify": "c", "query": {"a": 1}, "sort": {"b": -1}, "update": {"$set": {"x": 1}},
    "fields": {"x": 1}});
    assert_eq!(int(&shown, "nReturned"), 1, "{shown}");
    let names = ["stage", "inputStage.stage", "inputStage.inputStage.stage"];
    let names = names.map(|name| text(&shown, &format!("executionStages.{name}")));
    assert_eq!(names, ["PROJECTION_DEFAULT", "UPDATE", "LIMIT"], "{shown}");
    assert_eq!(run(&db, doc! {"find": "c", "batchSize": 100}), before);

    let two = doc! {"update": "c", "updates": [{"q": {}, "u": {"$set": {"b": 0}}}, {"q": {}, "u": {"$set": {"b": 0}}}]};
    for (command, code) in [(two, 16), (doc! {"insert": "c", "documents": [{}]}, 20), (doc! {"nonsense": 1}, 59)] {
        assert_eq!(int(&run(&db, doc! {"explain": command}), "code"), code);
    }
}

#[test]
fn plans_that_were_not_taken_are_shown_with_their_trial() {
    let db = database();
    let find = doc! {"find": "c", "filter": {"a": 1, "b": 1}};
    let reply = explain(&db, find.clone(), "allPlansExecution");
    assert!(at(&reply, "queryPlanner.rejectedPlans.0").as_document().is_some(), "{reply}");
    let trial = |n: usize, what: &str| at(&reply, &format!("executionStats.allPlansExecution.{n}.{what}"));
    assert_eq!((trial(0, "nReturned"), trial(0, "totalKeysExamined")), (Bson::Int32(3), Bson::Int32(3)), "{reply}");
    // The other one was stopped when the first came to its end.
    let keys = int(&reply, "executionStats.allPlansExecution.1.totalKeysExamined");
    assert!((1..7).contains(&keys), "{reply}");
    assert!(trial(0, "score").as_f64() > trial(1, "score").as_f64(), "{reply}");
    assert_eq!(at(&stats(&db, find), "allPlansExecution"), Bson::Null);
}

#[test]
fn views_are_explained_as_their_pipelines() {
    let db = database();
    run(&db, doc! {"create": "v", "viewOn": "c", "pipeline": [{"$match": {"a": 1}}]});
    let found = stats(&db, doc! {"find": "v", "filter": {"b": 1}});
    assert_eq!((int(&found, "nReturned"), int(&found, "totalKeysExamined")), (3, 3), "{found}");
    let counted = explain(&db, doc! {"count": "v", "query": {"b": 1}}, "executionStats");
    assert_eq!(counts(&counted), named(&[("$cursor", 3), ("$group", 1), ("$project", 1)]));
}

#[test]
fn distinct_and_count_say_what_they_looked_at() {
    let db = database();
    let examined = |command: Document| {
        let ran = stats(&db, command);
        (int(&ran, "totalKeysExamined"), int(&ran, "totalDocsExamined"))
    };
    assert_eq!(examined(doc! {"distinct": "c", "key": "a"}), (7, 0));
    assert_eq!(examined(doc! {"distinct": "c", "key": "t", "query": {"a": 1}}), (7, 7));
    let counted = stats(&db, doc! {"count": "c", "query": {"a": 1, "b": 1}, "skip": 1, "limit": 5});
    let figures = (int(&counted, "executionStages.nCounted"), int(&counted, "executionStages.nSkipped"));
    assert_eq!(figures, (2, 1), "{counted}");
}
