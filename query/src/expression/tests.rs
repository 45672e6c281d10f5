//! Expressions on single documents, with the answers of a real server.

use bindery_document::{DocBuf, Value};
use bson::{Bson, Document, doc};

use super::{Expression, ParseContext, Scope};

/// What an expression gives on a document: the value, nothing, or an error's code.
fn evaluate(expression: impl Into<Bson>, document: Document) -> Result<Option<Bson>, i32> {
    let spec = DocBuf::from_bson(&doc! {"e": expression.into()}).expect("expression");
    let document = DocBuf::from_bson(&document).expect("document");
    let value = spec.doc().get("e").expect("expression");
    let expression = Expression::parse(value, &mut ParseContext::new().with_now(0)).map_err(|error| error.code)?;
    let result = expression.evaluate(&Scope::new(document.doc())).map_err(|error| error.code)?;
    Ok(result.get().map(|value| {
        let mut builder = bindery_document::Builder::new();
        builder.append("r", value);
        let bytes = builder.finish().into_bytes();
        Document::from_reader(&bytes[..]).expect("result").remove("r").expect("r")
    }))
}

fn gives(expression: impl Into<Bson>, document: Document, expected: impl Into<Bson>) {
    assert_eq!(evaluate(expression, document), Ok(Some(expected.into())));
}

#[test]
fn paths_go_through_arrays_but_not_through_nested_ones() {
    let document = doc! {"a": [{"b": 1}, {"c": 2}, [{"b": 3}], 5, {"b": [4, 5]}]};
    gives("$a.b", document, bson::bson!([1, [4, 5]]));
    gives("$a.0", doc! {"a": [1, 2]}, bson::bson!([]));
    assert_eq!(evaluate("$a.b", doc! {"a": 1}), Ok(None));
}

#[test]
fn integers_widen_and_overflow_into_doubles() {
    gives(doc! {"$add": ["$a", 1]}, doc! {"a": i32::MAX}, 2_147_483_648_i64);
    gives(doc! {"$add": ["$a", 1]}, doc! {"a": i64::MAX}, 9_223_372_036_854_775_807.0);
    gives(doc! {"$mod": ["$a", 2.0]}, doc! {"a": 7}, 1);
    gives(doc! {"$pow": ["$a", 62]}, doc! {"a": 2}, 1_i64 << 62);
    gives(doc! {"$divide": ["$a", 3]}, doc! {"a": 6}, 2.0);
}

#[test]
fn the_first_null_or_the_first_error_decides_a_sum() {
    gives(doc! {"$add": [Bson::Null, "$a"]}, doc! {"a": 1}, Bson::Null);
    assert_eq!(evaluate(doc! {"$add": ["$a", "$b"]}, doc! {"a": "x"}), Err(16554));
    gives(doc! {"$add": ["$b", "$a"]}, doc! {"a": "x"}, Bson::Null);
}

#[test]
fn constant_parts_fail_at_once() {
    let parse = |expression: Document| {
        let spec = DocBuf::from_bson(&doc! {"e": expression}).expect("expression");
        let parsed = Expression::parse(spec.doc().get("e").unwrap_or(Value::Null), &mut ParseContext::new());
        parsed.map(|_| ()).map_err(|error| error.code)
    };
    assert_eq!(parse(doc! {"$divide": [1, 0]}), Err(2));
    assert_eq!(parse(doc! {"$add": ["$a", 1, "x"]}), Err(16554));
    assert_eq!(parse(doc! {"$add": ["$a", "x"]}), Ok(()));
    assert_eq!(parse(doc! {"$and": [false, {"$add": [1, "x"]}]}), Err(16554));
    assert_eq!(
        parse(doc! {"$switch": {"branches": [{"case": false, "then": {"$add": [1, "x"]}}], "default": 1}}),
        Ok(())
    );
    assert_eq!(parse(doc! {"$map": {"input": "x", "in": 1}}), Ok(()));
    assert_eq!(parse(doc! {"$setEquals": ["$a", "x"]}), Err(5_887_502));
    assert_eq!(parse(doc! {"$nope": 1}), Err(168));
}

#[test]
fn variables_nest_and_end() {
    let nested =
        doc! {"$let": {"vars": {"x": 1}, "in": {"$let": {"vars": {"y": {"$add": ["$$x", 1]}}, "in": ["$$x", "$$y"]}}}};
    gives(nested, doc! {}, bson::bson!([1, 2]));
    let reduced = doc! {"$reduce": {"input": "$a", "initialValue": "", "in": {"$concat": ["$$value", "$$this"]}}};
    gives(reduced, doc! {"a": ["x", "y"]}, "xy");
    assert_eq!(evaluate(doc! {"$let": {"vars": {"x": 1, "y": "$$x"}, "in": 1}}, doc! {}), Err(17276));
    gives(doc! {"$let": {"vars": {"CURRENT": "$a"}, "in": "$b"}}, doc! {"a": {"b": 5}}, 5);
}

#[test]
fn missing_is_not_null() {
    gives(doc! {"$eq": ["$a", Bson::Null]}, doc! {}, false);
    gives(doc! {"$lt": ["$a", Bson::Null]}, doc! {}, true);
    gives(doc! {"x": "$a", "y": ["$a"]}, doc! {}, doc! {"y": [Bson::Null]});
    gives(doc! {"$type": "$a"}, doc! {}, "missing");
    gives(doc! {"$ifNull": ["$a", 3]}, doc! {}, 3);
}

#[test]
fn dates_keep_the_clock_of_their_zone() {
    let start = bson::DateTime::from_millis(1_583_566_200_000);
    let add =
        |unit: &str| doc! {"$dateAdd": {"startDate": "$d", "unit": unit, "amount": 1, "timezone": "America/New_York"}};
    // 2020-03-07T07:30Z is 02:30 there; a day later that time is skipped.
    gives(add("day"), doc! {"d": start}, bson::DateTime::from_millis(1_583_652_600_000));
    gives(add("month"), doc! {"d": start}, bson::DateTime::from_millis(1_586_241_000_000));
    gives(doc! {"$hour": {"date": "$d", "timezone": "+05:30"}}, doc! {"d": start}, 13);
}

#[test]
fn dependencies_name_what_is_read() {
    let spec =
        DocBuf::from_bson(&doc! {"e": {"$let": {"vars": {"x": "$a.b"}, "in": {"$add": ["$$x.c", "$d"]}}}}).expect("e");
    let expression =
        Expression::parse(spec.doc().get("e").unwrap_or(Value::Null), &mut ParseContext::new()).expect("e");
    let dependencies = expression.dependencies();
    assert!(!dependencies.whole_document);
    assert_eq!(dependencies.paths.into_iter().collect::<Vec<_>>(), ["a.b", "d"]);
}
