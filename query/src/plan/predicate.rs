//! From one predicate to intervals of values: which keys an index must visit so that no match is missed,
//! and whether visiting them proves the match.
//!
//! Sources: MongoDB's manual, "Multikey Index Bounds" and "Query Optimization"; the intervals were compared
//! with a real server's `explain`.

use bindery_document::{Kind, OwnedValue, Value, doc};

use super::Mode;
use super::bounds::Interval;
use super::interval::{Axis, between, whole};
use crate::filter::{Compare, CompareOp, Filter, Membership, RegexTest, TypeTest};
use crate::regex::Regex;

/// What a key within the bounds says of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tightness {
    /// It matches.
    Exact,
    /// The value in the key has to be looked at.
    Key,
    /// The document has to be looked at.
    Document,
}

/// What is known of the index field that a predicate is asked of.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) axis: Axis<'a>,
    /// Whether the path, or a part of it, is multikey.
    pub(super) multikey: bool,
    /// Whether the index leaves out documents without any of its fields.
    pub(super) sparse: bool,
    /// Whether it is the index's only field.
    pub(super) is_alone: bool,
    /// Whether the index orders strings as the query does.
    pub(super) same_collation: bool,
    /// Whose plans are wanted.
    pub(super) mode: Mode,
    /// Whether a part of the path is a number, which may be a position or a name.
    pub(super) is_positional: bool,
}

/// The intervals of a predicate, ascending; `None` if no index can serve it.
pub(super) fn bounds(filter: &Filter, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    match filter {
        Filter::Compare(test) => compare(test, field),
        Filter::ExprCompare(test) => expr_compare(test, field),
        Filter::In(test) => membership(test, field),
        Filter::Regex(test) => field.same_collation_or_none().then(|| regex(test)),
        Filter::Exists(_) => {
            let tightness =
                if field.sparse && field.is_alone && !field.multikey { Tightness::Exact } else { Tightness::Document };
            Some((whole(), tightness))
        }
        Filter::Type(test) => types(test, field),
        Filter::Mod(_) => Some((vec![numbers()], if field.multikey { Tightness::Document } else { Tightness::Key })),
        Filter::ElemMatchValue(test) => {
            let mut all = whole();
            for part in &test.filters {
                // A part that no index can serve only filters; so does one about arrays within the array, which keys
                // hold as a whole.
                let is_nested = matches!(part, Filter::ElemMatchValue(_) | Filter::ElemMatchObject(_));
                if let Some((intervals, _)) = bounds(part, field).filter(|_| !is_nested) {
                    all = field.axis.intersect(&all, &intervals);
                }
            }
            Some((all, Tightness::Document))
        }
        Filter::Not(inner) => negation(inner, field),
        _ => None,
    }
}

impl Field<'_> {
    /// Regular expressions look at the strings themselves, which a collated index does not hold.
    fn same_collation_or_none(&self) -> bool {
        self.axis.collation.is_none()
    }

    /// Whether keys for this value lie where the query's collation puts them.
    fn orders(&self, value: &Value<'_>) -> bool {
        self.same_collation || !matches!(value.kind(), Kind::String | Kind::Symbol | Kind::Document | Kind::Array)
    }
}

fn compare(test: &Compare, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    let operand = test.operand.value();
    if !field.orders(&operand) {
        return None;
    }
    match operand {
        Value::Null | Value::Undefined if test.op == CompareOp::Eq => nulls(field),
        Value::Null | Value::Undefined => match test.op {
            CompareOp::Gte | CompareOp::Lte => nulls(field),
            _ => Some((Vec::new(), Tightness::Exact)),
        },
        _ if test.op == CompareOp::Eq => Some(equality(&test.operand, field)),
        Value::Array(_) => Some((whole(), Tightness::Document)),
        Value::MinKey | Value::MaxKey => Some(extreme(test.op, operand, field)),
        Value::Double(d) if d.is_nan() => Some(not_a_number(test.op)),
        Value::Decimal128(d) if d.is_nan() => Some(not_a_number(test.op)),
        _ => {
            let (low, low_inclusive, high, high_inclusive) = bracket(operand.kind());
            let interval = match test.op {
                CompareOp::Lt => between(low, low_inclusive, operand, false),
                CompareOp::Lte => between(low, low_inclusive, operand, true),
                CompareOp::Gt => between(operand, false, high, high_inclusive),
                CompareOp::Gte => between(operand, true, high, high_inclusive),
                CompareOp::Eq => between(operand, true, operand, true),
            };
            let tightness = if is_simple(operand.kind()) { Tightness::Exact } else { Tightness::Document };
            // An empty interval (below the least of a type) stays out.
            Some((field.axis.unite(vec![interval]), tightness))
        }
    }
}

