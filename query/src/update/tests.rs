//! Updates as a whole: documents in, documents out. The conformance corpus has the breadth; here are the
//! rules that callers rely on besides the answer.

use bindery_document::{Doc, DocBuf, Value};
use bson::{Document, doc};

use super::*;
use crate::filter::ParseContext;

fn buf(document: &Document) -> DocBuf {
    DocBuf::from_bson(document).expect("document")
}

fn plain(doc: Doc<'_>) -> Document {
    bson::deserialize_from_slice(doc.as_bytes()).expect("document")
}

fn parse(update: &Document, filters: &[Document]) -> Result<Update> {
    let filters: Vec<DocBuf> = filters.iter().map(buf).collect();
    let filters: Vec<Doc<'_>> = filters.iter().map(DocBuf::doc).collect();
    Update::parse(Value::Document(buf(update).doc()), &filters, Options::default())
}

fn apply(stored: &Document, update: &Document, matched: Option<usize>) -> Result<(Document, Applied)> {
    let mut out = Vec::new();
    let applied = parse(update, &[])?.apply(buf(stored).doc(), matched, Now::default(), &mut out)?;
    let new = DocBuf::from_bytes(out).expect("well-formed");
    Ok((plain(new.doc()), applied))
}

#[track_caller]
fn check(stored: Document, update: Document, expected: Document) {
    let (new, applied) = apply(&stored, &update, None).expect("applies");
    assert_eq!(new, expected);
    assert!(applied.modified);
}

#[track_caller]
fn refused(stored: Document, update: Document, code: i32) {
    let error = match apply(&stored, &update, None) {
        Ok((new, _)) => panic!("not refused: {new}"),
        Err(error) => error,
    };
    assert_eq!(error.code, code, "{}", error.message);
}

#[test]
fn new_fields_come_in_lexicographic_order_after_the_old() {
    check(
        doc! {"_id": 1, "m": 0, "b": 9},
        doc! {"$set": {"z": 1, "b": 2, "10": 3, "9": 4}, "$inc": {"a.y": 1, "a.x": 2}},
        doc! {"_id": 1, "m": 0, "b": 2, "9": 4, "10": 3, "a": {"x": 2, "y": 1}, "z": 1},
    );
}

#[test]
fn arrays_are_padded_and_never_have_gaps() {
    check(doc! {"_id": 1, "a": [1]}, doc! {"$set": {"a.3": 9}}, doc! {"_id": 1, "a": [1, null, null, 9]});
    check(doc! {"_id": 1, "a": [1, 2]}, doc! {"$unset": {"a.0": 1}}, doc! {"_id": 1, "a": [null, 2]});
    check(doc! {"_id": 1, "a": []}, doc! {"$set": {"a.1.b": 9}}, doc! {"_id": 1, "a": [null, {"b": 9}]});
}

#[test]
fn the_first_error_is_that_of_the_first_path() {
    // In the document `z` stands before `A`, in the order of paths after it.
    refused(doc! {"_id": 1, "z": "x", "A": 1}, doc! {"$inc": {"z": 1}, "$set": {"A.b": 1}}, 28);
    refused(doc! {"_id": 1, "z": "x", "A": 1}, doc! {"$set": {"_id": 2, "A.b": 1}}, 28);
}

#[test]
fn two_names_of_one_element_are_a_conflict() {
    refused(doc! {"_id": 1, "a": [1, 2]}, doc! {"$set": {"a.1": 5, "a.01": 6}}, 40);
    let error = apply(&doc! {"_id": 1, "a": [1, 2]}, &doc! {"$set": {"a.$": 5, "a.1": 6}}, Some(1));
    assert_eq!(error.expect_err("conflict").code, 40);
}

#[test]
fn a_change_of_fixed_size_is_a_patch() {
    let stored = doc! {"_id": 1, "a": "text", "n": 5, "z": [1, 2, 3]};
    let (new, applied) = apply(&stored, &doc! {"$inc": {"n": 1}}, None).expect("applies");
    let patch = applied.patch.expect("same length");
    let (old, new) = (buf(&stored).into_bytes(), buf(&new).into_bytes());
    assert_eq!(patch.len(), 1);
    let mut patched = old;
    patched[patch.clone()].copy_from_slice(&new[patch]);
    assert_eq!(patched, new);

    let (_, applied) = apply(&stored, &doc! {"$inc": {"n": 1i64}}, None).expect("applies");
    assert_eq!(applied.patch, None);
}

