//! A view of one document's bytes, and the walk over its elements.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | length of the whole document, little-endian, at most 16 MiB when stored |
//! | 4 | n | elements: type byte, key, 0, value |
//! | 4+n | 1 | 0 |
//!
//! Views trust that the bytes were [validated](crate::validate) on the way in. On bytes that were not,
//! every method still returns (a walk ends at the first element that does not hold together).

use std::fmt;

use crate::{Kind, Value};

/// A document or an array, borrowed.
#[derive(Clone, Copy)]
pub struct Doc<'a> {
    bytes: &'a [u8],
}

/// The empty document.
pub const EMPTY: Doc<'static> = Doc { bytes: &[5, 0, 0, 0, 0] };

impl<'a> Doc<'a> {
    /// A view of bytes that were validated before; nothing is checked here.
    #[inline]
    pub fn from_stored(bytes: &'a [u8]) -> Doc<'a> {
        Doc { bytes }
    }

    /// A view of a document of the `bson` crate.
    ///
    /// The crate checks the frame only, so documents from outside still need [`crate::validate`].
    pub fn from_bson(doc: &'a bson::RawDocument) -> Doc<'a> {
        Doc { bytes: doc.as_bytes() }
    }

    /// The document's bytes.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.bytes.len() <= 5
    }

    /// The elements, in order.
    #[inline]
    pub fn iter(self) -> Elements<'a> {
        let end = self.bytes.len().saturating_sub(1);
        Elements { rest: self.bytes.get(4..end).unwrap_or_default() }
    }

    /// The number of elements; walks them.
    pub fn count(self) -> usize {
        self.iter().count()
    }

    /// The number of elements of an array; faster than [`Doc::count`].
    pub fn item_count(self) -> usize {
        self.iter().skip_items(0, usize::MAX)
    }

    /// The first element with this key.
    #[inline]
    pub fn element(self, key: &[u8]) -> Option<Element<'a>> {
        self.iter().find(|e| e.key == key)
    }

    /// The value of the first element with this key.
    #[inline]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.element(key.as_bytes()).map(|e| e.value())
    }

    /// The first element.
    pub fn first(self) -> Option<Element<'a>> {
        self.iter().next()
    }
}

impl fmt::Debug for Doc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|e| (e.key_str(), e.value()))).finish()
    }
}

impl<'a> IntoIterator for Doc<'a> {
    type Item = Element<'a>;
    type IntoIter = Elements<'a>;
    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// One element: key, type, and the value's bytes, not yet decoded.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    /// The key's bytes, without the closing zero.
    pub key: &'a [u8],
    /// The value's type.
    pub kind: Kind,
    /// The value's bytes.
    pub bytes: &'a [u8],
}

impl<'a> Element<'a> {
    /// The key as text.
    pub fn key_str(&self) -> &'a str {
        std::str::from_utf8(self.key).unwrap_or_default()
    }

    /// The value, decoded.
    #[inline]
    pub fn value(&self) -> Value<'a> {
        // Sizes were found by the walk; only malformed bytes that were never validated fail here.
        Value::decode(self.kind, self.bytes).unwrap_or(Value::Null)
    }
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.key_str(), self.value())
    }
}

/// The walk over a document's elements.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The bytes of the elements not yet walked.
    #[inline]
    pub fn remaining(&self) -> &'a [u8] {
        self.rest
    }

    /// Passes over elements of an array, `count` of them or as many as there are; tells how many. Much faster
    /// than [`Iterator::nth`] where the keys are the indexes from `first` on, as they are in a sound array.
    pub fn skip_items(&mut self, first: usize, count: usize) -> usize {
        let mut digits = decimal_digits(first);
        // The index at which keys become longer.
        let mut longer_at = 10usize.saturating_pow(digits as u32);
        for passed in 0..count {
            if first + passed == longer_at {
                digits += 1;
                longer_at = longer_at.saturating_mul(10);
            }
            if self.skip_item(digits).is_none() && self.next().is_none() {
                return passed;
            }
        }
        count
    }

    /// Passes over one element whose key has this length; does nothing if it has another.
    #[inline]
    fn skip_item(&mut self, key_length: usize) -> Option<()> {
        let (&type_byte, after_type) = self.rest.split_first()?;
        let kind = Kind::from_byte(type_byte)?;
        // Keys are digits: the first zero byte ends them.
        if *after_type.get(key_length)? != 0 || after_type[key_length - 1] == 0 {
            return None;
        }
        let value = &after_type[key_length + 1..];
        let size = value_size(kind, value)?;
        self.rest = value.get(size..)?;
        Some(())
    }

    /// The bytes of the elements between an earlier state of this walk, known by what
    /// [remained](Elements::remaining) then, and the present one.
    #[inline]
    pub fn run_since(&self, earlier: &'a [u8]) -> &'a [u8] {
        let length = earlier.len().saturating_sub(self.rest.len());
        earlier.get(..length).unwrap_or_default()
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let (&type_byte, after_type) = self.rest.split_first()?;
        let kind = Kind::from_byte(type_byte)?;
        // Keys are short: a plain loop beats a call to memchr.
        let key_end = after_type.iter().position(|&b| b == 0)?;
        let (key, value_and_more) = (&after_type[..key_end], &after_type[key_end + 1..]);
        let size = value_size(kind, value_and_more)?;
        if size > value_and_more.len() {
            self.rest = &[];
            return None;
        }
        let (bytes, rest) = value_and_more.split_at(size);
        self.rest = rest;
        Some(Element { key, kind, bytes })
    }
}

