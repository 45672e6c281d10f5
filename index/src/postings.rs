//! Sets of record ids: what an index scan found, when its order does not matter.
//!
//! A [`RecordSet`] is compressed (`roaring`): ids are dense, so a set costs two bytes per id or less.
//! Several scans are intersected (attributes ANDed) or united (`$or`) before any document is
//! read, a multikey scan drops ids it has already given, and documents are then fetched in the order
//! of their ids, which is the order of their pages. A scan whose order is asked for does not go
//! through a set.

use std::fmt;
use std::ops::RangeBounds;

use roaring::RoaringTreemap;

use crate::page::{PageId, RecordId};

/// A set of [`RecordId`]s.
#[derive(Clone, Default, PartialEq)]
pub struct RecordSet {
    ids: RoaringTreemap,
}

impl RecordSet {
    /// The empty set.
    pub fn new() -> RecordSet {
        RecordSet::default()
    }

    /// Adds `rid`; whether it was not in the set.
    #[inline]
    pub fn insert(&mut self, rid: RecordId) -> bool {
        self.ids.insert(rid.0)
    }

    /// Takes `rid` out; whether it was in the set.
    pub fn remove(&mut self, rid: RecordId) -> bool {
        self.ids.remove(rid.0)
    }

    /// Whether `rid` is in the set.
    #[inline]
    pub fn contains(&self, rid: RecordId) -> bool {
        self.ids.contains(rid.0)
    }

    /// Record ids in the set.
    pub fn len(&self) -> u64 {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The lowest id.
    pub fn first(&self) -> Option<RecordId> {
        self.ids.min().map(RecordId)
    }

    /// The highest id.
    pub fn last(&self) -> Option<RecordId> {
        self.ids.max().map(RecordId)
    }

    /// Keeps only what is also in `other`.
    pub fn intersect(&mut self, other: &RecordSet) {
        self.ids &= &other.ids;
    }

    /// Adds all of `other`.
    pub fn unite(&mut self, other: &RecordSet) {
        self.ids |= &other.ids;
    }

    /// Takes out all of `other`.
    pub fn subtract(&mut self, other: &RecordSet) {
        self.ids -= &other.ids;
    }

    /// How many ids are in both sets, without building their intersection.
    pub fn intersection_len(&self, other: &RecordSet) -> u64 {
        self.ids.intersection_len(&other.ids)
    }

    /// The intersection of all `sets`, the smallest first, so that each step works on little; empty
    /// if there are none.
    pub fn intersection(mut sets: Vec<RecordSet>) -> RecordSet {
        sets.sort_by_key(RecordSet::len);
        let mut sets = sets.into_iter();
        let mut all = sets.next().unwrap_or_default();
        for set in sets {
            if all.is_empty() {
                break;
            }
            all.intersect(&set);
        }
        all
    }

    /// The union of all `sets`.
    pub fn union(sets: impl IntoIterator<Item = RecordSet>) -> RecordSet {
        let mut sets = sets.into_iter();
        let mut all = sets.next().unwrap_or_default();
        for set in sets {
            all.ids |= set.ids;
        }
        all
    }

    /// How many ids lie in `range`.
    pub fn count_in(&self, range: impl RangeBounds<u64>) -> u64 {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let below = match range.start_bound() {
            Unbounded | Included(0) => 0,
            Included(start) => self.ids.rank(start - 1),
            Excluded(start) => self.ids.rank(*start),
        };
        let up_to = match range.end_bound() {
            Unbounded => self.ids.len(),
            Included(end) => self.ids.rank(*end),
            Excluded(0) => 0,
            Excluded(end) => self.ids.rank(end - 1),
        };
        up_to.saturating_sub(below)
    }

    /// The ids, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RecordId> + '_ {
        self.ids.iter().map(RecordId)
    }

    /// Bytes of the set: its containers as they are serialised, which is what they hold in memory
    /// but for allocation slack.
    pub fn memory_bytes(&self) -> usize {
        size_of::<RecordSet>() + self.ids.serialized_size()
    }
}

impl IntoIterator for RecordSet {
    type Item = RecordId;
    type IntoIter = std::iter::Map<roaring::treemap::IntoIter, fn(u64) -> RecordId>;

