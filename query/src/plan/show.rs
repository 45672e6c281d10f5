//! Bounds as `explain` prints them: `["[5, 5]", "(\"c\", {})"]`.

use std::fmt::Write;

use bindery_document::{Builder, Doc, Value};

use super::bounds::{IndexBounds, Interval};
use crate::collation::Collation;

impl IndexBounds {
    /// Appends the bounds' fields, strings as the collation's keys if there is one.
    pub fn show(&self, collation: Option<&Collation>, out: &mut Builder) {
        match self {
            IndexBounds::Fields(fields) => {
                for field in fields {
                    let list = out.open_array(&field.path);
                    for (i, interval) in field.intervals.iter().enumerate() {
                        out.append_index(i, show_interval(interval, collation).as_str());
                    }
                    out.close(list);
                }
            }
            // As the server does: `min` and `max` are not printed as bounds.
            IndexBounds::Range { .. } => {}
        }
    }
}

fn show_interval(interval: &Interval, collation: Option<&Collation>) -> String {
    let mut text = String::new();
    text.push(if interval.start_inclusive { '[' } else { '(' });
    show_value(&interval.start.value(), collation, &mut text);
    text.push_str(", ");
    show_value(&interval.end.value(), collation, &mut text);
    text.push(if interval.end_inclusive { ']' } else { ')' });
    text
}

/// Writes a value as the server's shell notation has it.
fn show_value(value: &Value<'_>, collation: Option<&Collation>, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Double(d) => show_double(*d, out),
        Value::String(text) | Value::Symbol(text) => match collation {
            Some(collation) if !text.0.is_empty() => {
                let mut key = Vec::new();
                collation.write_sort_key(text.0, &mut key);
                let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
                write!(out, "CollationKey(0x{hex})")
            }
            _ => write!(out, "\"{}\"", text.as_str()),
        },
        Value::Document(doc) => show_document(*doc, collation, out),
        Value::Array(array) => show_array(*array, collation, out),
        Value::Binary { subtype, bytes } => {
            let hex: String = bytes.iter().map(|b| format!("{b:02X}")).collect();
            write!(out, "BinData({subtype}, {hex})")
        }
        Value::Undefined => write!(out, "undefined"),
        Value::ObjectId(id) => {
            let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
            write!(out, "ObjectId('{hex}')")
        }
        Value::Boolean(b) => write!(out, "{b}"),
        Value::DateTime(ms) => write!(out, "new Date({ms})"),
        Value::Null => write!(out, "null"),
        Value::Regex { pattern, options } => write!(out, "/{}/{}", pattern.as_str(), options.as_str()),
        Value::DbPointer { namespace, id } => {
            let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
            write!(out, "DBRef('{}', {hex})", namespace.as_str())
        }
        Value::JavaScript(code) => write!(out, "{}", code.as_str()),
        Value::JavaScriptWithScope { code, scope } => {
            let _ = write!(out, "CodeWScope( {}, ", code.as_str());
            show_document(*scope, collation, out).and_then(|()| write!(out, ")"))
        }
        Value::Int32(n) => write!(out, "{n}"),
        Value::Timestamp(t) => write!(out, "Timestamp({}, {})", t >> 32, t & 0xFFFF_FFFF),
        Value::Int64(n) => write!(out, "{n}"),
        Value::Decimal128(d) => write!(out, "{d:?}"),
        Value::MaxKey => write!(out, "MaxKey"),
        Value::MinKey => write!(out, "MinKey"),
    };
}

fn show_double(d: f64, out: &mut String) -> std::fmt::Result {
    if d.is_nan() {
        write!(out, "nan.0")
    } else if d.is_infinite() {
        write!(out, "{}inf.0", if d < 0.0 { "-" } else { "" })
    } else if d.fract() == 0.0 && d.abs() < 1e15 {
        write!(out, "{d:.1}")
    } else {
        write!(out, "{d}")
    }
}

fn show_document(doc: Doc<'_>, collation: Option<&Collation>, out: &mut String) -> std::fmt::Result {
    if doc.is_empty() {
        return write!(out, "{{}}");
    }
    out.push_str("{ ");
    for (i, element) in doc.iter().enumerate() {
        let separator = if i > 0 { ", " } else { "" };
        write!(out, "{separator}{}: ", element.key_str())?;
        show_value(&element.value(), collation, out);
    }
    write!(out, " }}")
}

fn show_array(array: Doc<'_>, collation: Option<&Collation>, out: &mut String) -> std::fmt::Result {
    if array.is_empty() {
        return write!(out, "[]");
    }
    out.push_str("[ ");
    for (i, element) in array.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        show_value(&element.value(), collation, out);
    }
    write!(out, " ]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::OwnedValue;

    fn shown(start: Value<'_>, end: Value<'_>) -> String {
        let interval = Interval {
            start: OwnedValue::new(start),
            start_inclusive: true,
            end: OwnedValue::new(end),
            end_inclusive: false,
        };
        show_interval(&interval, None)
    }

    #[test]
    fn values_are_printed_as_the_server_prints_them() {
        let empty = bindery_document::doc::EMPTY;
        assert_eq!(shown(Value::MinKey, Value::Int32(5)), "[MinKey, 5)");
        assert_eq!(shown(Value::Double(37.0), Value::Double(f64::INFINITY)), "[37.0, inf.0)");
        assert_eq!(shown(Value::Double(0.5), Value::Double(f64::NAN)), "[0.5, nan.0)");
        assert_eq!(shown(Value::from("c"), Value::Document(empty)), "[\"c\", {})");
        assert_eq!(shown(Value::DateTime(7), Value::Array(empty)), "[new Date(7), [])");
    }
}
