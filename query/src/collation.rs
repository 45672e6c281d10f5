//! Collations: the order of strings by a language's rules.
//!
//! A [`Collation`] is read once from a command's or an index's `collation` document, with MongoDB's
//! checks, and then orders strings or writes sort keys whose byte order is the same. The rules and tables
//! are those of ICU4X (Unicode CLDR). The locales are those that MongoDB has.
//!
//! What cannot be had is refused with code 2: six locales without tables, the search tailorings
//! (`@collation=search`), and `backwards` in locales with a tailoring of their own.
//!
//! Source: MongoDB's manual, "Collation".

mod locale;
mod spec;

pub use spec::{Alternate, CaseFirst, MaxVariable, Spec};

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result, Value};

use crate::expression::StringOrder;

/// An order of strings; cheap to clone, safe to share between threads.
#[derive(Clone)]
pub struct Collation(Arc<Inner>);

struct Inner {
    spec: Spec,
    #[cfg(feature = "collation")]
    collator: icu_collator::CollatorBorrowed<'static>,
}

impl Collation {
    /// Reads a collation document; `None` for `{locale: "simple"}`, the order by bytes.
    ///
    /// An empty document is an error here; commands that take one for "no collation" check before.
    ///
    /// # Errors
    /// 40414 without locale, 40415 for unknown fields, 14 for wrong types, 51024 for a strength above 5,
    /// 161 for another version, 2 for other unsuitable values and locales.
    pub fn parse(document: Doc<'_>) -> Result<Option<Collation>> {
        match Spec::parse(document)? {
            None => Ok(None),
            Some(spec) => Collation::new(spec).map(Some),
        }
    }

    /// Builds the order.
    ///
    /// # Errors
    /// Code 2 for what the tables do not hold.
    #[cfg(feature = "collation")]
    pub fn new(spec: Spec) -> Result<Collation> {
        use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable as Variable, Strength};
        use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
        use icu_collator::{CollatorBorrowed, CollatorPreferences};

        let unavailable =
            |why: String| bindery_document::Error::new(bindery_document::code::BAD_VALUE, format!("collation: {why}"));
        let tag = locale::language_tag(&spec.locale, spec.backwards).map_err(unavailable)?;
        let locale: icu_locale_core::Locale = tag.parse().map_err(|_| unavailable(format!("no locale '{tag}'")))?;
        let mut preferences = CollatorPreferences::from(locale);
        preferences.case_first = Some(match spec.case_first() {
            CaseFirst::Off => CollationCaseFirst::False,
            CaseFirst::Upper => CollationCaseFirst::Upper,
            CaseFirst::Lower => CollationCaseFirst::Lower,
        });
        preferences.numeric_ordering =
            Some(if spec.numeric_ordering { CollationNumericOrdering::True } else { CollationNumericOrdering::False });
        let mut options = CollatorOptions::default();
        options.strength = Some(match spec.strength {
            1 => Strength::Primary,
            2 => Strength::Secondary,
            3 => Strength::Tertiary,
            4 => Strength::Quaternary,
            _ => Strength::Identical,
        });
        options.case_level = Some(if spec.case_level { CaseLevel::On } else { CaseLevel::Off });
        options.alternate_handling = Some(match spec.alternate() {
            Alternate::NonIgnorable => AlternateHandling::NonIgnorable,
            Alternate::Shifted => AlternateHandling::Shifted,
        });
        options.max_variable = Some(match spec.max_variable {
            MaxVariable::Punct => Variable::Punctuation,
            MaxVariable::Space => Variable::Space,
        });
        let collator = CollatorBorrowed::try_new(preferences, options).map_err(|why| unavailable(why.to_string()))?;
        Ok(Collation(Arc::new(Inner { spec, collator })))
    }

    /// Without the tables only `simple` can be had.
    ///
    /// # Errors
    /// Code 2 always.
    #[cfg(not(feature = "collation"))]
    pub fn new(spec: Spec) -> Result<Collation> {
        let why = format!("collation: this build holds no tables for '{}'", spec.locale);
        Err(bindery_document::Error::new(bindery_document::code::BAD_VALUE, why))
    }

    /// The settings.
    pub fn spec(&self) -> &Spec {
        &self.0.spec
    }

    /// Compares two strings (UTF-8 bytes).
    #[cfg(feature = "collation")]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.collator.compare_utf8(a, b)
    }

    /// Compares two strings (UTF-8 bytes).
    #[cfg(not(feature = "collation"))]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    /// This order, for the [scope](crate::expression::Scope) of expressions.
    pub fn string_order(&self) -> Arc<StringOrder> {
        let collation = self.clone();
        Arc::new(move |a: &[u8], b: &[u8]| collation.compare(a, b))
    }

    /// Appends a key whose byte order is this order, equal strings giving equal keys.
    #[cfg(feature = "collation")]
    pub fn write_sort_key(&self, text: &[u8], key: &mut Vec<u8>) {
        // A vector takes everything.
        let Ok(()) = self.0.collator.write_sort_key_utf8_to(text, key);
    }

    /// Appends a key whose byte order is this order, equal strings giving equal keys.
    #[cfg(not(feature = "collation"))]
    pub fn write_sort_key(&self, text: &[u8], key: &mut Vec<u8>) {
        key.extend_from_slice(text);
    }

    /// The value with every string in it replaced by its sort key: comparing such values by bytes compares
    /// the originals by this order. Keys of index entries are made of it. `None` if there is no string.
    pub fn key_value(&self, value: Value<'_>) -> Option<DocBuf> {
        let mut builder = Builder::new();
        let changed = self.append_key(&mut builder, b"", value);
        changed.then(|| builder.finish())
    }

    fn append_key(&self, builder: &mut Builder, name: &[u8], value: Value<'_>) -> bool {
        match value {
            Value::String(text) => {
                let mut key = Vec::new();
                self.write_sort_key(text.as_bytes(), &mut key);
                builder.append(name, Value::String(bindery_document::Text(&key)));
                true
            }
            Value::Symbol(text) => {
                let mut key = Vec::new();
                self.write_sort_key(text.as_bytes(), &mut key);
                builder.append(name, Value::Symbol(bindery_document::Text(&key)));
                true
            }
            Value::Document(inner) | Value::Array(inner) => {
                let open = match value {
                    Value::Array(_) => builder.open_array(name),
                    _ => builder.open_document(name),
                };
                let mut changed = false;
                for element in inner {
                    changed |= self.append_key(builder, element.key, element.value());
                }
                builder.close(open);
                changed
            }
            other => {
                builder.append(name, other);
                false
            }
        }
    }

    /// The full settings, as `listIndexes` and `listCollections` show them.
    pub fn to_document(&self) -> DocBuf {
        self.0.spec.to_document()
    }
}

impl PartialEq for Collation {
    fn eq(&self, other: &Collation) -> bool {
        self.0.spec == other.0.spec
    }
}

impl Eq for Collation {}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.spec, f)
    }
}

#[cfg(all(test, feature = "collation"))]
mod tests;
