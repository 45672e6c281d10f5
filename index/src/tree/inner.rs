//! The inner page: separators, children, and how many entries lie below each.
//!
//! With `n` children there are `n - 1` separators; child `i` holds the keys from separator `i - 1`
//! on and below separator `i`. A separator is the shortest string that tells its two sides apart
//! ([`separator`](super::cell::separator)), and the page's common prefix is taken out of all of
//! them, so that their first eight bytes, kept as numbers in an array of their own, decide nearly
//! every search.
//!
//! The counts make the rank of a key, and with it counts of ranges and skips, a sum over one page a
//! level.

use std::mem::size_of;
use std::sync::Arc;

use super::cell::{common, head};
use super::leaf::Leaf;
use super::node::Page;
use crate::page::PageId;

/// Bytes of an inner page besides its arrays: the struct and its two reference counts.
pub(super) const INNER_HEADER: usize = size_of::<Inner>() + 2 * size_of::<usize>();
/// Arrays grow by this many elements.
const GROWTH: usize = 8;

/// An inner page of a tree.
#[derive(Clone)]
pub(super) struct Inner {
    pub(super) id: PageId,
    /// Entries below this page: the sum of `counts`.
    pub(super) entries: u64,
    /// Common prefix of the separators.
    prefix: Vec<u8>,
    /// First bytes of each separator, after the prefix.
    heads: Vec<u64>,
    /// Where each separator ends in `separators`.
    ends: Vec<u32>,
    /// The separators, after the prefix, one behind the other.
    separators: Vec<u8>,
    /// Entries below each child.
    pub(super) counts: Vec<u64>,
    pub(super) children: Children,
}

/// All children of a page are of one kind: every leaf has the same depth.
#[derive(Clone)]
pub(super) enum Children {
    Leaves(Vec<Arc<Leaf>>),
    Inners(Vec<Arc<Inner>>),
}

impl Children {
    pub(super) fn len(&self) -> usize {
        match self {
            Children::Leaves(list) => list.len(),
            Children::Inners(list) => list.len(),
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Children::Leaves(list) => list.capacity(),
            Children::Inners(list) => list.capacity(),
        }
    }

    fn split_off(&mut self, at: usize) -> Children {
        match self {
            Children::Leaves(list) => Children::Leaves(list.split_off(at)),
            Children::Inners(list) => Children::Inners(list.split_off(at)),
        }
    }

    fn append(&mut self, other: &Children) {
        match (self, other) {
            (Children::Leaves(a), Children::Leaves(b)) => a.extend_from_slice(b),
            (Children::Inners(a), Children::Inners(b)) => a.extend_from_slice(b),
            _ => debug_assert!(false, "all children of a level are of one kind"),
        }
    }

    fn remove(&mut self, at: usize) {
        match self {
            Children::Leaves(list) => drop(list.remove(at)),
            Children::Inners(list) => drop(list.remove(at)),
        }
    }

    fn shrink_to_fit(&mut self) {
        match self {
            Children::Leaves(list) => list.shrink_to_fit(),
            Children::Inners(list) => list.shrink_to_fit(),
        }
    }
}

impl Inner {
    /// An inner page is not split with fewer children than this, however long its separators.
    pub(super) const SPLIT_CHILDREN_MIN: usize = 8;
    /// Bytes of a page with one child.
    pub(super) const BYTES_EMPTY: usize = INNER_HEADER + size_of::<u64>() + size_of::<usize>();
    /// Bytes that each further child takes, besides its separator.
    pub(super) const BYTES_PER_CHILD: usize = 3 * size_of::<u64>() + size_of::<u32>();

    /// A page with these children, told apart by these separators, one fewer.
    pub(super) fn new(id: PageId, separators: &[Vec<u8>], counts: Vec<u64>, children: Children) -> Inner {
        debug_assert!(separators.len() + 1 == counts.len() && counts.len() == children.len());
        let mut page = Inner {
            id,
            entries: counts.iter().sum(),
            prefix: Vec::new(),
            heads: Vec::new(),
            ends: Vec::new(),
            separators: Vec::new(),
            counts,
            children,
        };
        page.set_separators(separators);
        page.counts.shrink_to_fit();
        page.children.shrink_to_fit();
        page
    }

    /// A page over these pages.
    pub(super) fn over<P: Page>(separators: &[Vec<u8>], pages: Vec<Arc<P>>) -> Inner {
        let counts = pages.iter().map(|page| page.entries()).collect();
        Inner::new(PageId::fresh(), separators, counts, P::children(pages))
    }

