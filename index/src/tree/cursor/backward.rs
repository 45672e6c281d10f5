//! Steps backward: a run is replayed from its restart once, and then undone cell by cell.

use super::super::Node;
use super::super::cell::cell_at;
use super::super::search::touch_inner;
use super::{BLOCK, Cursor, State, UndoStep, child_node};
use crate::page::PageVisitor;

impl Cursor {
    /// Steps from the start of a run to the end of the one before, in this leaf or the one before.
    #[cold]
    pub(super) fn prev_run(&mut self, visitor: &mut impl PageVisitor) -> bool {
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

    /// Takes the leaf before and its last run; `false` if there is none.
    pub(super) fn prev_leaf(&mut self, visitor: &mut impl PageVisitor) -> bool {
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
    pub(super) fn replay_run(&mut self, cell: usize) {
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
    pub(super) fn next_drop(&self) -> usize {
        match &self.leaf {
            Some(leaf) => cell_at(&leaf.body, self.next_at).drop,
            None => 0,
        }
    }

    /// Steps back by one cell of the run.
    #[inline]
    pub(super) fn undo_cell(&mut self) {
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
