//! The write door: the one place where a record and its index entries change together.
//!
//! Every change runs in three steps: all keys are made, then everything that could refuse the change is
//! checked, then records and trees are changed, which cannot fail. So a refused write leaves nothing
//! behind, and readers, who wait for the state while it changes, never see half of a write.

mod build;
mod capped;
mod delete;
mod insert;
mod patch;
mod unique;
mod update;
mod validate;
mod validator;

pub(crate) use build::build_index;
pub(crate) use delete::delete;
pub(crate) use insert::{Inserter, insert};
pub(crate) use patch::patch;
pub(crate) use unique::has_duplicates;
pub(crate) use update::{Changed, update};
pub(crate) use validate::{Fault, validate};
pub(crate) use validator::{check_insert, check_update};

use bindery_index::key::KeyBuilder;
use bindery_index::keygen::Keys;

/// Memory that writes use again: one writer at a time has it.
#[derive(Default)]
pub(crate) struct Scratch {
    /// For each index the keys of the new document.
    new: Vec<Keys>,
    /// For each index the keys of the old document.
    old: Vec<Keys>,
    /// For entries: key and record id.
    entry: KeyBuilder,
    /// For entries that a look-up finds.
    found: Vec<u8>,
}

impl Scratch {
    /// Room for this many indexes.
    fn prepare(&mut self, indexes: usize) {
        if self.new.len() < indexes {
            self.new.resize_with(indexes, Keys::default);
            self.old.resize_with(indexes, Keys::default);
        }
    }
}
