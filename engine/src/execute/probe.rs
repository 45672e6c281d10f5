//! A field's value looked up again and again, without a plan for each: what `$lookup` does for each of its documents.
//!
//! The collection is looked up by its name each time, as its documents are when they are read; the index is chosen anew
//! when the collection has changed in between. Values that a key alone cannot answer (null, arrays) are left to a plan.

use std::sync::Arc;
use std::time::Instant;

use bindery_document::{Doc, Path, Result, Value};
use bindery_index::RecordId;
use bindery_index::key::{KeyBuilder, record_id};
use bindery_index::keygen::PatternKind;
use bindery_index::tree::Cursor;
use bindery_query::pipeline::{Probe, Sink};
use bindery_query::projection::Metadata;

use super::index_scan::corrupt;
use super::stream::{SharedTrace, recorded};
use crate::collection::{Index, State};
use crate::command::Target;
use crate::database::Inner;
use crate::trace::Cx;

pub(crate) struct IndexProbe {
    server: Arc<Inner>,
    database: String,
    collection: String,
    path: Path,
    deadline: Option<Instant>,
    trace: SharedTrace,
    /// The state that was read last, and its index for the path, if it has one.
    chosen: Option<(Arc<State>, Option<usize>)>,
    key: KeyBuilder,
}

impl IndexProbe {
    pub(crate) fn new(
        server: Arc<Inner>,
        database: &str,
        collection: &str,
        path: &Path,
        deadline: Option<Instant>,
        trace: SharedTrace,
    ) -> IndexProbe {
        IndexProbe {
            server,
            database: database.to_owned(),
            collection: collection.to_owned(),
            path: path.clone(),
            deadline,
            trace,
            chosen: None,
            key: KeyBuilder::new(),
        }
    }

    /// The collection as it is now, and the position of the index to use.
    fn choose(&mut self) -> Option<(Arc<State>, usize)> {
        let Target::Collection(collection) = self.server.target(&self.database, &self.collection) else {
            return None;
        };
        let state = collection.snapshot();
        let index = match &self.chosen {
            Some((known, index)) if Arc::ptr_eq(known, &state) => *index,
            _ => {
                let found = index_of(&state, &self.path);
                self.chosen = Some((Arc::clone(&state), found));
                found
            }
        };
        Some((state, index?))
    }
}

impl Probe for IndexProbe {
    fn find(&mut self, value: &Value<'_>, sink: &mut Sink<'_>) -> Result<bool> {
        if !is_told_by_key(value) {
            return Ok(false);
        }
        let Some((state, index)) = self.choose() else {
            return Ok(false);
        };
        let index = &state.indexes[index];
        recorded(self.deadline, &self.trace, |cx| {
            if index.meta.is_id {
                if let Some(record_id) = index.find_one(value, &mut cx.visitor)? {
                    examine(&state, record_id, cx, sink)?;
                }
                return Ok(());
            }
            self.key.clear();
            index.meta.append_value(0, value, &mut self.key);
            let prefix = self.key.as_bytes();
            let mut cursor = Cursor::new(&index.tree);
            let mut found = cursor.seek(prefix, &mut cx.visitor);
            while found && cursor.key().starts_with(prefix) {
                cx.step()?;
                let record_id = record_id(cursor.key()).map_err(corrupt)?;
                if !examine(&state, record_id, cx, sink)? {
                    break;
                }
                found = cursor.next(&mut cx.visitor);
            }
            Ok(())
        })?;
        Ok(true)
    }
}

/// Hands a record over; false if no more are wanted.
fn examine(state: &State, record_id: RecordId, cx: &mut Cx<'_>, sink: &mut Sink<'_>) -> Result<bool> {
    cx.work.keys_examined += 1;
    let Some(bytes) = state.records.get(record_id, &mut cx.visitor) else {
        return Ok(true);
    };
    cx.work.docs_examined += 1;
    cx.work.doc_bytes += bytes.len() as u64;
    Ok(sink(Doc::from_stored(bytes), Metadata::default())?.is_continue())
}

/// Whether a document equals the value if, and only if, an index holds the value's key for it.
fn is_told_by_key(value: &Value<'_>) -> bool {
    value.kind().is_number()
        || matches!(
            value,
            Value::String(_)
                | Value::ObjectId(_)
                | Value::Boolean(_)
                | Value::DateTime(_)
                | Value::Timestamp(_)
                | Value::Binary { .. }
        )
}

/// The index that begins with a path and has every document, each once for a value; of several the one with the
/// fewest fields.
fn index_of(state: &State, path: &Path) -> Option<usize> {
    // A number is a position in some documents and a name in others.
    if path.components().iter().any(|component| component.is_numeric()) {
        return None;
    }
    let n_fields = |index: &Index| index.meta.pattern().fields().len();
    let answers = |index: &Index| {
        let meta = &index.meta;
        meta.pattern().kind() == PatternKind::Ordered
            && meta.spec.key.doc().first().is_some_and(|first| first.key == path.as_str().as_bytes())
            && meta.partial.is_none()
            && meta.collation.is_none()
            && !meta.spec.hidden
            // With more fields, a sparse index may leave out what has this one only.
            && (n_fields(index) == 1 || !index.is_multikey && !meta.spec.sparse)
    };
    let (place, _) = state
        .indexes
        .iter()
        .enumerate()
        .filter(|(_, index)| answers(index))
        .min_by_key(|(_, index)| n_fields(index))?;
    Some(place)
}
