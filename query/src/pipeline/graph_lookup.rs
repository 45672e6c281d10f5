//! `$graphLookup`: the documents of a collection that can be reached from a document, step by step.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Path, Result, Value, code};
use rustc_hash::{FxHashMap, FxHashSet};

use super::canonical_key::Strings;
use super::nested_field::{Change, with_field, write};
use super::{Environment, Stream, canonical_key};
use crate::collation::Collation;
use crate::expression::Expression;
use crate::expression::field_path::split_path;
use crate::filter::{Filter, Membership, ParseContext, RegexTest};
use crate::projection::{Metadata, Slotted};

/// The stage.
#[derive(Debug)]
pub struct GraphLookup {
    /// The collection.
    pub from: Box<str>,
    start_with: Expression,
    connect_from: Box<[Box<str>]>,
    connect_to: Path,
    pub(super) target: Box<[Box<str>]>,
    depth_field: Option<Box<[Box<str>]>>,
    max_depth: Option<i64>,
    restriction: Option<Filter>,
    collation: Option<Collation>,
}

/// Parses the stage.
///
/// # Errors
/// 40100 to 40105, 40185, 13111 and [`code::FAILED_TO_PARSE`] for malformed fields; those of paths, expressions
/// and queries.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<GraphLookup> {
    let fail = |code: i32, message: String| Err(Error::new(code, format!("$graphLookup: {message}")));
    let Value::Document(spec) = argument else {
        return fail(code::FAILED_TO_PARSE, "takes a document".to_owned());
    };
    let (mut from, mut start_with, mut connect_from, mut connect_to) = (None, None, None, None);
    let (mut target, mut depth_field, mut max_depth, mut restriction) = (None, None, None, None);
    if !spec.iter().any(|element| element.key == b"from") {
        return fail(code::FAILED_TO_PARSE, "needs 'from'".to_owned());
    }
    for element in spec {
        let name = element.key_str();
        let text = || match element.value() {
            Value::String(text) => Ok(text.as_str()),
            other => {
                let code = if matches!(other, Value::Document(_)) { 13111 } else { 40103 };
                Err(Error::new(code, format!("$graphLookup: '{name}' must be a string, not {}", other.kind().alias())))
            }
        };
        match element.key {
            b"startWith" => {
                start_with = Some(Expression::parse_unfolded(element.value(), &mut context.expressions)?);
            }
            b"maxDepth" => {
                let value = element.value();
                if !value.kind().is_number() {
                    return fail(40100, "'maxDepth' must be a number".to_owned());
                }
                match value.as_exact_i64() {
                    Some(depth) if depth >= 0 => max_depth = Some(depth),
                    _ if value.as_f64().is_some_and(|depth| depth < 0.0) => {
                        return fail(40101, "'maxDepth' must not be negative".to_owned());
                    }
                    _ => return fail(40102, "'maxDepth' must be an integer".to_owned()),
                }
            }
            b"restrictSearchWithMatch" => match element.value() {
                Value::Document(query) => restriction = Some(super::filtering::parse_query(query, context)?),
                _ => return fail(40185, "'restrictSearchWithMatch' must be a document".to_owned()),
            },
            b"from" => match element.value() {
                Value::String(text) => {
                    super::parse::check_collection(text.as_str())?;
                    from = Some(text.as_str());
                }
                other => {
                    let code = no_name(&other);
                    return fail(code, format!("'from' must be a string, not {}", other.kind().alias()));
                }
            },
            b"connectFromField" | b"connectToField" | b"as" if element.value().as_str() == Some("") => {
                return fail(40105, format!("'{name}' must not be empty"));
            }
            b"connectFromField" => match element.value() {
                Value::String(text) => connect_from = Some(split_path(text.as_str())?),
                other => {
                    let code = if matches!(other, Value::Document(_)) { 13111 } else { 40103 };
                    return fail(code, "'connectFromField' must be a path".to_owned());
                }
            },
            b"connectToField" => match element.value() {
                Value::String(text) => {
                    split_path(text.as_str())?;
                    connect_to = Some(Path::parse(text.as_str()));
                }
                other => {
                    let code = if matches!(other, Value::Document(_)) { 13111 } else { 40103 };
                    return fail(code, "'connectToField' must be a path".to_owned());
                }
            },
            b"as" => target = Some(split_path(text()?)?),
            b"depthField" => depth_field = Some(split_path(text()?)?),
            _ => return fail(40104, format!("unknown field '{name}'")),
        }
    }
    let (Some(from), Some(start_with), Some(connect_from), Some(connect_to), Some(target)) =
        (from, start_with, connect_from, connect_to, target)
    else {
        return fail(40105, "needs from, startWith, connectFromField, connectToField and as".to_owned());
    };
    Ok(GraphLookup {
        from: from.into(),
        start_with,
        connect_from,
        connect_to,
        target,
        depth_field,
        max_depth,
        restriction,
        collation: context.collation.clone(),
    })
}

