//! `aggregate`: a pipeline over a collection, a view, or nothing.
//!
//! The leading `$match`, `$sort`, `$skip` and `$limit` become a question for the planner; what follows streams over its
//! results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use bindery_document::{Builder, Doc, DocBuf, Error, Kind, Result, Value, code, doc};
use bindery_query::collation::Collation;
use bindery_query::pipeline::{Documents, Environment, Nothing, Pipeline, Stage, Stream, Wanted};
use bindery_query::plan::{GroupEnd, Plan, Planned, ProjectionKind, Purpose, Query};
use parking_lot::Mutex;

use super::aggregate_fields;
use super::args::Args;
use super::{Request, Target, aggregate_output, aggregate_source, explain, find, view};
use crate::collection::{Index, State};
use crate::cursor::{Buffered, FIRST_BATCH, Rows, ServerCursor, reply_first_batch};
use crate::database::{Inner, Planner};
use crate::execute::{
    self, Collections, CountedRows, FindRows, PlanStream, Question, SharedTrace, StreamRows, build, choose,
    choose_group_ends, recorded,
};
use crate::layout::{self, LayoutCollection, LayoutRows};
use crate::trace::{Cx, Trace};

const FIELDS: [&str; 13] = [
    "pipeline",
    "cursor",
    "explain",
    "allowDiskUse",
    "bypassDocumentValidation",
    "collation",
    "hint",
    "let",
    "fromMongos",
    "needsMerge",
    "isMapReduceCommand",
    "requestReshardingResumeToken",
    "exchange",
];

/// The most stages of a pipeline.
const MAX_STAGES: usize = 1_000;

/// `maxTimeMS`, which this command reads more strictly than others.
///
/// # Errors
/// 14 for what is no number, 51024 for a negative one, else as [`find::max_time_ms`].
fn max_time_ms(args: &Args<'_>) -> Result<u64> {
    args.count("maxTimeMS")?;
    find::max_time_ms(args)
}

/// A command's arguments.
pub(super) struct Arguments<'a> {
    /// The collection; none for `{aggregate: 1}`.
    pub(super) collection: Option<&'a str>,
    /// The stages, as an array.
    pub(super) pipeline: Doc<'a>,
    /// Hint, collation, variables and time limit; the filter is made of the pipeline.
    pub(super) question: Question<'a>,
    batch_size: u64,
    /// Whether it is to be explained rather than run.
    explained: bool,
}

