//! Values as bytes for hashing: equal values, and no others, have equal bytes.
//!
//! Equality is that of the total order: 1, 1.0 and NumberDecimal("1.0") are one value. Unlike ordered index
//! keys these bytes say nothing of order, so that numbers and strings cost next to nothing to write.

use bindery_document::{Decimal, Doc, Kind, Value};

use crate::collation::Collation;
use crate::expression::number::Number;

/// Tags beside those of [`Kind`]: numbers of all types share theirs.
const INTEGER: u8 = 0xF0;
const FRACTION: u8 = 0xF1;
const DECIMAL: u8 = 0xF2;
const NAN: u8 = 0xF3;
const MISSING: u8 = 0xF4;

/// Which strings are equal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strings<'c> {
    /// Those of the same bytes; a symbol counts as a string.
    Bytes,
    /// Those that a collation makes equal. Symbols are told apart by their bytes, and are equal to no string: MongoDB's
    /// usual engine hashes them as they are.
    Collated(&'c Collation),
    /// Those that a collation makes equal, symbols among them.
    CollatedWithSymbols(&'c Collation),
}

impl<'c> Strings<'c> {
    /// Those of a collation, if there is one, symbols among them.
    pub(crate) fn with_symbols(collation: Option<&'c Collation>) -> Strings<'c> {
        collation.map_or(Strings::Bytes, Strings::CollatedWithSymbols)
    }
}

/// Appends a value from its bytes, as [`append`] does without a collation. False, and nothing is appended, for types
/// that must be decoded.
#[inline(always)]
pub(crate) fn append_bytes(kind: Kind, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    match kind {
        Kind::String => match bytes.get(4..bytes.len().saturating_sub(1)) {
            Some(text) => {
                out.push(Kind::String as u8);
                sized(text, out);
            }
            None => return false,
        },
        Kind::ObjectId | Kind::Boolean | Kind::DateTime | Kind::Timestamp => {
            out.push(kind as u8);
            sized(bytes, out);
        }
        _ => match Number::of_bytes(kind, bytes) {
            Some(Number::Int(n)) => integer(i64::from(n), out),
            Some(Number::Long(n)) => integer(n, out),
            Some(Number::Double(d)) => double(d, out),
            Some(Number::Decimal(_)) | None => return false,
        },
    }
    true
}

/// Appends a value that may be missing.
#[inline]
pub(crate) fn append_maybe(value: Option<Value<'_>>, strings: Strings<'_>, out: &mut Vec<u8>) {
    match value {
        Some(value) => append(&value, strings, out),
        None => out.push(MISSING),
    }
}

/// Appends a value.
#[inline]
pub(crate) fn append(value: &Value<'_>, strings: Strings<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Int32(n) => integer(i64::from(*n), out),
        Value::Int64(n) => integer(*n, out),
        Value::Double(d) => double(*d, out),
        Value::Decimal128(d) => decimal(*d, out),
        Value::Symbol(text) if matches!(strings, Strings::Collated(_)) => {
            out.push(Kind::Symbol as u8);
            sized(text.as_bytes(), out);
        }
        Value::String(text) | Value::Symbol(text) => {
            out.push(Kind::String as u8);
            match strings {
                Strings::Bytes => sized(text.as_bytes(), out),
                Strings::Collated(collation) | Strings::CollatedWithSymbols(collation) => {
                    let start = out.len();
                    out.extend_from_slice(&[0; 4]);
                    collation.write_sort_key(text.as_bytes(), out);
                    let length = (out.len() - start - 4) as u32;
                    if let Some(place) = out.get_mut(start..start + 4) {
                        place.copy_from_slice(&length.to_le_bytes());
                    }
                }
            }
        }
        Value::Document(doc) => nested(Kind::Document, *doc, true, strings, out),
        Value::Array(items) => nested(Kind::Array, *items, false, strings, out),
        Value::JavaScriptWithScope { code, scope } => {
            out.push(Kind::JavaScriptWithScope as u8);
            sized(code.as_bytes(), out);
            nested(Kind::Document, *scope, true, strings, out);
        }
        other => {
            out.push(other.kind() as u8);
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            other.write_to(out);
            let length = (out.len() - start - 4) as u32;
            if let Some(place) = out.get_mut(start..start + 4) {
                place.copy_from_slice(&length.to_le_bytes());
            }
        }
    }
}

#[inline]
fn integer(n: i64, out: &mut Vec<u8>) {
    out.push(INTEGER);
    out.extend_from_slice(&n.to_le_bytes());
}

#[inline]
fn double(d: f64, out: &mut Vec<u8>) {
    if let Some(n) = Value::Double(d).as_exact_i64() {
        integer(n, out);
    } else if d.is_nan() {
        out.push(NAN);
    } else {
        out.push(FRACTION);
        out.extend_from_slice(&d.to_le_bytes());
    }
}

fn decimal(d: Decimal, out: &mut Vec<u8>) {
    if let Some(n) = d.as_exact_i64() {
        return integer(n, out);
    }
    if d.is_nan() {
        return out.push(NAN);
    }
    let nearest = d.to_f64();
    if d.compare_f64(nearest).is_eq() {
        return double(nearest, out);
    }
    out.push(DECIMAL);
    out.push(u8::from(crate::expression::decimal::is_negative(d)));
    if let Some((exponent, coefficient)) = d.normalized() {
        out.extend_from_slice(&exponent.to_le_bytes());
        out.extend_from_slice(&coefficient.to_le_bytes());
    }
}

#[inline]
fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn nested(kind: Kind, doc: Doc<'_>, with_names: bool, strings: Strings<'_>, out: &mut Vec<u8>) {
    out.push(kind as u8);
    for element in doc {
        if with_names {
            out.extend_from_slice(element.key);
            out.push(0);
        }
        append(&element.value(), strings, out);
    }
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: Value<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        append(&value, Strings::Bytes, &mut out);
        out
    }

    #[test]
    fn bytes_give_the_key_that_their_value_gives() {
        let values = [
            Value::from("text"),
            Value::from(""),
            Value::Int32(-7),
            Value::Int64(1 << 40),
            Value::Double(0.5),
            Value::Double(-3.0),
            Value::Double(f64::NAN),
            Value::ObjectId([7; 12]),
            Value::Boolean(true),
            Value::DateTime(-5),
            Value::Timestamp(9),
        ];
        for value in values {
            let (mut bytes, mut out) = (Vec::new(), Vec::new());
            value.write_to(&mut bytes);
            assert!(append_bytes(value.kind(), &bytes, &mut out), "{value:?}");
            assert_eq!(out, key(value), "{value:?}");
        }
        assert!(!append_bytes(Kind::Null, &[], &mut Vec::new()));
    }

    fn decimal_of(text: &str) -> Value<'static> {
        Value::Decimal128(crate::expression::decimal::text::parse(text).expect("decimal"))
    }

    #[test]
    fn equal_numbers_of_all_types_have_one_key() {
        assert_eq!(key(Value::Int32(1)), key(Value::Double(1.0)));
        assert_eq!(key(Value::Int64(1)), key(decimal_of("1.00")));
        assert_eq!(key(Value::Double(0.5)), key(decimal_of("0.50")));
        assert_eq!(key(Value::Double(f64::NAN)), key(decimal_of("NaN")));
        assert_eq!(key(Value::Double(-0.0)), key(Value::Int32(0)));
        assert_ne!(key(Value::Double(0.1)), key(decimal_of("0.1")));
        assert_eq!(key(decimal_of("1E+40")), key(decimal_of("10E+39")));
        assert_ne!(key(Value::Null), key(Value::Undefined));
    }
}
