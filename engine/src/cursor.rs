//! Cursors that live on the server between `find`, `aggregate` and `getMore`.
//!
//! A cursor owns the snapshot it reads, so that it sees one moment however long it lives. While a
//! `getMore` runs, its cursor is taken out of the registry; there is no lock held meanwhile.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bindery_document::{Builder, Doc, Error, Result, Value, code};
use bindery_query::pipeline::Sink;
use bindery_query::projection::Metadata;
use parking_lot::Mutex;

use crate::trace::Cx;

/// The bytes that a batch may hold; one document more than fits is left for the next.
const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// The largest document that a reply may hold: 16 MiB, and 16 KiB that MongoDB keeps for its own fields.
const REPLY_DOCUMENT_BYTES: usize = BATCH_BYTES + 16 * 1024;

/// The number of documents in a first batch when the client does not say.
pub(crate) const FIRST_BATCH: u64 = 101;

/// Result documents, one at a time.
pub(crate) trait Rows: Send {
    /// Moves to the next document; false at the end.
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool>;
    /// The document moved to.
    fn current(&self) -> Doc<'_>;
    /// Hands over the documents that are left, until the sink takes no more.
    fn drain(&mut self, cx: &mut Cx<'_>, sink: &mut Sink<'_>) -> Result<()> {
        drain_singly(self, cx, sink)
    }
    /// Whether it is known that there are no further documents, without looking for one. As on the server that is so
    /// behind a limit and after a look-up by `_id`, while scans and sorts find out only when they are asked for more.
    fn is_at_end(&self) -> bool {
        false
    }
    /// Whether documents may come after the end.
    fn stays_open(&self) -> bool {
        false
    }
    /// Gets ready for another batch.
    ///
    /// # Errors
    /// 136 if the place to go on from is gone.
    fn resume(&mut self) -> Result<()> {
        Ok(())
    }
    /// Sleeps until a document may have come, at its end, or the time has passed.
    fn wait(&self, _at_most: Duration) {}
}

/// Moves from document to document and hands each over.
pub(crate) fn drain_singly(rows: &mut (impl Rows + ?Sized), cx: &mut Cx<'_>, sink: &mut Sink<'_>) -> Result<()> {
    while rows.advance(cx)? {
        if sink(rows.current(), Metadata::default())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Result documents that are there already.
pub(crate) struct Buffered {
    rows: std::vec::IntoIter<bindery_document::DocBuf>,
    current: bindery_document::DocBuf,
}

impl Buffered {
    pub(crate) fn new(rows: Vec<bindery_document::DocBuf>) -> Buffered {
        Buffered { rows: rows.into_iter(), current: bindery_document::DocBuf::new() }
    }
}

impl Rows for Buffered {
    fn advance(&mut self, _cx: &mut Cx<'_>) -> Result<bool> {
        Ok(self.rows.next().map(|row| self.current = row).is_some())
    }
    fn is_at_end(&self) -> bool {
        self.rows.len() == 0
    }
    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }
}

/// The results of a cursor whose collection is gone.
struct Killed {
    error: Error,
}

impl Rows for Killed {
    fn advance(&mut self, _cx: &mut Cx<'_>) -> Result<bool> {
        Err(self.error.clone())
    }
    fn current(&self) -> Doc<'_> {
        bindery_document::doc::EMPTY
    }
    fn resume(&mut self) -> Result<()> {
        Err(self.error.clone())
    }
}

/// A cursor and what it needs to go on.
pub(crate) struct ServerCursor {
    /// Database and collection, as `getMore` must name them.
    pub(crate) namespace: String,
    /// The results.
    pub(crate) rows: Box<dyn Rows>,
    /// Whether `rows` has moved to a document that did not fit the last batch.
    pub(crate) pending: bool,
    /// Whether a `getMore` at its end waits for documents to come.
    pub(crate) awaits: bool,
    /// Whether it is that of an aggregation.
    pub(crate) is_of_pipeline: bool,
}

impl ServerCursor {
    pub(crate) fn new(namespace: String, rows: Box<dyn Rows>) -> ServerCursor {
        ServerCursor { namespace, rows, pending: false, awaits: false, is_of_pipeline: false }
    }

    /// Whether there may be further documents.
    pub(crate) fn may_go_on(&self) -> bool {
        self.pending || !self.rows.is_at_end()
    }

