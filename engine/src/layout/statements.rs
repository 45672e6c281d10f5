//! The statements of `update`, `delete` and `findAndModify` on logical documents.
//!
//! Matches are found first and written to then; those in one bucket together, because a write to a bucket may move
//! other readings in it.

use bindery_document::{Doc, DocBuf, OwnedValue, Result, Value};
use bindery_patterns::Layout;
use bindery_patterns::bucket::Bucket;
use bindery_patterns::subset::shortcut::Need;
use bindery_query::filter::Filter;
use bindery_query::plan::Shape;

use super::source::{Place, matching_places};
use super::writer::BucketChange;
use super::{LayoutCollection, Writer, series};
use crate::command::{Compiled, ModifyOutcome, Request, Statement, UpdateOutcome, prepare_upserted};
use crate::execute::{Question, project};
use crate::trace::Cx;
use crate::write;

/// Runs one statement of an `update`; `outcome` holds what was done, also when an error ends it.
///
/// # Errors
/// What the languages and the write door say.
pub(crate) fn update(
    request: &Request<'_>,
    collection: &LayoutCollection,
    statement: &Statement<'_>,
    bypass: bool,
    outcome: &mut UpdateOutcome,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if let (Some(series), Layout::Bucket(bucket)) = (&collection.series, &*collection.layout) {
        series::check_update(series, bucket, statement, || filter_of(request, &statement.question))?;
    }
    let mut writer = collection.lock_for_writing();
    let compiled = Compiled::new(request, statement, None)?;
    let mut question = statement.question;
    if !statement.multi {
        question.limit = Some(1);
    }
    let mut places = matching_places(request.server, collection, &question, cx)?;
    if places.is_empty() && statement.upsert {
        outcome.upserted = Some(upsert(request, &mut writer, &compiled, bypass, cx)?.0);
        return Ok(());
    }
    if let Layout::Bucket(bucket) = &*collection.layout {
        places.sort_unstable();
        return update_readings(bucket, &mut writer, &places, &compiled, bypass, outcome, cx);
    }
    let mut buffer = Vec::new();
    for place in places {
        cx.step()?;
        let modified = match apply_around(&mut writer, place, statement, &compiled, bypass, &mut buffer, cx)? {
            Some(modified) => modified,
            None => apply(&mut writer, place, &compiled, bypass, &mut buffer, cx)?,
        };
        outcome.matched += 1;
        outcome.modified += u64::from(modified);
    }
    Ok(())
}

/// Updates readings, bucket by bucket: a change of its time moves a reading, so that all of a bucket change at once.
fn update_readings(
    bucket: &Bucket,
    writer: &mut Writer<'_>,
    places: &[Place],
    compiled: &Compiled,
    bypass: bool,
    outcome: &mut UpdateOutcome,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut changes: Vec<BucketChange> = Vec::new();
    let mut failed = Ok(());
    'buckets: for places in places.chunk_by(|a, b| a.record_id == b.record_id) {
        let Some(first) = places.first() else { continue };
        let readings = writer.readings(bucket, first.record_id, cx);
        let mut changed = Vec::new();
        for place in places {
            let Some(before) = readings.get(place.ordinal as usize) else { continue };
            match new_version(bucket, writer.collection(), Doc::from_stored(before), compiled, bypass, cx) {
                Ok(after) => {
                    outcome.matched += 1;
                    outcome.modified += u64::from(after.is_some());
                    changed.extend(after.map(|after| (place.ordinal, after)));
                }
                Err(error) => {
                    failed = Err(error);
                    changes.push((first.record_id, changed));
                    break 'buckets;
                }
            }
        }
        changes.push((first.record_id, changed));
    }
    // What was done before a failure stays done.
    changes.retain(|(_, changed)| !changed.is_empty());
    writer.replace_readings(bucket, &changes, cx)?;
    failed
}

