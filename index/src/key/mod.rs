//! Ordered keys: one byte string per index key whose `memcmp` order is MongoDB's order of values.
//!
//! The law: for values `a`, `b` and the bytes `k(a)`, `k(b)` that [`KeyBuilder::append`] makes of them,
//! `k(a).cmp(&k(b)) == order::compare(a, b)`; a descending field has all its bytes inverted. Fields of a
//! compound key follow each other without separators: each one announces its own end, so no field's
//! bytes are a prefix of another value's. What comparison cannot see (was it 1, 1.0 or
//! `NumberDecimal("1.0")`?) goes into [type bits](KeyBuilder::type_bits) beside the key, and
//! [`KeyDecoder`] needs both to give the values back exactly.
//!
//! | value | bytes after the type byte |
//! |---|---|
//! | `MinKey`, undefined, null, NaN, zero, false, true, `MaxKey` | none |
//! | integer part of 1 to 2^63 - 1 | n bytes, 1 to 8, of `magnitude << 1`; the low bit says that a fraction follows ([`number`]) |
//! | other numbers | 8 bytes, see [`number`] |
//! | string, symbol, code | text with 00 written as 01 01 and 01 as 01 02, then 00 |
//! | object | for each element: rank of its type, name, 00, value; then 00 |
//! | array | the elements' values, then 00 |
//! | binary | stored length (1 byte, or FF and 4 bytes; subtype 2 counts its inner length), subtype, content |
//! | `ObjectId` / date / timestamp | 12 / 8 / 8 bytes |
//! | regular expression | pattern, 00, options, 00 |
//! | `DBPointer` | length of the namespace (4 bytes), namespace, 12 bytes |
//! | code with scope | code as above, scope as an object |
//!
//! Type bytes lie in 0A to F0, so neither they nor their inversions are FF; a [`RecordId`](crate::RecordId)
//! never starts with FF either. So a key's prefix with FF behind it lies above all keys that it starts,
//! and the bare prefix below them: these are the two [`Place`]s of a bound.
//!
//! Example: `{a: 300, b: "x"}` under `{a: 1, b: -1}` is `2C 02 58` (two bytes of 300 << 1), then
//! `C3 87 FF` (string, `x`, end, all inverted).
//!
//! Relies on `bindery_document::order` for what the order is. Which values make up a document's keys is
//! the business of [`keygen`](crate::keygen).

mod builder;
mod decode;
mod fields;
mod hash;
mod marker;
pub mod number;
mod record_id;
#[cfg(test)]
mod tests;
mod type_bits;

pub use builder::{Collator, KeyBuilder, Mark, Place};
pub use decode::{KeyDecoder, decode, decode_document};
pub use fields::{field_end, prefix_end};
pub use hash::hash_value;
pub use record_id::{MAX_RECORD_ID_BYTES, record_id, split_record_id};

use std::fmt;

/// The most fields that an index may have; MongoDB's limit.
pub const MAX_FIELDS: usize = 32;

/// Whether a field ascends or descends in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Least value first.
    Ascending,
    /// Greatest value first.
    Descending,
}

impl Direction {
    /// The other one.
    pub fn reverse(self) -> Direction {
        match self {
            Direction::Ascending => Direction::Descending,
            Direction::Descending => Direction::Ascending,
        }
    }

    /// What each byte of the field is XORed with.
    #[inline]
    pub(crate) fn mask(self) -> u8 {
        match self {
            Direction::Ascending => 0,
            Direction::Descending => 0xFF,
        }
    }
}

/// The direction of each field of a compound key, at most [`MAX_FIELDS`] of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Directions {
    descending: u32,
}

impl Directions {
    /// Every field ascends.
    pub const ASCENDING: Directions = Directions { descending: 0 };

    /// The direction of the field at this position; positions past [`MAX_FIELDS`] ascend.
    #[inline]
    pub fn of(self, field: usize) -> Direction {
        if field < MAX_FIELDS && self.descending >> field & 1 == 1 {
            Direction::Descending
        } else {
            Direction::Ascending
        }
    }

    /// Sets the direction of one field; positions past [`MAX_FIELDS`] are ignored.
    pub fn set(&mut self, field: usize, direction: Direction) {
        if field < MAX_FIELDS {
            let bit = 1u32 << field;
            match direction {
                Direction::Ascending => self.descending &= !bit,
                Direction::Descending => self.descending |= bit,
            }
        }
    }
}

impl FromIterator<Direction> for Directions {
    fn from_iter<I: IntoIterator<Item = Direction>>(iter: I) -> Directions {
        let mut directions = Directions::ASCENDING;
        for (field, direction) in iter.into_iter().enumerate() {
            directions.set(field, direction);
        }
        directions
    }
}

/// Bytes that no [`KeyBuilder`] wrote, found at this offset of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptKey {
    /// Offset of the first byte that makes no sense (or is missing).
    pub offset: usize,
}

impl fmt::Display for CorruptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "corrupt index key at offset {}", self.offset)
    }
}

impl std::error::Error for CorruptKey {}
