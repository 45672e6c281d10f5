//! Views: a stored pipeline read as if it were a collection.
//!
//! Every question to a view becomes a pipeline: the view's own, down to the collection below, then stages that do what
//! the question asks.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Result, Value, code, doc};
use bindery_query::pipeline::{Pipeline, Stream};

use super::Request;
use super::aggregate::{Around, Source};
use crate::catalog::{Entry, View};
use crate::cursor::Rows;
use crate::database::Inner;
use crate::execute::{Collections, Question, SharedTrace, StreamRows};
use crate::layout::LayoutCollection;
use crate::trace::{Cx, Trace};
use parking_lot::Mutex;

/// How many views may stand on each other.
const MAX_DEPTH: usize = 20;

/// A view with the views below it resolved.
pub(super) struct Resolved {
    /// The collection at the bottom.
    pub(super) collection: String,
    /// All pipelines, the lowest first.
    pipeline: Vec<DocBuf>,
}

impl Resolved {
    /// The pipeline followed by further stages, as an array.
    pub(super) fn followed_by(&self, stages: Doc<'_>) -> DocBuf {
        let mut array = Builder::new();
        let all = self.pipeline.iter().flat_map(|part| part.doc().iter()).chain(stages.iter());
        for (i, stage) in all.enumerate() {
            array.append_index(i, stage.value());
        }
        array.finish()
    }
}

/// Follows a view down to a collection.
///
/// # Errors
/// 165 for too many views on each other.
pub(super) fn resolve(server: &Inner, database: &str, name: &str, view: &View) -> Result<Resolved> {
    let mut pipeline = vec![view.pipeline.clone()];
    let mut collection = view.on.clone();
    loop {
        let below = match server.catalog.read().get(database, &collection) {
            Some(Entry::View(below)) => Arc::clone(below),
            _ => break,
        };
        if pipeline.len() >= MAX_DEPTH {
            return Err(Error::new(
                code::VIEW_DEPTH_LIMIT_EXCEEDED,
                format!("View depth too deep or view cycle at {database}.{name}"),
            ));
        }
        pipeline.insert(0, below.pipeline.clone());
        collection.clone_from(&below.on);
    }
    Ok(Resolved { collection, pipeline })
}

/// Checks that a question does not ask for another collation than the view's.
///
/// # Errors
/// 167 if it does.
pub(super) fn check_collation(view: &View, asked: Option<Doc<'_>>) -> Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    check_whole_collation(view, whole(asked)?.as_ref())
}

/// A collation with all its fields; `None` for the simple one.
fn whole(collation: Doc<'_>) -> Result<Option<DocBuf>> {
    Ok(bindery_query::collation::Collation::parse(collation)?.map(|collation| collation.to_document()))
}

/// Checks that a collation with all its fields is the view's.
///
/// # Errors
/// 167 if it is not.
pub(crate) fn check_whole_collation(view: &View, asked: Option<&DocBuf>) -> Result<()> {
    let own = view.collation.as_ref().map_or(Ok(None), |own| whole(own.doc()))?;
    if own.as_ref() == asked {
        return Ok(());
    }
    Err(Error::new(code::OPTION_NOT_SUPPORTED_ON_VIEW, "Cannot override a view's default collation"))
}

/// The documents of a view, for other pipelines.
///
/// # Errors
/// What its pipeline says.
pub(crate) fn open_view(around: &Collections, view: &View, name: &str) -> Result<Box<dyn Stream>> {
    let resolved = resolve(&around.server, &around.database, name, view)?;
    let pipeline = resolved.followed_by(doc::EMPTY);
    let here = Around {
        server: Arc::clone(&around.server),
        database: around.database.clone(),
        deadline: around.deadline,
        trace: around.trace.clone(),
    };
    here.over_name(&Question::new(doc::EMPTY), pipeline.doc(), &resolved.collection, view.collation.as_ref())
}

