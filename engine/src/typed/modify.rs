//! `findAndModify` in its three forms.

use bindery_document::{Builder, Doc, Result, Value};
use bson::Document;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Collection;
use super::command::{append_document, append_optional, deserialize, serialize};
use super::write::Modifications;

/// Which version of a changed document is given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnDocument {
    /// The one before the change.
    #[default]
    Before,
    /// The one after it.
    After,
}

/// An update that gives the document back; [`FindOneAndUpdate::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is updated until `run`"]
pub struct FindOneAndUpdate<'a, T> {
    collection: &'a Collection<T>,
    filter: Document,
    update: Result<(Vec<u8>, bool)>,
    sort: Option<Document>,
    projection: Option<Document>,
    upsert: bool,
    return_document: ReturnDocument,
}

impl<T: DeserializeOwned> FindOneAndUpdate<'_, T> {
    /// The order in which the first is taken.
    pub fn sort(mut self, sort: Document) -> Self {
        self.sort = Some(sort);
        self
    }

    /// The fields to give back.
    pub fn projection(mut self, projection: Document) -> Self {
        self.projection = Some(projection);
        self
    }

    /// Whether a document is inserted if none matches.
    pub fn upsert(mut self, upsert: bool) -> Self {
        self.upsert = upsert;
        self
    }

    /// Which version is given back.
    pub fn return_document(mut self, version: ReturnDocument) -> Self {
        self.return_document = version;
        self
    }

    /// Updates, and gives the document back.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the update, or for what it would do.
    pub fn run(self) -> Result<Option<T>> {
        let (update, is_pipeline) = self.update?;
        let mut command = self.collection.command("findAndModify");
        append_document(&mut command, "query", &self.filter)?;
        append_optional(&mut command, "sort", self.sort.as_ref())?;
        append_optional(&mut command, "fields", self.projection.as_ref())?;
        let update = Doc::from_stored(&update);
        command.append("update", if is_pipeline { Value::Array(update) } else { Value::Document(update) });
        command.append("upsert", self.upsert);
        command.append("new", self.return_document == ReturnDocument::After);
        self.collection.run_modify(command)
    }
}

/// A delete that gives the document back; [`FindOneAndDelete::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is deleted until `run`"]
pub struct FindOneAndDelete<'a, T> {
    collection: &'a Collection<T>,
    filter: Document,
    sort: Option<Document>,
    projection: Option<Document>,
}

impl<T: DeserializeOwned> FindOneAndDelete<'_, T> {
    /// The order in which the first is taken.
    pub fn sort(mut self, sort: Document) -> Self {
        self.sort = Some(sort);
        self
    }

    /// The fields to give back.
    pub fn projection(mut self, projection: Document) -> Self {
        self.projection = Some(projection);
        self
    }

    /// Deletes, and gives the document back.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the filter.
    pub fn run(self) -> Result<Option<T>> {
        let mut command = self.collection.command("findAndModify");
        append_document(&mut command, "query", &self.filter)?;
        append_optional(&mut command, "sort", self.sort.as_ref())?;
        append_optional(&mut command, "fields", self.projection.as_ref())?;
        command.append("remove", true);
        self.collection.run_modify(command)
    }
}

impl<T: DeserializeOwned> Collection<T> {
    /// Updates one document and gives it back.
    pub fn find_one_and_update(&self, filter: Document, update: impl Into<Modifications>) -> FindOneAndUpdate<'_, T> {
        self.find_one_and(filter, update.into().into_bytes())
    }

    /// Replaces one document and gives it back.
    pub fn find_one_and_replace(&self, filter: Document, replacement: &T) -> FindOneAndUpdate<'_, T>
    where
        T: Serialize,
    {
        self.find_one_and(filter, serialize(replacement).map(|bytes| (bytes, false)))
    }

    /// Deletes one document and gives it back.
    pub fn find_one_and_delete(&self, filter: Document) -> FindOneAndDelete<'_, T> {
        FindOneAndDelete { collection: self, filter, sort: None, projection: None }
    }

    fn find_one_and(&self, filter: Document, update: Result<(Vec<u8>, bool)>) -> FindOneAndUpdate<'_, T> {
        FindOneAndUpdate {
            collection: self,
            filter,
            update,
            sort: None,
            projection: None,
            upsert: false,
            return_document: ReturnDocument::Before,
        }
    }

    fn run_modify(&self, command: Builder) -> Result<Option<T>> {
        let reply = self.run(command)?;
        match reply.doc().get("value") {
            Some(Value::Document(document)) => deserialize(document).map(Some),
            _ => Ok(None),
        }
    }
}
