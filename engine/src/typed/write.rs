//! Inserting, updating, replacing and deleting.

use bindery_document::{Builder, Doc, DocBuf, Result, Value};
use bindery_index::Untraced;
use bson::{Bson, Document};
use serde::Serialize;

use super::Collection;
use super::command::{append_document, append_optional, check_write_errors, number, serialize, serialize_into};
use super::find::to_bson;
use crate::command::{self, Request};
use crate::trace::Cx;

/// What an insert of one document did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InsertOneResult {
    /// The document's `_id`, made if it had none.
    pub inserted_id: Bson,
}

/// What an insert of many documents did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InsertManyResult {
    /// The documents' `_id`s, in their order.
    pub inserted_ids: Vec<Bson>,
}

/// What an update did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UpdateResult {
    /// Documents that matched.
    pub matched_count: u64,
    /// Documents that were changed.
    pub modified_count: u64,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Bson>,
}

/// What a delete did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteResult {
    /// Documents that were deleted.
    pub deleted_count: u64,
}

/// An update being put together; [`Update::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is updated until `run`"]
pub struct Update<'a, T> {
    collection: &'a Collection<T>,
    filter: Document,
    /// The update as bytes, and whether it is a pipeline.
    update: Result<(Vec<u8>, bool)>,
    multi: bool,
    upsert: bool,
    array_filters: Vec<Document>,
    collation: Option<Document>,
}

impl<T> Update<'_, T> {
    /// Whether a document is inserted if none matches.
    pub fn upsert(mut self, upsert: bool) -> Self {
        self.upsert = upsert;
        self
    }

    /// What `$[name]` stands for.
    pub fn array_filters(mut self, filters: impl IntoIterator<Item = Document>) -> Self {
        self.array_filters = filters.into_iter().collect();
        self
    }

    /// How strings are compared.
    pub fn collation(mut self, collation: Document) -> Self {
        self.collation = Some(collation);
        self
    }

    /// Updates.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the update, or for what it would do.
    pub fn run(self) -> Result<UpdateResult> {
        let (update, is_pipeline) = self.update?;
        let mut command = self.collection.command("update");
        let list = command.open_array("updates");
        let statement = command.open_document("0");
        append_document(&mut command, "q", &self.filter)?;
        let update = Doc::from_stored(&update);
        command.append("u", if is_pipeline { Value::Array(update) } else { Value::Document(update) });
        command.append("multi", self.multi);
        command.append("upsert", self.upsert);
        append_optional(&mut command, "collation", self.collation.as_ref())?;
        if !self.array_filters.is_empty() {
            let filters = command.open_array("arrayFilters");
            for (i, filter) in self.array_filters.iter().enumerate() {
                append_document(&mut command, &i.to_string(), filter)?;
            }
            command.close(filters);
        }
        command.close(statement);
        command.close(list);
        let reply = self.collection.run_write(command)?;
        let upserted = match reply.doc().get("upserted") {
            Some(Value::Array(list)) => list.first().and_then(|e| e.value().as_document()).and_then(|e| e.get("_id")),
            _ => None,
        };
        Ok(UpdateResult {
            // The reply counts an upserted document as found.
            matched_count: number(&reply, "n") - u64::from(upserted.is_some()),
            modified_count: number(&reply, "nModified"),
            upserted_id: upserted.map(to_bson).transpose()?,
        })
    }
}

/// An update: a document of operators, or a pipeline.
#[derive(Clone, Debug)]
pub enum Modifications {
    /// Operators.
    Document(Document),
    /// Stages.
    Pipeline(Vec<Document>),
}

impl From<Document> for Modifications {
    fn from(document: Document) -> Modifications {
        Modifications::Document(document)
    }
}

impl From<Vec<Document>> for Modifications {
    fn from(stages: Vec<Document>) -> Modifications {
        Modifications::Pipeline(stages)
    }
}

impl Modifications {
    /// The bytes, and whether they are an array.
    pub(super) fn into_bytes(self) -> Result<(Vec<u8>, bool)> {
        match self {
            Modifications::Document(document) => Ok((serialize(&document)?, false)),
            Modifications::Pipeline(stages) => Ok((array_of(&stages)?.into_bytes(), true)),
        }
    }
}

/// Documents as a BSON array.
pub(super) fn array_of(documents: &[Document]) -> Result<DocBuf> {
    let mut array = Builder::new();
    for (i, document) in documents.iter().enumerate() {
        append_document(&mut array, &i.to_string(), document)?;
    }
    Ok(array.finish())
}

