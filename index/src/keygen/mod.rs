//! Key generation: from a document and a key pattern to the set of ordered keys that index it.
//!
//! A [`KeyPattern`] is compiled once from its document form; a [`KeyGenerator`] then walks documents:
//!
//! - a field that is missing gives null; a path ends early at a scalar, which is missing too;
//! - an array gives one key for each element; fields that share the array expand together, element by
//!   element; two fields that need different arrays of one document are refused (error 171);
//! - an empty array gives undefined where it is the last component, and null for what lies below it;
//! - an array within an array is a value, not expanded again;
//! - a numeric component is a field name in documents and a position in arrays, where it does not expand
//!   the array; if both readings are possible the document is refused (error 16746);
//! - a sparse index skips a document in which none of its fields exist.
//!
//! Example: `{a: [{b: 1, c: 2}, {b: 3}]}` under `{"a.b": 1, "a.c": 1}` gives (1, 2) and (3, null), with
//! the array at `a` as [multikey path](MultikeyPaths) of both fields.
//!
//! Source: MongoDB's manual, "Multikey Indexes", "Sparse Indexes", "Wildcard Indexes", "Hashed Indexes"; finer
//! points were asked of a real server. Writes keys through [`KeyBuilder`](crate::key::KeyBuilder). Partial
//! filters, uniqueness and the index's tree are the caller's business.

mod arrays;
mod generator;
mod hashed;
mod keys;
mod multikey;
mod pattern;
#[cfg(test)]
mod tests;
mod wildcard;

pub use generator::KeyGenerator;
pub use keys::{Key, Keys};
pub use multikey::{MultikeyPaths, PartSet};
pub use pattern::{KeyField, KeyPattern, PatternKind};
pub use wildcard::WildcardProjection;

use bindery_document::{Doc, Element, Kind};

/// What a path leads to in one document, without entering arrays.
enum Found<'d> {
    /// Nothing.
    Missing,
    /// A value that is no array.
    Value(Element<'d>),
    /// An array, with the number of components used up to it.
    Array(Element<'d>, usize),
}

/// Follows a path from component `part` on, up to its end or to the first array.
#[inline]
fn find<'d>(mut doc: Doc<'d>, parts: &[Box<[u8]>], mut part: usize) -> Found<'d> {
    while let Some(name) = parts.get(part) {
        let Some(element) = doc.element(name) else {
            return Found::Missing;
        };
        part += 1;
        match element.kind {
            Kind::Array => return Found::Array(element, part),
            _ if part == parts.len() => return Found::Value(element),
            Kind::Document => doc = Doc::from_stored(element.bytes),
            _ => return Found::Missing,
        }
    }
    Found::Missing
}
