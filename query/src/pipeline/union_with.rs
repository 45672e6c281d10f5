//! `$unionWith`: the documents of another collection behind those of this one.

use std::sync::Arc;

use bindery_document::{Doc, Error, Result, Value, code};

use super::parse::{self, Place};
use super::{Environment, Pipeline, Stream};
use crate::filter::ParseContext;
use crate::projection::Metadata;

/// The stage.
#[derive(Debug)]
pub struct UnionWith {
    /// The other collection; `None` for a pipeline that makes its own documents.
    pub collection: Option<Box<str>>,
    /// What is done with its documents.
    pub pipeline: Pipeline,
}

/// Parses a name, or a document with `coll` and `pipeline`.
///
/// # Errors
/// [`code::FAILED_TO_PARSE`] for another argument, 14 for fields of wrong types, 40415 for unknown ones, 31441
/// for stages that a union must not have; those of stages.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<UnionWith> {
    let mut inner = ParseContext {
        collation: context.collation.clone(),
        expressions: context.expressions.clone(),
        ..ParseContext::default()
    };
    let (mut collection, mut stages) = (None, bindery_document::doc::EMPTY);
    match argument {
        Value::String(name) => collection = Some(name.as_str()),
        Value::Document(spec) => {
            for element in spec {
                match (element.key, element.value()) {
                    (b"coll", Value::String(name)) => collection = Some(name.as_str()),
                    (b"pipeline", Value::Array(array)) => stages = array,
                    (b"coll", Value::Null | Value::Undefined) => {}
                    (b"pipeline", Value::Null | Value::Undefined) => {
                        return Err(Error::new(10_065, "$unionWith's pipeline must be an array"));
                    }
                    (b"coll" | b"pipeline", other) => {
                        let message =
                            format!("$unionWith's {} must not be {}", element.key_str(), other.kind().alias());
                        return Err(Error::new(code::TYPE_MISMATCH, message));
                    }
                    _ => {
                        let message = format!("$unionWith does not know the field '{}'", element.key_str());
                        return Err(Error::new(40415, message));
                    }
                }
            }
        }
        _ => return Err(Error::new(code::FAILED_TO_PARSE, "$unionWith takes a name or a document")),
    }
    if let Some(collection) = collection {
        parse::check_collection(collection)?;
    }
    let makes_its_own = stages
        .first()
        .and_then(|stage| stage.value().as_document()?.first())
        .is_some_and(|stage| stage.key == b"$documents");
    if collection.is_none() && !makes_its_own {
        return Err(Error::new(code::FAILED_TO_PARSE, "$unionWith needs 'coll'"));
    }
    let pipeline = parse::parse(stages, &mut inner, Place::Union)?;
    Ok(UnionWith { collection: collection.map(Into::into), pipeline })
}

impl UnionWith {
    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(UnionStream { stage: self, streams: Streams::First(input), env: env.clone() })
    }
}

enum Streams {
    First(Box<dyn Stream>),
    Second(Box<dyn Stream>),
}

struct UnionStream {
    stage: Arc<UnionWith>,
    streams: Streams,
    env: Environment,
}

impl Stream for UnionStream {
    fn advance(&mut self) -> Result<bool> {
        if let Streams::First(input) = &mut self.streams {
            if input.advance()? {
                return Ok(true);
            }
            let (rest, filter) = self.stage.pipeline.split_leading_match();
            self.streams = Streams::Second(match &self.stage.collection {
                Some(name) => rest.open_over(name, filter.as_ref(), &self.env)?,
                None => rest.open(Box::new(super::stream::Nothing), &self.env)?,
            });
        }
        match &mut self.streams {
            Streams::First(_) => Ok(false),
            Streams::Second(stream) => stream.advance(),
        }
    }

    fn current(&self) -> Doc<'_> {
        match &self.streams {
            Streams::First(stream) | Streams::Second(stream) => stream.current(),
        }
    }

    fn metadata(&self) -> Metadata<'_> {
        match &self.streams {
            Streams::First(stream) | Streams::Second(stream) => stream.metadata(),
        }
    }
}
