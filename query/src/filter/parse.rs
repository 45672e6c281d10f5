//! From query documents to trees: which operator stands where.
//!
//! A query document holds top-level operators (`$and`, `$expr`, ...) and fields; a field's value is a
//! document of operators if its first name starts with `$` (and it is no reference `{$ref, $id}`),
//! a regular expression, or a value to be equal to. The operands are each operator's own business.

use bindery_document::{Doc, Element, Error, Path, Result, Value, code, validate};

use super::compare::CompareOp;
use super::{
    Bits, Filter, RegexTest, all, bits, compare, elem_match, expr, json_schema, membership, modulo, regex_test, sample,
    size, type_set,
};
use crate::collation::Collation;
use crate::expression;

/// The deepest tree that is accepted. Commands cannot nest deeper than this in the first place.
const MAX_DEPTH: usize = validate::MAX_DEPTH;

/// Which operators may stand at the top of a query. What is not allowed is refused where the parser meets it: what
/// is wrong before it is reported first, what is wrong behind it is not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// All of them.
    #[default]
    Everything,
    /// All but `$expr`: the query of an upsert has to describe a document.
    NoExpressions,
    /// Neither `$expr`, `$jsonSchema`, `$where` nor `$text`, which mean whole documents: where a query is about
    /// something smaller, as in array filters, `$pull` and the `$elemMatch` projection.
    NoWholeDocuments,
}

impl Allowed {
    fn check(self, name: &str) -> Result<()> {
        let error_code = match (self, name) {
            (Allowed::NoExpressions | Allowed::NoWholeDocuments, "$expr")
            | (Allowed::NoWholeDocuments, "$jsonSchema") => code::QUERY_FEATURE_NOT_ALLOWED,
            (Allowed::NoWholeDocuments, "$where" | "$text") => code::BAD_VALUE,
            _ => return Ok(()),
        };
        Err(Error::new(error_code, format!("{name} is not allowed in this context")))
    }
}

/// What parsing depends on besides the query.
#[derive(Debug, Default)]
pub struct ParseContext {
    /// How strings compare; `None` for byte order.
    pub collation: Option<Collation>,
    /// The variables that `$expr` may use: a command's `let`, `$$NOW`.
    pub expressions: expression::ParseContext,
    /// Which operators the query may have.
    pub allowed: Allowed,
}

impl ParseContext {
    /// Strings compare by bytes.
    pub fn new() -> ParseContext {
        ParseContext::default()
    }

    /// Strings compare by the collation.
    pub fn with_collation(collation: Option<Collation>) -> ParseContext {
        ParseContext { collation, ..ParseContext::default() }
    }

    /// The same with fewer operators.
    pub fn allowing(self, allowed: Allowed) -> ParseContext {
        ParseContext { allowed, ..self }
    }
}

/// Where in a query the parser is.
#[derive(Clone, Copy)]
pub(super) struct Place<'c> {
    context: &'c ParseContext,
    /// Inside `$elemMatch`, where `$expr` and `$where` are not allowed.
    is_below_top: bool,
    depth: usize,
}

impl<'c> Place<'c> {
    /// The top of a query.
    pub(super) fn top(context: &'c ParseContext) -> Place<'c> {
        Place { context, is_below_top: false, depth: 0 }
    }

    /// Inside conditions on array elements.
    pub(super) fn below_top(self) -> Place<'c> {
        Place { is_below_top: true, ..self }
    }

    /// How strings compare.
    pub(super) fn collation(self) -> Option<Collation> {
        self.context.collation.clone()
    }

    fn deeper(self) -> Result<Place<'c>> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new(code::OVERFLOW, format!("the query is nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Place { depth: self.depth + 1, ..self })
    }
}

/// The most names of a path in a condition, as MongoDB 6.0.5 was seen to allow.
const MAX_NAMES: usize = 180;
/// A path of more names.
const PATH_TOO_LONG: i32 = 5_729_100;

fn bad_value(message: impl Into<String>) -> Error {
    Error::new(code::BAD_VALUE, message)
}

/// A query document.
pub(super) fn document(query: Doc<'_>, place: Place<'_>) -> Result<Filter> {
    let place = place.deeper()?;
    let mut filters = Vec::new();
    for element in query {
        match element.key.strip_prefix(b"$") {
            Some(_) => filters.extend(top_level_operator(element, place)?),
            None => field(element, place, &mut filters)?,
        }
    }
    Ok(Filter::And(filters))
}

