//! What an expression evaluates to: nothing, a value borrowed from the document, or one that was made.

use bindery_document::{DocBuf, Kind, OwnedValue, Text, Value};

/// The result of evaluating an expression.
///
/// Scalars and everything read from a document, a constant or a variable are borrowed and cost no
/// allocation; computed strings, arrays and documents own their bytes. Missing is not null: a missing
/// result leaves its field out.
#[derive(Clone, Debug)]
pub enum Val<'a> {
    /// No value.
    Missing,
    /// A value that lives elsewhere, or a scalar.
    Value(Value<'a>),
    /// A computed string (UTF-8).
    Text(Box<[u8]>),
    /// A computed document.
    Document(DocBuf),
    /// A computed array.
    Array(DocBuf),
    /// Any other computed value that needs bytes of its own.
    Owned(OwnedValue),
}

impl<'a> Val<'a> {
    /// Null.
    pub const NULL: Val<'static> = Val::Value(Value::Null);

    /// The value, or `None` if it is missing.
    #[inline]
    pub fn get(&self) -> Option<Value<'_>> {
        Some(match self {
            Val::Missing => return None,
            Val::Value(value) => *value,
            Val::Text(bytes) => Value::String(Text(bytes)),
            Val::Document(buffer) => Value::Document(buffer.doc()),
            Val::Array(buffer) => Value::Array(buffer.doc()),
            Val::Owned(value) => value.value(),
        })
    }

    /// The value, with null for a missing one.
    #[inline]
    pub fn or_null(&self) -> Value<'_> {
        self.get().unwrap_or(Value::Null)
    }

    /// Whether it is missing, null or undefined: what most operators answer with null.
    #[inline]
    pub fn is_nullish(&self) -> bool {
        matches!(self, Val::Missing | Val::Value(Value::Null | Value::Undefined))
            || matches!(self, Val::Owned(v) if matches!(v.kind(), Kind::Null | Kind::Undefined))
    }

    /// Whether it is missing.
    #[inline]
    pub fn is_missing(&self) -> bool {
        matches!(self, Val::Missing)
    }

    /// Truth: missing, null, undefined, false and zero are false, all else is true.
    #[inline]
    pub fn is_truthy(&self) -> bool {
        self.get().is_some_and(|value| value.is_truthy())
    }

    /// A copy of the value, if there is one.
    pub fn to_owned_value(&self) -> Option<OwnedValue> {
        self.get().map(OwnedValue::new)
    }

    /// The same value, borrowing nothing.
    pub fn detach(self) -> Val<'static> {
        match self {
            Val::Missing => Val::Missing,
            Val::Value(value) => Val::copy_of(value),
            Val::Text(bytes) => Val::Text(bytes),
            Val::Document(buffer) => Val::Document(buffer),
            Val::Array(buffer) => Val::Array(buffer),
            Val::Owned(value) => Val::Owned(value),
        }
    }

    /// A copy of a value; scalars need no memory.
    pub fn copy_of(value: Value<'_>) -> Val<'static> {
        Val::Value(match value {
            Value::Double(x) => Value::Double(x),
            Value::Int32(x) => Value::Int32(x),
            Value::Int64(x) => Value::Int64(x),
            Value::Decimal128(x) => Value::Decimal128(x),
            Value::Boolean(x) => Value::Boolean(x),
            Value::DateTime(x) => Value::DateTime(x),
            Value::Timestamp(x) => Value::Timestamp(x),
            Value::ObjectId(x) => Value::ObjectId(x),
            Value::Null => Value::Null,
            Value::Undefined => Value::Undefined,
            Value::MinKey => Value::MinKey,
            Value::MaxKey => Value::MaxKey,
            Value::String(text) => return Val::Text(text.as_bytes().into()),
            Value::Document(doc) => return Val::Document(DocBuf::from(doc)),
            Value::Array(doc) => return Val::Array(DocBuf::from(doc)),
            other => return Val::Owned(OwnedValue::new(other)),
        })
    }

    /// A part of the value, found by `find`: borrowed if the value is, copied if the value is computed.
    pub fn select(self, find: impl for<'b> Fn(Value<'b>) -> Option<Value<'b>>) -> Val<'a> {
        match self {
            Val::Missing => Val::Missing,
            Val::Value(value) => Val::from(find(value)),
            owned => owned.get().and_then(find).map_or(Val::Missing, Val::copy_of),
        }
    }
}

macro_rules! from_scalars {
    ($($scalar:ty),*) => {
        $(impl From<$scalar> for Val<'_> {
            #[inline]
            fn from(value: $scalar) -> Self {
                Val::Value(value.into())
            }
        })*
    };
}

from_scalars!(bool, i32, i64, f64, super::number::Number);

impl<'a> From<Value<'a>> for Val<'a> {
    #[inline]
    fn from(value: Value<'a>) -> Val<'a> {
        Val::Value(value)
    }
}

impl<'a> From<Option<Value<'a>>> for Val<'a> {
    #[inline]
    fn from(value: Option<Value<'a>>) -> Val<'a> {
        value.map_or(Val::Missing, Val::Value)
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Val::Text(text.into_bytes().into_boxed_slice())
    }
}
