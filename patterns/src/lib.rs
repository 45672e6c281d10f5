//! Layouts: schema design patterns as ways to store a collection, while callers keep their logical documents.
//!
//! This crate is pure: it turns logical documents into stored ones and back, and logical filters into
//! stored filters. It owns no data. Each layout is a folder of the same shape:
//!
//! ```text
//! spec      what is declared, `{create: "c", layout: {<name>: {...}}}`, and the indexes that come with it
//! fold      logical documents -> stored documents
//! unfold    the exact way back
//! prune     logical filter -> stored filter that every match satisfies; orders and index keys likewise
//! shortcut  what can be answered without unfolding (where the layout has it)
//! ```
//!
//! Two laws carry all of it: `unfold(fold(x)) = x`, to the byte, and a pruned filter is implied by the
//! filter it was made of. The engine checks the logical filter again on what was unfolded, unless the
//! stored filter is known to be [exact](prune::Pruned::exact).

pub mod attribute;
pub mod bucket;
mod declare;
pub mod prune;
pub mod subset;
mod wanted;

use bindery_document::{Doc, DocBuf, Error, Result, Value, code};
use bindery_query::filter::Filter;
use bindery_query::sort::SortField;

use attribute::Attribute;
use bucket::Bucket;
use prune::{Pruned, StoredOrder};
use subset::Subset;
pub use wanted::Wanted;

/// How a collection's documents are stored.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Sparse fields as an array of names and values.
    Attribute(Attribute),
    /// Readings by meta value and span of time.
    Bucket(Bucket),
    /// The first of a parent's children with it, all of them beside.
    Subset(Subset),
}

impl Layout {
    /// Reads a declaration: `{attribute: {...}}`, `{bucket: {...}}` or `{subset: {...}}`.
    ///
    /// # Errors
    /// 72 for what is no declaration of one layout, 14 for options of the wrong type.
    pub fn parse(declaration: Doc<'_>) -> Result<Layout> {
        let mut fields = declaration.iter();
        let (Some(first), None) = (fields.next(), fields.next()) else {
            return Err(declare::invalid("a layout is declared as a document with one field, the layout's name"));
        };
        let Value::Document(options) = first.value() else {
            return Err(Error::new(
                code::TYPE_MISMATCH,
                format!("the options of the layout '{}' must be a document", first.key_str()),
            ));
        };
        match first.key_str() {
            "attribute" => Attribute::parse(options).map(Layout::Attribute),
            "bucket" => Bucket::parse(options).map(Layout::Bucket),
            "subset" => Subset::parse(options).map(Layout::Subset),
            other => Err(declare::invalid(format!("there is no layout '{other}'"))),
        }
    }

    /// The layout's name in declarations.
    pub fn name(&self) -> &'static str {
        match self {
            Layout::Attribute(_) => "attribute",
            Layout::Bucket(_) => "bucket",
            Layout::Subset(_) => "subset",
        }
    }

    /// The key patterns of the indexes that stored documents have from the start, beside `_id`.
    pub fn indexes(&self) -> Vec<DocBuf> {
        match self {
            Layout::Attribute(attribute) => attribute.indexes(),
            Layout::Bucket(bucket) => bucket.indexes(),
            Layout::Subset(_) => Vec::new(),
        }
    }

    /// The stored filter that every stored document with a match satisfies.
    pub fn prune(&self, filter: &Filter) -> Pruned {
        match self {
            Layout::Attribute(attribute) => attribute.prune(filter),
            Layout::Bucket(bucket) => bucket.prune(filter),
            Layout::Subset(subset) => subset.prune(filter),
        }
        .simplified()
    }

    /// What an order of logical documents means for stored ones.
    pub fn order(&self, fields: &[SortField]) -> StoredOrder {
        match self {
            Layout::Attribute(attribute) => attribute.order(fields),
            Layout::Bucket(bucket) => bucket.order(fields),
            Layout::Subset(subset) => subset.order(fields),
        }
    }

    /// The stored key pattern that holds the same entries as a logical one; `None` where there is none.
    pub fn index_key(&self, key: Doc<'_>) -> Option<DocBuf> {
        match self {
            Layout::Attribute(attribute) => attribute.index_key(key),
            Layout::Bucket(bucket) => bucket.index_key(key),
            Layout::Subset(subset) => subset.index_key(key),
        }
    }

    /// Whether one stored document stands for one logical document, so that unique indexes hold.
    pub fn is_one_to_one(&self) -> bool {
        !matches!(self, Layout::Bucket(_))
    }
}
