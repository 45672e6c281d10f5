//! Writing logical documents: one writer at a time, each document's change visible whole.

use bindery_document::{Doc, DocBuf, Result};
use bindery_patterns::Layout;
use parking_lot::MutexGuard;

use super::source::Place;
use super::{LayoutCollection, attribute, bucket};
use crate::collection::WriteGuard;
use crate::trace::Cx;

/// The right to change a collection with a layout.
pub(crate) struct Writer<'a> {
    collection: &'a LayoutCollection,
    /// The stored documents.
    pub(super) stored: WriteGuard<'a>,
    open: MutexGuard<'a, bucket::Open>,
}

impl LayoutCollection {
    /// Becomes the one writer until the result is dropped.
    pub(crate) fn lock_for_writing(&self) -> Writer<'_> {
        let open = self.writer.lock();
        Writer { collection: self, stored: self.stored.lock_for_writing(), open }
    }
}

impl<'a> Writer<'a> {
    /// The collection that is written to.
    pub(crate) fn collection(&self) -> &'a LayoutCollection {
        self.collection
    }

    /// The logical document at a place.
    pub(crate) fn read(&self, place: Place, cx: &mut Cx<'_>) -> Option<DocBuf> {
        let state = self.stored.peek();
        let stored = Doc::from_stored(state.records.get(place.record_id, &mut cx.visitor)?);
        match &*self.collection.layout {
            Layout::Attribute(layout) => Some(DocBuf::from_stored(layout.unfold(stored, Vec::new()))),
            Layout::Bucket(layout) => layout.document(stored, place.ordinal).map(DocBuf::from_stored),
        }
    }

    /// Stores a logical document that was made ready.
    ///
    /// # Errors
    /// What the write door says; nothing is changed then.
    pub(crate) fn insert(&mut self, document: Doc<'_>, cx: &mut Cx<'_>) -> Result<()> {
        let _moment = self.collection.moment.write();
        match &*self.collection.layout {
            Layout::Attribute(layout) => attribute::insert(layout, &mut self.stored, document, cx),
            Layout::Bucket(layout) => bucket::insert(layout, &mut self.open, &mut self.stored, document, cx),
        }
    }

    /// Puts a new version in the place of a logical document.
    ///
    /// # Errors
    /// As [`Writer::insert`].
    pub(crate) fn replace(&mut self, place: Place, new: Doc<'_>, cx: &mut Cx<'_>) -> Result<()> {
        let _moment = self.collection.moment.write();
        match &*self.collection.layout {
            Layout::Attribute(layout) => attribute::replace(layout, &mut self.stored, place, new, cx),
            Layout::Bucket(layout) => bucket::replace(layout, &mut self.open, &mut self.stored, place, new, cx),
        }
    }

    /// Removes the logical documents at these places, which are in the order of [`Place`].
    ///
    /// # Errors
    /// What the write door says.
    pub(crate) fn delete(&mut self, places: &[Place], cx: &mut Cx<'_>) -> Result<()> {
        match &*self.collection.layout {
            Layout::Attribute(_) => {
                for place in places {
                    cx.step()?;
                    crate::write::delete(&mut self.stored, place.record_id, cx)?;
                }
                Ok(())
            }
            Layout::Bucket(layout) => {
                for places in places.chunk_by(|a, b| a.record_id == b.record_id) {
                    cx.step()?;
                    let ordinals: Vec<u32> = places.iter().map(|place| place.ordinal).collect();
                    bucket::remove(layout, &mut self.stored, places[0].record_id, &ordinals, cx)?;
                }
                Ok(())
            }
        }
    }
}
