//! `$merge`: the collection that a pipeline's documents go into, and how. The engine carries it out.

use bindery_document::{Doc, Error, OwnedValue, Result, Value, code};

use crate::expression::field_path::{check_variable_name, split_path};
use crate::expression::{Expression, Scope};
use crate::filter::ParseContext;

/// The stage.
#[derive(Debug)]
pub struct Merge {
    /// The database, if it is named.
    pub database: Option<Box<str>>,
    /// The collection.
    pub collection: Box<str>,
    /// The paths that tell which documents are the same, `None` for `_id`; a unique index must be over them.
    pub on: Option<Vec<Box<str>>>,
    /// What becomes of a document that is there already.
    pub when_matched: WhenMatched,
    /// What becomes of a document that is not there yet.
    pub when_not_matched: WhenNotMatched,
    /// The variables that a pipeline may use, by name.
    pub variables: Vec<(Box<str>, Expression)>,
    /// Whether there is the variable `new`, the document itself: without a `let`, and where documents are inserted.
    has_new: bool,
}

/// What becomes of a document that is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhenMatched {
    /// It is replaced.
    Replace,
    /// It stays.
    KeepExisting,
    /// The new one's fields are set in it.
    Merge,
    /// The command fails with 11000.
    Fail,
    /// It is updated by a pipeline (an array of stages).
    Pipeline(OwnedValue),
}

/// What becomes of a document that is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenNotMatched {
    /// It is inserted.
    Insert,
    /// It is dropped.
    Discard,
    /// The command fails with 13113.
    Fail,
}

fn fail<T>(code: i32, message: &str) -> Result<T> {
    Err(Error::new(code, format!("$merge: {message}")))
}

/// Parses a name or a document.
///
/// # Errors
/// 14, 40414, 40415, 51178 to 51199, 31465, 31319, 5786800 and 5786801 for malformed fields,
/// [`code::BAD_VALUE`] for unknown modes, 51181 for modes that do not go together, 51273 for a `let` that hides
/// `new`; those of expressions.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<Merge> {
    let spec = match argument {
        Value::String(name) => {
            let (database, collection) = parse_target(Value::String(name), code::INVALID_NAMESPACE)?;
            return Ok(Merge {
                database,
                collection,
                on: None,
                when_matched: WhenMatched::Merge,
                when_not_matched: WhenNotMatched::Insert,
                variables: Vec::new(),
                has_new: true,
            });
        }
        Value::Document(spec) => spec,
        _ => return fail(code::TYPE_MISMATCH, "takes a string or a document"),
    };
    let (mut target, mut on, mut variables) = (None, None, None);
    let (mut when_matched, mut when_not_matched) = (WhenMatched::Merge, WhenNotMatched::Insert);
    for element in spec {
        let value = element.value();
        match element.key {
            b"into" => target = Some(parse_target(value, 5_786_800)?),
            b"on" => on = Some(parse_on(value)?),
            b"let" => match value {
                Value::Document(doc) => variables = Some(doc),
                Value::Null | Value::Undefined => {}
                _ => return fail(code::TYPE_MISMATCH, "'let' must be a document"),
            },
            b"whenMatched" => when_matched = parse_when_matched(value)?,
            b"whenNotMatched" if matches!(value, Value::Null | Value::Undefined) => {}
            b"whenNotMatched" => when_not_matched = parse_when_not_matched(value)?,
            _ => return fail(40415, &format!("unknown field '{}'", element.key_str())),
        }
    }
    let Some((database, collection)) = target else {
        return fail(40414, "needs 'into'");
    };
    let is_pipeline = matches!(when_matched, WhenMatched::Pipeline(_));
    if variables.is_some() && !is_pipeline {
        return fail(51199, "takes 'let' only with a pipeline");
    }
    let unsupported = match when_not_matched {
        WhenNotMatched::Insert => false,
        WhenNotMatched::Fail => matches!(when_matched, WhenMatched::KeepExisting | WhenMatched::Fail),
        WhenNotMatched::Discard => matches!(when_matched, WhenMatched::KeepExisting | WhenMatched::Fail),
    };
    if unsupported {
        return fail(51181, "these modes of whenMatched and whenNotMatched do not go together");
    }
    let has_new = variables.is_none() || when_not_matched == WhenNotMatched::Insert;
    let variables = parse_variables(variables, context)?;
    Ok(Merge { database, collection, on, when_matched, when_not_matched, variables, has_new })
}

