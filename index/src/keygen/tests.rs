//! Keys of documents as a real server showed them (`returnKey`, `validate`, `multiKeyPaths` of `explain`).

use bindery_document::{DocBuf, Value};
use bson::{Bson, Document, doc};

use super::*;
use crate::key::decode_document;

fn generator(pattern: Document) -> KeyGenerator {
    let pattern = DocBuf::from_bson(&pattern).expect("pattern");
    KeyGenerator::new(KeyPattern::parse(pattern.doc()).expect("pattern"))
}

fn keys_of(generator: &KeyGenerator, document: Document) -> bindery_document::Result<Keys> {
    let document = DocBuf::from_bson(&document).expect("document");
    let mut keys = Keys::new();
    generator.generate(document.doc(), &mut keys)?;
    Ok(keys)
}

/// The keys as documents with the names 0, 1, ...
fn shown(generator: &KeyGenerator, keys: &Keys) -> Vec<Document> {
    let pattern = generator.pattern();
    let names: Vec<String> = (0..pattern.key_len()).map(|i| i.to_string()).collect();
    let document = |key: Key<'_>| {
        let doc = decode_document(key.bytes, key.type_bits, pattern.directions(), &names).expect("decodes");
        Document::from_reader(doc.as_bytes()).expect("document")
    };
    keys.iter().map(document).collect()
}

/// The multikey paths as `explain` shows them: a list of dotted prefixes for each field.
fn multikey(generator: &KeyGenerator, keys: &Keys) -> Vec<Vec<String>> {
    let fields = generator.pattern().fields().iter().zip(keys.multikey_paths().fields());
    fields.map(|(field, parts)| parts.iter().map(|part| field.prefix(part + 1).to_owned()).collect()).collect()
}

/// Checks keys (each a list of the fields' values) and multikey paths.
fn check(pattern: Document, document: Document, wanted: Bson, paths: &[&[&str]]) {
    let generator = generator(pattern.clone());
    let keys = keys_of(&generator, document.clone()).expect("keys");
    let values = |key: &Document| Bson::Array(key.values().cloned().collect());
    let got: Vec<Bson> = shown(&generator, &keys).iter().map(values).collect();
    assert_eq!(Bson::Array(got), wanted, "{document} under {pattern}");
    assert_eq!(multikey(&generator, &keys), paths, "{document} under {pattern}");
    assert_eq!(keys.is_multikey(), paths.iter().any(|p| !p.is_empty()));
}

fn check_error(pattern: Document, document: Document, wanted: i32) {
    let error = keys_of(&generator(pattern.clone()), document.clone()).expect_err("an error");
    assert_eq!(error.code, wanted, "{document} under {pattern}: {error}");
}

macro_rules! keys {
    ($([$($value:expr),*]),*) => { Bson::Array(vec![$(Bson::Array(vec![$(Bson::from($value)),*])),*]) };
}

const UNDEFINED: Bson = Bson::Undefined;
const NULL: Bson = Bson::Null;

#[test]
fn scalars_and_missing_fields_give_one_key() {
    check(doc! {"a": 1}, doc! {}, keys!([NULL]), &[&[]]);
    check(doc! {"a": 1, "b": -1}, doc! {"b": 2i64, "a": 1.0}, keys!([1.0, 2i64]), &[&[], &[]]);
    check(doc! {"a.b": 1}, doc! {"a": 5}, keys!([NULL]), &[&[]]);
    check(doc! {"a.b": 1}, doc! {"a": {"b": {"c": 1}}}, keys!([doc! {"c": 1}]), &[&[]]);
    check(doc! {"a.0": 1}, doc! {"a": {"0": 5}}, keys!([5]), &[&[]]);
}

#[test]
fn arrays_expand_once() {
    check(doc! {"a": 1}, doc! {"a": []}, keys!([UNDEFINED]), &[&["a"]]);
    check(doc! {"a": 1}, doc! {"a": [1, 2, 2.0]}, keys!([1], [2]), &[&["a"]]);
    check(doc! {"a": -1}, doc! {"a": [3, 1, 2]}, keys!([3], [2], [1]), &[&["a"]]);
    check(doc! {"a": 1}, doc! {"a": [[1, 2], 3]}, keys!([3], [bson::bson!([1, 2])]), &[&["a"]]);
    check(doc! {"a": 1}, doc! {"a": [[], 1]}, keys!([1], [bson::bson!([])]), &[&["a"]]);
    check(doc! {"a": 1, "b": 1}, doc! {"a": [1, 2], "b": 1}, keys!([1, 1], [2, 1]), &[&["a"], &[]]);
    check(doc! {"a": 1, "b": 1}, doc! {"a": [], "b": 1}, keys!([UNDEFINED, 1]), &[&["a"], &[]]);
}

