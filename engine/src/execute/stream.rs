//! Plans and pipelines joined: a running plan as the stream a pipeline reads, and a pipeline's stream as a cursor's
//! rows.
//!
//! A pipeline's streams know nothing of page visitors. Where somebody measures, the plan below records into a trace
//! that it shares with the rows on top, which hand it on to whoever asked.

use std::sync::Arc;
use std::time::Instant;

use bindery_document::{Doc, OwnedValue, Path, Result, doc};
use bindery_index::Untraced;
use bindery_query::collation::Collation;
use bindery_query::filter::{CompareOp, Filter};
use bindery_query::pipeline::{Documents, Foreign, Nothing, Probe, Sink, Stage, Stream};
use bindery_query::plan::{Query, with_implied};
use bindery_query::projection::Metadata;
use parking_lot::Mutex;

use super::open::{build, choose};
use super::probe::IndexProbe;
use super::rows::FindRows;
use crate::command::{Request, Target};
use crate::cursor::Rows;
use crate::database::Inner;
use crate::layout::LayoutRows;
use crate::trace::{Cx, Trace};

/// What a pipeline's sources record into, if anybody measures.
pub(crate) type SharedTrace = Option<Arc<Mutex<Trace>>>;

/// Runs something that reads, recorded if anybody measures.
///
/// # Errors
/// What it says.
pub(crate) fn recorded<T>(
    deadline: Option<Instant>,
    trace: &SharedTrace,
    run: impl FnOnce(&mut Cx<'_>) -> Result<T>,
) -> Result<T> {
    let mut own = Trace::new();
    let mut untraced = Untraced;
    let mut cx = match trace {
        Some(_) => Cx::new(&mut own),
        None => Cx::new(&mut untraced),
    };
    cx.deadline = deadline;
    let result = run(&mut cx);
    let work = cx.work;
    if let Some(shared) = trace {
        let mut trace = shared.lock();
        trace.accesses.append(&mut own.accesses);
        trace.work.add(work);
    }
    result
}

/// A running plan as a stream.
pub(crate) struct PlanStream {
    rows: Box<dyn Rows>,
    deadline: Option<Instant>,
    trace: SharedTrace,
    parameters: Arc<[Option<OwnedValue>]>,
}

impl PlanStream {
    pub(crate) fn new(rows: Box<dyn Rows>, deadline: Option<Instant>, trace: SharedTrace) -> PlanStream {
        PlanStream { rows, deadline, trace, parameters: Arc::from([]) }
    }
}

impl Stream for PlanStream {
    fn advance(&mut self) -> Result<bool> {
        match &self.trace {
            None => {
                let mut untraced = Untraced;
                let mut cx = Cx::new(&mut untraced);
                cx.deadline = self.deadline;
                cx.parameters = &self.parameters;
                self.rows.advance(&mut cx)
            }
            Some(shared) => {
                let mut trace = shared.lock();
                let mut own = Trace::new();
                let mut cx = Cx::new(&mut own);
                cx.deadline = self.deadline;
                cx.parameters = &self.parameters;
                let moved = self.rows.advance(&mut cx);
                let work = cx.work;
                trace.accesses.append(&mut own.accesses);
                trace.work.add(work);
                moved
            }
        }
    }

    fn current(&self) -> Doc<'_> {
        self.rows.current()
    }

    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        // What is recorded keeps its order with what the stages above read.
        if self.trace.is_some() {
            while self.advance()? {
                if sink(self.current(), Metadata::default())?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let mut untraced = Untraced;
        let mut cx = Cx::new(&mut untraced);
        cx.deadline = self.deadline;
        cx.parameters = &self.parameters;
        self.rows.drain(&mut cx, sink)
    }
}

/// A pipeline's results as a cursor's rows.
pub(crate) struct StreamRows {
    stream: Box<dyn Stream>,
    trace: SharedTrace,
}

impl StreamRows {
    pub(crate) fn new(stream: Box<dyn Stream>, trace: SharedTrace) -> StreamRows {
        StreamRows { stream, trace }
    }
}

impl Rows for StreamRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let moved = self.stream.advance();
        if let Some(shared) = &self.trace {
            let mut trace = shared.lock();
            for access in trace.accesses.drain(..) {
                if access.dirty {
                    cx.visitor.dirty(access.page, access.kind, access.bytes);
                } else {
                    cx.visitor.touch(access.page, access.kind, access.bytes);
                }
            }
            cx.work.add(std::mem::take(&mut trace.work));
        }
        moved
    }

    fn current(&self) -> Doc<'_> {
        self.stream.current()
    }
}

