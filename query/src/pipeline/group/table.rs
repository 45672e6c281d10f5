//! The groups of a `$group`: found by the bytes of their key, each with the key's values and its states.
//!
//! Groups lie in chunks, so that adding one never copies those that are there, and what the table holds is what it
//! accounts for.

use bindery_document::OwnedValue;
use rustc_hash::FxHashMap;

use super::{Accumulator, State};

/// Groups that lie together.
const CHUNK_GROUPS: usize = 256;

/// What a group takes in the hash table: an entry of 25 bytes, of which there are up to 16 to 7 groups, and while the
/// table grows half as many again.
const ENTRY_BYTES: usize = 88;

/// The groups.
#[derive(Debug)]
pub(super) struct Table {
    places: FxHashMap<Box<[u8]>, usize>,
    chunks: Vec<Chunk>,
    len: usize,
    /// How many values a key has.
    n_parts: usize,
    /// The states of a new group.
    fresh: Vec<State>,
    used_bytes: usize,
}

#[derive(Debug, Default)]
struct Chunk {
    /// The values of the keys, those of a group side by side.
    ids: Vec<Option<OwnedValue>>,
    /// The states, likewise.
    states: Vec<State>,
}

/// One group.
pub(super) struct Entry<'t> {
    /// The values of its key.
    pub(super) id: &'t [Option<OwnedValue>],
    pub(super) states: &'t mut [State],
}

impl Table {
    pub(super) fn new<'a>(n_parts: usize, accumulators: impl Iterator<Item = &'a Accumulator>) -> Table {
        Table {
            places: FxHashMap::default(),
            chunks: Vec::new(),
            len: 0,
            n_parts,
            fresh: accumulators.map(Accumulator::state).collect(),
            used_bytes: 0,
        }
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The bytes that all groups take.
    #[inline]
    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Accounts for what states have grown by.
    #[inline]
    pub(super) fn grow(&mut self, bytes: usize) {
        self.used_bytes += bytes;
    }

    /// The place of the group with this key, which is added if it is new: `id` appends the values of its key then.
    #[inline]
    pub(super) fn place(&mut self, key: &[u8], id: impl FnOnce(&mut Vec<Option<OwnedValue>>)) -> usize {
        match self.places.get(key) {
            Some(place) => *place,
            None => self.add(key, id),
        }
    }

    #[cold]
    fn add(&mut self, key: &[u8], id: impl FnOnce(&mut Vec<Option<OwnedValue>>)) -> usize {
        let place = self.len;
        if place.is_multiple_of(CHUNK_GROUPS) {
            self.chunks.push(match place {
                // There may be one group only.
                0 => Chunk::default(),
                _ => Chunk {
                    ids: Vec::with_capacity(CHUNK_GROUPS * self.n_parts),
                    states: Vec::with_capacity(CHUNK_GROUPS * self.fresh.len()),
                },
            });
        }
        if let Some(chunk) = self.chunks.last_mut() {
            id(&mut chunk.ids);
            chunk.states.extend(self.fresh.iter().cloned());
        }
        self.places.insert(key.into(), place);
        self.len += 1;
        let states: usize = self.fresh.iter().map(|state| size_of::<State>() + state.boxed_bytes()).sum();
        self.used_bytes += ENTRY_BYTES + 2 * (key.len() + 16) + self.n_parts * size_of::<Option<OwnedValue>>() + states;
        place
    }

    /// A group by its place; `None` behind the last.
    #[inline]
    pub(super) fn get_mut(&mut self, place: usize) -> Option<Entry<'_>> {
        let chunk = self.chunks.get_mut(place / CHUNK_GROUPS)?;
        let nth = place % CHUNK_GROUPS;
        if place >= self.len {
            return None;
        }
        let id = chunk.ids.get(nth * self.n_parts..(nth + 1) * self.n_parts)?;
        let states = chunk.states.get_mut(nth * self.fresh.len()..(nth + 1) * self.fresh.len())?;
        Some(Entry { id, states })
    }

    /// Lets go of what finds groups: no documents come any more.
    pub(super) fn close(&mut self) {
        self.places = FxHashMap::default();
    }

    /// Lets go of the groups before a place, which have been given.
    pub(super) fn forget_before(&mut self, place: usize) {
        if place.is_multiple_of(CHUNK_GROUPS)
            && let Some(given) = (place / CHUNK_GROUPS).checked_sub(1)
            && let Some(chunk) = self.chunks.get_mut(given)
        {
            *chunk = Chunk::default();
        }
    }
}