    fn set_separators(&mut self, separators: &[Vec<u8>]) {
        let prefix_len = match (separators.first(), separators.last()) {
            (Some(first), Some(last)) => common(first, last),
            _ => 0,
        };
        self.prefix = separators.first().map_or(Vec::new(), |s| s[..prefix_len].to_vec());
        self.heads = separators.iter().map(|s| head(&s[prefix_len..])).collect();
        self.separators = Vec::with_capacity(separators.iter().map(|s| s.len() - prefix_len).sum());
        self.ends = Vec::with_capacity(separators.len());
        for separator in separators {
            self.separators.extend_from_slice(&separator[prefix_len..]);
            self.ends.push(self.separators.len() as u32);
        }
    }

    /// What the page occupies in memory.
    #[inline]
    pub(super) fn allocated(&self) -> usize {
        INNER_HEADER
            + self.prefix.capacity()
            + self.heads.capacity() * size_of::<u64>()
            + self.ends.capacity() * size_of::<u32>()
            + self.separators.capacity()
            + self.counts.capacity() * size_of::<u64>()
            + self.children.capacity() * size_of::<usize>()
    }

    /// What of that holds something.
    #[inline]
    pub(super) fn in_use(&self) -> usize {
        INNER_HEADER
            + self.prefix.len()
            + self.separators.len()
            + self.ends.len() * (size_of::<u64>() + size_of::<u32>())
            + self.counts.len() * (size_of::<u64>() + size_of::<usize>())
    }

    /// Children of this page.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Separator `i`, after the common prefix.
    fn suffix(&self, i: usize) -> &[u8] {
        let start = match i {
            0 => 0,
            _ => self.ends[i - 1] as usize,
        };
        &self.separators[start..self.ends[i] as usize]
    }

    /// Separator `i`, whole.
    pub(super) fn separator(&self, i: usize) -> Vec<u8> {
        [&self.prefix, self.suffix(i)].concat()
    }

    fn separators(&self) -> Vec<Vec<u8>> {
        (0..self.ends.len()).map(|i| self.separator(i)).collect()
    }

    /// The child that holds `key`, or would: how many separators are not above it.
    #[inline]
    pub(super) fn child_for(&self, key: &[u8]) -> usize {
        let Some(rest) = key.strip_prefix(&self.prefix[..]) else {
            return if key < &self.prefix[..] { 0 } else { self.heads.len() };
        };
        let key_head = head(rest);
        let at = self.heads.partition_point(|h| *h < key_head);
        if self.heads.get(at) != Some(&key_head) {
            return at;
        }
        let ties = self.heads[at..].partition_point(|h| *h == key_head);
        let (mut low, mut high) = (at, at + ties);
        while low < high {
            let middle = low.midpoint(high);
            if self.suffix(middle) <= rest {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Entries below the children before `child`.
    #[inline]
    pub(super) fn rank(&self, child: usize) -> u64 {
        self.counts[..child].iter().sum()
    }

    /// The child below which the entry of this rank lies, and its rank there; `rank` must be below
    /// [`Inner::entries`].
    pub(super) fn child_at_rank(&self, mut rank: u64) -> (usize, u64) {
        for (child, count) in self.counts.iter().enumerate() {
            if rank < *count {
                return (child, rank);
            }
            rank -= count;
        }
        (self.len() - 1, 0)
    }

    /// Takes in new pages before child `at`, each with the separator before it.
    pub(super) fn adopt<P: Page>(&mut self, at: usize, pages: Vec<(Vec<u8>, Arc<P>)>) {
        for (i, (separator, page)) in pages.into_iter().enumerate() {
            let at = at + i;
            reserve(&mut self.counts);
            self.counts.insert(at, page.entries());
            if let Some(list) = P::list(&mut self.children) {
                reserve(list);
                list.insert(at, page);
            }
            self.insert_separator(at - 1, &separator);
        }
    }

    fn insert_separator(&mut self, at: usize, separator: &[u8]) {
        let Some(suffix) = separator.strip_prefix(&self.prefix[..]) else {
            let mut all = self.separators();
            all.insert(at, separator.to_vec());
            self.set_separators(&all);
            return;
        };
        reserve(&mut self.heads);
        self.heads.insert(at, head(suffix));
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1],
        };
        let len = suffix.len();
        if self.separators.capacity() - self.separators.len() < len {
            self.separators.reserve_exact(len + GROWTH * GROWTH);
        }
        self.separators.splice(start as usize..start as usize, suffix.iter().copied());
        reserve(&mut self.ends);
        self.ends.insert(at, start);
        for end in &mut self.ends[at..] {
            *end += len as u32;
        }
    }

    /// Takes out a child together with the separator that told it apart.
    pub(super) fn remove_child(&mut self, child: usize) {
        self.counts.remove(child);
        self.children.remove(child);
        if self.heads.is_empty() {
            return;
        }
        let at = child.saturating_sub(1);
        let len = self.suffix(at).len();
        let end = self.ends[at] as usize;
        self.separators.drain(end - len..end);
        self.heads.remove(at);
        self.ends.remove(at);
        for end in &mut self.ends[at..] {
            *end -= len as u32;
        }
    }

    /// Whether the page should be split.
    pub(super) fn is_too_large(&self, inner_bytes: usize) -> bool {
        self.in_use() > inner_bytes && self.len() >= Self::SPLIT_CHILDREN_MIN
    }

    /// Moves the children from `at` on to a new page; also gives the separator between the two.
    pub(super) fn split_off(&mut self, at: usize) -> (Vec<u8>, Inner) {
        let mut separators = self.separators();
        let right_separators = separators.split_off(at);
        let between = separators.pop().unwrap_or_default();
        let right_counts = self.counts.split_off(at);
        let right_children = self.children.split_off(at);
        let right = Inner::new(PageId::fresh(), &right_separators, right_counts, right_children);
        self.set_separators(&separators);
        self.counts.shrink_to_fit();
        self.children.shrink_to_fit();
        self.entries = self.counts.iter().sum();
        (between, right)
    }

    /// This page and its right neighbour in one, under this page's id, if that fills no more than
    /// three quarters of a page.
    pub(super) fn merged_with(&self, separator: &[u8], right: &Inner, inner_bytes: usize) -> Option<Inner> {
        if self.in_use() + right.in_use() > inner_bytes * 3 / 4 {
            return None;
        }
        let mut separators = self.separators();
        separators.push(separator.to_vec());
        separators.extend(right.separators());
        let counts = [&self.counts[..], &right.counts[..]].concat();
        let mut children = self.children.clone();
        children.append(&right.children);
        Some(Inner::new(self.id, &separators, counts, children))
    }

    /// Whether the arrays agree with one another; for [`validate`](super::Tree::validate).
    pub(super) fn check_arrays(&self) -> Result<(), &'static str> {
        let n = self.counts.len();
        if n == 0 || self.children.len() != n || self.heads.len() + 1 != n || self.ends.len() + 1 != n {
            return Err("children, counts and separators differ in number");
        }
        let mut start = 0;
        for (end, stored_head) in self.ends.iter().zip(&self.heads) {
            let suffix = self.separators.get(start..*end as usize);
            let suffix = suffix.ok_or("a separator lies outside its page")?;
            if head(suffix) != *stored_head {
                return Err("a head is not that of its separator");
            }
            start = *end as usize;
        }
        if start != self.separators.len() {
            return Err("bytes follow the last separator");
        }
        Ok(())
    }

