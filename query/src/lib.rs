//! The languages, compiled to typed trees: filters, updates, projections, expressions and pipelines.
//!
//! This crate holds no data and reads no clock: everything is a function from documents to documents.

pub mod collation;
pub mod expression;
pub mod filter;
pub mod pipeline;
pub mod plan;
pub mod projection;
pub mod regex;
pub mod sort;
pub mod update;
