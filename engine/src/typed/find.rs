//! Reading: `find`, `find_one`, counting and distinct values.

use bindery_document::{Builder, Result, Value};
use bindery_index::Untraced;
use bson::{Bson, Document};
use serde::de::DeserializeOwned;

use super::command::{append_document, append_optional, deserialize, number};
use super::{Collection, Cursor};
use crate::command::open_find;
use crate::trace::Cx;

/// What the options of all questions are put into.
#[derive(Clone, Debug, Default)]
struct Options {
    sort: Option<Document>,
    projection: Option<Document>,
    hint: Option<Bson>,
    collation: Option<Document>,
    variables: Option<Document>,
    skip: u64,
    limit: u64,
    max_time_ms: u64,
}

impl Options {
    fn append(&self, command: &mut Builder) -> Result<()> {
        append_optional(command, "sort", self.sort.as_ref())?;
        append_optional(command, "projection", self.projection.as_ref())?;
        append_optional(command, "collation", self.collation.as_ref())?;
        append_optional(command, "let", self.variables.as_ref())?;
        match &self.hint {
            None => {}
            Some(Bson::Document(key)) => append_document(command, "hint", key)?,
            Some(other) => command.append("hint", other.as_str().unwrap_or_default()),
        }
        for (field, n) in [("skip", self.skip), ("limit", self.limit), ("maxTimeMS", self.max_time_ms)] {
            if n > 0 {
                command.append(field, i64::try_from(n).unwrap_or(i64::MAX));
            }
        }
        Ok(())
    }
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident: $type:ty => |$options:ident, $value:ident| $set:expr;)*) => {
        $($(#[$doc])* pub fn $name(mut self, $value: $type) -> Self {
            let $options = &mut self.options;
            $set;
            self
        })*
    };
}

/// A `find` being put together; [`Find::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is read until `run`"]
pub struct Find<'a, T> {
    collection: &'a Collection<T>,
    filter: Document,
    options: Options,
}

impl<T: DeserializeOwned> Find<'_, T> {
    options! {
        /// The order of the results.
        sort: Document => |options, sort| options.sort = Some(sort);
        /// The fields to give back.
        projection: Document => |options, projection| options.projection = Some(projection);
        /// How many to leave out first.
        skip: u64 => |options, n| options.skip = n;
        /// How many to give at most; 0 for all.
        limit: u64 => |options, n| options.limit = n;
        /// The index to use, by name or by key.
        hint: impl Into<Bson> => |options, hint| options.hint = Some(hint.into());
        /// How strings are compared.
        collation: Document => |options, collation| options.collation = Some(collation);
        /// Variables for `$expr`.
        let_vars: Document => |options, variables| options.variables = Some(variables);
        /// The most milliseconds to take.
        max_time_ms: u64 => |options, ms| options.max_time_ms = ms;
    }

    /// Runs the question on a snapshot of this moment.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the question.
    pub fn run(self) -> Result<Cursor<T>> {
        let mut command = self.collection.command("find");
        append_document(&mut command, "filter", &self.filter)?;
        self.options.append(&mut command)?;
        let command = command.finish();
        let mut untraced = Untraced;
        let mut cx = Cx::new(&mut untraced);
        let rows = open_find(&self.collection.inner, &self.collection.database, command.doc(), &mut cx)?;
        Ok(Cursor::new(rows))
    }
}

/// A `find` of one document being put together; [`FindOne::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is read until `run`"]
pub struct FindOne<'a, T> {
    find: Find<'a, T>,
    is_plain: bool,
}

impl<T: DeserializeOwned + 'static> FindOne<'_, T> {
    /// The order in which the first is wanted.
    pub fn sort(mut self, sort: Document) -> Self {
        self.find = self.find.sort(sort);
        self.is_plain = false;
        self
    }

    /// The fields to give back.
    pub fn projection(mut self, projection: Document) -> Self {
        self.find = self.find.projection(projection);
        self.is_plain = false;
        self
    }

    /// How many to leave out first.
    pub fn skip(mut self, n: u64) -> Self {
        self.find = self.find.skip(n);
        self.is_plain = false;
        self
    }

