//! The type byte that starts each value of an ordered key; ascending as the types are.
//!
//! The spacing follows MongoDB's KeyString, which leaves room on both sides for what is no value.

use bindery_document::Kind;

pub(super) const MIN_KEY: u8 = 10;
pub(super) const UNDEFINED: u8 = 15;
pub(super) const NULL: u8 = 20;
pub(super) const NAN: u8 = 30;
/// At most -2^63.
pub(super) const NEGATIVE_LARGE: u8 = 31;
/// Minus this is the type byte of a negative number whose integer part takes one byte less.
pub(super) const NEGATIVE_INTEGER_BASE: u8 = 40;
/// Between -1 and 0.
pub(super) const NEGATIVE_SMALL: u8 = 40;
pub(super) const ZERO: u8 = 41;
/// Between 0 and 1.
pub(super) const POSITIVE_SMALL: u8 = 42;
/// Plus the bytes of the integer part is the type byte of a positive number.
pub(super) const POSITIVE_INTEGER_BASE: u8 = 42;
/// At least 2^63.
pub(super) const POSITIVE_LARGE: u8 = 51;
pub(super) const STRING: u8 = 60;
pub(super) const OBJECT: u8 = 70;
pub(super) const ARRAY: u8 = 80;
pub(super) const BINARY: u8 = 90;
pub(super) const OBJECT_ID: u8 = 100;
pub(super) const FALSE: u8 = 110;
pub(super) const TRUE: u8 = 111;
pub(super) const DATE: u8 = 120;
pub(super) const TIMESTAMP: u8 = 130;
pub(super) const REGEX: u8 = 140;
pub(super) const DB_POINTER: u8 = 150;
pub(super) const CODE: u8 = 160;
pub(super) const CODE_WITH_SCOPE: u8 = 170;
pub(super) const MAX_KEY: u8 = 240;

/// The least and the most bytes of an integer part, as type bytes.
pub(super) const NEGATIVE_INTEGERS: std::ops::RangeInclusive<u8> =
    NEGATIVE_INTEGER_BASE - 8..=NEGATIVE_INTEGER_BASE - 1;
pub(super) const POSITIVE_INTEGERS: std::ops::RangeInclusive<u8> =
    POSITIVE_INTEGER_BASE + 1..=POSITIVE_INTEGER_BASE + 8;

/// The byte that stands for a type's rank before a name within an object.
pub(super) fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::MinKey => MIN_KEY,
        Kind::Undefined => UNDEFINED,
        Kind::Null => NULL,
        Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => NAN,
        Kind::String | Kind::Symbol => STRING,
        Kind::Document => OBJECT,
        Kind::Array => ARRAY,
        Kind::Binary => BINARY,
        Kind::ObjectId => OBJECT_ID,
        Kind::Boolean => FALSE,
        Kind::DateTime => DATE,
        Kind::Timestamp => TIMESTAMP,
        Kind::Regex => REGEX,
        Kind::DbPointer => DB_POINTER,
        Kind::JavaScript => CODE,
        Kind::JavaScriptWithScope => CODE_WITH_SCOPE,
        Kind::MaxKey => MAX_KEY,
    }
}
