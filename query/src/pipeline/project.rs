//! `$project`, `$addFields` (`$set`), `$unset`: the stages that are projections.

use std::sync::Arc;

use bindery_document::doc::EMPTY;
use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value};

use super::{Environment, Sink, Stream};
use crate::expression::limits::check_given_nesting;
use crate::filter::ParseContext;
use crate::projection::{Input, Language, Metadata, Projection, Slotted};

/// The stage.
#[derive(Debug)]
pub struct Project {
    /// The stage's name.
    pub name: &'static str,
    /// The compiled projection.
    pub projection: Projection,
    /// The stage's argument, as `explain` shows it.
    pub(super) written: DocBuf,
    /// Whether the documents made may be nested too deeply.
    must_check_nesting: bool,
}

impl Project {
    /// Checks a document that the stage has made.
    fn check(&self, made: Doc<'_>) -> Result<()> {
        super::check_size(made.as_bytes().len())?;
        if self.must_check_nesting {
            check_given_nesting(made)?;
        }
        Ok(())
    }
}

/// Parses `$project`.
///
/// # Errors
/// 15969 for what is no document; those of projections and expressions.
pub(super) fn parse_project(argument: Value<'_>, context: &mut ParseContext) -> Result<Project> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(15969, "$project takes a document"));
    };
    let collation = context.collation.clone();
    let must_check_nesting = context.expressions.must_check_nesting(spec);
    context.expressions.defer_folding(true);
    let projection = Projection::parse(spec, Language::Aggregate, collation.as_ref(), &mut context.expressions);
    context.expressions.defer_folding(false);
    Ok(Project { name: "$project", projection: projection?, written: DocBuf::from(spec), must_check_nesting })
}

/// Parses `$addFields` or `$set`.
///
/// # Errors
/// 40272 for what is no document; those of paths and expressions.
pub(super) fn parse_add_fields(name: &'static str, argument: Value<'_>, context: &mut ParseContext) -> Result<Project> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(40272, format!("{name} takes a document, not {}", argument.kind().alias())));
    };
    let must_check_nesting = context.expressions.must_check_nesting(spec);
    context.expressions.defer_folding(true);
    let projection = Projection::parse_added_fields(spec, &mut context.expressions);
    context.expressions.defer_folding(false);
    Ok(Project { name, projection: projection?, written: DocBuf::from(spec), must_check_nesting })
}

/// Parses `$unset`: a path or an array of paths.
///
/// # Errors
/// 31002, 31119 and 31120 for another argument; those of paths.
pub(super) fn parse_unset(argument: Value<'_>) -> Result<Project> {
    let projection = match argument {
        Value::String(path) => Projection::excluding([path.as_str()])?,
        Value::Array(paths) if paths.is_empty() => return Err(Error::new(31119, "$unset needs at least one path")),
        Value::Array(paths) => {
            let paths: Result<Vec<&str>> = paths
                .iter()
                .map(|path| path.value().as_str().ok_or_else(|| Error::new(31120, "$unset takes strings")))
                .collect();
            Projection::excluding(paths?)?
        }
        other => {
            let found = other.kind().alias();
            return Err(Error::new(31002, format!("$unset takes a string or an array of strings, not {found}")));
        }
    };
    let mut written = Builder::new();
    match argument {
        Value::Array(paths) => {
            paths.iter().filter_map(|path| path.value().as_str()).for_each(|path| written.append(path, false))
        }
        path => path.as_str().into_iter().for_each(|path| written.append(path, false)),
    }
    written.append("_id", true);
    Ok(Project { name: "$unset", projection, written: written.finish(), must_check_nesting: false })
}

/// Projections that follow each other directly. A field that one removes and another, or a later stage, sets again comes
/// back to its place (see [`Slotted`]).
struct ProjectStream {
    stages: Vec<Arc<Project>>,
    input: Box<dyn Stream>,
    env: Environment,
    current: Current,
}

/// What was computed last.
struct Current {
    /// Whether places of removed fields are kept even if none have been removed yet.
    keeps_places: bool,
    plain: Vec<u8>,
    slotted: Slotted,
    is_slotted: bool,
}

/// Runs projections one after another; `keeps_places` if later stages may set fields that these remove.
pub(super) fn open(
    stages: Vec<Arc<Project>>,
    keeps_places: bool,
    input: Box<dyn Stream>,
    env: &Environment,
) -> Box<dyn Stream> {
    let current = Current {
        keeps_places: keeps_places || stages.len() > 1,
        plain: vec![5, 0, 0, 0, 0],
        slotted: Slotted::new(EMPTY),
        is_slotted: false,
    };
    Box::new(ProjectStream { stages, input, env: env.clone(), current })
}

impl Current {
    /// Projects a document.
    fn compute(
        &mut self,
        stages: &[Arc<Project>],
        document: Doc<'_>,
        metadata: Metadata<'_>,
        env: &Environment,
    ) -> Result<()> {
        let scope = env.scope(document).with_record_id(metadata.record_id);
        self.is_slotted = self.keeps_places || metadata.slotted.is_some();
        if self.is_slotted {
            self.slotted.replace_slotted(document, metadata.slotted);
            for stage in stages {
                self.slotted.project(&stage.projection, &Input { scope, position: None, metadata })?;
                stage.check(self.slotted.doc())?;
            }
        } else {
            for stage in stages {
                stage.projection.apply(&Input { scope, position: None, metadata }, &mut self.plain)?;
                stage.check(Doc::from_stored(&self.plain))?;
            }
        }
        Ok(())
    }

    fn doc(&self) -> Doc<'_> {
        if self.is_slotted { self.slotted.doc() } else { Doc::from_stored(&self.plain) }
    }

    fn metadata<'m>(&'m self, input: Metadata<'m>) -> Metadata<'m> {
        Metadata { slotted: self.slotted.slotted().filter(|_| self.is_slotted), ..input }
    }
}

impl Stream for ProjectStream {
    fn advance(&mut self) -> Result<bool> {
        if !self.input.advance()? {
            return Ok(false);
        }
        self.current.compute(&self.stages, self.input.current(), self.input.metadata(), &self.env)?;
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }

    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let ProjectStream { stages, input, env, current } = self;
        input.drain(&mut |document, metadata| {
            current.compute(stages, document, metadata, env)?;
            sink(current.doc(), current.metadata(metadata))
        })
    }

    fn metadata(&self) -> Metadata<'_> {
        self.current.metadata(self.input.metadata())
    }
}
