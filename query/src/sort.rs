//! Sorting: sort patterns, the sort key of a document, and the collector that sorts.
//!
//! A document's sort key is the least of the keys that an index of the sort's pattern would hold for it.
//! So an array counts with its least element in an ascending field and its greatest in a descending one,
//! `[]` stands below null, missing is null, and fields below one array are taken from the same element.
//! Keys are ordered bytes ([`bindery_index::key`]): sorting compares bytes.
//!
//! Sources: MongoDB's manual, "`cursor.sort()`" and "`$sort`"; what it leaves open was asked of a real server.

mod sorter;

use std::cmp::Ordering;
use std::sync::Arc;

use bindery_document::path::{Component, Plain};
use bindery_document::{Builder, Doc, Error, Kind, OwnedValue, Path, Result, Value, code, order};
use bindery_index::key::{self, Collator};
use bindery_index::keygen::{KeyGenerator, KeyPattern, Keys};

use crate::collation::Collation;
use crate::projection::{Input, Projection};

pub use sorter::{Sorted, Sorter};

/// MongoDB's codes for malformed sort patterns.
mod wrong {
    pub(super) const NOT_A_DIRECTION: i32 = 15974;
    pub(super) const NOT_ONE: i32 = 15975;
    pub(super) const NOT_META: i32 = 17312;
    pub(super) const UNKNOWN_META: i32 = 31138;
    pub(super) const SEARCH_SCORE: i32 = 31218;
    pub(super) const SEARCH_HIGHLIGHTS: i32 = 31219;
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
        let is_alone = doc.count() == 1;
        return Err(match doc.first().filter(|first| first.key == b"$meta").map(|first| first.value()) {
            Some(Value::String(_)) if !is_alone => {
                Error::new(code::FAILED_TO_PARSE, "a sort by $meta has no other keys beside it")
            }
            None => Error::new(wrong::NOT_META, format!("the sort by '{path}' needs 1, -1 or $meta")),
            Some(meta) => match meta.as_str() {
                Some("searchScore") => Error::new(wrong::SEARCH_SCORE, "there is no search score to sort by"),
                Some("searchHighlights") => Error::new(wrong::SEARCH_HIGHLIGHTS, "there are no highlights to sort by"),
                Some(name @ ("textScore" | "randVal" | "geoNearDistance")) => {
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
    // The names of references are names of fields like others.
    if path.split('.').any(|name| name.starts_with('$') && !matches!(name, "$ref" | "$id" | "$db")) {
        return fault(wrong::DOLLAR_NAME, "has a name that starts with a dollar sign");
    }
    Ok(())
}

/// MongoDB's limit for the memory of a sort that may not use the disk: 100 MiB.
pub const SORT_MEMORY_BYTES: usize = 100 * 1024 * 1024;

#[cfg(test)]
mod tests;
