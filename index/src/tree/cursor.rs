//! A position in a tree, moved entry by entry in either direction.
//!
//! A cursor owns what it reads: it holds the pages on its path by reference count, so it has no
//! lifetime, can be kept between requests, and goes on seeing the tree as it was, whatever is
//! written meanwhile (the writer copies the pages that a cursor holds).
//!
//! Forward, a step rewrites only the suffix of the key. Backward, a run is first read forward, and
//! what each of its cells drops from the key is put on a stack, from which a step takes it back.

use std::sync::Arc;

use super::cell::{ESCAPE, MIXED, MODE_AT, RUN_HEAD, cell_at, restart_at, value_at};
use super::inner::{Children, Inner};
use super::leaf::{Leaf, Place};
use super::search::{touch_inner, touch_leaf};
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

    /// Goes to the first entry; whether there is one.
    pub fn seek_first(&mut self, visitor: &mut impl PageVisitor) -> bool {
        self.reset(State::Before);
        self.next(visitor)
    }

    /// Goes to the last entry; whether there is one.
    pub fn seek_last(&mut self, visitor: &mut impl PageVisitor) -> bool {
        self.reset(State::Behind);
        self.prev(visitor)
    }

    /// Goes to the first entry whose key is not below `key`, or behind the last; whether it is on
    /// an entry.
    pub fn seek(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        self.seek_place(key, visitor);
        self.is_on_entry()
    }

    /// Goes to the first entry whose key is above `key`, or behind the last.
    pub fn seek_above(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        if self.seek_place(key, visitor) {
            self.next(visitor);
            self.unchanged = 0;
        }
        self.is_on_entry()
    }

    /// Goes to the last entry whose key is not above `key`, or before the first.
    pub fn seek_at_most(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        if !self.seek_place(key, visitor) {
            self.prev(visitor);
            self.unchanged = 0;
        }
        self.is_on_entry()
    }

    /// Goes to the last entry whose key is below `key`, or before the first.
    pub fn seek_below(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        self.seek_place(key, visitor);
        self.prev(visitor);
        self.unchanged = 0;
        self.is_on_entry()
    }

    /// Goes to the entry that has `rank` entries before it, or behind the last; touches one page a
    /// level.
    pub fn seek_rank(&mut self, mut rank: u64, visitor: &mut impl PageVisitor) -> bool {
        self.reset(State::Behind);
        let mut node = self.root.clone();
        let leaf = loop {
            match node {
                Node::Leaf(leaf) => break leaf,
                Node::Inner(inner) => {
                    touch_inner(&inner, visitor);
                    if rank >= inner.entries {
                        return false;
                    }
                    let (child, below) = inner.child_at_rank(rank);
                    rank = below;
                    node = child_node(&inner, child);
                    self.path.push((inner, child));
                }
            }
        };
        if rank >= u64::from(leaf.entries) {
            return false;
        }
        self.enter(leaf, visitor);
        let mut rank = rank as usize;
        let mut run = 0;
        if let Some(leaf) = &self.leaf {
            while rank >= leaf.slot(run).count {
                rank -= leaf.slot(run).count;
                run += 1;
            }
        }
        self.load_restart(run);
        for _ in 0..rank {
            self.next_cell();
        }
        self.unchanged = 0;
        true
    }

    /// Forgets the position.
    fn reset(&mut self, state: State) {
        self.path.clear();
        self.leave(state);
        self.unchanged = 0;
    }

    /// Leaves the entries; pages on the path are kept.
    fn leave(&mut self, state: State) {
        self.leaf = None;
        self.state = state;
        self.key_len = 0;
        self.value = (0, 0);
        self.undo.run = NO_RUN;
    }

    /// Takes a leaf, without an entry in it yet.
    fn enter(&mut self, leaf: Arc<Leaf>, visitor: &mut impl PageVisitor) {
        touch_leaf(&leaf, visitor);
        self.undo.run = NO_RUN;
        self.leaf = Some(leaf);
    }

    /// Goes to the first entry not below `key`; whether it has that very key.
    fn seek_place(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        self.reset(State::Before);
        let mut node = self.root.clone();
        let leaf = loop {
            match node {
                Node::Leaf(leaf) => break leaf,
                Node::Inner(inner) => {
                    touch_inner(&inner, visitor);
                    let child = inner.child_for(key);
                    node = child_node(&inner, child);
                    self.path.push((inner, child));
                }
            }
        };
        let place = leaf.locate(key);
        self.enter(leaf, visitor);
        self.go_to(&place, key, visitor);
        place.exact
    }

    /// Goes to the first entry not below `key`, which belongs at this place of the leaf.
    fn go_to(&mut self, place: &Place, key: &[u8], visitor: &mut impl PageVisitor) {
        let Some(leaf) = &self.leaf else {
            return;
        };
        if leaf.runs() == 0 {
            self.leave(State::Behind);
            return;
        }
        let slot = leaf.slot(place.run);
        if place.cell == 0 {
            self.load_restart(place.run);
            self.unchanged = 0;
            return;
        }
        self.run = place.run;
        self.count = slot.count;
        if place.cell == slot.count {
            self.cell = slot.count - 1;
            self.state = State::On;
            self.next_run(visitor);
            self.unchanged = 0;
            return;
        }
        let run = leaf.run(&slot);
        let cell = cell_at(run, place.at);
        // The entry shares no more with its predecessor than with `key`.
        let kept = leaf.prefix_len as usize + place.prev_len - cell.drop;
        self.key_len = kept + cell.suffix_len;
        if self.key.len() < self.key_len + BLOCK {
            self.key.resize(self.key_len + 2 * BLOCK, 0);
        }
        self.key[..kept].copy_from_slice(&key[..kept]);
        self.key[kept..self.key_len].copy_from_slice(&run[cell.suffix..cell.field()]);
        self.mode = run[MODE_AT];
        let (value, len) = value_at(run, cell.field(), self.mode);
        self.value = (slot.offset + value, len);
        self.next_at = slot.offset + value + len;
        self.cell = place.cell;
        self.state = State::On;
    }

    /// Steps to the next cell of the run.
    #[inline]
    fn next_cell(&mut self) {
        let Some(leaf) = &self.leaf else {
            return;
        };
        let body = &leaf.body[..];
        let at = self.next_at;
        let header = body[at];
        let (drop, suffix_len) = ((header >> 4) as usize, (header & 15) as usize);
        let field;
        if drop < ESCAPE && suffix_len < ESCAPE {
            let kept = self.key_len - drop;
            self.unchanged = kept;
            self.key_len = kept + suffix_len;
            field = at + 1 + suffix_len;
            let from = body.get(at + 1..at + 1 + BLOCK);
            let to = self.key.get_mut(kept..kept + BLOCK);
            if let (Some(from), Some(to)) = (from, to) {
                to.copy_from_slice(from);
            } else {
                copy_suffix(&mut self.key, kept, &body[at + 1..field]);
            }
        } else {
            let cell = cell_at(body, at);
            let kept = self.key_len - cell.drop;
            self.unchanged = kept;
            self.key_len = kept + cell.suffix_len;
            field = cell.field();
            copy_suffix(&mut self.key, kept, &body[cell.suffix..field]);
        }
        self.value = match self.mode {
            MIXED => value_at(body, field, MIXED),
            len => (field, len as usize),
        };
        self.next_at = self.value.0 + self.value.1;
        self.cell += 1;
    }

    /// Goes to the first entry of a run.
    fn load_restart(&mut self, run: usize) {
        let Some(leaf) = &self.leaf else {
            return;
        };
        let slot = leaf.slot(run);
        let bytes = leaf.run(&slot);
        let restart = restart_at(bytes, RUN_HEAD);
        let prefix = leaf.prefix();
        let tail = &bytes[restart.tail..restart.field];
        let in_head = restart.key_len - tail.len();
        let head = slot.head.to_be_bytes();
        self.key_len = prefix.len() + restart.key_len;
        if self.key.len() < self.key_len + BLOCK {
            self.key.resize(self.key_len + 2 * BLOCK, 0);
        }
        let behind_head = prefix.len() + in_head;
        self.key[..prefix.len()].copy_from_slice(prefix);
        self.key[prefix.len()..behind_head].copy_from_slice(&head[..in_head]);
        self.key[behind_head..self.key_len].copy_from_slice(tail);
        self.mode = bytes[MODE_AT];
        let (value, len) = value_at(bytes, restart.field, self.mode);
        self.value = (slot.offset + value, len);
        self.next_at = slot.offset + value + len;
        self.run = run;
        self.cell = 0;
        self.count = slot.count;
        self.state = State::On;
    }

    /// Steps from the end of a run to the next one, in this leaf or the next.
    #[cold]
    fn next_run(&mut self, visitor: &mut impl PageVisitor) -> bool {
        match (self.state, &self.leaf) {
            (State::Behind, _) => return false,
            (State::On, Some(leaf)) if self.run + 1 < leaf.runs() => {
                self.unchanged = leaf.prefix_len as usize;
                self.load_restart(self.run + 1);
                return true;
            }
            _ => {}
        }
        self.unchanged = 0;
        if !self.next_leaf(visitor) {
            self.leave(State::Behind);
            return false;
        }
        self.load_restart(0);
        true
    }

    /// Steps from the start of a run to the end of the one before, in this leaf or the one before.
    #[cold]
    fn prev_run(&mut self, visitor: &mut impl PageVisitor) -> bool {
        match (self.state, &self.leaf) {
            (State::Before, _) => return false,
            (State::On, Some(leaf)) if self.run > 0 => {
                self.unchanged = leaf.prefix_len as usize;
                self.run -= 1;
            }
            _ => {
                self.unchanged = 0;
                if !self.prev_leaf(visitor) {
                    self.leave(State::Before);
                    return false;
                }
            }
        }
        self.load_restart(self.run);
        self.replay_run(self.count - 1);
        true
    }

    /// Takes the next leaf that has entries; `false` if there is none.
    fn next_leaf(&mut self, visitor: &mut impl PageVisitor) -> bool {
        let node = match self.state {
            State::Before => {
                self.path.clear();
                Some(self.root.clone())
            }
            _ => loop {
                let Some((inner, child)) = self.path.last_mut() else {
                    break None;
                };
                if *child + 1 < inner.len() {
                    *child += 1;
                    break Some(child_node(inner, *child));
                }
                self.path.pop();
            },
        };
        let Some(mut node) = node else {
            return false;
        };
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let has_entries = leaf.runs() > 0;
                    self.enter(leaf, visitor);
                    return has_entries;
                }
                Node::Inner(inner) => {
                    touch_inner(&inner, visitor);
                    node = child_node(&inner, 0);
                    self.path.push((inner, 0));
                }
            }
        }
    }

    /// Takes the leaf before and its last run; `false` if there is none.
    fn prev_leaf(&mut self, visitor: &mut impl PageVisitor) -> bool {
        let node = match self.state {
            State::Behind => {
                self.path.clear();
                Some(self.root.clone())
            }
            _ => loop {
                let Some((inner, child)) = self.path.last_mut() else {
                    break None;
                };
                if *child > 0 {
                    *child -= 1;
                    break Some(child_node(inner, *child));
                }
                self.path.pop();
            },
        };
        let Some(mut node) = node else {
            return false;
        };
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let runs = leaf.runs();
                    self.enter(leaf, visitor);
                    self.run = runs.saturating_sub(1);
                    return runs > 0;
                }
                Node::Inner(inner) => {
                    touch_inner(&inner, visitor);
                    let last = inner.len() - 1;
                    node = child_node(&inner, last);
                    self.path.push((inner, last));
                }
            }
        }
    }

    /// Goes through the run from its restart to the entry `cell`, noting the way back.
    fn replay_run(&mut self, cell: usize) {
        let unchanged = self.unchanged;
        self.load_restart(self.run);
        self.undo.run = self.run;
        self.undo.steps.clear();
        let mut end = 0;
        for _ in 0..cell {
            let (key_len, value) = (self.key_len, self.value);
            let dropped_at = end;
            if self.undo.dropped.len() < end + key_len + BLOCK {
                self.undo.dropped.resize(2 * end + key_len + 4 * BLOCK, 0);
            }
            let drop = self.next_drop();
            let kept = key_len - drop;
            copy_bytes(&self.key, kept, &mut self.undo.dropped, end, drop);
            end += drop;
            self.next_cell();
            self.undo.steps.push(UndoStep { kept, key_len, dropped_at, value });
        }
        self.unchanged = unchanged;
    }

    /// How many bytes the next cell drops from the key.
    #[inline]
    fn next_drop(&self) -> usize {
        match &self.leaf {
            Some(leaf) => cell_at(&leaf.body, self.next_at).drop,
            None => 0,
        }
    }

    /// Steps back by one cell of the run.
    #[inline]
    fn undo_cell(&mut self) {
        let Some(step) = self.undo.steps.pop() else {
            return;
        };
        let drop = step.key_len - step.kept;
        if self.key.len() < step.key_len + BLOCK {
            self.key.resize(step.key_len + 2 * BLOCK, 0);
        }
        copy_bytes(&self.undo.dropped, step.dropped_at, &mut self.key, step.kept, drop);
        self.key_len = step.key_len;
        self.unchanged = step.kept;
        self.next_at = step.value.0 + step.value.1;
        self.value = step.value;
        self.cell -= 1;
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("state", &self.state).field("key", &self.key()).finish_non_exhaustive()
    }
}

/// Writes `suffix` over the key from `kept` on, with room behind it.
fn copy_suffix(key: &mut Vec<u8>, kept: usize, suffix: &[u8]) {
    let len = kept + suffix.len();
    if key.len() < len + BLOCK {
        key.resize(len + 2 * BLOCK, 0);
    }
    key[kept..len].copy_from_slice(suffix);
}

/// Copies `len` bytes, by a whole block if they are few and both sides have one.
#[inline]
fn copy_bytes(from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, len: usize) {
    if len <= BLOCK {
        let from = from.get(from_at..from_at + BLOCK);
        let to = to.get_mut(to_at..to_at + BLOCK);
        if let (Some(from), Some(to)) = (from, to) {
            to.copy_from_slice(from);
            return;
        }
    }
    to[to_at..to_at + len].copy_from_slice(&from[from_at..from_at + len]);
}

fn child_node(inner: &Inner, child: usize) -> Node {
    match &inner.children {
        Children::Leaves(list) => Node::Leaf(Arc::clone(&list[child])),
        Children::Inners(list) => Node::Inner(Arc::clone(&list[child])),
    }
}
