//! Pipelines over a few documents, with the answers of a real server.

use std::sync::Arc;

use bindery_document::{DocBuf, OwnedValue, Result, Value};
use bson::{Bson, Document, doc};

use super::{Documents, Environment, Foreign, Pipeline, Stream};
use crate::collation::Collation;
use crate::filter::{Filter, ParseContext};

/// One other collection, whatever it is called.
struct Other(Vec<DocBuf>);

impl Foreign for Other {
    fn find(
        &self,
        _: &str,
        filter: Option<&Filter>,
        _: Option<&Collation>,
        parameters: &Arc<[Option<OwnedValue>]>,
    ) -> Result<Box<dyn Stream>> {
        let mut found = Vec::new();
        for document in &self.0 {
            if filter.map_or(Ok(true), |filter| filter.matches_with(document.doc(), parameters))? {
                found.push(document.clone());
            }
        }
        Ok(Box::new(Documents::new(found)))
    }
}

fn buffers(documents: Vec<Document>) -> Vec<DocBuf> {
    documents.iter().map(|document| DocBuf::from_bson(document).expect("document")).collect()
}

fn run_beside(input: Vec<Document>, other: Vec<Document>, stages: Vec<Document>) -> Result<Vec<Document>> {
    let stages = DocBuf::from_bson(&doc! {"p": stages}).expect("stages");
    let Some(Value::Array(stages)) = stages.doc().get("p") else {
        panic!("no array");
    };
    let pipeline = Pipeline::parse(stages, &mut ParseContext::new())?;
    let env = Environment::new(Arc::new(Other(buffers(other))));
    let mut stream = pipeline.open(Box::new(Documents::new(buffers(input))), &env)?;
    let mut results = Vec::new();
    while stream.advance()? {
        let document = stream.current();
        bindery_document::validate::validate(document.as_bytes()).expect("well-formed result");
        results.push(Document::from_reader(document.as_bytes()).expect("document"));
    }
    Ok(results)
}

fn run(input: Vec<Document>, stages: Vec<Document>) -> Vec<Document> {
    run_beside(input, Vec::new(), stages).expect("results")
}

fn error_code(stages: Vec<Document>) -> i32 {
    run_beside(vec![doc! {"_id": 1, "a": "x"}], Vec::new(), stages).expect_err("an error").code
}

#[test]
fn groups_hold_equal_values_of_all_number_types() {
    let input = vec![doc! {"a": 1, "b": 2}, doc! {"a": 1.0, "b": 3_i64}, doc! {"a": "1", "b": 0.5}, doc! {}];
    let results = run(input, vec![doc! {"$group": {"_id": "$a", "n": {"$sum": 1}, "b": {"$sum": "$b"}}}]);
    let expected = [
        doc! {"_id": 1, "n": 2, "b": 5_i64},
        doc! {"_id": "1", "n": 1, "b": 0.5},
        doc! {"_id": Bson::Null, "n": 1, "b": 0},
    ];
    assert_eq!(results, expected);
}

#[test]
fn keys_of_several_fields_tell_missing_from_null() {
    let input = vec![doc! {"a": Bson::Null}, doc! {}];
    let one = run(input.clone(), vec![doc! {"$group": {"_id": {"a": "$a"}}}]);
    assert_eq!(one, [doc! {"_id": {"a": Bson::Null}}]);
    let two = run(input, vec![doc! {"$group": {"_id": {"a": "$a", "b": {"$literal": 1}}}}]);
    assert_eq!(two, [doc! {"_id": {"a": Bson::Null, "b": 1}}, doc! {"_id": {"b": 1}}]);
}