impl<T: Serialize> Collection<T> {
    /// Inserts a document.
    ///
    /// # Errors
    /// 11000 for a key that is taken, 121 for what the validator refuses, 10334 for what is too large.
    pub fn insert_one(&self, document: &T) -> Result<InsertOneResult> {
        let mut result = self.insert_many(std::iter::once(document))?;
        Ok(InsertOneResult { inserted_id: result.inserted_ids.pop().unwrap_or(Bson::Null) })
    }

    /// Inserts documents in their order; the first that is refused ends it, and those before it stay.
    ///
    /// # Errors
    /// As [`Collection::insert_one`].
    pub fn insert_many<'d>(&self, documents: impl IntoIterator<Item = &'d T>) -> Result<InsertManyResult>
    where
        T: 'd,
    {
        let mut documents = documents.into_iter().peekable();
        let mut inserted_ids = Vec::with_capacity(documents.size_hint().0);
        let mut batch = Batch::default();
        while documents.peek().is_some() {
            batch.clear();
            // Documents are written down before anything is locked: serializing runs the caller's code.
            while let Some(document) = documents.next_if(|_| batch.has_room()) {
                inserted_ids.push(to_bson(batch.push(document, || self.new_id())?)?);
            }
            self.insert_batch(&batch)?;
        }
        Ok(InsertManyResult { inserted_ids })
    }

    fn insert_batch(&self, batch: &Batch) -> Result<()> {
        let command = self.command("insert").finish();
        let request = Request { server: &self.inner, database: &self.database, command: command.doc() };
        let inserted = command::insert_documents(&request, batch.documents(), &mut Cx::new(&mut Untraced))?;
        check_write_errors(inserted.reply().finish().doc())
    }

    /// An `_id` made as drivers do.
    fn new_id(&self) -> [u8; 12] {
        self.inner.object_ids.next(self.inner.now_millis())
    }

    /// Replaces one document that matches.
    pub fn replace_one(&self, filter: Document, replacement: &T) -> Update<'_, T> {
        self.update(filter, serialize(replacement).map(|bytes| (bytes, false)), false)
    }
}

/// Documents to insert, one behind the other.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// A batch stays well below what one message may hold.
    fn has_room(&self) -> bool {
        self.ends.len() < command::MAX_BATCH && self.bytes.len() < MAX_BATCH_BYTES
    }

    /// Adds a document, under a new `_id` if it has none, and gives its `_id`.
    ///
    /// # Errors
    /// 22 for what does not serialize into a document.
    fn push<T: Serialize>(&mut self, document: &T, new_id: impl FnOnce() -> [u8; 12]) -> Result<Value<'_>> {
        let start = self.bytes.len();
        serialize_into(document, &mut self.bytes)?;
        if Doc::from_stored(&self.bytes[start..]).element(b"_id").is_none() {
            let mut with_id = Builder::new();
            with_id.append("_id", Value::ObjectId(new_id()));
            for element in Doc::from_stored(&self.bytes[start..]).iter() {
                with_id.append_element(element);
            }
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(with_id.finish().as_bytes());
        }
        self.ends.push(self.bytes.len());
        Ok(Doc::from_stored(&self.bytes[start..]).get("_id").unwrap_or(Value::Null))
    }

    fn documents(&self) -> impl ExactSizeIterator<Item = Doc<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let document = Doc::from_stored(&self.bytes[start..end]);
            start = end;
            document
        })
    }
}

/// The bytes of documents in one insert.
const MAX_BATCH_BYTES: usize = 32 * 1024 * 1024;

impl<T> Collection<T> {
    /// Updates one document that matches.
    pub fn update_one(&self, filter: Document, update: impl Into<Modifications>) -> Update<'_, T> {
        self.update(filter, update.into().into_bytes(), false)
    }

    /// Updates all documents that match.
    pub fn update_many(&self, filter: Document, update: impl Into<Modifications>) -> Update<'_, T> {
        self.update(filter, update.into().into_bytes(), true)
    }

    fn update(&self, filter: Document, update: Result<(Vec<u8>, bool)>, multi: bool) -> Update<'_, T> {
        Update { collection: self, filter, update, multi, upsert: false, array_filters: Vec::new(), collation: None }
    }

    /// Deletes one document that matches.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the filter.
    pub fn delete_one(&self, filter: Document) -> Result<DeleteResult> {
        self.delete(&filter, 1)
    }

    /// Deletes all documents that match.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the filter.
    pub fn delete_many(&self, filter: Document) -> Result<DeleteResult> {
        self.delete(&filter, 0)
    }

    fn delete(&self, filter: &Document, limit: i32) -> Result<DeleteResult> {
        let mut command = self.command("delete");
        let list = command.open_array("deletes");
        let statement = command.open_document("0");
        append_document(&mut command, "q", filter)?;
        command.append("limit", limit);
        command.close(statement);
        command.close(list);
        Ok(DeleteResult { deleted_count: number(&self.run_write(command)?, "n") })
    }
}
