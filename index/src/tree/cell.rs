//! Cells and runs: how entries lie as bytes inside a leaf page.
//!
//! A *run* is a short sequence of entries in key order. Its first entry, the *restart*, is stored
//! whole (without the page's common prefix); each later one only as what differs from its
//! predecessor, so a run can be read forward without looking outside it.
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | run length | 2, little-endian | of the whole run, these bytes included; 0xFFFF: up to the heap's end (a page with a single entry) |
//! | value mode | 1 | 0 to 254: every value has that length; 255 ([`MIXED`]): each value has a varint length before it |
//! | restart: key length | varint | after the page's common prefix |
//! | restart: key tail | length - 8, if positive | the first 8 bytes are in the directory slot, as its *head* |
//! | restart: value field | by value mode | |
//! | cell: header | 1 | high half: *drop*, how many bytes to take off the end of the previous key; low half: how many to add; 15: a varint follows |
//! | cell: suffix | as said | bytes to add |
//! | cell: value field | by value mode | |
//!
//! Counting what is dropped instead of what is kept holds the header at one byte however long the
//! shared prefix is. Lengths are trusted here: pages are only written by this module's callers, and
//! [`validate`](super::Tree::validate) reads them with its own checked decoder.

/// Bytes before a run's restart cell.
pub(super) const RUN_HEAD: usize = 3;
/// Offset of the value mode in a run.
pub(super) const MODE_AT: usize = 2;
/// The value mode of runs whose values differ in length.
pub(super) const MIXED: u8 = 255;
/// Bytes of the restart key that the directory slot holds.
pub(super) const HEAD_BYTES: usize = 8;
/// What a header half holds when a varint says the number instead.
pub(super) const ESCAPE: usize = 15;

/// A decoded cell; positions are offsets in the slice it was read from.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// Bytes to take off the end of the previous key.
    pub(super) drop: usize,
    /// Where the suffix starts.
    pub(super) suffix: usize,
    /// Length of the suffix.
    pub(super) suffix_len: usize,
}

impl Cell {
    /// Where the value field starts.
    #[inline(always)]
    pub(super) fn field(&self) -> usize {
        self.suffix + self.suffix_len
    }
}

/// A decoded restart cell.
#[derive(Clone, Copy)]
pub(super) struct Restart {
    /// Length of the key after the page's common prefix.
    pub(super) key_len: usize,
    /// Where the part that does not fit the slot's head starts.
    pub(super) tail: usize,
    /// Where the value field starts.
    pub(super) field: usize,
}

/// Reads the cell at `at`.
#[inline(always)]
pub(super) fn cell_at(bytes: &[u8], at: usize) -> Cell {
    let header = bytes[at];
    let (mut drop, mut suffix_len) = ((header >> 4) as usize, (header & 15) as usize);
    let mut suffix = at + 1;
    if drop == ESCAPE {
        drop = read_varint(bytes, &mut suffix);
    }
    if suffix_len == ESCAPE {
        suffix_len = read_varint(bytes, &mut suffix);
    }
    Cell { drop, suffix, suffix_len }
}

/// Reads the restart cell at `at`.
#[inline(always)]
pub(super) fn restart_at(bytes: &[u8], at: usize) -> Restart {
    let mut tail = at;
    let key_len = read_varint(bytes, &mut tail);
    Restart { key_len, tail, field: tail + key_len.saturating_sub(HEAD_BYTES) }
}

/// The start and length of the value whose field starts at `field`.
#[inline(always)]
pub(super) fn value_at(bytes: &[u8], field: usize, mode: u8) -> (usize, usize) {
    if mode != MIXED {
        return (field, mode as usize);
    }
    let mut start = field;
    let len = read_varint(bytes, &mut start);
    (start, len)
}