/// The code for what is no name of a collection: the fields of a document are looked at first.
pub(super) fn no_name(value: &Value<'_>) -> i32 {
    match value {
        Value::Document(doc) if doc.iter().any(|field| !matches!(field.key, b"db" | b"coll")) => UNKNOWN_FIELD,
        _ => code::FAILED_TO_PARSE,
    }
}

/// MongoDB's code for a field that it does not know.
const UNKNOWN_FIELD: i32 = 40415;

impl GraphLookup {
    pub(super) fn fold(&mut self) -> Result<()> {
        self.start_with.fold()
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(GraphLookupStream {
            stage: self,
            input,
            env: env.clone(),
            cache: Cache::default(),
            current: Slotted::default(),
        })
    }

    /// The documents reached from one, breadth first, each once.
    fn reach(&self, document: Doc<'_>, env: &Environment, cache: &mut Cache) -> Result<DocBuf> {
        let collation = self.collation.as_ref();
        let way = KeyWay(collation);
        let connect_to: Box<[Box<str>]> = self.connect_to.as_str().split('.').map(Into::into).collect();
        let mut frontier = Vec::new();
        let mut asked: FxHashSet<Vec<u8>> = FxHashSet::default();
        let mut found: FxHashSet<Vec<u8>> = FxHashSet::default();
        let start = self.start_with.evaluate(&env.scope(document))?;
        let exists = Filter::Exists(self.connect_to.clone());
        let mut add = |value: Value<'_>, frontier: &mut Vec<OwnedValue>| {
            let mut key = Vec::new();
            canonical_key::append(&value, Strings::with_symbols(collation), &mut key);
            if asked.insert(key) {
                frontier.push(OwnedValue::new(value));
            }
        };
        match start.get() {
            Some(Value::Array(items)) => items.iter().for_each(|item| add(item.value(), &mut frontier)),
            Some(other) => add(other, &mut frontier),
            None => {}
        }
        let mut builder = Builder::new();
        let open = builder.open_array("");
        let (mut depth, mut index) = (0i64, 0);
        while !frontier.is_empty() && self.max_depth.is_none_or(|most| depth <= most) {
            // They are looked for by `$in`, where a regular expression matches strings.
            let (mut values, mut patterns, mut queried) = (Vec::new(), Vec::new(), FxHashSet::default());
            let mut take_in = |reached: Doc<'_>, frontier: &mut Vec<OwnedValue>| -> Result<()> {
                let mut key = Vec::new();
                canonical_key::append_maybe(reached.get("_id"), Strings::Bytes, &mut key);
                if !found.insert(key) {
                    return Ok(());
                }
                match &self.depth_field {
                    Some(path) => {
                        let with_depth = with_field(reached, path, Value::Int64(depth));
                        builder.append_index(index, Value::Document(with_depth.doc()));
                    }
                    None => builder.append_index(index, Value::Document(reached)),
                }
                index += 1;
                env.check_memory("$graphLookup", builder.len())?;
                values_at(Value::Document(reached), &self.connect_from, &mut |value| add(value, frontier));
                env.check_interrupt()
            };
            for value in std::mem::take(&mut frontier) {
                let key = way.key(&value.value());
                if let Some(known) = cache.found.get(&key) {
                    known.iter().try_for_each(|document| take_in(document.doc(), &mut frontier))?;
                    continue;
                }
                queried.insert(key);
                match value.value() {
                    Value::Regex { pattern, options } => {
                        patterns.push(RegexTest::parse(Path::of_value(), pattern.as_str(), options.as_str())?);
                    }
                    _ => values.push(value),
                }
            }
            if queried.is_empty() {
                depth += 1;
                continue;
            }
            let equal = Filter::In(Membership::new(self.connect_to.clone(), values, patterns, collation.cloned()));
            // Null leads to null only, not to documents without the field.
            let mut filters = vec![equal, exists.clone()];
            filters.extend(self.restriction.clone());
            let filter = Filter::And(filters);
            let mut stream = env.foreign.find(&self.from, Some(&filter), collation, &env.parameters)?;
            while stream.advance()? {
                take_in(stream.current(), &mut frontier)?;
                cache.keep(stream.current(), &connect_to, &queried, &way);
            }
            cache.limit(env.memory_limit_bytes);
            depth += 1;
        }
        builder.close(open);
        Ok(builder.finish())
    }
}

