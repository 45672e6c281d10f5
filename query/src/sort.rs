//! Sorting: sort patterns, the sort key of a document, and the collector that sorts.
//!
//! A document's sort key is the least of the keys that an index of the sort's pattern would hold for it.
//! So an array counts with its least element in an ascending field and its greatest in a descending one,
//! `[]` stands below null, missing is null, and fields below one array are taken from the same element.
//! Keys are ordered bytes ([`bindery_index::key`]): sorting compares bytes.
//!
//! Sources: MongoDB's manual, "`cursor.sort()`" and "`$sort`"; what it leaves open was asked of a real server.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use bindery_document::path::{Component, Plain};
use bindery_document::{Builder, Doc, Error, Kind, OwnedValue, Path, Result, Value, code, order};
use bindery_index::key::{self, Collator};
use bindery_index::keygen::{KeyGenerator, KeyPattern, Keys};

use crate::collation::Collation;
use crate::projection::{Input, Projection};

/// MongoDB's codes for malformed sort patterns.
mod wrong {
    pub(super) const NOT_A_DIRECTION: i32 = 15974;
    pub(super) const NOT_ONE: i32 = 15975;
    pub(super) const NOT_META: i32 = 17312;
    pub(super) const UNKNOWN_META: i32 = 31138;
    pub(super) const META_NOT_AVAILABLE: i32 = 40218;
    pub(super) const EMPTY_NAME: i32 = 15998;
    pub(super) const DOLLAR_NAME: i32 = 16410;
    pub(super) const EMPTY_PATH: i32 = 40352;
    pub(super) const TRAILING_DOT: i32 = 40353;
}

/// What a `sort` document asks for.
#[derive(Clone, Debug)]
pub enum SortOrder {
    /// Nothing: `{}`.
    Unsorted,
    /// The order of record ids: `{$natural: 1}`, or backwards.
    Natural {
        /// Whether backwards.
        backward: bool,
    },
    /// An order by fields.
    Fields(Sort),
}

/// An order by fields.
#[derive(Clone, Debug)]
pub struct Sort {
    fields: Vec<SortField>,
    generator: KeyGenerator,
    /// What of a document is seen; all of it without.
    view: Option<Arc<Projection>>,
    /// How documents are told apart by their first field, where that needs no key.
    lead: Option<Lead>,
}

/// The first field of an order whose other fields cannot refuse a document.
#[derive(Clone, Debug)]
struct Lead {
    path: Path,
    descending: bool,
}

/// One field of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortField {
    /// The dotted path.
    pub path: Box<str>,
    /// Whether the greatest comes first.
    pub descending: bool,
}

impl SortOrder {
    /// Compiles a sort document; strings are ordered by the collation, if there is one.
    ///
    /// # Errors
    /// 15974 and 15975 for values other than 1 and -1, 17312, 31138 and 40218 for `$meta`, 15998, 16410, 40352
    /// and 40353 for malformed paths, 13103 for more than 32 fields, [`code::BAD_VALUE`] for `$natural` beside
    /// other fields.
    pub fn parse(spec: Doc<'_>, collation: Option<&Collation>) -> Result<SortOrder> {
        if spec.is_empty() {
            return Ok(SortOrder::Unsorted);
        }
        if let Some(natural) = spec.element(b"$natural") {
            if spec.count() > 1 {
                return Err(Error::new(code::BAD_VALUE, "$natural cannot be combined with other fields in a sort"));
            }
            let backward = natural.value().as_f64().is_some_and(|direction| direction < 0.0);
            return Ok(SortOrder::Natural { backward });
        }
        Sort::parse(spec, collation).map(SortOrder::Fields)
    }
}

impl Sort {
    /// Compiles the fields of a sort document, which must not be empty.
    ///
    /// # Errors
    /// As [`SortOrder::parse`].
    pub fn parse(spec: Doc<'_>, collation: Option<&Collation>) -> Result<Sort> {
        let mut fields: Vec<SortField> = Vec::new();
        let mut pattern = Builder::new();
        for field in spec {
            let path = field.key_str();
            let descending = direction(path, field.value())?;
            check_path(path)?;
            // A field that is named again decides nothing.
            if !fields.iter().any(|other| *other.path == *path) {
                pattern.append(path, if descending { -1 } else { 1 });
                fields.push(SortField { path: path.into(), descending });
            }
        }
        let mut generator = KeyGenerator::new(KeyPattern::parse(pattern.finish().doc())?).for_sorting();
        if let Some(collation) = collation {
            generator = generator.collated(Arc::new(collator(collation.clone())));
        }
        let lead = collation.is_none().then(|| Lead::of(&fields)).flatten();
        Ok(Sort { fields, generator, view: None, lead })
    }

