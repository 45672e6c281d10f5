//! What scenarios run on: something that takes MongoDB's commands.
//!
//! [`Target`] is the whole of what the laboratory asks of a database. The engine implements it with all
//! hooks; a MongoDB over the wire implements [`Target::run`] and answers the counts through `explain`,
//! which is how the schemas written by hand are checked against a real server.

mod engine;

use bson::{RawDocument, RawDocumentBuf};
use serde::Serialize;

use crate::error::Result;

pub use engine::Engine;

/// Whose planner chooses how a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Planner {
    /// Bindery's own.
    Bindery,
    /// Only what MongoDB 6.0 would do, so that examined counts hold on a MongoDB.
    Mongodb,
}

/// What a page holds; the engine's page kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PageKind {
    /// Separators and child references.
    Inner,
    /// Index entries.
    IndexLeaf,
    /// Documents.
    Record,
    /// A part of one large document.
    Overflow,
}

/// One access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Identifies the page for as long as it lives.
    pub page: u64,
    /// What it holds.
    pub kind: PageKind,
    /// Its size in memory.
    pub bytes: u32,
    /// Whether it was changed.
    pub dirtied: bool,
}

/// What one command did, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Pages touched; empty where the target does not tell.
    pub touches: Vec<Touch>,
    /// Index entries looked at, as in `executionStats`.
    pub keys_examined: u64,
    /// Documents looked at, as in `executionStats`.
    pub documents_examined: u64,
    /// Index entries inserted or removed.
    pub index_entries_written: u64,
}

/// What a tree occupies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeFigures {
    /// The collection it belongs to, in the schema's words.
    pub collection: String,
    /// The index's name; of a record store, `records`.
    pub name: String,
    /// Index entries, or documents.
    pub entries: u64,
    /// Pages of all kinds; 0 where the target does not tell.
    pub pages: u64,
    /// Bytes of those pages.
    pub bytes: u64,
    /// Levels from the root to the leaves, 0 where the target does not tell.
    pub height: u32,
    /// The share of the pages' bytes that holds something, 0 to 1; 0 where the target does not tell.
    pub fill: f64,
}

/// What a collection occupies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageFigures {
    /// Documents stored; for a layout, those in its stored form.
    pub documents: u64,
    /// Bytes of those documents.
    pub data_bytes: u64,
    /// The pages that hold documents.
    pub records: Vec<TreeFigures>,
    /// One for each index, `_id` included.
    pub indexes: Vec<TreeFigures>,
}

impl StorageFigures {
    /// Adds another collection of the same schema.
    pub fn add(&mut self, other: StorageFigures) {
        self.documents += other.documents;
        self.data_bytes += other.data_bytes;
        self.records.extend(other.records);
        self.indexes.extend(other.indexes);
    }

    /// Bytes of all record pages.
    pub fn record_bytes(&self) -> u64 {
        self.records.iter().map(|tree| tree.bytes).sum()
    }

    /// Bytes of all index pages.
    pub fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|tree| tree.bytes).sum()
    }

    /// Record pages.
    pub fn record_pages(&self) -> u64 {
        self.records.iter().map(|tree| tree.pages).sum()
    }

    /// Index pages.
    pub fn index_pages(&self) -> u64 {
        self.indexes.iter().map(|tree| tree.pages).sum()
    }
}

/// A database with collections, reached by commands.
pub trait Target {
    /// Runs one command and returns its reply, which may be an error reply (`ok: 0`).
    ///
    /// Fails only where the command could not be delivered or the answer is no reply.
    fn run(&mut self, command: &RawDocument) -> Result<RawDocumentBuf>;

    /// From now on, notes what commands do. The default is for targets that cannot tell.
    fn begin_trace(&mut self) {}

    /// Stops noting, and returns what was noted since [`begin_trace`](Target::begin_trace).
    fn end_trace(&mut self) -> Option<Trace> {
        None
    }

    /// An independent copy of everything, if that is cheap here.
    fn fork(&mut self) -> Option<Box<dyn Target>> {
        None
    }

    /// What `collection` occupies now, the parts of its layout included.
    fn storage(&mut self, collection: &str) -> Result<StorageFigures>;

    /// Rewrites `collection` and its indexes with full pages.
    fn compact(&mut self, collection: &str) -> Result<()>;
}

/// Makes empty targets, one for each schema.
pub trait Targets {
    /// A target without collections whose questions are planned by `planner`.
    fn open(&self, planner: Planner) -> Result<Box<dyn Target>>;

    /// What it is, for reports: `bindery 0.1.0`, `mongod 6.0.5`.
    fn describe(&self) -> String;
}
