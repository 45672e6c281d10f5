//! Removing an entry, and giving pages back as they empty.
//!
//! A page that falls below a quarter is merged with a neighbour if the two then fill no more than
//! three quarters of a page. Nothing is borrowed: bodies are allocated by need, so a page that finds
//! no neighbour to merge with wastes little. When the last entry goes, one empty leaf is left.

use std::sync::Arc;

use super::edit::Scratch;
use super::inner::{Children, Inner};
use super::leaf::Leaf;
use super::node::Page;
use super::options::Limits;
use super::search::{touch_inner, touch_leaf};
use super::{Node, Tree};
use crate::page::{PageId, PageKind, PageVisitor, TreeStats};

/// One removal on its way through the tree.
struct Removal<'a, V> {
    key: &'a [u8],
    limits: &'a Limits,
    stats: &'a mut TreeStats,
    scratch: &'a mut Scratch,
    visitor: &'a mut V,
    removed: bool,
}

impl Tree {
    /// Removes the entry under `key`; whether there was one.
    pub fn remove(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        let mut removal = Removal {
            key,
            limits: &self.limits,
            stats: &mut self.stats,
            scratch: &mut self.scratch,
            visitor,
            removed: false,
        };
        match &mut self.root {
            Node::Leaf(leaf) => removal.remove_from_leaf(leaf),
            Node::Inner(inner) => removal.remove_from_inner(inner),
        }
        if !removal.removed {
            return false;
        }
        self.stats.entries -= 1;
        if self.last_key.as_deref() == Some(key) {
            self.last_key = None;
        }
        self.lower_root();
        true
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = Tree::new(self.options);
    }

    /// Takes away roots that have a single child, and the last page when it is empty.
    fn lower_root(&mut self) {
        if self.stats.entries == 0 {
            self.clear();
        }
        while let Node::Inner(root) = &self.root {
            if root.len() > 1 {
                return;
            }
            let child = match &root.children {
                Children::Leaves(list) => list.first().map(|page| Node::Leaf(Arc::clone(page))),
                Children::Inners(list) => list.first().map(|page| Node::Inner(Arc::clone(page))),
            };
            let Some(child) = child else {
                return;
            };
            self.stats.height -= 1;
            root.uncount(&mut self.stats);
            self.root = child;
        }
    }
}

impl<V: PageVisitor> Removal<'_, V> {
    fn remove_from_leaf(&mut self, page: &mut Arc<Leaf>) {
        touch_leaf(page, self.visitor);
        let place = page.locate(self.key);
        if !place.exact {
            return;
        }
        self.removed = true;
        page.uncount(self.stats);
        let leaf = Arc::make_mut(page);
        leaf.remove_at(&place, self.limits, self.scratch);
        if leaf.used_body() * 2 < leaf.body.len() || leaf.entries < leaf.runs * 4 {
            leaf.tidy(self.limits, self.scratch);
        }
        leaf.count(self.stats);
        self.visitor.dirty(leaf.id, PageKind::IndexLeaf, leaf.allocated() as u32);
    }

    fn remove_from_inner(&mut self, page: &mut Arc<Inner>) {
        touch_inner(page, self.visitor);
        page.uncount(self.stats);
        let inner = Arc::make_mut(page);
        let child = inner.child_for(self.key);
        match &mut inner.children {
            Children::Leaves(list) => self.remove_from_leaf(&mut list[child]),
            Children::Inners(list) => self.remove_from_inner(&mut list[child]),
        }
        if self.removed {
            inner.counts[child] -= 1;
            inner.entries -= 1;
            match &inner.children {
                Children::Leaves(_) => self.relieve::<Leaf>(inner, child),
                Children::Inners(_) => self.relieve::<Inner>(inner, child),
            }
            self.visitor.dirty(inner.id, PageKind::Inner, inner.allocated() as u32);
        }
        inner.count(self.stats);
    }

    /// Merges a child that has become small with a neighbour, or takes it out if it is empty.
    fn relieve<P: Merge>(&mut self, inner: &mut Inner, child: usize) {
        let Some(list) = P::list(&mut inner.children) else {
            return;
        };
        if list[child].entries() == 0 && list.len() > 1 {
            list[child].discard(self.stats);
            inner.remove_child(child);
            inner.shrink();
            return;
        }
        if !list[child].is_small(self.limits) {
            return;
        }
        let pairs = [child.checked_sub(1).map(|left| (left, child)), Some((child, child + 1))];
        for (left, right) in pairs.into_iter().flatten() {
            if self.merge::<P>(inner, left, right) {
                inner.shrink();
                return;
            }
        }
    }

    fn merge<P: Merge>(&mut self, inner: &mut Inner, left: usize, right: usize) -> bool {
        if right >= inner.len() {
            return false;
        }
        let separator = inner.separator(left);
        let Some(list) = P::list(&mut inner.children) else {
            return false;
        };
        let Some(merged) = list[left].merged(&separator, &list[right], self.limits) else {
            return false;
        };
        list[left].uncount(self.stats);
        list[right].uncount(self.stats);
        merged.count(self.stats);
        self.visitor.dirty(merged.id(), P::KIND, merged.bytes() as u32);
        list[left] = Arc::new(merged);
        inner.counts[left] += inner.counts[right];
        inner.remove_child(right);
        true
    }
}

/// Pages that are merged with a neighbour when they become small.
trait Merge: Page {
    const KIND: PageKind;
    fn id(&self) -> PageId;
    fn is_small(&self, limits: &Limits) -> bool;
    fn merged(&self, separator: &[u8], right: &Self, limits: &Limits) -> Option<Self>;
}

impl Merge for Leaf {
    const KIND: PageKind = PageKind::IndexLeaf;

    fn id(&self) -> PageId {
        self.id
    }
    fn is_small(&self, limits: &Limits) -> bool {
        self.used_body() < limits.body_max / 4
    }
    fn merged(&self, _separator: &[u8], right: &Leaf, limits: &Limits) -> Option<Leaf> {
        self.merged_with(right, limits)
    }
}

impl Merge for Inner {
    const KIND: PageKind = PageKind::Inner;

    fn id(&self) -> PageId {
        self.id
    }
    fn is_small(&self, limits: &Limits) -> bool {
        self.in_use() < limits.inner_bytes / 4
    }
    fn merged(&self, separator: &[u8], right: &Inner, limits: &Limits) -> Option<Inner> {
        self.merged_with(separator, right, limits.inner_bytes)
    }
}