/// What was found for values before, kept from one input document to the next. As in MongoDB a value for which
/// documents are kept is not asked for again, although a query for it may find more than those that have it: null also
/// finds documents in which an element lacks the field, and a regular expression all strings that it matches.
#[derive(Default)]
struct Cache {
    found: FxHashMap<Vec<u8>, Vec<DocBuf>>,
    bytes: usize,
}

impl Cache {
    /// Keeps a document under those of its values that were asked for.
    fn keep(&mut self, document: Doc<'_>, path: &[Box<str>], asked: &FxHashSet<Vec<u8>>, way: &KeyWay<'_>) {
        let mut keys = Vec::new();
        values_at(Value::Document(document), path, &mut |value| keys.push(way.key(&value)));
        keys.sort_unstable();
        keys.dedup();
        for key in keys.into_iter().filter(|key| asked.contains(key)) {
            self.bytes += key.len() + document.as_bytes().len();
            self.found.entry(key).or_default().push(DocBuf::from(document));
        }
    }

    /// Forgets everything once it takes more than it may.
    fn limit(&mut self, most_bytes: usize) {
        if self.bytes > most_bytes {
            *self = Cache::default();
        }
    }
}

/// How values are told apart.
struct KeyWay<'a>(Option<&'a Collation>);

impl KeyWay<'_> {
    fn key(&self, value: &Value<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        canonical_key::append(value, Strings::with_symbols(self.0), &mut key);
        key
    }
}

/// Visits the values at a path: those of documents in arrays on the way, and the elements of an array at its end.
fn values_at<'v>(value: Value<'v>, names: &[Box<str>], visit: &mut impl FnMut(Value<'v>)) {
    let Some((first, rest)) = names.split_first() else {
        match value {
            Value::Array(items) => items.iter().for_each(|item| visit(item.value())),
            other => visit(other),
        }
        return;
    };
    match value {
        Value::Document(doc) => {
            if let Some(element) = doc.element(first.as_bytes()) {
                values_at(element.value(), rest, visit);
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Value::Document(_) = item.value() {
                    values_at(item.value(), names, visit);
                }
            }
        }
        _ => {}
    }
}

struct GraphLookupStream {
    stage: Arc<GraphLookup>,
    input: Box<dyn Stream>,
    env: Environment,
    cache: Cache,
    current: Slotted,
}

impl Stream for GraphLookupStream {
    fn advance(&mut self) -> Result<bool> {
        if !self.input.advance()? {
            return Ok(false);
        }
        let reached = self.stage.reach(self.input.current(), &self.env, &mut self.cache)?;
        let array = reached.doc().first().map_or(Value::Null, |element| element.value());
        let (slotted, stage) = (self.input.metadata().slotted, &self.stage);
        self.current.rewrite(slotted.unwrap_or(self.input.current()), slotted.is_some(), |doc, out| {
            write(doc, &stage.target, Change::Set(array), out);
        });
        super::check_size(self.current.doc().as_bytes().len())?;
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }

    fn metadata(&self) -> Metadata<'_> {
        Metadata { slotted: self.current.slotted(), ..self.input.metadata() }
    }
}
