//! States that follow a window: what comes in is added, and then what has left is taken out.

use std::collections::VecDeque;

use bindery_document::{OwnedValue, Result};

use super::Partition;
use super::function::Column;
use super::window::Window;

/// A result over the entries of a window.
pub(super) trait Follow {
    /// What it takes of a document.
    type Entry;

    /// Reads a document, which is done once, when it comes into the window.
    fn read(&self, partition: &Partition<'_>, index: usize) -> Result<Self::Entry>;

    /// Takes an entry in, behind the one that came before it.
    fn add(&mut self, before: Option<&Self::Entry>, newest: &Self::Entry);

    /// Takes the oldest entry out, which stands before the next.
    fn remove(&mut self, oldest: &Self::Entry, next: Option<&Self::Entry>);

    /// The result for what is in.
    fn value(&mut self) -> OwnedValue;
}

/// Appends a result for each document of the partition.
pub(super) fn follow<F: Follow>(
    mut state: F,
    window: &Window,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    let mut inside: VecDeque<F::Entry> = VecDeque::new();
    let mut taken = 0..0;
    for index in 0..partition.len() {
        let range = window.of(partition, index)?;
        if inside.is_empty() {
            taken = range.start..range.start;
        }
        while taken.end < range.end {
            let entry = state.read(partition, taken.end)?;
            state.add(inside.back(), &entry);
            inside.push_back(entry);
            taken.end += 1;
        }
        while taken.start < range.start
            && let Some(entry) = inside.pop_front()
        {
            state.remove(&entry, inside.front());
            taken.start += 1;
        }
        values.push(Some(state.value()));
        partition.env.check_interrupt()?;
    }
    Ok(())
}
