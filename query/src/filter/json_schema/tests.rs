use crate::filter::{Filter, ParseContext};
use bindery_document::DocBuf;
use bson::{Document, doc};

fn matches(schema: Document, document: Document) -> bool {
    let filter = DocBuf::from_bson(&doc! {"$jsonSchema": schema}).expect("filter");
    let document = DocBuf::from_bson(&document).expect("document");
    let filter = Filter::parse(filter.doc(), &ParseContext::new()).expect("schema");
    filter.matches(document.doc()).expect("no failure")
}

fn code(schema: Document) -> i32 {
    let filter = DocBuf::from_bson(&doc! {"$jsonSchema": schema}).expect("filter");
    Filter::parse(filter.doc(), &ParseContext::new()).expect_err("an error").code
}

fn property(schema: Document, value: impl Into<bson::Bson>) -> bool {
    matches(doc! {"properties": {"a": schema}}, doc! {"a": value.into()})
}

#[test]
fn keywords_restrict_their_own_type_only() {
    assert!(
        property(doc! {"minimum": 5}, 5) && !property(doc! {"minimum": 5}, 4) && property(doc! {"minimum": 5}, "x")
    );
    assert!(!property(doc! {"minimum": 5, "exclusiveMinimum": true}, 5));
    assert!(property(doc! {"minLength": 2}, "日本") && !property(doc! {"maxLength": 1}, "日本"));
    assert!(property(doc! {"minItems": 1}, 7) && !property(doc! {"minItems": 1}, bson::Bson::Array(vec![])));
    assert!(matches(doc! {"properties": {"a": {"bsonType": "int"}}}, doc! {}));
    assert!(property(doc! {"multipleOf": 0.5}, 2.5) && !property(doc! {"multipleOf": 2}, 3));
}

#[test]
fn objects_and_items_nest() {
    let schema = doc! {"properties": {"a": {"items": {"bsonType": "object", "required": ["x"]}}}};
    assert!(matches(schema.clone(), doc! {"a": [{"x": 1}]}));
    assert!(!matches(schema.clone(), doc! {"a": [{"y": 1}]}));
    assert!(!matches(schema, doc! {"a": [1]}));
    let closed = doc! {"properties": {"_id": {}}, "patternProperties": {"^n": {"bsonType": "int"}}, "additionalProperties": false};
    assert!(matches(closed.clone(), doc! {"_id": 1, "n1": 2}));
    assert!(!matches(closed.clone(), doc! {"n1": "x"}) && !matches(closed, doc! {"m": 1}));
}

#[test]
fn unique_items_and_enum_ignore_the_order_of_fields() {
    let value = bson::bson!([{"a": 1, "b": 2}, {"b": 2, "a": 1}]);
    assert!(!property(doc! {"uniqueItems": true}, value));
    assert!(property(doc! {"enum": [{"a": 1, "b": 2}]}, doc! {"b": 2, "a": 1}));
}

#[test]
fn schemas_combine() {
    assert!(!matches(doc! {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, doc! {"a": 1, "b": 1}));
    assert!(matches(doc! {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, doc! {"b": 1}));
    assert!(!matches(doc! {"not": {}}, doc! {}));
    assert!(!matches(doc! {"dependencies": {"a": ["b"]}}, doc! {"a": 1}));
    assert!(matches(doc! {"dependencies": {"a": {"required": ["b"]}}}, doc! {"c": 1}));
}

#[test]
fn malformed_schemas_are_refused_with_their_codes() {
    assert_eq!(code(doc! {"foo": 1}), 9);
    assert_eq!(code(doc! {"required": []}), 9);
    assert_eq!(code(doc! {"required": "a"}), 14);
    assert_eq!(code(doc! {"type": "int"}), 2);
    assert_eq!(code(doc! {"anyOf": []}), 2);
    assert_eq!(code(doc! {"type": "object", "bsonType": "object"}), 9);
    assert_eq!(code(doc! {"properties": {"a": {"pattern": "("}}}), 51091);
}
