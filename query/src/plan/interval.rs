//! The algebra of intervals of values: intersection, union, complement.
//!
//! All lists here are ascending and disjoint; bounds of descending fields are turned around at the very end
//! ([`reverse`]).

use std::cmp::Ordering;

use bindery_document::{OwnedValue, Value, order};

use super::bounds::Interval;
use crate::collation::Collation;

/// The order in which values lie: MongoDB's, with strings by the index's collation.
#[derive(Clone, Copy)]
pub(super) struct Axis<'a> {
    pub(super) collation: Option<&'a Collation>,
}

impl Axis<'_> {
    pub(super) fn compare(&self, a: &OwnedValue, b: &OwnedValue) -> Ordering {
        match self.collation {
            None => order::compare(&a.value(), &b.value()),
            Some(collation) => {
                order::compare_with(&a.value(), &b.value(), &|x: &[u8], y: &[u8]| collation.compare(x, y))
            }
        }
    }

    /// Which of two starts lies further on; of equal ones the exclusive one does.
    fn compare_starts(&self, a: &Interval, b: &Interval) -> Ordering {
        self.compare(&a.start, &b.start).then(b.start_inclusive.cmp(&a.start_inclusive))
    }

    /// Which of two ends lies further on; of equal ones the inclusive one does.
    fn compare_ends(&self, a: &Interval, b: &Interval) -> Ordering {
        self.compare(&a.end, &b.end).then(a.end_inclusive.cmp(&b.end_inclusive))
    }

    /// Whether there is any value in it.
    fn is_inhabited(&self, interval: &Interval) -> bool {
        match self.compare(&interval.start, &interval.end) {
            Ordering::Less => true,
            Ordering::Equal => interval.start_inclusive && interval.end_inclusive,
            Ordering::Greater => false,
        }
    }

    /// What lies in both lists.
    pub(super) fn intersect(&self, a: &[Interval], b: &[Interval]) -> Vec<Interval> {
        let mut both = Vec::new();
        let (mut i, mut j) = (0, 0);
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            let from = if self.compare_starts(x, y).is_ge() { x } else { y };
            let x_ends_first = self.compare_ends(x, y).is_le();
            let to = if x_ends_first { x } else { y };
            let overlap = Interval {
                start: from.start.clone(),
                start_inclusive: from.start_inclusive,
                end: to.end.clone(),
                end_inclusive: to.end_inclusive,
            };
            if self.is_inhabited(&overlap) {
                both.push(overlap);
            }
            if x_ends_first {
                i += 1;
            } else {
                j += 1;
            }
        }
        both
    }

    /// Sorts, drops what is empty, and joins what overlaps or touches.
    pub(super) fn unite(&self, mut intervals: Vec<Interval>) -> Vec<Interval> {
        intervals.retain(|interval| self.is_inhabited(interval));
        intervals.sort_by(|a, b| self.compare_starts(a, b));
        let mut united: Vec<Interval> = Vec::with_capacity(intervals.len());
        for next in intervals {
            match united.last_mut() {
                Some(last) if self.touches(last, &next) => {
                    if self.compare_ends(&next, last).is_gt() {
                        last.end = next.end;
                        last.end_inclusive = next.end_inclusive;
                    }
                }
                _ => united.push(next),
            }
        }
        united
    }

    /// Whether an interval that starts no earlier leaves no gap.
    fn touches(&self, first: &Interval, second: &Interval) -> bool {
        match self.compare(&first.end, &second.start) {
            Ordering::Greater => true,
            Ordering::Equal => first.end_inclusive || second.start_inclusive,
            Ordering::Less => false,
        }
    }

    /// What lies in none of them.
    pub(super) fn complement(&self, intervals: &[Interval]) -> Vec<Interval> {
        let mut gaps = Vec::new();
        let mut start = OwnedValue::new(Value::MinKey);
        let mut start_inclusive = true;
        for interval in intervals {
            gaps.push(Interval {
                start,
                start_inclusive,
                end: interval.start.clone(),
                end_inclusive: !interval.start_inclusive,
            });
            start = interval.end.clone();
            start_inclusive = !interval.end_inclusive;
        }
        let end = OwnedValue::new(Value::MaxKey);
        gaps.push(Interval { start, start_inclusive, end, end_inclusive: true });
        gaps.retain(|gap| self.is_inhabited(gap));
        gaps
    }
}

/// Every value.
pub(super) fn whole() -> Vec<Interval> {
    vec![between(Value::MinKey, true, Value::MaxKey, true)]
}

/// The values between two.
pub(super) fn between(start: Value<'_>, start_inclusive: bool, end: Value<'_>, end_inclusive: bool) -> Interval {
    Interval { start: OwnedValue::new(start), start_inclusive, end: OwnedValue::new(end), end_inclusive }
}

/// The same intervals, from the greatest value to the least.
pub(super) fn reverse(intervals: &mut [Interval]) {
    intervals.reverse();
    for interval in intervals {
        std::mem::swap(&mut interval.start, &mut interval.end);
        std::mem::swap(&mut interval.start_inclusive, &mut interval.end_inclusive);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis<'static> = Axis { collation: None };

    fn list(ends: &[(i32, bool, i32, bool)]) -> Vec<Interval> {
        ends.iter().map(|&(a, ai, b, bi)| between(Value::Int32(a), ai, Value::Int32(b), bi)).collect()
    }

    fn holds(intervals: &[Interval], n: f64) -> bool {
        let n = OwnedValue::new(Value::Double(n));
        intervals.iter().any(|i| {
            let (low, high) = (AXIS.compare(&i.start, &n), AXIS.compare(&i.end, &n));
            (low.is_lt() || low.is_eq() && i.start_inclusive) && (high.is_gt() || high.is_eq() && i.end_inclusive)
        })
    }

    #[test]
    fn algebra_agrees_with_membership() {
        let lists = [
            list(&[(1, true, 3, false), (5, true, 5, true)]),
            list(&[(2, false, 5, false)]),
            list(&[(0, true, 1, false), (3, false, 9, true)]),
            list(&[]),
            whole(),
        ];
        let points: Vec<f64> = (0..21).map(|n| f64::from(n) / 2.0).collect();
        for a in &lists {
            for &point in &points {
                assert_eq!(holds(&AXIS.complement(a), point), !holds(a, point));
            }
            for b in &lists {
                let both = AXIS.intersect(a, b);
                let either = AXIS.unite(a.iter().chain(b).cloned().collect());
                for &point in &points {
                    assert_eq!(holds(&both, point), holds(a, point) && holds(b, point));
                    assert_eq!(holds(&either, point), holds(a, point) || holds(b, point));
                }
            }
        }
    }

    #[test]
    fn touching_intervals_become_one() {
        assert_eq!(AXIS.unite(list(&[(1, true, 2, false), (2, true, 3, true)])).len(), 1);
        assert_eq!(AXIS.unite(list(&[(1, true, 2, false), (2, false, 3, true)])).len(), 2);
    }
}
