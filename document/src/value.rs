//! One BSON value, borrowed from the bytes that hold it.

use std::fmt;

use crate::{Decimal, Doc, Kind};

/// The bytes of a BSON string: UTF-8, as checked when the document came in.
///
/// Comparison, equality and hashing work on bytes; [`Text::as_str`] checks again before it calls
/// them text, so that no `unsafe` is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    /// The text; empty if the bytes are no UTF-8, which a validated document rules out.
    #[inline]
    pub fn as_str(self) -> &'a str {
        std::str::from_utf8(self.0).unwrap_or_default()
    }
    /// The bytes.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Text<'a> {
        Text(text.as_bytes())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.0), f)
    }
}

/// A BSON value. Scalars are decoded, everything else borrows; copying one is copying three words.
///
/// There is no `PartialEq`: equality is a matter of the question asked. [`crate::order::compare`]
/// gives MongoDB's order (1 = 1.0), [`Value::is_identical`] a client's equality (1 is not 1.0).
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// 64-bit IEEE 754 number.
    Double(f64),
    /// UTF-8 string.
    String(Text<'a>),
    /// Embedded document.
    Document(Doc<'a>),
    /// Array: a document whose keys are `"0"`, `"1"`, ...
    Array(Doc<'a>),
    /// Bytes with a subtype.
    Binary {
        /// The subtype byte.
        subtype: u8,
        /// The content (for subtype 2 without its inner length).
        bytes: &'a [u8],
    },
    /// Deprecated `undefined`.
    Undefined,
    /// Twelve-byte identifier.
    ObjectId([u8; 12]),
    /// `true` or `false`.
    Boolean(bool),
    /// Milliseconds since the epoch.
    DateTime(i64),
    /// `null`.
    Null,
    /// Regular expression.
    Regex {
        /// The pattern.
        pattern: Text<'a>,
        /// The option letters.
        options: Text<'a>,
    },
    /// Deprecated reference.
    DbPointer {
        /// Namespace referred to.
        namespace: Text<'a>,
        /// Identifier referred to.
        id: [u8; 12],
    },
    /// JavaScript code.
    JavaScript(Text<'a>),
    /// Deprecated symbol.
    Symbol(Text<'a>),
    /// JavaScript code with a scope.
    JavaScriptWithScope {
        /// The code.
        code: Text<'a>,
        /// The variables in scope.
        scope: Doc<'a>,
    },
    /// 32-bit integer.
    Int32(i32),
    /// Seconds and increment, as the upper and the lower half of one number.
    Timestamp(u64),
    /// 64-bit integer.
    Int64(i64),
    /// 128-bit decimal number.
    Decimal128(Decimal),
    /// Above all other values.
    MaxKey,
    /// Below all other values.
    MinKey,
}

impl<'a> Value<'a> {
    /// Decodes the value bytes of an element of this kind; `None` if they are malformed.
    #[inline]
    pub fn decode(kind: Kind, bytes: &'a [u8]) -> Option<Value<'a>> {
        Some(match kind {
            Kind::Double => Value::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
            Kind::String => Value::String(text(bytes)?),
            Kind::Document => Value::Document(Doc::from_stored(bytes)),
            Kind::Array => Value::Array(Doc::from_stored(bytes)),
            Kind::Binary => {
                let subtype = *bytes.get(4)?;
                let content = bytes.get(5..)?;
                // The old binary subtype repeats the length inside.
                let content = if subtype == 2 { content.get(4..)? } else { content };
                Value::Binary { subtype, bytes: content }
            }
            Kind::Undefined => Value::Undefined,
            Kind::ObjectId => Value::ObjectId(bytes.try_into().ok()?),
            Kind::Boolean => Value::Boolean(*bytes.first()? != 0),
            Kind::DateTime => Value::DateTime(i64::from_le_bytes(bytes.try_into().ok()?)),
            Kind::Null => Value::Null,
            Kind::Regex => {
                let end = bytes.iter().position(|&b| b == 0)?;
                let options = bytes.get(end + 1..bytes.len().checked_sub(1)?)?;
                Value::Regex { pattern: Text(&bytes[..end]), options: Text(options) }
            }
            Kind::DbPointer => {
                let split = bytes.len().checked_sub(12)?;
                Value::DbPointer { namespace: text(bytes.get(..split)?)?, id: bytes[split..].try_into().ok()? }
            }
            Kind::JavaScript => Value::JavaScript(text(bytes)?),
            Kind::Symbol => Value::Symbol(text(bytes)?),
            Kind::JavaScriptWithScope => {
                let rest = bytes.get(4..)?;
                let length = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize;
                let code = text(rest.get(..length.checked_add(4)?)?)?;
                Value::JavaScriptWithScope { code, scope: Doc::from_stored(&rest[length + 4..]) }
            }
            Kind::Int32 => Value::Int32(i32::from_le_bytes(bytes.try_into().ok()?)),
            Kind::Timestamp => Value::Timestamp(u64::from_le_bytes(bytes.try_into().ok()?)),
            Kind::Int64 => Value::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
            Kind::Decimal128 => Value::Decimal128(Decimal::from_bytes(bytes.try_into().ok()?)),
            Kind::MaxKey => Value::MaxKey,
            Kind::MinKey => Value::MinKey,
        })
    }

    /// The value's type.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self {
            Value::Double(_) => Kind::Double,
            Value::String(_) => Kind::String,
            Value::Document(_) => Kind::Document,
            Value::Array(_) => Kind::Array,
            Value::Binary { .. } => Kind::Binary,
            Value::Undefined => Kind::Undefined,
            Value::ObjectId(_) => Kind::ObjectId,
            Value::Boolean(_) => Kind::Boolean,
            Value::DateTime(_) => Kind::DateTime,
            Value::Null => Kind::Null,
            Value::Regex { .. } => Kind::Regex,
            Value::DbPointer { .. } => Kind::DbPointer,
            Value::JavaScript(_) => Kind::JavaScript,
            Value::Symbol(_) => Kind::Symbol,
            Value::JavaScriptWithScope { .. } => Kind::JavaScriptWithScope,
            Value::Int32(_) => Kind::Int32,
            Value::Timestamp(_) => Kind::Timestamp,
            Value::Int64(_) => Kind::Int64,
            Value::Decimal128(_) => Kind::Decimal128,
            Value::MaxKey => Kind::MaxKey,
            Value::MinKey => Kind::MinKey,
        }
    }

    /// A string's text.
    pub fn as_str(&self) -> Option<&'a str> {
        match self {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// An embedded document.
    pub fn as_document(&self) -> Option<Doc<'a>> {
        match self {
            Value::Document(doc) => Some(*doc),
            _ => None,
        }
    }

    /// An array's elements, as a document with index keys.
    pub fn as_array(&self) -> Option<Doc<'a>> {
        match self {
            Value::Array(doc) => Some(*doc),
            _ => None,
        }
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(b) => Some(*b),
            _ => None,
        }
    }

    /// A number that is an integer of 64 bits, whatever its type; `None` for fractions, NaN, other types.
    pub fn as_exact_i64(&self) -> Option<i64> {
        match self {
            Value::Int32(n) => Some(i64::from(*n)),
            Value::Int64(n) => Some(*n),
            Value::Double(d) => {
                // 2^63 itself is out of range; every double below it with no fraction converts exactly.
                (d.fract() == 0.0 && *d >= -9_223_372_036_854_775_808.0 && *d < 9_223_372_036_854_775_808.0)
                    .then_some(*d as i64)
            }
            Value::Decimal128(d) => d.as_exact_i64(),
            _ => None,
        }
    }

    /// A number as the nearest double; `None` for what is no number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int32(n) => Some(f64::from(*n)),
            Value::Int64(n) => Some(*n as f64),
            Value::Double(d) => Some(*d),
            Value::Decimal128(d) => Some(d.to_f64()),
            _ => None,
        }
    }

    /// Truth as MongoDB's commands and expressions see it: false, null, undefined and zero are false.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Boolean(b) => *b,
            Value::Null | Value::Undefined => false,
            Value::Int32(n) => *n != 0,
            Value::Int64(n) => *n != 0,
            Value::Double(d) => *d != 0.0,
            Value::Decimal128(d) => !d.is_zero(),
            _ => true,
        }
    }

    /// Whether two values are the same bytes: same type, same value, same field order.
    pub fn is_identical(&self, other: &Value<'_>) -> bool {
        if self.kind() != other.kind() {
            return false;
        }
        let mut a = Vec::new();
        let mut b = Vec::new();
        self.write_to(&mut a);
        other.write_to(&mut b);
        a == b
    }

    /// Appends the value's BSON bytes (without type byte and key).
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Value::Double(d) => out.extend_from_slice(&d.to_le_bytes()),
            Value::String(t) | Value::JavaScript(t) | Value::Symbol(t) => write_text(*t, out),
            Value::Document(d) | Value::Array(d) => out.extend_from_slice(d.as_bytes()),
            Value::Binary { subtype, bytes } => {
                let length = bytes.len() as u32;
                if *subtype == 2 {
                    out.extend_from_slice(&(length + 4).to_le_bytes());
                    out.push(2);
                    out.extend_from_slice(&length.to_le_bytes());
                } else {
                    out.extend_from_slice(&length.to_le_bytes());
                    out.push(*subtype);
                }
                out.extend_from_slice(bytes);
            }
            Value::Undefined | Value::Null | Value::MaxKey | Value::MinKey => {}
            Value::ObjectId(id) => out.extend_from_slice(id),
            Value::Boolean(b) => out.push(u8::from(*b)),
            Value::DateTime(ms) => out.extend_from_slice(&ms.to_le_bytes()),
            Value::Regex { pattern, options } => {
                out.extend_from_slice(pattern.0);
                out.push(0);
                out.extend_from_slice(options.0);
                out.push(0);
            }
            Value::DbPointer { namespace, id } => {
                write_text(*namespace, out);
                out.extend_from_slice(id);
            }
            Value::JavaScriptWithScope { code, scope } => {
                let length = 4 + 4 + code.0.len() + 1 + scope.as_bytes().len();
                out.extend_from_slice(&(length as u32).to_le_bytes());
                write_text(*code, out);
                out.extend_from_slice(scope.as_bytes());
            }
            Value::Int32(n) => out.extend_from_slice(&n.to_le_bytes()),
            Value::Timestamp(t) => out.extend_from_slice(&t.to_le_bytes()),
            Value::Int64(n) => out.extend_from_slice(&n.to_le_bytes()),
            Value::Decimal128(d) => out.extend_from_slice(&d.to_bytes()),
        }
    }
}

