//! Explaining aggregations: the plan of the leading stages as `$cursor`, and what each stage after it gave.
//!
//! The pipeline runs as it does for `aggregate`, watched. A pipeline that the plan carries out whole is shown as a
//! `find` is. The server shows some pipelines in the words of its second engine (`explainVersion: "2"`); here there
//! is one engine, and all are shown in the words of the first.

use std::sync::Arc;
use std::time::Duration;

use bindery_document::{Builder, Doc, DocBuf, Result, Value};
use bindery_query::filter::Filter;
use bindery_query::pipeline::{Documents, Nothing, Pipeline, Stream, Watched, watch};
use bindery_query::plan::{Plan, Planned, Purpose, Query};
use parking_lot::Mutex;

use super::super::aggregate::{Arguments, Around, Pushed};
use super::super::{Request, Target, aggregate_source, view};
use super::sections::{Done, Layer, Section, Wrap};
use super::subject::{Subject, Top};
use super::{Verbosity, append_fields, empty_state, show_bindery, show_command, warnings};
use crate::catalog::View;
use crate::collection::{State, append_number};
use crate::cursor::Rows;
use crate::execute::{Collections, Describe, PlanStream, Question, SharedTrace, Stage, build, choose};
use crate::layout::{Asked, LayoutCollection, LayoutRows};
use crate::trace::{Cx, Trace, Work};

/// Explains an `aggregate` command.
///
/// # Errors
/// What the command says.
pub(super) fn explain(request: &Request<'_>, verbosity: Verbosity, cx: &mut Cx<'_>) -> Result<Builder> {
    let arguments = Arguments::parse(request, false)?;
    cx.limit_time(arguments.question.max_time_ms);
    if let Some(name) = arguments.collection
        && let Target::View(found) = request.target(name)
    {
        view::check_collation(&found, arguments.question.collation)?;
        return on_view(request, &found, name, arguments.question, arguments.pipeline, verbosity, cx);
    }
    let mut reply = Builder::new();
    reply.append("explainVersion", "1");
    let explanation = Explanation {
        request,
        collection: arguments.collection,
        question: arguments.question,
        written: arguments.pipeline,
        verbosity,
    };
    explanation.show(&mut reply, cx)?;
    show_command(request, true, &mut reply);
    Ok(reply)
}

/// Explains a question to a view, which is a pipeline.
///
/// # Errors
/// 166 for writes, and what the command says.
pub(super) fn explain_on_view(
    request: &Request<'_>,
    view: &View,
    subject: &Subject<'_>,
    verbosity: Verbosity,
    cx: &mut Cx<'_>,
) -> Result<Builder> {
    let name = request.collection_name()?;
    view::check_collation(view, subject.question.collation)?;
    let stages = view::stages(&subject.question)?;
    let mut pipeline = Builder::new();
    let mut length = 0;
    let mut push = |stage: Value<'_>| {
        pipeline.append_index(length, stage);
        length += 1;
    };
    // What matches everything is not written.
    let is_empty = |stage: &Value<'_>| matches!(stage, Value::Document(doc) if doc.get("$match").and_then(|m| m.as_document()).is_some_and(Doc::is_empty));
    stages.doc().iter().map(|stage| stage.value()).filter(|stage| !is_empty(stage)).for_each(&mut push);
    match &subject.top {
        Top::Nothing => {}
        Top::Count => push(Value::Document(one_field("$count", Value::from("count")).doc())),
        Top::Distinct(path) => {
            let path = format!("${path}");
            let mut unwind = Builder::new();
            unwind.append("path", path.as_str());
            unwind.append("preserveNullAndEmptyArrays", true);
            push(Value::Document(one_field("$unwind", Value::Document(unwind.finish().doc())).doc()));
            let mut group = Builder::new();
            group.append("_id", Value::Null);
            let field = group.open_document("distinct");
            group.append("$addToSet", path.as_str());
            group.close(field);
            push(Value::Document(one_field("$group", Value::Document(group.finish().doc())).doc()));
        }
        Top::Write(_) => return Err(super::super::not_on_a_view(&request.namespace(name))),
    }
    let mut question = Question::new(bindery_document::doc::EMPTY);
    question.collation = subject.question.collation;
    question.variables = subject.question.variables;
    question.hint = subject.question.hint;
    on_view(request, view, name, question, pipeline.finish().doc(), verbosity, cx)
}

fn one_field(name: &str, value: Value<'_>) -> DocBuf {
    let mut builder = Builder::new();
    builder.append(name, value);
    builder.finish()
}