/// A set bit in the lowest byte that is zero (and none below it); zero if no byte is. As in Warren's
/// "Hacker's Delight", section 6-1.
#[inline]
pub(crate) fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

/// Sizes by type byte; [`VARIABLE`] where the value tells its size, [`UNKNOWN`] for bytes that are no type.
static SIZES: [u8; 256] = {
    let mut sizes = [UNKNOWN; 256];
    let mut at = 0;
    while at < Kind::ALL.len() {
        let kind = Kind::ALL[at];
        sizes[kind as usize] = match kind {
            Kind::Double | Kind::DateTime | Kind::Timestamp | Kind::Int64 => 8,
            Kind::Int32 => 4,
            Kind::Boolean => 1,
            Kind::ObjectId => 12,
            Kind::Decimal128 => 16,
            Kind::Null | Kind::Undefined | Kind::MinKey | Kind::MaxKey => 0,
            _ => VARIABLE,
        };
        at += 1;
    }
    sizes
};

const VARIABLE: u8 = 254;
const UNKNOWN: u8 = 255;

/// As [`value_size`], by type byte: a table instead of a choice for each value passed over.
#[inline]
pub(crate) fn stored_size(type_byte: u8, bytes: &[u8]) -> Option<usize> {
    match SIZES[type_byte as usize] {
        UNKNOWN => None,
        VARIABLE => value_size(Kind::from_byte(type_byte)?, bytes),
        size => Some(size as usize),
    }
}

/// The length of a number in decimal.
fn decimal_digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The size of a value of this kind that starts at `bytes`; `None` if the bytes end too early.
#[inline]
pub(crate) fn value_size(kind: Kind, bytes: &[u8]) -> Option<usize> {
    let length = |extra: usize| -> Option<usize> {
        let prefix: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
        (u32::from_le_bytes(prefix) as usize).checked_add(extra)
    };
    match kind {
        Kind::Double | Kind::DateTime | Kind::Timestamp | Kind::Int64 => Some(8),
        Kind::Int32 => Some(4),
        Kind::Boolean => Some(1),
        Kind::ObjectId => Some(12),
        Kind::Decimal128 => Some(16),
        Kind::Null | Kind::Undefined | Kind::MinKey | Kind::MaxKey => Some(0),
        Kind::String | Kind::JavaScript | Kind::Symbol => length(4),
        Kind::Document | Kind::Array | Kind::JavaScriptWithScope => length(0),
        Kind::Binary => length(5),
        Kind::DbPointer => length(16),
        Kind::Regex => {
            let pattern = bytes.iter().position(|&b| b == 0)?;
            let options = bytes[pattern + 1..].iter().position(|&b| b == 0)?;
            Some(pattern + options + 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Builder, DocBuf};

    fn array(count: usize) -> DocBuf {
        let mut out = Builder::new();
        for i in 0..count {
            if i % 3 == 0 {
                out.append_index(i, i as i32);
            } else {
                out.append_index(i, "text");
            }
        }
        out.finish()
    }

    #[test]
    fn items_are_passed_over_as_by_the_plain_walk() {
        for count in [0, 1, 2, 9, 10, 11, 99, 100, 101, 1001] {
            let array = array(count);
            assert_eq!(array.doc().item_count(), count);
            for skipped in [0, 1, 5, 10, 99, 1000, 2000] {
                let (mut fast, mut plain) = (array.doc().iter(), array.doc().iter());
                assert_eq!(fast.skip_items(0, skipped), skipped.min(count));
                (&mut plain).take(skipped).for_each(drop);
                assert_eq!(fast.remaining(), plain.remaining());
                let index = skipped.min(count);
                assert_eq!(fast.skip_items(index, 3), plain.take(3).count());
            }
        }
    }

    #[test]
    fn arrays_with_other_keys_are_counted_too() {
        let mut out = Builder::new();
        for key in ["", "x", "0", "12345", "a"] {
            out.append(key, 1);
        }
        assert_eq!(out.finish().doc().item_count(), 5);
    }
}
