//! Type bits: what an ordered key leaves out because it does not affect the order.
//!
//! A string of bits, filled from the low end of each byte, one group per string and number in the key
//! (nested ones included), in the order of the key:
//!
//! | value | bits |
//! |---|---|
//! | string 0, symbol 1 | 1 |
//! | int32 0, int64 1, double 2, decimal 3 | 2 |
//! | a zero double: its sign | 1 more |
//! | a zero decimal: its sign, its biased exponent | 1 + 14 more |
//! | a finite decimal other than zero: trailing zeros of its coefficient, 0 to 33 | 6 more |
//!
//! Zero bytes at the end are cut off and read as zeros, so a key of strings, dates, `ObjectId`s and
//! int32s has no type bits at all.

/// Writes type bits.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeBits {
    bytes: Vec<u8>,
    /// The number of bits written; those past `bytes` are zero.
    len: usize,
}

impl TypeBits {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.len = 0;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends the low `width` bits.
    #[inline]
    pub(super) fn push(&mut self, bits: u32, width: usize) {
        if bits != 0 {
            self.write(bits);
        }
        self.len += width;
    }

    fn write(&mut self, bits: u32) {
        // At most 15 bits at an offset of at most 7.
        let mut rest = bits << (self.len % 8);
        let mut at = self.len / 8;
        while rest != 0 {
            if self.bytes.len() <= at {
                self.bytes.resize(at + 1, 0);
            }
            if let Some(byte) = self.bytes.get_mut(at) {
                *byte |= (rest & 0xFF) as u8;
            }
            rest >>= 8;
            at += 1;
        }
    }

    /// Takes back what was written after the first `len` bits.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = len;
        self.bytes.truncate(len.div_ceil(8));
        if !len.is_multiple_of(8)
            && self.bytes.len() == len.div_ceil(8)
            && let Some(last) = self.bytes.last_mut()
        {
            *last &= (1u8 << (len % 8)) - 1;
        }
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
    }
}

/// Reads type bits; past their end come zeros.
#[derive(Clone, Debug)]
pub(super) struct TypeBitsReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> TypeBitsReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> TypeBitsReader<'a> {
        TypeBitsReader { bytes, at: 0 }
    }

    /// The next `width` bits, at most 16.
    pub(super) fn take(&mut self, width: usize) -> u32 {
        let byte = |i: usize| u32::from(self.bytes.get(i).copied().unwrap_or(0));
        let first = self.at / 8;
        let word = byte(first) | byte(first + 1) << 8 | byte(first + 2) << 16;
        let bits = word >> (self.at % 8) & ((1 << width) - 1);
        self.at += width;
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_and_zeros_take_nothing() {
        let mut bits = TypeBits::default();
        bits.push(0, 2);
        bits.push(0, 15);
        assert!(bits.as_bytes().is_empty());
        bits.push(3, 2);
        bits.push(0x2ABC, 14);
        bits.push(0, 9);
        let mut reader = TypeBitsReader::new(bits.as_bytes());
        assert_eq!([2, 15, 2, 14, 9, 14].map(|width| reader.take(width)), [0, 0, 3, 0x2ABC, 0, 0]);
    }

    #[test]
    fn truncating_forgets_what_came_after() {
        let mut bits = TypeBits::default();
        bits.push(1, 2);
        bits.push(3, 2);
        bits.push(0x3FFF, 14);
        bits.truncate(2);
        assert_eq!((bits.as_bytes(), bits.len()), (&[1u8][..], 2));
        bits.push(2, 2);
        assert_eq!(bits.as_bytes(), [0b1001]);
        bits.truncate(0);
        assert!(bits.as_bytes().is_empty());
    }
}