#[test]
fn only_the_changed_paths_touch_indexes() {
    let update = parse(&doc! {"$set": {"a.0.b": 1, "c": 2}, "$rename": {"d": "e"}}, &[]).expect("update");
    let mut out = Vec::new();
    let stored = buf(&doc! {"_id": 1, "a": [{"b": 1}], "c": 1, "d": 1});
    let applied = update.apply(stored.doc(), None, Now::default(), &mut out).expect("applies");
    let touched = |path: &str| update.touches(applied.changes, path);
    // a.0.b has been set to what it was.
    assert!(!touched("a.b") && !touched("a"));
    assert!(touched("c") && touched("c.x") && touched("d") && touched("e") && touched("$**"));
    assert!(!touched("f"));
}

#[test]
fn array_filters_select_and_must_be_used() {
    let update = parse(&doc! {"$inc": {"a.$[x].n": 10}}, &[doc! {"x.k": {"$gt": 1}}]).expect("update");
    let mut out = Vec::new();
    let stored = buf(&doc! {"_id": 1, "a": [{"k": 1, "n": 1}, {"k": 2, "n": 1}, {"k": 3}]});
    let applied = update.apply(stored.doc(), None, Now::default(), &mut out).expect("applies");
    assert!(applied.modified);
    let expected = doc! {"_id": 1, "a": [{"k": 1, "n": 1}, {"k": 2, "n": 11}, {"k": 3, "n": 10}]};
    assert_eq!(plain(Doc::from_stored(&out)), expected);

    let code = |update: Document, filters: &[Document]| parse(&update, filters).expect_err("refused").code;
    assert_eq!(code(doc! {"$set": {"a": 1}}, &[doc! {"x": 1}]), 9);
    assert_eq!(code(doc! {"$set": {"a.$[x]": 1}}, &[]), 2);
    assert_eq!(code(doc! {"$set": {"a.$[x]": 1}}, &[doc! {"x": 1}, doc! {"x": 2}]), 9);
    assert_eq!(code(doc! {"$set": {"a.$[x]": 1}}, &[doc! {"x": 1, "y": 2}]), 9);
    assert_eq!(code(doc! {"$set": {"a.$[x]": 1}}, &[doc! {}]), 9);
}

#[test]
fn a_replacement_keeps_the_id_in_front() {
    let (new, applied) = apply(&doc! {"_id": 1, "a": 1}, &doc! {"a": 2, "_id": 1.0}, None).expect("applies");
    assert_eq!(new, doc! {"_id": 1.0, "a": 2});
    assert_eq!(applied.changes, Changes::Whole);
    let (new, applied) = apply(&doc! {"_id": 1, "a": 1}, &doc! {"a": 1}, None).expect("applies");
    assert_eq!(new, doc! {"_id": 1, "a": 1});
    assert!(applied.modified, "a replacement without _id is a change, whatever it holds");
    let (_, applied) = apply(&doc! {"_id": 1, "a": 1}, &doc! {"_id": 1, "a": 1}, None).expect("applies");
    assert!(!applied.modified);
    refused(doc! {"_id": 1}, doc! {"_id": 2}, 66);
}

#[test]
fn an_upsert_starts_from_the_query() {
    let upsert = |query: Document, update: Document| -> Result<Document> {
        let filter = Filter::parse(buf(&query).doc(), &ParseContext::new())?;
        parse(&update, &[])?.upsert(&filter, Now::default()).map(|new| plain(new.doc()))
    };
    let new = upsert(
        doc! {"z": 1, "b.c": 2, "b.a": {"$in": [3]}, "$and": [{"_id": 7}, {"n": {"$gt": 4}}]},
        doc! {"$inc": {"z": 1}, "$setOnInsert": {"q": 1}},
    );
    assert_eq!(new.expect("document"), doc! {"_id": 7, "b": {"a": 3, "c": 2}, "z": 2, "q": 1});
    let code = |query, update| upsert(query, update).expect_err("refused").code;
    assert_eq!(code(doc! {"a": 1, "a.b": 2}, doc! {"$set": {"c": 1}}), 54);
    assert_eq!(code(doc! {"_id": 1}, doc! {"$set": {"_id": 2}}), 66);
    assert_eq!(code(doc! {"_id": 1}, doc! {"$unset": {"_id": 2}}), 66);
    assert_eq!(code(doc! {"_id": [1]}, doc! {"$set": {"a": 2}}), 53);
    assert_eq!(code(doc! {"_id.a": 1}, doc! {"b": 2}), 111);
}

