//! `$facet`: several pipelines over the same documents, each giving an array.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bindery_document::{Builder, Doc, DocBuf, Error, Kind, Result, Value, code, doc};

use super::parse::{self, Place};
use super::{Environment, Pipeline, Stream};
use crate::filter::ParseContext;
use crate::projection::Metadata;

/// The stage.
#[derive(Debug)]
pub struct Facet {
    /// The fields with their pipelines.
    pub facets: Vec<(Box<str>, Pipeline)>,
}

/// Parses the stage.
///
/// # Errors
/// 40169 for what is no document or an empty one, 40170 for a pipeline that is no array, 40171 for a stage that is no
/// document, 40600 for stages that a
/// facet must not have, 15998, 16410 and 16412 for malformed names; those of stages.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<Facet> {
    let spec = match argument {
        Value::Document(spec) if !spec.is_empty() => spec,
        _ => return Err(Error::new(40169, "$facet takes a document with at least one field")),
    };
    let mut facets = Vec::new();
    for element in spec {
        let name = element.key_str();
        crate::expression::field_path::check_name(name)?;
        if name.contains('.') {
            return Err(Error::new(16412, format!("a name of $facet must not hold dots: '{name}'")));
        }
        let Value::Array(stages) = element.value() else {
            return Err(Error::new(40170, format!("the facet '{name}' must be an array of stages")));
        };
        if let Some(stage) = stages.iter().find(|stage| stage.kind != Kind::Document) {
            let message = format!("a stage of the facet '{name}' must be a document, not {}", stage.kind.alias());
            return Err(Error::new(40171, message));
        }
        let mut inner = ParseContext {
            collation: context.collation.clone(),
            expressions: context.expressions.clone(),
            ..ParseContext::default()
        };
        facets.push((name.into(), parse::parse(stages, &mut inner, Place::Facet)?));
    }
    Ok(Facet { facets })
}

impl Facet {
    pub(super) fn fold(&mut self) -> Result<()> {
        self.facets.iter_mut().try_for_each(|(_, pipeline)| pipeline.finish())
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(FacetStream { stage: self, input: Some(input), env: env.clone(), current: None })
    }
}

struct FacetStream {
    stage: Arc<Facet>,
    input: Option<Box<dyn Stream>>,
    env: Environment,
    current: Option<DocBuf>,
}

/// Documents that several pipelines read, each with its slots if it has any.
struct Shared {
    documents: Arc<Vec<(DocBuf, Option<DocBuf>)>>,
    next: usize,
    /// Told when a pipeline asks for more than there is.
    ended: Arc<AtomicBool>,
}

impl Shared {
    fn here(&self) -> Option<&(DocBuf, Option<DocBuf>)> {
        self.next.checked_sub(1).and_then(|at| self.documents.get(at))
    }
}

impl Stream for Shared {
    fn advance(&mut self) -> Result<bool> {
        let found = self.next < self.documents.len();
        self.next += usize::from(found);
        if !found {
            self.ended.store(true, Ordering::Relaxed);
        }
        Ok(found)
    }

    fn current(&self) -> Doc<'_> {
        self.here().map_or(doc::EMPTY, |(document, _)| document.doc())
    }

    fn metadata(&self) -> Metadata<'_> {
        let slotted = self.here().and_then(|(_, slotted)| slotted.as_ref()).map(DocBuf::doc);
        Metadata { slotted, ..Metadata::default() }
    }
}

impl Stream for FacetStream {
    fn advance(&mut self) -> Result<bool> {
        self.current = None;
        let Some(mut input) = self.input.take() else {
            return Ok(false);
        };
        let (mut documents, mut used_bytes) = (Vec::new(), 0);
        while input.advance()? {
            let document = input.current();
            used_bytes += document.as_bytes().len() + size_of::<DocBuf>();
            self.env.check_memory("$facet", used_bytes)?;
            documents.push((DocBuf::from(document), input.metadata().slotted.map(DocBuf::from)));
            self.env.check_interrupt()?;
        }
        let documents = Arc::new(documents);
        let mut builder = Builder::new();
        let mut at_the_end: Option<Error> = None;
        for (name, pipeline) in &self.stage.facets {
            let open = builder.open_array(name.as_bytes());
            let ended = Arc::new(AtomicBool::new(false));
            let shared = Box::new(Shared { documents: Arc::clone(&documents), next: 0, ended: Arc::clone(&ended) });
            if let Err(error) = append_results(pipeline, shared, &self.env, &mut builder) {
                // MongoDB gives all pipelines the documents before it tells the first that there are no more.
                if !ended.load(Ordering::Relaxed) {
                    return Err(error);
                }
                at_the_end.get_or_insert(error);
            }
            builder.close(open);
        }
        if let Some(error) = at_the_end {
            return Err(error);
        }
        self.current = Some(builder.finish());
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }
}

/// Appends what a pipeline gives to an open array.
fn append_results(
    pipeline: &Pipeline,
    documents: Box<dyn Stream>,
    env: &Environment,
    builder: &mut Builder,
) -> Result<()> {
    let mut found = pipeline.open(documents, env)?;
    let mut index = 0;
    while found.advance()? {
        builder.append_index(index, Value::Document(found.current()));
        index += 1;
        if builder.len() > MAX_BYTES {
            return Err(Error::new(code::BSON_OBJECT_TOO_LARGE, "what $facet gives exceeds the size of a document"));
        }
    }
    Ok(())
}

/// The most bytes of the one document that a facet gives.
const MAX_BYTES: usize = 16 * 1024 * 1024;
