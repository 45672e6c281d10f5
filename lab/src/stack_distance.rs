//! Exact LRU stack distances, weighted in bytes, in one pass over a trace of page accesses.
//!
//! The *stack distance* of an access is the number of bytes of the distinct pages touched since the
//! same page was touched last, the page itself included. An LRU cache of `c` bytes hits exactly the
//! accesses whose distance is at most `c`, so the distances of one run give the miss ratio of every
//! cache size at once (Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage
//! hierarchies", 1970). They are counted with a Fenwick tree over the time of each page's last
//! access, which holds the page's bytes at that time (Bennett and Kruskal, "LRU stack processing",
//! 1975; Olken, "Efficient methods for calculating the success function of fixed space replacement
//! policies", 1981): O(log m) an access for m pages. When the time axis is full it is compacted to
//! the m times that still matter, so memory is O(m) however long the trace.
//!
//! ```text
//! accesses       a b c b a            pages of 10 bytes each
//! distance       - - - 20 30          "-": never seen, a miss at every size
//! ```
//!
//! A page's weight is its size at its latest access. The first accesses of a trace fill the cache
//! and say little about the workload: [`LruStack::access`] can be called for them without
//! [recording](MissRatioCurve::record) what it returns.

use rustc_hash::FxHashMap;

/// Prefix sums over the time axis: position `i` holds the bytes of the page last touched then.
#[derive(Debug)]
struct Fenwick {
    sums: Vec<u64>,
}

impl Fenwick {
    fn new(len: usize) -> Fenwick {
        Fenwick { sums: vec![0; len + 1] }
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    fn add(&mut self, at: usize, bytes: u64) {
        let mut i = at + 1;
        while i < self.sums.len() {
            self.sums[i] += bytes;
            i += i & i.wrapping_neg();
        }
    }

    fn subtract(&mut self, at: usize, bytes: u64) {
        let mut i = at + 1;
        while i < self.sums.len() {
            self.sums[i] -= bytes;
            i += i & i.wrapping_neg();
        }
    }

    /// The sum of positions `0..at`.
    fn sum_before(&self, at: usize) -> u64 {
        let mut i = at;
        let mut sum = 0;
        while i > 0 {
            sum += self.sums[i];
            i -= i & i.wrapping_neg();
        }
        sum
    }
}

#[derive(Clone, Copy, Debug)]
struct LastAccess {
    time: usize,
    bytes: u32,
}

/// The LRU stack of pages, as a function from accesses to distances.
#[derive(Debug)]
pub struct LruStack {
    pages: FxHashMap<u64, LastAccess>,
    axis: Fenwick,
    now: usize,
    total_bytes: u64,
}

impl Default for LruStack {
    fn default() -> Self {
        LruStack::new()
    }
}

impl LruStack {
    /// The length of a new time axis; it doubles when more pages than half of it are alive.
    const FIRST_AXIS: usize = 1024;

    /// An empty stack.
    pub fn new() -> LruStack {
        LruStack { pages: FxHashMap::default(), axis: Fenwick::new(Self::FIRST_AXIS), now: 0, total_bytes: 0 }
    }

    /// Moves `page` to the top and returns the distance it came from in bytes, or `None` if it was
    /// never touched before. `bytes` is its size now.
    pub fn access(&mut self, page: u64, bytes: u32) -> Option<u64> {
        if self.now == self.axis.len() {
            self.compact();
        }
        let now = self.now;
        let here = LastAccess { time: now, bytes };
        let distance = match self.pages.insert(page, here) {
            Some(last) => {
                let older = self.axis.sum_before(last.time);
                let distance = self.total_bytes - older - u64::from(last.bytes) + u64::from(bytes);
                self.axis.subtract(last.time, u64::from(last.bytes));
                self.total_bytes -= u64::from(last.bytes);
                Some(distance)
            }
            None => None,
        };
        self.axis.add(now, u64::from(bytes));
        self.total_bytes += u64::from(bytes);
        self.now += 1;
        distance
    }

    /// Distinct pages touched so far.
    pub fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Bytes of the distinct pages touched so far.
    pub fn bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Renumbers the pages' last accesses 0, 1, 2, ... in their order and makes room for as many again.
    fn compact(&mut self) {
        let mut order: Vec<(usize, u64)> = self.pages.iter().map(|(page, last)| (last.time, *page)).collect();
        order.sort_unstable();
        self.axis = Fenwick::new((order.len() * 2).max(Self::FIRST_AXIS));
        for (time, (_, page)) in order.iter().enumerate() {
            if let Some(last) = self.pages.get_mut(page) {
                last.time = time;
                self.axis.add(time, u64::from(last.bytes));
            }
        }
        self.now = order.len();
    }
}

/// How often a cache of any size misses: the distribution of recorded distances.
#[derive(Debug, Default)]
pub struct MissRatioCurve {
    /// Distance and bytes of each access that found its page somewhere on the stack.
    seen: Vec<(u64, u32)>,
    sorted: bool,
    cold_accesses: u64,
    cold_bytes: u64,
    bytes: u64,
}

impl MissRatioCurve {
    /// A curve without accesses.
    pub fn new() -> MissRatioCurve {
        MissRatioCurve::default()
    }

