//! Writing logical documents: one writer at a time, each document's change visible whole.

use bindery_document::{Doc, DocBuf, Result};
use bindery_index::RecordId;
use bindery_patterns::bucket::Bucket;
use bindery_patterns::subset::Subset;
use bindery_patterns::subset::shortcut::{Need, Push};
use bindery_patterns::{Layout, Wanted};
use parking_lot::MutexGuard;

use super::source::Place;
use super::{LayoutCollection, attribute, bucket, subset};
use crate::collection::WriteGuard;
use crate::trace::Cx;

/// New versions of a bucket's readings, by their places in it.
pub(super) type BucketChange = (RecordId, Vec<(u32, Vec<u8>)>);

/// The right to change a collection with a layout.
pub(crate) struct Writer<'a> {
    collection: &'a LayoutCollection,
    /// The stored documents.
    pub(super) stored: WriteGuard<'a>,
    /// The children, for a layout that keeps them apart.
    pub(super) side: Option<WriteGuard<'a>>,
    open: MutexGuard<'a, bucket::Open>,
}

impl LayoutCollection {
    /// Becomes the one writer until the result is dropped.
    pub(crate) fn lock_for_writing(&self) -> Writer<'_> {
        let open = self.writer.lock();
        Writer {
            collection: self,
            stored: self.stored.lock_for_writing(),
            side: self.side.as_ref().map(|side| side.lock_for_writing()),
            open,
        }
    }
}

impl<'a> Writer<'a> {
    /// The collection that is written to.
    pub(crate) fn collection(&self) -> &'a LayoutCollection {
        self.collection
    }

    /// The logical document at a place.
    ///
    /// # Errors
    /// What the planner and the time limit say, where a question is asked for it.
    pub(crate) fn read(&self, place: Place, cx: &mut Cx<'_>) -> Result<Option<DocBuf>> {
        self.read_for(place, Need::All, cx)
    }

    /// As [`Writer::read`], with as much of a subset's array as is needed.
    pub(super) fn read_for(&self, place: Place, need: Need, cx: &mut Cx<'_>) -> Result<Option<DocBuf>> {
        let state = self.stored.peek();
        let Some(stored) = state.records.get(place.record_id, &mut cx.visitor) else { return Ok(None) };
        let stored = Doc::from_stored(stored);
        Ok(match &*self.collection.layout {
            Layout::Attribute(layout) => Some(DocBuf::from_stored(layout.unfold(stored, Wanted::All, Vec::new()))),
            Layout::Bucket(layout) => layout.document(stored, place.ordinal).map(DocBuf::from_stored),
            Layout::Subset(layout) => match &self.side {
                Some(side) => Some(subset::read(layout, side, stored, need, cx)?),
                None => None,
            },
        })
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
            Layout::Subset(layout) => match &mut self.side {
                Some(side) => subset::insert(layout, &mut self.stored, side, document, cx),
                None => Ok(()),
            },
        }
    }

    /// All readings of a bucket, by their places.
    pub(super) fn readings(&self, layout: &Bucket, record_id: RecordId, cx: &mut Cx<'_>) -> Vec<Vec<u8>> {
        let state = self.stored.peek();
        let stored = state.records.get(record_id, &mut cx.visitor);
        stored.map_or_else(Vec::new, |stored| layout.documents(Doc::from_stored(stored)))
    }

    /// Puts new versions, which were checked, in the places of readings, given by bucket and place.
    ///
    /// # Errors
    /// None but faults of ours.
    pub(super) fn replace_readings(
        &mut self,
        layout: &Bucket,
        changes: &[BucketChange],
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let _moment = self.collection.moment.write();
        // Those that belong into another bucket now come last, so that they cannot move others that are to change.
        let mut moved = Vec::new();
        for (record_id, changed) in changes {
            bucket::replace(layout, &mut self.stored, *record_id, changed, &mut moved, cx)?;
        }
        for reading in moved {
            bucket::insert(layout, &mut self.open, &mut self.stored, Doc::from_stored(reading), cx)?;
        }
        Ok(())
    }

    /// Puts a new version in the place of a logical document.
    ///
    /// # Errors
    /// As [`Writer::insert`].
    pub(crate) fn replace(&mut self, place: Place, new: Doc<'_>, cx: &mut Cx<'_>) -> Result<()> {
        let _moment = self.collection.moment.write();
        match &*self.collection.layout {
            Layout::Attribute(layout) => attribute::replace(layout, &mut self.stored, place, new, cx),
            Layout::Bucket(layout) => {
                layout.reading(new)?;
                let changed = [(place.ordinal, new.as_bytes().to_vec())];
                let mut moved = Vec::new();
                bucket::replace(layout, &mut self.stored, place.record_id, &changed, &mut moved, cx)?;
                match moved.first() {
                    Some(_) => bucket::insert(layout, &mut self.open, &mut self.stored, new, cx),
                    None => Ok(()),
                }
            }
            Layout::Subset(layout) => match &mut self.side {
                Some(side) => subset::replace(layout, &mut self.stored, side, place, new, cx),
                None => Ok(()),
            },
        }
    }

    /// As [`Writer::replace`], for a new version in which a subset's array is only changed by the push, or not at
    /// all; what `new` holds there does not matter. False, and nothing done, if that cannot be done without the
    /// whole array.
    pub(super) fn replace_around(
        &mut self,
        layout: &Subset,
        place: Place,
        new: Doc<'_>,
        push: Option<&Push<'_>>,
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        let _moment = self.collection.moment.write();
        match (push, &mut self.side) {
            (Some(push), Some(side)) => subset::push(layout, &mut self.stored, side, place, new, push, cx),
            (Some(_), None) => Ok(false),
            (None, _) => subset::replace_parent(layout, &mut self.stored, place, new, cx),
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
            Layout::Subset(layout) => {
                let Some(side) = &mut self.side else { return Ok(()) };
                for place in places {
                    cx.step()?;
                    let _moment = self.collection.moment.write();
                    subset::delete(layout, &mut self.stored, side, *place, cx)?;
                }
                Ok(())
            }
        }
    }
}
