//! Collections, the executor, the write door and the commands: the crate that owns the data.
//!
//! This is the only place with locks, clocks and (later) files. Everything goes through one door,
//! [`Database::run_command`]; the [typed API](typed) puts its questions into the same commands.
//!
//! ```text
//! command/     arguments read and checked, one file a command
//! execute/     questions compiled, planned and run on a snapshot
//! write/       the write door: a record and its index entries change together, or not at all
//! collection/  documents, indexes and options as one state
//! layout/      logical documents, stored in another form
//! catalog, cursor, clock, trace   names, open cursors, time and ids, what was touched
//! expire       TTL indexes, run when told
//! ```

mod catalog;
mod clock;
mod collection;
mod command;
mod cursor;
mod database;
mod execute;
mod expire;
mod layout;
mod namespace;
mod trace;
pub mod typed;
mod write;

pub use bindery_document::{Error, Result};
pub use bindery_index::{PageId, PageKind};
pub use clock::Clock;
pub use database::{Database, Options, Planner};
pub use namespace::STORED_SUFFIX;
pub use trace::{Access, Trace, Work};
pub use typed::{Collection, Cursor, IndexModel};
