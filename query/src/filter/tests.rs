use super::*;
use bindery_document::{DocBuf, code};
use bson::{Bson, Document, doc};

fn buffer(document: &Document) -> DocBuf {
    DocBuf::from_bson(document).expect("document")
}

fn parse(filter: &Document) -> Filter {
    Filter::parse(buffer(filter).doc(), &ParseContext::new()).expect("filter")
}

fn error_code(filter: Document) -> i32 {
    Filter::parse(buffer(&filter).doc(), &ParseContext::new()).expect_err("an error").code
}

fn matches(filter: Document, document: Document) -> bool {
    parse(&filter).matches(buffer(&document).doc()).expect("no failure")
}

/// The position that the conditions give, in the order they are written in.
fn position(filter: Document, document: Document) -> Position {
    let filter = Filter::parse_in_order(buffer(&filter).doc(), &ParseContext::new()).expect("filter");
    let (matched, position) = filter.matches_at(buffer(&document).doc()).expect("no failure");
    assert!(matched);
    position
}

#[test]
fn comparison_stays_within_a_type_but_for_the_ends_of_the_order() {
    assert!(matches(doc! {"a": {"$gt": 1}}, doc! {"a": 2.5}));
    assert!(!matches(doc! {"a": {"$gt": 1}}, doc! {"a": "x"}));
    assert!(matches(doc! {"a": {"$lt": Bson::MaxKey}}, doc! {}));
    assert!(matches(doc! {"a": {"$gt": Bson::MinKey}}, doc! {}));
    assert!(!matches(doc! {"a": {"$gte": f64::NAN}}, doc! {"a": 1}));
    assert!(matches(doc! {"a": {"$lte": f64::NAN}}, doc! {"a": f64::NAN}));
    assert!(matches(doc! {"a": 0}, doc! {"a": -0.0}));
}

#[test]
fn null_means_null_undefined_and_missing() {
    for document in [doc! {"a": null}, doc! {"a": Bson::Undefined}, doc! {}, doc! {"a": [null]}] {
        assert!(matches(doc! {"a": null}, document.clone()));
        assert!(matches(doc! {"a": {"$in": [null, 1]}}, document.clone()));
        assert!(matches(doc! {"a": {"$gte": null}}, document.clone()));
        assert!(!matches(doc! {"a": {"$ne": null}}, document));
    }
    assert!(matches(doc! {"a.b": null}, doc! {"a": 1}));
    assert!(!matches(doc! {"a.b": null}, doc! {"a": []}));
    assert!(!matches(doc! {"a.b": null}, doc! {"a": [1]}));
}

#[test]
fn arrays_are_compared_whole_and_by_element() {
    assert!(matches(doc! {"a": 1}, doc! {"a": [0, 1]}));
    assert!(matches(doc! {"a": [0, 1]}, doc! {"a": [0, 1]}));
    assert!(matches(doc! {"a": [0, 1]}, doc! {"a": [[0, 1]]}));
    assert!(!matches(doc! {"a": {"$ne": 1}}, doc! {"a": [0, 1]}));
    assert!(matches(doc! {"a": {"$gt": 5, "$lt": 1}}, doc! {"a": [0, 9]}));
    assert!(!matches(doc! {"a": {"$elemMatch": {"$gt": 5, "$lt": 1}}}, doc! {"a": [0, 9]}));
    assert!(matches(doc! {"a": {"$all": [0, 9]}}, doc! {"a": [0, 9, 3]}));
    assert!(matches(doc! {"a": {"$elemMatch": {"b": 1, "c": 2}}}, doc! {"a": [{"b": 1}, {"b": 1, "c": 2}]}));
    assert!(matches(doc! {"a": {"$size": 2}}, doc! {"a": [0, 9]}));
    assert!(!matches(doc! {"a": {"$size": 2}}, doc! {"a": [[0, 9]]}));
}

#[test]
fn types_remainders_bits_and_patterns() {
    assert!(matches(doc! {"a": {"$type": "number"}}, doc! {"a": 1.5}));
    assert!(matches(doc! {"a": {"$type": [2, "array"]}}, doc! {"a": []}));
    assert!(matches(doc! {"a": {"$mod": [4, 0]}}, doc! {"a": -4.9}));
    assert!(matches(doc! {"a": {"$mod": [-3, -1]}}, doc! {"a": -7}));
    assert!(matches(doc! {"a": {"$bitsAllSet": [70]}}, doc! {"a": -1}));
    assert!(!matches(doc! {"a": {"$bitsAnySet": 3}}, doc! {"a": 4}));
    assert!(matches(doc! {"a": {"$regex": "^B", "$options": "i"}}, doc! {"a": ["x", "bc"]}));
    assert!(matches(doc! {"a": {"$not": {"$regex": "^b"}}}, doc! {"a": 1}));
}