/// Explains stages on top of a view's.
fn on_view<'a>(
    request: &Request<'_>,
    view: &'a View,
    name: &str,
    mut question: Question<'a>,
    stages: Doc<'_>,
    verbosity: Verbosity,
    cx: &mut Cx<'_>,
) -> Result<Builder> {
    let resolved = view::resolve(request.server, request.database, name, view)?;
    let pipeline = resolved.followed_by(stages);
    question.collation = question.collation.or(view.collation.as_ref().map(DocBuf::doc));
    let mut reply = Builder::new();
    reply.append("explainVersion", "1");
    let explanation =
        Explanation { request, collection: Some(&resolved.collection), question, written: pipeline.doc(), verbosity };
    explanation.show(&mut reply, cx)?;
    let command = reply.open_document("command");
    reply.append("aggregate", resolved.collection.as_str());
    reply.append("pipeline", Value::Array(pipeline.doc()));
    reply.append("cursor", Value::Document(bindery_document::doc::EMPTY));
    reply.close(command);
    Ok(reply)
}

/// A pipeline about to be explained.
struct Explanation<'a> {
    request: &'a Request<'a>,
    /// None for `{aggregate: 1}`.
    collection: Option<&'a str>,
    question: Question<'a>,
    written: Doc<'a>,
    verbosity: Verbosity,
}

/// Where the documents come from.
enum Source {
    /// A plan on a collection, or on none.
    Plan { state: Arc<State>, exists: bool },
    /// A collection with a layout.
    Layout(Arc<LayoutCollection>),
    /// Documents made for the first stage, which is no plan's.
    Given(Vec<DocBuf>),
    /// The first stage makes them.
    Nothing,
}

