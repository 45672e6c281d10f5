//! `system.buckets.<name>`: the buckets of a time-series collection, in the server's form, for readers.
//!
//! They are made from the stored ones when they are asked for, as a collection of their own; nothing of it is kept.

use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Error, OwnedValue, Result, code, order};
use bindery_index::Records;
use bindery_patterns::Layout;

use crate::collection::{Collection, Index, IndexSpec, State};
use crate::database::Inner;
use crate::layout::LayoutCollection;
use crate::trace::Cx;
use crate::write;

impl LayoutCollection {
    /// The buckets as a collection.
    ///
    /// # Errors
    /// None but faults of ours.
    pub(crate) fn buckets(&self, server: &Inner) -> Result<Arc<Collection>> {
        let (Layout::Bucket(bucket), Some(series)) = (&*self.layout, &self.series) else {
            return Err(Error::new(code::NAMESPACE_NOT_FOUND, "the collection is no time-series collection"));
        };
        // As on the server there is no index on `_id`, but the buckets lie in its order.
        let empty = State { records: Records::new(), indexes: Vec::new(), options: Arc::default() };
        let collection = Collection::new(server.new_uuid(), empty);
        let mut untraced = bindery_index::Untraced;
        let cx = &mut Cx::new(&mut untraced);
        {
            let mut guard = collection.lock_for_writing();
            let state = self.stored.snapshot();
            for index in state.indexes.iter().skip(self.fixed_indexes()) {
                guard.change().get().indexes.push(Index::new(shown(bucket, &index.meta.spec))?);
            }
            let mut cursor = state.records.cursor();
            let mut forms: Vec<DocBuf> = Vec::new();
            while let Some((_, stored)) = cursor.next(&mut cx.visitor) {
                forms.push(bucket.server_form(Doc::from_stored(stored), series.granularity.rounding_millis()));
            }
            let id = |form: &DocBuf| form.doc().get("_id").map(OwnedValue::new);
            forms.sort_by(|a, b| match (id(a), id(b)) {
                (Some(a), Some(b)) => order::compare(&a.value(), &b.value()),
                _ => std::cmp::Ordering::Equal,
            });
            for form in forms {
                write::insert(&mut guard, form.doc(), true, cx)?;
            }
        }
        Ok(Arc::new(collection))
    }
}

/// An index as it would be on the server's form.
fn shown(bucket: &bindery_patterns::bucket::Bucket, spec: &IndexSpec) -> IndexSpec {
    let mut shown = spec.clone();
    if let Some(declared) = shown.declared.take() {
        shown.key = bucket.server_index_key(declared.key.doc());
        // The filter speaks of stored fields that are not there in this form; a whole index answers as well.
        shown.partial = None;
    }
    shown
}
