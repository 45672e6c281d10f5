//! Field paths and variables: `"$a.b"`, `"$$name.b"`.
//!
//! A path walks documents by name; over an array it gives the array of what its documents have there,
//! leaving out those without. Numbers in a path are field names, and arrays inside arrays are not
//! entered. (MongoDB's manual, "Field Paths"; finer points were asked of a real server.)

use bindery_document::{Builder, Doc, Error, FieldSet, Result, Value, code};

use super::Val;
use super::scope::{Address, Scope};

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The document itself.
    Root,
    /// A variable bound by an operator around.
    Variable(Address),
    /// A value handed in from outside, such as a `let` of `$lookup`.
    Parameter(usize),
}

/// A compiled path.
#[derive(Clone, Debug)]
pub(crate) struct FieldPath {
    pub(crate) base: Base,
    pub(crate) names: Box<[Box<str>]>,
    /// The number of its first field among those that a stage finds in one walk; see
    /// [`Expression::bind_fields`](super::Expression::bind_fields).
    field: Option<usize>,
}

impl FieldPath {
    pub(crate) fn new(base: Base, names: Box<[Box<str>]>) -> FieldPath {
        FieldPath { base, names, field: None }
    }

    /// Has the first field found together with others.
    pub(crate) fn bind(&mut self, fields: &mut FieldSet) {
        if let (Base::Root, Some(name)) = (self.base, self.names.first()) {
            self.field = Some(fields.add(name));
        }
    }

    /// The number of the field that the path is, if it has one name and is bound.
    pub(crate) fn as_bound_field(&self) -> Option<usize> {
        self.field.filter(|_| self.names.len() == 1)
    }

    #[inline]
    pub(crate) fn evaluate<'a>(&self, scope: &Scope<'a>) -> Val<'a> {
        let start = match self.base {
            Base::Root => match &*self.names {
                [] => Some(Value::Document(scope.root())),
                [name, rest @ ..] => {
                    let field = match self.field.and_then(|number| Some((scope.found()?, number))) {
                        Some((found, number)) => found.get(scope.root(), number),
                        None => scope.root().get(name),
                    };
                    // The common case: one top-level field.
                    if rest.is_empty() {
                        return Val::from(field);
                    }
                    return field.map_or(Val::Missing, |value| walk(value, rest));
                }
            },
            Base::Variable(address) => scope.variable(address),
            Base::Parameter(index) => scope.parameter(index),
        };
        start.map_or(Val::Missing, |value| walk(value, &self.names))
    }
}

/// What a value has at a path.
pub(crate) fn walk<'a>(value: Value<'a>, names: &[Box<str>]) -> Val<'a> {
    let Some((first, rest)) = names.split_first() else {
        return Val::Value(value);
    };
    match value {
        Value::Document(doc) => match doc.element(first.as_bytes()) {
            Some(element) => walk(element.value(), rest),
            None => Val::Missing,
        },
        Value::Array(items) => {
            let mut builder = Builder::new();
            let mut length = 0;
            walk_items(items, names, &mut builder, &mut length);
            Val::Array(builder.finish())
        }
        _ => Val::Missing,
    }
}

fn walk_items(items: Doc<'_>, names: &[Box<str>], builder: &mut Builder, length: &mut usize) {
    for item in items {
        if let Value::Document(_) = item.value()
            && let Some(found) = walk(item.value(), names).get()
        {
            builder.append_index(*length, found);
            *length += 1;
        }
    }
}

/// The most names that a path may have, as MongoDB 6.0.5 was seen to allow; one less where an expression reads
/// it, because the variable counts.
const MAX_NAMES: usize = 200;

/// Checks the number of names in a path.
///
/// # Errors
/// [`code::OVERFLOW`] for more than 200.
pub fn check_length(names: usize) -> Result<()> {
    if names > MAX_NAMES {
        return Err(Error::new(code::OVERFLOW, format!("a field path has at most {MAX_NAMES} names, not {names}")));
    }
    Ok(())
}

/// Splits and checks the text of a path (without its dollar).
///
/// # Errors
/// 40353 for a closing dot, 15998 for an empty name, 16410 for a name with a dollar in front, 16411 for a
/// zero byte; as [`check_length`].
pub(crate) fn split_path(path: &str) -> Result<Box<[Box<str>]>> {
    check_length(path.split('.').count())?;
    if path.is_empty() {
        return Err(Error::new(40352, "a field path must not be empty"));
    }
    if path.ends_with('.') {
        return Err(Error::new(40353, format!("a field path must not end with a dot: '{path}'")));
    }
    path.split('.')
        .map(|name| {
            check_name(name)?;
            Ok(name.into())
        })
        .collect()
}

/// Checks one name of a path.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::new(15998, "names in a field path may not be empty"));
    }
    if name.starts_with('$') {
        return Err(Error::new(16410, format!("names in a field path may not start with '$': '{name}'")));
    }
    if name.contains('\0') {
        return Err(Error::new(16411, "names in a field path may not hold a zero byte"));
    }
    Ok(())
}

/// Checks the name of a variable that a user binds.
///
/// # Errors
/// 9 unless it starts with a lower-case letter (or a letter beyond ASCII) and goes on with letters,
/// digits and underscores; `CURRENT` is allowed, it rebinds what `"$a"` refers to.
pub fn check_variable_name(name: &str) -> Result<()> {
    let fail = |why: &str| Err(Error::new(code::FAILED_TO_PARSE, format!("'{name}' {why}")));
    if name == "CURRENT" {
        return Ok(());
    }
    let Some(&first) = name.as_bytes().first() else {
        return fail("is empty; variables need a name");
    };
    if !first.is_ascii_lowercase() && first.is_ascii() {
        return fail("starts with an invalid character for a user variable name");
    }
    check_variable_rest(name)
}

/// Checks the characters of a variable that is referred to.
pub(crate) fn check_variable_use(name: &str) -> Result<()> {
    match name.as_bytes().first() {
        None => Err(Error::new(code::FAILED_TO_PARSE, "empty variable names are not allowed")),
        Some(first) if first.is_ascii_alphabetic() || !first.is_ascii() => check_variable_rest(name),
        Some(_) => {
            let message = format!("'{name}' starts with an invalid character for a variable name");
            Err(Error::new(code::FAILED_TO_PARSE, message))
        }
    }
}

fn check_variable_rest(name: &str) -> Result<()> {
    match name.bytes().find(|b| !(b.is_ascii_alphanumeric() || *b == b'_' || !b.is_ascii())) {
        None => Ok(()),
        Some(bad) => {
            let message = format!("'{name}' contains an invalid character for a variable name: '{}'", bad as char);
            Err(Error::new(code::FAILED_TO_PARSE, message))
        }
    }
}
