//! Scenarios: the same data, asked the same questions, held in different schemas.
//!
//! A scenario knows its logical data and the operations that an application would do on it. A
//! [`Schema`] says how to hold that data in collections and how to do each operation with MongoDB's
//! commands; what it returns is the *logical* [`Answer`], so that schemas can be held against each
//! other. Schemas are of three kinds:
//!
//! - *plain*: one collection of the logical documents, as a beginner would do it, and honest rivals;
//! - *by hand*: the pattern as applications write it on plain collections of a MongoDB;
//! - *native*: the logical documents again, in a collection declared with a [layout](#layouts). It is
//!   asked with exactly the commands of the plain schema.
//!
//! | scenario | plain | rivals | by hand | native |
//! |---|---|---|---|---|
//! | [`bucket`] | one document a reading | | buckets of a short and a long span | the same spans |
//! | [`attribute`] | a field an attribute, plain indexes | sparse indexes | `specs: [{k, v}]` | attributes |
//! | [`subset`] | all children embedded | children referenced | top 10 embedded, all beside | subset |
//!
//! # Layouts
//! What native schemas say to `create`, for the built-in data:
//!
//! ```text
//! {create: "readings", layout: {bucket:    {time: "ts", meta: "sensorId", hours: 1, summary: ["value"]}}}
//! {create: "products", layout: {attribute: {path: "specs", except: ["name", "category", "price"]}}}
//! {create: "products", layout: {subset:    {array: "reviews", sort: {date: -1}, top: 10}}}
//! ```
//!
//! `meta` may be left out (one series). `except` lists the top-level fields, besides `_id`, that stay
//! fields; all others become attributes. The array of a subset is kept in the order `sort`, which is
//! what `$push` with `$each` and `$sort` does to it on a plain collection.

pub mod attribute;
pub mod bucket;
mod load;
pub mod subset;

use bson::{RawDocument, RawDocumentBuf};
use serde::Serialize;

use crate::answer::Answer;
use crate::error::Result;
use crate::generate::Random;
use crate::session::Session;
use crate::target::Planner;

pub use load::Loader;

/// Whether a logical operation changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It only asks.
    Read,
    /// It changes the data.
    Write,
}

/// A kind of logical operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// A short name, unique within the scenario: `last hour`.
    pub name: String,
    /// What it asks or does, in a sentence.
    pub text: String,
    /// Whether it changes anything.
    pub effect: Effect,
    /// Its share of the mixed workload, in parts of the sum of all; 0 keeps it out.
    pub weight: u32,
    /// How many different ones are drawn to be measured singly.
    pub samples: usize,
}

/// What a scenario's data is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataFigures {
    /// What it is and where it comes from.
    pub description: String,
    /// The order in which it is loaded.
    pub load_order: String,
    /// Logical documents.
    pub documents: u64,
    /// Their bytes, as BSON.
    pub bytes: u64,
}

/// Data and questions, with the schemas to compare.
pub trait Scenario: Sync {
    /// One logical operation with its parameters.
    type Operation: Clone + Send + Sync;

    /// `bucket`, `attribute`, `subset`.
    fn name(&self) -> &'static str;

    /// What the schemas hold.
    fn data(&self) -> DataFigures;

    /// The kinds of operations, in the order of reports.
    fn questions(&self) -> Vec<Question>;

    /// How many operations of the mixed workload are run.
    fn mix_operations(&self) -> usize;

    /// Draws one operation of the kind at `question` in [`questions`](Scenario::questions), skewed to a
    /// hot set. `written` is how many writing operations were drawn before on the same copy of the data,
    /// so that new things are new and the newest are known.
    fn draw(&self, question: usize, written: u64, random: &mut Random) -> Self::Operation;

    /// The schemas, the naive one first: all others are compared with it.
    fn schemas(&self) -> Vec<Box<dyn Schema<Self::Operation> + '_>>;
}

/// What a schema is to the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// What others are compared with.
    Naive,
    /// A plain alternative.
    Rival,
    /// The pattern on plain collections.
    ByHand,
    /// The pattern as a layout of the engine.
    Native,
}

impl Role {
    /// Hand-written schemas are planned as a MongoDB would, so that their counts hold there.
    pub fn planner(self) -> Planner {
        match self {
            Role::Native => Planner::Bindery,
            Role::Naive | Role::Rival | Role::ByHand => Planner::Mongodb,
        }
    }
}

/// A way to hold a scenario's data, and to do its operations.
pub trait Schema<Operation>: Sync {
    /// A short name, unique within the scenario: `hour buckets by hand`.
    fn name(&self) -> String;

    /// What it is to the comparison.
    fn role(&self) -> Role;

    /// What it does and why, in a sentence.
    fn note(&self) -> String;

    /// Its collections, in the order of reports.
    fn collections(&self) -> Vec<&'static str>;

    /// Commands that make the empty collections and their indexes.
    fn prepare(&self) -> Result<Vec<RawDocumentBuf>>;

    /// Gives `loader` all data, in the scenario's load order.
    fn load(&self, loader: &mut Loader<'_>) -> Result<()>;

    /// Does one logical operation. The answer to a write says how many things were written.
    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer>;
}

/// `{create: collection}` with a layout, if one is given.
fn create(collection: &str, layout: Option<&RawDocument>) -> RawDocumentBuf {
    let mut command = bson::rawdoc! { "create": collection };
    if let Some(layout) = layout {
        command.append(bson::raw::cstr!("layout"), layout.to_owned());
    }
    command
}

/// `{createIndexes: collection, indexes: [...]}` for key patterns, named as MongoDB's drivers name them.
fn create_indexes(collection: &str, keys: &[RawDocumentBuf], sparse: bool) -> Result<RawDocumentBuf> {
    let mut indexes = bson::RawArrayBuf::new();
    for key in keys {
        let mut name = String::new();
        for element in key.iter() {
            let (field, direction) =
                element.map_err(|error| crate::error::Error::Target(format!("not a key pattern: {error}")))?;
            if !name.is_empty() {
                name.push('_');
            }
            name.push_str(field.as_str());
            name.push_str(if direction.as_i32() == Some(-1) { "_-1" } else { "_1" });
        }
        let mut index = bson::rawdoc! { "key": key.clone(), "name": name };
        if sparse {
            index.append(bson::raw::cstr!("sparse"), true);
        }
        indexes.push(index);
    }
    Ok(bson::rawdoc! { "createIndexes": collection, "indexes": indexes })
}
