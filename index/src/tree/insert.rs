//! Inserting an entry: down to its leaf, copying what a snapshot still holds, and back up with the
//! pages that splits have added.
//!
//! Where a full page is split depends on what came before:
//! - behind the last key of the tree, or behind everything in a page that is being filled in
//!   order: the page stays full and the key opens a new one;
//! - in order, but in the middle of a page: behind the key, so that what follows finds room there;
//! - against the order: before the key;
//! - otherwise in the middle.
//!
//! So each of several ascending sequences (one per sensor, say) leaves full pages behind, not only
//! the one at the tree's right edge.

use std::cmp::Ordering;
use std::sync::Arc;

use super::cell::{common, separator};
use super::edit::{Scratch, Step};
use super::inner::{Children, Inner};
use super::leaf::{Leaf, Place};
use super::node::Page;
use super::options::Limits;
use super::search::{touch_inner, touch_leaf};
use super::{Node, Tree};
use crate::page::{PageId, PageKind, PageVisitor, TreeStats};

/// Inserts in a row that count as a sequential load.
const SEQUENTIAL: i32 = 8;
/// A longer key is not remembered as the tree's last.
const LAST_KEY_MAX: usize = 1024;
/// The bodies of pages that a single large entry forces apart may exceed the page meanwhile.
const UNBOUNDED: usize = 200 << 10;

/// Pages that a split has added to the right of the page it worked on, each with the separator
/// before it.
type Siblings<P> = Vec<(Vec<u8>, Arc<P>)>;

/// What becomes of an entry that is already there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfPresent {
    Replace,
    Keep,
    /// Nothing is done either if the entry before the new one begins with as many of its bytes, or is out of sight.
    Doubt {
        key_len: usize,
    },
}

/// One insert on its way through the tree.
struct Insertion<'a, V> {
    key: &'a [u8],
    value: &'a [u8],
    if_present: IfPresent,
    /// The tree's last key and how many bytes the new one shares with it, if the new one is above.
    above: Option<(&'a [u8], usize)>,
    limits: &'a Limits,
    stats: &'a mut TreeStats,
    scratch: &'a mut Scratch,
    visitor: &'a mut V,
    /// The way down has kept to the left edge of the tree.
    leftmost: bool,
    added: bool,
    changed: bool,
    /// The entry is now the tree's last.
    at_end: bool,
}

impl Tree {
    /// Adds an entry, or replaces the value under its key; whether the key is new. Writes are told
    /// to the visitor as [`dirty`](PageVisitor::dirty): the leaf, and the inner pages whose counts
    /// change with it.
    pub fn insert(&mut self, key: &[u8], value: &[u8], visitor: &mut impl PageVisitor) -> bool {
        self.put(key, value, IfPresent::Replace, visitor)
    }

    /// Adds an entry unless its key is there already, in one descent; whether it was added.
    pub fn insert_if_absent(&mut self, key: &[u8], value: &[u8], visitor: &mut impl PageVisitor) -> bool {
        self.put(key, value, IfPresent::Keep, visitor)
    }

