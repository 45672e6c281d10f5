//! The keys of one document: a sorted set, in buffers that are used again.

use std::collections::BTreeSet;

use super::MultikeyPaths;
use crate::key::KeyBuilder;

/// One key of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'k> {
    /// The ordered key, without record id.
    pub bytes: &'k [u8],
    /// Its type bits; empty for the common types.
    pub type_bits: &'k [u8],
}

/// Where a key lies in the buffers.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    bits_start: usize,
    bits_end: usize,
}

/// The keys that a document has in one index: ascending, without duplicates.
///
/// Keep one and hand it to [`KeyGenerator::generate`](super::KeyGenerator::generate) again and again: for
/// documents without arrays it then allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub(super) builder: KeyBuilder,
    bytes: Vec<u8>,
    bits: Vec<u8>,
    spans: Vec<Span>,
    pub(super) multikey: MultikeyPaths,
    pub(super) multikey_names: BTreeSet<Vec<u8>>,
    is_multikey: bool,
}

impl Keys {
    /// No keys.
    pub fn new() -> Keys {
        Keys::default()
    }

    /// Forgets all keys and keeps the memory: for a document that the index leaves out.
    pub fn clear(&mut self) {
        self.reset(0);
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the document is not in the index.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The keys, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Key<'_>> {
        self.spans.iter().map(|span| self.key(*span))
    }

    /// Whether the document led through an array, even if it has one key or none.
    pub fn is_multikey(&self) -> bool {
        self.is_multikey
    }

    /// The arrays that the document's paths led through; not those of a wildcard index.
    pub fn multikey_paths(&self) -> &MultikeyPaths {
        &self.multikey
    }

    /// The dotted paths of the arrays that a wildcard index met.
    pub fn wildcard_multikey_paths(&self) -> impl Iterator<Item = &str> {
        self.multikey_names.iter().filter_map(|path| std::str::from_utf8(path).ok())
    }

    /// Forgets the keys and makes ready for those of an index of `n` fields.
    pub(super) fn reset(&mut self, n: usize) {
        self.bytes.clear();
        self.bits.clear();
        self.spans.clear();
        self.builder.clear();
        if self.is_multikey || self.multikey.fields().len() != n {
            self.multikey.reset(n);
            self.multikey_names.clear();
            self.is_multikey = false;
        }
    }

    /// Notes that component `part` of a field is an array.
    pub(super) fn mark_multikey(&mut self, field: usize, part: usize) {
        self.is_multikey = true;
        self.multikey.insert(field, part);
    }

    /// Notes that a wildcard index met an array at this path.
    pub(super) fn mark_wildcard_multikey(&mut self, path: &[u8]) {
        self.is_multikey = true;
        if !self.multikey_names.contains(path) {
            self.multikey_names.insert(path.to_vec());
        }
    }

    /// Adds the key in the builder, and clears the builder.
    #[inline]
    pub(super) fn push(&mut self) {
        let (start, bits_start) = (self.bytes.len(), self.bits.len());
        self.bytes.extend_from_slice(self.builder.as_bytes());
        self.bits.extend_from_slice(self.builder.type_bits());
        self.spans.push(Span { start, end: self.bytes.len(), bits_start, bits_end: self.bits.len() });
        self.builder.clear();
    }

    /// Sorts the keys and drops duplicates; of keys that compare equal the first one stays.
    pub(super) fn finish(&mut self) {
        if self.spans.len() < 2 {
            return;
        }
        let bytes = &self.bytes;
        let of = |span: &Span| bytes.get(span.start..span.end).unwrap_or_default();
        self.spans.sort_by(|a, b| of(a).cmp(of(b)));
        self.spans.dedup_by(|a, b| of(a) == of(b));
    }

    fn key(&self, span: Span) -> Key<'_> {
        Key {
            bytes: self.bytes.get(span.start..span.end).unwrap_or_default(),
            type_bits: self.bits.get(span.bits_start..span.bits_end).unwrap_or_default(),
        }
    }
}
