//! The tree of index keys: a copy-on-write, prefix-compressed, counted B+tree.
//!
//! An entry is a key and a value, both bytes. For most indexes the key is the ordered key followed
//! by the RecordId and the value holds type bits, nearly always none; for `_id` the value is the
//! RecordId. The tree knows nothing of that: keys are unique byte strings in `memcmp` order.
//!
//! ```text
//!             [ inner: separators, children, entries below each ]
//!            /                    |                    \
//!     [ leaf: runs ]        [ leaf: runs ]        [ leaf: runs ]
//! ```
//!
//! - [`cell`] is the bytes of a run, [`leaf`] the page of runs and the search in it, [`inner`] the
//!   page above;
//! - [`edit`] changes a run, [`assemble`] writes a page anew (to grow, split, merge or trim it);
//! - [`search`], [`insert`], [`remove`], [`rank`], [`cursor`], [`bulk`] are the verbs of the whole
//!   tree, [`validate`] and [`leaf_pages`] its accounts.
//!
//! **Snapshots.** Pages are shared by reference count. Cloning a [`Tree`] copies a pointer; a write
//! changes a page in place if no other tree or cursor holds it, and else copies it first. A copied
//! page keeps its [id](crate::page::PageId): it is the same page at a later moment.
//!
//! **Accounts.** [`Tree::stats`] is kept up to date by every write from what each page says of
//! itself before and after; [`Tree::validate`] walks all pages and must find the same.

mod assemble;
mod bulk;
mod cell;
mod cursor;
mod edit;
mod inner;
mod insert;
mod leaf;
mod leaf_pages;
mod node;
mod options;
mod rank;
mod remove;
mod search;
mod validate;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use bulk::OutOfOrder;
pub use cursor::Cursor;
pub use leaf_pages::LeafPage;
pub use options::TreeOptions;
pub use validate::Corrupt;

use crate::page::{PageId, TreeStats};
use edit::Scratch;
use leaf::Leaf;
use node::{Node, Page};
use options::Limits;

/// A sorted map from byte strings to byte strings in counted pages.
///
/// `Clone` takes a snapshot in O(1); both trees can then be changed without the other's noticing.
pub struct Tree {
    root: Node,
    options: TreeOptions,
    limits: Limits,
    stats: TreeStats,
    /// The largest key, when known: a larger one is appended without a search.
    last_key: Option<Vec<u8>>,
    scratch: Scratch,
}

impl Tree {
    /// An empty tree: one leaf without a body.
    pub fn new(options: TreeOptions) -> Tree {
        let leaf = Leaf::empty(PageId::fresh());
        let mut stats = TreeStats { height: 1, ..TreeStats::default() };
        leaf.count(&mut stats);
        Tree {
            root: Node::Leaf(Arc::new(leaf)),
            options,
            limits: Limits::new(&options),
            stats,
            last_key: None,
            scratch: Scratch::default(),
        }
    }

    /// What the tree was created with.
    pub fn options(&self) -> TreeOptions {
        self.options
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.stats.entries
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.stats.entries == 0
    }

    /// Whether the key is known to be above all others, in O(1) and without reading a page. A `false` says nothing:
    /// the tree may have forgotten its last key.
    #[inline]
    pub fn is_above_all(&self, key: &[u8]) -> bool {
        self.is_empty() || self.last_key.as_deref().is_some_and(|last| last < key)
    }

    /// Pages and bytes, kept up to date: O(1). Pages shared with snapshots count in each.
    pub fn stats(&self) -> TreeStats {
        self.stats
    }
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::new(TreeOptions::default())
    }
}

impl Clone for Tree {
    fn clone(&self) -> Tree {
        Tree {
            root: self.root.clone(),
            options: self.options,
            limits: self.limits.clone(),
            stats: self.stats,
            last_key: self.last_key.clone(),
            scratch: Scratch::default(),
        }
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("options", &self.options).field("stats", &self.stats).finish_non_exhaustive()
    }
}
