//! Layouts against a plain collection: the same random operations on both, the same answers from both.

mod attribute;
mod bucket;
mod forms;
mod model;
mod subset;
