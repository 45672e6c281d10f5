//! Which databases, collections and views there are.
//!
//! The catalogue maps names to shared handles and knows nothing of their content. Its lock is held for
//! a look-up or a change of names only, never while documents are read or written.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};

use crate::collection::Collection;
use crate::layout::LayoutCollection;

/// What a name stands for.
#[derive(Clone)]
pub(crate) enum Entry {
    /// Documents and indexes.
    Collection(Arc<Collection>),
    /// Logical documents, stored in another form.
    Layout(Arc<LayoutCollection>),
    /// A pipeline over another collection or view.
    View(Arc<View>),
}

/// A stored pipeline, read as if it were a collection.
#[derive(Debug)]
pub(crate) struct View {
    /// The collection or view it reads.
    pub(crate) on: String,
    /// The stages, as an array.
    pub(crate) pipeline: DocBuf,
    /// The options it was created with, as `listCollections` shows them.
    pub(crate) options: DocBuf,
    /// The collation document, if one was given.
    pub(crate) collation: Option<DocBuf>,
}

impl View {
    /// A view with these parts; its options are shown as `listCollections` does.
    pub(crate) fn new(on: &str, pipeline: Doc<'_>, collation: Option<DocBuf>) -> View {
        let mut options = Builder::new();
        options.append("viewOn", on);
        options.append("pipeline", Value::Array(pipeline));
        if let Some(collation) = &collation {
            options.append("collation", Value::Document(collation.doc()));
        }
        View { on: on.to_owned(), pipeline: DocBuf::from(pipeline), options: options.finish(), collation }
    }
}

/// All names.
#[derive(Clone, Default)]
pub(crate) struct Catalog {
    databases: BTreeMap<String, BTreeMap<String, Entry>>,
}

impl Catalog {
    /// What the name stands for.
    pub(crate) fn get(&self, database: &str, name: &str) -> Option<&Entry> {
        self.databases.get(database)?.get(name)
    }

    /// Adds a name.
    ///
    /// # Errors
    /// 48 if it is taken.
    pub(crate) fn insert(&mut self, database: &str, name: &str, entry: Entry) -> Result<()> {
        let names = self.databases.entry(database.to_owned()).or_default();
        if names.contains_key(name) {
            return Err(Error::new(code::NAMESPACE_EXISTS, format!("Collection {database}.{name} already exists.")));
        }
        names.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Moves a name, and what it stands for; what stood at the new name is dropped.
    pub(crate) fn rename(&mut self, from: (&str, &str), to: (&str, &str)) -> Option<Entry> {
        let entry = self.remove(from.0, from.1)?;
        self.databases.entry(to.0.to_owned()).or_default().insert(to.1.to_owned(), entry)
    }

    /// Removes all views of a database.
    pub(crate) fn remove_views(&mut self, database: &str) {
        if let Some(names) = self.databases.get_mut(database) {
            names.retain(|_, entry| !matches!(entry, Entry::View(_)));
        }
    }

    /// Replaces what a name stands for.
    pub(crate) fn replace(&mut self, database: &str, name: &str, entry: Entry) {
        self.databases.entry(database.to_owned()).or_default().insert(name.to_owned(), entry);
    }

    /// Removes a name; a database without names is gone.
    pub(crate) fn remove(&mut self, database: &str, name: &str) -> Option<Entry> {
        let names = self.databases.get_mut(database)?;
        let entry = names.remove(name);
        if names.is_empty() {
            self.databases.remove(database);
        }
        entry
    }

    /// Removes a database; false if there was none.
    pub(crate) fn remove_database(&mut self, database: &str) -> bool {
        self.databases.remove(database).is_some()
    }

    /// The databases, in order of their names.
    pub(crate) fn databases(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, Entry>)> {
        self.databases.iter().map(|(name, entries)| (name.as_str(), entries))
    }

    /// The names in a database, in order.
    pub(crate) fn entries(&self, database: &str) -> impl Iterator<Item = (&str, &Entry)> {
        self.databases.get(database).into_iter().flatten().map(|(name, entry)| (name.as_str(), entry))
    }

    /// A copy whose collections go their own way from here; shares all pages.
    pub(crate) fn fork(&self) -> Catalog {
        let fork_entry = |entry: &Entry| match entry {
            Entry::Collection(collection) => Entry::Collection(Arc::new(collection.fork())),
            Entry::Layout(layout) => Entry::Layout(Arc::new(layout.fork())),
            Entry::View(view) => Entry::View(Arc::clone(view)),
        };
        let fork_names = |names: &BTreeMap<String, Entry>| {
            names.iter().map(|(name, entry)| (name.clone(), fork_entry(entry))).collect()
        };
        Catalog { databases: self.databases.iter().map(|(name, names)| (name.clone(), fork_names(names))).collect() }
    }
}
