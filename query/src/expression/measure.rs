//! Sizes, halves of timestamps, random numbers, metadata.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher};

use bindery_document::{Result, Value, code};
use bindery_index::key::hash_value;

use super::registry::Entry;
use super::{Node, Operator, ParseContext, Scope, Val, fail, parse, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::unary("$bsonSize", bson_size),
    Entry::unary("$binarySize", binary_size),
    Entry::parsed("$toHashedIndexKey", |argument, ctx| {
        Ok(Node::Operator(Box::new(HashedKey(parse::parse(argument, ctx)?))))
    }),
    Entry::unary("$tsSecond", |_, v| timestamp_half("$tsSecond", 5_687_301, &v, |t| t >> 32)),
    Entry::unary("$tsIncrement", |_, v| timestamp_half("$tsIncrement", 5_687_302, &v, |t| t & 0xFFFF_FFFF)),
    Entry::parsed("$rand", parse_rand),
    Entry::parsed("$meta", parse_meta),
];

fn bson_size<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    if value.is_nullish() {
        return Ok(Val::NULL);
    }
    match value.get() {
        Some(Value::Document(doc)) => Ok(Val::from(doc.as_bytes().len() as i32)),
        _ => fail(31393, format!("$bsonSize takes a document, not {}", type_name(&value))),
    }
}

fn binary_size<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    if value.is_nullish() {
        return Ok(Val::NULL);
    }
    match value.get() {
        Some(Value::String(text)) => Ok(Val::from(text.as_bytes().len() as i32)),
        Some(Value::Binary { bytes, .. }) => Ok(Val::from(bytes.len() as i32)),
        _ => fail(51276, format!("$binarySize takes a string or binary data, not {}", type_name(&value))),
    }
}

fn timestamp_half<'a>(name: &str, type_code: i32, value: &Val<'_>, half: fn(u64) -> u64) -> Result<Val<'a>> {
    if value.is_nullish() {
        return Ok(Val::NULL);
    }
    match value.get() {
        Some(Value::Timestamp(t)) => Ok(Val::from(half(t) as i64)),
        _ => fail(type_code, format!("{name} takes a timestamp, not {}", type_name(value))),
    }
}

/// `$rand`: a new number at each evaluation.
#[derive(Debug)]
struct Rand;

fn parse_rand(argument: Value<'_>, _: &mut ParseContext) -> Result<Node> {
    match argument {
        Value::Document(doc) | Value::Array(doc) => {
            if !doc.is_empty() {
                return fail(3_040_501, "$rand takes no arguments");
            }
        }
        _ => return fail(10065, "$rand takes an empty document"),
    }
    Ok(Node::Operator(Box::new(Rand)))
}

thread_local! {
    static RANDOM_STATE: Cell<u64> = Cell::new(std::hash::RandomState::new().build_hasher().finish());
}

/// A number from 0 to below 1 (SplitMix64, seeded by the standard library).
pub(crate) fn random() -> f64 {
    RANDOM_STATE.with(|cell| {
        let state = cell.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        cell.set(state);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    })
}

impl Operator for Rand {
    fn evaluate<'a>(&'a self, _: &Scope<'a>) -> Result<Val<'a>> {
        Ok(Val::from(random()))
    }

    fn operands(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }
}

/// `$toHashedIndexKey`: the key that a hashed index has for a value. An array is one value, and no list of arguments.
#[derive(Debug)]
struct HashedKey(Node);

impl Operator for HashedKey {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        // What is missing hashes as null does.
        Ok(Val::from(hash_value(&self.0.evaluate(scope)?.or_null())))
    }

    fn operands(&self) -> Vec<&Node> {
        vec![&self.0]
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.0]
    }
}

/// `$meta`: what is known of the document beside its fields.
#[derive(Debug)]
struct RecordIdMeta;

fn parse_meta(argument: Value<'_>, _: &mut ParseContext) -> Result<Node> {
    let Value::String(name) = argument else {
        return fail(17307, "$meta takes a string");
    };
    match name.as_str() {
        "textScore" | "geoNearDistance" | "geoNearPoint" => {
            fail(40218, format!("the query has no {} metadata", name.as_str()))
        }
        "sortKey" => fail(code::BAD_VALUE, "{$meta: \"sortKey\"} needs a sort"),
        "recordId" => Ok(Node::Operator(Box::new(RecordIdMeta))),
        "indexKey"
        | "randVal"
        | "searchScore"
        | "searchHighlights"
        | "searchScoreDetails"
        | "timeseriesBucketMinTime"
        | "timeseriesBucketMaxTime" => Ok(Node::Constant(None)),
        other => fail(17308, format!("$meta does not know '{other}'")),
    }
}

impl Operator for RecordIdMeta {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        Ok(scope.record_id().map_or(Val::Missing, Val::from))
    }

    fn operands(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }
}
