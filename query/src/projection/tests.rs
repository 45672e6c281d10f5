//! Projections as a whole: documents in, documents out.

use bindery_document::doc::EMPTY;
use bindery_document::{Doc, DocBuf, Result};
use bson::{Bson, Document, doc};

use super::{Input, Language, Projection, Slotted};
use crate::expression::ParseContext;

fn buf(document: &Document) -> DocBuf {
    DocBuf::from_bson(document).expect("document")
}

fn parse(spec: &Document, language: Language) -> Result<Projection> {
    Projection::parse(buf(spec).doc(), language, None, &mut ParseContext::new())
}

fn run(projection: &Projection, stored: &Document, position: Option<usize>) -> Result<Document> {
    let stored = buf(stored);
    let mut out = Vec::new();
    projection.apply(&Input { position, ..Input::new(stored.doc()) }, &mut out)?;
    let new = DocBuf::from_bytes(out).expect("well-formed");
    Ok(bson::deserialize_from_slice(new.as_bytes()).expect("document"))
}

#[track_caller]
fn check(stored: &Document, spec: Document, expected: Document) {
    let projection = parse(&spec, Language::Find).expect("projection");
    assert_eq!(run(&projection, stored, None).expect("applies"), expected, "{spec}");
}

#[track_caller]
fn refused(spec: Document, code: i32) {
    assert_eq!(parse(&spec, Language::Find).expect_err("refused").code, code, "{spec}");
}

#[test]
fn inclusions_go_through_arrays_and_drop_scalars() {
    let stored = doc! {"_id": 1, "a": [{"b": 1, "c": 2}, 5, [{"b": 3}, 6]], "d": 7};
    check(&stored, doc! {"a.b": 1}, doc! {"_id": 1, "a": [{"b": 1}, [{"b": 3}]]});
    check(&stored, doc! {"a": {"b": 1}, "_id": 0}, doc! {"a": [{"b": 1}, [{"b": 3}]]});
    check(&stored, doc! {"d.x": 1}, doc! {"_id": 1});
}

#[test]
fn exclusions_keep_the_rest_as_it_lies() {
    let stored = doc! {"_id": 1, "a": [{"b": 1, "c": 2}, 5], "d": 7, "e": {}};
    check(&stored, doc! {"a.b": 0, "e": 0}, doc! {"_id": 1, "a": [{"c": 2}, 5], "d": 7});
    check(&stored, doc! {"_id": 0, "a": 0}, doc! {"d": 7, "e": {}});
    check(&stored, doc! {"_id": 1, "a": 0}, doc! {"_id": 1, "d": 7, "e": {}});
}

#[test]
fn computed_fields_come_last_and_make_their_parents() {
    let stored = doc! {"_id": 1, "z": 1, "a": {"x": 1}, "m": [1, {"x": 2}]};
    check(&stored, doc! {"n": "$z", "a": 1}, doc! {"_id": 1, "a": {"x": 1}, "n": 1});
    check(
        &stored,
        doc! {"m.n": {"$literal": 0}, "k.l": "$z", "z": 1},
        doc! {"_id": 1, "z": 1, "m": [{"n": 0}, {"n": 0}], "k": {"l": 1}},
    );
    check(&stored, doc! {"_id": "$z", "z": 1}, doc! {"z": 1, "_id": 1});
}

#[test]
fn the_positional_operator_takes_the_matched_element() {
    let stored = doc! {"_id": 1, "g": [{"k": 1}, {"k": 2}], "h": {"i": [7, 8]}};
    let projection = parse(&doc! {"h.i.$": 1}, Language::Find).expect("projection");
    assert!(projection.needs_position());
    assert_eq!(run(&projection, &stored, Some(1)).expect("applies"), doc! {"_id": 1, "h": {"i": [8]}});
    assert_eq!(run(&projection, &stored, None).expect_err("no position").code, 51246);
    assert_eq!(run(&projection, &stored, Some(2)).expect_err("no element").code, 51247);
}

#[test]
fn added_fields_stand_where_they_stood_or_last() {
    let added = |stored: Document, spec: Document| {
        let projection = Projection::parse_added_fields(buf(&spec).doc(), &mut ParseContext::new())?;
        run(&projection, &stored, None)
    };
    let stored = doc! {"_id": 1, "a": 5, "b": {"x": 1}, "c": [{"y": 1}, 2]};
    let new = added(stored.clone(), doc! {"z": "$a", "a": 6, "b": {"w": 2}, "c.v": "$a", "n.m": 1});
    let expected =
        doc! {"_id": 1, "a": 6, "b": {"x": 1, "w": 2}, "c": [{"y": 1, "v": 5}, {"v": 5}], "z": 5, "n": {"m": 1}};
    assert_eq!(new.expect("document"), expected);
    let new = added(stored.clone(), doc! {"a": "$missing", "b.x": "$$REMOVE"});
    assert_eq!(new.expect("document"), doc! {"_id": 1, "b": {}, "c": [{"y": 1}, 2]});
    assert_eq!(added(stored, doc! {"b": 1, "b.c": 2}).expect_err("conflict").code, 40176);
}

