//! Where the fields of a key end, found without decoding them.
//!
//! Skip scans, distinct scans and the bounds check of compound scans compare and seek by the bytes of the
//! first k fields.

use super::decode::Reader;
use super::{CorruptKey, Direction, Directions, marker, number};

/// Deeper than any stored document nests; only corrupt keys go further.
const MAX_DEPTH: usize = 256;

/// The offset at which the field that starts at `start` ends.
///
/// # Errors
/// [`CorruptKey`] if no field starts there.
pub fn field_end(key: &[u8], start: usize, direction: Direction) -> Result<usize, CorruptKey> {
    let mut reader = Reader::new(key, direction.mask());
    reader.seek(start, direction.mask());
    skip(&mut reader, 0)?;
    Ok(reader.offset())
}

/// The bytes that the first `n` fields take.
///
/// # Errors
/// [`CorruptKey`] if the bytes are no key of at least `n` fields.
pub fn prefix_end(key: &[u8], n: usize, directions: Directions) -> Result<usize, CorruptKey> {
    (0..n).try_fold(0, |start, field| field_end(key, start, directions.of(field)))
}

fn skip(reader: &mut Reader<'_>, depth: usize) -> Result<(), CorruptKey> {
    let offset = reader.offset();
    let type_byte = reader.byte()?;
    if depth > MAX_DEPTH {
        return Err(CorruptKey { offset });
    }
    match type_byte {
        marker::MIN_KEY | marker::UNDEFINED | marker::NULL | marker::FALSE | marker::TRUE | marker::MAX_KEY => Ok(()),
        marker::NAN..=marker::POSITIVE_LARGE => number::skip(type_byte, reader),
        marker::STRING | marker::CODE => reader.skip_text(),
        marker::OBJECT_ID => reader.skip(12),
        marker::DATE | marker::TIMESTAMP => reader.skip(8),
        marker::OBJECT => skip_elements(reader, depth),
        marker::ARRAY => loop {
            let at = reader.clone();
            if reader.byte()? == 0 {
                return Ok(());
            }
            *reader = at;
            skip(reader, depth + 1)?;
        },
        marker::BINARY => {
            let (_, length) = reader.binary_head()?;
            reader.skip(length)
        }
        marker::REGEX => {
            reader.skip_text()?;
            reader.skip_text()
        }
        marker::DB_POINTER => {
            let length = reader.word(4)? as usize;
            reader.skip(length)?;
            reader.skip(12)
        }
        marker::CODE_WITH_SCOPE => {
            reader.skip_text()?;
            skip_elements(reader, depth)
        }
        _ => Err(CorruptKey { offset }),
    }
}

fn skip_elements(reader: &mut Reader<'_>, depth: usize) -> Result<(), CorruptKey> {
    while reader.byte()? != 0 {
        reader.skip_text()?;
        skip(reader, depth + 1)?;
    }
    Ok(())
}
