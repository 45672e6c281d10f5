//! The full walk: recomputes order, counts, prefixes, sizes and reachability, and compares them with
//! what the pages and the tree say.
//!
//! Pages are read here with a decoder of its own that checks every length, so that damage is
//! reported with the page's id and never panics.

use std::collections::HashSet;
use std::fmt;

use super::cell::{ESCAPE, HEAD_BYTES, MIXED, MODE_AT, RUN_HEAD, common, head};
use super::inner::{Children, Inner};
use super::leaf::{Leaf, SLOT_BYTES, Slot};
use super::node::Page;
use super::{Node, Tree};
use crate::page::{PageId, TreeStats};

/// What [`Tree::validate`] found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// The page; the root for what concerns the tree as a whole.
    pub page: PageId,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {:?}: {}", self.page, self.what)
    }
}

impl std::error::Error for Corrupt {}

/// What the walk has met so far.
struct Walk<'a> {
    tree: &'a Tree,
    found: TreeStats,
    pages: HashSet<PageId>,
    /// Depth of the first leaf met.
    leaf_depth: Option<u32>,
}

/// Keys that may stand below a page: not below the first, below the second.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    low: Option<&'a [u8]>,
    high: Option<&'a [u8]>,
}

impl Bounds<'_> {
    fn contain(&self, key: &[u8]) -> bool {
        self.low.is_none_or(|low| low <= key) && self.high.is_none_or(|high| key < high)
    }
}

impl Tree {
    /// Walks all pages and recomputes what they and the tree's statistics say; gives the statistics
    /// as found, which are then those of [`Tree::stats`]. Costs a read of the whole tree.
    ///
    /// # Errors
    /// [`Corrupt`] with the first page that is not as it must be.
    pub fn validate(&self) -> Result<TreeStats, Corrupt> {
        let mut walk = Walk { tree: self, found: TreeStats::default(), pages: HashSet::new(), leaf_depth: None };
        let everything = Bounds { low: None, high: None };
        let root = match &self.root {
            Node::Leaf(leaf) => {
                walk.leaf(leaf, everything, 1)?;
                leaf.id
            }
            Node::Inner(inner) => {
                walk.inner(inner, everything, 1)?;
                inner.id
            }
        };
        walk.found.height = walk.leaf_depth.unwrap_or(1);
        ensure(walk.found == self.stats, root, "the statistics are not what the pages hold")?;
        if let Some(last) = &self.last_key {
            let mut cursor = super::Cursor::new(self);
            cursor.seek_last(&mut crate::page::Untraced);
            ensure(cursor.key() == &last[..], root, "the last key is not the one remembered")?;
        }
        Ok(walk.found)
    }
}

fn ensure(holds: bool, page: PageId, what: &'static str) -> Result<(), Corrupt> {
    match holds {
        true => Ok(()),
        false => Err(Corrupt { page, what }),
    }
}

impl Walk<'_> {
    fn meet(&mut self, page: PageId) -> Result<(), Corrupt> {
        ensure(self.pages.insert(page), page, "two places lead to the page")
    }

    fn inner(&mut self, inner: &Inner, bounds: Bounds<'_>, depth: u32) -> Result<(), Corrupt> {
        let id = inner.id;
        self.meet(id)?;
        inner.count(&mut self.found);
        inner.check_arrays().map_err(|what| Corrupt { page: id, what })?;
        let sum: u64 = inner.counts.iter().sum();
        ensure(sum == inner.entries, id, "the counts do not add up to the page's entries")?;
        let separators: Vec<Vec<u8>> = (0..inner.len() - 1).map(|i| inner.separator(i)).collect();
        for pair in separators.windows(2) {
            ensure(pair[0] < pair[1], id, "separators are out of order")?;
        }
        for separator in &separators {
            ensure(bounds.contain(separator), id, "a separator lies outside the page's bounds")?;
        }
        for (child, count) in inner.counts.iter().enumerate() {
            let bounds = Bounds {
                low: child.checked_sub(1).map(|i| &separators[i][..]).or(bounds.low),
                high: separators.get(child).map(|s| &s[..]).or(bounds.high),
            };
            let entries = match &inner.children {
                Children::Leaves(list) => {
                    self.leaf(&list[child], bounds, depth + 1)?;
                    list[child].entries()
                }
                Children::Inners(list) => {
                    self.inner(&list[child], bounds, depth + 1)?;
                    list[child].entries()
                }
            };
            ensure(entries == *count, id, "a count is not the child's number of entries")?;
            ensure(entries > 0, id, "an empty page is left below an inner page")?;
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf, bounds: Bounds<'_>, depth: u32) -> Result<(), Corrupt> {
        let id = leaf.id;
        self.meet(id)?;
        leaf.count(&mut self.found);
        self.found.entries += u64::from(leaf.entries);
        let leaf_depth = *self.leaf_depth.get_or_insert(depth);
        ensure(leaf_depth == depth, id, "leaves lie at different depths")?;
        let limits = &self.tree.limits;
        ensure(leaf.body.len() <= limits.body_max || leaf.entries == 1, id, "the page is larger than its tree allows")?;
        check_leaf(leaf, bounds).map_err(|what| Corrupt { page: id, what })
    }
}

