//! The collector that sorts: all items, or the first k of the order.
//!
//! Keys and items lie in chunks, so that taking one in never copies those that are there, and what is sorted at the end
//! is pairs of a key's first bytes and an item's number. So what a sort holds is what it accounts for.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use bindery_document::{Doc, Error, OwnedValue, Result, code};
use bindery_index::keygen::Keys;

use super::Sort;

/// Collects items with their sort keys and gives them back sorted. Items of equal keys keep the order in
/// which they came. With a limit of k it holds no more than k items.
#[derive(Debug)]
pub struct Sorter<T> {
    collected: Collected<T>,
    memory: Memory,
}

#[derive(Debug)]
enum Collected<T> {
    /// All items, sorted at the end.
    All(Chunks<T>),
    /// The least k so far, the greatest of them on top.
    Least { k: usize, heap: BinaryHeap<Ranked<T>>, came: u64 },
}

/// Items with their keys, in the order in which they came.
#[derive(Debug)]
struct Chunks<T> {
    keys: Vec<Vec<u8>>,
    entries: Vec<Vec<Entry<T>>>,
    len: usize,
}

/// The bytes of a chunk of keys; one that is longer has a chunk of its own.
const KEY_CHUNK_BYTES: usize = 64 * 1024;
/// The items of a chunk.
const CHUNK_ENTRIES: usize = 1024;

/// An item, and where its key lies.
#[derive(Debug)]
struct Entry<T> {
    chunk: u32,
    start: u32,
    length: u32,
    /// None once it was given.
    item: Option<T>,
}

/// The first bytes of a key, which mostly decide, and the number of its item.
type Place = (u64, usize);

/// An item with its own key.
#[derive(Debug)]
struct Ranked<T> {
    key: Box<[u8]>,
    came: u64,
    bytes: usize,
    /// The document's value of the first field, where it is known.
    first: Option<OwnedValue>,
    item: T,
}

#[derive(Debug)]
struct Memory {
    used_bytes: usize,
    limit_bytes: usize,
}

/// Items in order.
#[derive(Debug)]
pub struct Sorted<T>(Rest<T>);

#[derive(Debug)]
enum Rest<T> {
    All { entries: Vec<Vec<Entry<T>>>, order: std::vec::IntoIter<Place> },
    Few(std::vec::IntoIter<T>),
}

impl<T> Sorter<T> {
    /// A collector of all items, or of the first `limit` in order; `limit_bytes` bounds keys and items together
    /// ([`SORT_MEMORY_BYTES`](super::SORT_MEMORY_BYTES), or `usize::MAX`).
    pub fn new(limit: Option<usize>, limit_bytes: usize) -> Sorter<T> {
        let collected = match limit {
            None => Collected::All(Chunks { keys: Vec::new(), entries: Vec::new(), len: 0 }),
            Some(k) => Collected::Least { k, heap: BinaryHeap::new(), came: 0 },
        };
        Sorter { collected, memory: Memory { used_bytes: 0, limit_bytes } }
    }

    /// Whether an item with this key can be among the results; if not, it need not be made.
    pub fn wants(&self, key: &[u8]) -> bool {
        match &self.collected {
            Collected::All(_) => true,
            Collected::Least { k, heap, .. } => {
                heap.len() < *k || heap.peek().is_some_and(|greatest| key < &*greatest.key)
            }
        }
    }

    /// Takes an item, whose own size is given in bytes; it counts for no less than what is held of every item.
    ///
    /// # Errors
    /// [`code::QUERY_EXCEEDED_MEMORY_LIMIT`] when keys and items take more than allowed.
    pub fn push(&mut self, key: &[u8], item: T, item_bytes: usize) -> Result<()> {
        if !self.wants(key) {
            return Ok(());
        }
        self.insert(key, None, item, item_bytes)
    }

    /// Takes what `item` makes of a document, if that is among the first of the order; its size is that of the document
    /// and `more_bytes`. Most documents are passed over by a look at their first field, without a key being made.
    ///
    /// # Errors
    /// As [`Sort::key`] and [`Sorter::push`].
    #[inline]
    pub fn offer(
        &mut self,
        sort: &Sort,
        doc: Doc<'_>,
        keys: &mut Keys,
        more_bytes: usize,
        item: impl FnOnce() -> T,
    ) -> Result<()> {
        if let (Some(lead), Some(bound)) = (&sort.lead, self.bound())
            && lead.is_beyond(doc, &bound.value())
        {
            return Ok(());
        }
        let key = sort.key(doc, keys)?;
        if !self.wants(key) {
            return Ok(());
        }
        let first = match &self.collected {
            Collected::All(_) => None,
            Collected::Least { .. } => sort.lead.as_ref().and_then(|lead| lead.value(doc)),
        };
        self.insert(key, first, item(), doc.as_bytes().len() + more_bytes)
    }

