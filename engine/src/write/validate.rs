//! The full walk: pages against statistics, indexes against documents.

use bindery_document::{Doc, Result};
use bindery_index::key::KeyBuilder;
use bindery_index::keygen::Keys;

use crate::collection::State;
use crate::trace::Cx;

/// Something that does not hold together.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The index it is in; none if it is in the records.
    pub(crate) index: Option<String>,
    /// What is wrong.
    pub(crate) message: String,
}

/// Walks everything: each tree recomputes its own accounts, then every document's keys are looked up, and
/// the numbers of entries are compared.
///
/// # Errors
/// Only when the time limit ends the walk; faults are the result.
pub(crate) fn validate(state: &State, cx: &mut Cx<'_>) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if let Err(message) = state.records.validate() {
        faults.push(Fault { index: None, message: format!("records: {message}") });
    }
    let mut expected = vec![0u64; state.indexes.len()];
    let mut keys = Keys::default();
    let mut entry = KeyBuilder::new();
    let mut cursor = state.records.cursor();
    while let Some((record_id, bytes)) = cursor.next(&mut cx.visitor) {
        cx.step()?;
        let document = Doc::from_stored(bytes);
        if let Err(invalid) = bindery_document::validate::validate(bytes) {
            faults.push(Fault { index: None, message: format!("{record_id:?}: {invalid}") });
            continue;
        }
        for (index, expected) in state.indexes.iter().zip(&mut expected) {
            let name = || Some(index.meta.spec.name.clone());
            if let Err(error) = index.keys_of(document, &mut keys) {
                faults.push(Fault { index: name(), message: format!("{record_id:?}: {error}") });
                continue;
            }
            for key in keys.iter() {
                *expected += 1;
                entry.clear();
                entry.append_encoded(key.bytes);
                entry.append_record_id(record_id);
                if index.tree.get(entry.as_bytes(), &mut cx.visitor) != Some(key.type_bits) {
                    faults.push(Fault { index: name(), message: format!("{record_id:?} lacks an entry") });
                }
            }
        }
    }
    for (index, expected) in state.indexes.iter().zip(expected) {
        let name = Some(index.meta.spec.name.clone());
        if let Err(corrupt) = index.tree.validate() {
            faults.push(Fault { index: name.clone(), message: corrupt.to_string() });
        }
        if index.tree.len() != expected {
            let message = format!("{} entries, but the documents have {expected} keys", index.tree.len());
            faults.push(Fault { index: name, message });
        }
    }
    Ok(faults)
}
