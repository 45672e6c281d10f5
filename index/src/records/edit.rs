//! Changes: the way down to a leaf and back, with splits, merges and the accounting.
//!
//! An [`Editor`] lives for one change. Pages on the way are copied if a snapshot holds them
//! (`Arc::make_mut`). Before a page changes, its figures are taken out of the running statistics,
//! and put back afterwards: so the statistics cannot drift from what the pages say.

use std::sync::Arc;

use super::inner::{Child, Inner, Node};
use super::layout::Layout;
use super::leaf::{Content, Leaf};
use super::overflow::Extent;
use super::rebuild;
use super::totals::Totals;
use crate::page::PageVisitor;

/// New siblings to the right of a node, with the lowest id of each.
type Siblings = Vec<(u64, Node)>;

/// What became of a node below which a document was resized.
struct Resized {
    siblings: Siblings,
    /// It holds less than before, so it may be merged.
    shrunk: bool,
}

/// One change of a store.
pub(super) struct Editor<'a, V> {
    pub(super) layout: Layout,
    pub(super) totals: &'a mut Totals,
    pub(super) visitor: &'a mut V,
}

impl<V: PageVisitor> Editor<'_, V> {
    /// Stores `document` under `rid`, which is above all ids, if that only adds to the end of the last
    /// leaf; else changes nothing and returns false. Nearly every append goes this way.
    pub(super) fn append(&mut self, root: &mut Node, rid: u64, document: &[u8]) -> bool {
        document.len() <= self.layout.max_inline() && self.append_below(root, rid, document)
    }

    fn append_below(&mut self, node: &mut Node, rid: u64, document: &[u8]) -> bool {
        match node {
            Node::Leaf(leaf) => {
                let appended = leaf.try_append(rid, document);
                if appended {
                    self.totals.credit_append(document.len());
                    leaf.touch(self.visitor);
                    leaf.dirty(self.visitor);
                }
                appended
            }
            Node::Inner(Child { page, entries }) => {
                let page = Arc::get_mut(page);
                let Some((page, last)) = page.and_then(|page| {
                    let last = page.children.len().checked_sub(1)?;
                    Some((page, last))
                }) else {
                    return false;
                };
                let appended = self.append_below(&mut page.children[last], rid, document);
                if appended {
                    *entries += 1;
                    page.touch(self.visitor);
                    page.dirty(self.visitor);
                }
                appended
            }
        }
    }

    /// Stores `document` under `rid`, which holds nothing yet.
    pub(super) fn insert(&mut self, root: &mut Node, rid: u64, document: &[u8]) {
        let siblings = if document.len() > self.layout.max_inline() {
            let extent = Extent::new(document);
            extent.dirty(self.visitor);
            self.insert_below(root, rid, Content::Overflow(&extent))
        } else {
            self.insert_below(root, rid, Content::Inline(document))
        };
        self.raise(root, siblings);
    }

    /// Gives the document under `rid`, which is there, `new_len` bytes, new ones zero, and lets
    /// `write` change it.
    pub(super) fn resize(&mut self, root: &mut Node, rid: u64, new_len: usize, write: impl FnOnce(&mut [u8])) {
        let siblings = self.resize_below(root, rid, new_len, write).siblings;
        self.raise(root, siblings);
        lower(root, self.totals);
    }

    /// Removes the document under `rid`, which is there.
    pub(super) fn remove(&mut self, root: &mut Node, rid: u64) {
        self.remove_below(root, rid);
        lower(root, self.totals);
        if let Node::Leaf(leaf) = root
            && leaf.live() == 0
        {
            self.totals.debit_leaf(leaf, self.layout);
            *leaf = Leaf::empty();
            self.totals.credit_leaf(leaf, self.layout);
        }
    }

    fn insert_below(&mut self, node: &mut Node, rid: u64, content: Content<'_>) -> Siblings {
        match node {
            Node::Leaf(leaf) => self.insert_in_leaf(leaf, rid, content),
            Node::Inner(Child { page, entries }) => {
                let page = self.open(page);
                let at = page.child_for(rid);
                let siblings = self.insert_below(&mut page.children[at], rid, content);
                page.firsts[at] = page.firsts[at].min(rid);
                *entries += 1;
                let siblings = self.adopt(page, entries, at, siblings);
                page.dirty(self.visitor);
                self.close(page);
                siblings
            }
        }
    }

    fn resize_below(&mut self, node: &mut Node, rid: u64, new_len: usize, write: impl FnOnce(&mut [u8])) -> Resized {
        match node {
            Node::Leaf(leaf) => self.resize_in_leaf(leaf, rid, new_len, write),
            Node::Inner(Child { page, entries }) => {
                let copied = Arc::strong_count(page) > 1;
                let page = self.open(page);
                let at = page.child_for(rid);
                let child = self.resize_below(&mut page.children[at], rid, new_len, write);
                let split = !child.siblings.is_empty();
                let siblings = self.adopt(page, entries, at, child.siblings);
                let merged = child.shrunk && self.rebalance(page, at);
                if copied || split || merged {
                    page.dirty(self.visitor);
                }
                self.close(page);
                Resized { siblings, shrunk: merged }
            }
        }
    }

    fn remove_below(&mut self, node: &mut Node, rid: u64) {
        match node {
            Node::Leaf(leaf) => {
                leaf.touch(self.visitor);
                let Some(slot) = leaf.find(rid) else { return };
                self.totals.debit_leaf(leaf, self.layout);
                leaf.remove(slot);
                self.shrink(leaf);
                leaf.dirty(self.visitor);
                self.totals.credit_leaf(leaf, self.layout);
            }
            Node::Inner(Child { page, entries }) => {
                let page = self.open(page);
                let at = page.child_for(rid);
                self.remove_below(&mut page.children[at], rid);
                *entries -= 1;
                self.rebalance(page, at);
                page.dirty(self.visitor);
                self.close(page);
            }
        }
    }

    fn insert_in_leaf(&mut self, leaf: &mut Leaf, rid: u64, content: Content<'_>) -> Siblings {
        leaf.touch(self.visitor);
        self.totals.debit_leaf(leaf, self.layout);
        let siblings = self.place_in_leaf(leaf, rid, content);
        leaf.dirty(self.visitor);
        self.totals.credit_leaf(leaf, self.layout);
        siblings
    }

    fn place_in_leaf(&mut self, leaf: &mut Leaf, rid: u64, content: Content<'_>) -> Siblings {
        if leaf.try_insert(rid, content) {
            return Siblings::new();
        }
        let need = leaf.cost_with_document(rid, content);
        let fits = need.is_some_and(|need| need <= self.layout.max_body());
        let (first, last) = (leaf.first_rid(), leaf.last_rid());
        if !fits && last.is_some_and(|last| last < rid) {
            // Ids mostly ascend: leave the full leaf as it is, and begin another.
            self.seal(leaf);
            let new = rebuild::single(rid, content, self.body_of_a_new_leaf(), self.layout);
            return vec![self.sibling(new)];
        }
        if !fits && first.is_some_and(|first| rid < first) {
            self.seal(leaf);
            let body = self.body_of_a_new_leaf();
            let full = std::mem::replace(leaf, rebuild::single(rid, content, body, self.layout));
            return vec![self.sibling(full)];
        }
        self.rebuild(leaf, rid, content)
    }

    fn resize_in_leaf(&mut self, leaf: &mut Leaf, rid: u64, new_len: usize, write: impl FnOnce(&mut [u8])) -> Resized {
        leaf.touch(self.visitor);
        let Some(slot) = leaf.find(rid) else {
            return Resized { siblings: Siblings::new(), shrunk: false };
        };
        self.totals.debit_leaf(leaf, self.layout);
        let cost = leaf.cost();
        let siblings = match leaf.try_resize(slot, new_len, self.layout, self.visitor) {
            Some(document) => {
                write(document);
                if leaf.cost() < cost {
                    self.shrink(leaf);
                }
                Siblings::new()
            }
            None => {
                let mut document = vec![0; new_len];
                if let Some(old) = leaf.document(slot, self.visitor) {
                    let kept = old.len().min(new_len);
                    document[..kept].copy_from_slice(&old[..kept]);
                }
                write(&mut document);
                if new_len > self.layout.max_inline() {
                    let extent = Extent::new(&document);
                    extent.dirty(self.visitor);
                    self.rebuild(leaf, rid, Content::Overflow(&extent))
                } else {
                    self.rebuild(leaf, rid, Content::Inline(&document))
                }
            }
        };
        leaf.dirty(self.visitor);
        self.totals.credit_leaf(leaf, self.layout);
        let shrunk = siblings.is_empty() && leaf.cost() < cost;
        Resized { siblings, shrunk }
    }

    /// Builds `leaf` anew with `content` under `rid`; what does not fit goes to siblings.
    fn rebuild(&mut self, leaf: &mut Leaf, rid: u64, content: Content<'_>) -> Siblings {
        let mut leaves = rebuild::with_document(leaf, rid, content, self.layout).into_iter();
        if let Some(first) = leaves.next() {
            *leaf = first;
        }
        leaves.map(|leaf| self.sibling(leaf)).collect()
    }

    /// Counts a leaf that is new in the tree, and names it by its lowest id.
    fn sibling(&mut self, leaf: Leaf) -> (u64, Node) {
        self.totals.credit_leaf(&leaf, self.layout);
        leaf.dirty(self.visitor);
        (leaf.first_rid().unwrap_or(0), Node::Leaf(leaf))
    }

    /// A leaf that appending leaves behind keeps no room, if that is more than a little.
    fn seal(&mut self, leaf: &mut Leaf) {
        if leaf.body_bytes() - leaf.cost() > leaf.body_bytes() / 32 {
            *leaf = rebuild::sealed(leaf);
        }
    }

    /// Gives back the room of a leaf that is less than half full.
    fn shrink(&mut self, leaf: &mut Leaf) {
        if leaf.cost() < leaf.body_bytes() / 2 {
            let body = self.layout.body_for(leaf.cost());
            if body < leaf.body_bytes() {
                *leaf = rebuild::fitted(leaf, self.layout);
            }
        }
    }

    /// A small store does not begin a whole page for its next document, a large one does.
    fn body_of_a_new_leaf(&self) -> usize {
        (self.totals.stats().leaf_bytes / 4) as usize
    }

    /// Puts a child's new siblings after it; a page that becomes too large is split, and its own
    /// new sibling returned.
    fn adopt(&mut self, page: &mut Inner, entries: &mut u64, at: usize, siblings: Siblings) -> Siblings {
        if siblings.is_empty() {
            return siblings;
        }
        let appended = at + 1 == page.children.len();
        for (place, (first, node)) in (at + 1..).zip(siblings) {
            page.insert(place, first, node, self.layout);
        }
        let fan_out = self.layout.fan_out();
        if page.children.len() <= fan_out {
            return Siblings::new();
        }
        let cut = if appended { fan_out } else { page.children.len() / 2 };
        let right = page.split_off(cut);
        let moved = right.entries();
        *entries -= moved;
        self.totals.credit_inner(&right);
        right.dirty(self.visitor);
        let first = right.firsts[0];
        vec![(first, Node::Inner(Child { page: Arc::new(right), entries: moved }))]
    }

    /// Puts a root over `root` and its new siblings.
    fn raise(&mut self, root: &mut Node, siblings: Siblings) {
        if siblings.is_empty() {
            return;
        }
        let first = match root {
            Node::Leaf(leaf) => leaf.first_rid().unwrap_or(0),
            Node::Inner(child) => child.page.firsts[0],
        };
        let mut children = vec![(first, std::mem::replace(root, Node::Leaf(Leaf::empty())))];
        children.extend(siblings);
        *root = Node::parent(children);
        if let Node::Inner(child) = root {
            self.totals.credit_inner(&child.page);
            child.page.dirty(self.visitor);
        }
    }

    /// Takes out child `at` if it has become empty, and merges it with a neighbour if both together
    /// would leave a page a quarter empty. Returns whether it did.
    fn rebalance(&mut self, page: &mut Inner, at: usize) -> bool {
        match &page.children[at] {
            empty if empty.entries() == 0 => {
                // An only child stays: the parent then takes it out together with this page.
                if page.children.len() == 1 {
                    return false;
                }
                self.forget(&page.remove(at));
                true
            }
            Node::Leaf(leaf) if leaf.cost() < self.layout.max_body() / 4 => self.merge_with_neighbour(page, at),
            Node::Inner(child) if child.page.children.len() < self.layout.fan_out() / 4 => {
                self.merge_with_neighbour(page, at)
            }
            Node::Leaf(_) | Node::Inner(_) => false,
        }
    }

    /// Takes a node and what is below it out of the statistics.
    fn forget(&mut self, node: &Node) {
        match node {
            Node::Leaf(leaf) => self.totals.debit_leaf(leaf, self.layout),
            Node::Inner(child) => {
                child.page.children.iter().for_each(|node| self.forget(node));
                self.totals.debit_inner(&child.page);
            }
        }
    }

    fn merge_with_neighbour(&mut self, page: &mut Inner, at: usize) -> bool {
        let lefts = [Some(at), at.checked_sub(1)];
        lefts.into_iter().flatten().any(|left| self.merge(page, left))
    }

    /// Merges child `left` with the next, if there is one and both fit.
    fn merge(&mut self, page: &mut Inner, left: usize) -> bool {
        let Some((low, high)) = page.children.get(left).zip(page.children.get(left + 1)) else {
            return false;
        };
        let merged = match (low, high) {
            (Node::Leaf(low), Node::Leaf(high)) => {
                let cost = low.cost_with(high);
                if cost.is_none_or(|cost| cost > self.layout.max_body() / 4 * 3) {
                    return false;
                }
                low.touch(self.visitor);
                high.touch(self.visitor);
                self.totals.debit_leaf(low, self.layout);
                self.totals.debit_leaf(high, self.layout);
                let merged = rebuild::merged(low, high, self.layout);
                self.totals.credit_leaf(&merged, self.layout);
                merged.dirty(self.visitor);
                Node::Leaf(merged)
            }
            (Node::Inner(low), Node::Inner(high)) => {
                let children = low.page.children.len() + high.page.children.len();
                if children > self.layout.fan_out() / 4 * 3 {
                    return false;
                }
                self.totals.debit_inner(&low.page);
                self.totals.debit_inner(&high.page);
                let entries = low.entries + high.entries;
                let mut merged = Inner::clone(&low.page);
                let firsts = high.page.firsts.iter().copied();
                for (first, node) in firsts.zip(high.page.children.iter().cloned()) {
                    merged.insert(merged.children.len(), first, node, self.layout);
                }
                self.totals.credit_inner(&merged);
                merged.dirty(self.visitor);
                Node::Inner(Child { page: Arc::new(merged), entries })
            }
            _ => return false,
        };
        page.children[left] = merged;
        page.remove(left + 1);
        true
    }

    /// An inner page to be changed, copied if a snapshot holds it. Its figures are out of the
    /// statistics until [`close`](Editor::close).
    fn open<'p>(&mut self, page: &'p mut Arc<Inner>) -> &'p mut Inner {
        page.touch(self.visitor);
        self.totals.debit_inner(page);
        Arc::make_mut(page)
    }

    fn close(&mut self, page: &Inner) {
        self.totals.credit_inner(page);
    }
}

/// Takes off roots with a single child.
fn lower(root: &mut Node, totals: &mut Totals) {
    while let Node::Inner(child) = root
        && let [only] = child.page.children.as_slice()
    {
        totals.debit_inner(&child.page);
        *root = only.clone();
    }
}
