//! Seeded randomness: the same seed makes the same scenes on every machine and with every version.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The generator of the `nth` part of a run: parts can be made again without those before.
    pub(super) fn part(seed: u64, nth: u64) -> Self {
        let mut own = Self(seed ^ nth.wrapping_mul(0xd134_2543_de82_ef95));
        own.next();
        own
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low) as usize + 1) as i32
    }

    /// True `percent` times of a hundred.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, all alike.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// A position in `weights`, likelier where the weight is larger.
    pub(super) fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (at, &weight) in weights.iter().enumerate() {
            if left < weight {
                return at;
            }
            left -= weight;
        }
        0
    }
}
