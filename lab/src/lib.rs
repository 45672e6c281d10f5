//! The laboratory: scenarios, measuring and reports.
//!
//! A [`scenario`] asks the same logical questions of several schemas that hold the same data, through
//! a [`target`] that runs MongoDB commands. What the target says about pages touched is turned into
//! working sets and miss ratios by [`stack_distance`]; [`report`] shows it, but only where all schemas
//! gave the same answers. Data comes from [`generate`] or, through [`import`], from the user's files.
//!
//! The laboratory knows the engine only by its face, and MongoDB only by its commands: it holds no
//! storage code and estimates nothing that it can measure.

pub mod answer;
pub mod documents;
pub mod error;
pub mod extjson;
pub mod generate;
pub mod import;
pub mod measure;
pub mod own_data;
pub mod report;
pub mod scenario;
pub mod session;
pub mod stack_distance;
pub mod target;

pub use documents::Documents;
pub use error::{Error, Result};
