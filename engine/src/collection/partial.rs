//! What a partial index's filter may hold.
//!
//! Source: MongoDB's manual, "Partial Indexes": equality, `$exists: true`, `$gt` and its kin, `$type`, `$and`,
//! and since 6.0 `$or` and `$in`; what else is there is refused with the server's codes.

use bindery_document::{Doc, Error, Result, Value, code};

/// # Errors
/// 67 for operators that partial filters may not have, 224 for those that only full filters have, 2 for text.
pub(crate) fn check(filter: Doc<'_>) -> Result<()> {
    level(filter)
}

fn level(filter: Doc<'_>) -> Result<()> {
    for element in filter.iter() {
        let name = element.key_str();
        match (name, element.value()) {
            ("$and" | "$or", Value::Array(branches)) => {
                for branch in branches.iter() {
                    if let Value::Document(branch) = branch.value() {
                        level(branch)?;
                    }
                }
            }
            ("$expr" | "$jsonSchema", _) => {
                return Err(Error::new(
                    code::QUERY_FEATURE_NOT_ALLOWED,
                    format!("{name} is not allowed in a partial filter"),
                ));
            }
            ("$text" | "$where", _) => {
                return Err(Error::new(code::BAD_VALUE, format!("{name} is not allowed in this context")));
            }
            ("$comment", _) => {}
            (name, _) if name.starts_with('$') => return Err(refused(name)),
            (_, Value::Document(operators)) => field(operators)?,
            (_, Value::Regex { .. }) => return Err(refused("$regex")),
            _ => {}
        }
    }
    Ok(())
}

fn field(operators: Doc<'_>) -> Result<()> {
    for element in operators.iter() {
        match (element.key_str(), element.value()) {
            ("$exists", value) if value.is_truthy() => {}
            ("$eq" | "$gt" | "$gte" | "$lt" | "$lte" | "$type" | "$in", _) => {}
            ("$elemMatch" | "$not", Value::Document(_)) => return Err(refused(element.key_str())),
            (name, _) if name.starts_with('$') => return Err(refused(name)),
            _ => {}
        }
    }
    Ok(())
}

fn refused(operator: &str) -> Error {
    Error::new(code::CANNOT_CREATE_INDEX, format!("unsupported expression in partial index: {operator}"))
}
