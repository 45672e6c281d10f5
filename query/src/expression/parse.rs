//! From a BSON value to an expression: literals, field paths, objects, arrays, operators.

use bindery_document::{Doc, Error, OwnedValue, Result, Value, code};

use super::Node;
use super::field_path::{Base, FieldPath, check_length, check_name, check_variable_use, split_path};
use super::ported;
use super::registry::{self, Arity, Entry, Function, Named};
use super::scope::Address;
use super::set;
use crate::collation::Collation;

/// Stored documents have room for this many more levels before they are nested too deeply to be given out.
const MAX_ADDED_NESTING: usize = 20;
/// The most pipelines that one may lie in.
const MAX_OUTER_PIPELINES: usize = 20;

/// What is known while an expression is compiled: the variables in scope and the constants of the command.
#[derive(Clone, Debug, Default)]
pub struct ParseContext {
    constants: Vec<(String, Option<OwnedValue>)>,
    parameters: Vec<String>,
    frames: Vec<Vec<String>>,
    folding_deferred: bool,
    /// How strings compare; `None` for byte order.
    collation: Option<Collation>,
    /// Whether expressions keep to general operators.
    stays_general: bool,
    met_unported: bool,
    /// How many pipelines the one that is compiled lies in.
    outer_pipelines: usize,
    /// How many levels the stages since the last check may have added to documents.
    added_nesting: usize,
}

impl ParseContext {
    /// A context in which only `$$ROOT`, `$$CURRENT` and `$$REMOVE` are known.
    pub fn new() -> ParseContext {
        ParseContext::default()
    }

    /// Sets `$$NOW`, in milliseconds since the epoch.
    #[must_use]
    pub fn with_now(mut self, now_ms: i64) -> ParseContext {
        self.define_constant("NOW", Some(OwnedValue::new(Value::DateTime(now_ms))));
        self
    }

    /// Defines a variable whose value is known now: a command's `let`, `NOW`, `CLUSTER_TIME`. It takes part
    /// in constant folding. A later definition hides an earlier one of the same name.
    pub fn define_constant(&mut self, name: &str, value: Option<OwnedValue>) {
        self.constants.push((name.to_owned(), value));
    }

    /// Defines a variable whose value is known at evaluation, such as a `let` of `$lookup`; the index is its
    /// place in [`Scope::with_parameters`](super::Scope::with_parameters).
    pub fn define_parameter(&mut self, name: &str) -> usize {
        self.parameters.push(name.to_owned());
        self.parameters.len() - 1
    }

    /// Makes [`Expression::parse`](super::Expression::parse) leave constant parts alone (or no longer), so that
    /// several expressions can be parsed before the first is folded.
    pub fn defer_folding(&mut self, deferred: bool) {
        self.folding_deferred = deferred;
    }

    /// Sets how strings will compare: constant parts are evaluated so, and the order of sets matters, for the first of
    /// equal strings stays.
    #[must_use]
    pub fn with_collation(self, collation: Option<Collation>) -> ParseContext {
        ParseContext { collation, ..self }
    }

    pub(crate) fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// Makes expressions keep to the operators they were written with. MongoDB makes special operators of some, whose
    /// errors have codes of their own, but not in the conditions of what reads collections.
    #[must_use]
    pub fn staying_general(self) -> ParseContext {
        ParseContext { stays_general: true, ..self }
    }

    pub(crate) fn stays_general(&self) -> bool {
        self.stays_general
    }

    /// Forgets what was parsed so far for [`ParseContext::is_ported`].
    pub(crate) fn watch_ported(&mut self) {
        self.met_unported = false;
    }

    /// Whether MongoDB's other engine knows all that was parsed since [`ParseContext::watch_ported`].
    pub(crate) fn is_ported(&self) -> bool {
        !self.met_unported
    }

    pub(crate) fn is_folding_deferred(&self) -> bool {
        self.folding_deferred
    }

    /// Parses what `body` asks for as the part of a pipeline that lies in another one.
    ///
    /// # Errors
    /// [`code::MAX_SUB_PIPELINE_DEPTH_EXCEEDED`] more than 20 levels down; those of the body.
    pub(crate) fn inside_pipeline<T>(
        context: &mut crate::filter::ParseContext,
        body: impl FnOnce(&mut crate::filter::ParseContext) -> Result<T>,
    ) -> Result<T> {
        if context.expressions.outer_pipelines >= MAX_OUTER_PIPELINES {
            let message = format!("pipelines may lie in each other {MAX_OUTER_PIPELINES} levels deep");
            return Err(Error::new(code::MAX_SUB_PIPELINE_DEPTH_EXCEEDED, message));
        }
        context.expressions.outer_pipelines += 1;
        let result = body(context);
        context.expressions.outer_pipelines -= 1;
        result
    }

