//! Collections with a layout: one logical collection, kept in plain ones.
//!
//! The [`Layout`] (which is pure) says how logical documents become stored ones; this module holds the stored
//! ones, reads through them and writes through the same [door](crate::write) as plain collections. Every
//! command on a logical document finds its way here.
//!
//! ```text
//! source       stored documents found by a pruned filter, unfolded, checked against the logical filter
//! rows         the documents of a cursor: logical order, skip, limit and projection on top of a source
//! answers      count and distinct
//! rollup       $group from the summaries of buckets
//! writer       insert, replace, delete of logical documents; one file a layout for how
//! statements   the statements of update, delete and findAndModify
//! indexes      logical index keys as stored ones
//! diagnostics  collStats, validate, compact
//! series       time-series collections, which are the bucket layout
//! ```
//!
//! The stored documents are seen, but not written, under `<name>.$stored`.

mod answers;
mod attribute;
mod bucket;
mod diagnostics;
mod indexes;
mod rollup;
mod rows;
pub(crate) mod series;
mod source;
mod statements;
mod subset;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_index::Records;
use bindery_patterns::Layout;
use parking_lot::{Mutex, RwLock};

use crate::collection::{Collection, CollectionOptions, Index, IndexSpec, State};
use crate::command::new_collection;
use crate::database::Inner;
use crate::namespace::STORED_SUFFIX;
use crate::trace::Cx;
use crate::write;

pub(crate) use answers::{count, distinct};
pub(crate) use diagnostics::{bytes, compact, logical_count, show_stats, validate};
pub(crate) use indexes::translate as translate_index;
pub(crate) use rollup::rollup;
pub(crate) use rows::LayoutRows;
pub(crate) use series::Series;
pub(crate) use source::Asked;
pub(crate) use statements::{delete, find_and_modify, update};
pub(crate) use writer::Writer;

/// A collection whose documents are stored in another form.
pub(crate) struct LayoutCollection {
    /// Identifies the collection.
    pub(crate) uuid: [u8; 16],
    /// The form.
    pub(crate) layout: Arc<Layout>,
    /// The layout as it was declared.
    declaration: DocBuf,
    /// What it was declared with, if it is a time-series collection.
    pub(crate) series: Option<Series>,
    /// What holds for logical documents.
    pub(crate) options: Arc<CollectionOptions>,
    /// The stored documents.
    pub(crate) stored: Arc<Collection>,
    /// The children, for a layout that keeps them apart.
    pub(crate) side: Option<Arc<Collection>>,
    /// Held while a change to several collections becomes visible.
    moment: RwLock<()>,
    /// Held by the one writer; which buckets are open.
    writer: Mutex<bucket::Open>,
}

/// All that is stored, at one moment.
#[derive(Clone)]
pub(crate) struct Moment {
    pub(crate) stored: Arc<State>,
    pub(crate) side: Option<Arc<State>>,
}

impl LayoutCollection {
    /// An empty collection with the layout that `create` declares.
    ///
    /// # Errors
    /// 72 for what is no layout, and for options that layouts do not go with.
    pub(crate) fn create(server: &Inner, declaration: Doc<'_>, options: CollectionOptions) -> Result<LayoutCollection> {
        let layout = Layout::parse(declaration)?;
        let refused = |what: &str| {
            Err(Error::new(
                code::INVALID_OPTIONS,
                format!("a collection with a layout cannot have the option '{what}'"),
            ))
        };
        if options.capped.is_some() {
            return refused("capped");
        }
        if options.collation.is_some() {
            return refused("collation");
        }
        LayoutCollection::with_layout(server, layout, DocBuf::from(declaration), None, options)
    }

