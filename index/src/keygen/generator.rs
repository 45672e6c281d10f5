//! The generator: dispatches on the kind of index, and does documents without arrays itself.

use std::fmt;
use std::sync::Arc;

use bindery_document::{Doc, Error, Result, Value, code};

use super::{Found, KeyPattern, Keys, PatternKind, WildcardProjection, arrays, find, hashed, wildcard};
use crate::key::Collator;

/// Generates the keys of documents for one index.
///
/// ```
/// use bindery_document::{Builder, Value};
/// use bindery_index::keygen::{KeyGenerator, KeyPattern, Keys};
/// let mut builder = Builder::new();
/// builder.append("a", 1);
/// let pattern = KeyPattern::parse(builder.finish().doc())?;
/// let generator = KeyGenerator::new(pattern);
///
/// let mut builder = Builder::new();
/// let array = builder.open_array("a");
/// builder.append_index(0, 7);
/// builder.append_index(1, "x");
/// builder.close(array);
/// let mut keys = Keys::new();
/// generator.generate(builder.finish().doc(), &mut keys)?;
/// assert_eq!((keys.len(), keys.is_multikey()), (2, true));
/// # Ok::<(), bindery_document::Error>(())
/// ```
#[derive(Clone)]
pub struct KeyGenerator {
    pattern: KeyPattern,
    is_sparse: bool,
    collator: Option<Arc<dyn Collator + Send + Sync>>,
    projection: WildcardProjection,
    is_for_sorting: bool,
}

impl KeyGenerator {
    /// A generator for an index that is not sparse and orders strings by their bytes.
    pub fn new(pattern: KeyPattern) -> KeyGenerator {
        let projection = WildcardProjection::of_pattern(&pattern);
        KeyGenerator { pattern, is_sparse: false, collator: None, projection, is_for_sorting: false }
    }

    /// Skips documents in which none of the fields exist.
    #[must_use]
    pub fn sparse(mut self) -> KeyGenerator {
        self.is_sparse = true;
        self
    }

    /// Orders strings by a collation. Such keys cannot give their strings back.
    #[must_use]
    pub fn collated(mut self, collator: Arc<dyn Collator + Send + Sync>) -> KeyGenerator {
        self.collator = Some(collator);
        self
    }

    /// Makes keys to sort by rather than to index: under a collation, a symbol in a document without arrays is
    /// ordered by its bytes, where an index refuses it.
    #[must_use]
    pub fn for_sorting(mut self) -> KeyGenerator {
        self.is_for_sorting = true;
        self
    }

    /// Limits a wildcard index to what the projection keeps.
    #[must_use]
    pub fn projected(mut self, projection: WildcardProjection) -> KeyGenerator {
        self.projection = projection;
        self
    }

    /// The key pattern.
    pub fn pattern(&self) -> &KeyPattern {
        &self.pattern
    }

    /// Whether documents without any of the fields are skipped.
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    /// Whether strings are ordered by a collation.
    pub fn is_collated(&self) -> bool {
        self.collator.is_some()
    }

    /// What a wildcard index covers.
    pub fn projection(&self) -> &WildcardProjection {
        &self.projection
    }

    pub(super) fn collator(&self) -> Option<&dyn Collator> {
        self.collator.as_deref().map(|collator| collator as &dyn Collator)
    }

    /// Replaces what is in `keys` by the keys of a document.
    ///
    /// # Errors
    /// `CannotIndexParallelArrays` (171); 16746 for a name that is both a position of an array and a field of
    /// one of its elements; 16766 for an array under a hashed index; `CannotBuildIndexKeys` (201) for a symbol
    /// under a collation. `keys` then holds nothing of use.
    pub fn generate(&self, doc: Doc<'_>, keys: &mut Keys) -> Result<()> {
        match self.pattern.kind() {
            PatternKind::Ordered => self.ordered(doc, keys)?,
            PatternKind::Hashed => hashed::generate(self, doc, keys)?,
            PatternKind::Wildcard => wildcard::generate(self, doc, keys),
        }
        if self.is_collated() && keys.builder.take_met_collated_symbol() {
            return Err(Error::new(code::CANNOT_BUILD_INDEX_KEYS, "a symbol has no place in the order of a collation"));
        }
        Ok(())
    }

    /// The one key of a document without arrays; hands over at the first array.
    fn ordered(&self, doc: Doc<'_>, keys: &mut Keys) -> Result<()> {
        let fields = self.pattern.fields();
        keys.reset(fields.len());
        let mut missing = 0;
        for field in fields {
            let value = match find(doc, field.parts(), 0) {
                Found::Value(element) => element.value(),
                Found::Missing => {
                    missing += 1;
                    Value::Null
                }
                // Of `_id` alone an array is one key: stored documents have none there, those of a pipeline may.
                Found::Array(element, _) if fields.len() == 1 && field.name() == "_id" => element.value(),
                Found::Array(..) => {
                    keys.builder.clear();
                    return arrays::generate(self, doc, keys);
                }
            };
            let collator = match value {
                Value::Symbol(_) if self.is_for_sorting => None,
                _ => self.collator(),
            };
            keys.builder.append_field(&value, field.direction(), collator);
        }
        if !(self.is_sparse && missing == fields.len()) {
            keys.push();
        }
        Ok(())
    }
}

impl fmt::Debug for KeyGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyGenerator")
            .field("pattern", &self.pattern)
            .field("is_sparse", &self.is_sparse)
            .field("is_collated", &self.is_collated())
            .field("projection", &self.projection)
            .finish()
    }
}