/// Reads an unsigned LEB128 number and moves `at` behind it.
#[inline]
pub(super) fn read_varint(bytes: &[u8], at: &mut usize) -> usize {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= ((byte & 0x7f) as usize) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// Appends an unsigned LEB128 number.
#[inline]
pub(super) fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes [`push_varint`] appends.
#[inline]
pub(super) fn varint_len(value: usize) -> usize {
    ((usize::BITS - (value | 1).leading_zeros()) as usize).div_ceil(7)
}

/// Appends a cell without its value field.
#[inline]
pub(super) fn push_cell(out: &mut Vec<u8>, drop: usize, suffix: &[u8]) {
    push_cell_header(out, drop, suffix.len());
    out.extend_from_slice(suffix);
}

/// Appends a cell's header alone; the caller appends the suffix.
#[inline]
pub(super) fn push_cell_header(out: &mut Vec<u8>, drop: usize, suffix_len: usize) {
    out.push((drop.min(ESCAPE) << 4 | suffix_len.min(ESCAPE)) as u8);
    if drop >= ESCAPE {
        push_varint(out, drop);
    }
    if suffix_len >= ESCAPE {
        push_varint(out, suffix_len);
    }
}

/// Appends a restart cell without its value field; `rest` is the key after the page's prefix.
#[inline]
pub(super) fn push_restart(out: &mut Vec<u8>, rest: &[u8]) {
    push_varint(out, rest.len());
    out.extend_from_slice(rest.get(HEAD_BYTES..).unwrap_or_default());
}

/// How many bytes [`push_restart`] appends for a key of `rest_len` bytes.
pub(super) fn restart_len(rest_len: usize) -> usize {
    varint_len(rest_len) + rest_len.saturating_sub(HEAD_BYTES)
}

/// Appends a value field.
#[inline]
pub(super) fn push_value(out: &mut Vec<u8>, mode: u8, value: &[u8]) {
    if mode == MIXED {
        push_varint(out, value.len());
    }
    out.extend_from_slice(value);
}

/// The value mode of a run whose values all have this length.
pub(super) fn mode_for(value_len: usize) -> u8 {
    if value_len < MIXED as usize { value_len as u8 } else { MIXED }
}

/// The first eight bytes as a big-endian number, zeros behind a shorter key: comparing heads is
/// comparing those bytes.
#[inline(always)]
pub(super) fn head(rest: &[u8]) -> u64 {
    if let Some(first) = rest.first_chunk::<HEAD_BYTES>() {
        return u64::from_be_bytes(*first);
    }
    let mut padded = [0; HEAD_BYTES];
    for (to, from) in padded.iter_mut().zip(rest) {
        *to = *from;
    }
    u64::from_be_bytes(padded)
}

/// How many leading bytes two strings share.
#[inline]
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let mut at = 0;
    for (x, y) in words_a.iter().zip(words_b) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < n && a[at] == b[at] {
        at += 1;
    }
    at
}

/// The shortest string above `left` and not above `right`, for `left < right`: what an inner page
/// needs to tell the two apart.
pub(super) fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    let shared = common(left, right);
    right[..right.len().min(shared + 1)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_read_back_at_their_stated_length() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, 16 << 20, u32::MAX as usize] {
            let mut out = Vec::new();
            push_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value));
            let mut at = 0;
            assert_eq!(read_varint(&out, &mut at), value);
            assert_eq!(at, out.len());
        }
    }

    #[test]
    fn cells_read_back_with_and_without_escapes() {
        for (drop, len) in [(0, 1), (14, 14), (15, 3), (2, 15), (300, 70_000)] {
            let suffix = vec![7; len];
            let mut out = vec![9];
            push_cell(&mut out, drop, &suffix);
            let cell = cell_at(&out, 1);
            assert_eq!((cell.drop, cell.suffix_len), (drop, len));
            assert_eq!(&out[cell.suffix..cell.field()], &suffix[..]);
            assert_eq!(cell.field(), out.len());
        }
    }

    #[test]
    fn heads_order_as_the_bytes_they_stand_for() {
        let keys: [&[u8]; 6] = [b"", b"a", b"a\x01", b"ab", b"abcdefgh", b"b"];
        for pair in keys.windows(2) {
            assert!(head(pair[0]) < head(pair[1]));
        }
        assert_eq!(head(b"abcdefghi"), head(b"abcdefgh"));
    }

    #[test]
    fn a_separator_lies_above_left_and_not_above_right() {
        for (left, right) in [("a", "b"), ("abc", "abd"), ("ab", "abc"), ("", "x"), ("abx", "acyyy")] {
            let s = separator(left.as_bytes(), right.as_bytes());
            assert!(left.as_bytes() < &s[..] && &s[..] <= right.as_bytes(), "{left} {right}");
        }
    }
}
