//! The conformance runner: every case of the corpus, in a database of its own, on anything that takes
//! MongoDB's commands.
//!
//! - [`verdict`] holds an answer against what MongoDB answered;
//! - [`case`] makes a case's set-up, runs its steps and looks at the collections afterwards;
//! - [`topic`] runs many cases, each on a thread of its own, so that a panic or a hang costs one case;
//! - [`reindexed`] asks the reading cases again with indexes added;
//! - [`explain`] does the same for what the planner did.
//!
//! | variable | effect |
//! |---|---|
//! | `BINDERY_CORPUS` | a folder to take the cases from instead of `tests/conformance` |
//! | `BINDERY_CORPUS_FILTER` | only what holds this text in `folder/topic/name` |
//! | `BINDERY_CORPUS_VERBOSE=1` | every failure, with the whole of what was expected and what came |

mod case;
mod explain;
mod reindexed;
mod topic;
mod topics;
mod verdict;

pub(crate) use topic::say;