#[test]
fn paths_below_arrays_expand_elements() {
    check(doc! {"a.b": 1}, doc! {"a": []}, keys!([NULL]), &[&["a"]]);
    check(doc! {"a.b": 1}, doc! {"a": [{"b": 1}, {"b": [2, 3]}, 5]}, keys!([NULL], [1], [2], [3]), &[&["a", "a.b"]]);
    check(doc! {"a.b": 1}, doc! {"a": [{"b": []}]}, keys!([UNDEFINED]), &[&["a", "a.b"]]);
    check(doc! {"a.b": 1}, doc! {"a": [[{"b": 1}]]}, keys!([NULL]), &[&["a"]]);
}

#[test]
fn fields_of_one_array_expand_together() {
    let pattern = doc! {"a.b": 1, "a.c": 1};
    check(pattern.clone(), doc! {"a": [{"b": 1, "c": 2}, {"b": 3}]}, keys!([1, 2], [3, NULL]), &[&["a"], &["a"]]);
    check(
        pattern.clone(),
        doc! {"a": [{"b": [1, 2], "c": 2}, {"b": 1, "c": [3, 4]}]},
        keys!([1, 2], [1, 3], [1, 4], [2, 2]),
        &[&["a", "a.b"], &["a", "a.c"]],
    );
    check(pattern.clone(), doc! {"a": []}, keys!([NULL, NULL]), &[&["a"], &["a"]]);
    check(pattern, doc! {"a": [3]}, keys!([NULL, NULL]), &[&["a"], &["a"]]);
    let pattern = doc! {"a": 1, "a.b": 1};
    check(pattern.clone(), doc! {"a": [{"b": 1}, 2]}, keys!([2, NULL], [doc! {"b": 1}, 1]), &[&["a"], &["a"]]);
    check(pattern.clone(), doc! {"a": []}, keys!([UNDEFINED, NULL]), &[&["a"], &["a"]]);
    let whole = || doc! {"b": [1, 2]};
    check(pattern, doc! {"a": whole()}, keys!([whole(), 1], [whole(), 2]), &[&[], &["a.b"]]);
    check(
        doc! {"a.b.c": 1, "a.d": 1},
        doc! {"a": [{"b": [{"c": 1}, {"c": 2}], "d": 1}, {"b": {"c": 4}}]},
        keys!([1, 1], [2, 1], [4, NULL]),
        &[&["a", "a.b"], &["a"]],
    );
}

#[test]
fn parallel_arrays_are_refused() {
    for document in [doc! {"a": [1, 2], "b": []}, doc! {"a": [], "b": []}, doc! {"a": [1], "b": [1]}] {
        check_error(doc! {"a": 1, "b": 1}, document, 171);
    }
    check_error(doc! {"a.b": 1, "a.c": 1}, doc! {"a": [{"b": [1, 2], "c": [1, 2]}]}, 171);
    check_error(doc! {"a.b": 1, "a.c": 1}, doc! {"a": {"b": [1], "c": [2]}}, 171);
    check_error(doc! {"a.0": 1, "a.1": 1}, doc! {"a": [[1], [2]]}, 171);
    let many: Document = (0..6).map(|i| (format!("f{i}"), Bson::Int32(1))).collect();
    check_error(many, doc! {"f0": [1], "f5": [1]}, 171);
}

