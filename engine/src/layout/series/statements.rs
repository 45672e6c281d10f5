//! What `update` and `delete` may ask of a time-series collection: the meta field only, of all that match.

use bindery_document::{Doc, Error, Result, Value, code};
use bindery_patterns::bucket::Bucket;
use bindery_query::filter::Filter;

use super::Series;
use crate::command::Statement;
use crate::execute::Question;

fn invalid(why: &str) -> Error {
    Error::new(code::INVALID_OPTIONS, why)
}

/// Checks a statement of an `update`.
///
/// # Errors
/// 72 for what time-series collections do not take; what the filter's parser says.
pub(crate) fn check_update(
    series: &Series,
    bucket: &Bucket,
    statement: &Statement<'_>,
    filter: impl FnOnce() -> Result<Filter>,
) -> Result<()> {
    if series.meta.is_none() {
        return Err(invalid("Cannot perform an update on a time-series collection that does not have a metaField"));
    }
    if !statement.multi {
        return Err(invalid("Cannot perform a non-multi update on a time-series collection"));
    }
    if statement.upsert {
        return Err(invalid("Cannot perform an upsert on a time-series collection"));
    }
    let Value::Document(update) = statement.update else {
        return Err(invalid("Cannot perform an update on a time-series collection using a pipeline update"));
    };
    if !update.first().is_some_and(|operator| operator.key.starts_with(b"$")) {
        return Err(invalid("Cannot perform an update on a time-series collection using a replacement document"));
    }
    check_filter(bucket, &filter()?)?;
    for operator in update {
        let Value::Document(fields) = operator.value() else { continue };
        for field in fields {
            let renamed = field.value().as_str().filter(|_| operator.key == b"$rename");
            if !bucket.is_meta_path(field.key_str()) || renamed.is_some_and(|to| !bucket.is_meta_path(to)) {
                return Err(invalid(
                    "Cannot perform an update on a time-series collection which updates a field that is not the \
                     metaField",
                ));
            }
        }
    }
    Ok(())
}

/// Checks a statement of a `delete`.
///
/// # Errors
/// 20 for one that deletes one document at most, 72 for a query on other fields than the meta field; what the
/// filter's parser says.
pub(crate) fn check_delete(
    series: &Series,
    bucket: &Bucket,
    question: &Question<'_>,
    filter: impl FnOnce() -> Result<Filter>,
) -> Result<()> {
    if question.limit.is_some() {
        return Err(Error::new(
            code::ILLEGAL_OPERATION,
            "Cannot perform a non-multi delete on a time-series collection",
        ));
    }
    if series.meta.is_none() && !Doc::is_empty(question.filter) {
        return Err(invalid(
            "Cannot perform a delete with a non-empty query on a time-series collection that does not have a metaField",
        ));
    }
    check_filter(bucket, &filter()?)
}

fn check_filter(bucket: &Bucket, filter: &Filter) -> Result<()> {
    match filter {
        Filter::And(parts) | Filter::Or(parts) | Filter::Nor(parts) => {
            parts.iter().try_for_each(|part| check_filter(bucket, part))
        }
        Filter::Not(part) => check_filter(bucket, part),
        Filter::Expr(_) => {
            Err(invalid("Cannot use $expr when performing an update or delete on a time-series collection"))
        }
        _ => match filter.path() {
            Some(path) if !bucket.is_meta_path(path.as_str()) => Err(invalid(
                "Cannot perform an update or delete on a time-series collection when querying on a field that is not \
                 the metaField",
            )),
            _ => Ok(()),
        },
    }
}
