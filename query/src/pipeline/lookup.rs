//! `$lookup`: an array of documents of another collection, found by equality, by a pipeline, or both.

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::path::Plain;
use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Path, Result, Value, code};

use super::group::pushed_down::has_position;
use super::nested_field::{Change, write, write_last};
use super::parse::{self, Place};
use super::{Environment, Pipeline, Probe, Stage, Stream};
use crate::collation::Collation;
use crate::expression::Expression;
use crate::expression::field_path::{check_variable_name, split_path};
use crate::filter::{Compare, CompareOp, Filter, Membership, ParseContext};
use crate::projection::{Metadata, Slotted};

/// The stage.
#[derive(Debug)]
pub struct Lookup {
    /// The other collection; `None` for a pipeline that makes its own documents.
    pub from: Option<Box<str>>,
    /// The path of the array.
    pub target: Box<[Box<str>]>,
    /// The fields that must be equal.
    pub equality: Option<Equality>,
    /// The variables that the pipeline may use, in the order of its parameters.
    pub variables: Vec<Expression>,
    /// What is done with the documents found.
    pub pipeline: Pipeline,
    has_pipeline: bool,
    collation: Option<Collation>,
    /// Whether MongoDB runs it in its other engine, which puts the array behind all fields, also where it replaces one.
    pub(super) is_pushed_down: bool,
}

/// The fields whose values must be equal.
#[derive(Debug)]
pub struct Equality {
    /// The names of the local path.
    pub local: Box<[Box<str>]>,
    /// The same as a path.
    local_path: Path,
    /// The foreign path.
    pub foreign: Path,
}

/// Parses the stage.
///
/// # Errors
/// [`code::FAILED_TO_PARSE`] for malformed fields, 14 for a pipeline that is no array, 51047 for stages that a
/// lookup must not have; those of paths, of expressions and of stages.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<Lookup> {
    let malformed = |what: &str| Err(Error::new(code::FAILED_TO_PARSE, format!("$lookup {what}")));
    let Value::Document(spec) = argument else {
        return malformed("takes a document");
    };
    let (mut from, mut target, mut local, mut foreign) = (None, None, None, None);
    let (mut stages, mut variables) = (None, None);
    for element in spec {
        let place = match (element.key, element.value()) {
            (b"pipeline", Value::Array(array)) => {
                stages = Some(array);
                continue;
            }
            (b"pipeline", _) => {
                return Err(Error::new(code::TYPE_MISMATCH, "$lookup's pipeline must be an array"));
            }
            (b"let", Value::Document(doc)) => {
                variables = Some(doc);
                continue;
            }
            (b"let", _) => return malformed("needs a document as 'let'"),
            (b"from", _) => &mut from,
            (b"as", _) => &mut target,
            (b"localField", _) => &mut local,
            (b"foreignField", _) => &mut foreign,
            _ => return malformed(&format!("does not know the field '{}'", element.key_str())),
        };
        let Value::String(text) = element.value() else {
            if element.key == b"from" {
                let code = super::graph_lookup::no_name(&element.value());
                return Err(Error::new(code, "$lookup needs a string as 'from'"));
            }
            return malformed(&format!("needs a string as '{}'", element.key_str()));
        };
        if matches!(element.key, b"localField" | b"foreignField") && text.as_bytes().is_empty() {
            return malformed(&format!("needs a path as '{}'", element.key_str()));
        }
        *place = Some(text.as_str());
    }
    let makes_its_own = stages
        .and_then(Doc::first)
        .and_then(|stage| stage.value().as_document()?.first())
        .is_some_and(|stage| stage.key == b"$documents");
    if from.is_none() && !makes_its_own {
        return malformed("needs 'from'");
    }
    if let Some(from) = from {
        parse::check_collection(from)?;
    }
    let target = match target {
        None | Some("") => return malformed("needs 'as'"),
        Some(target) => split_path(target)?,
    };
    let equality = match (local, foreign) {
        (None, None) if stages.is_none() => return malformed("needs 'localField' and 'foreignField', or a pipeline"),
        (None, None) => None,
        (Some(local), Some(foreign)) => {
            split_path(foreign)?;
            Some(Equality { local: split_path(local)?, local_path: Path::parse(local), foreign: Path::parse(foreign) })
        }
        _ => return malformed("needs both 'localField' and 'foreignField'"),
    };
    if variables.is_some() && stages.is_none() {
        return malformed("takes 'let' only with a pipeline");
    }
    let mut inner = ParseContext {
        collation: context.collation.clone(),
        expressions: context.expressions.clone(),
        ..ParseContext::default()
    };
    let mut values = Vec::new();
    for variable in variables.into_iter().flatten() {
        check_variable_name(variable.key_str())?;
        values.push(Expression::parse_unfolded(variable.value(), &mut context.expressions)?);
        inner.expressions.define_parameter(variable.key_str());
    }
    let has_pipeline = stages.is_some();
    let pipeline = match stages {
        Some(stages) => parse::parse(stages, &mut inner, Place::Lookup)?,
        None => parse::parse(bindery_document::doc::EMPTY, &mut inner, Place::Lookup)?,
    };
    if let (Some(_), Some(stage)) = (&equality, pipeline.tells()) {
        // What must be equal is a stage before it.
        return Err(Error::new(40602, format!("{} must be the first stage", stage.name())));
    }
    Ok(Lookup {
        from: from.map(Into::into),
        target,
        equality,
        variables: values,
        pipeline,
        has_pipeline,
        collation: context.collation.clone(),
        is_pushed_down: false,
    })
}

