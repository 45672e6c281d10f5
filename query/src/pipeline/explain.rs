//! Pipelines watched while they run: which stages there are, and how many documents each gives, for `explain`.
//!
//! Stages are shown in the server's words: as they are run, which is not always as they were written (`$count` is a
//! `$group` and a `$project`), with their arguments as they were written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bindery_document::{Builder, Doc, DocBuf, Result, Value};

use super::{Environment, Pipeline, Stage, Stream, optimize, project};
use crate::projection::Metadata;

/// What a stream has given so far.
#[derive(Debug, Default)]
struct Counts {
    documents: AtomicU64,
    bytes: AtomicU64,
    /// The time it took, that of the streams below included.
    nanoseconds: AtomicU64,
}

/// A stream that is watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The stage, as `{$name: argument}`; empty for what is no stage.
    pub shown: DocBuf,
    /// Which of the surroundings it has, counted in the order they were asked for.
    pub surroundings: usize,
    counts: Arc<Counts>,
}

impl Watched {
    /// Documents given.
    pub fn documents(&self) -> u64 {
        self.counts.documents.load(Ordering::Relaxed)
    }

    /// The bytes of these documents.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes.load(Ordering::Relaxed)
    }

    /// The time it took to give them, in milliseconds; all stages below it included.
    pub fn milliseconds(&self) -> u64 {
        self.counts.nanoseconds.load(Ordering::Relaxed) / 1_000_000
    }

    /// The stage's name, `$group` for example.
    pub fn name(&self) -> &str {
        self.shown.doc().first().map_or("", |stage| stage.key_str())
    }

    fn alone(shown: DocBuf) -> Watched {
        Watched { shown, surroundings: 0, counts: Arc::default() }
    }
}

/// Watches a stream that is no stage of a pipeline.
pub fn watch(stream: Box<dyn Stream>) -> (Box<dyn Stream>, Watched) {
    let watched = Watched::alone(DocBuf::new());
    (watched_by(stream, &watched), watched)
}

fn watched_by(stream: Box<dyn Stream>, watched: &Watched) -> Box<dyn Stream> {
    Box::new(WatchedStream { stream, counts: Arc::clone(&watched.counts) })
}

struct WatchedStream {
    stream: Box<dyn Stream>,
    counts: Arc<Counts>,
}

impl Stream for WatchedStream {
    fn advance(&mut self) -> Result<bool> {
        let started = Instant::now();
        let moved = self.stream.advance();
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.nanoseconds.fetch_add(elapsed, Ordering::Relaxed);
        if matches!(moved, Ok(true)) {
            self.counts.documents.fetch_add(1, Ordering::Relaxed);
            let bytes = self.stream.current().as_bytes().len() as u64;
            self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        moved
    }

    fn current(&self) -> Doc<'_> {
        self.stream.current()
    }

    fn metadata(&self) -> Metadata<'_> {
        self.stream.metadata()
    }
}

impl Pipeline {
    /// Runs the pipeline as [`Pipeline::open`] does, watching each stage. `written` is what the pipeline was parsed
    /// from; `env` is asked once for each stage, so that what stages read elsewhere can be told apart.
    ///
    /// # Errors
    /// As [`Pipeline::open`].
    pub fn open_watched(
        &self,
        written: Doc<'_>,
        input: Box<dyn Stream>,
        env: &mut dyn FnMut() -> Environment,
    ) -> Result<(Box<dyn Stream>, Vec<Watched>)> {
        let (mut stream, mut all) = (input, Vec::new());
        let mut projections = Vec::new();
        for (number, stage) in optimize::optimize(self.stages.clone()).iter().enumerate() {
            let mut watched = shown(stage, self.argument(stage, written));
            watched.iter_mut().for_each(|watched| watched.surroundings = number);
            let surroundings = self.environment(&env());
            if let Stage::Project(stage) = stage {
                projections.push((Arc::clone(stage), watched.pop(), surroundings));
                continue;
            }
            stream = open_projections(std::mem::take(&mut projections), stream, &mut all);
            stream = stage.open(stream, &surroundings)?;
            // Of a stage that is shown as several the documents are those of the last, and as many of the others.
            if let Some((first, others)) = watched.split_first_mut() {
                stream = watched_by(stream, first);
                others.iter_mut().for_each(|other| other.counts = Arc::clone(&first.counts));
            }
            all.append(&mut watched);
        }
        let stream = open_projections(projections, stream, &mut all);
        Ok((stream, all))
    }

