//! Latencies of one kind of operation.

use serde::Serialize;

/// The distribution of some durations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// How many were timed.
    pub n: u64,
    /// A quarter took no longer, in microseconds.
    pub first_quartile_us: f64,
    /// Half took no longer, in microseconds.
    pub median_us: f64,
    /// Three quarters took no longer, in microseconds.
    pub third_quartile_us: f64,
    /// 99 of 100 took no longer, in microseconds; the longest where fewer than 100 were timed.
    pub p99_us: f64,
}

impl Latency {
    /// Of durations in nanoseconds; `None` if there are none.
    pub(super) fn of(mut durations_ns: Vec<u64>) -> Option<Latency> {
        durations_ns.sort_unstable();
        let n = durations_ns.len();
        let at = |share: f64| {
            let rank = (share * n as f64).ceil().max(1.0) as usize;
            durations_ns.get(rank - 1).map(|ns| *ns as f64 / 1000.0)
        };
        Some(Latency {
            n: n as u64,
            first_quartile_us: at(0.25)?,
            median_us: at(0.5)?,
            third_quartile_us: at(0.75)?,
            p99_us: at(0.99)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_from_one() {
        let latency = Latency::of((1..=200).map(|n| n * 1000).collect()).expect("some");
        assert_eq!((latency.n, latency.median_us, latency.p99_us), (200, 100.0, 198.0));
        assert_eq!((latency.first_quartile_us, latency.third_quartile_us), (50.0, 150.0));
        let few = Latency::of(vec![7000, 5000]).expect("some");
        assert_eq!((few.median_us, few.p99_us), (5.0, 7.0));
        assert!(Latency::of(Vec::new()).is_none());
    }
}