#[test]
fn limits_are_checked() {
    let code = |update: &[u8], stored: &Document| {
        let update = Update::parse(Value::Document(Doc::from_stored(update)), &[], Options::default());
        let mut out = Vec::new();
        update.and_then(|update| update.apply(buf(stored).doc(), None, Now::default(), &mut out)).map_err(|e| e.code)
    };
    // Levels below the top of the stored document: that of `x`, and those in it.
    let nested = |levels: usize| {
        let mut value = DocBuf::new();
        for name in std::iter::repeat_n("a", levels - 1).chain(["x", "$set"]) {
            let mut outer = bindery_document::Builder::new();
            outer.append(name, Value::Document(value.doc()));
            value = outer.finish();
        }
        value.into_bytes()
    };
    assert!(code(&nested(179), &doc! {"_id": 1}).is_ok());
    assert_eq!(code(&nested(180), &doc! {"_id": 1}), Err(15));
    let text = "x".repeat(9 << 20);
    let update = buf(&doc! {"$set": {"b": &text}}).into_bytes();
    assert_eq!(code(&update, &doc! {"_id": 1, "a": &text}), Err(10334));
    assert_eq!(code(&update, &doc! {"_id": 1, "a": "x".repeat((7 << 20) + 100)}), Err(17419));
}

#[test]
fn pipelines_see_their_own_work_and_keep_the_id() {
    let stages = |stages: bson::Array| {
        let spec = buf(&doc! {"p": stages});
        let stages = spec.doc().get("p").and_then(|p| p.as_array()).expect("array");
        Update::parse_pipeline(stages, &[], Options::default(), &mut ParseContext::new())
    };
    let run = |pipeline: bson::Array, stored: Document| {
        let mut out = Vec::new();
        let applied = stages(pipeline)?.apply(buf(&stored).doc(), None, Now::default(), &mut out)?;
        Ok::<_, Error>((plain(Doc::from_stored(&out)), applied.modified))
    };
    let stored = doc! {"_id": 1, "a": 1, "b": 2};
    let new =
        run(vec![doc! {"$set": {"a": "$b"}}.into(), doc! {"$set": {"b": "$a", "c": "$a"}}.into()], stored.clone());
    assert_eq!(new.expect("applies"), (doc! {"_id": 1, "a": 2, "b": 2, "c": 2}, true));
    let new = run(vec![doc! {"$replaceWith": {"z": "$a"}}.into()], stored.clone()).expect("applies");
    assert_eq!(new, (doc! {"_id": 1, "z": 1}, true));
    let new = run(vec![doc! {"$unset": ["b", "x"]}.into(), doc! {"$project": {"a": 1}}.into()], stored.clone());
    assert_eq!(new.expect("applies"), (doc! {"_id": 1, "a": 1}, true));
    assert_eq!(run(vec![], stored.clone()).expect("applies"), (stored.clone(), false));
    assert_eq!(run(vec![doc! {"$set": {"_id": 2}}.into()], stored.clone()).expect_err("immutable").code, 66);
    assert_eq!(run(vec![doc! {"$replaceWith": "$a"}.into()], stored).expect_err("no document").code, 40228);
    let code = |pipeline: bson::Array| stages(pipeline).expect_err("refused").code;
    assert_eq!(code(vec![doc! {"$match": {}}.into()]), 72);
    assert_eq!(code(vec![doc! {"$foo": {}}.into()]), 40324);
    assert_eq!(code(vec![doc! {"$set": {}, "$unset": "a"}.into()]), 40323);
    assert_eq!(code(vec![5.into()]), 14);
    assert_eq!(code(vec![doc! {"$set": {"a": {}}}.into()]), 40180);
}