#[test]
fn positions_come_from_the_last_array_condition_as_written() {
    let document = doc! {"a": [1, 2, 3], "b": [9, 8, 7]};
    assert_eq!(position(doc! {"a": {"$gt": 2}, "b": 8}, document.clone()), Some(1));
    assert_eq!(position(doc! {"b": 8, "a": {"$gt": 2}}, document.clone()), Some(2));
    assert_eq!(position(doc! {"a": [1, 2, 3]}, document.clone()), None);
    assert_eq!(position(doc! {"$or": [{"a": 2}, {"b": 7}]}, document.clone()), None);
    assert_eq!(position(doc! {"a": 2, "b": {"$not": {"$gt": 20}}}, document.clone()), Some(1));
    assert_eq!(position(doc! {"a.1": 2}, document.clone()), None);
    assert_eq!(position(doc! {"b": {"$exists": true}, "a": {"$size": 3}}, document), Some(0));
    let nested = doc! {"b": [{"c": [4, 5]}, {"c": [6, 7, 8]}]};
    assert_eq!(position(doc! {"b.c": 8}, nested.clone()), Some(1));
    assert_eq!(position(doc! {"b.c": {"$elemMatch": {"$eq": 8}}}, nested), Some(1));
    assert_eq!(position(doc! {"c": {"$elemMatch": {"$eq": 8}}}, doc! {"c": [6, 7, 8]}), Some(2));
}

#[test]
fn canonical_form_does_not_depend_on_how_it_was_written() {
    let a = parse(&doc! {"b": 2, "a": {"$gt": 1, "$lt": 5}, "$and": [{"c": {"$exists": true}}]});
    let b = parse(&doc! {"$and": [{"c": {"$exists": true}}, {"a": {"$lt": 5}}, {"a": {"$gt": 1}}], "b": 2});
    assert_eq!(a, b);
    let Filter::And(children) = a else { panic!("not an and") };
    let paths: Vec<&str> = children.iter().filter_map(|child| child.path()).map(|path| path.as_str()).collect();
    assert_eq!(paths, ["b", "a", "a", "c"]);
}

#[test]
fn what_is_alone_or_constant_is_simplified() {
    assert_eq!(parse(&doc! {}), Filter::AlwaysTrue);
    assert_eq!(parse(&doc! {"$and": [{}, {"$comment": "x"}]}), Filter::AlwaysTrue);
    assert_eq!(parse(&doc! {"$or": [{}, {"a": 1}]}), Filter::AlwaysTrue);
    assert_eq!(parse(&doc! {"$nor": [{}]}), Filter::AlwaysFalse);
    assert_eq!(parse(&doc! {"a": {"$all": []}, "b": 1}), Filter::AlwaysFalse);
    assert_eq!(parse(&doc! {"$or": [{"a": 1}]}), parse(&doc! {"a": 1}));
    assert_eq!(parse(&doc! {"$or": [{"a": 1}, {"a": 2}]}), parse(&doc! {"a": {"$in": [2, 1, 1.0]}}));
    assert_eq!(parse(&doc! {"a": {"$in": [1]}}), parse(&doc! {"a": 1}));
    assert_eq!(parse(&doc! {"$nor": [{"a": 1}]}), parse(&doc! {"a": {"$ne": 1}}));
}

#[test]
fn malformed_filters_are_refused_with_their_codes() {
    for filter in [
        doc! {"$foo": 1},
        doc! {"a": {"$foo": 1}},
        doc! {"a": {"$gt": 1, "x": 2}},
        doc! {"$and": []},
        doc! {"$or": {"a": 1}},
        doc! {"a": {"$not": {}}},
        doc! {"a": {"$in": 1}},
        doc! {"a": {"$in": [{"$gt": 1}]}},
        doc! {"a": {"$size": 1.5}},
        doc! {"a": {"$mod": [0, 1]}},
        doc! {"a": {"$all": [{"$gt": 1}]}},
        doc! {"a": {"$elemMatch": 5}},
        doc! {"a": {"$options": "i"}},
        doc! {"a": Bson::Undefined},
    ] {
        assert_eq!(error_code(filter.clone()), code::BAD_VALUE, "{filter}");
    }
    assert_eq!(error_code(doc! {"a": {"$type": []}}), code::FAILED_TO_PARSE);
    assert_eq!(error_code(doc! {"a": {"$type": [true]}}), code::TYPE_MISMATCH);
    assert_eq!(error_code(doc! {"a": {"$bitsAllSet": -1}}), code::FAILED_TO_PARSE);
    assert_eq!(error_code(doc! {"a": {"$regex": "("}}), 51091);
    assert_eq!(error_code(doc! {"a": {"$regex": "a", "$options": "g"}}), 51108);
    assert_eq!(error_code(doc! {"$text": {"$search": "x"}}), code::INDEX_NOT_FOUND);
}

#[test]
fn a_document_without_an_operator_first_is_a_value() {
    assert!(matches(doc! {"a": {"x": 2, "$gt": 1}}, doc! {"a": {"x": 2, "$gt": 1}}));
    assert!(matches(doc! {"a": {"$ref": "c", "$id": 1}}, doc! {"a": {"$ref": "c", "$id": 1}}));
}

