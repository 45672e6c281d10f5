//! `collMod`: what can be changed about a collection, one of its indexes, or a view.
//!
//! Source: MongoDB's manual, "collMod"; the codes were asked of a real server.

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Result, Value, code};

use super::args::{Args, to_integer};
use super::{Request, Target, create, views_collection};
use crate::catalog::{Entry, View};
use crate::collection::{
    Capped, Collection, CollectionOptions, State, ValidationAction, ValidationLevel, Validator, same_documents,
};
use crate::layout::LayoutCollection;
use crate::trace::Cx;
use crate::write;

const FIELDS: [&str; 14] = [
    "index",
    "validator",
    "validationLevel",
    "validationAction",
    "viewOn",
    "pipeline",
    "recordPreImages",
    "changeStreamPreAndPostImages",
    "expireAfterSeconds",
    "timeseries",
    "isTimeseriesNamespace",
    "dryRun",
    "cappedSize",
    "cappedMax",
];

const INDEX_FIELDS: [&str; 6] = ["name", "keyPattern", "expireAfterSeconds", "hidden", "unique", "prepareUnique"];

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("collMod", request.command, &FIELDS)?;
    args.refuse_nulls(&["expireAfterSeconds"])?;
    let name = request.collection_name()?;
    check_types(&args)?;
    match request.target(name) {
        Target::Absent => Err(Error::new(code::NAMESPACE_NOT_FOUND, "ns does not exist")),
        Target::View(view) => modify_view(request, name, &view, &args, cx),
        Target::Layout(layout) if layout.series.is_some() => modify_series(request, name, &layout, &args, cx),
        Target::Layout(layout) => {
            // The stored form's options are the layout's; an index can be hidden like any other.
            match FIELDS.iter().find(|field| !matches!(**field, "index" | "dryRun") && args.given(field).is_some()) {
                Some(field) => Err(invalid(format!("'{field}' of a collection with a layout cannot be changed"))),
                None => modify_collection(request, &layout.stored, &args, cx),
            }
        }
        Target::Collection(collection) => modify_collection(request, &collection, &args, cx),
    }
}

fn modify_series(
    request: &Request<'_>,
    name: &str,
    layout: &LayoutCollection,
    args: &Args<'_>,
    cx: &mut Cx<'_>,
) -> Result<Builder> {
    for field in ["viewOn", "pipeline"] {
        if args.given(field).is_some() {
            return Err(invalid(format!("option only supported on a view: {field}")));
        }
    }
    let refused =
        ["validator", "validationLevel", "validationAction", "recordPreImages", "changeStreamPreAndPostImages"];
    if let Some(field) = refused.iter().find(|field| args.given(field).is_some()) {
        return Err(invalid(format!("option not supported on a time-series collection: {field}")));
    }
    let Some(before) = &layout.series else { return Ok(Builder::new()) };
    let series = args.document("timeseries")?.map_or_else(|| Ok(before.clone()), |asked| before.changed(asked))?;
    let mut options = CollectionOptions::clone(&layout.options);
    match args.given("expireAfterSeconds") {
        None => {}
        Some(Value::String(word)) if word.as_str() == "off" => options.expire_after_seconds = None,
        Some(Value::String(_)) => return Err(invalid("the only word for 'expireAfterSeconds' is 'off'")),
        Some(value) => match to_integer(&value) {
            Some(n) if n > i64::from(i32::MAX) => {
                return Err(invalid("'expireAfterSeconds' must be within an acceptable range, try a lower number"));
            }
            _ => options.expire_after_seconds = Some(seconds(args, "expireAfterSeconds", &value)?),
        },
    }
    let mut reply = Builder::new();
    if let Some(asked) = args.document("index")? {
        if asked.get("expireAfterSeconds").is_some() {
            return Err(invalid("TTL indexes are not supported for time-series collections"));
        }
        // A key is that of buckets.
        let mut index = Builder::new();
        for field in asked {
            match field.value() {
                Value::Document(key) if field.key == b"keyPattern" => {
                    let translated = layout.layout.index_key(key);
                    let key = translated.as_ref().map_or(key, bindery_document::DocBuf::doc);
                    index.append("keyPattern", Value::Document(key));
                }
                _ => index.append_element(field),
            }
        }
        let mut command = Builder::new();
        command.append("index", Value::Document(index.finish().doc()));
        command.append("dryRun", args.flag("dryRun")?);
        let command = command.finish();
        reply = modify_collection(request, &layout.stored, &Args { name: args.name, doc: command.doc() }, cx)?;
    }
    if !args.flag("dryRun")? {
        let changed = Arc::new(layout.redeclared(request.server, series, options, cx)?);
        request.server.catalog.write().replace(request.database, name, Entry::Layout(Arc::clone(&changed)));
        create::record_series(request, name, &changed, cx)?;
    }
    Ok(reply)
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(code::INVALID_OPTIONS, why)
}