/// `find` on a view.
pub(super) fn find(
    request: &Request<'_>,
    view: &View,
    name: &str,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Box<dyn Rows>> {
    let mut question = *question;
    hint_natural(&mut question);
    open(request, view, name, &question, stages(&question)?.doc(), cx)
}

/// Makes a sort by `$natural` a hint, which a pipeline takes where it takes no such sort.
fn hint_natural(question: &mut Question<'_>) {
    let natural = question.sort.filter(|sort| sort.first().is_some_and(|field| field.key == b"$natural"));
    if let Some(natural) = natural {
        question.sort = None;
        question.hint = question.hint.or(Some(Value::Document(natural)));
    }
}

/// `find` on a time-series collection, which the server has as a view, too.
///
/// # Errors
/// 168 for what only finds on collections have; what the pipeline says.
pub(super) fn find_series(
    request: &Request<'_>,
    collection: Arc<LayoutCollection>,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Box<dyn Rows>> {
    let mut question = *question;
    // The order of buckets can be asked for as that of documents can.
    hint_natural(&mut question);
    let pipeline = stages(&question)?;
    let trace: SharedTrace = cx.is_traced.then(|| Arc::new(Mutex::new(Trace::new())));
    let around = Around {
        server: Arc::clone(request.server),
        database: request.database.to_owned(),
        deadline: cx.deadline,
        trace: trace.clone(),
    };
    let mut plain = Question::new(doc::EMPTY);
    (plain.hint, plain.collation, plain.variables) = (question.hint, question.collation, question.variables);
    let stream = around.over(&plain, pipeline.doc(), Source::Layout(collection))?;
    Ok(Box::new(StreamRows::new(stream, trace)))
}

/// A `find` as a pipeline.
///
/// # Errors
/// 168 for what only finds on collections have.
pub(super) fn stages(question: &Question<'_>) -> Result<DocBuf> {
    if question.return_key || question.show_record_id || question.min.is_some() || question.max.is_some() {
        return Err(Error::new(code::INVALID_PIPELINE_OPERATOR, "Option not supported on a view"));
    }
    let mut stages = Stages::default();
    stages.push("$match", Value::Document(question.filter));
    if let Some(sort) = question.sort {
        stages.push("$sort", Value::Document(sort));
    }
    if question.skip > 0 {
        stages.push("$skip", Value::Int64(question.skip as i64));
    }
    if let Some(limit) = question.limit {
        stages.push("$limit", Value::Int64(limit as i64));
    }
    if let Some(projection) = question.projection {
        stages.push("$project", Value::Document(projection));
    }
    Ok(stages.finish())
}

/// `count` on a view.
pub(super) fn count(
    request: &Request<'_>,
    view: &View,
    name: &str,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<u64> {
    let mut rows = find(request, view, name, question, cx)?;
    let mut count = 0;
    while rows.advance(cx)? {
        count += 1;
    }
    Ok(count)
}

/// `distinct` on a view.
pub(super) fn distinct(
    request: &Request<'_>,
    view: &View,
    name: &str,
    key: &str,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Vec<OwnedValue>> {
    let mut own = *question;
    own.collation = view.collation.as_ref().map(DocBuf::doc);
    let collation = own.collation(None)?;
    let mut rows = find(request, view, name, question, cx)?;
    crate::execute::distinct_of_rows(&mut *rows, key, collation.as_ref(), cx)
}

fn open(
    request: &Request<'_>,
    view: &View,
    name: &str,
    question: &Question<'_>,
    stages: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Box<dyn Rows>> {
    check_collation(view, question.collation)?;
    let resolved = resolve(request.server, request.database, name, view)?;
    let pipeline = resolved.followed_by(stages);
    let trace: SharedTrace = None;
    let around = Around {
        server: Arc::clone(request.server),
        database: request.database.to_owned(),
        deadline: cx.deadline,
        trace: trace.clone(),
    };
    let mut plain = Question::new(doc::EMPTY);
    (plain.hint, plain.collation, plain.variables) = (question.hint, question.collation, question.variables);
    let stream = around.over_name(&plain, pipeline.doc(), &resolved.collection, view.collation.as_ref())?;
    Ok(Box::new(StreamRows::new(stream, trace)))
}

/// Checks a view before it is made: its pipeline parses, and it does not stand on itself.
///
/// # Errors
/// What the pipeline says; 5 for a cycle.
pub(super) fn check_definition(request: &Request<'_>, name: &str, on: &str, pipeline: Doc<'_>) -> Result<()> {
    let scope = request.server.scope();
    let mut context = Question::new(doc::EMPTY).context(&scope, None)?;
    Pipeline::parse(pipeline, &mut context)?;
    let mut below = on.to_owned();
    for _ in 0..MAX_DEPTH {
        if below == name {
            return Err(Error::new(code::GRAPH_CONTAINS_CYCLE, format!("View cycle detected: {name}")));
        }
        match request.server.catalog.read().get(request.database, &below) {
            Some(Entry::View(next)) => below.clone_from(&next.on),
            _ => return Ok(()),
        }
    }
    Err(Error::new(code::VIEW_DEPTH_LIMIT_EXCEEDED, "View depth limit exceeded"))
}

/// Stages being put together.
#[derive(Default)]
struct Stages {
    array: Builder,
    count: usize,
}

impl Stages {
    fn push(&mut self, name: &str, argument: Value<'_>) {
        let mut stage = Builder::new();
        stage.append(name, argument);
        self.array.append_index(self.count, Value::Document(stage.finish().doc()));
        self.count += 1;
    }

    fn finish(self) -> DocBuf {
        self.array.finish()
    }
}
