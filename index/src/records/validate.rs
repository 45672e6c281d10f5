//! The full walk: recomputes everything that a store keeps redundantly, and compares.

use std::collections::HashSet;

use super::Records;
use super::inner::{Inner, Node};
use super::layout::Layout;
use super::leaf::Leaf;
use super::overflow::MAX_EXTENTS;
use super::slot::Slot;
use super::totals::Totals;
use crate::page::{PageId, TreeStats};

/// The figures of all pages below `node`.
pub(super) fn totals_of(node: &Node, layout: Layout) -> Totals {
    fn add(node: &Node, layout: Layout, totals: &mut Totals) {
        match node {
            Node::Leaf(leaf) => totals.credit_leaf(leaf, layout),
            Node::Inner(child) => {
                totals.credit_inner(&child.page);
                child.page.children.iter().for_each(|node| add(node, layout, totals));
            }
        }
    }
    let mut totals = Totals::default();
    add(node, layout, &mut totals);
    totals
}

/// See [`Records::validate`].
pub(super) fn walk(records: &Records) -> Result<TreeStats, String> {
    let height = records.root.height();
    let mut walk = Walk { layout: records.layout, last: None, pages: HashSet::new() };
    walk.node(&records.root, height, 0, None)?;
    if let Some(last) = walk.last {
        check(last < records.next, || format!("next id {} is not above r{last}", records.next))?;
    }
    let found = totals_of(&records.root, records.layout);
    check(found == records.totals, || format!("the statistics say {:?}, the pages {found:?}", records.totals))?;
    Ok(TreeStats { height, ..*found.stats() })
}

struct Walk {
    layout: Layout,
    /// The highest record id so far.
    last: Option<u64>,
    pages: HashSet<PageId>,
}

impl Walk {
    /// Checks that all below `node` has ids from `low` to below `high`; gives the documents.
    fn node(&mut self, node: &Node, level: u32, low: u64, high: Option<u64>) -> Result<u64, String> {
        match node {
            Node::Leaf(leaf) => {
                check(level == 1, || format!("leaf {:?} lies on level {level}", leaf.id))?;
                let root = self.pages.is_empty();
                self.page(leaf.id)?;
                check(root || leaf.live() > 0, || format!("leaf {:?} is empty", leaf.id))?;
                self.leaf(leaf, low, high).map_err(|error| format!("leaf {:?}: {error}", leaf.id))
            }
            Node::Inner(child) => {
                check(level > 1, || format!("inner page {:?} on the leaf level", child.page.id))?;
                self.page(child.page.id)?;
                let entries = self.inner(&child.page, level, low, high)?;
                check(entries == child.entries, || {
                    let (id, said) = (child.page.id, child.entries);
                    format!("inner page {id:?} has {entries} documents below, its parent says {said}")
                })?;
                Ok(entries)
            }
        }
    }

    fn inner(&mut self, page: &Inner, level: u32, low: u64, high: Option<u64>) -> Result<u64, String> {
        let id = page.id;
        check(!page.children.is_empty() && page.firsts.len() == page.children.len(), || {
            format!("inner page {id:?}: {} ids, {} children", page.firsts.len(), page.children.len())
        })?;
        check(page.bytes() <= self.layout.page_bytes(), || format!("inner page {id:?} has {} bytes", page.bytes()))?;
        check(page.firsts.is_sorted_by(|a, b| a < b), || format!("inner page {id:?}: separators do not ascend"))?;
        check(page.firsts[0] >= low, || format!("inner page {id:?} begins below its separator"))?;
        let mut entries = 0;
        for (at, node) in page.children.iter().enumerate() {
            let high = page.firsts.get(at + 1).copied().or(high);
            entries += self.node(node, level - 1, page.firsts[at], high)?;
        }
        Ok(entries)
    }

    fn leaf(&mut self, leaf: &Leaf, low: u64, high: Option<u64>) -> Result<u64, String> {
        check(leaf.body_bytes() <= self.layout.max_body(), || format!("a body of {} bytes", leaf.body_bytes()))?;
        let (mut live, mut bytes, mut end) = (0, 0, 0);
        let mut extents = HashSet::new();
        for slot in 0..leaf.slots() {
            match leaf.slot(slot) {
                Slot::Hole => continue,
                Slot::Inline { offset, len } => {
                    check(offset >= end, || format!("slot {slot} overlaps the one before"))?;
                    check(len <= self.layout.max_inline(), || format!("slot {slot} is too long"))?;
                    end = offset + len;
                    bytes += len as u64;
                }
                Slot::Overflow(index) => {
                    let extent = leaf.extents().get(index);
                    let extent = extent.ok_or_else(|| format!("slot {slot} names no extent"))?;
                    check(extents.insert(index), || format!("slot {slot} shares its extent"))?;
                    check(extent.len() > self.layout.max_inline(), || {
                        format!("slot {slot} has a short document in overflow pages")
                    })?;
                    bytes += extent.len() as u64;
                    self.page(extent.id)?;
                }
            }
            live += 1;
            let rid = leaf.rid_at(slot);
            check(self.last.is_none_or(|last| last < rid), || format!("r{rid} does not ascend"))?;
            check(rid >= low && high.is_none_or(|high| rid < high), || format!("r{rid} is not within its separators"))?;
            check(leaf.find(rid) == Some(slot), || format!("r{rid} is not found"))?;
            self.last = Some(rid);
        }
        check(extents.len() == leaf.extents().len() && extents.len() <= MAX_EXTENTS, || {
            format!("{} extents, {} slots for them", leaf.extents().len(), extents.len())
        })?;
        check(live == leaf.live(), || format!("{live} documents, {} counted", leaf.live()))?;
        check(bytes == leaf.document_bytes(), || format!("{bytes} document bytes, {} counted", leaf.document_bytes()))?;
        check(end <= leaf.heap_end(), || format!("documents end at {end}, not before the room"))?;
        check(leaf.heap_end() + leaf.slots() * leaf.width() <= leaf.body_bytes(), || {
            "documents reach into the directory".to_owned()
        })?;
        Ok(live)
    }

    fn page(&mut self, id: PageId) -> Result<(), String> {
        check(self.pages.insert(id), || format!("page {id:?} occurs twice"))
    }
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