impl<'a> Arguments<'a> {
    pub(super) fn parse(request: &Request<'a>, needs_cursor: bool) -> Result<Arguments<'a>> {
        let args = Args::of_command("aggregate", request.command, &FIELDS)?;
        let collection = match request.command.first().map(|e| e.value()) {
            Some(Value::String(_)) => Some(request.collection_name()?),
            Some(value) if value.as_exact_i64() == Some(1) => None,
            Some(value) if value.kind().is_number() => {
                return Err(Error::new(
                    code::FAILED_TO_PARSE,
                    "Invalid command format: the 'aggregate' field must specify a collection name or 1",
                ));
            }
            _ => return Err(Error::new(code::TYPE_MISMATCH, "collection name has invalid type")),
        };
        args.refuse_nulls(&["pipeline", "cursor", "allowDiskUse", "explain"])?;
        let pipeline = args.required_array("pipeline")?;
        if pipeline.iter().any(|e| e.kind != Kind::Document) {
            return Err(Error::new(code::TYPE_MISMATCH, "Each element of the 'pipeline' array must be an object"));
        }
        if pipeline.count() > MAX_STAGES {
            return Err(Error::new(
                code::FAILED_TO_PARSE,
                format!("Pipeline length must be no longer than {MAX_STAGES} stages"),
            ));
        }
        let explained = args.optional_flag("explain")?;
        let cursor = args.document("cursor")?;
        if cursor.is_none() && needs_cursor && explained.is_none() {
            return Err(Error::new(
                code::FAILED_TO_PARSE,
                "The 'cursor' option is required, except for aggregate with the explain argument",
            ));
        }
        let batch_size = match cursor {
            Some(cursor) => Args::of_statement("cursor", cursor, &["batchSize"])?.count("batchSize")?,
            None => None,
        };
        let mut question = Question::new(doc::EMPTY);
        question.hint = find::hint(&args)?;
        question.collation = args.document("collation")?;
        question.variables = args.document("let")?;
        question.max_time_ms = max_time_ms(&args)?;
        args.document("readConcern")?;
        find::check_read_concern(&args)?;
        args.flag("allowDiskUse")?;
        args.loose_flag("bypassDocumentValidation")?;
        Ok(Arguments {
            collection,
            pipeline,
            question,
            batch_size: batch_size.unwrap_or(FIRST_BATCH),
            explained: explained == Some(true),
        })
    }
}

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let arguments = Arguments::parse(request, true)?;
    if arguments.explained {
        return explain::explain(request, explain::Verbosity::QueryPlanner, cx);
    }
    cx.limit_time(arguments.question.max_time_ms);
    let namespace = request.namespace(arguments.collection.unwrap_or("$cmd.aggregate"));
    let mut rows = open(request, &arguments, cx)?;
    if aggregate_output::has_output(arguments.pipeline) {
        let collation = effective_collation(request, &arguments)?;
        let mut context = arguments.question.context(&request.server.scope(), collation)?;
        let compiled = Pipeline::parse(arguments.pipeline, &mut context)?;
        aggregate_output::check_database(request.database, &compiled)?;
        aggregate_output::write_output(request, &compiled, &mut *rows, cx)?;
        rows = Box::new(Buffered::new(Vec::new()));
    }
    let mut reply = Builder::new();
    let mut cursor = ServerCursor::new(namespace, rows);
    cursor.is_of_pipeline = true;
    reply_first_batch(&request.server.cursors, cursor, arguments.batch_size, false, &mut reply, cx)?;
    Ok(reply)
}

/// How a pipeline compares strings: as is asked for, or as what it reads does.
fn effective_collation(request: &Request<'_>, arguments: &Arguments<'_>) -> Result<Option<Collation>> {
    let mut question = arguments.question;
    match arguments.collection.map(|name| request.target(name)) {
        Some(Target::Collection(collection)) => question.collation(Some(&collection.snapshot())),
        Some(Target::View(view)) => {
            question.collation = question.collation.or(view.collation.as_ref().map(DocBuf::doc));
            question.collation(None)
        }
        _ => question.collation(None),
    }
}

