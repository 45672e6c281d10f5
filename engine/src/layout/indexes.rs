//! Indexes that are asked for on logical fields, as indexes of stored documents.

use bindery_document::{Error, Result, code};
use bindery_patterns::Layout;
use bindery_query::filter::{Filter, ParseContext};

use super::{LayoutCollection, series};
use crate::collection::IndexSpec;

/// Makes a logical index specification one of stored documents.
///
/// # Errors
/// 67 for keys and filters that the stored form has no equal of.
pub(crate) fn translate(collection: &LayoutCollection, spec: &mut IndexSpec) -> Result<()> {
    if let (Some(_), Layout::Bucket(bucket)) = (&collection.series, &*collection.layout) {
        return series::translate(&collection.layout, bucket, spec);
    }
    if spec.is_id_key() {
        return Ok(());
    }
    let name = collection.layout.name();
    let refused = |what: String| Err(Error::new(code::CANNOT_CREATE_INDEX, format!("the layout '{name}' {what}")));
    if spec.unique && !collection.layout.is_one_to_one() {
        return refused("cannot keep an index unique".to_owned());
    }
    if let Some(partial) = &spec.partial {
        let filter = Filter::parse(partial.doc(), &ParseContext::default())?;
        let pruned = collection.layout.prune(&filter);
        if !pruned.exact || pruned.filter != filter {
            return refused("stores fields of the partial filter in another form".to_owned());
        }
    }
    match collection.layout.index_key(spec.key.doc()) {
        Some(key) => {
            spec.key = key;
            Ok(())
        }
        None => refused(format!("has no index on {:?}: it stores these fields in another form", spec.key)),
    }
}
