//! `create`: collections and views.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_index::Records;

use super::args::Args;
use super::{Request, Target, view_graph, views_collection};
use crate::catalog::{Entry, View};
use crate::collection::{Collection, CollectionOptions, Index, IndexSpec, State};
use crate::database::Inner;
use crate::layout::{LayoutCollection, Series, series};
use crate::namespace::{self, BUCKETS_PREFIX, VIEWS};
use crate::trace::Cx;

const FIELDS: [&str; 22] = [
    "capped",
    "autoIndexId",
    "idIndex",
    "size",
    "max",
    "storageEngine",
    "validator",
    "validationLevel",
    "validationAction",
    "indexOptionDefaults",
    "viewOn",
    "pipeline",
    "collation",
    "changeStreamPreAndPostImages",
    "timeseries",
    "clusteredIndex",
    "expireAfterSeconds",
    "encryptedFields",
    "temp",
    "flags",
    "recordPreImages",
    "layout",
];

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("create", request.command, &FIELDS)?;
    args.refuse_nulls(&["clusteredIndex"])?;
    let name = request.collection_name()?;
    if name != VIEWS {
        namespace::check_new_collection(request.database, name)?;
    }
    if args.loose_flag("autoIndexId")? == Some(false) && args.given("viewOn").is_none() {
        return Err(Error::new(50_001, "autoIndexId can no longer be false: every collection has an index on _id"));
    }
    let invalid = |why: &str| Err(Error::new(code::INVALID_OPTIONS, why));
    if args.given("temp").is_some() {
        return invalid("the 'temp' field is an invalid option");
    }
    refuse_encrypted(&args)?;
    let series = args.document("timeseries")?.map(Series::parse).transpose()?;
    let (on, pipeline) = (args.string("viewOn")?, args.array("pipeline")?);
    // The options are checked for views too, which have none of them.
    let options = CollectionOptions::parse(&args)?;
    if let Some(index) = args.document("idIndex")? {
        check_id_index(index, &options)?;
    }
    match on {
        Some(on) => {
            if options.clustered.is_some() {
                return Err(Error::new(6_026_500, "The 'clusteredIndex' option is not supported with views"));
            }
            // Whether it would be capped is of no interest.
            for field in ["idIndex", "timeseries"] {
                if args.given(field).is_some_and(|value| value.is_truthy()) {
                    return invalid(&format!("'{field}' is not allowed with 'viewOn'"));
                }
            }
            if !matches!(request.target(name), Target::Absent | Target::View(_)) {
                return Err(Error::new(
                    code::NAMESPACE_EXISTS,
                    format!("Collection {} already exists.", request.namespace(name)),
                ));
            }
            let empty = DocBuf::new();
            let view = define_view(request, name, on, pipeline.unwrap_or(empty.doc()), options.collation)?;
            let entry = Entry::View(Arc::new(view));
            request.server.catalog.write().insert(request.database, name, entry.clone())?;
            if let Entry::View(view) = &entry {
                views_collection::record(request, name, view, cx)?;
            }
        }
        None if pipeline.is_some() => return invalid("'pipeline' requires 'viewOn' to also be specified"),
        None => {
            check_not_taken(request, name, series.is_some())?;
            let entry = match (series, args.document("layout")?) {
                (Some(_), Some(_)) => return invalid("'timeseries' is not allowed with 'layout'"),
                (Some(series), None) => {
                    series::check_options(&args)?;
                    Entry::Layout(Arc::new(LayoutCollection::create_series(request.server, series, options)?))
                }
                (None, Some(declared)) => {
                    Entry::Layout(Arc::new(LayoutCollection::create(request.server, declared, options)?))
                }
                (None, None) => Entry::Collection(Arc::new(new_collection(request.server, options)?)),
            };
            request.server.catalog.write().insert(request.database, name, entry.clone())?;
            if let Entry::Layout(layout) = &entry {
                record_series(request, name, layout, cx)?;
            }
        }
    }
    let mut reply = Builder::new();
    if args.given("autoIndexId").is_some() {
        reply.append("note", "The autoIndexId option is deprecated and will be removed in a future release");
    }
    Ok(reply)
}

/// The index on `_id` may be described, but not be another one.
fn check_id_index(index: Doc<'_>, options: &CollectionOptions) -> Result<()> {
    let key = match index.get("key") {
        Some(Value::Document(key)) => IndexSpec::is_id(key),
        _ => true,
    };
    if !key {
        return Err(Error::new(code::BAD_VALUE, "The field 'key' for an _id index must be {_id: 1}"));
    }
    let mut spec = IndexSpec::parse(index, false)?;
    let own_collation = spec.collation.is_some();
    spec.complete(options.collation.as_ref())?;
    if own_collation && spec.collation != options.collation {
        return Err(Error::new(code::BAD_VALUE, "The _id index must have the same collation as the collection."));
    }
    Ok(())
}

