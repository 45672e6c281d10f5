//! A position in a tree, moved entry by entry in either direction.
//!
//! A cursor owns what it reads: it holds the pages on its path by reference count, so it has no
//! lifetime, can be kept between requests, and goes on seeing the tree as it was, whatever is
//! written meanwhile (the writer copies the pages that a cursor holds).
//!
//! Forward, a step rewrites only the suffix of the key. Backward, a run is read once and its entries
//! are handed out from its end.

use std::sync::Arc;

use super::cell::{ESCAPE, MIXED, MODE_AT, RUN_HEAD, cell_at, restart_at, value_at};
use super::inner::{Children, Inner};
use super::leaf::{Leaf, Place};
use super::search::{touch_inner, touch_leaf};
use super::{Node, Tree};
use crate::page::PageVisitor;

/// How many bytes of suffix a step copies at once, needed or not.
const BLOCK: usize = 16;
/// In [`RunBuffer::run`]: holds no run.
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
    backward: RunBuffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    On,
    Behind,
}

/// The entries of the run that a cursor walks backward.
#[derive(Clone, Default)]
struct RunBuffer {
    run: usize,
    entries: Vec<Buffered>,
    /// Keys after the page's prefix, one behind the other.
    keys: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Buffered {
    key_end: usize,
    shared: usize,
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
            backward: RunBuffer { run: NO_RUN, ..RunBuffer::default() },
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
            if self.backward.run != self.run {
                self.buffer_run();
            }
            self.cell -= 1;
            self.unchanged = self.load_buffered();
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
        self.backward.run = NO_RUN;
    }

    /// Takes a leaf, without an entry in it yet.
    fn enter(&mut self, leaf: Arc<Leaf>, visitor: &mut impl PageVisitor) {
        touch_leaf(&leaf, visitor);
        self.backward.run = NO_RUN;
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
        self.buffer_run();
        self.cell = self.count - 1;
        self.load_buffered();
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

    /// Reads the whole run that the cursor is on.
    fn buffer_run(&mut self) {
        let Some(leaf) = &self.leaf else {
            return;
        };
        let slot = leaf.slot(self.run);
        let run = leaf.run(&slot);
        let mode = run[MODE_AT];
        let buffer = &mut self.backward;
        buffer.run = self.run;
        buffer.entries.clear();
        buffer.keys.clear();
        leaf.push_restart_key(&slot, &mut buffer.keys);
        let mut start = 0;
        let mut field = restart_at(run, RUN_HEAD).field;
        let mut shared = 0;
        for index in 0..slot.count {
            let (value, len) = value_at(run, field, mode);
            buffer.entries.push(Buffered { key_end: buffer.keys.len(), shared, value: (slot.offset + value, len) });
            if index + 1 == slot.count {
                break;
            }
            let cell = cell_at(run, value + len);
            let end = buffer.keys.len();
            shared = end - start - cell.drop;
            buffer.keys.extend_from_within(start..start + shared);
            buffer.keys.extend_from_slice(&run[cell.suffix..cell.field()]);
            start = end;
            field = cell.field();
        }
    }

    /// Goes to the entry `self.cell` of the buffered run; gives how many bytes of the key it shares
    /// with the entry behind it.
    fn load_buffered(&mut self) -> usize {
        let Some(leaf) = &self.leaf else {
            return 0;
        };
        let prefix_len = leaf.prefix_len as usize;
        let buffer = &self.backward;
        let entry = buffer.entries[self.cell];
        let start = match self.cell {
            0 => 0,
            cell => buffer.entries[cell - 1].key_end,
        };
        let rest = &buffer.keys[start..entry.key_end];
        self.key_len = prefix_len + rest.len();
        copy_suffix(&mut self.key, prefix_len, rest);
        self.value = entry.value;
        self.next_at = entry.value.0 + entry.value.1;
        self.state = State::On;
        let behind = buffer.entries.get(self.cell + 1);
        prefix_len + behind.map_or(0, |entry| entry.shared)
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

fn child_node(inner: &Inner, child: usize) -> Node {
    match &inner.children {
        Children::Leaves(list) => Node::Leaf(Arc::clone(&list[child])),
        Children::Inners(list) => Node::Inner(Arc::clone(&list[child])),
    }
}
