//! The slot word: where in its leaf a document lies, in four bytes.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0-14 | length of the document in bytes, at most [`MAX_INLINE`]; all ones: not in this page |
//! | 15-31 | offset of its first byte in the page body; index into the overflow table if not in this page |
//!
//! A word of all ones is a hole: a record id below which nothing is stored. Seventeen bits of offset
//! reach over the largest page (128 KiB), fifteen bits of length over a quarter of it, so that one
//! word tells both and a lookup needs no second one.

/// The word of a record id that holds nothing.
pub(super) const HOLE: u32 = u32::MAX;

const LEN_BITS: u32 = 15;
const LEN_MASK: u32 = (1 << LEN_BITS) - 1;

/// The longest document that a slot can place inside its page, whatever the page size.
pub(super) const MAX_INLINE: usize = LEN_MASK as usize - 1;

/// What one slot says, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Nothing is stored under this record id.
    Hole,
    /// The document lies in the page body.
    Inline { offset: usize, len: usize },
    /// The document lies in an overflow page: index into the leaf's overflow table.
    Overflow(usize),
}

impl Slot {
    #[inline(always)]
    pub(super) fn decode(word: u32) -> Slot {
        let len = word & LEN_MASK;
        if len != LEN_MASK {
            let offset = (word >> LEN_BITS) as usize;
            return Slot::Inline { offset, len: len as usize };
        }
        if word == HOLE { Slot::Hole } else { Slot::Overflow((word >> LEN_BITS) as usize) }
    }

    #[inline(always)]
    pub(super) fn encode(self) -> u32 {
        match self {
            Slot::Hole => HOLE,
            Slot::Inline { offset, len } => (offset as u32) << LEN_BITS | len as u32,
            Slot::Overflow(index) => (index as u32) << LEN_BITS | LEN_MASK,
        }
    }
}

/// `word` with its document moved up by `delta` bytes; unchanged if it names no bytes of the body.
#[inline(always)]
pub(super) fn moved_up(word: u32, delta: u32) -> u32 {
    if word & LEN_MASK == LEN_MASK { word } else { word + (delta << LEN_BITS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_decodes_to_itself() {
        let slots = [
            Slot::Hole,
            Slot::Inline { offset: 0, len: 0 },
            Slot::Inline { offset: (128 << 10) - 1, len: MAX_INLINE },
            Slot::Inline { offset: 77, len: 5 },
            Slot::Overflow(0),
            Slot::Overflow(63),
        ];
        for slot in slots {
            assert_eq!(Slot::decode(slot.encode()), slot);
        }
    }

    #[test]
    fn moving_leaves_holes_and_overflow_alone() {
        assert_eq!(moved_up(HOLE, 9), HOLE);
        let overflow = Slot::Overflow(3).encode();
        assert_eq!(moved_up(overflow, 9), overflow);
        let word = Slot::Inline { offset: 8, len: 5 }.encode();
        assert_eq!(Slot::decode(moved_up(word, 9)), Slot::Inline { offset: 17, len: 5 });
    }
}
