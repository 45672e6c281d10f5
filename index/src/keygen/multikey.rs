//! Multikey paths: which components of which fields led through arrays.
//!
//! The planner asks them which bounds it may combine. They only grow: an index remembers an array
//! after the document is gone, as MongoDB's does.

/// A set of path components, by position.
///
/// Documents nest at most 180 levels, so an array never lies at a component past 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartSet {
    words: [u64; 4],
}

impl PartSet {
    /// Whether nothing is in the set.
    pub fn is_empty(self) -> bool {
        self.words == [0; 4]
    }

    /// Whether the component is in the set.
    pub fn contains(self, part: usize) -> bool {
        self.words.get(part / 64).is_some_and(|word| word >> (part % 64) & 1 == 1)
    }

    /// Adds a component.
    pub fn insert(&mut self, part: usize) {
        if let Some(word) = self.words.get_mut(part / 64) {
            *word |= 1 << (part % 64);
        }
    }

    /// The components, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.words).flat_map(|(first, mut word)| {
            std::iter::from_fn(move || {
                let part = (word != 0).then(|| first + word.trailing_zeros() as usize);
                word &= word.wrapping_sub(1);
                part
            })
        })
    }

    /// The least component.
    pub fn first(self) -> Option<usize> {
        self.iter().next()
    }
}

/// For each field of an index, the components that are arrays in some document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultikeyPaths {
    fields: Vec<PartSet>,
}

impl MultikeyPaths {
    /// No arrays, for an index of `n` fields.
    pub fn new(n: usize) -> MultikeyPaths {
        MultikeyPaths { fields: vec![PartSet::default(); n] }
    }

    /// Whether any field leads through an array.
    pub fn is_multikey(&self) -> bool {
        self.fields.iter().any(|parts| !parts.is_empty())
    }

    /// The components of one field that are arrays: 0 is `a` in `a.b`.
    pub fn field(&self, field: usize) -> PartSet {
        self.fields.get(field).copied().unwrap_or_default()
    }

    /// The sets of all fields.
    pub fn fields(&self) -> &[PartSet] {
        &self.fields
    }

    /// Adds a component of a field.
    pub fn insert(&mut self, field: usize, part: usize) {
        if self.fields.len() <= field {
            self.fields.resize(field + 1, PartSet::default());
        }
        if let Some(parts) = self.fields.get_mut(field) {
            parts.insert(part);
        }
    }

    /// Adds all of another's components; says whether any was new.
    pub fn merge(&mut self, other: &MultikeyPaths) -> bool {
        let before = self.clone();
        if self.fields.len() < other.fields.len() {
            self.fields.resize(other.fields.len(), PartSet::default());
        }
        for (parts, more) in self.fields.iter_mut().zip(&other.fields) {
            for (word, bits) in parts.words.iter_mut().zip(more.words) {
                *word |= bits;
            }
        }
        *self != before
    }

    /// Forgets everything and makes room for `n` fields.
    pub(super) fn reset(&mut self, n: usize) {
        self.fields.clear();
        self.fields.resize(n, PartSet::default());
    }
}