/// The results of an `aggregate` command, without the batches of a cursor.
///
/// # Errors
/// What the command says.
pub(crate) fn open_aggregate(
    server: &Arc<Inner>,
    database: &str,
    command: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Box<dyn Rows>> {
    crate::namespace::check_database(database)?;
    let request = Request { server, database, command };
    let arguments = Arguments::parse(&request, false)?;
    cx.limit_time(arguments.question.max_time_ms);
    open(&request, &arguments, cx)
}

fn misplaced_documents() -> Error {
    Error::new(
        code::INVALID_NAMESPACE,
        "a pipeline on a collection must not start with $documents, and one on {aggregate: 1} must",
    )
}

/// Opens a pipeline over what the command names.
fn open(request: &Request<'_>, arguments: &Arguments<'_>, cx: &mut Cx<'_>) -> Result<Box<dyn Rows>> {
    // This is seen before the stage is read.
    if arguments.collection.is_some() && aggregate_source::makes_its_own(arguments.pipeline) {
        return Err(misplaced_documents());
    }
    let trace: SharedTrace = cx.is_traced.then(|| Arc::new(Mutex::new(Trace::new())));
    let around = Around {
        server: Arc::clone(request.server),
        database: request.database.to_owned(),
        deadline: cx.deadline,
        trace: trace.clone(),
    };
    let stream = match arguments.collection {
        None => around.over(&arguments.question, arguments.pipeline, Source::Nothing)?,
        Some(name) => match (aggregate_source::documents(request, name, arguments.pipeline, cx)?, request.target(name))
        {
            (Some(documents), _) => around.over(&arguments.question, arguments.pipeline, Source::Given(documents))?,
            (None, Target::Absent) => around.over(&arguments.question, arguments.pipeline, Source::Nothing)?,
            (None, Target::Collection(collection)) => {
                around.over(&arguments.question, arguments.pipeline, Source::State(collection.snapshot()))?
            }
            (None, Target::Layout(collection)) => {
                around.over(&arguments.question, arguments.pipeline, Source::Layout(collection))?
            }
            (None, Target::View(found)) => {
                let resolved = view::resolve(request.server, request.database, name, &found)?;
                view::check_collation(&found, arguments.question.collation)?;
                let pipeline = resolved.followed_by(arguments.pipeline);
                around.over_name(&arguments.question, pipeline.doc(), &resolved.collection, found.collation.as_ref())?
            }
        },
    };
    if arguments.collection.is_none() && !aggregate_source::makes_its_own(arguments.pipeline) {
        return Err(misplaced_documents());
    }
    Ok(Box::new(StreamRows::new(stream, trace)))
}

/// What pipelines of one command run in.
pub(super) struct Around {
    pub(super) server: Arc<Inner>,
    pub(super) database: String,
    pub(super) deadline: Option<Instant>,
    pub(super) trace: SharedTrace,
}

/// Where a pipeline's documents come from.
pub(super) enum Source {
    /// There is no such collection, or none is asked.
    Nothing,
    /// A collection's documents.
    State(Arc<State>),
    /// Documents that were made for a stage such as `$collStats`.
    Given(Vec<DocBuf>),
    /// The logical documents of a collection with a layout.
    Layout(Arc<LayoutCollection>),
}

impl Around {
    /// A view's pipeline over the collection that it lies on, by its name.
    pub(super) fn over_name(
        &self,
        question: &Question<'_>,
        pipeline: Doc<'_>,
        collection: &str,
        collation: Option<&DocBuf>,
    ) -> Result<Box<dyn Stream>> {
        let source = match self.server.target(&self.database, collection) {
            Target::Collection(collection) => Source::State(collection.snapshot()),
            Target::Layout(collection) => Source::Layout(collection),
            Target::Absent | Target::View(_) => Source::Nothing,
        };
        // A view without a collation compares bytes, whatever the collection does that it lies on.
        let mut bytes = Builder::new();
        bytes.append("locale", "simple");
        let bytes = bytes.finish();
        let mut question = *question;
        question.collation = question.collation.or(collation.map(DocBuf::doc)).or(Some(bytes.doc()));
        self.over(&question, pipeline, source)
    }

    /// Compiles a pipeline, with the queries in it as far forward as they can go; and its stages as they stand then,
    /// if they are not as they were written.
    ///
    /// # Errors
    /// What the languages say.
    pub(super) fn compile(
        &self,
        question: &Question<'_>,
        pipeline: Doc<'_>,
        state: Option<&State>,
    ) -> Result<(Pipeline, Option<DocBuf>)> {
        let scope = self.server.scope();
        let collation = question.collation(state)?;
        let mut context = question.context(&scope, collation)?;
        // Parsed whole first: what is wrong with a late stage is said before anything runs.
        let mut compiled = Pipeline::parse(pipeline, &mut context)?;
        // Queries that can go forward do so, to where an index answers them.
        let arranged = compiled.arranged(pipeline);
        if let Some(arranged) = &arranged {
            compiled = Pipeline::parse(arranged.doc(), &mut context)?;
        }
        Ok((compiled, arranged))
    }

    /// The leading stages as a question, planned for what the stage behind them needs of the answers.
    ///
    /// # Errors
    /// What the languages and the planner say.
    pub(super) fn leading(&self, rest: &Pipeline, question: &Question<'_>, state: &State) -> Result<(Query, Planned)> {
        let plan = |question: &Question<'_>, purpose| {
            let mut query = question.compile(&self.server.scope(), Some(state))?;
            query.purpose = purpose;
            let planned = choose(state, &query, self.server.planner)?;
            Ok((query, planned))
        };
        // The server sorts for such a stage; the engine's own plans leave it to the stage, which needs no index for it.
        if self.server.planner == Planner::MongoDb
            && question.sort.is_none()
            && question.skip == 0
            && question.limit.is_none()
            && let Some(order) = rest.leading_order()
        {
            return plan(&Question { sort: Some(order.doc()), ..*question }, Purpose::Documents);
        }
        if let Some((path, end)) = rest.leading_group_end()
            && question.skip == 0
            && question.limit.is_none()
            && let Some(found) = self.group_ends(rest, question, state, &path, end)?
        {
            return Ok(found);
        }
        match rest.wants() {
            // Of an order nothing is left in a number; but what groups are made of is read in order.
            Wanted::Number
                if question.sort.is_none()
                    || matches!(rest.stages().first(), Some(Stage::Count(_)))
                        && !sort_may_fail(question.sort, question.collation(Some(state))?.is_some()) =>
            {
                return plan(&Question { sort: None, ..*question }, Purpose::Count);
            }
            Wanted::Fields(paths) if state.indexes.iter().any(|index| holds_all(index, &paths)) => {
                let projection = inclusion(&paths);
                let shaped = Question { projection: Some(projection.doc()), ..*question };
                let (query, planned) = plan(&shaped, Purpose::Documents)?;
                if takes_keys(&planned.winner) {
                    return Ok((query, planned));
                }
            }
            Wanted::Documents | Wanted::Fields(_) | Wanted::Number => {}
        }
        plan(question, Purpose::Documents)
    }

    /// A plan that skips from group to group, if an index can; on keys alone, if they hold all that is read.
    fn group_ends(
        &self,
        rest: &Pipeline,
        question: &Question<'_>,
        state: &State,
        path: &str,
        end: GroupEnd,
    ) -> Result<Option<(Query, Planned)>> {
        let scope = self.server.scope();
        let mut query = question.compile(&scope, Some(state))?;
        let Some(mut winner) = choose_group_ends(state, &query, self.server.planner, path, end) else {
            return Ok(None);
        };
        if let (Plan::Fetch { input, .. }, Wanted::Fields(paths)) = (&mut winner, rest.wants())
            && let Plan::DistinctScan { scan, .. } = &**input
            && holds_all(&state.indexes[scan.index], &paths)
        {
            let projection = inclusion(&paths);
            query = Question { projection: Some(projection.doc()), ..*question }.compile(&scope, Some(state))?;
            if let Some(shape) = query.shape.clone() {
                let input = std::mem::replace(input, Box::new(Plan::Eof));
                winner = Plan::Project { input, shape, kind: ProjectionKind::Covered };
            }
        }
        Ok(Some((query, Planned { winner, rejected: Vec::new() })))
    }

    /// What the stages have around them.
    pub(super) fn environment(&self) -> Environment {
        let mut env = Environment::new(Arc::new(Collections {
            server: Arc::clone(&self.server),
            database: self.database.clone(),
            deadline: self.deadline,
            trace: self.trace.clone(),
        }));
        if let Some(deadline) = self.deadline {
            // The clock is read every so often only: it costs more than most documents.
            let asked = AtomicU32::new(0);
            env.interrupt = Some(Arc::new(move || {
                if asked.fetch_add(1, Ordering::Relaxed) & 0x3F == 0 && Instant::now() >= deadline {
                    return Err(Error::new(code::MAX_TIME_MS_EXPIRED, "operation exceeded time limit"));
                }
                Ok(())
            }));
        }
        env
    }

    /// A pipeline over documents: what the planner can do is planned, the rest streams.
    pub(super) fn over(&self, question: &Question<'_>, pipeline: Doc<'_>, source: Source) -> Result<Box<dyn Stream>> {
        let state = match &source {
            Source::State(state) => Some(state),
            Source::Nothing | Source::Given(_) | Source::Layout(_) => None,
        };
        let (mut compiled, arranged) = self.compile(question, pipeline, state.map(|state| &**state))?;
        if matches!(&source, Source::Layout(collection) if collection.series.is_some()) {
            compiled.reads_unpacked()?;
        }
        let pipeline = arranged.as_ref().map_or(pipeline, DocBuf::doc);
        let env = self.environment();
        let input: Box<dyn Stream> = match source {
            Source::Nothing => Box::new(Nothing),
            Source::Given(documents) => Box::new(Documents::new(documents)),
            source => {
                let pushed = Pushed::of(pipeline);
                let mut question = *question;
                let filter = pushed.filter();
                question.filter = filter.doc();
                question.sort = pushed.sort;
                question.skip = pushed.skip;
                question.limit = pushed.limit;
                compiled.skip_stages(pushed.stages);
                let grouped = match &source {
                    Source::Layout(collection) => match pushed.group(pipeline) {
                        Some(group) => recorded(self.deadline, &self.trace, |cx| {
                            layout::rollup(&self.server, collection, &question, group, cx)
                        })?,
                        None => None,
                    },
                    Source::Nothing | Source::Given(_) | Source::State(_) => None,
                };
                if let Some(groups) = grouped {
                    compiled.skip_stages(1);
                    Box::new(Documents::new(groups))
                } else if pushed.limit == Some(0) {
                    Box::new(Documents::default())
                } else if !sort_may_fail(question.sort, compiled.collation().is_some())
                    && let Some(count) = compiled.take_leading_count()
                {
                    // Only how many there are is asked, which the trees may know.
                    question.sort = None;
                    let n = recorded(self.deadline, &self.trace, |cx| match &source {
                        Source::Nothing | Source::Given(_) => Ok(0),
                        Source::State(state) => execute::count(&self.server, state, &question, cx),
                        Source::Layout(collection) => layout::count(&self.server, collection, &question, cx),
                    })?;
                    Box::new(Documents::new(count.document(n)))
                } else {
                    let rows: Box<dyn Rows> = match source {
                        Source::Nothing | Source::Given(_) => Box::new(Buffered::new(Vec::new())),
                        Source::State(state) => {
                            let (query, planned) = self.leading(&compiled, &question, &state)?;
                            let stage = build(&state, planned.winner);
                            match query.purpose {
                                Purpose::Count => Box::new(CountedRows::new(state, stage, query)),
                                _ => Box::new(FindRows::of_stage(state, stage)),
                            }
                        }
                        Source::Layout(collection) => {
                            let scope = self.server.scope();
                            let mut context = question.context(&scope, question.collation(None)?)?;
                            let next = pipeline.iter().nth(pushed.stages).and_then(|stage| stage.value().as_document());
                            let fields = next.and_then(|stage| aggregate_fields::of_stage(stage, &mut context));
                            Box::new(LayoutRows::open_fields(&self.server, &collection, &question, fields)?)
                        }
                    };
                    Box::new(PlanStream::new(rows, self.deadline, self.trace.clone()))
                }
            }
        };
        compiled.open(input, &env)
    }
}

