//! A position in a tree, moved entry by entry in either direction.
//!
//! A cursor owns what it reads: it holds the pages on its path by reference count, so it has no
//! lifetime, can be kept between requests, and goes on seeing the tree as it was, whatever is
//! written meanwhile (the writer copies the pages that a cursor holds).
//!
//! Forward, a step rewrites only the suffix of the key. Backward, a run is first read forward, and
//! what each of its cells drops from the key is put on a stack, from which a step takes it back.

mod backward;
mod forward;
mod seek;

use std::sync::Arc;

use super::inner::{Children, Inner};
use super::leaf::Leaf;
use super::{Node, Tree};
use crate::page::PageVisitor;

/// How many bytes of suffix a step copies at once, needed or not.
const BLOCK: usize = 16;
/// In [`Undo::run`]: belongs to no run.
const NO_RUN: usize = usize::MAX;

/// A position in a tree and a snapshot of that tree.
#[derive(Clone)]
pub struct Cursor {
    root: Node,
    /// Inner pages above the leaf, each with the index of the child that the path takes.
    path: Vec<(Arc<Inner>, usize)>,
    leaf: Option<Arc<Leaf>>,
    state: State,
    /// The run, and in it the entry the cursor is on.
    run: usize,
    cell: usize,
    /// Entries in the run.
    count: usize,
    /// The run's value mode.
    mode: u8,
    /// Where in the leaf's body the next cell starts.
    next_at: usize,
    /// The key in its first `key_len` bytes; the rest is room for the next step to write to.
    key: Vec<u8>,
    key_len: usize,
    /// Start and length of the value in the leaf's body.
    value: (usize, usize),
    unchanged: usize,
    undo: Undo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    On,
    Behind,
}

/// The way back from an entry to its run's restart.
#[derive(Clone, Default)]
struct Undo {
    run: usize,
    /// One for each cell behind the restart, up to the entry the cursor is on.
    steps: Vec<UndoStep>,
    /// What the cells dropped from the key; room for a block behind the last.
    dropped: Vec<u8>,
}

/// How to get from an entry to the one before.
#[derive(Clone, Copy)]
struct UndoStep {
    /// Bytes the two keys share.
    kept: usize,
    /// Length of the key before.
    key_len: usize,
    /// Where the rest of that key starts in [`Undo::dropped`].
    dropped_at: usize,
    /// The value before.
    value: (usize, usize),
}

impl Cursor {
    /// A cursor before the first entry of the tree as it is now.
    pub fn new(tree: &Tree) -> Cursor {
        Cursor {
            root: tree.root.clone(),
            path: Vec::new(),
            leaf: None,
            state: State::Before,
            run: 0,
            cell: 0,
            count: 0,
            mode: 0,
            next_at: 0,
            key: vec![0; 4 * BLOCK],
            key_len: 0,
            value: (0, 0),
            unchanged: 0,
            undo: Undo { run: NO_RUN, ..Undo::default() },
        }
    }

    /// The key of the entry the cursor is on; empty if it is on none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key[..self.key_len]
    }

    /// The value of the entry the cursor is on; empty if it is on none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match &self.leaf {
            Some(leaf) => &leaf.body[self.value.0..self.value.0 + self.value.1],
            None => &[],
        }
    }

    /// Whether the cursor is on an entry.
    #[inline]
    pub fn is_on_entry(&self) -> bool {
        self.state == State::On
    }

    /// How many leading bytes of the key are certain to be those of the entry that the last step
    /// left; 0 after a seek. More bytes may be equal where a step has crossed into another run.
    #[inline]
    pub fn unchanged(&self) -> usize {
        self.unchanged
    }

    /// Goes to the next entry, from before the first one to the first; whether there is one.
    #[inline]
    pub fn next(&mut self, visitor: &mut impl PageVisitor) -> bool {
        if self.state == State::On && self.cell + 1 < self.count {
            self.next_cell();
            return true;
        }
        self.next_run(visitor)
    }

    /// Goes to the entry before, from behind the last one to the last; whether there is one.
    #[inline]
    pub fn prev(&mut self, visitor: &mut impl PageVisitor) -> bool {
        if self.state == State::On && self.cell > 0 {
            if self.undo.run != self.run || self.undo.steps.len() != self.cell {
                self.replay_run(self.cell);
            }
            self.undo_cell();
            return true;
        }
        self.prev_run(visitor)
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("state", &self.state).field("key", &self.key()).finish_non_exhaustive()
    }
}

fn child_node(inner: &Inner, child: usize) -> Node {
    match &inner.children {
        Children::Leaves(list) => Node::Leaf(Arc::clone(&list[child])),
        Children::Inners(list) => Node::Inner(Arc::clone(&list[child])),
    }
}
