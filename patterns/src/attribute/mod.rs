//! The attribute layout: sparse fields as one array of names and values, under one index.
//!
//! ```text
//! {_id: 1, name: "lamp", watts: 40, color: "red"}                       logical
//! {_id: 1, name: "lamp", specs: [{k: "watts", v: 40}, {k: "color", v: "red"}]}   stored
//! ```
//!
//! The index `{specs.k: 1, specs.v: 1}` serves every attribute. A condition on an attribute becomes an
//! `$elemMatch`, whose bounds take both parts; several are met as sets of record ids by the planner.
//!
//! Source: MongoDB's manual, "Attribute Pattern".

mod fold;
mod prune;
mod spec;
mod unfold;

#[cfg(test)]
mod tests;

/// Which fields are attributes, and the name of the array that holds them.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The array's name in stored documents; never the name of a field that is kept.
    path: Box<str>,
    choice: Choice,
}

/// Which fields are attributes; `_id` never is.
#[derive(Clone, Debug)]
enum Choice {
    /// These.
    Only(Vec<Box<str>>),
    /// All but these.
    AllBut(Vec<Box<str>>),
}

/// The names of an element's parts in stored documents.
mod part {
    /// The attribute's name.
    pub(super) const NAME: &str = "k";
    /// Its value.
    pub(super) const VALUE: &str = "v";
    /// The name again: a document may have a field twice, and only the first is looked at by filters.
    pub(super) const AGAIN: &str = "again";
    /// How many kept fields stand before it, where that is not all of them.
    pub(super) const AFTER: &str = "after";
}