/// Length-prefixed, zero-terminated text.
fn text(bytes: &[u8]) -> Option<Text<'_>> {
    bytes.get(4..bytes.len().checked_sub(1)?).map(Text)
}

fn write_text(text: Text<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.0.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(text.0);
    out.push(0);
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Value<'a> {
        Value::String(Text::from(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(b: bool) -> Self {
        Value::Boolean(b)
    }
}

impl From<i32> for Value<'_> {
    fn from(n: i32) -> Self {
        Value::Int32(n)
    }
}

impl From<i64> for Value<'_> {
    fn from(n: i64) -> Self {
        Value::Int64(n)
    }
}

impl From<f64> for Value<'_> {
    fn from(d: f64) -> Self {
        Value::Double(d)
    }
}

/// A value that owns its bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnedValue {
    kind: Kind,
    bytes: Box<[u8]>,
}

impl OwnedValue {
    /// A copy of the value.
    pub fn new(value: Value<'_>) -> OwnedValue {
        let mut bytes = Vec::new();
        value.write_to(&mut bytes);
        OwnedValue { kind: value.kind(), bytes: bytes.into_boxed_slice() }
    }

    /// Takes a copy of another value instead, in the same memory if it is as long.
    pub fn set(&mut self, value: Value<'_>) {
        let mut bytes = std::mem::take(&mut self.bytes).into_vec();
        bytes.clear();
        value.write_to(&mut bytes);
        self.kind = value.kind();
        self.bytes = bytes.into_boxed_slice();
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        // Written by `write_to`, so it decodes.
        Value::decode(self.kind, &self.bytes).unwrap_or(Value::Null)
    }

    /// The value's type.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The value's bytes, as in [`crate::Element::bytes`].
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> OwnedValue {
        OwnedValue::new(value)
    }
}

impl fmt::Debug for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.value(), f)
    }
}
