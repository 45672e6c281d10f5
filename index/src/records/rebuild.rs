//! Leaves built anew: the changes that do not fit the present body.
//!
//! Growing a body, splitting a leaf, merging two, squeezing out gaps and changing the form of the
//! directory are all the same: take the leaf apart into entries, change the list, and build as many
//! leaves as it needs.

use super::layout::Layout;
use super::leaf::{Content, Entry, Leaf, cost_of};
use super::overflow::MAX_EXTENTS;
use crate::page::PageId;

/// `leaf` with `content` under `rid` (added, or in place of what is there), as one leaf if it fits a
/// page, else cut where the halves come nearest to the same bytes. The first keeps the page id.
pub(super) fn with_document(leaf: &Leaf, rid: u64, content: Content<'_>, layout: Layout) -> Vec<Leaf> {
    let mut entries = leaf.entries();
    let at = entries.partition_point(|entry| entry.rid < rid);
    let entry = Entry { rid, content };
    match entries.get_mut(at) {
        Some(present) if present.rid == rid => *present = entry,
        _ => entries.insert(at, entry),
    }
    let appended = at + 1 == entries.len();
    let parts = cut(&entries, layout);
    let alone = parts.len() == 1;
    let mut id = Some(leaf.id);
    let mut leaves = Vec::with_capacity(parts.len());
    for part in parts {
        let entries = &entries[part];
        let need = need_of(entries);
        // Appending doubles a body, because more will follow; other changes leave it an eighth.
        let wanted = if alone && appended { need * 2 } else { need + need / 8 };
        let body = layout.body_for(wanted.clamp(need, layout.max_body().max(need)));
        leaves.push(Leaf::build(id.take().unwrap_or_else(PageId::fresh), entries, body));
    }
    leaves
}

/// A leaf with one document, and a body of at least `body_bytes` (at most a page).
pub(super) fn single(rid: u64, content: Content<'_>, body_bytes: usize, layout: Layout) -> Leaf {
    let entries = [Entry { rid, content }];
    let need = need_of(&entries);
    let body = layout.body_for(body_bytes.min(layout.max_body()).max(need));
    Leaf::build(PageId::fresh(), &entries, body)
}

/// The documents of `left` and `right`, whose ids are all higher, in one leaf that keeps the left
/// page id. The caller has checked that they fit ([`Leaf::cost_with`]).
pub(super) fn merged(left: &Leaf, right: &Leaf, layout: Layout) -> Leaf {
    let mut entries = left.entries();
    entries.extend(right.entries());
    let need = need_of(&entries);
    Leaf::build(left.id, &entries, layout.body_for(need))
}

/// The same documents in a body of a size that suits them.
pub(super) fn fitted(leaf: &Leaf, layout: Layout) -> Leaf {
    let entries = leaf.entries();
    let need = need_of(&entries);
    Leaf::build(leaf.id, &entries, layout.body_for(need))
}

/// The same documents in a body without room to spare.
pub(super) fn sealed(leaf: &Leaf) -> Leaf {
    let entries = leaf.entries();
    let need = need_of(&entries);
    Leaf::build(leaf.id, &entries, need)
}

/// Builds full leaves of a stream of leaves in ascending order.
pub(super) struct Packer {
    layout: Layout,
    /// Leaves taken in and not yet built, with what they need together.
    pending: Vec<Leaf>,
    packed: Vec<Leaf>,
}

impl Packer {
    pub(super) fn new(layout: Layout) -> Packer {
        Packer { layout, pending: Vec::new(), packed: Vec::new() }
    }

