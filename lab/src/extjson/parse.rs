//! Extended JSON text to raw BSON.
//!
//! serde_json finds the tokens; what it calls a map becomes a document, or, if its first key is one of
//! the wrappers, the value that the wrapper stands for.

use std::fmt;

use bson::raw::{CStr, CString};
use bson::{Bson, DateTime, RawArrayBuf, RawBson, RawDocumentBuf, Regex, Timestamp};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};

/// Deeper text is refused before the stack suffers; what the engine accepts is less.
const MAX_DEPTH: usize = 1000;

/// One document from text that holds nothing else.
///
/// Fails with [`Error::Json`] where the text is no JSON, no object, nests deeper than 1000 levels, or
/// a wrapper such as `$oid` holds what it cannot.
pub fn parse_document(text: &str) -> Result<RawDocumentBuf> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let parsed = Parsed::deserialize(&mut deserializer).map_err(json_error)?;
    deserializer.end().map_err(json_error)?;
    Ok(parsed.0)
}

fn json_error(error: serde_json::Error) -> Error {
    // What is wrong with the value as a whole has no place.
    let (line, column) = (error.line().max(1) as u64, error.column() as u64);
    Error::Json { line, column, message: message_of(&error) }
}

/// serde_json's words without the place it appends to them.
pub(crate) fn message_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// A document as serde sees it: any JSON object.
pub(crate) struct Parsed(pub(crate) RawDocumentBuf);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match (Value { depth: 0 }).deserialize(deserializer)? {
            RawBson::Document(document) => Ok(Parsed(document)),
            other => Err(D::Error::custom(format!("a document was expected, not {}", name_of(&other)))),
        }
    }
}

fn name_of(value: &RawBson) -> &'static str {
    match value {
        RawBson::Array(_) => "an array",
        RawBson::String(_) => "a string",
        RawBson::Int32(_) | RawBson::Int64(_) | RawBson::Double(_) => "a number",
        RawBson::Boolean(_) => "a boolean",
        RawBson::Null => "null",
        _ => "a single value",
    }
}