fn parse_target(value: Value<'_>, empty_code: i32) -> Result<(Option<Box<str>>, Box<str>)> {
    let (database, collection) = match value {
        Value::String(name) if name.as_bytes().is_empty() => return fail(empty_code, "needs the name of a collection"),
        Value::String(name) => (None, name.as_str()),
        Value::Document(doc) => {
            let (mut database, mut collection) = (None, None);
            for element in doc {
                let place = match element.key {
                    b"db" => &mut database,
                    b"coll" => &mut collection,
                    _ => return fail(40415, &format!("unknown field 'into.{}'", element.key_str())),
                };
                if matches!(element.value(), Value::Null | Value::Undefined) {
                    continue;
                }
                let Some(name) = element.value().as_str() else {
                    return fail(code::TYPE_MISMATCH, &format!("'into.{}' must be a string", element.key_str()));
                };
                *place = Some(name);
            }
            match collection {
                None | Some("") => return fail(5_786_801, "'into' needs a 'coll' that is not empty"),
                Some(collection) => (database, collection),
            }
        }
        _ => return fail(51178, "'into' must be a string or a document"),
    };
    if collection.starts_with("system.") {
        return fail(31319, &format!("cannot write into '{collection}'"));
    }
    Ok((database.map(Into::into), collection.into()))
}

fn parse_on(value: Value<'_>) -> Result<Vec<Box<str>>> {
    match value {
        Value::String(path) => {
            split_path(path.as_str())?;
            Ok(vec![path.as_str().into()])
        }
        Value::Array(items) if items.is_empty() => fail(51187, "'on' must name a field"),
        Value::Array(items) => {
            let mut paths: Vec<Box<str>> = Vec::new();
            for item in items {
                let Some(path) = item.value().as_str() else {
                    return fail(51134, "'on' must be strings");
                };
                split_path(path)?;
                if paths.iter().any(|other| &**other == path) {
                    return fail(31465, &format!("'on' names the field '{path}' twice"));
                }
                paths.push(path.into());
            }
            Ok(paths)
        }
        _ => fail(51186, "'on' must be a string or an array of strings"),
    }
}

fn parse_when_matched(value: Value<'_>) -> Result<WhenMatched> {
    match value {
        Value::Array(_) => Ok(WhenMatched::Pipeline(OwnedValue::new(value))),
        Value::String(mode) => match mode.as_str() {
            "replace" => Ok(WhenMatched::Replace),
            "keepExisting" => Ok(WhenMatched::KeepExisting),
            "merge" => Ok(WhenMatched::Merge),
            "fail" => Ok(WhenMatched::Fail),
            other => fail(code::BAD_VALUE, &format!("unknown whenMatched '{other}'")),
        },
        _ => fail(51191, "'whenMatched' must be a string or an array"),
    }
}

fn parse_when_not_matched(value: Value<'_>) -> Result<WhenNotMatched> {
    let Value::String(mode) = value else {
        return fail(code::TYPE_MISMATCH, "'whenNotMatched' must be a string");
    };
    match mode.as_str() {
        "insert" => Ok(WhenNotMatched::Insert),
        "discard" => Ok(WhenNotMatched::Discard),
        "fail" => Ok(WhenNotMatched::Fail),
        other => fail(code::BAD_VALUE, &format!("unknown whenNotMatched '{other}'")),
    }
}

fn parse_variables(variables: Option<Doc<'_>>, context: &mut ParseContext) -> Result<Vec<(Box<str>, Expression)>> {
    let mut parsed = Vec::new();
    for element in variables.into_iter().flatten() {
        let name = element.key_str();
        check_variable_name(name)?;
        let expression = Expression::parse(element.value(), &mut context.expressions)?;
        // `new` may be named, but only as what it is.
        if name == "new" && expression.as_field_path() != Some(&[]) {
            return fail(51273, "'let' must not give 'new' another meaning");
        }
        parsed.push((name.into(), expression));
    }
    Ok(parsed)
}

impl Merge {
    /// The values of the variables for one of the pipeline's documents: those of `let`, then `new` if there is one.
    ///
    /// # Errors
    /// Those of expressions.
    pub fn variable_values(&self, scope: &Scope<'_>) -> Result<Vec<(Box<str>, Option<OwnedValue>)>> {
        let mut values = Vec::with_capacity(self.variables.len() + 1);
        for (name, expression) in &self.variables {
            values.push((name.clone(), expression.evaluate(scope)?.to_owned_value()));
        }
        if self.has_new && !self.variables.iter().any(|(name, _)| &**name == "new") {
            values.push(("new".into(), Some(OwnedValue::new(Value::Document(scope.root())))));
        }
        Ok(values)
    }
}