/// A condition on a field.
fn field(element: Element<'_>, place: Place<'_>, filters: &mut Vec<Filter>) -> Result<()> {
    let path = Path::parse(element.key_str());
    if path.components().len() > MAX_NAMES {
        return Err(Error::new(PATH_TOO_LONG, format!("a path has at most {MAX_NAMES} names: '{}'", path.as_str())));
    }
    let value = element.value();
    if let Some(conditions) = operator_document(&value, false) {
        filters.append(&mut operators(&path, conditions, place)?);
    } else {
        filters.push(equality_or_regex(path, value, place)?);
    }
    Ok(())
}

fn equality_or_regex(path: Path, value: Value<'_>, place: Place<'_>) -> Result<Filter> {
    match value {
        Value::Regex { pattern, options } => {
            Ok(Filter::Regex(RegexTest::parse(path, pattern.as_str(), options.as_str())?))
        }
        _ => compare::parse(path, CompareOp::Eq, value, place),
    }
}

/// The document of operators that a value is, if it is one: its first name starts with `$`, and it is
/// no reference. A reference has `$ref` and `$id`, or any part of one where `incomplete` is allowed.
pub(super) fn operator_document<'a>(value: &Value<'a>, incomplete: bool) -> Option<Doc<'a>> {
    let doc = value.as_document()?;
    let first = doc.first()?;
    (first.key.first() == Some(&b'$') && !is_reference(doc, incomplete)).then_some(doc)
}

fn is_reference(doc: Doc<'_>, incomplete: bool) -> bool {
    let (mut has_ref, mut has_id, mut has_db) = (false, false, false);
    for element in doc {
        match element.key {
            b"$ref" => has_ref = true,
            b"$id" => has_id = true,
            b"$db" => has_db = true,
            _ => {}
        }
    }
    if incomplete { has_ref || has_id || has_db } else { has_ref && has_id }
}

/// Whether an operator stands without a field. References' parts count: under `$elemMatch` they are fields.
pub(super) fn is_top_level_operator(name: &str) -> bool {
    matches!(
        name,
        "$and"
            | "$or"
            | "$nor"
            | "$expr"
            | "$jsonSchema"
            | "$where"
            | "$text"
            | "$comment"
            | "$alwaysTrue"
            | "$alwaysFalse"
            | "$sampleRate"
            | "$ref"
            | "$id"
            | "$db"
    )
}

fn top_level_operator(element: Element<'_>, place: Place<'_>) -> Result<Option<Filter>> {
    let name = element.key_str();
    let operand = element.value();
    if !(place.is_below_top && name == "$expr") {
        place.context.allowed.check(name)?;
    }
    Ok(Some(match name {
        "$and" => Filter::And(list(name, operand, place)?),
        "$or" => Filter::Or(list(name, operand, place)?),
        "$nor" => Filter::Nor(list(name, operand, place)?),
        "$comment" => return Ok(None),
        "$alwaysTrue" => constant(name, operand, Filter::AlwaysTrue)?,
        "$alwaysFalse" => constant(name, operand, Filter::AlwaysFalse)?,
        "$sampleRate" => sample::parse(operand)?,
        "$jsonSchema" => json_schema::parse(operand)?,
        "$ref" | "$id" | "$db" => compare::parse(Path::parse(name), CompareOp::Eq, operand, place)?,
        "$expr" if place.is_below_top => return Err(bad_value("$expr is a top-level operator only")),
        "$expr" => expr::parse(operand, place.context)?,
        "$where" if place.is_below_top => return Err(bad_value("$elemMatch cannot contain $where")),
        "$where" => return Err(bad_value("$where needs a JavaScript engine, which there is none of")),
        "$text" => return Err(text(operand, place)),
        _ => return Err(bad_value(format!("unknown top-level operator: {name}"))),
    }))
}

/// Text search needs a text index, which cannot exist; what is malformed is still told apart.
fn text(operand: Value<'_>, place: Place<'_>) -> Error {
    match operand {
        _ if place.is_below_top => bad_value("$text is a top-level operator only"),
        Value::Document(search) => match search.get("$search") {
            None => Error::new(code::NO_SUCH_KEY, "$text needs the field $search"),
            Some(Value::String(_)) => Error::new(code::INDEX_NOT_FOUND, "$text needs a text index"),
            Some(_) => Error::new(code::TYPE_MISMATCH, "$search must be a string"),
        },
        _ => bad_value("$text needs an object"),
    }
}

