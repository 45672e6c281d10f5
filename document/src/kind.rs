//! BSON types: their bytes, names and places in the total order.
//!
//! Sources: the BSON specification 1.1 (type bytes), MongoDB's manual, "Comparison/Sort Order" and
//! "$type" (names and order).

/// The type of a BSON value; the discriminant is the byte that BSON uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// 64-bit IEEE 754 number.
    Double = 0x01,
    /// UTF-8 string.
    String = 0x02,
    /// Embedded document.
    Document = 0x03,
    /// Array.
    Array = 0x04,
    /// Bytes with a subtype.
    Binary = 0x05,
    /// Deprecated `undefined`.
    Undefined = 0x06,
    /// Twelve-byte identifier.
    ObjectId = 0x07,
    /// `true` or `false`.
    Boolean = 0x08,
    /// Milliseconds since the epoch.
    DateTime = 0x09,
    /// `null`.
    Null = 0x0A,
    /// Regular expression.
    Regex = 0x0B,
    /// Deprecated reference.
    DbPointer = 0x0C,
    /// JavaScript code.
    JavaScript = 0x0D,
    /// Deprecated symbol.
    Symbol = 0x0E,
    /// JavaScript code with a scope.
    JavaScriptWithScope = 0x0F,
    /// 32-bit integer.
    Int32 = 0x10,
    /// Seconds and increment.
    Timestamp = 0x11,
    /// 64-bit integer.
    Int64 = 0x12,
    /// 128-bit decimal number.
    Decimal128 = 0x13,
    /// Above all other values.
    MaxKey = 0x7F,
    /// Below all other values.
    MinKey = 0xFF,
}

impl Kind {
    /// All kinds, in the order of their bytes.
    pub const ALL: [Kind; 21] = [
        Kind::Double,
        Kind::String,
        Kind::Document,
        Kind::Array,
        Kind::Binary,
        Kind::Undefined,
        Kind::ObjectId,
        Kind::Boolean,
        Kind::DateTime,
        Kind::Null,
        Kind::Regex,
        Kind::DbPointer,
        Kind::JavaScript,
        Kind::Symbol,
        Kind::JavaScriptWithScope,
        Kind::Int32,
        Kind::Timestamp,
        Kind::Int64,
        Kind::Decimal128,
        Kind::MaxKey,
        Kind::MinKey,
    ];

    /// The kind that a type byte stands for, or `None` for a byte that BSON does not use.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            0x01 => Kind::Double,
            0x02 => Kind::String,
            0x03 => Kind::Document,
            0x04 => Kind::Array,
            0x05 => Kind::Binary,
            0x06 => Kind::Undefined,
            0x07 => Kind::ObjectId,
            0x08 => Kind::Boolean,
            0x09 => Kind::DateTime,
            0x0A => Kind::Null,
            0x0B => Kind::Regex,
            0x0C => Kind::DbPointer,
            0x0D => Kind::JavaScript,
            0x0E => Kind::Symbol,
            0x0F => Kind::JavaScriptWithScope,
            0x10 => Kind::Int32,
            0x11 => Kind::Timestamp,
            0x12 => Kind::Int64,
            0x13 => Kind::Decimal128,
            0x7F => Kind::MaxKey,
            0xFF => Kind::MinKey,
            _ => return None,
        })
    }

    /// The number that `$type` knows the kind by: the BSON byte, -1 for `MinKey`.
    pub fn number(self) -> i32 {
        match self {
            Kind::MinKey => -1,
            other => i32::from(other as u8),
        }
    }

    /// The name that `$type` knows the kind by, such as `"int"`.
    pub fn alias(self) -> &'static str {
        match self {
            Kind::Double => "double",
            Kind::String => "string",
            Kind::Document => "object",
            Kind::Array => "array",
            Kind::Binary => "binData",
            Kind::Undefined => "undefined",
            Kind::ObjectId => "objectId",
            Kind::Boolean => "bool",
            Kind::DateTime => "date",
            Kind::Null => "null",
            Kind::Regex => "regex",
            Kind::DbPointer => "dbPointer",
            Kind::JavaScript => "javascript",
            Kind::Symbol => "symbol",
            Kind::JavaScriptWithScope => "javascriptWithScope",
            Kind::Int32 => "int",
            Kind::Timestamp => "timestamp",
            Kind::Int64 => "long",
            Kind::Decimal128 => "decimal",
            Kind::MaxKey => "maxKey",
            Kind::MinKey => "minKey",
        }
    }

    /// The place of the kind in MongoDB's order of types; kinds of equal rank are compared by value.
    #[inline]
    pub fn rank(self) -> u8 {
        match self {
            Kind::MinKey => 0,
            Kind::Undefined => 1,
            Kind::Null => 2,
            Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => 3,
            Kind::String | Kind::Symbol => 4,
            Kind::Document => 5,
            Kind::Array => 6,
            Kind::Binary => 7,
            Kind::ObjectId => 8,
            Kind::Boolean => 9,
            Kind::DateTime => 10,
            Kind::Timestamp => 11,
            Kind::Regex => 12,
            Kind::DbPointer => 13,
            Kind::JavaScript => 14,
            Kind::JavaScriptWithScope => 15,
            Kind::MaxKey => 16,
        }
    }

    /// Whether the kind is one of the four number types.
    #[inline]
    pub fn is_number(self) -> bool {
        matches!(self, Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128)
    }
}