    /// The ids, ascending; the set is taken along (for a cursor that outlives its query).
    fn into_iter(self) -> Self::IntoIter {
        self.ids.into_iter().map(RecordId)
    }
}

impl FromIterator<RecordId> for RecordSet {
    fn from_iter<I: IntoIterator<Item = RecordId>>(rids: I) -> RecordSet {
        RecordSet { ids: rids.into_iter().map(|rid| rid.0).collect() }
    }
}

impl Extend<RecordId> for RecordSet {
    fn extend<I: IntoIterator<Item = RecordId>>(&mut self, rids: I) {
        self.ids.extend(rids.into_iter().map(|rid| rid.0));
    }
}

impl fmt::Debug for RecordSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A set of [`PageId`]s: the pages that an operation or a workload touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageSet {
    ids: RoaringTreemap,
}

impl PageSet {
    /// The empty set.
    pub fn new() -> PageSet {
        PageSet::default()
    }

    /// Adds `page`; whether it was not in the set.
    #[inline]
    pub fn insert(&mut self, page: PageId) -> bool {
        self.ids.insert(page.0)
    }

    /// Whether `page` is in the set.
    pub fn contains(&self, page: PageId) -> bool {
        self.ids.contains(page.0)
    }

    /// Pages in the set.
    pub fn len(&self) -> u64 {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds all of `other`.
    pub fn unite(&mut self, other: &PageSet) {
        self.ids |= &other.ids;
    }

    /// The pages, by ascending id.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = PageId> + '_ {
        self.ids.iter().map(PageId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: impl IntoIterator<Item = u64>) -> RecordSet {
        ids.into_iter().map(RecordId).collect()
    }

    #[test]
    fn sets_intersect_unite_and_subtract() {
        let (threes, fives) = (set((0..1000).step_by(3)), set((0..1000).step_by(5)));
        let mut both = threes.clone();
        both.intersect(&fives);
        assert_eq!(both, set((0..1000).step_by(15)));
        assert_eq!(threes.intersection_len(&fives), both.len());
        let mut either = threes.clone();
        either.unite(&fives);
        assert_eq!(either.len(), threes.len() + fives.len() - both.len());
        either.subtract(&fives);
        assert_eq!(either, set((0..1000).filter(|id| id % 3 == 0 && id % 5 != 0)));
        let fours = set((0..1000).step_by(4));
        assert_eq!(RecordSet::intersection(vec![threes.clone(), fives.clone(), fours]), set((0..1000).step_by(60)));
        assert_eq!(RecordSet::intersection(vec![]), RecordSet::new());
        assert_eq!(RecordSet::union([set([1, 2]), set([2, 9])]), set([1, 2, 9]));
    }

    #[test]
    fn ids_beyond_32_bits_keep_their_order() {
        let mut ids = RecordSet::new();
        for id in [7, 1 << 40, 3, u64::MAX, 1 << 33] {
            assert!(ids.insert(RecordId(id)));
            assert!(!ids.insert(RecordId(id)));
        }
        let sorted = [3, 7, 1 << 33, 1 << 40, u64::MAX].map(RecordId);
        assert_eq!(ids.iter().collect::<Vec<_>>(), sorted);
        assert_eq!(ids.clone().into_iter().collect::<Vec<_>>(), sorted);
        assert_eq!((ids.first(), ids.last()), (Some(RecordId(3)), Some(RecordId(u64::MAX))));
        assert_eq!(ids.count_in(..), 5);
        assert_eq!(ids.count_in(0..7), 1);
        assert_eq!(ids.count_in(7..=1 << 33), 2);
        assert!(ids.remove(RecordId(7)) && !ids.contains(RecordId(7)));
    }

    #[test]
    fn dense_sets_cost_little() {
        assert!(set(0..1_000_000).memory_bytes() < 2_100_000);
    }

    #[test]
    fn pages_are_counted_once() {
        let mut pages = PageSet::new();
        assert!(pages.insert(PageId(5)) && !pages.insert(PageId(5)) && pages.insert(PageId(2)));
        assert_eq!(pages.iter().collect::<Vec<_>>(), [PageId(2), PageId(5)]);
        assert!(pages.contains(PageId(2)) && pages.len() == 2 && !pages.is_empty());
    }
}
