//! Building a tree from sorted entries, every page full: for an index on documents that are already
//! there, and for compacting.

use std::fmt;
use std::sync::Arc;

use super::cell::{common, separator};
use super::edit::{Scratch, Step};
use super::inner::Inner;
use super::leaf::Leaf;
use super::node::Page;
use super::options::{Limits, TreeOptions};
use super::{Cursor, Node, Tree};
use crate::page::{PageId, PageVisitor, TreeStats};

/// Entries for a bulk build were not in strictly ascending order; no tree was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// Position, from 0, of the first entry whose key is not above the one before it.
    pub position: u64,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} is not above the one before it", self.position)
    }
}

impl std::error::Error for OutOfOrder {}

/// Collects sorted entries into full leaf pages.
struct Builder {
    limits: Limits,
    stats: TreeStats,
    scratch: Scratch,
    page: Leaf,
    last: Vec<u8>,
    /// Finished pages, and the separators between them and before `page`.
    pages: Vec<Arc<Leaf>>,
    separators: Vec<Vec<u8>>,
}

impl Tree {
    /// A tree of these entries, with all pages filled.
    ///
    /// # Errors
    /// [`OutOfOrder`] at the first key that is not above the one before it.
    pub fn bulk_build<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        options: TreeOptions,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Tree, OutOfOrder> {
        let mut builder = Builder::new(&options);
        for (position, (key, value)) in entries.into_iter().enumerate() {
            if !builder.push(key.as_ref(), value.as_ref()) {
                return Err(OutOfOrder { position: position as u64 });
            }
        }
        Ok(builder.finish(options))
    }

    /// Writes the tree anew with all pages filled; snapshots keep the old pages. The visitor is told
    /// of the pages read.
    pub fn compact(&mut self, visitor: &mut impl PageVisitor) {
        let mut builder = Builder::new(&self.options);
        let mut cursor = Cursor::new(self);
        while cursor.next(visitor) {
            builder.push(cursor.key(), cursor.value());
        }
        *self = builder.finish(self.options);
    }
}

impl Builder {
    fn new(options: &TreeOptions) -> Builder {
        Builder {
            limits: Limits::new(options),
            stats: TreeStats::default(),
            scratch: Scratch::default(),
            page: Leaf::empty(PageId::fresh()),
            last: Vec::new(),
            pages: Vec::new(),
            separators: Vec::new(),
        }
    }

    /// Adds an entry; `false`, and nothing added, if it is not above the last one.
    fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.stats.entries == 0 {
            self.page = Leaf::single(self.page.id, key, value, 0, 0);
        } else {
            if key <= &self.last[..] {
                return false;
            }
            let shared = common(&self.last, key);
            let alone = key.len() + value.len() > self.limits.entry_max;
            let full = alone
                || !matches!(
                    self.page.append(key, value, &self.last, shared, &self.limits, &mut self.scratch),
                    Step::Done
                );
            if full {
                self.finish_page();
                self.separators.push(separator(&self.last, key));
                let prefix_len = shared.min(self.limits.prefix_max);
                let body_bytes = self.limits.body_max;
                self.page = Leaf::single(PageId::fresh(), key, value, prefix_len, body_bytes);
            }
        }
        self.stats.entries += 1;
        self.last.clear();
        self.last.extend_from_slice(key);
        true
    }

    fn finish_page(&mut self) {
        self.page.trim(&self.limits);
        self.page.count(&mut self.stats);
        let page = std::mem::replace(&mut self.page, Leaf::empty(PageId::fresh()));
        self.pages.push(Arc::new(page));
    }

    fn finish(mut self, options: TreeOptions) -> Tree {
        if self.stats.entries == 0 {
            return Tree::new(options);
        }
        self.finish_page();
        let Builder { limits, mut stats, scratch, last, pages, separators, .. } = self;
        stats.height = 1;
        let mut level = Level { pages, separators };
        let root = match level.pages.len() {
            1 => level.pages.pop().map(Node::Leaf),
            _ => {
                let mut level = level.over(&limits, &mut stats);
                while level.pages.len() > 1 {
                    level = level.over(&limits, &mut stats);
                }
                level.pages.pop().map(Node::Inner)
            }
        };
        let Some(root) = root else {
            return Tree::new(options);
        };
        Tree { root, options, limits, stats, last_key: Some(last), scratch }
    }
}

/// The pages of one level and the separators between them.
struct Level<P> {
    pages: Vec<Arc<P>>,
    separators: Vec<Vec<u8>>,
}

impl<P: Page> Level<P> {
    /// The level above: inner pages as full as they may be.
    fn over(self, limits: &Limits, stats: &mut TreeStats) -> Level<Inner> {
        stats.height += 1;
        let mut above = Level { pages: Vec::new(), separators: Vec::new() };
        let mut pages = Vec::new();
        let mut between = Vec::new();
        let mut bytes = Inner::BYTES_EMPTY;
        // The separator before each page; the first page has none.
        let separators = std::iter::once(None).chain(self.separators.into_iter().map(Some));
        for (page, separator) in self.pages.into_iter().zip(separators) {
            if let Some(separator) = separator {
                let more = Inner::BYTES_PER_CHILD + separator.len();
                if bytes + more > limits.inner_bytes && pages.len() >= Inner::SPLIT_CHILDREN_MIN {
                    above.close(&mut between, &mut pages, stats);
                    above.separators.push(separator);
                    bytes = Inner::BYTES_EMPTY;
                } else {
                    between.push(separator);
                    bytes += more;
                }
            }
            pages.push(page);
        }
        above.close(&mut between, &mut pages, stats);
        above
    }
}

impl Level<Inner> {
    fn close<P: Page>(&mut self, separators: &mut Vec<Vec<u8>>, pages: &mut Vec<Arc<P>>, stats: &mut TreeStats) {
        let page = Inner::over(separators, std::mem::take(pages));
        separators.clear();
        page.count(stats);
        self.pages.push(Arc::new(page));
    }
}