    /// Adds an entry in one descent if the entry before it surely does not begin with the same `key_len` bytes, and it is
    /// not there itself. `false`, and nothing changed, if it does or if its page does not tell; that is seldom.
    ///
    /// Where entries are keys with ascending record ids behind them, and this id is the highest, it so adds keys that
    /// no other record has.
    pub fn insert_if_distinct(
        &mut self,
        entry: &[u8],
        key_len: usize,
        value: &[u8],
        visitor: &mut impl PageVisitor,
    ) -> bool {
        self.put(entry, value, IfPresent::Doubt { key_len }, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8], if_present: IfPresent, visitor: &mut impl PageVisitor) -> bool {
        let above = self.last_key.as_deref().and_then(|last| {
            let shared = common(last, key);
            let is_above = match (last.get(shared), key.get(shared)) {
                (last, Some(key)) => last.is_none_or(|last| last < key),
                (_, None) => false,
            };
            is_above.then_some((last, shared))
        });
        if let (IfPresent::Doubt { key_len }, Some((_, shared))) = (if_present, above)
            && shared >= key_len
        {
            return false;
        }
        let appended = above.is_some();
        let mut insertion = Insertion {
            key,
            value,
            if_present,
            above,
            limits: &self.limits,
            stats: &mut self.stats,
            scratch: &mut self.scratch,
            visitor,
            leftmost: true,
            added: false,
            changed: false,
            at_end: false,
        };
        match &mut self.root {
            Node::Leaf(leaf) => {
                let siblings = insertion.insert_into_leaf(leaf, true);
                if !siblings.is_empty() {
                    let root = insertion.root_over(Arc::clone(leaf), siblings);
                    self.root = root;
                }
            }
            Node::Inner(inner) => {
                let siblings = insertion.insert_into_inner(inner, true);
                if !siblings.is_empty() {
                    let root = insertion.root_over(Arc::clone(inner), siblings);
                    self.root = root;
                }
            }
        }
        let (added, at_end) = (insertion.added, insertion.at_end);
        self.stats.entries += u64::from(added);
        if added && (appended || at_end) {
            if key.len() > LAST_KEY_MAX {
                self.last_key = None;
            } else {
                let last = self.last_key.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
            }
        }
        added
    }
}