#[test]
fn unwinding_keeps_empty_arrays_when_asked() {
    let input = vec![doc! {"_id": 1, "a": [7, 8]}, doc! {"_id": 2, "a": []}, doc! {"_id": 3, "a": 5}, doc! {"_id": 4}];
    let stage = doc! {"$unwind": {"path": "$a", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i"}};
    let expected = [
        doc! {"_id": 1, "a": 7, "i": 0_i64},
        doc! {"_id": 1, "a": 8, "i": 1_i64},
        doc! {"_id": 2, "i": Bson::Null},
        doc! {"_id": 3, "a": 5, "i": Bson::Null},
        doc! {"_id": 4, "i": Bson::Null},
    ];
    assert_eq!(run(input.clone(), vec![stage]), expected);
    assert_eq!(run(input, vec![doc! {"$unwind": "$a"}]).len(), 3);
}

#[test]
fn an_empty_local_array_joins_like_null() {
    let other = vec![doc! {"_id": 1, "b": Bson::Null}, doc! {"_id": 2}, doc! {"_id": 3, "b": 5}];
    let stage = doc! {"$lookup": {"from": "o", "localField": "a", "foreignField": "b", "as": "r"}};
    let count = |local: Document| {
        let results = run_beside(vec![local], other.clone(), vec![stage.clone()]).expect("results");
        results[0].get_array("r").expect("array").len()
    };
    assert_eq!(count(doc! {"a": []}), 2);
    assert_eq!(count(doc! {}), 2);
    assert_eq!(count(doc! {"a": [5, Bson::Null]}), 3);
    assert_eq!(count(doc! {"a": 6}), 0);
}

#[test]
fn a_pipeline_of_a_lookup_sees_its_variables() {
    let other = vec![doc! {"_id": 1, "b": 3}, doc! {"_id": 2, "b": 9}];
    let stage = doc! {"$lookup": {"from": "o", "let": {"v": "$a"}, "as": "r", "pipeline": [
        {"$match": {"$expr": {"$gt": ["$b", "$$v"]}}}, {"$project": {"_id": 0, "sum": {"$add": ["$b", "$$v"]}}},
    ]}};
    let results = run_beside(vec![doc! {"a": 5}], other, vec![stage]).expect("results");
    assert_eq!(results, [doc! {"a": 5, "r": [{"sum": 14}]}]);
}

#[test]
fn windows_slide_and_grow() {
    let input: Vec<Document> = [1, 2, 4, 8].iter().map(|v| doc! {"_id": *v, "v": *v}).collect();
    let sums = |bounds: Bson| {
        let stage = doc! {"$setWindowFields": {"sortBy": {"_id": 1}, "output": {
            "s": {"$sum": "$v", "window": {"documents": bounds}},
        }}};
        run(input.clone(), vec![stage]).iter().map(|d| d.get_i32("s").expect("int")).collect::<Vec<_>>()
    };
    assert_eq!(sums(bson::bson!(["unbounded", "current"])), [1, 3, 7, 15]);
    assert_eq!(sums(bson::bson!([-1, 1])), [3, 7, 14, 12]);
    assert_eq!(sums(bson::bson!(["current", "unbounded"])), [15, 14, 12, 8]);
    assert_eq!(sums(bson::bson!([2, 3])), [12, 8, 0, 0]);
}

#[test]
fn densified_values_stay_on_the_grid() {
    let input = vec![doc! {"x": 1}, doc! {"x": 2.5}, doc! {"x": 4}];
    let stage = doc! {"$densify": {"field": "x", "range": {"step": 1, "bounds": "full"}}};
    assert_eq!(run(input, vec![stage]), [doc! {"x": 1}, doc! {"x": 2}, doc! {"x": 2.5}, doc! {"x": 3}, doc! {"x": 4}]);
}

#[test]
fn facets_read_the_same_documents() {
    let input = vec![doc! {"a": 1}, doc! {"a": 2}];
    let stage = doc! {"$facet": {"n": [{"$count": "n"}], "big": [{"$match": {"a": 2}}]}};
    assert_eq!(run(input, vec![stage]), [doc! {"n": [{"n": 2}], "big": [{"a": 2}]}]);
}

#[test]
fn memory_is_bounded() {
    let stages = DocBuf::from_bson(&doc! {"p": [{"$group": {"_id": "$a"}}]}).expect("stages");
    let Some(Value::Array(stages)) = stages.doc().get("p") else {
        panic!("no array");
    };
    let pipeline = Pipeline::parse(stages, &mut ParseContext::new()).expect("pipeline");
    let mut env = Environment::new(Arc::new(Other(Vec::new())));
    env.memory_limit_bytes = 10_000;
    let input = buffers((0..1000).map(|n| doc! {"a": n}).collect());
    let mut stream = pipeline.open(Box::new(Documents::new(input)), &env).expect("stream");
    assert_eq!(stream.advance().expect_err("too much").code, bindery_document::code::QUERY_EXCEEDED_MEMORY_LIMIT);
}

#[test]
fn malformed_stages_have_their_codes() {
    assert_eq!(error_code(vec![doc! {"$nope": 1}]), 40324);
    assert_eq!(error_code(vec![doc! {"$match": {}, "$limit": 1}]), 40323);
    assert_eq!(error_code(vec![doc! {"$limit": 0}]), 15958);
    assert_eq!(error_code(vec![doc! {"$group": {"a": {"$sum": 1}}}]), 15955);
    assert_eq!(error_code(vec![doc! {"$out": "x"}, doc! {"$limit": 1}]), 40601);
    assert_eq!(error_code(vec![doc! {"$facet": {"a": [{"$out": "x"}]}}]), 40600);
    // What comes later in the text is read before constants are evaluated.
    assert_eq!(error_code(vec![doc! {"$project": {"x": {"$divide": [1, 0]}}}, doc! {"$limit": 0}]), 15958);
    // A group in front has codes of its own.
    assert_eq!(error_code(vec![doc! {"$group": {"_id": {"$abs": "$a"}}}]), 4_903_700);
}