/// A comparison inside `$expr`: over all types, and of values as they are, which keys of an array's elements do not tell.
fn expr_compare(test: &Compare, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    let operand = test.operand.value();
    if field.multikey || !field.orders(&operand) {
        return None;
    }
    let is_null = matches!(operand, Value::Null);
    let interval = match test.op {
        CompareOp::Eq if is_null => {
            let points = [Value::Undefined, Value::Null].map(|value| Interval::point(OwnedValue::new(value)));
            return Some((points.to_vec(), Tightness::Document));
        }
        CompareOp::Eq => between(operand, true, operand, true),
        // A missing value is less than null, and its key is null.
        CompareOp::Lt => between(Value::MinKey, true, operand, is_null),
        CompareOp::Lte => between(Value::MinKey, true, operand, true),
        CompareOp::Gt => between(operand, false, Value::MaxKey, true),
        CompareOp::Gte => between(operand, true, Value::MaxKey, true),
    };
    Some((field.axis.unite(vec![interval]), Tightness::Document))
}

/// One value; an array is looked for whole and by its first element, since keys hold elements.
fn equality(operand: &OwnedValue, field: Field<'_>) -> (Vec<Interval>, Tightness) {
    match operand.value() {
        Value::Array(array) => {
            let first = array.first().map_or(Value::Undefined, |e| e.value());
            let points = vec![Interval::point(OwnedValue::new(first)), Interval::point(operand.clone())];
            (field.axis.unite(points), Tightness::Document)
        }
        _ => (vec![Interval::point(operand.clone())], Tightness::Exact),
    }
}

/// Null, which the key of a missing value is too; undefined, which the key of an empty array is.
fn nulls(field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    // A number is a position in an array and a name of its elements' fields. Where it is the one, the other is missing,
    // but has no key of its own: the server's answer then depends on whether it uses the index.
    let is_hidden = field.is_positional && field.multikey && field.mode == Mode::Bindery;
    if field.sparse || is_hidden {
        return None;
    }
    let points = [Value::Undefined, Value::Null].map(|value| Interval::point(OwnedValue::new(value)));
    Some((points.to_vec(), Tightness::Document))
}

fn extreme(op: CompareOp, operand: Value<'_>, field: Field<'_>) -> (Vec<Interval>, Tightness) {
    // An array whose only element is the extreme is not the extreme itself.
    let takes_all = matches!((op, operand), (CompareOp::Lt, Value::MaxKey) | (CompareOp::Gt, Value::MinKey));
    let inclusive = field.multikey && takes_all;
    let interval = match op {
        CompareOp::Lt => between(Value::MinKey, true, operand, inclusive),
        CompareOp::Lte => between(Value::MinKey, true, operand, true),
        CompareOp::Gt => between(operand, inclusive, Value::MaxKey, true),
        CompareOp::Gte => between(operand, true, Value::MaxKey, true),
        CompareOp::Eq => between(operand, true, operand, true),
    };
    // Missing values match here, and arrays do by their elements and as a whole.
    let tightness = if field.multikey { Tightness::Document } else { Tightness::Exact };
    (Axis { collation: None }.unite(vec![interval]), tightness)
}

fn not_a_number(op: CompareOp) -> (Vec<Interval>, Tightness) {
    match op {
        CompareOp::Lt | CompareOp::Gt => (Vec::new(), Tightness::Exact),
        _ => (vec![Interval::point(OwnedValue::new(Value::Double(f64::NAN)))], Tightness::Exact),
    }
}