#[test]
fn what_is_removed_comes_back_to_its_place() {
    let stages = |stored: Document, stages: &[Document]| {
        let mut document = Slotted::new(buf(&stored).doc());
        for spec in stages {
            let spec = buf(spec);
            let projection = match spec.doc().get("$unset").and_then(|path| path.as_str()) {
                Some(path) => Projection::excluding([path]),
                None => match spec.doc().get("$project").and_then(|spec| spec.as_document()) {
                    Some(spec) => Projection::parse(spec, Language::Aggregate, None, &mut ParseContext::new()),
                    None => Projection::parse_added_fields(spec.doc(), &mut ParseContext::new()),
                },
            };
            document.project(&projection.expect("projection"), &Input::new(EMPTY)).expect("applies");
        }
        bson::deserialize_from_slice::<Document>(document.doc().as_bytes()).expect("document")
    };
    let stored = || doc! {"a": 1, "b": {"x": 1, "y": 2}, "c": 3};
    let all = |n: i32| doc! {"a": n, "b": {"x": 1, "y": 2}, "c": 3};
    assert_eq!(stages(stored(), &[doc! {"$unset": "a"}, doc! {"a": 9}]), all(9));
    assert_eq!(stages(stored(), &[doc! {"a": "$nope"}, doc! {"c": "$c"}, doc! {"a": {"$ifNull": ["$a", 8]}}]), all(8));
    let new = stages(stored(), &[doc! {"$unset": "b.x"}, doc! {"b.z": 1}, doc! {"b.x": 7}]);
    assert_eq!(new, doc! {"a": 1, "b": {"x": 7, "y": 2, "z": 1}, "c": 3});
    assert_eq!(
        stages(stored(), &[doc! {"$unset": "a"}, doc! {"$project": {"a": 1, "c": 1}}, doc! {"a": 1}]),
        doc! {"c": 3, "a": 1}
    );
    // Fields of a value that has none.
    let inner =
        |c: Bson| stages(doc! {"c": c}, &[doc! {"$project": {"n": {"$literal": 1}, "c.x": 1}}, doc! {"c.b": 2}]);
    assert_eq!(inner(Bson::Double(2.5)), doc! {"c": {"b": 2}, "n": 1});
    let copied = stages(doc! {"c": 2.5, "n": 1}, &[doc! {"$project": {"n": 1, "c.x": 1}}, doc! {"c.b": 2}]);
    assert_eq!(copied, doc! {"n": 1, "c": {"b": 2}});
    assert_eq!(inner(bson::bson!({"x": 1})), doc! {"c": {"x": 1, "b": 2}, "n": 1});
    assert_eq!(
        stages(doc! {"c": 3}, &[doc! {"z": "$nope"}, doc! {"y": 1}, doc! {"z": 2}]),
        doc! {"c": 3, "z": 2, "y": 1}
    );
    assert_eq!(
        stages(stored(), &[doc! {"$unset": "b"}, doc! {"$unset": "b.q"}, doc! {"b.q": 1}]),
        doc! {"a": 1, "b": {"q": 1}, "c": 3}
    );
}

#[test]
fn malformed_projections_have_their_codes() {
    refused(doc! {"a": 1, "b": 0}, 31254);
    refused(doc! {"b": 0, "a": 1}, 31253);
    refused(doc! {"a": 0, "n": "$a"}, 31310);
    refused(doc! {"b": 1, "b.c": 1}, 31249);
    refused(doc! {"b.c": 1, "b": 1}, 31250);
    refused(doc! {"b": {}}, 51270);
    refused(doc! {"a.": 1}, 40353);
    refused(doc! {"a.$.b": 1}, 31394);
    refused(doc! {"a.$": 0}, 31395);
    refused(doc! {"a.$": 1, "b.$": 1}, 31276);
    refused(doc! {"a": {"$meta": 1}}, 17307);
    assert_eq!(parse(&doc! {}, Language::Aggregate).expect_err("empty").code, 51272);
    assert_eq!(parse(&doc! {"a.$": 1}, Language::Aggregate).expect_err("no find").code, 31324);
}

#[test]
fn planners_learn_what_is_needed() {
    let kinds = |spec: Document| {
        let projection = parse(&spec, Language::Find).expect("projection");
        (projection.is_simple(), projection.included_paths(), projection.is_identity())
    };
    let paths = |paths: &[&str]| Some(paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>());
    assert_eq!(kinds(doc! {"a": 1, "_id": 0}), (true, paths(&["a"]), false));
    assert_eq!(kinds(doc! {"a.b": 1}), (false, paths(&["a.b", "_id"]), false));
    assert_eq!(kinds(doc! {"a": "$x"}), (false, None, false));
    assert_eq!(kinds(doc! {"a": 0}), (false, None, false));
    assert_eq!(kinds(doc! {}), (false, None, true));
    let needed = parse(&doc! {"a": 1, "n": "$x.y", "_id": 0}, Language::Find).expect("projection").dependencies();
    assert_eq!(needed.paths.into_iter().collect::<Vec<_>>(), ["a", "x.y"]);
}

#[test]
fn many_fields_are_found_by_name() {
    let fields = 200;
    let stored: Document = (0..fields).map(|i| (format!("f{i}"), bson::Bson::Int32(i))).collect();
    let spec: Document =
        (0..fields).rev().filter(|i| i % 3 == 0).map(|i| (format!("f{i}"), bson::Bson::Int32(1))).collect();
    let expected: Document =
        (0..fields).filter(|i| i % 3 == 0).map(|i| (format!("f{i}"), bson::Bson::Int32(i))).collect();
    check(&stored, spec, expected);
    let _: Doc<'_> = buf(&stored).doc();
}
