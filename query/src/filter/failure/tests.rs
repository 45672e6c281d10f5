//! What is told where a full explanation cannot be; the explanations themselves are compared with MongoDB's in
//! `tests/it/validation_details.rs`.

use bindery_document::DocBuf;
use bson::doc;

use super::explain;
use crate::filter::ParseContext;

#[test]
fn a_long_explanation_is_told_in_brief() {
    let document = DocBuf::from_bson(&doc! {"_id": 1, "a": "x".repeat(super::MAX_BYTES)}).expect("a document");
    let filter = DocBuf::from_bson(&doc! {"a": {"$lt": 5}}).expect("a filter");
    let brief = DocBuf::from_bson(&doc! {"operatorName": "$lt", "reason": "comparison failed"}).expect("a document");
    assert_eq!(explain(filter.doc(), document.doc(), &ParseContext::new()), brief);
}

#[test]
fn what_has_no_explanation_is_an_error() {
    let filter = DocBuf::from_bson(&doc! {"$or": [{"a": 1}, {"$alwaysFalse": 1}]}).expect("a filter");
    let details = explain(filter.doc(), DocBuf::new().doc(), &ParseContext::new());
    assert_eq!(details.doc().get("code").and_then(|code| code.as_exact_i64()), Some(4_994_600));
}