fn membership(test: &Membership, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    let mut intervals = Vec::new();
    let mut tightness = Tightness::Exact;
    for value in &test.values {
        if !field.orders(&value.value()) {
            return None;
        }
        let (part, own) = match value.value() {
            Value::Null | Value::Undefined => nulls(field)?,
            _ => equality(value, field),
        };
        intervals.extend(part);
        tightness = tightness.max(own);
    }
    for part in &test.regexes {
        if !field.same_collation_or_none() {
            return None;
        }
        let (part, own) = regex(part);
        intervals.extend(part);
        tightness = tightness.max(own);
    }
    Some((field.axis.unite(intervals), tightness))
}

/// Strings with the prefix that every match has, and the expression as a value.
fn regex(test: &RegexTest) -> (Vec<Interval>, Tightness) {
    let regex = &test.regex;
    let value = Value::Regex { pattern: regex.pattern().into(), options: regex.options().into() };
    let itself = between(value, true, value, true);
    match literal_prefix(regex) {
        Some((prefix, is_all)) => {
            let tightness = if is_all { Tightness::Exact } else { Tightness::Key };
            (vec![prefixed(&prefix), itself], tightness)
        }
        None => (vec![between(Value::from(""), true, Value::Document(doc::EMPTY), false), itself], Tightness::Key),
    }
}

/// The strings that start with a prefix.
fn prefixed(prefix: &str) -> Interval {
    let mut above = prefix.as_bytes().to_vec();
    if let Some(last) = above.last_mut() {
        *last += 1;
    }
    let above = String::from_utf8(above);
    match &above {
        Ok(above) => between(Value::from(prefix), true, Value::from(above.as_str()), false),
        // The last byte has no successor in UTF-8: then up to the end of strings.
        Err(_) => between(Value::from(prefix), true, Value::Document(doc::EMPTY), false),
    }
}

/// The literal text that an anchored expression starts with, and whether that is all it asks for.
fn literal_prefix(regex: &Regex) -> Option<(String, bool)> {
    let options = regex.options();
    if options.contains(['i', 'm']) {
        return None;
    }
    let extended = options.contains('x');
    let pattern = regex.pattern();
    let rest = pattern.strip_prefix('^').or_else(|| pattern.strip_prefix("\\A"))?;
    if pattern.contains('|') {
        return None;
    }
    let mut prefix = String::new();
    let mut characters = rest.chars();
    while let Some(c) = characters.next() {
        match c {
            '*' | '?' | '{' => {
                // What came last is optional.
                prefix.pop();
                return (!prefix.is_empty()).then_some((prefix, false));
            }
            '\\' => match characters.next() {
                Some(quoted) if !quoted.is_ascii_alphanumeric() && quoted != '\0' => prefix.push(quoted),
                _ => return (!prefix.is_empty()).then_some((prefix, false)),
            },
            '.' | '+' | '(' | ')' | '[' | ']' | '^' | '$' => return (!prefix.is_empty()).then_some((prefix, false)),
            '#' | ' ' | '\t' | '\n' if extended => return (!prefix.is_empty()).then_some((prefix, false)),
            literal => prefix.push(literal),
        }
    }
    (!prefix.is_empty()).then_some((prefix, true))
}

fn types(test: &TypeTest, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    if test.types.contains(Kind::Array) {
        return Some((whole(), Tightness::Document));
    }
    if !field.same_collation_or_none() && (test.types.contains(Kind::String) || test.types.contains(Kind::Document)) {
        return Some((whole(), Tightness::Document));
    }
    let mut intervals = Vec::new();
    for kind in test.types.iter() {
        intervals.push(match kind {
            kind if kind.is_number() => numbers(),
            Kind::MinKey => between(Value::MinKey, true, Value::MinKey, true),
            Kind::MaxKey => between(Value::MaxKey, true, Value::MaxKey, true),
            Kind::Null => between(Value::Null, true, Value::Null, true),
            Kind::Undefined => between(Value::Undefined, true, Value::Undefined, true),
            kind => {
                let (low, low_inclusive, high, high_inclusive) = bracket(kind);
                between(low, low_inclusive, high, high_inclusive)
            }
        });
    }
    let of_kind = |kind: Kind| match kind {
        // Their keys lie among others, or are those of missing values.
        Kind::Null | Kind::Undefined => Tightness::Document,
        Kind::String | Kind::Symbol => Tightness::Key,
        kind if kind.is_number() && !test.types.has_number_alias() => Tightness::Key,
        kind if is_simple(kind) => Tightness::Exact,
        _ => Tightness::Document,
    };
    let tightness = match field.multikey {
        true => Tightness::Document,
        false => test.types.iter().map(of_kind).max().unwrap_or(Tightness::Document),
    };
    Some((field.axis.unite(intervals), tightness))
}

