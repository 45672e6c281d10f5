//! Writing the attribute layout: one stored document for each logical one.

use bindery_document::{Doc, Result};
use bindery_patterns::attribute::Attribute;

use super::source::Place;
use crate::collection::WriteGuard;
use crate::trace::Cx;
use crate::write::{self, Changed};

pub(super) fn insert(layout: &Attribute, guard: &mut WriteGuard<'_>, document: Doc<'_>, cx: &mut Cx<'_>) -> Result<()> {
    let stored = layout.fold(document, Vec::new());
    write::insert(guard, Doc::from_stored(&stored), true, cx)?;
    Ok(())
}

pub(super) fn replace(
    layout: &Attribute,
    guard: &mut WriteGuard<'_>,
    place: Place,
    new: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let stored = layout.fold(new, Vec::new());
    write::update(guard, place.record_id, Doc::from_stored(&stored), Changed::Anything, true, cx)
}
