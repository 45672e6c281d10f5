//! Expiry: documents older than their collection's TTL indexes allow are deleted when told.
//!
//! MongoDB has a thread that does this once a minute. Here the owner of the database says when, so that it
//! depends on the [clock](crate::Clock) alone. Each index's documents are found through the planner, as any
//! filter's are.
//!
//! Source: MongoDB's manual, "TTL Indexes": a document expires when its date, or the earliest of an array's,
//! is older than the index allows; what is no date never does.

use std::sync::Arc;

use bindery_document::{Builder, DocBuf, Result, Value};

use crate::catalog::Entry;
use crate::collection::{Collection, State};
use crate::database::Inner;
use crate::execute::{Question, matching_records};
use crate::layout::LayoutCollection;
use crate::trace::Cx;
use crate::write;

/// Deletes everything that has expired by now, and says how many documents that were.
///
/// # Errors
/// None but faults of ours.
pub(crate) fn expire(server: &Inner, cx: &mut Cx<'_>) -> Result<u64> {
    let collections: Vec<Arc<Collection>> = {
        let catalog = server.catalog.read();
        let entries = catalog.databases().flat_map(|(_, entries)| entries.values());
        entries
            .filter_map(|entry| match entry {
                Entry::Collection(collection) => Some(Arc::clone(collection)),
                // Layouts have no indexes that expire documents; buckets of time-series collections follow.
                Entry::Layout(_) | Entry::View(_) => None,
            })
            .collect()
    };
    let series: Vec<Arc<LayoutCollection>> = {
        let catalog = server.catalog.read();
        let entries = catalog.databases().flat_map(|(_, entries)| entries.values());
        entries
            .filter_map(|entry| match entry {
                Entry::Layout(layout) if layout.series.is_some() => Some(Arc::clone(layout)),
                _ => None,
            })
            .collect()
    };
    let mut deleted = 0;
    for layout in series {
        deleted += layout.expire(server.now_millis(), cx)?;
    }
    for collection in collections {
        // Nobody else may write between the look for what expired and its deletion.
        let mut guard = collection.lock_for_writing();
        let filters = filters(&guard.peek(), server.now_millis());
        for filter in filters {
            let records = matching_records(server, &guard, &Question::new(filter.doc()), cx)?;
            for record_id in records.records {
                deleted += u64::from(write::delete(&mut guard, record_id, cx)?);
            }
            if let Some(failure) = records.failure {
                return Err(failure);
            }
        }
    }
    Ok(deleted)
}

/// For each way in which documents of the collection expire, the filter of those that have.
fn filters(state: &State, now_millis: i64) -> Vec<DocBuf> {
    if state.options.capped.is_some() {
        return Vec::new();
    }
    let mut filters = Vec::new();
    if let Some(seconds) = state.options.expire_after_seconds {
        filters.push(older_than("_id", now_millis, seconds, None));
    }
    for index in &state.indexes {
        let spec = &index.meta.spec;
        let (Some(seconds), Some(field)) = (spec.expire_after_seconds, spec.key.doc().first()) else { continue };
        // A hashed key tells nothing of the date's age.
        if field.value().as_f64().is_some() {
            filters.push(older_than(field.key_str(), now_millis, seconds, spec.partial.as_ref()));
        }
    }
    filters
}

/// `$lte` compares dates with dates only, and holds for an array when it does for an element.
fn older_than(path: &str, now_millis: i64, seconds: i64, partial: Option<&DocBuf>) -> DocBuf {
    let oldest = now_millis.saturating_sub(seconds.saturating_mul(1000));
    let mut filter = Builder::new();
    let branches = filter.open_array("$and");
    let branch = filter.open_document("0");
    let condition = filter.open_document(path);
    filter.append("$lte", Value::DateTime(oldest));
    filter.close(condition);
    filter.close(branch);
    if let Some(partial) = partial {
        filter.append_index(1, Value::Document(partial.doc()));
    }
    filter.close(branches);
    filter.finish()
}
