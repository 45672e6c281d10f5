//! What a comparison found, for people and for programs.
//!
//! [`Comparison`] is the whole of it and serialises to JSON; [`render`] prints it; [`findings()`] names what
//! the pattern costs: the questions that got slower and the bytes that grew. All sizes are logical or
//! in-memory bytes, never compressed ones, so that they can be held against each other. A ratio is only
//! told where both sides fill some pages.

mod figures;
mod findings;
mod table;
mod units;

pub use figures::{Comparison, LoadFigures, QuestionFigures, SchemaFigures};
pub use findings::{Finding, Kind, findings};
pub use table::render;