impl Explanation<'_> {
    fn namespace(&self) -> String {
        self.request.namespace(self.collection.unwrap_or("$cmd.aggregate"))
    }

    fn runs(&self) -> bool {
        self.verbosity >= Verbosity::ExecutionStats
    }

    fn source(&self, cx: &mut Cx<'_>) -> Result<Source> {
        let Some(name) = self.collection else { return Ok(Source::Nothing) };
        let given = |made: Option<Vec<DocBuf>>, other| made.map_or(other, Source::Given);
        Ok(match self.request.target(name) {
            Target::Collection(collection) => {
                let made = aggregate_source::documents(self.request, name, self.written, cx)?;
                given(made, Source::Plan { state: collection.snapshot(), exists: true })
            }
            Target::Layout(collection) => {
                let made = aggregate_source::documents(self.request, name, self.written, cx)?;
                given(made, Source::Layout(collection))
            }
            Target::Absent | Target::View(_) => Source::Plan { state: empty_state(self.request)?, exists: false },
        })
    }

    /// # Errors
    /// What compiling, planning and running say.
    fn show(&self, reply: &mut Builder, cx: &mut Cx<'_>) -> Result<()> {
        let trace: SharedTrace = Some(Arc::default());
        let around = Around {
            server: Arc::clone(self.request.server),
            database: self.request.database.to_owned(),
            deadline: cx.deadline,
            trace: trace.clone(),
        };
        let source = self.source(cx)?;
        let state = match &source {
            Source::Plan { state, exists: true } => Some(Arc::clone(state)),
            _ => None,
        };
        let (mut compiled, arranged) = around.compile(&self.question, self.written, state.as_deref())?;
        let written = arranged.as_ref().map_or(self.written, DocBuf::doc);
        let pushed = Pushed::of(written);
        let filter = pushed.filter();
        let mut question = self.question;
        question.filter = filter.doc();
        (question.sort, question.skip, question.limit) = (pushed.sort, pushed.skip, pushed.limit);
        let cursor = match source {
            Source::Plan { state, exists } => {
                compiled.skip_stages(pushed.stages);
                Cursor::of_plan(self, &around, &compiled, state, exists, &question)?
            }
            Source::Layout(collection) => {
                compiled.skip_stages(pushed.stages);
                Cursor::of_layout(self, &collection, &question)?
            }
            Source::Given(documents) => {
                let input = Box::new(Documents::new(documents));
                return self.show_stages(&around, &compiled, written, input, None, reply);
            }
            Source::Nothing => {
                return self.show_stages(&around, &compiled, written, Box::new(Nothing), None, reply);
            }
        };
        let input = cursor.open(self, &around, &question)?;
        if !compiled.stages().is_empty() {
            return self.show_stages(&around, &compiled, written, input, Some(&cursor), reply);
        }
        let (mut input, watched) = watch(input);
        while self.runs() && input.advance()? {}
        drop(input);
        cursor.show(self, true, &watched, &around.trace, reply)?;
        self.show_own(Some(&cursor), &around.trace, reply);
        Ok(())
    }

    /// Runs the stages that no plan carries out, and shows them all.
    ///
    /// # Errors
    /// What running says.
    fn show_stages(
        &self,
        around: &Around,
        compiled: &Pipeline,
        written: Doc<'_>,
        input: Box<dyn Stream>,
        cursor: Option<&Cursor>,
        reply: &mut Builder,
    ) -> Result<()> {
        let (input, watched_input) = watch(input);
        let mut traces: Vec<Arc<Mutex<Trace>>> = Vec::new();
        // Each stage reads other collections for itself, so that what it examined is known.
        let mut env = || {
            let trace: Arc<Mutex<Trace>> = Arc::default();
            traces.push(Arc::clone(&trace));
            let foreign = Collections {
                server: Arc::clone(&around.server),
                database: around.database.clone(),
                deadline: around.deadline,
                trace: Some(trace),
            };
            let mut env = around.environment();
            env.foreign = Arc::new(foreign);
            env
        };
        let (mut stream, watched) = compiled.open_watched(written, input, &mut env)?;
        while self.runs() && stream.advance()? {}
        drop(stream);
        let list = reply.open_array("stages");
        let mut place = 0;
        let mut open = |reply: &mut Builder| {
            let mut digits = [0; 20];
            let open = reply.open_document(bindery_document::build::index_key(place, &mut digits));
            place += 1;
            open
        };
        if let Some(cursor) = cursor {
            let stage = open(reply);
            let inner = reply.open_document("$cursor");
            cursor.show(self, false, &watched_input, &around.trace, reply)?;
            reply.close(inner);
            self.show_counts(watched_input.documents(), &watched_input, reply);
            reply.close(stage);
        }
        let mut below = &watched_input;
        for watched in &watched {
            let stage = open(reply);
            append_fields(watched.shown.doc(), reply);
            if self.runs() {
                let work = traces.get(watched.surroundings).map(|trace| trace.lock().work).unwrap_or_default();
                show_work(watched, below, work, reply);
            }
            // Nothing is written, and these give nothing.
            let is_output = matches!(watched.name(), "$out" | "$merge");
            self.show_counts(if is_output { 0 } else { watched.documents() }, watched, reply);
            reply.close(stage);
            below = watched;
        }
        reply.close(list);
        if let Some(all) = &around.trace {
            for trace in &traces {
                all.lock().accesses.append(&mut trace.lock().accesses);
            }
        }
        self.show_own(cursor, &around.trace, reply);
        Ok(())
    }

    fn show_counts(&self, documents: u64, watched: &Watched, out: &mut Builder) {
        if self.runs() {
            append_long(out, "nReturned", documents);
            append_long(out, "executionTimeMillisEstimate", watched.milliseconds());
        }
    }

    fn show_own(&self, cursor: Option<&Cursor>, trace: &SharedTrace, reply: &mut Builder) {
        let trace = trace.as_ref().filter(|_| self.runs()).map(|trace| trace.lock());
        let warnings = cursor.map_or_else(Vec::new, |cursor| warnings(&cursor.query, &cursor.planned.winner));
        show_bindery(self.request.server.planner, trace.as_deref(), &warnings, reply);
    }
}

/// What some stages tell besides how many documents they gave.
fn show_work(stage: &Watched, below: &Watched, work: Work, out: &mut Builder) {
    match stage.name() {
        "$group" => append_long(out, "totalOutputDataSizeBytes", stage.bytes()),
        "$sort" => append_long(out, "totalDataSizeSortedBytesEstimate", below.bytes()),
        "$lookup" | "$graphLookup" | "$unionWith" => {
            append_long(out, "totalDocsExamined", work.docs_examined);
            append_long(out, "totalKeysExamined", work.keys_examined);
            return;
        }
        _ => return,
    }
    out.append("usedDisk", false);
    out.append("spills", 0i64);
}

fn append_long(out: &mut Builder, name: &str, n: u64) {
    out.append(name, i64::try_from(n).unwrap_or(i64::MAX));
}

/// The leading stages, as a plan.
struct Cursor {
    namespace: String,
    query: Query,
    planned: Planned,
    state: Arc<State>,
    exists: bool,
    running: Running,
}

/// What gives the documents.
enum Running {
    Plan(Arc<Mutex<Stage>>),
    /// The plan is for stored documents, which are unfolded; with what there is to say about that.
    Layout(Arc<LayoutCollection>, Box<Asked>),
}

