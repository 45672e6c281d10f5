//! Indexes of time-series collections: on the meta field, the time, and measurements, of which the bounds are indexed.

use bindery_document::{Doc, Error, Result, Value, code};
use bindery_patterns::Layout;
use bindery_patterns::bucket::Bucket;
use bindery_query::filter::{Filter, ParseContext};

use crate::collection::{Declared, IndexSpec};

/// The checks that come before an index specification is read.
///
/// # Errors
/// 72 for a text index.
pub(crate) fn check_specs(specs: Doc<'_>) -> Result<()> {
    let is_text = |spec: &Value<'_>| match spec.as_document().and_then(|spec| spec.get("key")) {
        Some(Value::Document(key)) => key.iter().any(|part| part.value().as_str() == Some("text")),
        _ => false,
    };
    match specs.iter().any(|spec| is_text(&spec.value())) {
        true => Err(Error::new(code::INVALID_OPTIONS, "Text indexes are not supported on time-series collections")),
        false => Ok(()),
    }
}

/// Makes a specification one of buckets; what it was is kept, to be shown.
///
/// # Errors
/// 72 and 67 for what time-series collections cannot index, 2 for the name of the index on `_id`.
pub(crate) fn translate(layout: &Layout, bucket: &Bucket, spec: &mut IndexSpec) -> Result<()> {
    let invalid = |why: &str| Err(Error::new(code::INVALID_OPTIONS, why));
    let cannot = |why: String| Err(Error::new(code::CANNOT_CREATE_INDEX, why));
    if spec.unique {
        return invalid("Unique indexes are not supported on time-series collections");
    }
    if spec.expire_after_seconds.is_some() {
        return invalid("TTL indexes are not supported on time-series collections");
    }
    if spec.name == "_id_" {
        return Err(Error::new(code::BAD_VALUE, "The index name '_id_' is reserved for the _id index"));
    }
    for part in spec.key.doc() {
        let path = part.key_str();
        if bucket.is_meta_path(path) {
            continue;
        }
        if part.value().as_str().is_some() {
            return cannot(format!("Indexes on '{path}' of a time-series collection must be ascending or descending"));
        }
        if path.ends_with("$**") {
            return cannot("wildcard indexes do not allow compounding".to_owned());
        }
        if spec.says_sparse() && !bucket.is_time_path(path) {
            return invalid("Sparse indexes are not supported on time-series measurements");
        }
    }
    let declared = Declared { key: spec.key.clone(), partial: spec.partial.clone() };
    if let Some(partial) = &spec.partial {
        // Buckets with a match are in the index; a question that implies the filter asks for no others.
        let filter = Filter::parse(partial.doc(), &ParseContext::default())?;
        spec.partial = match layout.prune(&filter).filter {
            Filter::AlwaysTrue => None,
            pruned => Some(pruned.to_document()),
        };
    }
    if let Some(key) = layout.index_key(spec.key.doc()) {
        spec.key = key;
    }
    spec.declared = Some(Box::new(declared));
    Ok(())
}
