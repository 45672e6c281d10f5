//! `$meta` of `find`: what is known of a document besides its fields.

use bindery_document::{Builder, Doc, Error, Result, Value, code};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// The record id.
    RecordId,
    /// The values that the document was sorted by.
    SortKey,
    /// The key by which an index led to the document.
    IndexKey,
}

/// What is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metadata<'a> {
    /// The record id.
    pub record_id: Option<i64>,
    /// The values of the sort key, as an array.
    pub sort_key: Option<Doc<'a>>,
    /// The index key, as a document.
    pub index_key: Option<Doc<'a>>,
    /// The document with the places of fields that were removed, if it has any (see [`Slotted`](super::Slotted)).
    pub slotted: Option<Doc<'a>>,
}

impl Meta {
    /// Reads the argument.
    ///
    /// # Errors
    /// 17307 for what is no string, 17308 for an unknown name, 40218 for text and geospatial metadata, which
    /// no index here gives.
    pub(super) fn parse(argument: Value<'_>) -> Result<Meta> {
        let Some(name) = argument.as_str() else {
            return Err(Error::new(17307, "$meta needs a string"));
        };
        match name {
            "recordId" => Ok(Meta::RecordId),
            "sortKey" => Ok(Meta::SortKey),
            "indexKey" => Ok(Meta::IndexKey),
            "textScore" => Err(Error::new(40218, "there is no text search to give a score")),
            "geoNearDistance"
            | "geoNearPoint"
            | "searchScore"
            | "searchHighlights"
            | "randVal"
            | "searchScoreDetails"
            | "timeseriesBucketMinTime"
            | "timeseriesBucketMaxTime" => {
                Err(Error::new(code::BAD_VALUE, format!("the metadata '{name}' is not available")))
            }
            other => Err(Error::new(17308, format!("$meta does not know '{other}'"))),
        }
    }

    /// Appends the value, if it is known.
    pub(super) fn append_to(self, key: &[u8], metadata: &Metadata<'_>, out: &mut Builder) {
        match self {
            Meta::RecordId => {
                if let Some(id) = metadata.record_id {
                    out.append(key, Value::Int64(id));
                }
            }
            Meta::SortKey => {
                if let Some(values) = metadata.sort_key {
                    out.append(key, Value::Array(values));
                }
            }
            Meta::IndexKey => {
                if let Some(index_key) = metadata.index_key {
                    out.append(key, Value::Document(index_key));
                }
            }
        }
    }
}