/// What an update makes of a reading; `None` if it changes nothing.
fn new_version(
    bucket: &Bucket,
    collection: &LayoutCollection,
    before: Doc<'_>,
    compiled: &Compiled,
    bypass: bool,
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<u8>>> {
    cx.step()?;
    let mut after = Vec::new();
    if !compiled.apply_to(before, &mut after)?.modified {
        return Ok(None);
    }
    if collection.series.is_some() {
        after = bucket.arranged(Doc::from_stored(&after), false).into_bytes();
    }
    let new = Doc::from_stored(&after);
    if !bypass {
        write::check_update(&collection.options, before, new)?;
    }
    bucket.reading(new)?;
    Ok(Some(after))
}

/// Updates the document at a place; says whether it counts as modified. The new version is left in `buffer`.
fn apply(
    writer: &mut Writer<'_>,
    place: Place,
    compiled: &Compiled,
    bypass: bool,
    buffer: &mut Vec<u8>,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let Some(before) = writer.read(place, cx)? else { return Ok(false) };
    let applied = compiled.apply_to(before.doc(), buffer)?;
    if applied.modified {
        let after = Doc::from_stored(buffer);
        if !bypass {
            write::check_update(&writer.collection().options, before.doc(), after)?;
        }
        writer.replace(place, after, cx)?;
    }
    Ok(applied.modified)
}

/// As [`apply`], without a subset's children, for an update that leaves them alone or only adds to them; `None`
/// if it must have them, and nothing is changed then.
fn apply_around(
    writer: &mut Writer<'_>,
    place: Place,
    statement: &Statement<'_>,
    compiled: &Compiled,
    bypass: bool,
    buffer: &mut Vec<u8>,
    cx: &mut Cx<'_>,
) -> Result<Option<bool>> {
    let collection = writer.collection();
    let Layout::Subset(layout) = &*collection.layout else { return Ok(None) };
    let validates = !bypass && collection.options.validator.is_some();
    let push = layout.push_of(&statement.update);
    if validates || compiled.needs_position() || push.is_none() && layout.is_touched_by(&statement.update) {
        return Ok(None);
    }
    let Some(before) = writer.read_for(place, Need::Nothing, cx)? else { return Ok(Some(false)) };
    let applied = compiled.apply_to(before.doc(), buffer)?;
    if !applied.modified {
        return Ok(push.is_none().then_some(false));
    }
    let done = writer.replace_around(layout, place, Doc::from_stored(buffer), push.as_ref(), cx)?;
    Ok(done.then_some(true))
}

/// Inserts the document that a statement describes; gives its `_id` and itself.
fn upsert(
    request: &Request<'_>,
    writer: &mut Writer<'_>,
    compiled: &Compiled,
    bypass: bool,
    cx: &mut Cx<'_>,
) -> Result<(OwnedValue, DocBuf)> {
    let document = compiled.new_document()?;
    let prepared = prepare_upserted(request.server, document.doc())?;
    let document = Doc::from_stored(&prepared);
    super::insert(writer, document, bypass, cx)?;
    Ok((OwnedValue::new(document.get("_id").unwrap_or(Value::Null)), DocBuf::from(document)))
}

fn filter_of(request: &Request<'_>, question: &Question<'_>) -> Result<Filter> {
    Filter::parse(question.filter, &question.context(&request.server.scope(), question.collation(None)?)?)
}

/// Runs one statement of a `delete`: all matches, or the first. Gives how many were deleted.
///
/// # Errors
/// What the languages and the write door say.
pub(crate) fn delete(
    request: &Request<'_>,
    collection: &LayoutCollection,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<i64> {
    if let (Some(series), Layout::Bucket(bucket)) = (&collection.series, &*collection.layout) {
        series::check_delete(series, bucket, question, || filter_of(request, question))?;
    }
    let mut writer = collection.lock_for_writing();
    let mut places = matching_places(request.server, collection, question, cx)?;
    places.sort_unstable();
    writer.delete(&places, cx)?;
    Ok(places.len() as i64)
}

/// Runs a `findAndModify`; no statement is a removal. `shape` is what the found document is given back in.
///
/// # Errors
/// What the languages and the write door say; nothing is changed then.
pub(crate) fn find_and_modify(
    request: &Request<'_>,
    collection: &LayoutCollection,
    arguments: &crate::command::ModifyArguments<'_>,
    wanted: Option<&Shape>,
    cx: &mut Cx<'_>,
) -> Result<ModifyOutcome> {
    let statement = &arguments.statement;
    let mut writer = collection.lock_for_writing();
    let compiled = match arguments.remove {
        true => None,
        false => Some(Compiled::new(request, statement, None)?),
    };
    let found = matching_places(request.server, collection, &statement.question, cx)?.first().copied();
    let shape = |document: Doc<'_>| match wanted {
        Some(wanted) => project(wanted, document),
        None => Ok(DocBuf::from(document)),
    };
    let Some(place) = found else {
        let none = ModifyOutcome { updated_existing: (!arguments.remove).then_some(false), ..ModifyOutcome::default() };
        let Some(compiled) = compiled.filter(|_| statement.upsert) else { return Ok(none) };
        let (id, document) = upsert(request, &mut writer, &compiled, arguments.bypass, cx)?;
        let value = if arguments.new { Some(shape(document.doc())?) } else { None };
        return Ok(ModifyOutcome { n: 1, updated_existing: Some(false), upserted: Some(id), value });
    };
    let before = writer.read(place, cx)?.unwrap_or_default();
    // A projection that fails does so after the change, which stays.
    match compiled {
        None => {
            writer.delete(&[place], cx)?;
            Ok(ModifyOutcome { n: 1, value: Some(shape(before.doc())?), ..ModifyOutcome::default() })
        }
        Some(compiled) => {
            let mut buffer = Vec::new();
            let modified = apply(&mut writer, place, &compiled, arguments.bypass, &mut buffer, cx)?;
            let value = match (arguments.new, modified) {
                (true, true) => shape(Doc::from_stored(&buffer))?,
                _ => shape(before.doc())?,
            };
            Ok(ModifyOutcome { n: 1, updated_existing: Some(true), upserted: None, value: Some(value) })
        }
    }
}
