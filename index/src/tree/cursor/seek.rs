//! Going to a key or a rank: from the root down, or within the leaf that the cursor is in.

use std::sync::Arc;

use super::super::Node;
use super::super::cell::{MODE_AT, cell_at, value_at};
use super::super::leaf::{Leaf, Place};
use super::super::search::{touch_inner, touch_leaf};
use super::{BLOCK, Cursor, NO_RUN, State, child_node};
use crate::page::PageVisitor;

impl Cursor {
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
    pub(super) fn reset(&mut self, state: State) {
        self.path.clear();
        self.leave(state);
        self.unchanged = 0;
    }

    /// Leaves the entries; pages on the path are kept.
    pub(super) fn leave(&mut self, state: State) {
        self.leaf = None;
        self.state = state;
        self.key_len = 0;
        self.value = (0, 0);
        self.undo.run = NO_RUN;
    }

    /// Takes a leaf, without an entry in it yet.
    pub(super) fn enter(&mut self, leaf: Arc<Leaf>, visitor: &mut impl PageVisitor) {
        touch_leaf(&leaf, visitor);
        self.undo.run = NO_RUN;
        self.leaf = Some(leaf);
    }

    /// Goes to the first entry not below `key`; whether it has that very key.
    pub(super) fn seek_place(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> bool {
        if let Some(exact) = self.seek_in_leaf(key, visitor) {
            return exact;
        }
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

    /// The same for a key between the first and the last of the leaf that the cursor is in, as the
    /// next target of a scan that skips often is; nothing for any other.
    fn seek_in_leaf(&mut self, key: &[u8], visitor: &mut impl PageVisitor) -> Option<bool> {
        let leaf = self.leaf.as_ref()?;
        let place = leaf.locate(key);
        let behind_first = place.run > 0 || place.cell > 0;
        let before_last = place.run + 1 < leaf.runs() || place.cell < leaf.slot(place.run).count;
        if !(behind_first && before_last) {
            return None;
        }
        self.unchanged = 0;
        self.go_to(&place, key, visitor);
        Some(place.exact)
    }

    /// Goes to the first entry not below `key`, which belongs at this place of the leaf.
    pub(super) fn go_to(&mut self, place: &Place, key: &[u8], visitor: &mut impl PageVisitor) {
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
}
