//! The typed API: documents as Rust types through serde, with the names of the official driver's `sync` API.
//!
//! Everything is put into a command and goes through the same door as on the wire, but for three short ways: a
//! `find` hands its documents over one by one, without batches; a look-up by `_id` alone goes straight to
//! the index; and an insert hands its documents to the command without putting them into one.
//!
//! ```
//! use bindery_engine::Database;
//! use bson::doc;
//!
//! #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
//! struct Book { _id: i32, title: String }
//!
//! let books = Database::new().collection::<Book>("books");
//! books.insert_one(&Book { _id: 1, title: "Leaves".into() })?;
//! let found = books.find_one(doc! { "title": "Leaves" }).run()?;
//! assert_eq!(found, Some(Book { _id: 1, title: "Leaves".into() }));
//! # Ok::<(), bindery_engine::Error>(())
//! ```

mod aggregate;
mod command;
mod cursor;
mod find;
mod index;
mod lookup;
mod modify;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use aggregate::Aggregate;
pub use cursor::Cursor;
pub use find::{Count, Distinct, Find, FindOne};
pub use index::IndexModel;
pub use modify::{FindOneAndDelete, FindOneAndUpdate, ReturnDocument};
pub use write::{DeleteResult, InsertManyResult, InsertOneResult, Modifications, Update, UpdateResult};

use crate::database::{Database, Inner};

/// A collection whose documents are read and written as `T`.
///
/// Cheap to clone. The collection is made when the first document or index is; reading one that does not exist
/// finds nothing.
pub struct Collection<T> {
    inner: Arc<Inner>,
    database: Arc<str>,
    name: Arc<str>,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Collection<T> {
        Collection {
            inner: Arc::clone(&self.inner),
            database: Arc::clone(&self.database),
            name: Arc::clone(&self.name),
            documents: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Collection({}.{})", self.database, self.name)
    }
}

impl Database {
    /// A collection of this database, whose documents are read and written as `T`.
    pub fn collection<T: Serialize + DeserializeOwned>(&self, name: &str) -> Collection<T> {
        Collection {
            inner: Arc::clone(self.inner()),
            database: self.shared_name(),
            name: name.into(),
            documents: PhantomData,
        }
    }
}

impl<T> Collection<T> {
    /// The collection's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the database it is in.
    pub fn database_name(&self) -> &str {
        &self.database
    }

    /// The same collection with its documents as another type.
    pub fn clone_with_type<U: Serialize + DeserializeOwned>(&self) -> Collection<U> {
        Collection {
            inner: Arc::clone(&self.inner),
            database: Arc::clone(&self.database),
            name: Arc::clone(&self.name),
            documents: PhantomData,
        }
    }
}