    /// The fields.
    pub fn fields(&self) -> &[SortField] {
        &self.fields
    }

    /// The same order over documents as a projection leaves them. MongoDB projects before it sorts if there
    /// is no limit and the projection only includes fields, among them all those of the sort; it shows where
    /// `{"a.b": 1}` drops scalars from an array `a`, which then do not count as a missing `a.b`.
    #[must_use]
    pub fn after(mut self, projection: &Projection) -> Sort {
        let Some(paths) = projection.included_paths() else {
            return self;
        };
        let keeps = |path: &str, field: &SortField| {
            field.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let keeping = |field| paths.iter().find(|path| keeps(path, field));
        let Some(kept) = self.fields.iter().map(keeping).collect::<Option<Vec<_>>>() else {
            return self;
        };
        if kept.iter().any(|path| path.contains('.')) {
            self.view = Projection::including(paths.iter().map(String::as_str)).ok().map(Arc::new);
            self.lead = None;
        }
        self
    }

    /// The document's sort key, written into `keys`.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] when two fields lead through different arrays; 16746 for a name that is both a
    /// position of an array and a field of one of its elements; [`code::CANNOT_BUILD_INDEX_KEYS`] for a symbol
    /// under a collation, within a value or with an array on the way.
    pub fn key<'k>(&self, doc: Doc<'_>, keys: &'k mut Keys) -> Result<&'k [u8]> {
        self.generate(doc, keys)?;
        Ok(keys.iter().next().map_or(&[][..], |key| key.bytes))
    }

    /// The values that the document is sorted by, as `{$meta: "sortKey"}` gives them. Strings under a collation
    /// come out as they are compared.
    ///
    /// # Errors
    /// As [`Sort::key`].
    pub fn key_values(&self, doc: Doc<'_>, keys: &mut Keys) -> Result<Vec<OwnedValue>> {
        self.generate(doc, keys)?;
        let directions = self.generator.pattern().directions();
        let values = keys.iter().next().map(|k| key::decode(k.bytes, k.type_bits, directions, self.fields.len()));
        match values {
            Some(Ok(values)) => Ok(values),
            _ => Err(Error::new(code::INTERNAL_ERROR, "a sort key cannot be read back")),
        }
    }

    fn generate(&self, doc: Doc<'_>, keys: &mut Keys) -> Result<()> {
        let mut seen = Vec::new();
        let doc = match &self.view {
            None => doc,
            Some(projection) => {
                projection.apply(&Input::new(doc), &mut seen)?;
                Doc::from_stored(&seen)
            }
        };
        self.generator.generate(doc, keys).map_err(|error| {
            if error.code == code::CANNOT_INDEX_PARALLEL_ARRAYS {
                return Error::new(code::BAD_VALUE, "two fields of the sort lead through different arrays");
            }
            error
        })
    }
}

impl Lead {
    /// None where a document must be seen whole before it may be passed over: three fields can lead through
    /// two arrays, and a number can be a position or a name, both of which are errors.
    fn of(fields: &[SortField]) -> Option<Lead> {
        let (first, others) = fields.split_first()?;
        let is_plain = |field: &SortField| !Path::parse(&field.path).components().iter().any(Component::is_numeric);
        let lead = Lead { path: Path::parse(&first.path), descending: first.descending };
        (others.len() <= 1 && others.iter().all(is_plain)).then_some(lead)
    }

    /// Whether a document certainly comes after those with this value; equal values are told apart by keys.
    #[inline]
    fn is_beyond(&self, doc: Doc<'_>, bound: &Value<'_>) -> bool {
        let value = match self.path.find_plain(doc) {
            Plain::Found(element) => element.value(),
            Plain::Missing => Value::Null,
            Plain::Array => return false,
        };
        let beyond = if self.descending { Ordering::Less } else { Ordering::Greater };
        order::compare(&value, bound) == beyond
    }

