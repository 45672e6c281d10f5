//! The statements of `update`, `delete` and `findAndModify` on logical documents.
//!
//! Matches are found first and written to then, from the last place of a stored document to its first: what
//! a write does to a stored document moves only later places.

use std::cmp::Reverse;

use bindery_document::{Doc, DocBuf, OwnedValue, Result, Value};
use bindery_patterns::Layout;
use bindery_patterns::subset::shortcut::Need;
use bindery_query::filter::Filter;
use bindery_query::plan::Shape;

use super::source::{Place, matching_places};
use super::{LayoutCollection, Writer, series};
use crate::command::{Compiled, ModifyOutcome, Request, Statement, UpdateOutcome, prepare};
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
    if !collection.layout.is_one_to_one() {
        places.sort_unstable_by_key(|place| (place.record_id, Reverse(place.ordinal)));
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
        let layout = &writer.collection().layout;
        match (&writer.collection().series, &**layout) {
            (Some(_), Layout::Bucket(bucket)) => {
                let arranged = bucket.arranged(after, false);
                writer.replace(place, arranged.doc(), cx)?;
            }
            _ => writer.replace(place, after, cx)?,
        }
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
    let prepared = prepare(request.server, document.doc())?;
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
    // Shaped before anything changes, so that a projection that fails changes nothing.
    let shaped = shape(before.doc())?;
    match compiled {
        None => {
            writer.delete(&[place], cx)?;
            Ok(ModifyOutcome { n: 1, value: Some(shaped), ..ModifyOutcome::default() })
        }
        Some(compiled) => {
            let mut buffer = Vec::new();
            let modified = apply(&mut writer, place, &compiled, arguments.bypass, &mut buffer, cx)?;
            let value = match (arguments.new, modified) {
                (true, true) => shape(Doc::from_stored(&buffer))?,
                _ => shaped,
            };
            Ok(ModifyOutcome { n: 1, updated_existing: Some(true), upserted: None, value: Some(value) })
        }
    }
}