/// The projection to these paths.
fn inclusion(paths: &[String]) -> DocBuf {
    let mut projection = Builder::new();
    for path in paths {
        projection.append(path.as_str(), 1);
    }
    if !paths.iter().any(|path| path == "_id") {
        projection.append("_id", 0);
    }
    projection.finish()
}

/// Whether the keys of an index hold all these paths.
fn holds_all(index: &Index, paths: &[String]) -> bool {
    let key = index.meta.spec.key.doc();
    paths.iter().all(|path| key.iter().any(|field| field.key == path.as_bytes()))
}

/// Whether a plan's documents are made of index keys.
fn takes_keys(plan: &Plan) -> bool {
    match plan {
        Plan::Project { kind, .. } => matches!(kind, ProjectionKind::Covered | ProjectionKind::CoveredDefault),
        Plan::Limit { input, .. } | Plan::Skip { input, .. } | Plan::Sort { input, .. } => takes_keys(input),
        _ => false,
    }
}

/// The leading stages that a plan carries out.
pub(super) struct Pushed<'a> {
    /// How many.
    pub(super) stages: usize,
    matches: Vec<Doc<'a>>,
    pub(super) sort: Option<Doc<'a>>,
    pub(super) skip: u64,
    pub(super) limit: Option<u64>,
}