impl<V: PageVisitor> Insertion<'_, V> {
    /// A new root over the old one and its new siblings.
    fn root_over<P: Page>(&mut self, old: Arc<P>, siblings: Siblings<P>) -> Node {
        let mut separators = Vec::with_capacity(siblings.len());
        let mut pages = vec![old];
        for (separator, page) in siblings {
            separators.push(separator);
            pages.push(page);
        }
        let root = Inner::over(&separators, pages);
        self.stats.height += 1;
        root.count(self.stats);
        self.visitor.dirty(root.id, PageKind::Inner, root.allocated() as u32);
        Node::Inner(Arc::new(root))
    }

    fn insert_into_inner(&mut self, page: &mut Arc<Inner>, rightmost: bool) -> Siblings<Inner> {
        touch_inner(page, self.visitor);
        let inner = self.own(page);
        let last = inner.len() - 1;
        let child = match self.above {
            Some(_) => last,
            None => inner.child_for(self.key),
        };
        let rightmost = rightmost && child == last;
        self.leftmost &= child == 0;
        let siblings = match &mut inner.children {
            Children::Leaves(list) => {
                let siblings = self.insert_into_leaf(&mut list[child], rightmost);
                inner.counts[child] = list[child].entries();
                self.adopt(inner, child, siblings, rightmost)
            }
            Children::Inners(list) => {
                let siblings = self.insert_into_inner(&mut list[child], rightmost);
                inner.counts[child] = list[child].entries();
                self.adopt(inner, child, siblings, rightmost)
            }
        };
        if self.added {
            self.visitor.dirty(inner.id, PageKind::Inner, inner.allocated() as u32);
        }
        siblings
    }

    /// The page to write to: itself if no snapshot holds it, else a copy in its place.
    fn own<'p>(&mut self, page: &'p mut Arc<Inner>) -> &'p mut Inner {
        if Arc::strong_count(page) == 1 {
            return Arc::make_mut(page);
        }
        // A copy may be allocated tighter.
        page.uncount(self.stats);
        let inner = Arc::make_mut(page);
        inner.count(self.stats);
        inner
    }

    /// Takes in pages that a child was split into; gives the page that this makes necessary.
    fn adopt<P: Page>(
        &mut self,
        inner: &mut Inner,
        child: usize,
        pages: Siblings<P>,
        rightmost: bool,
    ) -> Siblings<Inner> {
        let mut siblings = Vec::new();
        if pages.is_empty() {
            inner.entries += u64::from(self.added);
            return siblings;
        }
        inner.uncount(self.stats);
        inner.adopt(child + 1, pages);
        inner.entries += u64::from(self.added);
        if inner.is_too_large(self.limits.inner_bytes) {
            let at = match rightmost {
                true => inner.len() - 1,
                false => inner.len() / 2,
            };
            let (separator, right) = inner.split_off(at);
            right.count(self.stats);
            self.visitor.dirty(right.id, PageKind::Inner, right.allocated() as u32);
            siblings.push((separator, Arc::new(right)));
        }
        inner.count(self.stats);
        siblings
    }

    fn insert_into_leaf(&mut self, page: &mut Arc<Leaf>, rightmost: bool) -> Siblings<Leaf> {
        touch_leaf(page, self.visitor);
        page.uncount(self.stats);
        let leaf = Arc::make_mut(page);
        let mut siblings = Vec::new();
        if self.key.len() + self.value.len() > self.limits.entry_max {
            self.place_alone(leaf, &mut siblings);
        } else if let Some((last, shared)) = self.above {
            let step = leaf.append(self.key, self.value, last, shared, self.limits, self.scratch);
            match step {
                Step::Done => self.note_added(),
                _ => {
                    self.open_right(leaf, &mut siblings, true);
                }
            }
        } else {
            self.place(leaf, &mut siblings, rightmost);
        }
        for page in std::iter::once(&*leaf).chain(siblings.iter().map(|(_, page)| &**page)) {
            page.count(self.stats);
            if self.changed {
                self.visitor.dirty(page.id, PageKind::IndexLeaf, page.allocated() as u32);
            }
        }
        siblings
    }

    /// Whether the entry before the place may begin as the new one does, if that matters.
    fn is_doubtful(&self, leaf: &Leaf, place: &Place) -> bool {
        let IfPresent::Doubt { key_len } = self.if_present else { return false };
        if place.exact || (place.run == 0 && place.cell == 0) {
            return place.exact || !self.leftmost;
        }
        let prefix = leaf.prefix();
        let in_prefix = common(prefix, self.key);
        let behind = if in_prefix == prefix.len() { place.prev_shared } else { 0 };
        in_prefix + behind >= key_len
    }

    fn note_added(&mut self) {
        self.added = true;
        self.changed = true;
    }

    /// Adds the entry to this page or to one split off it.
    fn place(&mut self, leaf: &mut Leaf, siblings: &mut Siblings<Leaf>, rightmost: bool) {
        let found = leaf.locate(self.key);
        if self.is_doubtful(leaf, &found) {
            return;
        }
        let mut replaced = false;
        if found.exact {
            if self.if_present == IfPresent::Keep {
                return;
            }
            self.changed = true;
            if leaf.overwrite(&found, self.value) {
                return;
            }
            leaf.remove_at(&found, self.limits, self.scratch);
            replaced = true;
        }
        let known = (!replaced).then_some(found);
        self.add(leaf, known, siblings, rightmost);
        self.added = !replaced;
        if self.at_end && replaced {
            self.at_end = false;
        }
    }

    /// [`Self::place`] for a key that the page does not hold, with its place if that is known.
    fn add(&mut self, leaf: &mut Leaf, known: Option<Place>, siblings: &mut Siblings<Leaf>, rightmost: bool) {
        let behind_all =
            |leaf: &Leaf, place: &Place| place.run + 1 == leaf.runs() && place.cell == leaf.slot(place.run).count;
        let place = match leaf.insert(self.key, self.value, known, self.limits, self.scratch) {
            Step::Done => {
                self.at_end = rightmost && leaf.is_last_insert_at_end();
                return self.note_added();
            }
            Step::FullBehind => return self.open_right(leaf, siblings, rightmost),
            Step::FullBefore => return self.open_left(leaf, siblings),
            Step::Full(place) => place,
        };
        let before_all = place.run == 0 && place.cell == 0;
        let ascending = leaf.streak >= SEQUENTIAL;
        let descending = leaf.streak <= -SEQUENTIAL;
        let cut = if behind_all(leaf, &place) {
            match rightmost || ascending || leaf.runs() < 2 {
                true => return self.open_right(leaf, siblings, rightmost),
                false => leaf.middle_run(),
            }
        } else if before_all {
            match descending || leaf.runs() < 2 {
                true => return self.open_left(leaf, siblings),
                false => leaf.middle_run(),
            }
        } else if ascending && place.run + 1 < leaf.runs() {
            Some(place.run + 1)
        } else if descending && place.run > 0 {
            Some(place.run)
        } else {
            leaf.middle_run()
        };
        match cut {
            Some(cut) => {
                let (separator, mut right) = self.cut(leaf, cut);
                let mut rights = Vec::new();
                match self.key.cmp(&separator[..]) {
                    Ordering::Less => self.add(leaf, None, siblings, false),
                    _ => self.add(&mut right, None, &mut rights, rightmost),
                }
                siblings.push((separator, Arc::new(right)));
                siblings.append(&mut rights);
            }
            // One run, and the key belongs inside it.
            None => self.add_beside(leaf, siblings, &place),
        }
    }

    /// Splits the page before a run.
    fn cut(&mut self, leaf: &mut Leaf, run: usize) -> (Vec<u8>, Leaf) {
        let right = leaf.split_off(run, self.limits);
        (separator(&leaf.last_key(), &right.first_key()), right)
    }

    /// Leaves the page as it is and opens one to its right for the entry, whose key is behind all.
    fn open_right(&mut self, leaf: &mut Leaf, siblings: &mut Siblings<Leaf>, rightmost: bool) {
        let last = leaf.last_key();
        let shared = common(&last, self.key).min(self.limits.prefix_max);
        // The page at the tree's right edge is going to be filled.
        let body_bytes = match rightmost {
            true => self.limits.body_max,
            false => 0,
        };
        let mut right = Leaf::single(PageId::fresh(), self.key, self.value, shared, body_bytes);
        right.streak = leaf.streak.max(0);
        siblings.push((separator(&last, self.key), Arc::new(right)));
        leaf.trim(self.limits);
        self.at_end = rightmost;
        self.note_added();
    }

    /// The same to its left, for a key before all.
    fn open_left(&mut self, leaf: &mut Leaf, siblings: &mut Siblings<Leaf>) {
        let first = leaf.first_key();
        let shared = common(&first, self.key).min(self.limits.prefix_max);
        let mut left = Leaf::single(PageId::fresh(), self.key, self.value, shared, 0);
        left.streak = leaf.streak.min(0);
        leaf.trim(self.limits);
        let right = std::mem::replace(leaf, left);
        siblings.push((separator(self.key, &first), Arc::new(right)));
        self.note_added();
    }

    /// Adds the entry to a page of its own between what lies before and behind it.
    fn place_alone(&mut self, leaf: &mut Leaf, siblings: &mut Siblings<Leaf>) {
        let mut place = leaf.locate(self.key);
        if self.is_doubtful(leaf, &place) {
            return;
        }
        let mut replaced = false;
        if place.exact {
            if self.if_present == IfPresent::Keep {
                return;
            }
            self.changed = true;
            if leaf.overwrite(&place, self.value) {
                return;
            }
            leaf.remove_at(&place, self.limits, self.scratch);
            replaced = true;
            place = leaf.locate(self.key);
        }
        self.add_beside(leaf, siblings, &place);
        self.added = !replaced;
        self.at_end = false;
    }

    /// [`Self::place_alone`] for a key that the page does not hold.
    fn add_beside(&mut self, leaf: &mut Leaf, siblings: &mut Siblings<Leaf>, place: &Place) {
        self.note_added();
        let single = |id| Leaf::single(id, self.key, self.value, 0, 0);
        if leaf.runs() == 0 {
            *leaf = single(leaf.id);
            return;
        }
        let count = leaf.slot(place.run).count;
        let last_run = place.run + 1 == leaf.runs();
        if place.run == 0 && place.cell == 0 {
            return self.open_left(leaf, siblings);
        }
        if last_run && place.cell == count {
            return self.open_right(leaf, siblings, false);
        }
        let cut = if place.cell == 0 || place.cell == count {
            place.run + usize::from(place.cell == count)
        } else {
            let roomy = Limits { body_max: UNBOUNDED, ..self.limits.clone() };
            if leaf.split_run(place.run, place.cell, &roomy, self.scratch) {
                place.run + 1
            } else {
                debug_assert!(false, "a page takes one more run without a bound");
                place.run + 1
            }
        };
        let (_, right) = self.cut(leaf, cut);
        let alone = single(PageId::fresh());
        siblings.push((separator(&leaf.last_key(), self.key), Arc::new(alone)));
        siblings.push((separator(self.key, &right.first_key()), Arc::new(right)));
    }
}
