//! Record ids at the end of an index entry: ascending, and readable from the end.
//!
//! An id of n bytes (2 to 8) is one big-endian number of 8n bits: n - 2 ones, a zero, 6n + 2 bits of
//! the id, a zero, n - 2 ones. The ones in front make longer ids greater, those behind tell the length
//! to one who reads from the end. Greater ids than fit take ten bytes: FE, the id, 7F.
//!
//! | bytes | ids below |
//! |---|---|
//! | 2 | 16,384 |
//! | 3 | 1,048,576 |
//! | 4 | 67,108,864 |
//! | 5 | 2^32 |
//!
//! MongoDB's KeyString spends three bits on each length, and so reaches 2^10, 2^18, 2^26 and 2^34.

use super::{CorruptKey, KeyBuilder};
use crate::RecordId;

/// The most bytes that a record id takes in an entry.
pub const MAX_RECORD_ID_BYTES: usize = 10;
const LONG_FRONT: u8 = 0xFE;
const LONG_BACK: u8 = 0x7F;

impl KeyBuilder {
    /// Appends a record id; entries of equal keys then ascend by it.
    #[inline]
    pub fn append_record_id(&mut self, id: RecordId) {
        append(id, self.buffer());
    }
}

#[inline]
pub(super) fn append(id: RecordId, out: &mut Vec<u8>) {
    let number = id.0;
    // 6n + 2 bits for n = 2 to 8.
    let bits = 64 - number.leading_zeros();
    if bits > 50 {
        out.push(LONG_FRONT);
        out.extend_from_slice(&id.0.to_be_bytes());
        out.push(LONG_BACK);
        return;
    }
    let n = (bits.max(14) + 3) / 6;
    let ones = (1u64 << (n - 2)) - 1;
    let word = ones << (7 * n + 2) | number << (n - 1) | ones;
    let bytes = (word << (64 - 8 * n)).to_be_bytes();
    out.extend_from_slice(&bytes[..n as usize]);
}

/// The record id at the end of an entry.
///
/// # Errors
/// [`CorruptKey`] if the entry does not end in one.
#[inline]
pub fn record_id(entry: &[u8]) -> Result<RecordId, CorruptKey> {
    split_record_id(entry).map(|(_, id)| id)
}

/// Splits an entry into its key and the record id at its end.
///
/// # Errors
/// [`CorruptKey`] if the entry does not end in a record id.
#[inline]
pub fn split_record_id(entry: &[u8]) -> Result<(&[u8], RecordId), CorruptKey> {
    split(entry).ok_or(CorruptKey { offset: entry.len() })
}

#[inline]
fn split(entry: &[u8]) -> Option<(&[u8], RecordId)> {
    let last = *entry.last()?;
    if last == LONG_BACK {
        let (key, id) = entry.split_at_checked(entry.len().checked_sub(MAX_RECORD_ID_BYTES)?)?;
        let number = id.get(1..9)?.try_into().ok()?;
        return (id.first() == Some(&LONG_FRONT)).then_some((key, RecordId(u64::from_be_bytes(number))));
    }
    let n = last.trailing_ones() as usize + 2;
    if n > 8 {
        return None;
    }
    let (key, id) = entry.split_at_checked(entry.len().checked_sub(n)?)?;
    let word = id.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let number = word >> (n - 1) & ((1 << (6 * n + 2)) - 1);
    Some((key, RecordId(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(id: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        append(RecordId(id), &mut bytes);
        bytes
    }

    #[test]
    fn ids_ascend_and_come_back() {
        let mut ids: Vec<u64> = (0..64)
            .flat_map(|shift| (0..260).map(move |d| (1u64 << shift).wrapping_add(d).wrapping_sub(130)))
            .collect();
        ids.extend([0, u64::MAX, u64::MAX - 1, 16_383, 16_384, 1_048_575, 1_048_576]);
        ids.sort_unstable();
        ids.dedup();
        for pair in ids.windows(2) {
            assert!(encoded(pair[0]) < encoded(pair[1]), "{pair:?}");
        }
        for id in ids {
            let mut entry = b"key".to_vec();
            append(RecordId(id), &mut entry);
            assert_eq!(split_record_id(&entry), Ok((&b"key"[..], RecordId(id))));
            assert!(entry[3] != 0xFF, "{id}");
        }
    }

    #[test]
    fn lengths_are_those_of_the_table() {
        let lengths = [0, 16_383, 16_384, 1_048_575, 1_048_576, 67_108_863, 67_108_864].map(|id| encoded(id).len());
        assert_eq!(lengths, [2, 2, 3, 3, 4, 4, 5]);
        assert_eq!(encoded(u64::MAX).len(), MAX_RECORD_ID_BYTES);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bytes in [&[][..], &[0x00], &[0x01], &[0x7F; 9], &[0xFF; 12], &[0x80, 0x03]] {
            assert!(record_id(bytes).is_err(), "{bytes:?}");
        }
    }
}