impl<'a> Pushed<'a> {
    /// `$match`es, then a `$sort`, a `$skip`, a `$limit`, as far as they stand in this order. The pipeline was parsed.
    pub(super) fn of(pipeline: Doc<'a>) -> Pushed<'a> {
        let mut pushed = Pushed { stages: 0, matches: Vec::new(), sort: None, skip: 0, limit: None };
        for element in pipeline.iter() {
            let Some((name, argument)) = element.value().as_document().and_then(Doc::first).map(|e| (e.key, e.value()))
            else {
                break;
            };
            let plain = pushed.skip == 0 && pushed.limit.is_none();
            let count = || argument.as_exact_i64().and_then(|n| u64::try_from(n).ok());
            match (name, argument) {
                (b"$match", Value::Document(filter)) if plain && pushed.sort.is_none() => pushed.matches.push(filter),
                (b"$sort", Value::Document(sort)) if plain && pushed.sort.is_none() && is_by_fields(sort) => {
                    pushed.sort = Some(sort)
                }
                (b"$skip", _) if plain && count().is_some() => pushed.skip = count().unwrap_or(0),
                (b"$limit", _) if pushed.limit.is_none() && count().is_some_and(|n| n > 0) => pushed.limit = count(),
                _ => break,
            }
            pushed.stages += 1;
        }
        pushed
    }

    /// The `$group` that follows at once, where the order of documents plays no part.
    fn group(&self, pipeline: Doc<'a>) -> Option<Doc<'a>> {
        if self.sort.is_some() || self.skip > 0 || self.limit.is_some() {
            return None;
        }
        let stage = pipeline.iter().nth(self.stages)?.value().as_document()?.first()?;
        stage.value().as_document().filter(|_| stage.key == b"$group")
    }

    /// The conjunction of the `$match`es.
    pub(super) fn filter(&self) -> DocBuf {
        match self.matches.as_slice() {
            [] => DocBuf::new(),
            [one] => DocBuf::from(*one),
            many => {
                let mut builder = Builder::new();
                let list = builder.open_array("$and");
                for (i, filter) in many.iter().enumerate() {
                    builder.append_index(i, Value::Document(*filter));
                }
                builder.close(list);
                builder.finish()
            }
        }
    }
}

/// Whether a sort may refuse a document: for arrays on the way to two of its paths, for a name that is a position
/// as well, for a symbol under a collation. Then it is carried out even where nothing is left of its order.
fn sort_may_fail(sort: Option<Doc<'_>>, is_collated: bool) -> bool {
    let mut paths = sort.into_iter().flatten().map(|field| field.key_str()).filter(|path| *path != "_id");
    let first = paths.next();
    let has_position = |path: &str| path.split('.').any(|name| name.bytes().all(|b| b.is_ascii_digit()));
    first.is_some_and(|first| is_collated || has_position(first) || paths.next().is_some())
}

/// Whether a sort is by fields only, and not by what is known of a document besides them.
fn is_by_fields(sort: Doc<'_>) -> bool {
    sort.iter().all(|e| e.value().kind().is_number())
}