impl Lookup {
    pub(super) fn fold(&mut self) -> Result<()> {
        self.variables.iter_mut().try_for_each(Expression::fold)?;
        self.pipeline.finish()
    }

    /// Whether it is a join by two fields and nothing else, neither of them by position.
    pub(super) fn is_plain_join(&self) -> bool {
        let is_plain = |equality: &Equality| {
            !has_position(equality.foreign.as_str()) && !equality.local.iter().any(|name| has_position(name))
        };
        !self.has_pipeline && self.equality.as_ref().is_some_and(is_plain)
    }

    /// Whether all documents get the same array.
    fn is_constant(&self) -> bool {
        self.equality.is_none() && self.variables.is_empty()
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        let (rest, filter) = self.pipeline.split_leading_match();
        // Documents that are only looked up by a field need no plan each.
        let probe = match (&self.from, &self.equality) {
            (Some(from), Some(equality)) if self.pipeline.stages.is_empty() && self.collation.is_none() => {
                env.foreign.probe(from, &equality.foreign)
            }
            _ => None,
        };
        let puts_last = self.is_pushed_down && self.from.as_deref().is_some_and(|from| !env.foreign.is_view(from));
        Box::new(LookupStream {
            puts_last,
            stage: self,
            input,
            env: env.clone(),
            rest,
            filter,
            probe,
            array: None,
            current: Slotted::default(),
        })
    }
}

struct LookupStream {
    stage: Arc<Lookup>,
    puts_last: bool,
    input: Box<dyn Stream>,
    env: Environment,
    /// The pipeline without the query that it begins with, which the collection answers itself.
    rest: Pipeline,
    filter: Option<Filter>,
    probe: Option<Box<dyn Probe>>,
    /// The array of the current document; of all documents, if they get the same.
    array: Option<DocBuf>,
    current: Slotted,
}

/// An array being made of the documents found.
struct Found {
    builder: Builder,
    len: usize,
}

impl Found {
    fn push(&mut self, document: Doc<'_>) -> Result<()> {
        self.builder.append_index(self.len, Value::Document(document));
        self.len += 1;
        if self.builder.len() > MAX_ARRAY_BYTES {
            return Err(Error::new(4568, "the documents that $lookup found exceed the size of a document"));
        }
        Ok(())
    }
}

impl LookupStream {
    /// Finds the documents for the current one.
    fn find(&mut self) -> Result<DocBuf> {
        let buffer = self.array.take().map_or(Vec::new(), DocBuf::into_bytes);
        let mut found = Found { builder: Builder::with_buffer(buffer), len: 0 };
        if !self.look_up(&mut found)? {
            self.run(&mut found)?;
        }
        Ok(found.builder.finish())
    }

