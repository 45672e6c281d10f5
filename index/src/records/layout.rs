//! Sizes: how large pages are, and in what steps they grow.

use std::iter;
use std::sync::Arc;

use super::inner::Node;
use super::slot;

/// Bytes that a reference-counted allocation has in front of its contents (two counters).
pub(super) const ALLOCATION_HEADER: usize = 16;

/// The page size of a store that was not told another; also that of MongoDB's collections.
///
/// Measured on a million documents of 80 bytes, for 8, 16, 32 and 64 KiB: reading at random 390, 340,
/// 270, 250 ns (`BTreeMap<u64, Vec<u8>>` 800), scanning by runs 8.0, 7.4, 6.8, 5.7 ns a document (a flat
/// buffer 3.8), memory 1.068, 1.062, 1.056, 1.053 of the documents' bytes (medians of blocks of a
/// thousand, two shared cores of an AMD EPYC; the bench `records` repeats it).
/// Larger pages gain little, and cost more to copy when a snapshot holds them.
pub const DEFAULT_PAGE_BYTES: usize = 32 << 10;

/// The smallest page that grows in steps begins with this.
const SMALLEST_STEP: usize = 128;

/// The sizes that follow from a page size; the same for a store's whole life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    page_bytes: usize,
}

impl Layout {
    /// The power of two nearest above `page_bytes`, between 4 and 128 KiB.
    pub(super) fn new(page_bytes: usize) -> Layout {
        Layout { page_bytes: page_bytes.clamp(4 << 10, 128 << 10).next_power_of_two() }
    }

    /// The largest page, everything included.
    pub(super) fn page_bytes(self) -> usize {
        self.page_bytes
    }

    /// The largest body of a leaf.
    pub(super) fn max_body(self) -> usize {
        self.page_bytes - ALLOCATION_HEADER
    }

    /// The longest document that lies in a leaf; a longer one gets overflow pages of its own.
    pub(super) fn max_inline(self) -> usize {
        (self.page_bytes / 4).min(slot::MAX_INLINE)
    }

    /// The most children of an inner page. More than 128 save no level that matters, and make a
    /// copy for a snapshot dearer: each child's reference count is raised.
    pub(super) fn fan_out(self) -> usize {
        (self.page_bytes / (size_of::<Node>() + size_of::<u64>()) - 4).min(128)
    }

    /// The body for `need` bytes, in steps of a quarter to an eighth of itself up to a whole page,
    /// so that a small store does not pay for a page, and a page is not copied for each document.
    pub(super) fn body_for(self, need: usize) -> usize {
        let whole = (need + ALLOCATION_HEADER).max(SMALLEST_STEP);
        let step = (whole.next_power_of_two() / 8).max(64);
        (whole.next_multiple_of(step) - ALLOCATION_HEADER).clamp(need, self.max_body().max(need))
    }

    /// Overflow pages that `bytes` are counted as.
    pub(super) fn overflow_pages(self, bytes: usize) -> u64 {
        bytes.div_ceil(self.page_bytes).max(1) as u64
    }
}

/// A zeroed body that nobody else holds, allocated once.
pub(super) fn zeroed(bytes: usize) -> Arc<[u8]> {
    iter::repeat_n(0, bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_grow_in_steps_up_to_a_page() {
        let layout = Layout::new(16 << 10);
        assert_eq!(layout.body_for(0) + ALLOCATION_HEADER, 128);
        assert_eq!(layout.body_for(200) + ALLOCATION_HEADER, 256);
        assert_eq!(layout.body_for(1100) + ALLOCATION_HEADER, 1280);
        assert_eq!(layout.body_for(16_000) + ALLOCATION_HEADER, 16 << 10);
        assert_eq!(layout.body_for(layout.max_body()), layout.max_body());
        for need in 0..layout.max_body() {
            let body = layout.body_for(need);
            assert!(body >= need && (need < 200 || body < need * 13 / 10), "{need} {body}");
        }
    }

    #[test]
    fn odd_page_sizes_are_rounded_into_the_allowed_range() {
        assert_eq!(Layout::new(0).page_bytes(), 4 << 10);
        assert_eq!(Layout::new(5000).page_bytes(), 8 << 10);
        assert_eq!(Layout::new(1 << 30).page_bytes(), 128 << 10);
    }
}
