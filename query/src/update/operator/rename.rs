//! `$rename`: takes a field from one place and puts it in another, with no array on either way.
//!
//! A rename is two leaves of the tree, so that conflicts with other operators are found at both of its
//! paths. What is to be moved is looked up in the document before anything is written.

use bindery_document::{Builder, Doc, Element, Error, Result, Value, code};

use super::Outcome;
use crate::update::path::{self, Part, array_index};

/// The two paths of a rename.
#[derive(Debug)]
pub(in crate::update) struct Paths {
    from_text: Box<str>,
    from: Vec<Part>,
    to_text: Box<str>,
    to: Vec<Part>,
}

/// What a rename finds in a document.
#[derive(Debug)]
pub(in crate::update) enum Rename<'a> {
    /// There is no such field: nothing is done.
    Missing,
    /// The field to move.
    Found(Element<'a>),
    /// It must not be done.
    Refused(Error),
}

/// Compiles a rename.
///
/// # Errors
/// [`code::BAD_VALUE`] for a target that is no string, for positional parts, and when one path contains the
/// other; what [`path::parse`] returns.
pub(in crate::update) fn parse(from: &str, from_parts: Vec<Part>, to: Value<'_>) -> Result<Paths> {
    let bad = |what: String| Error::new(code::BAD_VALUE, what);
    let Value::String(to) = to else {
        return Err(bad(format!(
            "$rename of '{from}' needs a string, but was given one of type {}",
            to.kind().alias()
        )));
    };
    let to = to.as_str();
    if to.contains('\0') {
        return Err(bad(format!("$rename of '{from}': the new name has a null byte in it")));
    }
    let to_parts = path::parse(to)?;
    let is_dynamic = |parts: &[Part]| parts.iter().any(|part| !matches!(part, Part::Name(_)));
    if from_parts.starts_with(&to_parts) || to_parts.starts_with(&from_parts) {
        return Err(bad(format!("$rename of '{from}' to '{to}': one path contains the other")));
    }
    if is_dynamic(&from_parts) || is_dynamic(&to_parts) {
        return Err(bad(format!("$rename of '{from}' to '{to}': positional parts are not allowed")));
    }
    Ok(Paths { from_text: from.into(), from: from_parts, to_text: to.into(), to: to_parts })
}

impl Paths {
    /// The target path, as text and in parts.
    pub(in crate::update) fn to(&self) -> (&str, &[Part]) {
        (&self.to_text, &self.to)
    }

    /// Looks for the field to move, and checks both ways.
    pub(in crate::update) fn find<'a>(&self, doc: Doc<'a>) -> Rename<'a> {
        match self.source(doc) {
            Ok(None) => Rename::Missing,
            Ok(Some(_)) if self.target_is_in_array(doc) => Rename::Refused(Error::new(
                code::BAD_VALUE,
                format!("$rename: the target '{}' lies in an array", self.to_text),
            )),
            // An `_id` is not even replaced by an equal value.
            Ok(Some(_)) if &*self.to_text == "_id" && doc.element(b"_id").is_some() => {
                Rename::Refused(Error::new(code::IMMUTABLE_FIELD, "$rename would write the immutable field '_id'"))
            }
            Ok(Some(element)) => Rename::Found(element),
            Err(error) => Rename::Refused(error),
        }
    }

    fn source<'a>(&self, doc: Doc<'a>) -> Result<Option<Element<'a>>> {
        let mut value = Value::Document(doc);
        let mut found = None;
        let mut in_array = false;
        for part in &self.from {
            let Part::Name(name) = part else {
                return Ok(None);
            };
            found = match value {
                Value::Document(doc) => doc.element(name.as_bytes()),
                Value::Array(array) if array_index(name.as_bytes()).is_some() => {
                    in_array = true;
                    array_index(name.as_bytes()).and_then(|index| array.iter().nth(index))
                }
                _ => {
                    return Err(Error::new(
                        code::PATH_NOT_VIABLE,
                        format!("$rename: '{name}' of '{}' cannot be looked up in what stands there", self.from_text),
                    ));
                }
            };
            match found {
                Some(element) => value = element.value(),
                None => return Ok(None),
            }
        }
        if in_array {
            return Err(Error::new(
                code::BAD_VALUE,
                format!("$rename: the source '{}' lies in an array", self.from_text),
            ));
        }
        Ok(found)
    }

    fn target_is_in_array(&self, doc: Doc<'_>) -> bool {
        let parents = self.to.split_last().map_or(&[][..], |(_, parents)| parents);
        let mut value = Value::Document(doc);
        for part in parents {
            let (Part::Name(name), Value::Document(doc)) = (part, value) else {
                break;
            };
            match doc.element(name.as_bytes()) {
                Some(element) => value = element.value(),
                None => return false,
            }
        }
        matches!(value, Value::Array(_))
    }
}

/// At the source: the field goes if it is moved.
pub(super) fn take(rename: &Rename<'_>) -> Outcome {
    match rename {
        Rename::Found(_) => Outcome::Removed,
        Rename::Missing | Rename::Refused(_) => Outcome::Unchanged,
    }
}

/// At the target: writes the moved field.
///
/// # Errors
/// Why it must not be moved.
pub(super) fn put(key: &[u8], rename: &Rename<'_>, out: &mut Builder) -> Result<Outcome> {
    match rename {
        Rename::Missing => Ok(Outcome::Unchanged),
        Rename::Found(element) => {
            out.append_bytes(key, element.kind, element.bytes);
            Ok(Outcome::Written)
        }
        Rename::Refused(error) => Err(error.clone()),
    }
}
