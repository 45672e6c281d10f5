//! Reading values back out of ordered keys, as covered queries do.

use bindery_document::build::index_key;
use bindery_document::{Builder, DocBuf, Kind, OwnedValue, Value};

use super::type_bits::TypeBitsReader;
use super::{CorruptKey, Directions, marker, number};

/// Deeper than any stored document nests; only corrupt keys go further.
const MAX_DEPTH: usize = 256;

/// Gives the values of a key back, field by field, exactly as they were.
///
/// Keys built with a [collator](super::Collator) give sort keys where strings were: do not decode them.
#[derive(Clone, Debug)]
pub struct KeyDecoder<'a> {
    reader: Reader<'a>,
    bits: TypeBitsReader<'a>,
    directions: Directions,
    field: usize,
}

impl<'a> KeyDecoder<'a> {
    /// A decoder of a key (a record id may follow the fields) and its type bits.
    pub fn new(key: &'a [u8], type_bits: &'a [u8], directions: Directions) -> KeyDecoder<'a> {
        KeyDecoder { reader: Reader::new(key, 0), bits: TypeBitsReader::new(type_bits), directions, field: 0 }
    }

    /// The bytes read so far: the end of the last field given.
    pub fn offset(&self) -> usize {
        self.reader.at
    }

    /// Appends the next field's value to `out`, as BSON writes it without type byte and name.
    ///
    /// # Errors
    /// [`CorruptKey`] for bytes that no [`KeyBuilder`](super::KeyBuilder) wrote, or if no field is left.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Kind, CorruptKey> {
        self.reader.mask = self.directions.of(self.field).mask();
        self.field += 1;
        decode_value(&mut self.reader, &mut self.bits, out, 0)
    }

    /// The next field's value.
    ///
    /// # Errors
    /// As [`KeyDecoder::next_into`].
    pub fn next_value(&mut self) -> Result<OwnedValue, CorruptKey> {
        let mut bytes = Vec::new();
        let offset = self.offset();
        let kind = self.next_into(&mut bytes)?;
        Value::decode(kind, &bytes).map(OwnedValue::new).ok_or(CorruptKey { offset })
    }
}

/// The values of the first `n` fields.
///
/// # Errors
/// [`CorruptKey`] if the bytes are no key of at least `n` fields.
pub fn decode(key: &[u8], type_bits: &[u8], directions: Directions, n: usize) -> Result<Vec<OwnedValue>, CorruptKey> {
    let mut decoder = KeyDecoder::new(key, type_bits, directions);
    (0..n).map(|_| decoder.next_value()).collect()
}

/// The values of the first fields under these names, as `returnKey` shows them.
///
/// # Errors
/// [`CorruptKey`] if the bytes are no key of at least that many fields.
pub fn decode_document<N: AsRef<[u8]>>(
    key: &[u8],
    type_bits: &[u8],
    directions: Directions,
    names: &[N],
) -> Result<DocBuf, CorruptKey> {
    let mut decoder = KeyDecoder::new(key, type_bits, directions);
    let mut builder = Builder::new();
    let mut value = Vec::new();
    for name in names {
        value.clear();
        let kind = decoder.next_into(&mut value)?;
        builder.append_bytes(name.as_ref(), kind, &value);
    }
    Ok(builder.finish())
}

/// A cursor over a key's bytes that undoes inversion.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// What each byte is XORed with.
    mask: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], mask: u8) -> Reader<'a> {
        Reader { bytes, at: 0, mask }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn seek(&mut self, at: usize, mask: u8) {
        self.at = at;
        self.mask = mask;
    }

    /// Turns the direction for a part that is inverted within its field.
    pub(super) fn invert(&mut self) {
        self.mask = !self.mask;
    }

    fn corrupt<T>(&self) -> Result<T, CorruptKey> {
        Err(CorruptKey { offset: self.at })
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, CorruptKey> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(byte ^ self.mask)
            }
            None => self.corrupt(),
        }
    }

    /// The next n bytes, still inverted if they are.
    fn raw(&mut self, n: usize) -> Result<&'a [u8], CorruptKey> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..n)) {
            Some(bytes) => {
                self.at += n;
                Ok(bytes)
            }
            None => self.corrupt(),
        }
    }

    /// The big-endian number in the next n bytes, at most 8.
    pub(super) fn word(&mut self, n: u32) -> Result<u64, CorruptKey> {
        let mask = self.mask;
        let bytes = self.raw(n as usize)?;
        Ok(bytes.iter().fold(0, |word, byte| word << 8 | u64::from(byte ^ mask)))
    }

    fn copy(&mut self, n: usize, out: &mut Vec<u8>) -> Result<(), CorruptKey> {
        let mask = self.mask;
        out.extend(self.raw(n)?.iter().map(|byte| byte ^ mask));
        Ok(())
    }

    pub(super) fn skip(&mut self, n: usize) -> Result<(), CorruptKey> {
        self.raw(n).map(|_| ())
    }

    /// The next text as it is written, without its end.
    fn raw_text(&mut self) -> Result<&'a [u8], CorruptKey> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| byte == self.mask) else {
            return self.corrupt();
        };
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn text(&mut self, out: &mut Vec<u8>) -> Result<(), CorruptKey> {
        let offset = self.at;
        let mut bytes = self.raw_text()?.iter().map(|byte| byte ^ self.mask);
        while let Some(byte) = bytes.next() {
            match byte {
                1 => out.push(bytes.next().ok_or(CorruptKey { offset })?.wrapping_sub(1)),
                byte => out.push(byte),
            }
        }
        Ok(())
    }

    pub(super) fn skip_text(&mut self) -> Result<(), CorruptKey> {
        self.raw_text().map(|_| ())
    }

    /// The subtype of a binary value and the length of its content.
    pub(super) fn binary_head(&mut self) -> Result<(u8, usize), CorruptKey> {
        let length = match self.byte()? {
            0xFF => self.word(4)? as usize,
            length => usize::from(length),
        };
        let subtype = self.byte()?;
        // The old binary subtype counts the length that it repeats inside.
        let content = if subtype == 2 { length.checked_sub(4) } else { Some(length) };
        content.map(|content| (subtype, content)).ok_or(CorruptKey { offset: self.at })
    }
}

