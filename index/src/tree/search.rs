//! Finding one entry: from the root to a leaf, without copying a page or a reference count.

use super::cell::{MODE_AT, RUN_HEAD, cell_at, restart_at, value_at};
use super::inner::{Children, Inner};
use super::leaf::Leaf;
use super::{Node, Tree};
use crate::page::{PageKind, PageVisitor};

impl Tree {
    /// The value under `key`.
    #[inline]
    pub fn get(&self, key: &[u8], visitor: &mut impl PageVisitor) -> Option<&[u8]> {
        let leaf = self.leaf_for(key, visitor);
        let place = leaf.locate(key);
        place.exact.then(|| leaf.value(&place))
    }

    /// Whether there is an entry under `key`.
    pub fn contains(&self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        self.leaf_for(key, visitor).locate(key).exact
    }

    /// The first entry whose key is not below `key`: its key is written over `found`, its value
    /// returned. Cheaper than a [`Cursor`](super::Cursor) where one entry is wanted.
    pub fn first_from<'a>(
        &'a self,
        key: &[u8],
        found: &mut Vec<u8>,
        visitor: &mut impl PageVisitor,
    ) -> Option<&'a [u8]> {
        found.clear();
        let mut right = None;
        let mut leaf = match &self.root {
            Node::Leaf(leaf) => &**leaf,
            Node::Inner(root) => {
                let mut inner = &**root;
                loop {
                    touch_inner(inner, visitor);
                    let child = inner.child_for(key);
                    if child + 1 < inner.len() {
                        right = Some((inner, child + 1));
                    }
                    match &inner.children {
                        Children::Leaves(list) => break &*list[child],
                        Children::Inners(list) => inner = &list[child],
                    }
                }
            }
        };
        touch_leaf(leaf, visitor);
        let place = leaf.locate(key);
        let slot = match place.run < leaf.runs() {
            true => leaf.slot(place.run),
            false => return None,
        };
        if place.cell > 0 && place.cell < slot.count {
            let run = leaf.run(&slot);
            let cell = cell_at(run, place.at);
            let kept = leaf.prefix_len as usize + place.prev_len - cell.drop;
            found.extend_from_slice(&key[..kept]);
            found.extend_from_slice(&run[cell.suffix..cell.field()]);
            let (start, len) = value_at(run, cell.field(), run[MODE_AT]);
            return Some(&run[start..start + len]);
        }
        let mut at = place.run + usize::from(place.cell > 0);
        if at == leaf.runs() {
            let (inner, child) = right?;
            leaf = first_leaf(inner, child, visitor);
            at = 0;
        }
        if leaf.runs() == 0 {
            return None;
        }
        let slot = leaf.slot(at);
        found.extend_from_slice(leaf.prefix());
        leaf.push_restart_key(&slot, found);
        let run = leaf.run(&slot);
        let (start, len) = value_at(run, restart_at(run, RUN_HEAD).field, run[MODE_AT]);
        Some(&run[start..start + len])
    }

    /// The leaf that holds `key`, or would.
    #[inline]
    fn leaf_for(&self, key: &[u8], visitor: &mut impl PageVisitor) -> &Leaf {
        let leaf = match &self.root {
            Node::Leaf(leaf) => leaf,
            Node::Inner(root) => {
                let mut inner = &**root;
                loop {
                    touch_inner(inner, visitor);
                    let child = inner.child_for(key);
                    match &inner.children {
                        Children::Leaves(list) => break &list[child],
                        Children::Inners(list) => inner = &list[child],
                    }
                }
            }
        };
        touch_leaf(leaf, visitor);
        leaf
    }
}

/// The leftmost leaf below a child.
fn first_leaf<'a>(mut inner: &'a Inner, mut child: usize, visitor: &mut impl PageVisitor) -> &'a Leaf {
    loop {
        match &inner.children {
            Children::Leaves(list) => {
                touch_leaf(&list[child], visitor);
                return &list[child];
            }
            Children::Inners(list) => inner = &list[child],
        }
        touch_inner(inner, visitor);
        child = 0;
    }
}

#[inline(always)]
pub(super) fn touch_inner(inner: &Inner, visitor: &mut impl PageVisitor) {
    visitor.touch(inner.id, PageKind::Inner, inner.allocated() as u32);
}

#[inline(always)]
pub(super) fn touch_leaf(leaf: &Leaf, visitor: &mut impl PageVisitor) {
    visitor.touch(leaf.id, PageKind::IndexLeaf, leaf.allocated() as u32);
}
