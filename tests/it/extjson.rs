//! Extended JSON v2 to raw BSON and back, as exactly as the conformance cases need it.
//!
//! The `bson` crate's own conversion goes through maps, which folds repeated field names, and reads
//! legacy forms (`{"$regex": ..., "$options": ...}`) as values. A filter holds such documents as they
//! are, so this reader converts the canonical forms only, keeps every field in its place, and leaves
//! each object that merely resembles a canonical form alone.
//!
//! What a number without a wrapper means is the relaxed form's: an int32 where it fits, then an int64,
//! then a double.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bson::raw::{CString, RawJavaScriptCodeWithScope};
use bson::spec::BinarySubtype;
use bson::{
    Binary, DateTime, Decimal128, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, Regex, Timestamp,
};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Why a text is no Extended JSON.
#[derive(Debug)]
pub(crate) struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn malformed<E: fmt::Display>(e: E) -> Malformed {
    Malformed(e.to_string())
}

/// Reads one document.
pub(crate) fn read_document(text: &str) -> Result<RawDocumentBuf, Malformed> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // MongoDB stores 180 levels; each takes up to two of JSON's.
    reader.disable_recursion_limit();
    let json = Json::deserialize(&mut reader).map_err(malformed)?;
    reader.end().map_err(malformed)?;
    match json {
        Json::Object(fields) => document(&fields),
        _ => Err(Malformed("not an object".to_owned())),
    }
}