    /// Takes in the next leaf.
    pub(super) fn push(&mut self, leaf: Leaf) {
        self.pending.push(leaf);
        let entries: Vec<Entry<'_>> = self.pending.iter().flat_map(Leaf::entries).collect();
        let mut full = fill(&entries, self.layout);
        // The last of the parts may still take documents of the next leaf.
        let Some(rest) = full.pop().filter(|_| !full.is_empty()) else {
            return;
        };
        let rest = Leaf::build(PageId::fresh(), &entries[rest.clone()], need_of(&entries[rest]));
        for part in full {
            let entries = &entries[part];
            self.packed.push(Leaf::build(PageId::fresh(), entries, need_of(entries)));
        }
        self.pending.clear();
        self.pending.push(rest);
    }

    /// The packed leaves.
    pub(super) fn finish(mut self) -> Vec<Leaf> {
        let entries: Vec<Entry<'_>> = self.pending.iter().flat_map(Leaf::entries).collect();
        for part in fill(&entries, self.layout) {
            let entries = &entries[part];
            self.packed.push(Leaf::build(PageId::fresh(), entries, need_of(entries)));
        }
        self.packed
    }
}

/// Running needs of a part of a list of entries.
#[derive(Clone, Copy, Default)]
struct Need {
    document_bytes: usize,
    extents: usize,
    live: u64,
    first: u64,
    last: u64,
}

impl Need {
    fn with(self, entry: &Entry<'_>) -> Need {
        let large = matches!(entry.content, Content::Overflow(_));
        Need {
            document_bytes: self.document_bytes + entry.content.inline_len(),
            extents: self.extents + usize::from(large),
            live: self.live + 1,
            first: if self.live == 0 { entry.rid } else { self.first },
            last: entry.rid,
        }
    }

    fn bytes(self) -> Option<usize> {
        cost_of(self.document_bytes, self.first, self.last, self.live)
    }

    fn fits(self, layout: Layout) -> bool {
        let bytes = self.bytes().is_some_and(|bytes| bytes <= layout.max_body());
        bytes && self.extents <= MAX_EXTENTS
    }
}

/// Bytes of body that `entries`, which fit a leaf, need.
fn need_of(entries: &[Entry<'_>]) -> usize {
    let need = entries.iter().fold(Need::default(), Need::with);
    if entries.is_empty() { 0 } else { need.bytes().unwrap_or(0) }
}

/// Cuts `entries` into as few parts as hold them, each filled before the next begins.
fn fill(entries: &[Entry<'_>], layout: Layout) -> Vec<std::ops::Range<usize>> {
    cut_at(entries, usize::MAX, layout)
}

/// One part if everything fits a leaf, else two of about the same weight (or more, if need be).
fn cut(entries: &[Entry<'_>], layout: Layout) -> Vec<std::ops::Range<usize>> {
    let need = entries.iter().fold(Need::default(), Need::with);
    if need.fits(layout) {
        return fill(entries, layout);
    }
    let total: usize = entries.iter().map(|entry| weight(entry, layout)).sum();
    cut_at(entries, total / 2, layout)
}

/// What an entry counts for when a leaf is halved: bytes, or its share of the table of extents.
fn weight(entry: &Entry<'_>, layout: Layout) -> usize {
    match entry.content {
        Content::Inline(document) => document.len() + super::leaf::DENSE,
        Content::Overflow(_) => layout.page_bytes() / MAX_EXTENTS,
    }
}

/// Ends the first part where its weight comes nearest to `half`, and any part that is full.
fn cut_at(entries: &[Entry<'_>], half: usize, layout: Layout) -> Vec<std::ops::Range<usize>> {
    let mut parts = Vec::with_capacity(2);
    let (mut start, mut need, mut reached) = (0, Need::default(), 0_usize);
    for (at, entry) in entries.iter().enumerate() {
        let weight = weight(entry, layout);
        let halved = parts.is_empty() && reached.saturating_add(weight / 2) > half;
        let next = need.with(entry);
        if at > start && (halved || !next.fits(layout)) {
            parts.push(start..at);
            start = at;
            need = Need::default().with(entry);
        } else {
            need = next;
        }
        reached += weight;
    }
    if start < entries.len() {
        parts.push(start..entries.len());
    }
    parts
}