    /// Gives back what a page that lost many children does not use.
    pub(super) fn shrink(&mut self) {
        if self.in_use() * 2 < self.allocated() {
            let separators = self.separators();
            self.set_separators(&separators);
            self.counts.shrink_to_fit();
            self.children.shrink_to_fit();
        }
    }
}

/// Room for one more, without the doubling that `Vec` would do.
fn reserve<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(GROWTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(separators: &[&[u8]]) -> Inner {
        let separators: Vec<Vec<u8>> = separators.iter().map(|s| s.to_vec()).collect();
        let pages = (0..=separators.len()).map(|_| Arc::new(Leaf::empty(PageId::fresh()))).collect();
        Inner::over(&separators, pages)
    }

    #[test]
    fn a_key_goes_right_of_every_separator_not_above_it() {
        let list: [&[u8]; 6] = [b"aa", b"aab", b"aabbbbbbbbbb", b"aabbbbbbbbbbc", b"aac", b"ab"];
        let page = page(&list);
        let probes: [&[u8]; 8] = [b"", b"a", b"aa", b"aab", b"aabbbbbbbbbb", b"aabbbbbbbbbbcc", b"ab", b"b"];
        for probe in probes {
            let expected = list.iter().filter(|s| **s <= probe).count();
            assert_eq!(page.child_for(probe), expected, "{probe:?}");
        }
    }

    #[test]
    fn separators_survive_insertion_outside_the_common_prefix_and_removal() {
        let mut page = page(&[b"ab", b"ac"]);
        page.adopt(1, vec![(b"Z".to_vec(), Arc::new(Leaf::empty(PageId::fresh())))]);
        page.adopt(4, vec![(b"b".to_vec(), Arc::new(Leaf::empty(PageId::fresh())))]);
        assert_eq!(page.separators(), [&b"Z"[..], b"ab", b"ac", b"b"]);
        page.remove_child(2);
        assert_eq!(page.separators(), [&b"Z"[..], b"ac", b"b"]);
        page.remove_child(0);
        assert_eq!(page.separators(), [&b"ac"[..], b"b"]);
        let (between, right) = page.split_off(2);
        assert_eq!((page.separators(), between, right.separators()), (vec![b"ac".to_vec()], b"b".to_vec(), vec![]));
    }
}
