//! Aggregation pipelines: stages compiled once, then run as streams of documents.
//!
//! ```text
//! parse  [{$match: ..}, {$group: ..}] -> stages, with MongoDB's rules for what may stand where
//! open   stages x a stream of documents x what is around it -> a stream of documents
//! ```
//!
//! Everything here is pure: the documents of the pipeline's own collection come in as a [`Stream`], those
//! of others through [`Foreign`], and `$out` and `$merge` are only described ([`Pipeline::output`]) for
//! the engine to carry out. One file for each stage. Blocking stages account for their memory.
//!
//! Source of the rules: MongoDB's manual, "Aggregation Stages"; finer points were asked of a real server.

mod bucket;
mod bucket_auto;
mod canonical_key;
mod count;
mod densify;
mod documents;
mod environment;
mod explain;
mod facet;
mod fill;
mod filtering;
mod graph_lookup;
mod group;
mod limit;
mod lookup;
mod merge;
mod nested_field;
mod optimize;
mod out;
mod parse;
mod project;
mod reading_order;
mod redact;
mod replace_root;
mod sample;
mod set_window_fields;
mod sort;
mod sort_by_count;
mod stage;
mod stream;
mod union_with;
mod unwind;
mod wants;

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};

use crate::collation::Collation;
use crate::filter::{Filter, ParseContext};
use crate::plan::GroupEnd;

pub use bucket_auto::BucketAuto;
pub use count::Count;
pub use densify::Densify;
pub use documents::SpelledOut;
pub use environment::{Environment, Foreign, MEMORY_LIMIT_BYTES, NoForeign, Probe};
pub use explain::{Watched, watch};
pub use facet::Facet;
pub use filtering::Match;
pub use graph_lookup::GraphLookup;
pub use group::Group;
pub use lookup::{Equality, Lookup};
pub use merge::{Merge, WhenMatched, WhenNotMatched};
pub use out::Out;
pub use project::Project;
pub use redact::Redact;
pub use replace_root::ReplaceRoot;
pub use set_window_fields::SetWindowFields;
pub use sort::Sort;
pub use stage::Stage;
pub use stream::{Documents, Nothing, Sink, Stream};
pub use union_with::UnionWith;
pub use unwind::Unwind;
pub use wants::Wanted;

/// A compiled pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    stages: Vec<Stage>,
    /// For each stage the number of the one that it was written as; `$bucket` and others make two of one.
    origins: Vec<usize>,
    collation: Option<Collation>,
    /// Whether the stages stand in the order in which they run.
    is_ordered: bool,
}

impl Pipeline {
    /// Compiles a pipeline.
    ///
    /// # Errors
    /// 14 for a stage that is no document, 40323 for one that has not one field, 40324 for an unknown one, 40600
    /// to 40602 for stages in wrong places; those of the stages.
    pub fn parse(stages: Doc<'_>, context: &mut ParseContext) -> Result<Pipeline> {
        let mut pipeline = Pipeline::parse_unfolded(stages, context)?;
        pipeline.fold()?;
        Ok(pipeline)
    }

    /// As [`Pipeline::parse`], but constant parts of expressions are left to be evaluated for each document, as in
    /// the pipeline of an update.
    ///
    /// # Errors
    /// As [`Pipeline::parse`], except for constant parts that cannot be evaluated.
    pub fn parse_unfolded(stages: Doc<'_>, context: &mut ParseContext) -> Result<Pipeline> {
        parse::parse(stages, context, parse::Place::Top)
    }

    /// The stages, as they were written; they are reordered when the pipeline is opened.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Takes the first `n` stages away, which the caller has carried out itself (by an index, for example).
    pub fn skip_stages(&mut self, n: usize) {
        let n = n.min(self.stages.len());
        self.stages.drain(..n);
        self.origins.drain(..n.min(self.origins.len()));
    }

    /// The stages as they were written, with every `$match` as far forward as it can go as a whole; `None` if they
    /// stand like that already. For callers that let an index answer the queries in front.
    pub fn arranged(&self, written: Doc<'_>) -> Option<DocBuf> {
        let order = optimize::arrange(&self.stages, &self.origins)?;
        let stages: Vec<Value<'_>> = written.iter().map(|stage| stage.value()).collect();
        let mut builder = Builder::new();
        for (place, arranged) in order.into_iter().enumerate() {
            match arranged.renamed {
                None => builder.append_index(place, *stages.get(arranged.number)?),
                Some(filter) => {
                    let mut stage = Builder::new();
                    stage.append("$match", Value::Document(filter.to_document().doc()));
                    builder.append_index(place, Value::Document(stage.finish().doc()));
                }
            }
        }
        Some(builder.finish())
    }

    /// Takes a `$count` away that the pipeline begins with; what it gives for a number of documents.
    pub fn take_leading_count(&mut self) -> Option<Count> {
        let Some(Stage::Count(name)) = self.stages.first() else {
            return None;
        };
        let count = Count { name: Arc::clone(name) };
        self.skip_stages(1);
        Some(count)
    }

    /// The path by whose values the `$group` that the pipeline begins with groups, and which document of each group is
    /// all that it reads; `None` if it needs more.
    pub fn leading_group_end(&self) -> Option<(String, GroupEnd)> {
        match self.stages.first()? {
            Stage::Group(group) => group.end(),
            _ => None,
        }
    }