    /// Notes a stage that builds documents by this specification; whether it is to check how deeply they are
    /// nested, because it and those before it may have added many levels.
    pub(crate) fn must_check_nesting(&mut self, spec: Doc<'_>) -> bool {
        const REPEATED: &[u8] = b"$reduce";
        self.added_nesting += 1 + bindery_document::validate::depth(spec);
        let repeats = || spec.as_bytes().windows(REPEATED.len()).any(|bytes| bytes == REPEATED);
        let must_check = self.added_nesting > MAX_ADDED_NESTING || repeats();
        if must_check {
            self.added_nesting = 0;
        }
        must_check
    }

    /// The number of parameters defined.
    pub fn parameter_count(&self) -> usize {
        self.parameters.len()
    }

    /// Parses what `body` asks for with more variables in scope.
    pub(crate) fn with_variables<T>(
        &mut self,
        names: Vec<String>,
        body: impl FnOnce(&mut ParseContext) -> Result<T>,
    ) -> Result<T> {
        self.frames.push(names);
        let result = body(self);
        self.frames.pop();
        result
    }

    fn find_variable(&self, name: &str) -> Option<Address> {
        self.frames.iter().rev().enumerate().find_map(|(depth, names)| {
            // Of two variables of one name in a frame the later one counts.
            names.iter().rposition(|n| n == name).map(|index| Address { depth, index })
        })
    }

    /// What a variable with a path behind it stands for.
    pub(crate) fn resolve(&self, name: &str, names: Box<[Box<str>]>) -> Result<Node> {
        let path = |base, names| Ok(Node::Path(FieldPath::new(base, names)));
        if let Some(address) = self.find_variable(name) {
            return path(Base::Variable(address), names);
        }
        if let Some(index) = self.parameters.iter().rposition(|n| n == name) {
            return path(Base::Parameter(index), names);
        }
        if let Some((_, value)) = self.constants.iter().rev().find(|(n, _)| n == name) {
            let found = value.as_ref().and_then(|v| super::field_path::walk(v.value(), &names).to_owned_value());
            return Ok(Node::Constant(found));
        }
        match name {
            "ROOT" | "CURRENT" => path(Base::Root, names),
            "REMOVE" => Ok(Node::Constant(None)),
            "SEARCH_META" => Err(Error::new(6_347_903, "$$SEARCH_META is only available with a search")),
            "CLUSTER_TIME" | "NOW" | "JS_SCOPE" | "IS_MR" => {
                Err(Error::new(51144, format!("builtin variable '$${name}' is not available")))
            }
            _ => Err(Error::new(17276, format!("use of undefined variable: {name}"))),
        }
    }
}

/// Parses any expression, without folding.
pub(crate) fn parse(value: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    match value {
        Value::String(text) if text.as_bytes().first() == Some(&b'$') => parse_path(text.as_str(), ctx),
        Value::Document(doc) => parse_object(doc, ctx),
        Value::Array(items) => {
            ctx.met_unported = true;
            let items: Result<Vec<_>> = items.iter().map(|item| parse(item.value(), ctx)).collect();
            Ok(Node::Array(items?))
        }
        other => Ok(Node::constant(other)),
    }
}

/// `"$a.b"` or `"$$name.b"`.
fn parse_path(text: &str, ctx: &ParseContext) -> Result<Node> {
    let path = &text[1..];
    if path.is_empty() {
        return Err(Error::new(16872, "'$' by itself is not a field path"));
    }
    let Some(variable) = path.strip_prefix('$') else {
        return ctx.resolve("CURRENT", split_below_variable(path)?);
    };
    let (name, rest) = match variable.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (variable, None),
    };
    check_variable_use(name)?;
    let names = match rest {
        None => Box::default(),
        // An empty rest is a path that ends in a dot.
        Some("") => return Err(Error::new(40353, "a field path must not end with a dot")),
        Some(rest) => split_below_variable(rest)?,
    };
    ctx.resolve(name, names)
}