    /// An empty collection with a layout.
    fn with_layout(
        server: &Inner,
        layout: Layout,
        declaration: DocBuf,
        series: Option<Series>,
        options: CollectionOptions,
    ) -> Result<LayoutCollection> {
        let stored = new_collection(server, CollectionOptions::default())?;
        {
            let guard = stored.lock_for_writing();
            let mut change = guard.change();
            for key in layout.indexes() {
                change.get().indexes.push(Index::new(IndexSpec::plain(key))?);
            }
        }
        let side = match &layout {
            Layout::Subset(subset) => {
                let index = Index::new(IndexSpec::plain(subset.side_index()))?;
                let state = State { records: Records::new(), indexes: vec![index], options: Arc::default() };
                Some(Arc::new(Collection::new(new_collection(server, CollectionOptions::default())?.uuid, state)))
            }
            Layout::Attribute(_) | Layout::Bucket(_) => None,
        };
        Ok(LayoutCollection {
            side,
            uuid: new_collection(server, CollectionOptions::default())?.uuid,
            layout: Arc::new(layout),
            declaration,
            series,
            options: Arc::new(options),
            stored: Arc::new(stored),
            moment: RwLock::default(),
            writer: Mutex::default(),
        })
    }

    /// A copy that goes its own way; shares all pages until either side writes.
    pub(crate) fn fork(&self) -> LayoutCollection {
        let _whole = self.moment.read();
        LayoutCollection {
            uuid: self.uuid,
            layout: Arc::clone(&self.layout),
            declaration: self.declaration.clone(),
            series: self.series.clone(),
            options: Arc::clone(&self.options),
            stored: Arc::new(self.stored.fork()),
            side: self.side.as_ref().map(|side| Arc::new(side.fork())),
            moment: RwLock::default(),
            writer: Mutex::default(),
        }
    }

    /// All that is stored, as it is now.
    pub(crate) fn snapshot(&self) -> Moment {
        let _whole = self.moment.read();
        Moment { stored: self.stored.snapshot(), side: self.side.as_ref().map(|side| side.snapshot()) }
    }

    /// The plain collection behind `<name>.$stored` and what follows it.
    pub(crate) fn stored_form(&self, suffix: &str) -> Option<Arc<Collection>> {
        match suffix {
            "" => Some(Arc::clone(&self.stored)),
            suffix => self.side.clone().filter(|_| suffix == self.side_suffix()),
        }
    }

    /// What the side collection's name ends in, after `$stored`.
    fn side_suffix(&self) -> String {
        match &*self.layout {
            Layout::Subset(subset) => format!(".{}", subset.array()),
            Layout::Attribute(_) | Layout::Bucket(_) => String::new(),
        }
    }

    /// All that is stored, each part with what its name adds to the stored collection's.
    pub(crate) fn parts<'m>(&self, moment: &'m Moment) -> Vec<(String, &'m State)> {
        let mut parts = vec![(String::new(), &*moment.stored)];
        parts.extend(moment.side.as_ref().map(|side| (self.side_suffix(), &**side)));
        parts
    }

    /// Appends the options as `listCollections` shows them.
    pub(crate) fn show_options(&self, out: &mut Builder) {
        self.options.show(out);
        match &self.series {
            Some(series) => series.show(out),
            None => out.append("layout", Value::Document(self.declaration.doc())),
        }
    }

    /// The number of indexes that stored documents have from the start; they cannot be dropped.
    pub(crate) fn fixed_indexes(&self) -> usize {
        1 + self.layout.indexes().len()
    }
}

/// Splits `<name>.$stored<rest>` into name and rest.
pub(crate) fn split_stored(name: &str) -> Option<(&str, &str)> {
    let at = name.find(STORED_SUFFIX)?;
    let rest = &name[at + STORED_SUFFIX.len()..];
    (rest.is_empty() || rest.starts_with('.')).then_some((&name[..at], rest))
}

/// The error for a command that would change stored documents behind the layout's back.
pub(crate) fn read_only(namespace: &str) -> Error {
    Error::new(
        code::ILLEGAL_OPERATION,
        format!("{namespace} is the stored form of a collection with a layout and can only be read"),
    )
}

/// Inserts a batch of documents made ready by `prepare`.
///
/// # Errors
/// As a plain collection's; nothing is changed then.
pub(crate) fn insert(
    writer: &mut Writer<'_>,
    document: Doc<'_>,
    bypass_validation: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if !bypass_validation {
        write::check_insert(&writer.collection().options, document)?;
    }
    writer.insert(document, cx)
}