    /// Says that the pipeline reads documents that are not stored as such, those of a time-series collection: MongoDB runs
    /// all its stages in its usual engine then.
    ///
    /// # Errors
    /// [`code::INTERNAL_ERROR`] if the pipeline is in use.
    pub fn reads_unpacked(&mut self) -> Result<()> {
        group::pushed_down::unmark(&mut self.stages)
    }

    /// How strings compare.
    pub fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// Where the documents go, if not to the client: `$out` or `$merge`, always the last stage.
    pub fn output(&self) -> Option<Output<'_>> {
        match self.stages.last() {
            Some(Stage::Out(out)) => Some(Output::Out(out)),
            Some(Stage::Merge(merge)) => Some(Output::Merge(merge)),
            _ => None,
        }
    }

    /// The stage that tells of the collection instead of reading it: always the first.
    pub fn tells(&self) -> Option<&Stage> {
        self.source().filter(|stage| !matches!(stage, Stage::Documents(_)))
    }

    /// Where the documents come from, if not from the collection: always the first stage.
    pub fn source(&self) -> Option<&Stage> {
        self.stages.first().filter(|stage| {
            matches!(stage, Stage::Documents(_) | Stage::IndexStats | Stage::CollStats(_) | Stage::PlanCacheStats)
        })
    }

    /// Checks that the pipeline fits what it is asked of: a collection, or none (`aggregate: 1`).
    ///
    /// # Errors
    /// [`code::INVALID_NAMESPACE`] if it does not.
    pub fn check_collection(&self, has_collection: bool) -> Result<()> {
        let makes_its_own = matches!(self.stages.first(), Some(Stage::Documents(_)));
        match (has_collection, makes_its_own) {
            (true, true) => {
                Err(Error::new(code::INVALID_NAMESPACE, "$documents is no stage of a collection; use {aggregate: 1}"))
            }
            (false, false) => Err(Error::new(code::INVALID_NAMESPACE, "{aggregate: 1} needs $documents first")),
            _ => Ok(()),
        }
    }

    /// Runs the pipeline on a stream of documents. Nothing is read before the result is.
    ///
    /// # Errors
    /// Those of stages that read something at once.
    pub fn open(&self, input: Box<dyn Stream>, env: &Environment) -> Result<Box<dyn Stream>> {
        let env = self.environment(env);
        let mut stream = input;
        let mut projections = Vec::new();
        let ordered = (!self.is_ordered).then(|| optimize::optimize(self.stages.clone()));
        let stages = ordered.as_ref().unwrap_or(&self.stages);
        for (place, stage) in stages.iter().enumerate() {
            // Neighbouring projections are run as one.
            if let Stage::Project(project) = stage {
                projections.push(Arc::clone(project));
                continue;
            }
            if !projections.is_empty() {
                let keeps_places = stages.iter().skip(place).any(Stage::adds_fields);
                stream = project::open(std::mem::take(&mut projections), keeps_places, stream, &env);
            }
            stream = stage.open(stream, &env)?;
        }
        if !projections.is_empty() {
            stream = project::open(projections, false, stream, &env);
        }
        Ok(stream)
    }

    /// Runs the pipeline on those documents of another collection that the filter lets through.
    ///
    /// # Errors
    /// As [`Pipeline::open`], and what reading fails with.
    fn open_over(&self, collection: &str, filter: Option<&Filter>, env: &Environment) -> Result<Box<dyn Stream>> {
        let source = match self.tells() {
            Some(stage) => env.foreign.tell(collection, stage)?,
            None => env.foreign.find(collection, filter, self.collation(), &env.parameters)?,
        };
        self.open(source, env)
    }

    /// The surroundings, with the order of strings of this pipeline.
    fn environment(&self, env: &Environment) -> Environment {
        let strings = self.collation.as_ref().map(Collation::string_order);
        Environment { strings, ..env.clone() }
    }

    /// Evaluates constant expressions; a pipeline is parsed whole, with those inside it, before the first expression
    /// is evaluated.
    fn fold(&mut self) -> Result<()> {
        self.stages.iter_mut().try_for_each(Stage::fold)
    }

    /// As [`Pipeline::fold`], for a pipeline inside another one, which is reordered at once.
    fn finish(&mut self) -> Result<()> {
        self.fold()?;
        self.stages = optimize::optimize(std::mem::take(&mut self.stages));
        self.origins.clear();
        self.is_ordered = true;
        Ok(())
    }
}

/// Where a pipeline's documents go.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// They replace a collection.
    Out(&'a Out),
    /// They are merged into one.
    Merge(&'a Merge),
}

/// The largest document that a stage may give.
const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;

/// Fails for a document that has grown beyond all bounds; what is given to the client or stored must be
/// smaller still, which others check.
fn check_size(bytes: usize) -> Result<()> {
    if bytes <= MAX_DOCUMENT_BYTES {
        return Ok(());
    }
    Err(Error::new(code::BSON_OBJECT_TOO_LARGE, "a document has become too large in the pipeline"))
}

/// A mutable reference to what nobody else holds yet.
fn unshared<T>(shared: &mut Arc<T>) -> Result<&mut T> {
    Arc::get_mut(shared).ok_or_else(|| Error::new(code::INTERNAL_ERROR, "a stage is in use while it is compiled"))
}

#[cfg(test)]
mod tests;