fn split_below_variable(path: &str) -> Result<Box<[Box<str>]>> {
    check_length(1 + path.split('.').count())?;
    split_path(path)
}

/// An operator (`{$op: ..}`) or a document to build (`{a: .., b: ..}`).
fn parse_object(doc: Doc<'_>, ctx: &mut ParseContext) -> Result<Node> {
    if let Some(first) = doc.first()
        && first.key.first() == Some(&b'$')
    {
        if doc.count() > 1 {
            let message = "an expression is a document with one field, the operator";
            return Err(Error::new(15983, format!("{message}; '{}' is not alone", first.key_str())));
        }
        return parse_operator(first.key_str(), first.value(), ctx);
    }
    let mut fields: Vec<(Box<str>, Node)> = Vec::new();
    for element in doc {
        let name = element.key_str();
        check_field_name(name)?;
        if fields.iter().any(|(n, _)| &**n == name) {
            return Err(Error::new(16406, format!("duplicate field name in an object: '{name}'")));
        }
        fields.push((name.into(), parse(element.value(), ctx)?));
    }
    Ok(Node::Object(fields))
}

/// Names in an object that is built have no dots: they are names, not paths.
pub(crate) fn check_field_name(name: &str) -> Result<()> {
    if name.contains('.') {
        return Err(Error::new(16412, format!("field names in an object expression may not hold dots: '{name}'")));
    }
    check_name(name)
}

/// Parses `{$name: argument}`.
///
/// # Errors
/// 168 for a name that is no operator; what the operator says of its argument.
pub(crate) fn parse_operator(name: &str, argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Some(entry) = registry::find(name) else {
        return Err(Error::new(code::INVALID_PIPELINE_OPERATOR, format!("unrecognized expression '{name}'")));
    };
    ctx.met_unported |= !ported::is_ported(name);
    match &entry.function {
        Function::Parsed(parse) => parse(argument, ctx),
        Function::Named(named) => parse_named(entry, named, argument, ctx),
        _ => {
            let operands = parse_operands(argument, ctx)?;
            check_arity(entry, operands.len())?;
            let entry = if ctx.collation.is_some() { set::under_collation(entry) } else { entry };
            Ok(Node::Call { entry, operands })
        }
    }
}

/// Operands by position: an array's elements, or the argument itself as the only one.
pub(crate) fn parse_operands(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Box<[Node]>> {
    match argument {
        Value::Array(items) => items.iter().map(|item| parse(item.value(), ctx)).collect(),
        single => Ok(Box::new([parse(single, ctx)?])),
    }
}

pub(super) fn check_arity(entry: &Entry, n: usize) -> Result<()> {
    let name = entry.name;
    match entry.arity {
        Arity::Exactly(expected) if n != expected => {
            Err(Error::new(16020, format!("{name} takes exactly {expected} arguments; {n} were given")))
        }
        Arity::Between(least, most) if !(least..=most).contains(&n) => {
            Err(Error::new(28667, format!("{name} takes {least} to {most} arguments; {n} were given")))
        }
        Arity::AtLeast(least, code) if n < least => {
            Err(Error::new(code, format!("{name} takes at least {least} arguments; {n} were given")))
        }
        _ => Ok(()),
    }
}

pub(super) fn parse_named(
    entry: &'static Entry,
    named: &'static Named,
    argument: Value<'_>,
    ctx: &mut ParseContext,
) -> Result<Node> {
    let Value::Document(doc) = argument else {
        let found = argument.kind().alias();
        return Err(Error::new(named.not_object, format!("{} takes a document, not {found}", entry.name)));
    };
    let mut operands: Vec<Option<Node>> = Vec::new();
    operands.resize_with(named.fields.len(), || None);
    for element in doc {
        let place = named.fields.iter().position(|field| field.name.as_bytes() == element.key);
        let Some(slot) = place.and_then(|at| operands.get_mut(at)) else {
            let name = element.key_str();
            return Err(Error::new(named.unknown, format!("{} does not know the field '{name}'", entry.name)));
        };
        *slot = Some(parse(element.value(), ctx)?);
    }
    for (field, operand) in named.fields.iter().zip(&operands) {
        if let (Some(code), None) = (field.required, operand) {
            return Err(Error::new(code, format!("{} needs the field '{}'", entry.name, field.name)));
        }
    }
    Ok(Node::Named { entry, named, operands: operands.into_boxed_slice() })
}
