//! Inner pages: which child holds a record id.
//!
//! An inner page has, per child, the lowest record id that may lie below it, and either the head of
//! a leaf or a reference to another inner page with the number of documents below. The heads of
//! leaves lie here and not in the leaves, so that a lookup goes from the parent straight to the slot.

use std::sync::Arc;

use super::layout::{ALLOCATION_HEADER, Layout};
use super::leaf::Leaf;
use super::overflow::clamp;
use crate::page::{PageId, PageKind, PageVisitor};

/// A child of an inner page, or the root.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Leaf(Leaf),
    Inner(Child),
}

/// A reference to an inner page.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) page: Arc<Inner>,
    /// Documents below.
    pub(super) entries: u64,
}

/// See the module. `firsts` and `children` have the same length, never 0.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub(super) id: PageId,
    /// Ids below a child are at least its `firsts`, and lower than the next child's. The first
    /// child's is not compared, but kept true.
    pub(super) firsts: Vec<u64>,
    pub(super) children: Vec<Node>,
}

impl Node {
    /// Documents below.
    #[inline]
    pub(super) fn entries(&self) -> u64 {
        match self {
            Node::Leaf(leaf) => leaf.live(),
            Node::Inner(child) => child.entries,
        }
    }

    /// Inner levels plus the leaf level.
    pub(super) fn height(&self) -> u32 {
        let (mut node, mut height) = (self, 1);
        while let Node::Inner(child) = node {
            node = &child.page.children[0];
            height += 1;
        }
        height
    }

    /// A reference to a new inner page of these children.
    pub(super) fn parent(children: Vec<(u64, Node)>) -> Node {
        let entries = children.iter().map(|(_, node)| node.entries()).sum();
        let (mut firsts, mut nodes) = (Vec::new(), Vec::new());
        firsts.reserve_exact(children.len());
        nodes.reserve_exact(children.len());
        for (first, node) in children {
            firsts.push(first);
            nodes.push(node);
        }
        let page = Inner { id: PageId::fresh(), firsts, children: nodes };
        Node::Inner(Child { page: Arc::new(page), entries })
    }
}

impl Inner {
    /// The child below which `rid` lies, if anywhere.
    #[inline(always)]
    pub(super) fn child_for(&self, rid: u64) -> usize {
        match self.firsts.last() {
            Some(last) if rid < *last => self.firsts.partition_point(|first| *first <= rid).saturating_sub(1),
            _ => self.firsts.len() - 1,
        }
    }

    /// Tells `visitor` that this page was read.
    #[inline(always)]
    pub(super) fn touch(&self, visitor: &mut impl PageVisitor) {
        visitor.touch(self.id, PageKind::Inner, clamp(self.bytes()));
    }

    /// Tells `visitor` that this page was changed.
    pub(super) fn dirty(&self, visitor: &mut impl PageVisitor) {
        visitor.dirty(self.id, PageKind::Inner, clamp(self.bytes()));
    }

    /// Bytes of memory.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        ALLOCATION_HEADER
            + size_of::<Inner>()
            + self.firsts.capacity() * size_of::<u64>()
            + self.children.capacity() * size_of::<Node>()
    }

    /// Bytes of memory that hold something.
    pub(super) fn used_bytes(&self) -> usize {
        let per_child = size_of::<u64>() + size_of::<Node>();
        ALLOCATION_HEADER + size_of::<Inner>() + self.children.len() * per_child
    }

    /// Inserts a child, growing the page in steps up to its largest size.
    pub(super) fn insert(&mut self, at: usize, first: u64, node: Node, layout: Layout) {
        let len = self.children.len();
        if len == self.children.capacity() || len == self.firsts.capacity() {
            let wanted = (len + len / 2).max(4).min(layout.fan_out()).max(len + 1);
            self.firsts.reserve_exact(wanted - len);
            self.children.reserve_exact(wanted - len);
        }
        self.firsts.insert(at, first);
        self.children.insert(at, node);
    }

    /// Takes a child out.
    pub(super) fn remove(&mut self, at: usize) -> Node {
        self.firsts.remove(at);
        let node = self.children.remove(at);
        if self.children.len() < self.children.capacity() / 4 {
            self.firsts.shrink_to_fit();
            self.children.shrink_to_fit();
        }
        node
    }

    /// Cuts off the children from `at` on into a page of their own.
    pub(super) fn split_off(&mut self, at: usize) -> Inner {
        let firsts = self.firsts.split_off(at);
        let children = self.children.split_off(at);
        Inner { id: PageId::fresh(), firsts, children }
    }

    /// Documents below.
    pub(super) fn entries(&self) -> u64 {
        self.children.iter().map(Node::entries).sum()
    }
}