    /// Looks the documents up in an index; false if that cannot be done.
    fn look_up(&mut self, found: &mut Found) -> Result<bool> {
        let (Some(probe), Some(equality)) = (&mut self.probe, &self.stage.equality) else {
            return Ok(false);
        };
        let Plain::Found(local) = equality.local_path.find_plain(self.input.current()) else {
            return Ok(false);
        };
        probe.find(&local.value(), &mut |document, _| {
            found.push(document)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Runs the pipeline over the documents that are equal.
    fn run(&self, found: &mut Found) -> Result<()> {
        let document = self.input.current();
        let mut env = self.env.clone();
        if !self.stage.variables.is_empty() {
            let scope = self.env.scope(document);
            let mut parameters = self.env.parameters.to_vec();
            for value in &self.stage.variables {
                parameters.push(value.evaluate(&scope)?.to_owned_value());
            }
            env.parameters = Arc::from(parameters);
        }
        let filter = match (&self.stage.equality, &self.filter) {
            (None, filter) => filter.clone(),
            (Some(equality), None) => Some(equality.filter(document, self.stage.collation.as_ref())),
            (Some(equality), Some(filter)) => {
                let equal = equality.filter(document, self.stage.collation.as_ref());
                Some(Filter::And(vec![equal, filter.clone()]))
            }
        };
        let mut stream = match &self.stage.from {
            Some(from) => self.rest.open_over(from, filter.as_ref(), &env)?,
            None => {
                // The documents are spelled out by the first stage; what must be equal is asked of them.
                let (source, rest) = self.rest.split_first();
                let documents = source.open(Box::new(super::stream::Nothing), &env)?;
                let documents = match filter {
                    Some(filter) => Arc::new(super::Match { filter }).open(documents, &env),
                    None => documents,
                };
                rest.open(documents, &env)?
            }
        };
        stream.drain(&mut |document, _| {
            found.push(document)?;
            env.check_interrupt()?;
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// The most bytes of an array that a lookup makes: those of a document.
const MAX_ARRAY_BYTES: usize = 16 * 1024 * 1024;

impl Equality {
    /// The foreign documents that equal a local one: that have any of the values at the local path, those in
    /// arrays each for itself. No value at all counts as null.
    fn filter(&self, document: Doc<'_>, collation: Option<&Collation>) -> Filter {
        let mut values = Vec::new();
        collect(Value::Document(document), &self.local, &mut values);
        if values.is_empty() {
            values.push(OwnedValue::new(Value::Null));
        }
        match <[OwnedValue; 1]>::try_from(values) {
            Ok([value]) => {
                Filter::Compare(Compare::new(self.foreign.clone(), CompareOp::Eq, value, collation.cloned()))
            }
            Err(values) => Filter::In(Membership::new(self.foreign.clone(), values, Vec::new(), collation.cloned())),
        }
    }
}

/// The values at a path, of arrays their elements.
fn collect(value: Value<'_>, names: &[Box<str>], values: &mut Vec<OwnedValue>) {
    let Some((first, rest)) = names.split_first() else {
        match value {
            Value::Array(items) => values.extend(items.iter().map(|item| OwnedValue::new(item.value()))),
            Value::Undefined => values.push(OwnedValue::new(Value::Null)),
            other => values.push(OwnedValue::new(other)),
        }
        return;
    };
    match value {
        Value::Document(doc) => {
            if let Some(element) = doc.element(first.as_bytes()) {
                collect(element.value(), rest, values);
            }
        }
        Value::Array(items) => {
            // A number is a position, and no name in the documents.
            if first.bytes().all(|b| b.is_ascii_digit()) {
                if let Some(element) = items.element(first.as_bytes()) {
                    collect(element.value(), rest, values);
                }
                return;
            }
            for item in items {
                if let Value::Document(_) = item.value() {
                    collect(item.value(), names, values);
                }
            }
        }
        _ => {}
    }
}

impl Stream for LookupStream {
    fn advance(&mut self) -> Result<bool> {
        if !self.input.advance()? {
            return Ok(false);
        }
        let known = if self.stage.is_constant() { self.array.take() } else { None };
        let array = match known {
            Some(array) => array,
            None => self.find()?,
        };
        let (slotted, stage, puts_last) = (self.input.metadata().slotted, &self.stage, self.puts_last);
        self.current.rewrite(slotted.unwrap_or(self.input.current()), slotted.is_some(), |doc, out| {
            let array = Value::Array(array.doc());
            if puts_last {
                write_last(doc, &stage.target, array, out);
            } else {
                write(doc, &stage.target, Change::Set(array), out);
            }
        });
        self.array = Some(array);
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }

    fn metadata(&self) -> Metadata<'_> {
        Metadata { slotted: self.current.slotted(), ..self.input.metadata() }
    }
}

impl Pipeline {
    /// The first stage alone, and the others.
    fn split_first(&self) -> (Pipeline, Pipeline) {
        let (mut first, mut rest) = (self.clone(), self.clone());
        first.stages.truncate(1);
        first.origins.clear();
        rest.skip_stages(1);
        (first, rest)
    }

    /// The pipeline without the query that it begins with, and that query.
    pub(super) fn split_leading_match(&self) -> (Pipeline, Option<Filter>) {
        let mut rest = self.clone();
        let Some(Stage::Match(leading)) = self.stages.first() else {
            return (rest, None);
        };
        let filter = leading.filter.clone();
        rest.skip_stages(1);
        (rest, Some(filter))
    }
}