    /// How strings are compared.
    pub fn collation(mut self, collation: Document) -> Self {
        self.find = self.find.collation(collation);
        self.is_plain = false;
        self
    }

    /// Gives the first document that matches.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the question.
    pub fn run(self) -> Result<Option<T>> {
        if self.is_plain
            && let Some(found) = self.find.collection.look_up(&self.find.filter)?
        {
            return Ok(found);
        }
        self.find.limit(1).run()?.next().transpose()
    }
}

/// A count being put together; [`Count::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is counted until `run`"]
pub struct Count<'a, T> {
    collection: &'a Collection<T>,
    filter: Document,
    options: Options,
}

impl<T> Count<'_, T> {
    options! {
        /// How many to leave out first.
        skip: u64 => |options, n| options.skip = n;
        /// How many to count at most; 0 for all.
        limit: u64 => |options, n| options.limit = n;
        /// The index to use, by name or by key.
        hint: impl Into<Bson> => |options, hint| options.hint = Some(hint.into());
        /// How strings are compared.
        collation: Document => |options, collation| options.collation = Some(collation);
    }

    /// Counts.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the question.
    pub fn run(self) -> Result<u64> {
        let mut command = self.collection.command("count");
        append_document(&mut command, "query", &self.filter)?;
        self.options.append(&mut command)?;
        Ok(number(&self.collection.run(command)?, "n"))
    }
}

/// A `distinct` being put together; [`Distinct::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is read until `run`"]
pub struct Distinct<'a, T> {
    collection: &'a Collection<T>,
    field: String,
    filter: Document,
    options: Options,
}

impl<T> Distinct<'_, T> {
    options! {
        /// How strings are compared.
        collation: Document => |options, collation| options.collation = Some(collation);
    }

    /// Gives the values in MongoDB's order.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the question.
    pub fn run(self) -> Result<Vec<Bson>> {
        let mut command = self.collection.command("distinct");
        command.append("key", self.field.as_str());
        append_document(&mut command, "query", &self.filter)?;
        self.options.append(&mut command)?;
        let reply = self.collection.run(command)?;
        let mut reply: Document = deserialize(reply.doc())?;
        match reply.remove("values") {
            Some(Bson::Array(values)) => Ok(values),
            _ => Ok(Vec::new()),
        }
    }
}

impl<T> Collection<T> {
    /// Finds the documents that match.
    pub fn find(&self, filter: Document) -> Find<'_, T> {
        Find { collection: self, filter, options: Options::default() }
    }

    /// Finds one document that matches.
    pub fn find_one(&self, filter: Document) -> FindOne<'_, T> {
        FindOne { find: self.find(filter), is_plain: true }
    }

    /// Counts the documents that match.
    pub fn count_documents(&self, filter: Document) -> Count<'_, T> {
        Count { collection: self, filter, options: Options::default() }
    }

    /// The number of documents, off the tree.
    ///
    /// # Errors
    /// Only for a name that cannot be one.
    pub fn estimated_document_count(&self) -> Result<u64> {
        Ok(number(&self.run(self.command("count"))?, "n"))
    }

    /// The distinct values of a field over the documents that match.
    pub fn distinct(&self, field: &str, filter: Document) -> Distinct<'_, T> {
        Distinct { collection: self, field: field.to_owned(), filter, options: Options::default() }
    }
}

/// The `_id` in a reply's document, as the `bson` crate's value.
pub(super) fn to_bson(value: Value<'_>) -> Result<Bson> {
    // The types that most ids have need no document around them.
    match value {
        Value::Int32(n) => return Ok(Bson::Int32(n)),
        Value::Int64(n) => return Ok(Bson::Int64(n)),
        Value::ObjectId(id) => return Ok(Bson::ObjectId(bson::oid::ObjectId::from_bytes(id))),
        Value::String(text) => return Ok(Bson::String(text.as_str().to_owned())),
        _ => {}
    }
    let mut holder = Builder::new();
    holder.append("v", value);
    let mut document: Document = deserialize(holder.finish().doc())?;
    Ok(document.remove("v").unwrap_or(Bson::Null))
}
