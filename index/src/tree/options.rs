//! What a tree is created with, and the limits that follow from it.

use super::leaf::{LEAF_HEADER, SLOT_BYTES};

/// How a tree lays out its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeOptions {
    page_bytes: u32,
}

impl TreeOptions {
    /// Pages of at most `page_bytes`, rounded up to a power of two and held within 4 to 128 KiB.
    pub fn with_page_bytes(page_bytes: u32) -> TreeOptions {
        TreeOptions { page_bytes: page_bytes.clamp(4 << 10, 128 << 10).next_power_of_two() }
    }

    /// The size that a page does not outgrow, except for a page that holds a single entry.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }
}

impl Default for TreeOptions {
    /// 16 KiB, by measurement (`benches/tree.rs`): smaller pages look up no faster and spend more on
    /// inner pages, larger ones make inserts and the copies for snapshots dearer.
    fn default() -> TreeOptions {
        TreeOptions::with_page_bytes(16 << 10)
    }
}

/// The limits that insertion works with.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Largest body of a leaf page; the page's header comes on top.
    pub(super) body_max: usize,
    /// A run with this many entries is split before it takes another one.
    pub(super) run_max: usize,
    /// A run with this many entries is followed by a new one when an entry comes at its end.
    pub(super) run_fill: usize,
    /// A run of several entries does not grow beyond this.
    pub(super) run_bytes: usize,
    /// A larger entry gets a page of its own.
    pub(super) entry_max: usize,
    /// The longest common prefix that a page takes out of its keys.
    pub(super) prefix_max: usize,
    /// An inner page is split beyond this size.
    pub(super) inner_bytes: usize,
}

impl Limits {
    pub(super) fn new(options: &TreeOptions) -> Limits {
        let page = options.page_bytes as usize;
        Limits {
            body_max: page - LEAF_HEADER,
            run_max: 32,
            run_fill: 24,
            run_bytes: page / 8,
            entry_max: page / 4,
            prefix_max: page / 8,
            inner_bytes: page / 4,
        }
    }

    /// The body to allocate for `need` bytes so that the next inserts find room: an eighth more, in
    /// steps, so that a small tree takes little and the allocator sees few sizes.
    pub(super) fn body_for(&self, need: usize) -> usize {
        let want = need + need / 8 + SLOT_BYTES;
        let step = match want {
            0..1024 => 64,
            1024..4096 => 256,
            _ => 512,
        };
        want.next_multiple_of(step).min(self.body_max).max(need)
    }

    /// Free bytes below which it no longer pays to push a page's runs together again.
    pub(super) fn reserve(&self) -> usize {
        self.body_max / 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_sizes_are_powers_of_two_within_bounds() {
        for (asked, given) in [(0, 4096), (5000, 8192), (16 << 10, 16 << 10), (u32::MAX, 128 << 10)] {
            assert_eq!(TreeOptions::with_page_bytes(asked).page_bytes(), given);
        }
    }

    #[test]
    fn bodies_grow_in_steps_up_to_the_page() {
        let limits = Limits::new(&TreeOptions::default());
        assert_eq!(limits.body_for(10), 64);
        assert_eq!(limits.body_for(limits.body_max), limits.body_max);
        assert!(limits.body_for(5000).is_multiple_of(512));
    }
}