#[derive(Clone, Copy)]
struct Value {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Value {
    type Value = RawBson;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<RawBson, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Value {
    fn deeper<E: serde::de::Error>(self) -> std::result::Result<Value, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Value { depth: self.depth + 1 })
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = RawBson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value in Extended JSON")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<RawBson, E> {
        Ok(RawBson::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<RawBson, E> {
        Ok(i32::try_from(value).map_or(RawBson::Int64(value), RawBson::Int32))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> std::result::Result<RawBson, E> {
        // Relaxed numbers beyond 64 bits are doubles.
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Ok(RawBson::Double(value as f64)),
        }
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<RawBson, E> {
        Ok(RawBson::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<RawBson, E> {
        Ok(RawBson::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<RawBson, E> {
        Ok(RawBson::String(value))
    }

    fn visit_unit<E>(self) -> std::result::Result<RawBson, E> {
        Ok(RawBson::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<RawBson, A::Error> {
        let element = self.deeper()?;
        let mut array = RawArrayBuf::new();
        while let Some(value) = seq.next_element_seed(element)? {
            array.push(value);
        }
        Ok(RawBson::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<RawBson, A::Error> {
        let element = self.deeper()?;
        let mut document = RawDocumentBuf::new();
        let mut wrapper = None;
        let mut fields = 0;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if fields == 0 {
                wrapper = Wrapper::named(&key);
            }
            fields += 1;
            let name: &CStr =
                key.as_ref().try_into().map_err(|_| A::Error::custom("a field name may not contain a zero byte"))?;
            document.append(name, map.next_value_seed(element)?);
        }
        match wrapper {
            Some(wrapper) => wrapper.open(&document, fields).map_err(A::Error::custom),
            None => Ok(RawBson::Document(document)),
        }
    }
}

/// The wrapper objects of the specification.
#[derive(Clone, Copy, Debug)]
enum Wrapper {
    ObjectId,
    Int32,
    Int64,
    Double,
    Decimal128,
    Binary,
    Uuid,
    Date,
    Timestamp,
    RegularExpression,
    Code,
    Symbol,
    DbPointer,
    Undefined,
    MinKey,
    MaxKey,
}

impl Wrapper {
    const NAMES: [(&'static str, Wrapper); 16] = [
        ("$oid", Wrapper::ObjectId),
        ("$numberInt", Wrapper::Int32),
        ("$numberLong", Wrapper::Int64),
        ("$numberDouble", Wrapper::Double),
        ("$numberDecimal", Wrapper::Decimal128),
        ("$binary", Wrapper::Binary),
        ("$uuid", Wrapper::Uuid),
        ("$date", Wrapper::Date),
        ("$timestamp", Wrapper::Timestamp),
        ("$regularExpression", Wrapper::RegularExpression),
        ("$code", Wrapper::Code),
        ("$symbol", Wrapper::Symbol),
        ("$dbPointer", Wrapper::DbPointer),
        ("$undefined", Wrapper::Undefined),
        ("$minKey", Wrapper::MinKey),
        ("$maxKey", Wrapper::MaxKey),
    ];

    fn named(key: &str) -> Option<Wrapper> {
        if !key.starts_with('$') {
            return None;
        }
        Self::NAMES.iter().find(|(name, _)| *name == key).map(|(_, wrapper)| *wrapper)
    }

    fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The value that `document`, whose first key names this wrapper, stands for.
    fn open(self, document: &RawDocumentBuf, fields: usize) -> std::result::Result<RawBson, String> {
        let name = self.name();
        let wrong = |what: &str| format!("`{name}` takes {what}");
        let expected_fields = match self {
            Wrapper::Code if fields == 2 => 2,
            _ => 1,
        };
        if fields != expected_fields {
            return Err(format!("`{name}` stands beside other fields"));
        }
        let value = match document.get(name) {
            Ok(Some(value)) => RawBson::from(value),
            _ => return Err(wrong("a value")),
        };
        let text = || match &value {
            RawBson::String(text) => Ok(text.as_str()),
            _ => Err(wrong("a string")),
        };
        Ok(match self {
            Wrapper::ObjectId => {
                let id = text()?.parse().map_err(|_| wrong("24 hexadecimal digits"))?;
                RawBson::ObjectId(id)
            }
            Wrapper::Int32 => RawBson::Int32(text()?.parse().map_err(|_| wrong("an integer of 32 bits"))?),
            Wrapper::Int64 => RawBson::Int64(text()?.parse().map_err(|_| wrong("an integer of 64 bits"))?),
            Wrapper::Double => match text()? {
                "NaN" => RawBson::Double(f64::NAN),
                number => RawBson::Double(number.parse().map_err(|_| wrong("a number"))?),
            },
            Wrapper::Decimal128 if !is_decimal(text()?) => return Err(wrong("a decimal number")),
            Wrapper::Decimal128 => RawBson::Decimal128(text()?.parse().map_err(|_| wrong("a decimal number"))?),
            Wrapper::Symbol => RawBson::Symbol(text()?.to_owned()),
            Wrapper::Date => RawBson::DateTime(match &value {
                RawBson::Int64(millis) => DateTime::from_millis(*millis),
                RawBson::String(text) => {
                    DateTime::parse_rfc3339_str(text).map_err(|_| wrong("a date such as 2026-01-31T12:00:00Z"))?
                }
                _ => return Err(wrong("a date or milliseconds")),
            }),
            Wrapper::Timestamp => {
                let parts = value.as_document().ok_or_else(|| wrong("t and i"))?;
                let part = |key: &str| match parts.get(key) {
                    Ok(Some(bson::RawBsonRef::Int32(n))) => u32::try_from(n).ok(),
                    Ok(Some(bson::RawBsonRef::Int64(n))) => u32::try_from(n).ok(),
                    _ => None,
                };
                match (part("t"), part("i")) {
                    (Some(time), Some(increment)) => RawBson::Timestamp(Timestamp { time, increment }),
                    _ => return Err(wrong("t and i, each of 32 bits")),
                }
            }
            Wrapper::RegularExpression => {
                let parts = value.as_document().ok_or_else(|| wrong("pattern and options"))?;
                if parts.iter().count() != 2 {
                    return Err(wrong("pattern and options"));
                }
                let part = |key: &str| parts.get_str(key).map_err(|_| wrong("pattern and options"));
                let mut options: Vec<char> = part("options")?.chars().collect();
                options.sort_unstable();
                let cstring = |text: String| CString::try_from(text).map_err(|_| wrong("a pattern without zero bytes"));
                RawBson::RegularExpression(Regex {
                    pattern: cstring(part("pattern")?.to_owned())?,
                    options: cstring(options.into_iter().collect())?,
                })
            }
            Wrapper::Undefined => RawBson::Undefined,
            Wrapper::MinKey | Wrapper::MaxKey if value != RawBson::Int32(1) => return Err(wrong("1")),
            Wrapper::MinKey => RawBson::MinKey,
            Wrapper::MaxKey => RawBson::MaxKey,
            // Rare ones, and strict ones about their inside: the bson crate's own reading.
            Wrapper::Binary | Wrapper::Uuid | Wrapper::Code | Wrapper::DbPointer => {
                if matches!(self, Wrapper::Code) && fields == 1 {
                    return Ok(RawBson::JavaScriptCode(text()?.to_owned()));
                }
                let json = Bson::try_from(bson::RawBsonRef::Document(document))
                    .map_err(|error| error.to_string())?
                    .into_relaxed_extjson();
                let value = Bson::try_from(json).map_err(|_| wrong("what the specification says"))?;
                RawBson::try_from(value).map_err(|error| error.to_string())?
            }
        })
    }
}

/// Whether a text is a decimal number, an infinity or NaN; the bson crate also takes what has no digits or two signs.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["inf", "infinity", "nan"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
        return true;
    }
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits
        && all_digits(whole)
        && all_digits(fraction)
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extjson::write_document;
    use bson::rawdoc;

    fn value_of(text: &str) -> RawBson {
        let document = parse_document(&format!("{{\"v\": {text}}}")).expect(text);
        let value = document.get("v").expect("valid").expect("present");
        value.into()
    }

    #[test]
    fn every_wrapper_gives_its_type_and_is_written_back() {
        for text in [
            r#"{"$oid":"507f1f77bcf86cd799439011"}"#,
            r#"{"$numberInt":"42"}"#,
            r#"{"$numberLong":"42"}"#,
            r#"{"$numberDouble":"1.5"}"#,
            r#"{"$numberDouble":"-0.0"}"#,
            r#"{"$numberDouble":"NaN"}"#,
            r#"{"$numberDouble":"-Infinity"}"#,
            r#"{"$numberDecimal":"1.50"}"#,
            r#"{"$binary":{"base64":"AQID","subType":"00"}}"#,
            r#"{"$binary":{"base64":"","subType":"80"}}"#,
            r#"{"$date":{"$numberLong":"-1"}}"#,
            r#"{"$timestamp":{"t":4294967295,"i":1}}"#,
            r#"{"$regularExpression":{"pattern":"^a","options":"im"}}"#,
            r#"{"$code":"f()"}"#,
            r#"{"$code":"f()","$scope":{"x":{"$numberInt":"1"}}}"#,
            r#"{"$symbol":"s"}"#,
            r#"{"$dbPointer":{"$ref":"db.c","$id":{"$oid":"507f1f77bcf86cd799439011"}}}"#,
            r#"{"$undefined":true}"#,
            r#"{"$minKey":1}"#,
            r#"{"$maxKey":1}"#,
            r#"[null,true,"quote \" and \u0001",[],{}]"#,
        ] {
            let whole = format!("{{\"v\":{text}}}");
            let document = parse_document(&whole).expect(text);
            assert_eq!(write_document(&document).expect("writes"), whole);
        }
    }

    #[test]
    fn relaxed_numbers_take_the_smallest_type() {
        assert_eq!(value_of("1"), RawBson::Int32(1));
        assert_eq!(value_of("2147483648"), RawBson::Int64(2_147_483_648));
        assert_eq!(value_of("1.0"), RawBson::Double(1.0));
        assert_eq!(value_of("18446744073709551615"), RawBson::Double(18_446_744_073_709_551_615.0));
        assert_eq!(value_of(r#"{"$date": "1970-01-01T00:00:01Z"}"#), RawBson::DateTime(DateTime::from_millis(1000)));
    }

    #[test]
    fn a_regex_operator_stays_a_document() {
        let filter = parse_document(r#"{"a": {"$regex": "^x", "$options": "i"}}"#).expect("parses");
        assert_eq!(filter, rawdoc! { "a": { "$regex": "^x", "$options": "i" } });
        let value = value_of(r#"{"$regularExpression": {"pattern": "x", "options": "mi"}}"#);
        assert!(matches!(value, RawBson::RegularExpression(regex) if regex.options.as_str() == "im"));
    }

    #[test]
    fn repeated_names_and_their_order_survive() {
        let document = parse_document(r#"{"b": 1, "a": 2, "b": 3}"#).expect("parses");
        let keys: Vec<_> = document.iter().map(|e| e.expect("valid").0.as_str().to_owned()).collect();
        assert_eq!(keys, ["b", "a", "b"]);
    }

    #[test]
    fn wrong_text_is_refused_with_its_place() {
        for (text, at, part) in [
            ("{\"a\": 1,\n \"b\": }", (2, 7), "expected value"),
            ("{\"a\": 1} x", (1, 10), "trailing"),
            ("[1]", (1, 0), "not an array"),
            ("{\"a\": {\"$oid\": \"12\"}}", (1, 20), "24 hexadecimal"),
            ("{\"a\": {\"$numberInt\": \"1\", \"b\": 2}}", (1, 33), "beside"),
            ("{\"a\\u0000\": 1}", (1, 10), "zero byte"),
            ("{\"a\": {\"$binary\": 1}}", (1, 20), "$binary"),
            ("", (1, 0), "EOF"),
        ] {
            match parse_document(text) {
                Err(Error::Json { line, column, message }) => {
                    assert!(message.contains(part), "{text}: {message}");
                    assert_eq!(line, at.0, "{text}");
                    assert!(column.abs_diff(at.1) <= 1, "{text}: column {column}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n));
        assert!(parse_document(&nested(900)).is_ok());
        assert!(matches!(parse_document(&nested(100_000)), Err(Error::Json { .. })));
    }
}
