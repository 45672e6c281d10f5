//! Tailable cursors: the documents of a capped collection in the order of insertion, and those that come
//! after, for as long as the cursor lives.
//!
//! Unlike other cursors, this one moves to a new snapshot with each `getMore`. It remembers the record it
//! stood on last; if that was dropped to make room meanwhile, nobody can say what was missed, and it fails.
//!
//! Source: MongoDB's manual, "Tailable Cursors".

use std::sync::Arc;
use std::time::Duration;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_index::RecordId;
use bindery_index::records;
use bindery_query::plan::Query;

use super::project::project;
use super::question::Question;
use super::rows::FindRows;
use crate::collection::{Collection, State};
use crate::cursor::Rows;
use crate::database::Inner;
use crate::trace::Cx;

/// The documents of a tailable `find` in another order than that of insertion: what was there when it began.
/// It stays open, as a client of a tailable cursor expects, but nothing comes later.
pub(crate) struct LingeringRows(pub(crate) FindRows);

impl Rows for LingeringRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        self.0.advance(cx)
    }
    fn current(&self) -> Doc<'_> {
        self.0.current()
    }
    fn stays_open(&self) -> bool {
        true
    }
}

/// The documents of a tailable `find`.
pub(crate) struct TailRows {
    collection: Arc<Collection>,
    state: Arc<State>,
    cursor: records::Cursor,
    query: Query,
    show_record_id: bool,
    /// The record stood on last, whether or not it matched.
    last: Option<RecordId>,
    /// Matching documents still to be passed over.
    skip: u64,
    /// Matching documents still to be given.
    limit: Option<u64>,
    current: DocBuf,
}

impl TailRows {
    /// # Errors
    /// What the languages say.
    pub(crate) fn open(server: &Inner, collection: Arc<Collection>, question: &Question<'_>) -> Result<TailRows> {
        let state = collection.snapshot();
        let query = question.compile(&server.scope(), Some(&state))?;
        Ok(TailRows {
            cursor: state.records.cursor(),
            show_record_id: question.shows_record_id(),
            last: None,
            skip: query.skip,
            limit: query.limit,
            current: DocBuf::new(),
            collection,
            state,
            query,
        })
    }
}

impl Rows for TailRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.limit == Some(0) {
            return Ok(false);
        }
        while let Some((record_id, bytes)) = self.cursor.next(&mut cx.visitor) {
            self.last = Some(record_id);
            cx.step()?;
            cx.work.docs_examined += 1;
            cx.work.doc_bytes += bytes.len() as u64;
            let document = Doc::from_stored(bytes);
            if !self.query.filter.matches(document)? {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            let mut shown = match &self.query.shape {
                Some(shape) => project(shape, document)?,
                None => DocBuf::from(document),
            };
            if self.show_record_id {
                let mut builder = Builder::new();
                for element in shown.doc().iter() {
                    builder.append_element(element);
                }
                builder.append("$recordId", Value::Int64(record_id.0 as i64));
                shown = builder.finish();
            }
            self.current = shown;
            self.limit = self.limit.map(|left| left - 1);
            return Ok(true);
        }
        Ok(false)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }

    /// A cursor that never stood on a record has no place to go on from. One at its limit waits for nothing, but
    /// is open all the same.
    fn stays_open(&self) -> bool {
        self.last.is_some()
    }

    fn resume(&mut self) -> Result<()> {
        let state = self.collection.snapshot();
        if let Some(last) = self.last {
            if !state.records.contains(last) {
                return Err(Error::new(
                    code::CAPPED_POSITION_LOST,
                    format!("the record that the tailable cursor stood on ({last:?}) is gone"),
                ));
            }
            self.cursor = state.records.cursor_at(RecordId(last.0 + 1));
        }
        self.state = state;
        Ok(())
    }

    fn wait(&self, at_most: Duration) {
        self.collection.wait_for_records(self.state.records.next_id(), at_most);
    }
}
