//! Bindery: an embedded, in-memory document engine with MongoDB's query language, whose storage understands
//! schema design patterns, so that what a pattern does to index size and to the working set can be measured.
//!
//! This crate is the face: it re-exports the [`Database`] and the [typed API](typed), and has no logic.
//!
//! ```
//! use bindery::Database;
//! use bson::{Document, doc};
//!
//! let db = Database::new();
//! let readings = db.collection::<Document>("readings");
//! readings.insert_many(&[doc! { "sensor": "a", "value": 3 }, doc! { "sensor": "b", "value": 5 }])?;
//! assert_eq!(readings.count_documents(doc! { "value": { "$gt": 3 } }).run()?, 1);
//! # Ok::<(), bindery::Error>(())
//! ```

pub use bindery_engine::{
    Access, Clock, Collection, Cursor, Database, Error, IndexModel, Options, PageId, PageKind, Planner, Result,
    STORED_SUFFIX, Trace, Work, typed,
};

/// The programs in the README, which must run as they stand.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
