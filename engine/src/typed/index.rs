//! Indexes and the collection itself.

use bindery_document::{Doc, Error, Result, Value, code};
use bson::Document;

use super::Collection;
use super::command::{append_document, deserialize};
use crate::collection::index_name;

/// An index to be made: its key and options (`unique`, `sparse`, `partialFilterExpression`, ...).
#[derive(Clone, Debug, Default)]
pub struct IndexModel {
    /// Fields and directions.
    pub keys: Document,
    /// Options as `createIndexes` takes them; the name is made of the key if it is not among them.
    pub options: Document,
}

impl IndexModel {
    /// An index without options.
    pub fn new(keys: Document) -> IndexModel {
        IndexModel { keys, options: Document::new() }
    }

    /// The index with an option more.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<bson::Bson>) -> IndexModel {
        self.options.insert(name, value);
        self
    }
}

impl From<Document> for IndexModel {
    fn from(keys: Document) -> IndexModel {
        IndexModel::new(keys)
    }
}

impl<T> Collection<T> {
    /// Makes an index, if it is not there, and gives its name.
    ///
    /// # Errors
    /// 67 for what cannot be an index, 85 and 86 for a conflict with another, 11000 if it is unique and the documents
    /// are not.
    pub fn create_index(&self, index: impl Into<IndexModel>) -> Result<String> {
        let index = index.into();
        let keys = index.keys.to_vec().map_err(|e| Error::new(code::INVALID_BSON, e.to_string()))?;
        let name = match index.options.get_str("name") {
            Ok(name) => name.to_owned(),
            Err(_) => index_name(Doc::from_stored(&keys)),
        };
        let mut spec = index.options;
        spec.insert("key", index.keys);
        spec.insert("name", name.clone());
        let mut command = self.command("createIndexes");
        let list = command.open_array("indexes");
        append_document(&mut command, "0", &spec)?;
        command.close(list);
        self.run(command)?;
        Ok(name)
    }

    /// The indexes, as `listIndexes` shows them.
    ///
    /// # Errors
    /// 26 if the collection does not exist.
    pub fn list_indexes(&self) -> Result<Vec<Document>> {
        let reply = self.run(self.command("listIndexes"))?;
        let cursor = reply.doc().get("cursor").and_then(|v| v.as_document());
        let batch = cursor.and_then(|cursor| cursor.get("firstBatch")).and_then(|v| v.as_array());
        batch.into_iter().flatten().filter_map(|e| e.value().as_document()).map(deserialize).collect()
    }

    /// Drops an index by its name.
    ///
    /// # Errors
    /// 27 if there is none of the name, 72 for the index on `_id`.
    pub fn drop_index(&self, name: &str) -> Result<()> {
        let mut command = self.command("dropIndexes");
        command.append("index", Value::from(name));
        self.run(command).map(drop)
    }

    /// Drops the collection; one that does not exist is no error.
    ///
    /// # Errors
    /// Only for a name that cannot be one.
    pub fn drop(&self) -> Result<()> {
        match self.run(self.command("drop")) {
            Err(error) if error.code == code::NAMESPACE_NOT_FOUND => Ok(()),
            other => other.map(std::mem::drop),
        }
    }
}
