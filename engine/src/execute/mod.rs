//! The executor: plans made to run.
//!
//! ```text
//! question   a command's arguments, compiled by the languages
//! open       plan and build: Query -> Plan -> Stage
//! probe      a field's value looked up again and again, for $lookup
//! stage      the stages' common face; scan, index_scan (with key_range), fetch, combine, sort, shape, project
//! rows       a running plan as the documents of a cursor
//! tail       the documents of a cursor that waits for more
//! ```

mod answers;
mod combine;
mod count;
mod describe;
mod distinct;
mod fetch;
mod index_scan;
mod key_range;
mod open;
mod probe;
mod project;
mod question;
mod rows;
mod scan;
mod shape;
mod sort;
mod stage;
mod stream;
mod tail;
mod trial;

pub(crate) use answers::{count, distinct, distinct_of_rows, is_of_everything};
pub(crate) use describe::{Describe, keys_counted};
pub(crate) use index_scan::corrupt;
pub(crate) use open::{build, choose, choose_group_ends};
pub(crate) use project::project;
pub(crate) use question::{Question, Scope};
pub(crate) use rows::{CountedRows, FindRows, matching_records};
pub(crate) use stage::Stage;
pub(crate) use stream::{Collections, PlanStream, SharedTrace, StreamRows, recorded};
pub(crate) use tail::{LingeringRows, TailRows};
pub(crate) use trial::try_all;