#[test]
fn positions_do_not_expand_their_array() {
    check(doc! {"a.0": 1}, doc! {"a": [1, 2]}, keys!([1]), &[&[]]);
    check(doc! {"a.0": 1}, doc! {"a": [[1, 2], 3]}, keys!([bson::bson!([1, 2])]), &[&[]]);
    check(doc! {"a.0": 1}, doc! {"a": [[], 3]}, keys!([UNDEFINED]), &[&[]]);
    check(doc! {"a.0": 1}, doc! {"a": [[[]], 3]}, keys!([bson::bson!([[]])]), &[&[]]);
    check(doc! {"a.0": 1}, doc! {"a": []}, keys!([NULL]), &[&["a"]]);
    check(doc! {"a.01": 1}, doc! {"a": [1, 2]}, keys!([NULL]), &[&["a"]]);
    check(doc! {"a.0.0": 1}, doc! {"a": [[1, 2], 3]}, keys!([1]), &[&[]]);
    check(doc! {"a.0.0": 1}, doc! {"a": [[[1, 2]], 3]}, keys!([bson::bson!([1, 2])]), &[&[]]);
    check(doc! {"a.0.b": 1}, doc! {"a": [{"b": 1}, {"b": 2}]}, keys!([1]), &[&[]]);
    check(doc! {"a.0.b": 1}, doc! {"a": [[{"b": 1}, {"b": 2}], 3]}, keys!([1], [2]), &[&["a.0"]]);
    check(doc! {"a.1.b": 1}, doc! {"a": [[1], []]}, keys!([NULL]), &[&[]]);
    check(doc! {"a.1.b": 1}, doc! {"a": [[1], [2]]}, keys!([NULL]), &[&["a.1"]]);
    check(doc! {"a.0.b": 1}, doc! {"a": [{"b": [1, 2]}]}, keys!([1], [2]), &[&["a.0.b"]]);
    check(doc! {"a.b.0": 1}, doc! {"a": [{"b": [1, 2]}, {"b": [3]}]}, keys!([1], [3]), &[&["a"]]);
    check(doc! {"a.0": 1, "a": 1}, doc! {"a": [1, 2]}, keys!([1, 1], [1, 2]), &[&[], &["a"]]);
    check(doc! {"a.0": 1, "a.1": 1}, doc! {"a": [1, 2]}, keys!([1, 2]), &[&[], &[]]);
    check(
        doc! {"a.b": 1, "a.0.b": 1},
        doc! {"a": [{"b": [1, 2]}, {"b": 2}]},
        keys!([1, 1], [2, 1], [2, 2]),
        &[&["a", "a.b"], &["a.0.b"]],
    );
    for document in [doc! {"a": [{"0": 1}]}, doc! {"a": [{"0": 1}, 3]}] {
        check_error(doc! {"a.0": 1}, document, 16746);
    }
}

#[test]
fn sparse_indexes_skip_documents_without_any_field() {
    let sparse = |pattern: Document| generator(pattern).sparse();
    let count = |pattern: Document, document: Document| keys_of(&sparse(pattern), document).expect("keys").len();
    assert_eq!(count(doc! {"a": 1, "b": 1}, doc! {}), 0);
    assert_eq!(count(doc! {"a": 1, "b": 1}, doc! {"a": 1}), 1);
    assert_eq!(count(doc! {"a": 1}, doc! {"a": null}), 1);
    assert_eq!(count(doc! {"a": 1}, doc! {"a": []}), 1);
    assert_eq!(count(doc! {"a.b": 1}, doc! {"a": []}), 0);
    assert_eq!(count(doc! {"a.b": 1}, doc! {"a": [{}]}), 0);
    assert_eq!(count(doc! {"a.b": 1}, doc! {"a": [1, {"b": 1}]}), 1);
    assert_eq!(count(doc! {"a": "hashed"}, doc! {}), 0);
    // Without a key, the index is multikey all the same.
    assert!(keys_of(&sparse(doc! {"a.b": 1}), doc! {"a": []}).expect("keys").is_multikey());
}

#[test]
fn hashed_indexes_hash_one_field_and_hold_no_arrays() {
    check(doc! {"a": "hashed", "b": 1}, doc! {"a": 1.0, "b": 2}, keys!([5_902_408_780_260_971_510i64, 2]), &[&[], &[]]);
    check(doc! {"a": "hashed"}, doc! {}, keys!([2_338_878_944_348_059_895i64]), &[&[]]);
    check_error(doc! {"a": "hashed"}, doc! {"a": []}, 16766);
    check_error(doc! {"a.b": "hashed"}, doc! {"a": [1]}, 16766);
    check_error(doc! {"a": "hashed", "b": 1}, doc! {"b": [1]}, 16766);
}

#[test]
fn patterns_are_checked() {
    let error = |pattern: Document| {
        let pattern = DocBuf::from_bson(&pattern).expect("pattern");
        KeyPattern::parse(pattern.doc()).expect_err("an error").code
    };
    for value in
        [Bson::Int32(0), "foo".into(), true.into(), f64::NAN.into(), NULL, doc! {}.into(), 0.0.into(), "".into()]
    {
        assert_eq!(error(doc! {"a": value}), 67);
    }
    for path in ["$a", "a.", ".a", "a.$b", "", "a..b", "a.$**.b", "$", "a.b.$"] {
        assert_eq!(error(doc! {path: 1}), 67);
    }
    assert_eq!(error(doc! {}), 67);
    assert_eq!(error(doc! {"$**": -1}), 67);
    assert_eq!(error(doc! {"$**": "hashed"}), 67);
    assert_eq!(error(doc! {"$**": 1, "b": 1}), 67);
    assert_eq!(error(doc! {"a": "hashed", "b": "hashed"}), 31303);
    assert_eq!(error((0..33).map(|i| (format!("f{i}"), Bson::Int32(1))).collect()), 13103);
    for pattern in [doc! {"a": 1.5}, doc! {"a.$id": -0.3}, doc! {"a b": i64::MAX}, doc! {"*": f64::INFINITY}] {
        generator(pattern);
    }
    let tiny: bson::Decimal128 = "-1E-6000".parse().expect("decimal");
    let pattern = generator(doc! {"a": tiny, "b.c": 1});
    let fields = pattern.pattern().fields();
    assert_eq!(fields[0].direction(), crate::key::Direction::Descending);
    assert_eq!([0, 1, 2].map(|n| fields[1].prefix(n)), ["", "b", "b.c"]);
}

