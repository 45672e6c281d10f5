//! An index of a collection: what it is, its tree, and the keys it makes of documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result, Value};
use bindery_index::key::{Directions, KeyBuilder, split_record_id};
use bindery_index::keygen::{KeyGenerator, KeyPattern, Keys, MultikeyPaths, PatternKind, WildcardProjection};
use bindery_index::{PageVisitor, RecordId, Tree, TreeOptions};
use bindery_query::collation::Collation;
use bindery_query::filter::{Filter, ParseContext};
use bindery_query::plan::IndexDescription;

use super::{IndexSpec, same_documents};
use crate::execute::corrupt;
use crate::trace::Cx;

/// What does not change about an index (but for being hidden or expiring, which make a new one).
pub(crate) struct IndexMeta {
    /// As declared.
    pub(crate) spec: IndexSpec,
    /// Whether it is the index on `_id`.
    pub(crate) is_id: bool,
    /// Whether no write may make two records share a key.
    pub(crate) is_unique: bool,
    /// Makes the keys.
    generator: KeyGenerator,
    /// The compiled partial filter.
    pub(crate) partial: Option<Arc<Filter>>,
    /// The compiled collation.
    pub(crate) collation: Option<Collation>,
}

impl IndexMeta {
    /// Compiles a specification.
    ///
    /// # Errors
    /// What the parts say that cannot be compiled; 67 and 224 for what a partial filter may not hold.
    pub(crate) fn new(spec: IndexSpec) -> Result<IndexMeta> {
        let mut generator = KeyGenerator::new(KeyPattern::parse(spec.key.doc())?);
        if spec.sparse {
            generator = generator.sparse();
        }
        if let Some(projection) = &spec.wildcard_projection {
            generator = generator.projected(WildcardProjection::parse(projection.doc())?);
        }
        let collation = match &spec.collation {
            Some(collation) => Collation::parse(collation.doc())?,
            None => None,
        };
        if let Some(collation) = &collation {
            let collation = collation.clone();
            generator =
                generator.collated(Arc::new(move |text: &[u8], key: &mut Vec<u8>| collation.write_sort_key(text, key)));
        }
        let partial = match &spec.partial {
            Some(filter) => {
                super::partial::check(filter.doc())?;
                Some(Arc::new(Filter::parse(filter.doc(), &ParseContext::with_collation(collation.clone()))?))
            }
            None => None,
        };
        let is_id = spec.is_id_key();
        let is_unique = is_id || spec.unique || spec.prepare_unique;
        Ok(IndexMeta { is_id, is_unique, spec, generator, partial, collation })
    }

    /// Whether both would hold the same entries of any document, in the same order, and refuse the same: then a
    /// collection has room for one of them only.
    pub(crate) fn same_signature(&self, other: &IndexMeta) -> bool {
        let filter = |meta: &IndexMeta| meta.partial.as_ref().map(|partial| partial.to_document());
        let same_filters = match (filter(self), filter(other)) {
            (Some(a), Some(b)) => same_documents(a.doc(), b.doc()),
            (None, None) => true,
            _ => false,
        };
        same_filters
            && same_documents(self.spec.key.doc(), other.spec.key.doc())
            && self.spec.collation == other.spec.collation
            && (self.spec.unique, self.spec.sparse) == (other.spec.unique, other.spec.sparse)
            && self.generator.projection() == other.generator.projection()
    }

    /// The compiled key pattern.
    pub(crate) fn pattern(&self) -> &KeyPattern {
        self.generator.pattern()
    }

    /// The directions of the fields.
    pub(crate) fn directions(&self) -> Directions {
        self.pattern().directions()
    }

    /// Appends a value of one field as keys hold it.
    pub(crate) fn append_value(&self, field: usize, value: &Value<'_>, key: &mut KeyBuilder) {
        let direction = self.directions().of(field);
        // The paths in a wildcard index are names, which have no collation.
        let is_path = field == 0 && self.pattern().kind() == PatternKind::Wildcard;
        match self.collation.as_ref().filter(|_| !is_path) {
            Some(collation) => {
                let collator = |text: &[u8], key: &mut Vec<u8>| collation.write_sort_key(text, key);
                key.append_collated(value, direction, &collator);
            }
            None => key.append(value, direction),
        }
    }
}

/// An index at one moment. Cloning one shares its pages.
#[derive(Clone)]
pub(crate) struct Index {
    /// What it is.
    pub(crate) meta: Arc<IndexMeta>,
    /// Its entries: ordered key and record id, with type bits as values.
    pub(crate) tree: Tree,
    /// Which parts of its paths have met arrays.
    pub(crate) multikey: MultikeyPaths,
    /// For a wildcard index, the paths of arrays that it met.
    pub(crate) wildcard_multikey: Arc<BTreeSet<String>>,
    /// Whether any document led through an array.
    pub(crate) is_multikey: bool,
}