fn decode_value(
    reader: &mut Reader<'_>,
    bits: &mut TypeBitsReader<'_>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<Kind, CorruptKey> {
    if depth > MAX_DEPTH {
        return reader.corrupt();
    }
    let offset = reader.at;
    let type_byte = reader.byte()?;
    Ok(match type_byte {
        marker::MIN_KEY => Kind::MinKey,
        marker::UNDEFINED => Kind::Undefined,
        marker::NULL => Kind::Null,
        marker::NAN..=marker::POSITIVE_LARGE => {
            let number = number::decode(type_byte, reader, bits)?;
            number.write_to(out);
            number.kind()
        }
        marker::STRING => {
            let kind = if bits.take(1) == 1 { Kind::Symbol } else { Kind::String };
            string(reader, out)?;
            kind
        }
        marker::OBJECT => {
            object(reader, bits, out, depth)?;
            Kind::Document
        }
        marker::ARRAY => {
            array(reader, bits, out, depth)?;
            Kind::Array
        }
        marker::BINARY => {
            let (subtype, length) = reader.binary_head()?;
            let outer = if subtype == 2 { length.saturating_add(4) } else { length };
            out.extend_from_slice(&(outer as u32).to_le_bytes());
            out.push(subtype);
            if subtype == 2 {
                out.extend_from_slice(&(length as u32).to_le_bytes());
            }
            reader.copy(length, out)?;
            Kind::Binary
        }
        marker::OBJECT_ID => {
            reader.copy(12, out)?;
            Kind::ObjectId
        }
        marker::FALSE | marker::TRUE => {
            out.push(type_byte - marker::FALSE);
            Kind::Boolean
        }
        marker::DATE => {
            out.extend_from_slice(&(reader.word(8)? ^ 1 << 63).to_le_bytes());
            Kind::DateTime
        }
        marker::TIMESTAMP => {
            out.extend_from_slice(&reader.word(8)?.to_le_bytes());
            Kind::Timestamp
        }
        marker::REGEX => {
            reader.text(out)?;
            out.push(0);
            reader.text(out)?;
            out.push(0);
            Kind::Regex
        }
        marker::DB_POINTER => {
            let length = reader.word(4)? as usize;
            out.extend_from_slice(&(length as u32).wrapping_add(1).to_le_bytes());
            reader.copy(length, out)?;
            out.push(0);
            reader.copy(12, out)?;
            Kind::DbPointer
        }
        marker::CODE => {
            string(reader, out)?;
            Kind::JavaScript
        }
        marker::CODE_WITH_SCOPE => {
            let start = open(out);
            string(reader, out)?;
            object(reader, bits, out, depth)?;
            close(start, out);
            Kind::JavaScriptWithScope
        }
        marker::MAX_KEY => Kind::MaxKey,
        _ => return Err(CorruptKey { offset }),
    })
}

/// Leaves room for a length.
fn open(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

/// Fills in the length of what was written since, itself included.
fn close(start: usize, out: &mut [u8]) {
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn string(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), CorruptKey> {
    let start = open(out);
    reader.text(out)?;
    out.push(0);
    // The length of a string does not count itself.
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn object(
    reader: &mut Reader<'_>,
    bits: &mut TypeBitsReader<'_>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), CorruptKey> {
    let start = open(out);
    while reader.byte()? != 0 {
        let kind_at = out.len();
        out.push(0);
        reader.text(out)?;
        out.push(0);
        let kind = decode_value(reader, bits, out, depth + 1)?;
        out[kind_at] = kind as u8;
    }
    out.push(0);
    close(start, out);
    Ok(())
}

fn array(
    reader: &mut Reader<'_>,
    bits: &mut TypeBitsReader<'_>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), CorruptKey> {
    let start = open(out);
    let mut digits = [0; 20];
    for index in 0.. {
        let at = reader.at;
        if reader.byte()? == 0 {
            break;
        }
        reader.at = at;
        let kind_at = out.len();
        out.push(0);
        out.extend_from_slice(index_key(index, &mut digits));
        out.push(0);
        let kind = decode_value(reader, bits, out, depth + 1)?;
        out[kind_at] = kind as u8;
    }
    out.push(0);
    close(start, out);
    Ok(())
}