    /// The first field's value of the last document that is among the results so far, once there are enough.
    #[inline]
    fn bound(&self) -> Option<&OwnedValue> {
        match &self.collected {
            Collected::Least { k, heap, .. } if heap.len() >= *k => heap.peek()?.first.as_ref(),
            _ => None,
        }
    }

    fn insert(&mut self, key: &[u8], first: Option<OwnedValue>, item: T, item_bytes: usize) -> Result<()> {
        let bytes = key.len() + item_bytes.max(Self::HELD_BYTES);
        match &mut self.collected {
            Collected::All(chunks) => chunks.push(key, item),
            Collected::Least { k, heap, came } => {
                if heap.len() == *k
                    && let Some(dropped) = heap.pop()
                {
                    self.memory.used_bytes -= dropped.bytes;
                }
                heap.push(Ranked { key: key.into(), came: *came, bytes, first, item });
                *came += 1;
            }
        }
        self.memory.take(bytes)
    }

    /// What is held of an item besides its key.
    pub const HELD_BYTES: usize = size_of::<Entry<T>>() + size_of::<Place>();

    /// The number of items held.
    pub fn len(&self) -> usize {
        match &self.collected {
            Collected::All(chunks) => chunks.len,
            Collected::Least { heap, .. } => heap.len(),
        }
    }

    /// Whether no items are held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of keys and items held.
    pub fn used_bytes(&self) -> usize {
        self.memory.used_bytes
    }

    /// The items in order.
    pub fn finish(self) -> Sorted<T> {
        Sorted(match self.collected {
            Collected::All(chunks) => {
                let order = chunks.order().into_iter();
                Rest::All { entries: chunks.entries, order }
            }
            Collected::Least { heap, .. } => {
                let items: Vec<T> = heap.into_sorted_vec().into_iter().map(|ranked| ranked.item).collect();
                Rest::Few(items.into_iter())
            }
        })
    }
}

impl<T> Chunks<T> {
    fn push(&mut self, key: &[u8], item: T) {
        // The first chunks grow as they are filled: most sorts are small.
        if self.keys.last().is_none_or(|last| last.len() + key.len() > KEY_CHUNK_BYTES) {
            let capacity = if self.keys.is_empty() { key.len() } else { KEY_CHUNK_BYTES.max(key.len()) };
            self.keys.push(Vec::with_capacity(capacity));
        }
        if self.entries.last().is_none_or(|last| last.len() == CHUNK_ENTRIES) {
            let capacity = if self.entries.is_empty() { 0 } else { CHUNK_ENTRIES };
            self.entries.push(Vec::with_capacity(capacity));
        }
        let chunk = self.keys.len() - 1;
        if let (Some(keys), Some(entries)) = (self.keys.last_mut(), self.entries.last_mut()) {
            let (start, length) = (keys.len() as u32, key.len() as u32);
            keys.extend_from_slice(key);
            entries.push(Entry { chunk: chunk as u32, start, length, item: Some(item) });
            self.len += 1;
        }
    }

    /// The key of an item.
    fn key(&self, nth: usize) -> &[u8] {
        let entry = self.entries.get(nth / CHUNK_ENTRIES).and_then(|chunk| chunk.get(nth % CHUNK_ENTRIES));
        let key = entry.and_then(|entry| {
            let start = entry.start as usize;
            self.keys.get(entry.chunk as usize)?.get(start..start + entry.length as usize)
        });
        key.unwrap_or_default()
    }

    fn order(&self) -> Vec<Place> {
        let mut order: Vec<Place> = (0..self.len).map(|nth| (head(self.key(nth)), nth)).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.key(a.1).cmp(self.key(b.1))).then_with(|| a.1.cmp(&b.1))
        });
        order
    }
}

impl<T> Iterator for Sorted<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            Rest::All { entries, order } => {
                let (_, nth) = order.next()?;
                entries.get_mut(nth / CHUNK_ENTRIES)?.get_mut(nth % CHUNK_ENTRIES)?.item.take()
            }
            Rest::Few(items) => items.next(),
        }
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Sorted<T> {
        Sorted(Rest::Few(Vec::new().into_iter()))
    }
}

impl Memory {
    fn take(&mut self, bytes: usize) -> Result<()> {
        self.used_bytes += bytes;
        if self.used_bytes > self.limit_bytes {
            return Err(Error::new(
                code::QUERY_EXCEEDED_MEMORY_LIMIT,
                format!(
                    "the sort needs more than {} bytes of memory; allowDiskUse lets it have more",
                    self.limit_bytes
                ),
            ));
        }
        Ok(())
    }
}

/// The first eight bytes as a number that orders as they do.
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Ranked<T>) -> Ordering {
        self.key.cmp(&other.key).then(self.came.cmp(&other.came))
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Ranked<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Ranked<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Ranked<T> {}
