//! Running plans as what commands want of them: a cursor's documents, or record ids to write to.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result, Value};
use bindery_index::RecordId;
use bindery_query::pipeline::Sink;
use bindery_query::plan::GroupEnd;
use bindery_query::projection::Metadata;

use super::open::{build, choose, choose_group_ends};
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
    /// One document of each group of equal values of a path, if an index can skip from one to the next; `None` if not.
    ///
    /// # Errors
    /// What the languages say.
    pub(crate) fn open_group_ends(
        server: &Inner,
        state: &Arc<State>,
        question: &Question<'_>,
        path: &str,
        end: GroupEnd,
    ) -> Result<Option<FindRows>> {
        let query = question.compile(&server.scope(), Some(state))?;
        let plan = choose_group_ends(state, &query, server.planner, path, end);
        Ok(plan.map(|plan| FindRows::of_stage(Arc::clone(state), build(state, plan))))
    }

    /// The documents of a plan that was built already.
    pub(super) fn of_stage(state: Arc<State>, stage: Stage) -> FindRows {
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

    fn current(&self) -> Doc<'_> {
        match &self.with_record_id {
            Some(shown) => shown.doc(),
            None => self.stage.document(&self.state),
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
) -> Result<Vec<RecordId>> {
    let state = guard.snapshot();
    let query = question.compile(&server.scope(), Some(&state))?;
    let planned = choose(&state, &query, server.planner)?;
    let mut stage = build(&state, planned.winner);
    let mut records = Vec::new();
    while stage.advance(&state, cx)? {
        records.extend(stage.record_id());
    }
    Ok(records)
}