    /// Takes in one access of a page of `bytes` at the `distance` that [`LruStack::access`] gave.
    pub fn record(&mut self, distance: Option<u64>, bytes: u32) {
        self.bytes += u64::from(bytes);
        match distance {
            Some(distance) => {
                self.seen.push((distance, bytes));
                self.sorted = false;
            }
            None => {
                self.cold_accesses += 1;
                self.cold_bytes += u64::from(bytes);
            }
        }
    }

    /// Recorded accesses.
    pub fn accesses(&self) -> u64 {
        self.seen.len() as u64 + self.cold_accesses
    }

    /// Bytes of all recorded accesses, a page counted as often as it was touched.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Accesses of pages never touched before, which no cache can hit.
    pub fn cold_accesses(&self) -> u64 {
        self.cold_accesses
    }

    fn sort(&mut self) {
        if !self.sorted {
            self.seen.sort_unstable();
            self.sorted = true;
        }
    }

    fn hits_at(&mut self, cache_bytes: u64) -> usize {
        self.sort();
        self.seen.partition_point(|(distance, _)| *distance <= cache_bytes)
    }

    /// The share of accesses that a cache of `cache_bytes` hits, 0 to 1; 1 if nothing was recorded.
    pub fn hit_ratio(&mut self, cache_bytes: u64) -> f64 {
        let accesses = self.accesses();
        if accesses == 0 {
            return 1.0;
        }
        self.hits_at(cache_bytes) as f64 / accesses as f64
    }

    /// Bytes that a cache of `cache_bytes` has to read from storage for the recorded accesses.
    pub fn bytes_missed(&mut self, cache_bytes: u64) -> u64 {
        let hits = self.hits_at(cache_bytes);
        self.cold_bytes + self.seen[hits..].iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>()
    }

    /// The smallest cache, in bytes, that hits at least the share `ratio` of the accesses; `None`
    /// where even a cache of everything would miss more, because of first accesses.
    pub fn cache_for(&mut self, ratio: f64) -> Option<u64> {
        self.sort();
        let accesses = self.accesses();
        // A hair less than the product, so that 0.9 of 10 accesses is 9 and not 10.
        let wanted = (ratio * accesses as f64 - 1e-9).ceil().max(0.0) as usize;
        match wanted {
            0 => Some(0),
            n => self.seen.get(n - 1).map(|(distance, _)| *distance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An LRU cache of `capacity` bytes as a plain list, most recent first.
    struct Cache {
        capacity: u64,
        list: Vec<(u64, u32)>,
    }

    impl Cache {
        fn access(&mut self, page: u64, bytes: u32) -> bool {
            let at = self.list.iter().position(|(p, _)| *p == page);
            if let Some(at) = at {
                self.list.remove(at);
            }
            self.list.insert(0, (page, bytes));
            while self.list.iter().map(|(_, b)| u64::from(*b)).sum::<u64>() > self.capacity {
                self.list.pop();
            }
            at.is_some()
        }
    }

    #[test]
    fn distances_of_the_example() {
        let mut stack = LruStack::new();
        let distances: Vec<_> = [1, 2, 3, 2, 1].iter().map(|page| stack.access(*page, 10)).collect();
        assert_eq!(distances, [None, None, None, Some(20), Some(30)]);
        assert_eq!((stack.pages(), stack.bytes()), (3, 30));
    }

    #[test]
    fn cache_for_a_ratio_is_the_smallest_one() {
        let mut curve = MissRatioCurve::new();
        for distance in [10, 20, 30, 40, 50, 60, 70, 80, 90] {
            curve.record(Some(distance), 10);
        }
        curve.record(None, 10);
        assert_eq!(curve.cache_for(0.5), Some(50));
        assert_eq!(curve.cache_for(0.9), Some(90));
        assert_eq!(curve.cache_for(0.95), None);
        assert_eq!(curve.hit_ratio(49), 0.4);
        assert_eq!(curve.bytes_missed(49), 60);
        assert_eq!(MissRatioCurve::new().cache_for(0.9), Some(0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Every access hits in a simulated cache exactly when its distance fits, across many
        /// compactions of the time axis.
        #[test]
        fn agrees_with_a_simulated_list(
            accesses in proptest::collection::vec((0u64..60, 0u8..4), 1..6000),
            capacity in 1u64..3000,
        ) {
            let mut stack = LruStack::new();
            let mut curve = MissRatioCurve::new();
            let mut cache = Cache { capacity, list: Vec::new() };
            let (mut hits, mut missed) = (0u64, 0u64);
            for (draw, shrink) in accesses {
                // Small numbers more often, and a size that depends on the page only.
                let page = draw >> shrink;
                let bytes = 16 + (page as u32 * 7) % 100;
                let distance = stack.access(page, bytes);
                curve.record(distance, bytes);
                let hit = cache.access(page, bytes);
                prop_assert_eq!(hit, distance.is_some_and(|d| d <= capacity));
                if hit { hits += 1 } else { missed += u64::from(bytes) }
            }
            let accesses = curve.accesses();
            prop_assert_eq!(curve.hit_ratio(capacity), hits as f64 / accesses as f64);
            prop_assert_eq!(curve.bytes_missed(capacity), missed);
        }
    }

    #[test]
    fn a_long_trace_keeps_the_time_axis_short() {
        let mut stack = LruStack::new();
        for i in 0..200_000u64 {
            stack.access(i % 3000, 64);
        }
        assert!(stack.axis.len() <= 6000, "{}", stack.axis.len());
        assert_eq!(stack.access(200_000 % 3000, 64), Some(3000 * 64));
    }
}
