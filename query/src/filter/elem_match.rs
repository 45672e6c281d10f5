//! `$elemMatch`: one element of an array passes all conditions.

use bindery_document::{Doc, Element, Error, Kind, Path, Result, Value, code};

use super::evaluate::Context;
use super::parse::Place;
use super::{Filter, parse};

/// `$elemMatch` with conditions on the element's fields, such as `{$elemMatch: {k: "x", v: 1}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElemMatchObject {
    /// Where the arrays are.
    pub path: Path,
    /// What one element, taken as a document, must pass; paths are relative to it.
    pub filter: Box<Filter>,
}

/// `$elemMatch` with conditions on the element itself, such as `{$elemMatch: {$gt: 1, $lt: 5}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElemMatchValue {
    /// Where the arrays are.
    pub path: Path,
    /// What one element must pass, all of it; the paths are empty.
    pub filters: Vec<Filter>,
}

impl ElemMatchObject {
    /// The position of the first element that passes. Nested arrays are taken as documents, too.
    pub(super) fn position(&self, element: Option<Element<'_>>, context: &mut Context<'_>) -> Option<u32> {
        let mut elements = (0..).zip(array(element)?);
        let (position, _) = elements.find(|(_, element)| {
            matches!(element.kind, Kind::Document | Kind::Array)
                && self.filter.accepts_document(Doc::from_stored(element.bytes), &mut context.without_position())
        })?;
        Some(position)
    }
}

impl ElemMatchValue {
    /// The position of the first element that passes.
    pub(super) fn position(&self, element: Option<Element<'_>>, context: &mut Context<'_>) -> Option<u32> {
        let mut elements = (0..).zip(array(element)?);
        let (position, _) = elements
            .find(|(_, element)| self.filters.iter().all(|filter| filter.accepts_element(Some(*element), context)))?;
        Some(position)
    }
}

fn array(element: Option<Element<'_>>) -> Option<Doc<'_>> {
    element.filter(|element| element.kind == Kind::Array).map(|element| Doc::from_stored(element.bytes))
}

/// Parses the operand: operators make a test of the element itself, anything else a test of its fields.
///
/// # Errors
/// Code 2 for what is no document and for `$where` in it; those of the conditions.
pub(super) fn parse(path: Path, operand: Value<'_>, place: Place<'_>) -> Result<Filter> {
    let Value::Document(conditions) = operand else {
        return Err(Error::new(code::BAD_VALUE, "$elemMatch needs an object"));
    };
    let is_about_value = parse::operator_document(&operand, true).is_some()
        && conditions.first().is_some_and(|first| !parse::is_top_level_operator(first.key_str()));
    if is_about_value {
        let filters = parse::operators(&Path::of_value(), conditions, place.below_top())?;
        return Ok(Filter::ElemMatchValue(ElemMatchValue { path, filters }));
    }
    let filter = parse::document(conditions, place.below_top())?;
    Ok(Filter::ElemMatchObject(ElemMatchObject { path, filter: Box::new(filter) }))
}