/// Random updates of random documents: the result is well-formed, applying it again is possible, and an
/// update that says it modified nothing gives the same bytes.
#[test]
fn random_updates_give_well_formed_documents() {
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let mut applied_count = 0;
    for _ in 0..20_000 {
        let stored = buf(&random_document(&mut random));
        let mut update = Document::new();
        for _ in 0..=random(2) {
            let (operator, argument) = random_operator(&mut random);
            let mut arguments = Document::new();
            arguments.insert(random_path(&mut random), argument);
            update.insert(operator, arguments);
        }
        let Ok(compiled) = parse(&update, &[]) else {
            continue;
        };
        let mut out = Vec::new();
        let Ok(applied) = compiled.apply(stored.doc(), Some(random(3) as usize), Now::default(), &mut out) else {
            continue;
        };
        applied_count += 1;
        let new = DocBuf::from_bytes(out).unwrap_or_else(|e| panic!("{update} on {stored:?}: {e}"));
        if !applied.modified {
            assert_eq!(new, stored, "{update}");
        }
        if let Some(patch) = applied.patch {
            let mut patched = stored.as_bytes().to_vec();
            patched[patch.clone()].copy_from_slice(&new.as_bytes()[patch]);
            assert_eq!(patched, new.as_bytes(), "{update} on {stored:?}");
        }
    }
    assert!(applied_count > 5_000, "only {applied_count} updates could be applied");
}

type Random<'r> = &'r mut dyn FnMut(u64) -> u64;

fn random_value(random: Random<'_>, depth: u64) -> bson::Bson {
    match random(if depth == 0 { 5 } else { 9 }) {
        0 => bson::Bson::Null,
        1 => bson::Bson::Int32(random(3) as i32),
        2 => bson::Bson::Int64(random(3) as i64),
        3 => bson::Bson::Double(random(3) as f64 / 2.0),
        4 => bson::Bson::String("x".repeat(random(3) as usize)),
        5 | 6 => {
            let length = random(4);
            bson::Bson::Array((0..length).map(|_| random_value(random, depth - 1)).collect())
        }
        _ => {
            let length = random(3);
            let names = ["a", "b", "0", "1"];
            let fields = (0..length).map(|_| (names[random(4) as usize].to_owned(), random_value(random, depth - 1)));
            bson::Bson::Document(fields.collect())
        }
    }
}

fn random_document(random: Random<'_>) -> Document {
    let mut document = doc! {"_id": 1};
    for name in ["a", "b", "c"] {
        if random(4) > 0 {
            document.insert(name, random_value(random, 3));
        }
    }
    document
}

fn random_path(random: Random<'_>) -> String {
    let parts = ["a", "b", "0", "1", "3", "$", "$[]"];
    let mut path = ["a", "b", "c", "d"][random(4) as usize].to_owned();
    for _ in 0..random(3) {
        path.push('.');
        path.push_str(parts[random(7) as usize]);
    }
    path
}

fn random_operator(random: Random<'_>) -> (&'static str, bson::Bson) {
    let value = random_value(random, 2);
    match random(14) {
        0 => ("$set", value),
        1 => ("$unset", value),
        2 => ("$inc", bson::Bson::Int32(random(3) as i32)),
        3 => ("$mul", bson::Bson::Double(random(3) as f64)),
        4 => ("$min", value),
        5 => ("$max", value),
        6 => ("$push", value),
        7 => ("$push", bson::bson!({"$each": [value, 1], "$sort": -1, "$slice": -2, "$position": 1})),
        8 => ("$addToSet", bson::bson!({"$each": [value, 1]})),
        9 => ("$pop", bson::Bson::Int32(if random(2) == 0 { 1 } else { -1 })),
        10 => ("$pull", bson::bson!({"$gte": 1})),
        11 => ("$pullAll", bson::bson!([1, value])),
        12 => ("$bit", bson::bson!({"xor": 5})),
        _ => ("$rename", bson::Bson::String(random_path(random))),
    }
}