    /// A stage's argument as it was written; none for stages that were not written themselves.
    fn argument<'a>(&self, stage: &Stage, written: Doc<'a>) -> Option<Value<'a>> {
        let address = stage.address()?;
        let place = self.stages.iter().position(|own| own.address() == Some(address))?;
        let stage_written = written.iter().nth(*self.origins.get(place)?)?.value().as_document()?.first()?;
        (stage_written.key_str() == stage.name()).then(|| stage_written.value())
    }
}

/// Neighbouring projections are run as one, and give a document each for each.
fn open_projections(
    projections: Vec<(Arc<project::Project>, Option<Watched>, Environment)>,
    stream: Box<dyn Stream>,
    all: &mut Vec<Watched>,
) -> Box<dyn Stream> {
    let Some((_, _, env)) = projections.first() else { return stream };
    let stages = projections.iter().map(|(stage, ..)| Arc::clone(stage)).collect();
    let (stream, joint) = watch(project::open(stages, false, stream, env));
    let watched = projections.into_iter().filter_map(|(_, watched, _)| watched);
    all.extend(watched.map(|watched| Watched { counts: Arc::clone(&joint.counts), ..watched }));
    stream
}

/// A stage in the server's words.
fn shown(stage: &Stage, written: Option<Value<'_>>) -> Vec<Watched> {
    let one = |name: &str, argument: Value<'_>| {
        let mut builder = Builder::new();
        builder.append(name, argument);
        vec![Watched::alone(builder.finish())]
    };
    match stage {
        Stage::Match(query) => one("$match", Value::Document(query.filter.to_document().doc())),
        Stage::Project(project) => {
            let name = if project.name == "$unset" { "$project" } else { project.name };
            one(name, Value::Document(project.written.doc()))
        }
        Stage::Limit(n) | Stage::Skip(n) => one(stage.name(), Value::Int64(i64::try_from(*n).unwrap_or(i64::MAX))),
        Stage::Sort(sort) => {
            let mut builder = Builder::new();
            let key = builder.open_document("sortKey");
            for field in sort.order.fields() {
                builder.append(&*field.path, if field.descending { -1 } else { 1 });
            }
            builder.close(key);
            if let Some(limit) = sort.limit {
                builder.append("limit", i64::try_from(limit).unwrap_or(i64::MAX));
            }
            one("$sort", Value::Document(builder.finish().doc()))
        }
        Stage::Count(name) => count(name),
        Stage::Group(group) => one("$group", Value::Document(group.written.doc())),
        Stage::SetWindowFields(stage) => one("$_internalSetWindowFields", Value::Document(stage.written.doc())),
        Stage::Densify(_) => one("$_internalDensify", written.unwrap_or(Value::Document(bindery_document::doc::EMPTY))),
        Stage::Sample(size) => {
            let mut builder = Builder::new();
            builder.append("size", i64::try_from(*size).unwrap_or(i64::MAX));
            one("$sample", Value::Document(builder.finish().doc()))
        }
        Stage::Unwind(_) => match written {
            // The short form is written out.
            Some(path @ Value::String(_)) => {
                let mut builder = Builder::new();
                builder.append("path", path);
                one("$unwind", Value::Document(builder.finish().doc()))
            }
            written => one("$unwind", written.unwrap_or(Value::Document(bindery_document::doc::EMPTY))),
        },
        other => one(other.name(), written.unwrap_or(Value::Document(bindery_document::doc::EMPTY))),
    }
}

