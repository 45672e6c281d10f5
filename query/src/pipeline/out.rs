//! `$out`: the collection that a pipeline replaces. The engine carries it out.

use bindery_document::{Error, Result, Value, code};

/// The stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Out {
    /// The database, if it is named.
    pub database: Option<Box<str>>,
    /// The collection.
    pub collection: Box<str>,
}

/// Parses a name, or a document with `db` and `coll`.
///
/// # Errors
/// 16990 for another argument, 16994 unless there are just the two fields, 13111 for fields that are no strings,
/// [`code::INVALID_NAMESPACE`] for an empty name, 17385 for a collection of the system.
pub(super) fn parse(argument: Value<'_>) -> Result<Out> {
    let (database, collection) = match argument {
        Value::String(name) => (None, name.as_str()),
        Value::Document(spec) => {
            let (Some(database), Some(collection), 2) = (spec.get("db"), spec.get("coll"), spec.count()) else {
                return Err(Error::new(16994, "$out's document must have 'db' and 'coll' and nothing else"));
            };
            let (Some(database), Some(collection)) = (database.as_str(), collection.as_str()) else {
                return Err(Error::new(13111, "$out's 'db' and 'coll' must be strings"));
            };
            (Some(database), collection)
        }
        _ => return Err(Error::new(16990, "$out takes a string or a document")),
    };
    if collection.is_empty() {
        return Err(Error::new(code::INVALID_NAMESPACE, "$out needs the name of a collection"));
    }
    if collection.starts_with("system.") {
        return Err(Error::new(17385, format!("$out cannot replace the collection '{collection}'")));
    }
    Ok(Out { database: database.map(Into::into), collection: collection.into() })
}