/// The other collections of a database, as `$lookup` and its kin read them: as they are when they are read.
pub(crate) struct Collections {
    pub(crate) server: Arc<Inner>,
    pub(crate) database: String,
    pub(crate) deadline: Option<Instant>,
    pub(crate) trace: SharedTrace,
}

impl Foreign for Collections {
    fn tell(&self, collection: &str, stage: &Stage) -> Result<Box<dyn Stream>> {
        let request = Request { server: &self.server, database: &self.database, command: doc::EMPTY };
        let documents = recorded(self.deadline, &self.trace, |cx| {
            crate::command::told_to_another(&request, collection, stage.name(), stage.asked(), cx)
        })?;
        Ok(Box::new(Documents::new(documents)))
    }

    fn is_view(&self, collection: &str) -> bool {
        matches!(self.server.target(&self.database, collection), Target::View(_))
    }

    fn probe(&self, collection: &str, path: &Path) -> Option<Box<dyn Probe>> {
        let probe = IndexProbe::new(
            Arc::clone(&self.server),
            &self.database,
            collection,
            path,
            self.deadline,
            self.trace.clone(),
        );
        Some(Box::new(probe))
    }

    fn find(
        &self,
        collection: &str,
        filter: Option<&Filter>,
        collation: Option<&Collation>,
        parameters: &Arc<[Option<OwnedValue>]>,
    ) -> Result<Box<dyn Stream>> {
        let rows: Box<dyn Rows> = match self.server.target(&self.database, collection) {
            Target::Absent => return Ok(Box::new(Nothing)),
            Target::Layout(collection) => {
                let filter = filter.cloned().unwrap_or(Filter::AlwaysTrue);
                let rows = LayoutRows::unfiltered(&self.server, &collection, &filter)?;
                let parameters = Arc::clone(parameters);
                let stream = Box::new(PlanStream::new(Box::new(rows), self.deadline, self.trace.clone()));
                return Ok(Box::new(Filtered { stream, filter, parameters }));
            }
            Target::Collection(collection) => {
                let state = collection.snapshot();
                // The variables' values are known here, so that an index can serve what is compared with them.
                let asked = match filter {
                    Some(filter) => with_implied(filter, parameters).unwrap_or_else(|| filter.clone()),
                    None => Filter::AlwaysTrue,
                };
                let query = Query {
                    is_id_equality: is_id_equality(filter),
                    collation: collation.cloned(),
                    ..Query::of_filter(asked)
                };
                let plan = choose(&state, &query, self.server.planner)?.winner;
                let stage = build(&state, plan);
                Box::new(FindRows::of_stage(state, stage))
            }
            Target::View(view) => {
                crate::command::check_view_collation(&view, collation.map(Collation::to_document).as_ref())?;
                let stream = crate::command::open_view(self, &view, collection)?;
                let Some(filter) = filter else { return Ok(stream) };
                return Ok(Box::new(Filtered { stream, filter: filter.clone(), parameters: Arc::clone(parameters) }));
            }
        };
        Ok(Box::new(PlanStream {
            rows,
            deadline: self.deadline,
            trace: self.trace.clone(),
            parameters: Arc::clone(parameters),
        }))
    }
}

/// Whether a filter asks for one `_id`.
fn is_id_equality(filter: Option<&Filter>) -> bool {
    matches!(filter, Some(Filter::Compare(test)) if test.op == CompareOp::Eq && test.path.as_str() == "_id")
}

/// A stream's documents that match.
struct Filtered {
    stream: Box<dyn Stream>,
    filter: Filter,
    parameters: Arc<[Option<OwnedValue>]>,
}

impl Stream for Filtered {
    fn advance(&mut self) -> Result<bool> {
        while self.stream.advance()? {
            if self.filter.matches_with(self.stream.current(), &self.parameters)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn current(&self) -> Doc<'_> {
        self.stream.current()
    }
}