/// Reads a leaf without trusting any of its lengths.
fn check_leaf(leaf: &Leaf, bounds: Bounds<'_>) -> Result<(), &'static str> {
    let body = &leaf.body[..];
    let runs = leaf.runs();
    let directory_at = body.len().checked_sub(runs * SLOT_BYTES).ok_or("the directory is larger than the page")?;
    let heap_end = leaf.heap_end as usize;
    if heap_end > directory_at {
        return Err("the heap reaches into the directory");
    }
    let prefix_len = leaf.prefix_len as usize;
    let prefix = body.get(..prefix_len).ok_or("the common prefix is longer than the page")?;
    let slots: Vec<Slot> = body[directory_at..].as_chunks().0.iter().map(Slot::read).collect();
    let (mut entries, mut live) = (0, 0);
    let mut extents = Vec::with_capacity(runs);
    let mut last: Option<Vec<u8>> = None;
    for slot in &slots {
        let len = match body.get(slot.offset..slot.offset + 2) {
            Some(&[0xFF, 0xFF]) if runs == 1 => heap_end.saturating_sub(slot.offset),
            Some(&[low, high]) => u16::from_le_bytes([low, high]) as usize,
            _ => return Err("a run lies outside the page"),
        };
        let end = slot.offset + len + slot.slack;
        if len < RUN_HEAD || slot.offset < prefix_len || end > heap_end {
            return Err("a run lies outside the heap");
        }
        extents.push((slot.offset, end));
        live += len;
        entries += slot.count;
        check_run(&body[slot.offset..slot.offset + len], slot, prefix, bounds, &mut last)?;
    }
    extents.sort_unstable();
    if extents.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err("two runs overlap");
    }
    if entries != leaf.entries as usize {
        return Err("the slots do not add up to the page's entries");
    }
    if live != leaf.live as usize {
        return Err("the runs do not add up to the page's live bytes");
    }
    Ok(())
}

/// Reads a run; `last` is the key before it and becomes its last key.
fn check_run(
    run: &[u8],
    slot: &Slot,
    prefix: &[u8],
    bounds: Bounds<'_>,
    last: &mut Option<Vec<u8>>,
) -> Result<(), &'static str> {
    const CUT: &str = "a cell ends outside its run";
    if slot.count == 0 {
        return Err("a run is empty");
    }
    let mode = run[MODE_AT];
    let mut reader = Reader { bytes: run, at: RUN_HEAD };
    let key_len = reader.varint().ok_or(CUT)?;
    let tail = reader.take(key_len.saturating_sub(HEAD_BYTES)).ok_or(CUT)?;
    let in_head = &slot.head.to_be_bytes()[..key_len.min(HEAD_BYTES)];
    let mut key = [prefix, in_head, tail].concat();
    if head(&key[prefix.len()..]) != slot.head {
        return Err("a slot's head is not that of its restart");
    }
    for cell in 0..slot.count {
        if cell > 0 {
            let header = reader.take(1).ok_or(CUT)?[0];
            let (mut drop, mut suffix_len) = ((header >> 4) as usize, (header & 15) as usize);
            if drop == ESCAPE {
                drop = reader.varint().ok_or(CUT)?;
            }
            if suffix_len == ESCAPE {
                suffix_len = reader.varint().ok_or(CUT)?;
            }
            let suffix = reader.take(suffix_len).ok_or(CUT)?;
            let kept = key.len().checked_sub(drop).filter(|kept| *kept >= prefix.len());
            let kept = kept.ok_or("a cell drops more than its predecessor's key")?;
            if common(&key[kept..], suffix) > 0 {
                return Err("a cell repeats bytes of its predecessor");
            }
            key.truncate(kept);
            key.extend_from_slice(suffix);
        }
        let value_len = match mode {
            MIXED => reader.varint().ok_or(CUT)?,
            len => len as usize,
        };
        reader.take(value_len).ok_or(CUT)?;
        if last.as_ref().is_some_and(|last| *last >= key) {
            return Err("keys are out of order");
        }
        if !bounds.contain(&key) {
            return Err("a key lies outside the page's bounds");
        }
        let last = last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(&key);
    }
    if reader.at != run.len() {
        return Err("bytes follow a run's last cell");
    }
    Ok(())
}

/// Reads bytes with every length checked.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    fn varint(&mut self) -> Option<usize> {
        let mut value: usize = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.take(1)?[0];
            value |= ((byte & 0x7f) as usize) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}