impl Cursor {
    fn of_plan(
        explanation: &Explanation<'_>,
        around: &Around,
        rest: &Pipeline,
        state: Arc<State>,
        exists: bool,
        question: &Question<'_>,
    ) -> Result<Cursor> {
        let (query, planned) = match exists {
            true => around.leading(rest, question, &state)?,
            false => {
                let query = question.compile(&around.server.scope(), Some(&state))?;
                (query, Planned { winner: Plan::Eof, rejected: Vec::new() })
            }
        };
        let running = Running::Plan(Arc::new(Mutex::new(build(&state, planned.winner.clone()))));
        Ok(Cursor { namespace: explanation.namespace(), query, planned, state, exists, running })
    }

    fn of_layout(
        explanation: &Explanation<'_>,
        collection: &Arc<LayoutCollection>,
        question: &Question<'_>,
    ) -> Result<Cursor> {
        let server = explanation.request.server;
        let asked = Asked::compile(server, &collection.layout, question)?;
        let state = collection.snapshot().stored;
        let query = asked.stored.clone();
        let planned = choose(&state, &query, server.planner)?;
        let running = Running::Layout(Arc::clone(collection), Box::new(asked));
        Ok(Cursor { namespace: explanation.namespace(), query, planned, state, exists: true, running })
    }

    /// The documents.
    fn open(&self, explanation: &Explanation<'_>, around: &Around, question: &Question<'_>) -> Result<Box<dyn Stream>> {
        let rows: Box<dyn Rows> = match &self.running {
            Running::Plan(stage) => Box::new(SharedRows {
                state: Arc::clone(&self.state),
                stage: Arc::clone(stage),
                counts: (self.query.purpose == Purpose::Count).then(|| self.query.clone()),
                left: None,
                current: DocBuf::new(),
            }),
            Running::Layout(collection, _) => {
                Box::new(LayoutRows::open(explanation.request.server, collection, question)?)
            }
        };
        Ok(Box::new(PlanStream::new(rows, around.deadline, around.trace.clone())))
    }

    /// Appends `queryPlanner`, and `executionStats` if it ran.
    fn show(
        &self,
        explanation: &Explanation<'_>,
        is_whole_pipeline: bool,
        watched: &Watched,
        trace: &SharedTrace,
        out: &mut Builder,
    ) -> Result<()> {
        let mut layers = Vec::new();
        if matches!(&*self.query.filter, Filter::Or(_)) && self.query.hint.is_none() && self.exists {
            layers.push(Layer::Subplan);
        }
        let section = Section {
            namespace: &self.namespace,
            parsed: Some(&*self.query.filter),
            collation: None,
            is_optimized_pipeline: is_whole_pipeline,
            planner: explanation.request.server.planner,
            planned: &self.planned,
            wrap: Wrap {
                describe: Describe { state: &self.state, projection: None, sorts_records: false, counts_up_to: None },
                layers,
                fast_count: false,
                drops_bounds: false,
            },
        };
        section.show_planner(out);
        if let Running::Layout(collection, asked) = &self.running {
            asked.show(collection.layout.name(), out);
        }
        if !explanation.runs() {
            return Ok(());
        }
        let found = watched.documents();
        match &self.running {
            Running::Plan(stage) => {
                let elapsed = Duration::from_millis(watched.milliseconds());
                let done = Done { found, returned: found, elapsed, ..Done::default() };
                section.show_execution(&stage.lock(), &done, explanation.verbosity, out)
            }
            Running::Layout(..) => {
                let work = trace.as_ref().map(|trace| trace.lock().work).unwrap_or_default();
                let stats = out.open_document("executionStats");
                out.append("executionSuccess", true);
                append_number(out, "nReturned", found);
                append_number(out, "executionTimeMillis", watched.milliseconds());
                append_number(out, "totalKeysExamined", work.keys_examined);
                append_number(out, "totalDocsExamined", work.docs_examined);
                out.close(stats);
                Ok(())
            }
        }
    }
}

/// The documents of a stage that is looked at again after it ran.
struct SharedRows {
    state: Arc<State>,
    stage: Arc<Mutex<Stage>>,
    /// The question, if its results are only counted; and how many are still to be given.
    counts: Option<Query>,
    left: Option<u64>,
    current: DocBuf,
}

impl Rows for SharedRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let mut stage = self.stage.lock();
        if let Some(query) = &self.counts {
            let left = match self.left {
                Some(left) => left,
                None => stage.count_rest(&self.state, query, cx)?,
            };
            self.left = Some(left.saturating_sub(1));
            return Ok(left > 0);
        }
        let moved = stage.advance(&self.state, cx)?;
        if moved {
            self.current = DocBuf::from(stage.document(&self.state));
        }
        Ok(moved)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }
}
