//! Building an index over the documents that are there.

use bindery_document::{Doc, Error, Result, code};
use bindery_index::key::{KeyBuilder, split_record_id};
use bindery_index::keygen::Keys;

use super::unique;
use crate::collection::{Index, State};
use crate::execute::corrupt;
use crate::trace::Cx;

/// One entry to be, as a stretch of a shared buffer.
#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes, so that most comparisons stay in this array.
    head: u64,
    start: usize,
    key: u32,
    bits: u32,
}

/// Fills a new index from the documents of the state: keys are made, sorted, and packed into full pages.
///
/// # Errors
/// 11000 if it is unique and two documents share a key, 171 for parallel arrays.
pub(crate) fn build_index(state: &State, mut index: Index, cx: &mut Cx<'_>) -> Result<Index> {
    let mut bytes = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    let mut keys = Keys::default();
    let mut entry = KeyBuilder::new();
    let mut cursor = state.records.cursor();
    while let Some((record_id, document)) = cursor.next(&mut cx.visitor) {
        cx.step()?;
        index.keys_of(Doc::from_stored(document), &mut keys)?;
        index.note_multikey(&keys);
        for key in keys.iter() {
            entry.clear();
            entry.append_encoded(key.bytes);
            entry.append_record_id(record_id);
            let start = bytes.len();
            bytes.extend_from_slice(entry.as_bytes());
            bytes.extend_from_slice(key.type_bits);
            entries.push(Entry {
                head: head(entry.as_bytes()),
                start,
                key: entry.as_bytes().len() as u32,
                bits: key.type_bits.len() as u32,
            });
        }
    }
    let key = |e: &Entry| &bytes[e.start..e.start + e.key as usize];
    let bits = |e: &Entry| &bytes[e.start + e.key as usize..e.start + e.key as usize + e.bits as usize];
    entries.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
    // One that is to be unique later may begin with duplicates.
    if index.meta.is_id || index.meta.spec.unique {
        for pair in entries.windows(2) {
            let ((first, _), (second, _)) =
                (split_record_id(key(&pair[0])).map_err(corrupt)?, split_record_id(key(&pair[1])).map_err(corrupt)?);
            if first == second {
                return Err(unique::duplicate(&index, second, bits(&pair[1])));
            }
        }
    }
    cx.work.index_entries_written += entries.len() as u64;
    index.tree = bindery_index::Tree::bulk_build(index.tree.options(), entries.iter().map(|e| (key(e), bits(e))))
        .map_err(|fault| Error::new(code::INTERNAL_ERROR, format!("an index could not be built: {fault}")))?;
    Ok(index)
}

/// The first eight bytes, as a number that compares as they do; shorter keys are padded.
fn head(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}
