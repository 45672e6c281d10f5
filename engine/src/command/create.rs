//! `create`: collections and views.

use std::sync::Arc;

use bindery_document::{Builder, DocBuf, Error, Result, Value, code};
use bindery_index::Records;
use bindery_query::collation::Collation;

use super::Request;
use super::args::Args;
use crate::catalog::{Entry, View};
use crate::collection::{Collection, CollectionOptions, Index, IndexSpec, State};
use crate::database::Inner;
use crate::layout::LayoutCollection;
use crate::namespace;
use crate::trace::Cx;

const FIELDS: [&str; 21] = [
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
    "recordPreImages",
    "layout",
];

pub(super) fn run(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("create", request.command, &FIELDS)?;
    let name = request.collection_name()?;
    namespace::check_new_collection(request.database, name)?;
    if args.get("autoIndexId").is_some_and(|v| !v.is_truthy()) {
        return Err(Error::new(50_001, "autoIndexId can no longer be false: every collection has an index on _id"));
    }
    refuse_unsupported(&args)?;
    let entry = match args.string("viewOn")? {
        Some(on) => view(request, &args, name, on)?,
        None => {
            if args.get("pipeline").is_some() {
                return Err(Error::new(code::INVALID_OPTIONS, "'pipeline' requires 'viewOn' to also be specified"));
            }
            let options = CollectionOptions::parse(&args)?;
            match args.document("layout")? {
                Some(declared) => {
                    let collection = LayoutCollection::create(request.server, declared, options)?;
                    Entry::Layout(Arc::new(collection))
                }
                None => Entry::Collection(Arc::new(new_collection(request.server, options)?)),
            }
        }
    };
    request.server.catalog.write().insert(request.database, name, entry)?;
    Ok(Builder::new())
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
    let mut id = IndexSpec::id();
    id.collation.clone_from(&options.collation);
    let state = State { records: Records::new(), indexes: vec![Index::new(id)?], options: Arc::new(options) };
    let now = server.now_millis();
    let (a, b) = (server.object_ids.next(now), server.object_ids.next(now));
    let mut uuid = [0; 16];
    uuid[..12].copy_from_slice(&a);
    uuid[12..].copy_from_slice(&b[8..]);
    // The version and variant bits of a random UUID (RFC 9562, section 5.4).
    uuid[6] = uuid[6] & 0x0F | 0x40;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    Ok(Collection::new(uuid, state))
}

fn view(request: &Request<'_>, args: &Args<'_>, name: &str, on: &str) -> Result<Entry> {
    if on.is_empty() {
        return Err(Error::new(code::BAD_VALUE, "'viewOn' cannot be empty"));
    }
    for field in ["capped", "size", "max", "validator", "timeseries", "layout", "storageEngine"] {
        if args.get(field).is_some() {
            return Err(Error::new(code::INVALID_OPTIONS, format!("option not supported on a view: {field}")));
        }
    }
    namespace::check_collection(request.database, on)?;
    let empty = DocBuf::new();
    let pipeline = args.array("pipeline")?.unwrap_or(empty.doc());
    super::view::check_definition(request, name, on, pipeline)?;
    let collation = match args.document("collation")? {
        Some(collation) => Collation::parse(collation)?.map(|collation| collation.to_document()),
        None => None,
    };
    let mut options = Builder::new();
    options.append("viewOn", on);
    options.append("pipeline", Value::Array(pipeline));
    if let Some(collation) = &collation {
        options.append("collation", Value::Document(collation.doc()));
    }
    let view = View { on: on.to_owned(), pipeline: DocBuf::from(pipeline), options: options.finish(), collation };
    Ok(Entry::View(Arc::new(view)))
}

/// Options of features that there are not, which may not be passed over in silence.
fn refuse_unsupported(args: &Args<'_>) -> Result<()> {
    for field in ["encryptedFields", "changeStreamPreAndPostImages", "recordPreImages"] {
        if args.get(field).is_some() {
            return Err(Error::new(code::INVALID_OPTIONS, format!("'{field}' is not supported")));
        }
    }
    Ok(())
}