#[test]
fn expressions_hold_or_fail_after_all_else() {
    assert!(matches(doc! {"$expr": {"$gt": ["$a", "$b"]}}, doc! {"a": 2, "b": 1}));
    assert!(!matches(doc! {"$expr": "$missing"}, doc! {"a": 2}));
    assert!(!matches(doc! {"$expr": {"$add": ["$a", 1]}, "a": 1}, doc! {"a": "x"}));
    let failing = parse(&doc! {"$nor": [{"$expr": {"$add": ["$a", 1]}}]});
    assert_eq!(failing.matches(buffer(&doc! {"a": "x"}).doc()).expect_err("an error").code, 16554);
    assert_eq!(error_code(doc! {"$expr": {"$eq": [1]}}), 16020);
    assert_eq!(error_code(doc! {"a": {"$elemMatch": {"$expr": true}}}), code::BAD_VALUE);
    let mut context = ParseContext::new();
    context.expressions.define_constant("x", Some(bindery_document::OwnedValue::new(2.into())));
    let filter = Filter::parse(buffer(&doc! {"$expr": {"$eq": ["$a", "$$x"]}}).doc(), &context).expect("filter");
    assert!(filter.matches(buffer(&doc! {"a": 2}).doc()).expect("no failure"));
}

#[test]
fn what_is_not_allowed_is_refused_where_it_stands() {
    let code = |query: Document, allowed: Allowed| {
        Filter::parse(buffer(&query).doc(), &ParseContext::new().allowing(allowed)).err().map(|error| error.code)
    };
    let upsert = |query: Document| code(query, Allowed::NoExpressions);
    assert_eq!(upsert(doc! {"$nor": [{"a": 1}, {"$expr": true}]}), Some(224));
    assert_eq!(upsert(doc! {"$or": [{"$or": [{"a": {"$in": 1}}, {"$expr": "$b"}]}]}), Some(2));
    assert_eq!(upsert(doc! {"$or": [{"$expr": "$b"}, 5]}), Some(224));
    assert_eq!(upsert(doc! {"$jsonSchema": {}}), None);
    let small = |query: Document| code(query, Allowed::NoWholeDocuments);
    assert_eq!(small(doc! {"a": 1, "$or": [{"b": 1}, {"$and": [{"$expr": true}]}]}), Some(224));
    assert_eq!(small(doc! {"a": {"$not": {"$elemMatch": {"$jsonSchema": {}}}}}), Some(224));
    assert_eq!(small(doc! {"a": {"$elemMatch": {"$expr": true}}}), Some(2));
    assert_eq!(small(doc! {"$and": [{"$where": "1"}, {"$expr": true}]}), Some(2));
    assert_eq!(small(doc! {"a": {"$eq": {"$expr": 1}}, "b": {"expr": 1}}), None);
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |levels: usize| (0..levels).fold(doc! {"a": 1}, |inner, _| doc! {"$and": [inner]});
    assert!(Filter::parse(buffer(&nested(60)).doc(), &ParseContext::new()).is_ok());
    assert_eq!(error_code(nested(250)), code::OVERFLOW);
}

#[cfg(feature = "collation")]
#[test]
fn a_collation_reaches_strings_everywhere() {
    let spec = buffer(&doc! {"locale": "en", "strength": 2});
    let collation = crate::collation::Collation::parse(spec.doc()).expect("collation");
    let context = ParseContext::with_collation(collation);
    let matches = |filter: Document, document: Document| {
        let filter = Filter::parse(buffer(&filter).doc(), &context).expect("filter");
        filter.matches(buffer(&document).doc()).expect("no failure")
    };
    assert!(matches(doc! {"a": "X"}, doc! {"a": "x"}));
    assert!(matches(doc! {"a": {"$in": ["Y", "X"]}}, doc! {"a": ["x"]}));
    assert!(matches(doc! {"a": {"b": "X"}}, doc! {"a": {"b": "x"}}));
    assert!(matches(doc! {"a": {"$lt": "B"}}, doc! {"a": "a"}));
    assert!(!matches(doc! {"a": {"$regex": "X"}}, doc! {"a": "x"}));
}

#[test]
fn a_filter_shows_as_a_query_that_means_the_same() {
    for filter in [
        doc! {"b": 2, "a": {"$gt": 1, "$lt": 5}},
        doc! {"a": {"$not": {"$gt": 1, "$lt": 5}}, "$nor": [{"b": 1}, {"c": {"$size": 2}}]},
        doc! {"a": {"$elemMatch": {"$not": {"$not": {"$gt": 1}}, "$type": "number"}}},
        doc! {"a": {"$elemMatch": {"x": 1, "y": {"$in": [1, null, bson::Regex { pattern: "x".try_into().expect("pattern"), options: "i".try_into().expect("options") }]}}}},
        doc! {"a": {"$mod": [2, 0], "$bitsAllSet": [1, 70], "$exists": false, "$regex": "x", "$options": "i"}},
        doc! {"$expr": {"$gt": ["$a", 1]}},
    ] {
        let parsed = parse(&filter);
        let shown = parsed.to_document();
        assert_eq!(Filter::parse(shown.doc(), &ParseContext::new()).expect("filter"), parsed, "{shown:?}");
    }
}
