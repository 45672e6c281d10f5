//! The short way for `{_id: value}`: no command, no plan, no snapshot.

use std::any::TypeId;

use bindery_document::{Doc, Result, Value};
use bindery_index::Untraced;
use bson::{Bson, RawDocumentBuf};
use serde::de::DeserializeOwned;

use super::Collection;
use super::command::deserialize;

impl<T: DeserializeOwned + 'static> Collection<T> {
    /// The document with this `_id`, if the question can be answered the short way: `None` if it cannot.
    ///
    /// # Errors
    /// For a document that does not have the type's fields.
    pub(super) fn look_up(&self, filter: &bson::Document) -> Result<Option<Option<T>>> {
        let mut fields = filter.iter();
        let (Some((field, id)), None) = (fields.next(), fields.next()) else { return Ok(None) };
        let Some(id) = plain(id).filter(|_| field == "_id") else { return Ok(None) };
        let Some(collection) = self.inner.collection(&self.database, &self.name) else { return Ok(None) };
        let state = collection.peek();
        let Some(index) = state.id_index().filter(|index| index.meta.collation.is_none()) else { return Ok(None) };
        let Some(record_id) = index.find_one(&id, &mut Untraced)? else { return Ok(Some(None)) };
        match state.records.get(record_id, &mut Untraced) {
            None => Ok(Some(None)),
            Some(bytes) => materialize(bytes).map(|document| Some(Some(document))),
        }
    }
}

/// Values for which equality is a look-up, without allocation.
fn plain(id: &Bson) -> Option<Value<'_>> {
    Some(match id {
        Bson::Int32(n) => Value::Int32(*n),
        Bson::Int64(n) => Value::Int64(*n),
        Bson::Double(d) => Value::Double(*d),
        Bson::String(text) => Value::from(text.as_str()),
        Bson::ObjectId(id) => Value::ObjectId(id.bytes()),
        Bson::DateTime(date) => Value::DateTime(date.timestamp_millis()),
        Bson::Boolean(b) => Value::Boolean(*b),
        _ => return None,
    })
}

/// A stored document as a Rust type; as raw bytes it is copied, not parsed.
fn materialize<T: DeserializeOwned + 'static>(bytes: &[u8]) -> Result<T> {
    if TypeId::of::<T>() == TypeId::of::<RawDocumentBuf>()
        && let Ok(raw) = RawDocumentBuf::from_bytes(bytes.to_vec())
    {
        let boxed: Box<dyn std::any::Any> = Box::new(raw);
        if let Ok(document) = boxed.downcast::<T>() {
            return Ok(*document);
        }
    }
    deserialize(Doc::from_stored(bytes))
}
