//! Sort keys and the collector.

use bindery_document::{Doc, DocBuf, order};
use bson::{Document, doc};

use super::*;

fn buf(document: &Document) -> DocBuf {
    DocBuf::from_bson(document).expect("document")
}

fn sort(spec: &Document) -> Sort {
    Sort::parse(buf(spec).doc(), None).expect("sort")
}

/// The `_id`s of the documents in the order of the sort.
fn sorted(docs: &[Document], spec: &Document, limit: Option<usize>) -> Vec<i32> {
    let (sort, mut keys) = (sort(spec), Keys::new());
    let (mut by_keys, mut by_documents) = (Sorter::new(limit, usize::MAX), Sorter::new(limit, usize::MAX));
    for document in docs {
        let (stored, id) = (buf(document), document.get_i32("_id").expect("_id"));
        let key = sort.key(stored.doc(), &mut keys).expect("key");
        by_keys.push(key, id, 0).expect("memory");
        by_documents.offer(&sort, stored.doc(), &mut keys, 0, || id).expect("memory");
    }
    let sorted: Vec<i32> = by_keys.finish().collect();
    assert_eq!(by_documents.finish().collect::<Vec<_>>(), sorted);
    sorted
}

#[test]
fn arrays_count_with_their_least_or_greatest() {
    let docs = [
        doc! {"_id": 1, "v": [5, 1]},
        doc! {"_id": 2, "v": 3},
        doc! {"_id": 3, "v": []},
        doc! {"_id": 4, "v": null},
        doc! {"_id": 5},
        doc! {"_id": 6, "v": [9, -2]},
    ];
    assert_eq!(sorted(&docs, &doc! {"v": 1, "_id": 1}, None), [3, 4, 5, 6, 1, 2]);
    assert_eq!(sorted(&docs, &doc! {"v": -1, "_id": 1}, None), [6, 1, 2, 4, 5, 3]);
}

#[test]
fn fields_of_one_array_come_from_one_element() {
    let docs = [doc! {"_id": 1, "p": [{"q": 3, "r": 1}, {"q": 1, "r": 9}]}, doc! {"_id": 2, "p": [{"q": 1, "r": 5}]}];
    assert_eq!(sorted(&docs, &doc! {"p.q": 1, "p.r": 1}, None), [2, 1]);
    assert_eq!(sorted(&docs, &doc! {"p.q": 1, "p.r": -1}, None), [1, 2]);
}

#[test]
fn parallel_arrays_are_refused() {
    let stored = buf(&doc! {"a": [1], "b": [2]});
    let error = sort(&doc! {"a": 1, "b": 1}).key(stored.doc(), &mut Keys::new()).map(<[u8]>::to_vec);
    assert_eq!(error.expect_err("refused").code, code::BAD_VALUE);
}

#[test]
fn the_first_k_are_those_of_the_whole_sort_and_stable() {
    let mut seed = 7u32;
    let docs: Vec<Document> = (0..500)
        .map(|i| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            doc! {"_id": i, "v": (seed >> 24) as i32 % 10}
        })
        .collect();
    let spec = doc! {"v": -1};
    let all = sorted(&docs, &spec, None);
    for k in [0, 1, 2, 10, 499, 500, 501] {
        assert_eq!(sorted(&docs, &spec, Some(k)), all[..k.min(500)], "{k}");
    }
    let expected = {
        let mut docs: Vec<&Document> = docs.iter().collect();
        docs.sort_by_key(|d| -d.get_i32("v").expect("v"));
        docs.iter().map(|d| d.get_i32("_id").expect("_id")).collect::<Vec<_>>()
    };
    assert_eq!(all, expected);
}

#[test]
fn documents_are_passed_over_as_their_keys_say() {
    let values = [
        bson::bson!(null),
        bson::bson!(3),
        bson::bson!(3.5),
        bson::bson!([1, 9]),
        bson::bson!([]),
        bson::bson!({"x": 1}),
        bson::bson!("s"),
        bson::Bson::Int64(3),
        bson::Bson::Undefined,
        bson::Bson::MinKey,
    ];
    let docs: Vec<Document> = (0..100)
        .map(|i| {
            let (a, b) = (&values[i * 7 % values.len()], &values[i / 10]);
            let mut document = doc! {"_id": i as i32, "a": {"b": a.clone()}, "c": b.clone()};
            if i % 13 == 0 {
                document.remove("a");
            }
            document
        })
        .collect();
    // Two arrays in one document are refused, so only one of the fields has any.
    let docs: Vec<Document> = docs.into_iter().filter(|d| d.get("c").is_none_or(|c| c.as_array().is_none())).collect();
    for spec in [doc! {"a.b": 1}, doc! {"a.b": -1, "c": 1}, doc! {"c": 1, "a.b": -1}, doc! {"c": -1, "x": 1, "a.b": 1}]
    {
        for k in [1, 5, 30] {
            sorted(&docs, &spec, Some(k));
        }
    }
}