    /// The value of a document, if it needs no key.
    fn value(&self, doc: Doc<'_>) -> Option<OwnedValue> {
        match self.path.find_plain(doc) {
            Plain::Found(element) => Some(OwnedValue::new(element.value())),
            Plain::Missing => Some(OwnedValue::new(Value::Null)),
            Plain::Array => None,
        }
    }
}

/// A collation as what orders the strings of keys.
fn collator(collation: Collation) -> impl Collator + Send + Sync {
    move |text: &[u8], out: &mut Vec<u8>| collation.write_sort_key(text, out)
}

fn direction(path: &str, value: Value<'_>) -> Result<bool> {
    if let Value::Document(doc) = value {
        return Err(match doc.first().filter(|first| first.key == b"$meta").map(|first| first.value()) {
            None => Error::new(wrong::NOT_META, format!("the sort by '{path}' needs 1, -1 or $meta")),
            Some(meta) => match meta.as_str() {
                Some(name @ ("textScore" | "randVal" | "searchScore" | "geoNearDistance")) => {
                    Error::new(wrong::META_NOT_AVAILABLE, format!("there is no metadata '{name}' to sort by"))
                }
                _ => Error::new(wrong::UNKNOWN_META, format!("the sort by '{path}' asks for unknown metadata")),
            },
        });
    }
    let Some(number) = value.as_f64() else {
        return Err(Error::new(
            wrong::NOT_A_DIRECTION,
            format!("the sort by '{path}' needs 1 or -1, not a value of type {}", value.kind().alias()),
        ));
    };
    // Decimals are rounded, doubles are cut.
    let whole = if value.kind() == Kind::Decimal128 { number.round_ties_even() } else { number.trunc() };
    match whole {
        1.0 => Ok(false),
        -1.0 => Ok(true),
        _ => Err(Error::new(wrong::NOT_ONE, format!("the sort by '{path}' needs 1 or -1, not {number}"))),
    }
}

fn check_path(path: &str) -> Result<()> {
    let fault = |error_code, what: &str| Err(Error::new(error_code, format!("the sort path '{path}' {what}")));
    if path.is_empty() {
        return fault(wrong::EMPTY_PATH, "is empty");
    }
    if path.ends_with('.') {
        return fault(wrong::TRAILING_DOT, "ends with a dot");
    }
    crate::expression::check_length(path.split('.').count())?;
    if path.split('.').any(str::is_empty) {
        return fault(wrong::EMPTY_NAME, "has an empty name in it");
    }
    if path.split('.').any(|name| name.starts_with('$')) {
        return fault(wrong::DOLLAR_NAME, "has a name that starts with a dollar sign");
    }
    Ok(())
}

/// MongoDB's limit for the memory of a sort that may not use the disk: 100 MiB.
pub const SORT_MEMORY_BYTES: usize = 100 * 1024 * 1024;

/// Collects items with their sort keys and gives them back sorted. Items of equal keys keep the order in
/// which they came. With a limit of k it holds no more than k items.
#[derive(Debug)]
pub struct Sorter<T> {
    collected: Collected<T>,
    memory: Memory,
}

#[derive(Debug)]
enum Collected<T> {
    /// All items, sorted at the end.
    All { keys: Vec<u8>, items: Vec<Entry<T>> },
    /// The least k so far, the greatest of them on top.
    Least { k: usize, heap: BinaryHeap<Ranked<T>>, came: u64 },
}

/// An item with its key in the common buffer.
#[derive(Debug)]
struct Entry<T> {
    /// The key's first bytes, which mostly decide.
    head: u64,
    start: usize,
    end: usize,
    item: T,
}

/// An item with its own key.
#[derive(Debug)]
struct Ranked<T> {
    key: Box<[u8]>,
    came: u64,
    bytes: usize,
    /// The document's value of the first field, where it is known.
    first: Option<OwnedValue>,
    item: T,
}

#[derive(Debug)]
struct Memory {
    used_bytes: usize,
    limit_bytes: usize,
}

impl<T> Sorter<T> {
    /// A collector of all items, or of the first `limit` in order; `limit_bytes` bounds keys and items together
    /// ([`SORT_MEMORY_BYTES`], or `usize::MAX`).
    pub fn new(limit: Option<usize>, limit_bytes: usize) -> Sorter<T> {
        let collected = match limit {
            None => Collected::All { keys: Vec::new(), items: Vec::new() },
            Some(k) => Collected::Least { k, heap: BinaryHeap::new(), came: 0 },
        };
        Sorter { collected, memory: Memory { used_bytes: 0, limit_bytes } }
    }