fn wildcard(pattern: Document, projection: Option<Document>) -> KeyGenerator {
    let generator = generator(pattern);
    match projection {
        None => generator,
        Some(projection) => {
            let projection = DocBuf::from_bson(&projection).expect("projection");
            generator.projected(WildcardProjection::parse(projection.doc()).expect("projection"))
        }
    }
}

fn check_wildcard(generator: &KeyGenerator, document: Document, wanted: Bson, paths: &[&str]) {
    let mut document = document;
    document.insert("_id", 0);
    let keys = keys_of(generator, document.clone()).expect("keys");
    let values = |key: &Document| Bson::Array(key.values().cloned().collect());
    let got: Vec<Bson> = shown(generator, &keys).iter().map(values).collect();
    assert_eq!(Bson::Array(got), wanted, "{document} under {generator:?}");
    assert_eq!(keys.wildcard_multikey_paths().collect::<Vec<_>>(), paths, "{document} under {generator:?}");
}

#[test]
fn wildcard_indexes_hold_the_leaves() {
    let all = wildcard(doc! {"$**": 1}, None);
    check_wildcard(
        &all,
        doc! {"a": 1, "b": {"c": 2, "d": []}, "e": {}, "f": [1, 1, [2, 3], [], {}, {"g": 1}, [{"h": 1}]]},
        keys!(
            ["a", 1],
            ["b.c", 2],
            ["b.d", UNDEFINED],
            ["e", doc! {}],
            ["f", 1],
            ["f", doc! {}],
            ["f", bson::bson!([])],
            ["f", bson::bson!([2, 3])],
            ["f", bson::bson!([{"h": 1}])],
            ["f.g", 1]
        ),
        &["b.d", "f"],
    );
    check_wildcard(&all, doc! {"a.b": 1, "c": {"d.e": 2}}, keys!(), &[]);
    check_wildcard(&all, doc! {"a": null}, keys!(["a", NULL]), &[]);
    check_wildcard(&all, doc! {"": 1, "a": {"": 2}}, keys!(["", 1], ["a.", 2]), &[]);
    check_wildcard(&all, doc! {"": {"b": 1}}, keys!([".b", 1]), &[]);
    check_wildcard(&all, doc! {"a": [{"b": []}]}, keys!(["a.b", UNDEFINED]), &["a", "a.b"]);
    let below = wildcard(doc! {"a.$**": 1}, None);
    check_wildcard(&below, doc! {"a": [1, {"b": 1}], "c": 1}, keys!(["a", 1], ["a.b", 1]), &["a"]);
}

#[test]
fn wildcard_projections_apply_as_in_a_find() {
    let with = |projection| wildcard(doc! {"$**": 1}, Some(projection));
    check_wildcard(&with(doc! {"_id": 1, "a": 1}), doc! {"a": 1, "b": 1}, keys!(["_id", 0], ["a", 1]), &[]);
    check_wildcard(&with(doc! {"_id": 1}), doc! {"a": 1}, keys!(["_id", 0]), &[]);
    check_wildcard(&with(doc! {"_id": 1, "a": 0}), doc! {"a": 1}, keys!(["_id", 0]), &[]);
    check_wildcard(&with(doc! {"a": 0}), doc! {"a": 1, "b": 2}, keys!(["b", 2]), &[]);
    check_wildcard(&with(doc! {"_id": 0}), doc! {"a": 1}, keys!(["a", 1]), &[]);
    check_wildcard(&with(doc! {"_id.x": 0}), doc! {"a": 1}, keys!(["_id", 0], ["a", 1]), &[]);
    check_wildcard(&with(doc! {"a.b": 0}), doc! {"a": {"b": 1}}, keys!(["a", doc! {}]), &[]);
    check_wildcard(&with(doc! {"a.0": 1}), doc! {"a": [7, 8]}, keys!(["a", UNDEFINED]), &["a"]);

    let only = with(doc! {"a": {"b": 1}});
    check_wildcard(&only, doc! {"a": {"c": 1}}, keys!(["a", doc! {}]), &[]);
    check_wildcard(&only, doc! {"a": {"b": {"x": 1}, "c": 1}}, keys!(["a.b.x", 1]), &[]);
    check_wildcard(&only, doc! {"a": 5}, keys!(), &[]);
    check_wildcard(&only, doc! {"a": [[5]]}, keys!(["a", UNDEFINED]), &["a"]);
    let mixed = doc! {"a": [5, {"b": 1, "c": 2}, [1, {"b": 3}], {"c": 1}]};
    check_wildcard(&only, mixed.clone(), keys!(["a", doc! {}], ["a.b", 1]), &["a"]);
    check_wildcard(
        &with(doc! {"a.b": 0}),
        mixed,
        keys!(["a", 5], ["a", bson::bson!([1, {"b": 3}])], ["a.c", 1], ["a.c", 2]),
        &["a"],
    );
}

