//! Query operators that mean whole documents, where a query is about something smaller.
//!
//! `$expr`, `$jsonSchema`, `$where` and `$text` are refused in array filters, in `$pull`, in the `$elemMatch`
//! projection, and in the query of a positional projection; `$expr` alone in the query of an upsert. The
//! query is parsed first: what is wrong with it otherwise is reported before this.

use bindery_document::{Builder, Doc, Element, Error, Result, Value, code};

use crate::filter::{Filter, ParseContext};

/// Checks that a query has no such operator, at whatever depth.
///
/// # Errors
/// [`code::QUERY_FEATURE_NOT_ALLOWED`] for `$expr` and `$jsonSchema`, [`code::BAD_VALUE`] for `$where` and
/// `$text`.
pub fn refuse_special_operators(query: Doc<'_>) -> Result<()> {
    for element in query {
        let refused =
            |error_code| Err(Error::new(error_code, format!("{} is not allowed in this context", element.key_str())));
        match element.key {
            b"$expr" | b"$jsonSchema" => return refused(code::QUERY_FEATURE_NOT_ALLOWED),
            b"$where" | b"$text" => return refused(code::BAD_VALUE),
            b"$and" | b"$or" | b"$nor" => {
                for branch in branches(element.value()) {
                    refuse_special_operators(branch)?;
                }
            }
            b"$elemMatch" | b"$not" => {
                if let Value::Document(inner) = element.value() {
                    refuse_special_operators(inner)?;
                }
            }
            _ => {
                for condition in element.value().as_document().into_iter().flatten() {
                    if let (b"$elemMatch" | b"$not", Value::Document(inner)) = (condition.key, condition.value()) {
                        refuse_special_operators(inner)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Checks that the query of an upsert has no `$expr`. As this is found while the query is parsed, what is wrong
/// with the fields before it is reported first, and what is wrong behind it is not.
///
/// # Errors
/// [`code::QUERY_FEATURE_NOT_ALLOWED`]; those of the query language.
pub fn refuse_expr_in_upsert(query: Doc<'_>, context: &ParseContext) -> Result<()> {
    let mut before = Builder::new();
    for element in query {
        if has_expr(element) {
            Filter::parse(before.finish().doc(), context)?;
            return Err(Error::new(
                code::QUERY_FEATURE_NOT_ALLOWED,
                "$expr is not allowed in the query predicate for an upsert",
            ));
        }
        before.append_element(element);
    }
    Ok(())
}

fn has_expr(element: Element<'_>) -> bool {
    match element.key {
        b"$expr" => true,
        b"$and" | b"$or" | b"$nor" => branches(element.value()).flatten().any(has_expr),
        _ => false,
    }
}

/// The documents in an array of them.
fn branches(value: Value<'_>) -> impl Iterator<Item = Doc<'_>> {
    value.as_array().into_iter().flatten().filter_map(|branch| branch.value().as_document())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::doc;

    fn refused(query: bson::Document) -> Option<i32> {
        refuse_special_operators(DocBuf::from_bson(&query).expect("document").doc()).err().map(|error| error.code)
    }

    #[test]
    fn they_are_found_at_any_depth() {
        assert_eq!(refused(doc! {"a": 1, "$or": [{"b": 1}, {"$and": [{"$expr": true}]}]}), Some(224));
        assert_eq!(refused(doc! {"a": {"$not": {"$elemMatch": {"$jsonSchema": {}}}}}), Some(224));
        assert_eq!(refused(doc! {"$where": "1"}), Some(2));
        assert_eq!(refused(doc! {"a": {"$eq": {"$expr": 1}}, "b": {"expr": 1}}), None);
    }

    #[test]
    fn upserts_refuse_only_expressions() {
        let code = |query: bson::Document| {
            let query = DocBuf::from_bson(&query).expect("document");
            refuse_expr_in_upsert(query.doc(), &ParseContext::new()).err().map(|error| error.code)
        };
        assert_eq!(code(doc! {"$nor": [{"a": 1}, {"$expr": true}]}), Some(224));
        assert_eq!(code(doc! {"$jsonSchema": {}}), None);
        assert_eq!(code(doc! {"$expr": true, "a": {"$foo": 1}}), Some(224));
        assert_eq!(code(doc! {"a": {"$foo": 1}, "$expr": true}), Some(2));
    }
}