/// The operand of `$and`, `$or`, `$nor`.
fn list(name: &str, operand: Value<'_>, place: Place<'_>) -> Result<Vec<Filter>> {
    let Value::Array(members) = operand else {
        return Err(bad_value(format!("{name} must be an array")));
    };
    if members.is_empty() {
        return Err(bad_value(format!("{name} must be a nonempty array")));
    }
    let member = |element: Element<'_>| match element.value() {
        Value::Document(query) => document(query, place),
        _ => Err(bad_value(format!("the entries of {name} must be objects"))),
    };
    members.iter().map(member).collect()
}

fn constant(name: &str, operand: Value<'_>, filter: Filter) -> Result<Filter> {
    if operand.as_exact_i64() != Some(1) {
        return Err(Error::new(code::FAILED_TO_PARSE, format!("{name} must be the integer 1")));
    }
    Ok(filter)
}

/// The conditions of an operator document on a path.
pub(super) fn operators(path: &Path, conditions: Doc<'_>, place: Place<'_>) -> Result<Vec<Filter>> {
    let mut filters = Vec::new();
    let mut has_regex = false;
    for element in conditions {
        if matches!(element.key, b"$regex" | b"$options") {
            // One condition, wherever its two halves stand.
            if !has_regex {
                filters.push(regex_test::parse(path.clone(), conditions)?);
                has_regex = true;
            }
            continue;
        }
        filters.push(operator(path.clone(), element, place)?);
    }
    Ok(filters)
}

fn operator(path: Path, element: Element<'_>, place: Place<'_>) -> Result<Filter> {
    let operand = element.value();
    let not = |filter| Filter::Not(Box::new(filter));
    Ok(match element.key_str() {
        "$eq" => compare::parse(path, CompareOp::Eq, operand, place)?,
        "$ne" if matches!(operand, Value::Regex { .. }) => {
            return Err(bad_value("$ne does not take a regular expression"));
        }
        "$ne" => not(compare::parse(path, CompareOp::Eq, operand, place)?),
        "$lt" => compare::parse(path, CompareOp::Lt, operand, place)?,
        "$lte" => compare::parse(path, CompareOp::Lte, operand, place)?,
        "$gt" => compare::parse(path, CompareOp::Gt, operand, place)?,
        "$gte" => compare::parse(path, CompareOp::Gte, operand, place)?,
        "$in" => membership::parse(path, "$in", operand, place)?,
        "$nin" => not(membership::parse(path, "$nin", operand, place)?),
        "$not" => not(negated(path, operand, place)?),
        "$exists" if operand.is_truthy() => Filter::Exists(path),
        "$exists" => not(Filter::Exists(path)),
        "$type" => type_set::parse(path, operand)?,
        "$size" => size::parse(path, operand)?,
        "$mod" => modulo::parse(path, operand)?,
        "$all" => all::parse(path, operand, place)?,
        "$elemMatch" => elem_match::parse(path, operand, place)?,
        "$bitsAllSet" => bits::parse(path, Bits::AllSet, operand)?,
        "$bitsAllClear" => bits::parse(path, Bits::AllClear, operand)?,
        "$bitsAnySet" => bits::parse(path, Bits::AnySet, operand)?,
        "$bitsAnyClear" => bits::parse(path, Bits::AnyClear, operand)?,
        "$near" | "$nearSphere" | "$geoNear" => {
            return Err(Error::new(code::NO_QUERY_EXECUTION_PLANS, "there is no geospatial index to sort by distance"));
        }
        name => return Err(bad_value(format!("unknown operator: {name}"))),
    })
}

/// The operand of `$not`: a regular expression or operators.
fn negated(path: Path, operand: Value<'_>, place: Place<'_>) -> Result<Filter> {
    match operand {
        Value::Regex { .. } => equality_or_regex(path, operand, place),
        Value::Document(conditions) if conditions.is_empty() => Err(bad_value("$not cannot be empty")),
        Value::Document(conditions) => Ok(Filter::And(operators(&path, conditions, place.deeper()?)?)),
        _ => Err(bad_value("$not needs a regular expression or a document of operators")),
    }
}
