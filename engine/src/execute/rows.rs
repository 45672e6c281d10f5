//! Running plans as what commands want of them: a cursor's documents, or record ids to write to.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value};
use bindery_index::RecordId;
use bindery_query::pipeline::Sink;
use bindery_query::plan::Query;
use bindery_query::projection::Metadata;

use super::open::{build, choose};
use super::question::Question;
use super::stage::Stage;
use crate::collection::{State, WriteGuard};
use crate::cursor::Rows;
use crate::database::Inner;
use crate::trace::Cx;

/// The documents of a `find`, read from one snapshot.
pub(crate) struct FindRows {
    state: Arc<State>,
    stage: Stage,
    /// The present document with its record id, if that was asked for.
    with_record_id: Option<DocBuf>,
}

impl FindRows {
    /// Plans a question and gets ready to run it.
    ///
    /// # Errors
    /// What the languages and the planner say.
    pub(crate) fn open(
        server: &Inner,
        state: Arc<State>,
        question: &Question<'_>,
        _cx: &mut Cx<'_>,
    ) -> Result<FindRows> {
        let query = question.compile(&server.scope(), Some(&state))?;
        let planned = choose(&state, &query, server.planner)?;
        let stage = build(&state, planned.winner);
        Ok(FindRows { state, stage, with_record_id: question.shows_record_id().then(DocBuf::new) })
    }
}

impl FindRows {
    /// The documents of a plan that was built already.
    pub(crate) fn of_stage(state: Arc<State>, stage: Stage) -> FindRows {
        FindRows { state, stage, with_record_id: None }
    }
}

impl Rows for FindRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let moved = self.stage.advance(&self.state, cx)?;
        if let Some(shown) = self.with_record_id.as_mut().filter(|_| moved) {
            let mut builder = Builder::new();
            for element in self.stage.document(&self.state).iter() {
                builder.append_element(element);
            }
            if let Some(record_id) = self.stage.record_id() {
                builder.append("$recordId", Value::Int64(record_id.0 as i64));
            }
            *shown = builder.finish();
        }
        Ok(moved)
    }

    fn drain(&mut self, cx: &mut Cx<'_>, sink: &mut Sink<'_>) -> Result<()> {
        if self.with_record_id.is_some() {
            return crate::cursor::drain_singly(self, cx, sink);
        }
        self.stage.drain(&self.state, cx, &mut |_, document| sink(document, Metadata::default()))
    }

    fn is_at_end(&self) -> bool {
        self.stage.is_at_end()
    }

    fn current(&self) -> Doc<'_> {
        match &self.with_record_id {
            Some(shown) => shown.doc(),
            None => self.stage.document(&self.state),
        }
    }
}

/// As many empty documents as a plan finds: for stages that read nothing of them.
pub(crate) struct CountedRows {
    state: Arc<State>,
    stage: Stage,
    query: Query,
    /// How many are still to be given; counted when the first is asked for.
    left: Option<u64>,
}

impl CountedRows {
    pub(crate) fn new(state: Arc<State>, stage: Stage, query: Query) -> CountedRows {
        CountedRows { state, stage, query, left: None }
    }

    fn left(&mut self, cx: &mut Cx<'_>) -> Result<u64> {
        match self.left {
            Some(left) => Ok(left),
            None => self.stage.count_rest(&self.state, &self.query, cx),
        }
    }
}

impl Rows for CountedRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let left = self.left(cx)?;
        self.left = Some(left.saturating_sub(1));
        Ok(left > 0)
    }

    fn drain(&mut self, cx: &mut Cx<'_>, sink: &mut Sink<'_>) -> Result<()> {
        for _ in 0..self.left(cx)? {
            if sink(bindery_document::doc::EMPTY, Metadata::default())?.is_break() {
                break;
            }
        }
        self.left = Some(0);
        Ok(())
    }

    fn current(&self) -> Doc<'_> {
        bindery_document::doc::EMPTY
    }
}

/// What a command will write to.
pub(crate) struct Matching {
    /// The records found, in order.
    pub(crate) records: Vec<RecordId>,
    /// Why there are not more: MongoDB writes to a document before it looks for the next one, so that what was found
    /// is written to before this is reported.
    pub(crate) failure: Option<Error>,
}

impl Matching {
    /// The first record.
    ///
    /// # Errors
    /// What kept it from being found.
    pub(crate) fn first(self) -> Result<Option<RecordId>> {
        match (self.records.first(), self.failure) {
            (None, Some(failure)) => Err(failure),
            (first, _) => Ok(first.copied()),
        }
    }
}

/// The records that match, for a command that will write to them. No snapshot is held afterwards, so that
/// the writes change pages in place.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn matching_records(
    server: &Inner,
    guard: &WriteGuard<'_>,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Matching> {
    let state = guard.snapshot();
    let query = question.compile(&server.scope(), Some(&state))?;
    let planned = choose(&state, &query, server.planner)?;
    let mut stage = build(&state, planned.winner);
    let mut records = Vec::new();
    loop {
        match stage.advance(&state, cx) {
            Ok(true) => records.extend(stage.record_id()),
            Ok(false) => return Ok(Matching { records, failure: None }),
            Err(failure) => return Ok(Matching { records, failure: Some(failure) }),
        }
    }
}