/// The collection with this name; made, if there is nothing of the name.
///
/// # Errors
/// 166 for a view, 73 for a name that may not be made.
pub(super) fn open_or_create(request: &Request<'_>, name: &str) -> Result<Arc<Collection>> {
    if let Some(collection) = existing(request, name)? {
        return Ok(collection);
    }
    namespace::check_new_collection(request.database, name)?;
    let collection = Arc::new(new_collection(request.server, CollectionOptions::default())?);
    let mut catalog = request.server.catalog.write();
    // Somebody else may have made it meanwhile; then theirs is the one.
    if let Some(Entry::Collection(theirs)) = catalog.get(request.database, name) {
        return Ok(Arc::clone(theirs));
    }
    catalog.insert(request.database, name, Entry::Collection(Arc::clone(&collection)))?;
    Ok(collection)
}

fn existing(request: &Request<'_>, name: &str) -> Result<Option<Arc<Collection>>> {
    match request.target(name) {
        super::Target::Absent => Ok(None),
        super::Target::Collection(collection) => Ok(Some(collection)),
        super::Target::Layout(_) => Err(Error::new(
            code::ILLEGAL_OPERATION,
            format!("{} has a layout and is not written to as a plain collection", request.namespace(name)),
        )),
        super::Target::View(_) => Err(super::not_on_a_view(&request.namespace(name))),
    }
}

/// An empty collection with its index on `_id`.
pub(crate) fn new_collection(server: &Inner, options: CollectionOptions) -> Result<Collection> {
    let mut id = match &options.clustered {
        Some(clustered) => IndexSpec::clustered(clustered.key.clone(), clustered.name.clone()),
        None => IndexSpec::id(),
    };
    id.collation.clone_from(&options.collation);
    let state = State { records: Records::new(), indexes: vec![Index::new(id)?], options: Arc::new(options) };
    Ok(Collection::new(server.new_uuid(), state))
}

/// A view with this definition, checked against the others.
///
/// # Errors
/// 2 and 73 for what cannot be a view's source, 5, 165 and 167 for views that cannot stand upon each other, and
/// what the pipeline's parser says.
pub(super) fn define_view(
    request: &Request<'_>,
    name: &str,
    on: &str,
    pipeline: Doc<'_>,
    collation: Option<DocBuf>,
) -> Result<View> {
    if on.is_empty() {
        return Err(Error::new(code::BAD_VALUE, "'viewOn' cannot be empty"));
    }
    namespace::check_readable(request.database, on)?;
    for element in pipeline.iter() {
        if !matches!(element.value(), Value::Document(_)) {
            return Err(Error::new(
                code::TYPE_MISMATCH,
                format!(
                    "'pipeline.{}' is the wrong type '{}', expected an object",
                    element.key_str(),
                    element.kind.alias()
                ),
            ));
        }
    }
    let view = View::new(on, pipeline, collation);
    view_graph::check(request, name, &view)?;
    super::view::check_definition(request, name, on, pipeline)?;
    Ok(view)
}

/// The buckets of a time-series collection are read under a name of their own, which nothing else may have.
///
/// # Errors
/// 48 if it is taken.
fn check_not_taken(request: &Request<'_>, name: &str, is_series: bool) -> Result<()> {
    let buckets = series::buckets_name(name);
    let asked = if is_series { &buckets } else { name };
    match request.target(asked) {
        Target::Collection(_) if is_series || asked.starts_with(BUCKETS_PREFIX) => {
            Err(Error::new(code::NAMESPACE_EXISTS, format!("Collection {} already exists.", request.namespace(asked))))
        }
        _ => Ok(()),
    }
}

/// Shows a time-series collection among the database's views, as the server does.
pub(super) fn record_series(
    request: &Request<'_>,
    name: &str,
    layout: &LayoutCollection,
    cx: &mut Cx<'_>,
) -> Result<()> {
    match &layout.series {
        Some(series) => {
            let view = View::new(&series::buckets_name(name), series.view_pipeline().doc(), None);
            views_collection::record(request, name, &view, cx)
        }
        None => Ok(()),
    }
}

/// Options of features that there are not, which may not be passed over in silence.
fn refuse_encrypted(args: &Args<'_>) -> Result<()> {
    if let Some(fields) = args.document("encryptedFields")? {
        Args { name: "create.encryptedFields", doc: fields }.required("fields")?;
        return Err(Error::new(6_346_402, "Encrypted collections are not supported"));
    }
    Ok(())
}