#[test]
fn wildcard_projections_are_checked() {
    let error = |projection: Document| {
        let projection = DocBuf::from_bson(&projection).expect("projection");
        WildcardProjection::parse(projection.doc()).expect_err("an error").code
    };
    assert_eq!(error(doc! {}), 9);
    assert_eq!(error(doc! {"a": 1, "b": 0}), 31254);
    assert_eq!(error(doc! {"a": 0, "b": 1}), 31253);
    assert_eq!(error(doc! {"a": 1, "a.b": 1}), 31249);
    assert_eq!(error(doc! {"a.b": 1, "a": 1}), 31250);
    assert_eq!(error(doc! {"_id": 1, "_id.x": 1}), 31249);
    assert_eq!(error(doc! {"a": 1, "_id.x": 0}), 31254);
    assert_eq!(error(doc! {"a": {}}), 51270);
    assert_eq!(error(doc! {"a": "x"}), 51271);
    assert_eq!(error(doc! {"a": {"$slice": 1}}), 51271);
    assert_eq!(error(doc! {"a": {"$elemMatch": {}}}), 168);
    assert_eq!(error(doc! {"a.$": 1}), 31324);
    assert_eq!(error(doc! {"": 1}), 40352);
    assert_eq!(error(doc! {"a..b": 1}), 15998);
    assert_eq!(error(doc! {"$a": 1}), 16410);
    let with = |projection| wildcard(doc! {"$**": 1}, Some(projection)).projection().clone();
    assert!(with(doc! {"a.b": 1}).covers("a.b.c") && !with(doc! {"a.b": 1}).covers("a"));
    assert!(with(doc! {"a.b": 0}).covers("a") && !with(doc! {"a.b": 0}).covers("a.b.c"));
    let all = wildcard(doc! {"$**": 1}, None);
    assert!(all.projection().covers("a") && !all.projection().covers("_id"));
}

#[test]
fn collations_reach_strings_within_values() {
    let fold = |text: &[u8], out: &mut Vec<u8>| out.extend(text.to_ascii_lowercase());
    let generator = generator(doc! {"a": 1}).collated(std::sync::Arc::new(fold));
    let keys = keys_of(&generator, doc! {"a": ["X", "x", {"k": "Y"}, {"k": "y"}]}).expect("keys");
    assert_eq!(keys.len(), 2);
}

#[test]
fn multikey_paths_only_grow() {
    let mut all = MultikeyPaths::new(2);
    let mut one = MultikeyPaths::new(2);
    assert!(!all.merge(&one) && !all.is_multikey());
    one.insert(1, 200);
    assert!(all.merge(&one) && !all.merge(&one) && all.is_multikey());
    assert_eq!(all.field(1).iter().collect::<Vec<_>>(), [200]);
    assert_eq!((all.field(0).first(), all.field(1).first()), (None, Some(200)));
}

#[test]
fn keys_are_used_again_without_traces() {
    let generator = generator(doc! {"a": 1});
    let mut keys = Keys::new();
    for (document, len) in [(doc! {"a": [1, 2, 3]}, 3), (doc! {"a": 1}, 1), (doc! {}, 1)] {
        let document = DocBuf::from_bson(&document).expect("document");
        generator.generate(document.doc(), &mut keys).expect("keys");
        assert_eq!((keys.len(), keys.is_multikey()), (len, len == 3));
    }
    let key = keys.iter().next().expect("a key");
    let value = crate::key::decode(key.bytes, key.type_bits, generator.pattern().directions(), 1).expect("decodes");
    assert!(matches!(value[0].value(), Value::Null));
}