/// `$count` is a group of all documents and a projection to the count.
fn count(name: &str) -> Vec<Watched> {
    let mut group = Builder::new();
    let argument = group.open_document("$group");
    let id = group.open_document("_id");
    group.append("$const", Value::Null);
    group.close(id);
    let field = group.open_document(name);
    let sum = group.open_document("$sum");
    group.append("$const", 1);
    group.close(sum);
    group.close(field);
    group.close(argument);
    let mut project = Builder::new();
    let argument = project.open_document("$project");
    project.append(name, true);
    project.append("_id", false);
    project.close(argument);
    vec![Watched::alone(group.finish()), Watched::alone(project.finish())]
}

impl Stage {
    /// Where a stage that is shared lies: the same for its clones.
    fn address(&self) -> Option<*const ()> {
        fn of<T>(shared: &Arc<T>) -> Option<*const ()> {
            Some(Arc::as_ptr(shared).cast())
        }
        match self {
            Stage::Match(stage) => of(stage),
            Stage::Project(stage) => of(stage),
            Stage::Sort(stage) => of(stage),
            Stage::Group(stage) => of(stage),
            Stage::Unwind(stage) => of(stage),
            Stage::ReplaceRoot(stage) => of(stage),
            Stage::Lookup(stage) => of(stage),
            Stage::GraphLookup(stage) => of(stage),
            Stage::UnionWith(stage) => of(stage),
            Stage::Facet(stage) => of(stage),
            Stage::BucketAuto(stage) => of(stage),
            Stage::SetWindowFields(stage) => of(stage),
            Stage::Densify(stage) => of(stage),
            Stage::Redact(stage) => of(stage),
            Stage::Documents(stage) => of(stage),
            Stage::CollStats(stage) => of(stage),
            Stage::Out(stage) => of(stage),
            Stage::Merge(stage) => of(stage),
            Stage::Limit(_)
            | Stage::Skip(_)
            | Stage::Count(_)
            | Stage::Sample(_)
            | Stage::IndexStats
            | Stage::PlanCacheStats => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;
    use crate::filter::ParseContext;
    use crate::pipeline::{Documents, NoForeign};

    #[test]
    fn every_stage_counts_what_it_gives() {
        let stages = DocBuf::from_bson(&doc! {"p": [
            {"$unwind": "$t"}, {"$match": {"t": {"$gt": 1}}}, {"$set": {"u": 1}}, {"$unset": "t"},
            {"$sortByCount": "$_id"}, {"$count": "n"},
        ]});
        let stages = stages.expect("stages");
        let Some(Value::Array(written)) = stages.doc().get("p") else { panic!("no array") };
        let pipeline = Pipeline::parse(written, &mut ParseContext::new()).expect("a pipeline");
        let documents = (0..4).map(|n| DocBuf::from_bson(&doc! {"_id": n, "t": [1, 2, n]}).expect("a document"));
        let (input, watched_input) = watch(Box::new(Documents::new(documents.collect::<Vec<_>>())));
        let mut env = || Environment::new(Arc::new(NoForeign));
        let (mut stream, watched) = pipeline.open_watched(written, input, &mut env).expect("opened");
        while stream.advance().expect("advanced") {}
        let names: Vec<(&str, u64)> = watched.iter().map(|stage| (stage.name(), stage.documents())).collect();
        let expected = [
            ("$unwind", 12),
            ("$match", 6),
            ("$set", 6),
            ("$project", 6),
            ("$group", 4),
            ("$sort", 4),
            ("$group", 1),
            ("$project", 1),
        ];
        assert_eq!(names, expected);
        assert_eq!(watched_input.documents(), 4);
        let shown: bson::Document = bson::deserialize_from_slice(watched[4].shown.as_bytes()).expect("a document");
        assert_eq!(shown, doc! {"$group": {"_id": "$_id", "count": {"$sum": 1}}});
    }
}
