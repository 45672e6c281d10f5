//! MongoDB's Extended JSON v2 to and from raw BSON.
//!
//! [`parse`](parse_document) takes the canonical and the relaxed form and goes straight to bytes, so
//! that field order and repeated names survive. Only the wrappers of the specification are values:
//! `$regularExpression` is a regex, while `{"$regex": ...}` stays the operator that it is in a filter.
//! [`write`](write_document) gives the canonical form, in which every type can be told apart.
//!
//! <https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/>

mod parse;
mod write;

pub use parse::parse_document;
pub(crate) use parse::{Parsed, message_of};
pub use write::{write_document, write_value};
