//! Raw BSON to canonical Extended JSON, on one line.

use std::fmt::Write as _;

use bson::{Bson, RawBsonRef, RawDocument};

use crate::error::{Error, Result};

/// `document` in canonical Extended JSON, without line breaks.
///
/// Fails with [`Error::Target`] where the bytes are not valid BSON.
pub fn write_document(document: &RawDocument) -> Result<String> {
    let mut out = String::with_capacity(document.as_bytes().len() * 2);
    document_into(&mut out, document).map_err(|message| Error::Target(format!("not valid BSON: {message}")))?;
    Ok(out)
}

/// `value` in canonical Extended JSON, as [`write_document`] writes it.
pub fn write_value(value: RawBsonRef<'_>) -> Result<String> {
    let mut out = String::new();
    value_into(&mut out, value).map_err(|message| Error::Target(format!("not valid BSON: {message}")))?;
    Ok(out)
}

type Written = std::result::Result<(), String>;

fn document_into(out: &mut String, document: &RawDocument) -> Written {
    out.push('{');
    for (index, element) in document.iter().enumerate() {
        let (key, value) = element.map_err(|error| error.to_string())?;
        if index > 0 {
            out.push(',');
        }
        string_into(out, key.as_str());
        out.push(':');
        value_into(out, value)?;
    }
    out.push('}');
    Ok(())
}

fn value_into(out: &mut String, value: RawBsonRef<'_>) -> Written {
    match value {
        RawBsonRef::Document(document) => document_into(out, document)?,
        RawBsonRef::Array(array) => {
            out.push('[');
            for (index, element) in array.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                value_into(out, element.map_err(|error| error.to_string())?)?;
            }
            out.push(']');
        }
        RawBsonRef::String(text) => string_into(out, text),
        RawBsonRef::Boolean(value) => out.push_str(if value { "true" } else { "false" }),
        RawBsonRef::Null => out.push_str("null"),
        RawBsonRef::Int32(n) => wrap(out, "$numberInt", n),
        RawBsonRef::Int64(n) => wrap(out, "$numberLong", n),
        RawBsonRef::Double(n) if n.is_nan() => wrap(out, "$numberDouble", "NaN"),
        RawBsonRef::Double(n) if n.is_infinite() => {
            wrap(out, "$numberDouble", if n > 0.0 { "Infinity" } else { "-Infinity" });
        }
        // Debug keeps the ".0" of whole numbers and the sign of zero.
        RawBsonRef::Double(n) => {
            let digits = format!("{n:?}");
            match digits.split_once('e') {
                // As the drivers write exponents.
                Some((digits, exponent)) => {
                    let sign = if exponent.starts_with('-') { "" } else { "+" };
                    wrap(out, "$numberDouble", format_args!("{digits}E{sign}{exponent}"));
                }
                None => wrap(out, "$numberDouble", digits),
            }
        }
        RawBsonRef::DateTime(at) => {
            out.push_str("{\"$date\":");
            wrap(out, "$numberLong", at.timestamp_millis());
            out.push('}');
        }
        RawBsonRef::ObjectId(id) => wrap(out, "$oid", id.to_hex()),
        RawBsonRef::Symbol(text) => {
            out.push_str("{\"$symbol\":");
            string_into(out, text);
            out.push('}');
        }
        RawBsonRef::JavaScriptCode(code) => {
            out.push_str("{\"$code\":");
            string_into(out, code);
            out.push('}');
        }
        RawBsonRef::JavaScriptCodeWithScope(code) => {
            out.push_str("{\"$code\":");
            string_into(out, code.code);
            out.push_str(",\"$scope\":");
            document_into(out, code.scope)?;
            out.push('}');
        }
        RawBsonRef::Timestamp(at) => {
            let _ = write!(out, "{{\"$timestamp\":{{\"t\":{},\"i\":{}}}}}", at.time, at.increment);
        }
        RawBsonRef::RegularExpression(regex) => {
            out.push_str("{\"$regularExpression\":{\"pattern\":");
            string_into(out, regex.pattern.as_str());
            out.push_str(",\"options\":");
            string_into(out, regex.options.as_str());
            out.push_str("}}");
        }
        RawBsonRef::MinKey => out.push_str("{\"$minKey\":1}"),
        RawBsonRef::MaxKey => out.push_str("{\"$maxKey\":1}"),
        RawBsonRef::Undefined => out.push_str("{\"$undefined\":true}"),
        RawBsonRef::Decimal128(n) => wrap(out, "$numberDecimal", n),
        // Base64 and the pointer's parts are the bson crate's business.
        RawBsonRef::Binary(_) | RawBsonRef::DbPointer(_) => {
            let value = Bson::try_from(value).map_err(|error| error.to_string())?;
            out.push_str(&value.into_canonical_extjson().to_string());
        }
    }
    Ok(())
}

fn wrap(out: &mut String, wrapper: &str, value: impl std::fmt::Display) {
    let _ = write!(out, "{{\"{wrapper}\":\"{value}\"}}");
}

fn string_into(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
