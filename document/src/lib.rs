//! BSON at the raw level: views over bytes, the total order over values, dotted paths, building.
//!
//! Documents are [validated](validate) once, on the way in; inside the engine they are read through
//! zero-copy views ([`Doc`], [`Element`], [`Value`]) that trust that. The `bson` crate's types stand at
//! the borders only. [Comparison](order) has one home here, and so have [errors](Error) with
//! MongoDB's codes. This crate knows nothing of queries, pages or commands.

pub mod build;
mod decimal;
pub mod doc;
mod error;
mod fields;
mod kind;
pub mod order;
pub mod path;
pub mod validate;
mod value;

pub use build::{Builder, DocBuf, Open};
pub use decimal::{Decimal, DecimalClass};
pub use doc::{Doc, Element, Elements};
pub use error::{Error, Result, code};
pub use fields::{FieldSet, FoundFields};
pub use kind::Kind;
pub use path::Path;
pub use value::{OwnedValue, Text, Value};