    /// Appends up to `limit` documents as array elements; true when the results are at their end.
    pub(crate) fn fill(&mut self, limit: u64, out: &mut Builder, cx: &mut Cx<'_>) -> Result<bool> {
        let start = out.len();
        let mut count = 0;
        while count < limit {
            if !self.pending && !self.rows.advance(cx)? {
                return Ok(true);
            }
            let doc = self.rows.current();
            if count > 0 && out.len() - start + doc.as_bytes().len() > BATCH_BYTES {
                self.pending = true;
                return Ok(false);
            }
            if doc.as_bytes().len() > REPLY_DOCUMENT_BYTES {
                let message = format!("a result of {} bytes is larger than a document may be", doc.as_bytes().len());
                return Err(Error::new(code::BSON_OBJECT_TOO_LARGE, message));
            }
            self.pending = false;
            out.append_index(count as usize, bindery_document::Value::Document(doc));
            count += 1;
        }
        Ok(false)
    }
}

/// The open cursors of a database server.
#[derive(Default)]
pub(crate) struct Cursors {
    open: Mutex<HashMap<i64, ServerCursor>>,
    last: AtomicI64,
}

impl Cursors {
    /// Keeps a cursor and gives its id, which is never 0.
    pub(crate) fn keep(&self, cursor: ServerCursor) -> i64 {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.lock().insert(id, cursor);
        id
    }

    /// Takes a cursor out, for a `getMore` on this namespace.
    ///
    /// # Errors
    /// 43 for an id that is not open, 13 for one of another namespace.
    pub(crate) fn take(&self, id: i64, namespace: &str) -> Result<ServerCursor> {
        let mut open = self.open.lock();
        match open.remove(&id) {
            None => Err(Error::new(code::CURSOR_NOT_FOUND, format!("cursor id {id} not found"))),
            Some(cursor) if cursor.namespace != namespace => {
                let message = format!(
                    "Requested getMore on namespace '{namespace}', but cursor belongs to '{}'",
                    cursor.namespace
                );
                open.insert(id, cursor);
                Err(Error::new(code::UNAUTHORIZED, message))
            }
            Some(cursor) => Ok(cursor),
        }
    }

    /// Gives a cursor back after a `getMore` that did not end it.
    pub(crate) fn give_back(&self, id: i64, cursor: ServerCursor) {
        self.open.lock().insert(id, cursor);
    }

    /// Ends a cursor, of whatever namespace; false if it is not open.
    pub(crate) fn kill(&self, id: i64) -> bool {
        self.open.lock().remove(&id).is_some()
    }

    /// Ends the cursors of the namespaces that are meant: their next `getMore` fails and says why.
    pub(crate) fn doom(&self, is_meant: impl Fn(&str) -> bool, why: &str) {
        for cursor in self.open.lock().values_mut().filter(|cursor| is_meant(&cursor.namespace)) {
            cursor.rows = Box::new(Killed { error: Error::new(code::QUERY_PLAN_KILLED, why) });
            cursor.pending = false;
        }
    }

    /// The number of open cursors.
    pub(crate) fn len(&self) -> usize {
        self.open.lock().len()
    }
}

/// Writes `cursor: {<batch>: [...], id, ns}` with what fits the first batch, and keeps the rest.
pub(crate) fn reply_first_batch(
    cursors: &Cursors,
    mut cursor: ServerCursor,
    batch_size: u64,
    single_batch: bool,
    out: &mut Builder,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let reply = out.open_document("cursor");
    let batch = out.open_array("firstBatch");
    let done = cursor.fill(batch_size, out, cx)?;
    out.close(batch);
    let namespace = cursor.namespace.clone();
    let stays = cursor.rows.stays_open();
    let keep = !single_batch && (!done || stays);
    // The first batch of a pipeline is the last only if it met the end.
    let keep = keep && (batch_size == 0 || stays || cursor.is_of_pipeline || cursor.may_go_on());
    out.append("id", if keep { cursors.keep(cursor) } else { 0i64 });
    out.append("ns", namespace.as_str());
    out.close(reply);
    Ok(())
}

/// As [`reply_first_batch`], for commands that list something: they write `cursor: {id, ns, <batch>: [...]}`.
pub(crate) fn reply_listing(
    cursors: &Cursors,
    mut cursor: ServerCursor,
    batch_size: u64,
    out: &mut Builder,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut batch = Builder::new();
    let done = cursor.fill(batch_size, &mut batch, cx)?;
    let namespace = cursor.namespace.clone();
    let keep = !done && (batch_size == 0 || cursor.may_go_on());
    let reply = out.open_document("cursor");
    out.append("id", if keep { cursors.keep(cursor) } else { 0i64 });
    out.append("ns", namespace.as_str());
    out.append("firstBatch", Value::Array(batch.finish().doc()));
    out.close(reply);
    Ok(())
}
