//! Steps forward: along the cells of a run, to the next run, to the next leaf.

use super::super::Node;
use super::super::cell::{ESCAPE, MIXED, MODE_AT, RUN_HEAD, cell_at, restart_at, value_at};
use super::super::search::touch_inner;
use super::{BLOCK, Cursor, State, child_node};
use crate::page::PageVisitor;

impl Cursor {
    /// Steps to the next cell of the run.
    #[inline]
    pub(super) fn next_cell(&mut self) {
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
    pub(super) fn load_restart(&mut self, run: usize) {
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
    pub(super) fn next_run(&mut self, visitor: &mut impl PageVisitor) -> bool {
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

    /// Takes the next leaf that has entries; `false` if there is none.
    pub(super) fn next_leaf(&mut self, visitor: &mut impl PageVisitor) -> bool {
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
}

/// Writes `suffix` over the key from `kept` on, with room behind it.
fn copy_suffix(key: &mut Vec<u8>, kept: usize, suffix: &[u8]) {
    let len = kept + suffix.len();
    if key.len() < len + BLOCK {
        key.resize(len + 2 * BLOCK, 0);
    }
    key[kept..len].copy_from_slice(suffix);
}