/// The checks that do not need to know what the name stands for.
fn check_types(args: &Args<'_>) -> Result<()> {
    for field in ["index", "validator", "timeseries", "changeStreamPreAndPostImages"] {
        args.document(field)?;
    }
    args.string("viewOn")?;
    args.array("pipeline")?;
    args.flag("dryRun")?;
    Capped::parse_size("cappedSize", args)?;
    Capped::parse_documents("cappedMax", args)?;
    level_and_action(args).map(|_| ())
}

fn level_and_action(args: &Args<'_>) -> Result<(Option<ValidationLevel>, Option<ValidationAction>)> {
    let level = args.string("validationLevel")?.map(ValidationLevel::parse).transpose()?;
    let action = args.string("validationAction")?.map(ValidationAction::parse).transpose()?;
    Ok((level, action))
}

fn modify_view(request: &Request<'_>, name: &str, view: &View, args: &Args<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let given =
        FIELDS.iter().find(|field| !matches!(**field, "viewOn" | "pipeline" | "dryRun") && args.given(field).is_some());
    if let Some(field) = given {
        return Err(invalid(format!("option not supported on a view: {field}")));
    }
    let (on, pipeline) = (args.string("viewOn")?, args.array("pipeline")?);
    if on.is_none() && pipeline.is_none() {
        return Ok(Builder::new());
    }
    let on = on.unwrap_or(&view.on);
    let pipeline = pipeline.unwrap_or(view.pipeline.doc());
    let changed = create::define_view(request, name, on, pipeline, view.collation.clone())?;
    views_collection::record(request, name, &changed, cx)?;
    request.server.catalog.write().replace(request.database, name, Entry::View(Arc::new(changed)));
    Ok(Builder::new())
}

fn modify_collection(
    request: &Request<'_>,
    collection: &Collection,
    args: &Args<'_>,
    cx: &mut Cx<'_>,
) -> Result<Builder> {
    for field in ["viewOn", "pipeline"] {
        if args.given(field).is_some() {
            return Err(invalid(format!("option only supported on a view: {field}")));
        }
    }
    if args.given("timeseries").is_some() {
        return Err(invalid("option only supported on a time-series collection: timeseries"));
    }
    let dry = args.flag("dryRun")?;
    if dry && args.given("index").is_none() {
        return Err(invalid("dry run mode requires an valid index modification."));
    }
    let guard = collection.lock_for_writing();
    let state = guard.snapshot();
    let options = changed_options(&state, args)?;
    let mut reply = Builder::new();
    let index = match args.document("index")? {
        Some(index) => changed_index(request, &state, index, dry, &mut reply, cx)?,
        None => None,
    };
    // Pages are not shared with this snapshot any more when they change next.
    drop(state);
    if !dry {
        let mut change = guard.change();
        let state = change.get();
        if let Some((position, changed)) = index {
            state.indexes[position] = changed;
        }
        state.options = Arc::new(options);
    }
    Ok(reply)
}

/// The options as they will be.
fn changed_options(state: &State, args: &Args<'_>) -> Result<CollectionOptions> {
    let mut options = CollectionOptions::clone(&state.options);
    if let Some(validator) = args.document("validator")? {
        let parse = || Validator::parse(validator, options.default_collation()?);
        options.validator = if validator.is_empty() { None } else { Some(parse()?) };
    }
    let (level, action) = level_and_action(args)?;
    if args.given("validator").is_some() || level.is_some() || action.is_some() {
        // From now on both are said, as on the server.
        options.validation_level = Some(level.or(options.validation_level).unwrap_or_default());
        options.validation_action = Some(action.or(options.validation_action).unwrap_or_default());
    }
    let (size, documents) = (Capped::parse_size("cappedSize", args)?, Capped::parse_documents("cappedMax", args)?);
    if size.is_some() || documents.is_some() {
        let Some(capped) = options.capped else { return Err(invalid("Collection must be capped.")) };
        options.capped = Some(Capped::new(size.unwrap_or(capped.bytes), documents.or(capped.documents)));
    }
    match args.given("expireAfterSeconds") {
        None => {}
        Some(_) if options.clustered.is_none() => {
            return Err(invalid("'expireAfterSeconds' option is only supported on collections clustered by _id"));
        }
        Some(Value::String(word)) if word.as_str() == "off" => options.expire_after_seconds = None,
        Some(value) => options.expire_after_seconds = Some(seconds(args, "expireAfterSeconds", &value)?),
    }
    Ok(options)
}

