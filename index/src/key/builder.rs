//! Writing ordered keys.

use bindery_document::{Doc, Text, Value};

use super::type_bits::TypeBits;
use super::{Direction, marker, number};

/// Gives strings the bytes by which a collation orders them.
///
/// Closures `Fn(&[u8], &mut Vec<u8>)` are collators. Keys made with one cannot give their strings back.
pub trait Collator {
    /// Appends the sort key of a UTF-8 text: bytes whose order is the collation's.
    fn append_sort_key(&self, text: &[u8], out: &mut Vec<u8>);
}

impl<F: Fn(&[u8], &mut Vec<u8>)> Collator for F {
    fn append_sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        self(text, out);
    }
}

/// Where a bound lies beside all the keys that start with the fields appended so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Below all of them: an inclusive lower or an exclusive upper bound.
    Before,
    /// Above all of them: an exclusive lower or an inclusive upper bound.
    After,
}

/// A position in a [`KeyBuilder`] to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    bytes: usize,
    bits: usize,
}

/// Builds ordered keys, entries and bounds in one buffer; cleared and used again, it does not allocate.
///
/// ```
/// use bindery_document::Value;
/// use bindery_index::RecordId;
/// use bindery_index::key::{Direction, KeyBuilder};
/// let mut key = KeyBuilder::new();
/// key.append(&Value::Int32(300), Direction::Ascending);
/// key.append(&Value::from("x"), Direction::Descending);
/// assert_eq!(key.as_bytes(), [0x2C, 0x02, 0x58, 0xC3, 0x87, 0xFF]);
/// assert!(key.type_bits().is_empty());
/// key.append_record_id(RecordId(7));
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyBuilder {
    bytes: Vec<u8>,
    bits: TypeBits,
    met_collated_symbol: bool,
}

impl KeyBuilder {
    /// An empty key.
    pub fn new() -> KeyBuilder {
        KeyBuilder::default()
    }