fn numbers() -> Interval {
    between(Value::Double(f64::NAN), true, Value::Double(f64::INFINITY), true)
}

fn negation(inner: &Filter, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    match inner {
        // A missing value's key is null.
        Filter::Exists(_) if field.sparse => None,
        Filter::Exists(_) => Some((vec![between(Value::Null, true, Value::Null, true)], Tightness::Document)),
        // `$ne: null` may use a sparse index, other negations would miss what is missing.
        Filter::Compare(test) if matches!(test.operand.value(), Value::Null | Value::Undefined) => {
            // Behind arrays, documents that match may have nothing but a null for a key.
            if test.op != CompareOp::Eq || field.multikey {
                return None;
            }
            Some((field.axis.complement(&[between(Value::Undefined, true, Value::Null, true)]), Tightness::Document))
        }
        _ if field.sparse => None,
        Filter::Compare(test) if matches!(test.operand.value(), Value::Array(_)) => None,
        Filter::Compare(test)
            if matches!(test.operand.value(), Value::MinKey | Value::MaxKey) && test.op != CompareOp::Eq =>
        {
            None
        }
        Filter::Compare(_) => complement(inner, field),
        Filter::In(test) if test.regexes.is_empty() => {
            let has_array = test.values.iter().any(|value| value.kind() == Kind::Array);
            if has_array || (test.has_null() && field.multikey) { None } else { complement(inner, field) }
        }
        _ => None,
    }
}

fn complement(inner: &Filter, field: Field<'_>) -> Option<(Vec<Interval>, Tightness)> {
    let (intervals, tightness) = bounds(inner, field)?;
    let exact = tightness == Tightness::Exact && !field.multikey;
    Some((field.axis.complement(&intervals), if exact { Tightness::Exact } else { Tightness::Document }))
}

/// Whether comparing keys of this type is comparing values: not where arrays hide elements.
fn is_simple(kind: Kind) -> bool {
    !matches!(kind, Kind::Array | Kind::JavaScriptWithScope | Kind::DbPointer)
}

/// The least and the greatest value of a type, for comparison; NaN stays outside of numbers.
fn bracket(kind: Kind) -> (Value<'static>, bool, Value<'static>, bool) {
    let empty = doc::EMPTY;
    let regex = || Value::Regex { pattern: "".into(), options: "".into() };
    let pointer = || Value::DbPointer { namespace: "".into(), id: [0; 12] };
    match kind {
        Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => {
            (Value::Double(f64::NEG_INFINITY), true, Value::Double(f64::INFINITY), true)
        }
        Kind::String | Kind::Symbol => (Value::from(""), true, Value::Document(empty), false),
        Kind::Document => (Value::Document(empty), true, Value::Array(empty), false),
        Kind::Array => (Value::Array(empty), true, Value::Binary { subtype: 0, bytes: &[] }, false),
        Kind::Binary => (Value::Binary { subtype: 0, bytes: &[] }, true, Value::ObjectId([0; 12]), false),
        Kind::ObjectId => (Value::ObjectId([0; 12]), true, Value::ObjectId([0xFF; 12]), true),
        Kind::Boolean => (Value::Boolean(false), true, Value::Boolean(true), true),
        Kind::DateTime => (Value::DateTime(i64::MIN), true, Value::DateTime(i64::MAX), true),
        Kind::Timestamp => (Value::Timestamp(0), true, Value::Timestamp(u64::MAX), true),
        Kind::Regex => (regex(), true, pointer(), false),
        Kind::DbPointer => (pointer(), true, Value::JavaScript("".into()), false),
        Kind::JavaScript => {
            (Value::JavaScript("".into()), true, Value::JavaScriptWithScope { code: "".into(), scope: empty }, false)
        }
        Kind::JavaScriptWithScope => {
            (Value::JavaScriptWithScope { code: "".into(), scope: empty }, true, Value::MaxKey, false)
        }
        Kind::Null | Kind::Undefined | Kind::MinKey | Kind::MaxKey => (Value::MinKey, true, Value::MaxKey, true),
    }
}