/// The index that is asked to change, as it will be, and its position; none if nothing about it changes.
/// What changes is written to the reply, old and new.
fn changed_index(
    request: &Request<'_>,
    state: &State,
    given: Doc<'_>,
    dry: bool,
    reply: &mut Builder,
    cx: &mut Cx<'_>,
) -> Result<Option<(usize, crate::collection::Index)>> {
    let args = Args::of_statement("collMod.index", given, &INDEX_FIELDS)?;
    let expire = args.given("expireAfterSeconds");
    if let Some(value) = &expire
        && to_integer(value).is_none()
    {
        return Err(args.mismatch("expireAfterSeconds", value.kind(), "long"));
    }
    let (hidden, unique) = (args.loose_flag("hidden")?, args.loose_flag("unique")?);
    let prepare = args.loose_flag("prepareUnique")?;
    let position = find_index(state, &args)?;
    if expire.is_none() && hidden.is_none() && unique.is_none() && prepare.is_none() {
        return Err(invalid("no expireAfterSeconds, hidden, unique, or prepareUnique field"));
    }
    let position = position.ok_or_else(|| {
        Error::new(code::INDEX_NOT_FOUND, format!("cannot find the index {given:?} of {}", request.database))
    })?;
    let index = &state.indexes[position];
    let mut spec = index.meta.spec.clone();
    if let Some(value) = &expire {
        check_expirable(state, &spec)?;
        let new = seconds(&args, "expireAfterSeconds", value)?;
        if let Some(old) = spec.expire_after_seconds {
            reply.append("expireAfterSeconds_old", old);
        }
        reply.append("expireAfterSeconds_new", new);
        spec.expire_after_seconds = Some(new);
    }
    if let Some(new) = hidden {
        if index.meta.is_id {
            return Err(match spec.clustered {
                true => Error::new(6_011_800, "The 'hidden' option is not supported for a clusteredIndex"),
                false => Error::new(code::BAD_VALUE, "can't hide _id index"),
            });
        }
        show_change(reply, "hidden", spec.hidden, new);
        spec.hidden = new;
    }
    match unique {
        Some(false) => return Err(Error::new(code::BAD_VALUE, "Cannot make index non-unique")),
        Some(true) if !spec.unique => {
            if !spec.prepare_unique {
                return Err(invalid(
                    "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.",
                ));
            }
            if write::has_duplicates(index, cx)? {
                return Err(Error::new(
                    code::CANNOT_CONVERT_INDEX_TO_UNIQUE,
                    "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.",
                ));
            }
            if !dry {
                reply.append("unique_new", true);
            }
            (spec.unique, spec.prepare_unique) = (true, false);
        }
        _ => {}
    }
    if let Some(new) = prepare
        && !spec.unique
    {
        show_change(reply, "prepareUnique", spec.prepare_unique, new);
        spec.prepare_unique = new;
    }
    if spec == index.meta.spec {
        return Ok(None);
    }
    Ok(Some((position, index.with_spec(spec)?)))
}

/// The position of the index that a name or a key pattern tells.
fn find_index(state: &State, args: &Args<'_>) -> Result<Option<usize>> {
    match (args.string("name")?, args.document("keyPattern")?) {
        (Some(_), Some(_)) => Err(invalid("Cannot specify both key pattern and name.")),
        (None, None) => Err(invalid("Must specify either index name or key pattern.")),
        (Some(name), None) => Ok(state.index_named(name)),
        (None, Some(key)) => {
            let mut found = state
                .indexes
                .iter()
                .enumerate()
                .filter(|(_, index)| same_documents(index.meta.spec.key.doc(), key))
                .map(|(position, _)| position);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(Error::new(
                    code::AMBIGUOUS_INDEX_KEY_PATTERN,
                    format!("{key:?} is the key of more than one index; tell it by name"),
                )),
                (first, None) => Ok(first),
            }
        }
    }
}

/// What may not expire.
fn check_expirable(state: &State, spec: &crate::collection::IndexSpec) -> Result<()> {
    if state.options.capped.is_some() {
        return Err(invalid("TTL indexes are not supported for capped collections."));
    }
    if spec.is_id_key() {
        return Err(invalid("the _id field does not support TTL indexes"));
    }
    if spec.key.doc().count() > 1 {
        return Err(invalid("TTL indexes are single-field indexes, compound indexes do not support TTL"));
    }
    Ok(())
}

/// Seconds, those beyond what indexes can hold cut to the largest number.
fn seconds(args: &Args<'_>, field: &str, value: &Value<'_>) -> Result<i64> {
    match to_integer(value) {
        None => Err(args.mismatch(field, value.kind(), "long")),
        Some(n) if n < 0 => Err(invalid("TTL index 'expireAfterSeconds' option cannot be less than 0")),
        Some(n) => Ok(n.min(i64::from(i32::MAX))),
    }
}

fn show_change(reply: &mut Builder, field: &str, old: bool, new: bool) {
    if old != new {
        reply.append(format!("{field}_old"), old);
        reply.append(format!("{field}_new"), new);
    }
}