impl Index {
    /// An empty index.
    ///
    /// # Errors
    /// As [`IndexMeta::new`].
    pub(crate) fn new(spec: IndexSpec) -> Result<Index> {
        let meta = IndexMeta::new(spec)?;
        let multikey = MultikeyPaths::new(meta.pattern().fields().len());
        Ok(Index {
            meta: Arc::new(meta),
            tree: Tree::new(TreeOptions::default()),
            multikey,
            wildcard_multikey: Arc::default(),
            is_multikey: false,
        })
    }

    /// The same entries under a changed specification: one that makes the same keys.
    ///
    /// # Errors
    /// As [`IndexMeta::new`].
    pub(crate) fn with_spec(&self, spec: IndexSpec) -> Result<Index> {
        Ok(Index { meta: Arc::new(IndexMeta::new(spec)?), ..self.clone() })
    }

    /// What the planner needs to know.
    pub(crate) fn describe(&self) -> IndexDescription<'_> {
        let spec = &self.meta.spec;
        IndexDescription {
            name: &spec.name,
            key: spec.key.doc(),
            multikey: &self.multikey,
            wildcard_multikey: &self.wildcard_multikey,
            is_multikey: self.is_multikey,
            is_id: self.meta.is_id,
            is_clustered: spec.clustered,
            unique: spec.unique,
            sparse: spec.sparse,
            hidden: spec.hidden,
            partial: self.meta.partial.as_deref(),
            collation: self.meta.collation.as_ref(),
            wildcard_projection: self.meta.generator.projection(),
        }
    }

    /// The document's keys; none if the index leaves it out.
    ///
    /// # Errors
    /// 171 for parallel arrays, 16766 for arrays under a hashed field.
    pub(crate) fn keys_of(&self, document: Doc<'_>, keys: &mut Keys) -> Result<()> {
        if let Some(partial) = &self.meta.partial
            && !partial.matches(document)?
        {
            keys.clear();
            return Ok(());
        }
        self.meta.generator.generate(document, keys)
    }

    /// Remembers which paths were multikey in a document.
    pub(crate) fn note_multikey(&mut self, keys: &Keys) {
        if !keys.is_multikey() {
            return;
        }
        self.is_multikey = true;
        self.multikey.merge(keys.multikey_paths());
        if keys.wildcard_multikey_paths().any(|path| !self.wildcard_multikey.contains(path)) {
            Arc::make_mut(&mut self.wildcard_multikey).extend(keys.wildcard_multikey_paths().map(str::to_owned));
        }
    }

    /// Adds a document's entries.
    pub(crate) fn insert_keys(
        &mut self,
        keys: &Keys,
        record_id: RecordId,
        entry: &mut KeyBuilder,
        visitor: &mut impl PageVisitor,
    ) {
        self.note_multikey(keys);
        for key in keys.iter() {
            self.tree.insert(make_entry(entry, key.bytes, record_id), key.type_bits, visitor);
        }
    }

    /// Adds the entry of a document with one key, in one descent, if no record has the key; false, and nothing changed,
    /// if one has or may have. The record id must be above all in the index.
    pub(crate) fn insert_distinct(
        &mut self,
        keys: &Keys,
        record_id: RecordId,
        entry: &mut KeyBuilder,
        visitor: &mut impl PageVisitor,
    ) -> bool {
        let mut all = keys.iter();
        let (Some(key), None) = (all.next(), all.next()) else { return false };
        let entry = make_entry(entry, key.bytes, record_id);
        let added = self.tree.insert_if_distinct(entry, key.bytes.len(), key.type_bits, visitor);
        if added {
            self.note_multikey(keys);
        }
        added
    }

    /// Removes a document's entries.
    pub(crate) fn remove_keys(&mut self, keys: &Keys, record_id: RecordId, entry: &mut KeyBuilder, cx: &mut Cx<'_>) {
        for key in keys.iter() {
            self.tree.remove(make_entry(entry, key.bytes, record_id), &mut cx.visitor);
            cx.work.index_entries_written += 1;
        }
    }

    /// Removes the old keys that are not among the new, and adds the new that were not among the old. Both
    /// are sorted.
    pub(crate) fn replace_keys(
        &mut self,
        old: &Keys,
        new: &Keys,
        record_id: RecordId,
        entry: &mut KeyBuilder,
        cx: &mut Cx<'_>,
    ) {
        self.note_multikey(new);
        let (mut gone, mut come) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (gone.peek(), come.peek()) {
                (None, None) => return,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.bytes.cmp(b.bytes),
            };
            if order.is_eq() {
                // The same key may still have other type bits: 1 became 1.0.
                if let (Some(a), Some(b)) = (gone.next(), come.next())
                    && a.type_bits != b.type_bits
                {
                    self.tree.insert(make_entry(entry, b.bytes, record_id), b.type_bits, &mut cx.visitor);
                    cx.work.index_entries_written += 1;
                }
            } else if order.is_lt() {
                if let Some(key) = gone.next() {
                    self.tree.remove(make_entry(entry, key.bytes, record_id), &mut cx.visitor);
                    cx.work.index_entries_written += 1;
                }
            } else if let Some(key) = come.next() {
                self.tree.insert(make_entry(entry, key.bytes, record_id), key.type_bits, &mut cx.visitor);
                cx.work.index_entries_written += 1;
            }
        }
    }

    /// The record of an index of one field with this value; the first, if there are more.
    ///
    /// # Errors
    /// Only for an entry that cannot be read, which is a fault of ours.
    pub(crate) fn find_one(&self, value: &Value<'_>, visitor: &mut impl PageVisitor) -> Result<Option<RecordId>> {
        let mut key = KeyBuilder::new();
        self.meta.append_value(0, value, &mut key);
        let mut found = Vec::new();
        if self.tree.first_from(key.as_bytes(), &mut found, visitor).is_none() {
            return Ok(None);
        }
        let (fields, record_id) = split_record_id(&found).map_err(corrupt)?;
        Ok((fields == key.as_bytes()).then_some(record_id))
    }

    /// An entry's values under the fields' names, as `returnKey` shows them.
    ///
    /// # Errors
    /// Only for an entry that cannot be read, which is a fault of ours.
    pub(crate) fn values_of(&self, entry: &[u8], type_bits: &[u8]) -> Result<DocBuf> {
        if self.meta.spec.is_wildcard() {
            return self.wildcard_values(entry, type_bits);
        }
        let names: Vec<&[u8]> = self.meta.spec.key.doc().iter().map(|e| e.key).collect();
        bindery_index::key::decode_document(entry, type_bits, self.meta.directions(), &names).map_err(corrupt)
    }

    /// A wildcard entry: the path under `$_path`, and the value under the path.
    fn wildcard_values(&self, entry: &[u8], type_bits: &[u8]) -> Result<DocBuf> {
        let values = bindery_index::key::decode(entry, type_bits, self.meta.directions(), 2).map_err(corrupt)?;
        let mut row = Builder::new();
        if let [path, value] = values.as_slice() {
            row.append("$_path", path.value());
            row.append(path.value().as_str().unwrap_or_default(), value.value());
        }
        Ok(row.finish())
    }

    /// An entry's values as the document they came from would hold them: nested where paths are dotted.
    ///
    /// # Errors
    /// Only for an entry that cannot be read, which is a fault of ours.
    pub(crate) fn document_of(&self, entry: &[u8], type_bits: &[u8]) -> Result<DocBuf> {
        let flat = self.values_of(entry, type_bits)?;
        if !flat.doc().iter().any(|e| e.key.contains(&b'.')) {
            return Ok(flat);
        }
        let mut nested = Builder::new();
        let fields: Vec<(Vec<&str>, Value<'_>)> =
            flat.doc().iter().map(|e| (e.key_str().split('.').collect(), e.value())).collect();
        nest(&fields, 0, &mut nested);
        Ok(nested.finish())
    }
}

/// Writes fields that share their first `depth` path parts.
fn nest(fields: &[(Vec<&str>, Value<'_>)], depth: usize, out: &mut Builder) {
    let mut done: Vec<&str> = Vec::new();
    for (path, value) in fields {
        let part = path[depth];
        if done.contains(&part) {
            continue;
        }
        if path.len() == depth + 1 {
            out.append(part, *value);
        } else {
            done.push(part);
            let below: Vec<(Vec<&str>, Value<'_>)> =
                fields.iter().filter(|(p, _)| p.len() > depth + 1 && p[depth] == part).cloned().collect();
            let open = out.open_document(part);
            nest(&below, depth + 1, out);
            out.close(open);
        }
    }
}

fn make_entry<'a>(entry: &'a mut KeyBuilder, key: &[u8], record_id: RecordId) -> &'a [u8] {
    entry.clear();
    entry.append_encoded(key);
    entry.append_record_id(record_id);
    entry.as_bytes()
}
