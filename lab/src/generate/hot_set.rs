//! Which of many things is asked for: some far more often than others.

use super::Random;

/// Picks from `0..n`, in proportion to given weights or by Zipf's law with exponent 1: the thing of rank r
/// is asked for 1/r as often as the first. Ranks are dealt at random, so that the hot ones lie scattered in storage, as they do
/// where nobody planned for them.
#[derive(Clone, Debug)]
pub struct HotSet {
    /// `cumulative[r]` is the sum of the weights of ranks `0..=r`: 1, 1/2, 1/3, ... unless they were given.
    cumulative: Vec<f64>,
    by_rank: Vec<u32>,
}

impl HotSet {
    /// A hot set over `0..n`.
    pub fn new(n: usize, random: &mut Random) -> HotSet {
        let mut by_rank: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut by_rank);
        HotSet::ranked(by_rank)
    }

    /// A hot set over the given things, the first the hottest.
    pub fn ranked(by_rank: Vec<u32>) -> HotSet {
        let mut sum = 0.0;
        let cumulative = (1..=by_rank.len())
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        HotSet { cumulative, by_rank }
    }

    /// A hot set over `0..weights.len()`, each asked for in proportion to its weight.
    pub fn weighted(weights: impl Iterator<Item = u64>) -> HotSet {
        let mut sum = 0.0;
        let cumulative: Vec<f64> = weights
            .map(|weight| {
                sum += weight as f64;
                sum
            })
            .collect();
        HotSet { by_rank: (0..cumulative.len() as u32).collect(), cumulative }
    }

    /// One of the things; 0 if there are none.
    pub fn pick(&self, random: &mut Random) -> usize {
        let Some(total) = self.cumulative.last() else { return 0 };
        let at = random.unit() * total;
        let rank = self.cumulative.partition_point(|sum| *sum <= at);
        self.by_rank[rank.min(self.by_rank.len() - 1)] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rank_is_asked_for_most() {
        let mut random = Random::new(1);
        let hot = HotSet::ranked((0..100).collect());
        let mut seen = [0u32; 100];
        for _ in 0..100_000 {
            seen[hot.pick(&mut random)] += 1;
        }
        // Weights 1 and 1/10 of a sum of 5.187.
        assert!((18_500..20_100).contains(&seen[0]), "{}", seen[0]);
        assert!((1_700..2_200).contains(&seen[9]), "{}", seen[9]);
        assert!(seen.iter().all(|n| *n > 0));
    }

    #[test]
    fn weights_are_proportions() {
        let mut random = Random::new(1);
        let hot = HotSet::weighted([1, 0, 9].into_iter());
        let mut seen = [0u32; 3];
        for _ in 0..10_000 {
            seen[hot.pick(&mut random)] += 1;
        }
        assert!((900..1_100).contains(&seen[0]) && seen[1] == 0, "{seen:?}");
        assert_eq!(HotSet::weighted(std::iter::empty()).pick(&mut random), 0);
    }
}