/// JSON as it stands: fields in order, repeated names kept.
enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Json, E> {
        Ok(Json::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Json, E> {
        Ok(Json::Int(v))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Json, E> {
        Ok(i64::try_from(v).map_or(Json::Float(v as f64), Json::Int))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Json, E> {
        Ok(Json::Float(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Json, E> {
        Ok(Json::Text(v.to_owned()))
    }

    fn visit_string<E>(self, v: String) -> Result<Json, E> {
        Ok(Json::Text(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Json::Object(fields))
    }
}

fn cstring(text: &str) -> Result<CString, Malformed> {
    CString::try_from(text).map_err(malformed)
}

fn document(fields: &[(String, Json)]) -> Result<RawDocumentBuf, Malformed> {
    let mut out = RawDocumentBuf::new();
    for (name, json) in fields {
        out.append(cstring(name)?, value(json)?);
    }
    Ok(out)
}

fn value(json: &Json) -> Result<RawBson, Malformed> {
    Ok(match json {
        Json::Null => RawBson::Null,
        Json::Bool(b) => RawBson::Boolean(*b),
        Json::Int(n) => i32::try_from(*n).map_or(RawBson::Int64(*n), RawBson::Int32),
        Json::Float(d) => RawBson::Double(*d),
        Json::Text(s) => RawBson::String(s.clone()),
        Json::List(items) => {
            let mut out = RawArrayBuf::new();
            for item in items {
                out.push(value(item)?);
            }
            RawBson::Array(out)
        }
        Json::Object(fields) => match wrapped(fields)? {
            Some(wrapped) => wrapped,
            None => RawBson::Document(document(fields)?),
        },
    })
}

/// The value that `fields` stand for, if they have a canonical form's shape; an error where they have
/// the shape but not the content.
fn wrapped(fields: &[(String, Json)]) -> Result<Option<RawBson>, Malformed> {
    let shape: Vec<(&str, &Json)> = fields.iter().map(|(k, v)| (k.as_str(), v)).collect();
    let found = match shape[..] {
        [("$numberInt", Json::Text(n))] => RawBson::Int32(n.parse().map_err(malformed)?),
        [("$numberLong", Json::Text(n))] => RawBson::Int64(n.parse().map_err(malformed)?),
        [("$numberDouble", Json::Text(n))] => RawBson::Double(double(n)?),
        [("$numberDecimal", Json::Text(n))] => RawBson::Decimal128(Decimal128::from_str(n).map_err(malformed)?),
        [("$oid", Json::Text(hex))] => RawBson::ObjectId(bson::oid::ObjectId::from_str(hex).map_err(malformed)?),
        [("$date", Json::Object(inner))] => match &inner[..] {
            [(name, Json::Text(n))] if name == "$numberLong" => {
                RawBson::DateTime(DateTime::from_millis(n.parse().map_err(malformed)?))
            }
            _ => return Ok(None),
        },
        [("$date", Json::Text(iso))] => match DateTime::parse_rfc3339_str(iso) {
            Ok(date) => RawBson::DateTime(date),
            Err(_) => return Ok(None),
        },
        [("$timestamp", Json::Object(inner))] => match &inner[..] {
            [(t, Json::Int(time)), (i, Json::Int(increment))] if t == "t" && i == "i" => {
                RawBson::Timestamp(Timestamp {
                    time: u32::try_from(*time).map_err(malformed)?,
                    increment: u32::try_from(*increment).map_err(malformed)?,
                })
            }
            _ => return Ok(None),
        },
        [("$binary", Json::Object(inner))] => match &inner[..] {
            [(b, Json::Text(bytes)), (s, Json::Text(kind))] if b == "base64" && s == "subType" => {
                RawBson::Binary(Binary {
                    subtype: BinarySubtype::from(u8::from_str_radix(kind, 16).map_err(malformed)?),
                    bytes: BASE64.decode(bytes).map_err(malformed)?,
                })
            }
            _ => return Ok(None),
        },
        [("$regularExpression", Json::Object(inner))] => match &inner[..] {
            [(p, Json::Text(pattern)), (o, Json::Text(options))] if p == "pattern" && o == "options" => {
                RawBson::RegularExpression(Regex { pattern: cstring(pattern)?, options: cstring(options)? })
            }
            _ => return Ok(None),
        },
        [("$code", Json::Text(code))] => RawBson::JavaScriptCode(code.clone()),
        [("$code", Json::Text(code)), ("$scope", Json::Object(scope))] => {
            RawBson::JavaScriptCodeWithScope(RawJavaScriptCodeWithScope { code: code.clone(), scope: document(scope)? })
        }
        [("$symbol", Json::Text(s))] => RawBson::Symbol(s.clone()),
        [("$undefined", Json::Bool(true))] => RawBson::Undefined,
        [("$minKey", Json::Int(1))] => RawBson::MinKey,
        [("$maxKey", Json::Int(1))] => RawBson::MaxKey,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

fn double(text: &str) -> Result<f64, Malformed> {
    match text {
        "Infinity" => Ok(f64::INFINITY),
        "-Infinity" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        finite => finite.parse().map_err(malformed),
    }
}

/// A document as one line of canonical Extended JSON.
pub(crate) fn to_line(document: &RawDocument) -> String {
    let mut out = String::new();
    write_fields(&mut out, document, Style::Canonical);
    out
}

/// A value for people to read: as in MongoDB's shell, types visible, wrappers only where needed.
pub(crate) fn to_shell(value: RawBsonRef<'_>) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Style::Shell);
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Canonical,
    Shell,
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write_fields(out: &mut String, document: &RawDocument, style: Style) {
    out.push('{');
    for (i, field) in document.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        match field {
            Ok((name, value)) => {
                let name = name.as_str();
                let bare = style == Style::Shell
                    && !name.is_empty()
                    && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
                out.push_str(&if bare { name.to_owned() } else { quoted(name) });
                out.push_str(": ");
                write_value(out, value, style);
            }
            Err(e) => {
                let _ = write!(out, "<corrupt: {e}>");
                break;
            }
        }
    }
    out.push('}');
}

fn write_value(out: &mut String, value: RawBsonRef<'_>, style: Style) {
    match value {
        RawBsonRef::Document(inner) => return write_fields(out, inner, style),
        RawBsonRef::Array(items) => {
            out.push('[');
            for (i, item) in items.into_iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                match item {
                    Ok(item) => write_value(out, item, style),
                    Err(e) => {
                        let _ = write!(out, "<corrupt: {e}>");
                        break;
                    }
                }
            }
            out.push(']');
            return;
        }
        RawBsonRef::JavaScriptCodeWithScope(code) => {
            let _ = write!(out, "{{\"$code\": {}, \"$scope\": ", quoted(code.code));
            write_fields(out, code.scope, style);
            out.push('}');
            return;
        }
        _ => {}
    }
    let text = match (value, style) {
        (RawBsonRef::Null, _) => "null".to_owned(),
        (RawBsonRef::Boolean(b), _) => b.to_string(),
        (RawBsonRef::String(s), _) => quoted(s),
        (RawBsonRef::Int32(n), Style::Shell) => n.to_string(),
        (RawBsonRef::Int64(n), Style::Shell) => format!("Long({n})"),
        (RawBsonRef::Double(d), Style::Shell) => double_text(d),
        (RawBsonRef::Decimal128(d), Style::Shell) => format!("Decimal({d})"),
        (RawBsonRef::ObjectId(id), Style::Shell) => format!("ObjectId({id})"),
        (RawBsonRef::DateTime(date), Style::Shell) => format!("Date({})", date.timestamp_millis()),
        (RawBsonRef::MinKey, Style::Shell) => "MinKey".to_owned(),
        (RawBsonRef::MaxKey, Style::Shell) => "MaxKey".to_owned(),
        (RawBsonRef::RegularExpression(r), Style::Shell) => {
            format!("/{}/{}", r.pattern.as_str(), r.options.as_str())
        }
        (RawBsonRef::Int32(n), _) => format!(r#"{{"$numberInt": "{n}"}}"#),
        (RawBsonRef::Int64(n), _) => format!(r#"{{"$numberLong": "{n}"}}"#),
        (RawBsonRef::Double(d), _) => format!(r#"{{"$numberDouble": "{}"}}"#, double_text(d)),
        (RawBsonRef::Decimal128(d), _) => format!(r#"{{"$numberDecimal": "{d}"}}"#),
        (RawBsonRef::ObjectId(id), _) => format!(r#"{{"$oid": "{id}"}}"#),
        (RawBsonRef::DateTime(date), _) => {
            let millis = date.timestamp_millis();
            format!(r#"{{"$date": {{"$numberLong": "{millis}"}}}}"#)
        }
        (RawBsonRef::Timestamp(t), _) => {
            let Timestamp { time, increment } = t;
            format!(r#"{{"$timestamp": {{"t": {time}, "i": {increment}}}}}"#)
        }
        (RawBsonRef::Binary(b), _) => format!(
            r#"{{"$binary": {{"base64": "{}", "subType": "{:02x}"}}}}"#,
            BASE64.encode(b.bytes),
            u8::from(b.subtype)
        ),
        (RawBsonRef::RegularExpression(r), _) => format!(
            r#"{{"$regularExpression": {{"pattern": {}, "options": {}}}}}"#,
            quoted(r.pattern.as_str()),
            quoted(r.options.as_str())
        ),
        (RawBsonRef::JavaScriptCode(code), _) => format!(r#"{{"$code": {}}}"#, quoted(code)),
        (RawBsonRef::Symbol(s), _) => format!(r#"{{"$symbol": {}}}"#, quoted(s)),
        (RawBsonRef::Undefined, _) => r#"{"$undefined": true}"#.to_owned(),
        (RawBsonRef::MinKey, _) => r#"{"$minKey": 1}"#.to_owned(),
        (RawBsonRef::MaxKey, _) => r#"{"$maxKey": 1}"#.to_owned(),
        (other, _) => quoted(&format!("{other:?}")),
    };
    out.push_str(&text);
}

fn double_text(d: f64) -> String {
    if d.is_nan() {
        "NaN".to_owned()
    } else if d.is_infinite() {
        if d > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{d:?}")
    }
}

#[test]
fn every_type_survives_reading_and_writing() {
    let line = concat!(
        r#"{"a": {"$numberInt": "1"}, "": {"$numberLong": "-9007199254740993"}, "#,
        r#""a": {"$numberDouble": "-0.0"}, "n": {"$numberDouble": "NaN"}, "#,
        r#""d": {"$numberDecimal": "1.10"}, "o": {"$oid": "000000000000000000000005"}, "#,
        r#""t": {"$date": {"$numberLong": "-1"}}, "ts": {"$timestamp": {"t": 1, "i": 4294967295}}, "#,
        r#""b": {"$binary": {"base64": "YWI=", "subType": "05"}}, "#,
        r#""r": {"$regularExpression": {"pattern": "^\"", "options": "i"}}, "c": {"$code": "x"}, "#,
        r#""s": {"$code": "x", "$scope": {"y": {"$numberInt": "1"}}}, "lo": {"$minKey": 1}, "#,
        r#""hi": {"$maxKey": 1}, "z": [null, true, "\u00e4", []], "e": {}}"#
    );
    let document = read_document(line).unwrap();
    let again = read_document(&to_line(&document)).unwrap();
    assert_eq!(document.as_bytes(), again.as_bytes());
    assert_eq!(document.iter().count(), 16);
}

#[test]
fn what_only_resembles_a_wrapper_stays_a_document() {
    for line in [
        r#"{"f": {"$regex": "a", "$options": "i"}}"#,
        r#"{"f": {"$type": "double"}}"#,
        r#"{"f": {"$date": "$x"}}"#,
        r#"{"f": {"$minKey": 1, "more": true}}"#,
        r#"{"f": {"$ref": "x", "$id": 1}}"#,
        r#"{"f": {"$$type": "objectId"}}"#,
        r#"{"f": {"$code": {"x": 1}}}"#,
    ] {
        let document = read_document(line).unwrap();
        assert!(document.get_document("f").is_ok(), "{line}");
    }
}

#[test]
fn malformed_wrappers_are_refused() {
    for line in [
        r#"{"f": {"$numberInt": "x"}}"#,
        r#"{"f": {"$numberDecimal": "1..2"}}"#,
        r#"{"f": {"$oid": "12"}}"#,
        r#"{"f": 1"#,
        r#"[1]"#,
        r#"{"a\u0000b": 1}"#,
    ] {
        assert!(read_document(line).is_err(), "{line}");
    }
}