    /// Whether an item with this key can be among the results; if not, it need not be made.
    pub fn wants(&self, key: &[u8]) -> bool {
        match &self.collected {
            Collected::All { .. } => true,
            Collected::Least { k, heap, .. } => {
                heap.len() < *k || heap.peek().is_some_and(|greatest| key < &*greatest.key)
            }
        }
    }

    /// Takes an item, whose own size is given in bytes.
    ///
    /// # Errors
    /// [`code::QUERY_EXCEEDED_MEMORY_LIMIT`] when keys and items take more than allowed.
    pub fn push(&mut self, key: &[u8], item: T, item_bytes: usize) -> Result<()> {
        if !self.wants(key) {
            return Ok(());
        }
        self.insert(key, None, item, item_bytes)
    }

    /// Takes what `item` makes of a document, if that is among the first of the order; the document counts as the
    /// item's size. Most documents are passed over by a look at their first field, without a key being made.
    ///
    /// # Errors
    /// As [`Sort::key`] and [`Sorter::push`].
    #[inline]
    pub fn offer(&mut self, sort: &Sort, doc: Doc<'_>, keys: &mut Keys, item: impl FnOnce() -> T) -> Result<()> {
        if let (Some(lead), Some(bound)) = (&sort.lead, self.bound())
            && lead.is_beyond(doc, &bound.value())
        {
            return Ok(());
        }
        let key = sort.key(doc, keys)?;
        if !self.wants(key) {
            return Ok(());
        }
        let first = match &self.collected {
            Collected::All { .. } => None,
            Collected::Least { .. } => sort.lead.as_ref().and_then(|lead| lead.value(doc)),
        };
        self.insert(key, first, item(), doc.as_bytes().len())
    }

    /// The first field's value of the last document that is among the results so far, once there are enough.
    #[inline]
    fn bound(&self) -> Option<&OwnedValue> {
        match &self.collected {
            Collected::Least { k, heap, .. } if heap.len() >= *k => heap.peek()?.first.as_ref(),
            _ => None,
        }
    }

    fn insert(&mut self, key: &[u8], first: Option<OwnedValue>, item: T, item_bytes: usize) -> Result<()> {
        let bytes = key.len() + item_bytes;
        match &mut self.collected {
            Collected::All { keys, items } => {
                let start = keys.len();
                keys.extend_from_slice(key);
                items.push(Entry { head: head(key), start, end: keys.len(), item });
            }
            Collected::Least { k, heap, came } => {
                if heap.len() == *k
                    && let Some(dropped) = heap.pop()
                {
                    self.memory.used_bytes -= dropped.bytes;
                }
                heap.push(Ranked { key: key.into(), came: *came, bytes, first, item });
                *came += 1;
            }
        }
        self.memory.take(bytes)
    }

    /// The number of items held.
    pub fn len(&self) -> usize {
        match &self.collected {
            Collected::All { items, .. } => items.len(),
            Collected::Least { heap, .. } => heap.len(),
        }
    }

    /// Whether no items are held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of keys and items held.
    pub fn used_bytes(&self) -> usize {
        self.memory.used_bytes
    }

    /// The items in order.
    pub fn finish(self) -> Vec<T> {
        match self.collected {
            Collected::All { keys, mut items } => {
                let key = |entry: &Entry<T>| keys.get(entry.start..entry.end).unwrap_or_default();
                items.sort_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
                items.into_iter().map(|entry| entry.item).collect()
            }
            Collected::Least { heap, .. } => heap.into_sorted_vec().into_iter().map(|ranked| ranked.item).collect(),
        }
    }
}

impl Memory {
    fn take(&mut self, bytes: usize) -> Result<()> {
        self.used_bytes += bytes;
        if self.used_bytes > self.limit_bytes {
            return Err(Error::new(
                code::QUERY_EXCEEDED_MEMORY_LIMIT,
                format!(
                    "the sort needs more than {} bytes of memory; allowDiskUse lets it have more",
                    self.limit_bytes
                ),
            ));
        }
        Ok(())
    }
}

/// The first eight bytes as a number that orders as they do.
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Ranked<T>) -> Ordering {
        self.key.cmp(&other.key).then(self.came.cmp(&other.came))
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Ranked<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Ranked<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Ranked<T> {}

#[cfg(test)]
mod tests;