#[test]
fn keys_order_as_values_do() {
    let values = [
        bson::bson!(null),
        bson::bson!(1),
        bson::bson!(1.5),
        bson::bson!("a"),
        bson::bson!({"x": 1}),
        bson::bson!(true),
    ];
    let (up, down) = (sort(&doc! {"v": 1}), sort(&doc! {"v": -1}));
    let (mut x, mut y) = (Keys::new(), Keys::new());
    for a in &values {
        for b in &values {
            let (left, right) = (buf(&doc! {"v": a}), buf(&doc! {"v": b}));
            let value = |doc: &DocBuf| -> OwnedValue { OwnedValue::new(Doc::get(doc.doc(), "v").expect("v")) };
            let expected = order::compare(&value(&left).value(), &value(&right).value());
            let mut compare = |sort: &Sort| {
                let left = sort.key(left.doc(), &mut x).expect("key").to_vec();
                left.as_slice().cmp(sort.key(right.doc(), &mut y).expect("key"))
            };
            assert_eq!(compare(&up), expected);
            assert_eq!(compare(&down), expected.reverse());
        }
    }
}

#[test]
fn memory_is_bounded() {
    let mut sorter = Sorter::new(None, 1000);
    assert!((0..10).all(|i| sorter.push(b"key", i, 90).is_ok()));
    assert_eq!(sorter.used_bytes(), 930);
    assert_eq!(sorter.push(b"key", 10, 90).expect_err("too much").code, 292);
    let mut first = Sorter::new(Some(2), 1000);
    assert!((0..1000).all(|i| first.push(format!("{i:05}").as_bytes(), i, 90).is_ok()));
    assert_eq!(first.finish().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn malformed_sorts_have_their_codes() {
    for (spec, code) in [
        (doc! {"a": 0}, 15975),
        (doc! {"a": 2}, 15975),
        (doc! {"a": "x"}, 15974),
        (doc! {"a": {"x": 1}}, 17312),
        (doc! {"a": {"$meta": "foo"}}, 31138),
        (doc! {"a": {"$meta": "textScore"}}, 40218),
        (doc! {"": 1}, 40352),
        (doc! {"a.": 1}, 40353),
        (doc! {"a..b": 1}, 15998),
        (doc! {"$a": 1}, 16410),
        (doc! {"$natural": 1, "a": 1}, 2),
    ] {
        assert_eq!(SortOrder::parse(buf(&spec).doc(), None).expect_err("refused").code, code, "{spec}");
    }
    let many: Document = (0..33).map(|i| (format!("f{i}"), bson::Bson::Int32(1))).collect();
    assert_eq!(SortOrder::parse(buf(&many).doc(), None).expect_err("refused").code, 13103);
    assert!(matches!(SortOrder::parse(buf(&doc! {}).doc(), None), Ok(SortOrder::Unsorted)));
    let natural = SortOrder::parse(buf(&doc! {"$natural": -1}).doc(), None);
    assert!(matches!(natural, Ok(SortOrder::Natural { backward: true })));
}

#[test]
fn the_key_can_be_shown() {
    let stored = buf(&doc! {"_id": 1, "g": [3, 1, 2]});
    let values = sort(&doc! {"g": 1, "_id": -1}).key_values(stored.doc(), &mut Keys::new()).expect("values");
    let values: Vec<_> = values.iter().map(|value| value.value().as_exact_i64()).collect();
    assert_eq!(values, [Some(1), Some(1)]);
}

#[test]
fn symbols_have_no_place_in_a_collation() {
    let spec = buf(&doc! {"locale": "en"});
    let collation = Collation::parse(spec.doc()).expect("collation");
    let symbol = || bson::Bson::Symbol("x".into());
    let code = |collation: Option<&Collation>, stored: Document| {
        let sort = Sort::parse(buf(&doc! {"a": 1}).doc(), collation).expect("sort");
        sort.key(buf(&stored).doc(), &mut Keys::new()).map(<[u8]>::to_vec).err().map(|error| error.code)
    };
    assert_eq!(code(None, doc! {"a": [{"b": symbol()}]}), None);
    assert_eq!(code(collation.as_ref(), doc! {"a": [{"b": symbol()}]}), Some(201));
    assert_eq!(code(collation.as_ref(), doc! {"a": {"b": symbol()}}), Some(201));
    assert_eq!(code(collation.as_ref(), doc! {"a": symbol()}), None);
}

#[test]
fn a_sort_after_a_projection_sees_what_it_leaves() {
    let docs = [doc! {"_id": 0, "b": {"b": 0}}, doc! {"_id": 1, "b": [5, {"b": 2}]}, doc! {"_id": 2, "b": {"b": 1}}];
    let order = |projection: Document, spec: Document| {
        let context = &mut crate::expression::ParseContext::new();
        let language = crate::projection::Language::Find;
        let projection = Projection::parse(buf(&projection).doc(), language, None, context).expect("projection");
        let (sort, mut keys, mut sorter) = (sort(&spec).after(&projection), Keys::new(), Sorter::new(None, usize::MAX));
        for document in &docs {
            let key = sort.key(buf(document).doc(), &mut keys).expect("key").to_vec();
            sorter.push(&key, document.get_i32("_id").expect("_id"), 0).expect("memory");
        }
        sorter.finish().collect::<Vec<_>>()
    };
    assert_eq!(order(doc! {"b.b": 1}, doc! {"b.b": 1}), [0, 2, 1]);
    for projection in [doc! {"b": 1}, doc! {"b.b": 1, "n": "$x"}, doc! {"b.c": 0}, doc! {"b.c": 1}] {
        assert_eq!(order(projection, doc! {"b.b": 1}), [1, 0, 2]);
    }
    assert_eq!(order(doc! {"b.b": 1}, doc! {"b.b": 1, "x": 1}), [1, 0, 2]);
}