    /// Forgets the key, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bits.clear();
    }

    /// Whether a symbol was appended under a collation since this was last asked. MongoDB has no such keys.
    pub(crate) fn take_met_collated_symbol(&mut self) -> bool {
        std::mem::take(&mut self.met_collated_symbol)
    }

    /// Appends a field.
    #[inline]
    pub fn append(&mut self, value: &Value<'_>, direction: Direction) {
        self.append_field(value, direction, None);
    }

    /// Appends a field whose strings (nested ones and symbols too) are ordered by a collation.
    pub fn append_collated(&mut self, value: &Value<'_>, direction: Direction, collator: &dyn Collator) {
        self.append_field(value, direction, Some(collator));
    }

    /// Appends fields as another key holds them, such as the prefix up to [`super::prefix_end`].
    /// Their type bits do not come along: this is for bounds.
    pub fn append_encoded(&mut self, fields: &[u8]) {
        self.bytes.extend_from_slice(fields);
    }

    /// Makes a bound of the fields appended so far. Nothing may be appended afterwards.
    #[inline]
    pub fn end(&mut self, place: Place) {
        // Nothing that continues a key starts with FF, and a prefix is below all that it starts.
        if place == Place::After {
            self.bytes.push(0xFF);
        }
    }

    /// The key's bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The type bits; empty for the common types.
    #[inline]
    pub fn type_bits(&self) -> &[u8] {
        self.bits.as_bytes()
    }

    /// The present end, to come back to.
    pub fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), bits: self.bits.len() }
    }

    /// Takes back all that was appended since the mark.
    pub fn rewind(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.bits.truncate(mark.bits);
    }

    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    #[inline]
    pub(crate) fn append_field(&mut self, value: &Value<'_>, direction: Direction, collator: Option<&dyn Collator>) {
        let start = self.bytes.len();
        self.value(value, collator);
        if direction == Direction::Descending {
            invert(&mut self.bytes, start);
        }
    }

    /// Appends an ascending value.
    fn value(&mut self, value: &Value<'_>, collator: Option<&dyn Collator>) {
        match *value {
            Value::Int32(n) => {
                self.bits.push(number::INT32, 2);
                number::append_integer(i64::from(n), &mut self.bytes);
            }
            Value::Int64(n) => {
                self.bits.push(number::INT64, 2);
                number::append_integer(n, &mut self.bytes);
            }
            Value::Double(d) => number::append_double(d, &mut self.bytes, &mut self.bits),
            Value::Decimal128(d) => number::append_decimal(d, &mut self.bytes, &mut self.bits),
            Value::String(text) => {
                self.bits.push(0, 1);
                self.string(text, collator);
            }
            Value::Symbol(text) => {
                self.bits.push(1, 1);
                self.met_collated_symbol |= collator.is_some();
                self.string(text, collator);
            }
            Value::ObjectId(id) => {
                let mut bytes = [marker::OBJECT_ID; 13];
                bytes[1..].copy_from_slice(&id);
                self.bytes.extend_from_slice(&bytes);
            }
            Value::DateTime(ms) => self.word(marker::DATE, ms as u64 ^ 1 << 63),
            Value::Timestamp(t) => self.word(marker::TIMESTAMP, t),
            Value::MinKey => self.bytes.push(marker::MIN_KEY),
            Value::Undefined => self.bytes.push(marker::UNDEFINED),
            Value::Null => self.bytes.push(marker::NULL),
            Value::Boolean(false) => self.bytes.push(marker::FALSE),
            Value::Boolean(true) => self.bytes.push(marker::TRUE),
            Value::MaxKey => self.bytes.push(marker::MAX_KEY),
            Value::Document(doc) => {
                self.bytes.push(marker::OBJECT);
                self.elements(doc, collator);
            }
            Value::Array(array) => {
                self.bytes.push(marker::ARRAY);
                for element in array {
                    self.value(&element.value(), collator);
                }
                self.bytes.push(0);
            }
            Value::Binary { subtype, bytes } => {
                self.bytes.push(marker::BINARY);
                // The old binary subtype repeats its length inside, and the order counts that.
                let length = bytes.len() + if subtype == 2 { 4 } else { 0 };
                match u8::try_from(length) {
                    Ok(length) if length < 0xFF => self.bytes.push(length),
                    _ => {
                        self.bytes.push(0xFF);
                        // A document's size, and so this length, fits 32 bits.
                        self.bytes.extend_from_slice(&(length as u32).to_be_bytes());
                    }
                }
                self.bytes.push(subtype);
                self.bytes.extend_from_slice(bytes);
            }
            Value::Regex { pattern, options } => {
                self.bytes.push(marker::REGEX);
                append_text(pattern.as_bytes(), &mut self.bytes);
                append_text(options.as_bytes(), &mut self.bytes);
            }
            Value::DbPointer { namespace, id } => {
                self.bytes.push(marker::DB_POINTER);
                self.bytes.extend_from_slice(&(namespace.as_bytes().len() as u32).to_be_bytes());
                self.bytes.extend_from_slice(namespace.as_bytes());
                self.bytes.extend_from_slice(&id);
            }
            Value::JavaScript(code) => {
                self.bytes.push(marker::CODE);
                append_text(code.as_bytes(), &mut self.bytes);
            }
            Value::JavaScriptWithScope { code, scope } => {
                self.bytes.push(marker::CODE_WITH_SCOPE);
                append_text(code.as_bytes(), &mut self.bytes);
                self.elements(scope, collator);
            }
        }
    }

    fn word(&mut self, type_byte: u8, word: u64) {
        let mut bytes = [type_byte; 9];
        bytes[1..].copy_from_slice(&word.to_be_bytes());
        self.bytes.extend_from_slice(&bytes);
    }

    fn string(&mut self, text: Text<'_>, collator: Option<&dyn Collator>) {
        self.bytes.push(marker::STRING);
        let Some(collator) = collator else {
            return append_text(text.as_bytes(), &mut self.bytes);
        };
        let mut sort_key = Vec::with_capacity(text.as_bytes().len() * 2);
        collator.append_sort_key(text.as_bytes(), &mut sort_key);
        append_text(&sort_key, &mut self.bytes);
    }

    fn elements(&mut self, doc: Doc<'_>, collator: Option<&dyn Collator>) {
        for element in doc {
            self.bytes.push(marker::rank(element.kind));
            append_text(element.key, &mut self.bytes);
            self.value(&element.value(), collator);
        }
        self.bytes.push(0);
    }
}

/// Inverts the bytes from `start`.
#[inline]
pub(super) fn invert(bytes: &mut [u8], start: usize) {
    for byte in bytes.get_mut(start..).unwrap_or_default() {
        *byte = !*byte;
    }
}

/// Appends text so that no text is a prefix of another: 00 and 01 escaped, then 00.
#[inline]
fn append_text(text: &[u8], out: &mut Vec<u8>) {
    // Without a way out of the loop it is vectorised.
    let needs_escape = text.iter().fold(false, |needs, &byte| needs | (byte < 2));
    if !needs_escape {
        out.extend_from_slice(text);
    } else {
        for &byte in text {
            if byte < 2 {
                out.extend_from_slice(&[1, byte + 1]);
            } else {
                out.push(byte);
            }
        }
    }
    out.push(0);
}
