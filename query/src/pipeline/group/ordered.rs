//! `$top`, `$bottom`, `$topN`, `$bottomN`: the first or last documents of a group in an order.
//!
//! The order's paths are read as expressions are (`"$a.b"`), and what they give is put into one array that is then
//! sorted by its positions. That is what MongoDB does, and it shows: an array is compared as a whole, two
//! arrays in one key are refused as parallel, and a field whose name is one of the positions is ambiguous.

use bindery_document::{Builder, Doc, OwnedValue, Result, Value};
use bindery_index::keygen::Keys;

use crate::collation::Collation;
use crate::expression::field_path::{split_path, walk};
use crate::expression::{Scope, Val};
use crate::sort::Sort;

/// Which end of the order stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Top,
    Bottom,
}

/// A compiled order.
#[derive(Debug)]
pub(crate) struct OrderBy {
    /// What is compared, most decisive first.
    paths: Box<[Box<[Box<str>]>]>,
    /// The order by positions of the array of their values.
    by_position: Sort,
}

/// The array of values that a document is sorted by.
const VALUES: &str = "v";

impl OrderBy {
    pub(crate) fn parse(spec: Doc<'_>, collation: Option<&Collation>) -> Result<OrderBy> {
        if spec.is_empty() {
            // Nothing comes before anything else.
            let mut none = Builder::new();
            none.append(VALUES, 1);
            return Ok(OrderBy { paths: Box::default(), by_position: Sort::parse(none.finish().doc(), collation)? });
        }
        let sort = Sort::parse(spec, collation)?;
        let mut positions = Builder::new();
        for (place, field) in sort.fields().iter().enumerate() {
            positions.append(format!("{VALUES}.{place}"), if field.descending { -1 } else { 1 });
        }
        Ok(OrderBy {
            paths: sort.fields().iter().map(|field| split_path(&field.path)).collect::<Result<_>>()?,
            by_position: Sort::parse(positions.finish().doc(), collation)?,
        })
    }

    fn key(&self, doc: Doc<'_>, keys: &mut Keys) -> Result<Box<[u8]>> {
        let mut builder = Builder::new();
        let values = builder.open_array(VALUES);
        for (place, names) in self.paths.iter().enumerate() {
            builder.append_index(place, walk(Value::Document(doc), names).or_null());
        }
        builder.close(values);
        Ok(self.by_position.key(builder.finish().doc(), keys)?.into())
    }
}

/// The values held, each with its sort key, in order; of equal keys the one that came first is first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    entries: Vec<(Box<[u8]>, Option<OwnedValue>)>,
    keys: Keys,
    /// Whether of the least ones those that came first go, as in windows that values leave again.
    slides: bool,
    pub(super) n: Option<usize>,
}

impl Ranked {
    pub(super) fn new(slides: bool) -> Ranked {
        Ranked { slides, ..Ranked::default() }
    }

    /// Takes a document in, if it is among those to keep; the bytes by which the state grew.
    pub(super) fn add(
        &mut self,
        keep: Keep,
        order: &OrderBy,
        scope: &Scope<'_>,
        output: Val<'static>,
    ) -> Result<usize> {
        let n = self.n.unwrap_or(1);
        let key = order.key(scope.root(), &mut self.keys)?;
        let place = self.entries.partition_point(|(held, _)| *held <= key);
        let full = self.entries.len() >= n;
        if full && keep == Keep::Top && place >= n {
            return Ok(0);
        }
        let is_wanted = |least: &[u8]| if self.slides { *key >= *least } else { *key > *least };
        if full && keep == Keep::Bottom && self.entries.first().is_some_and(|(least, _)| !is_wanted(least)) {
            return Ok(0);
        }
        let grown = if full { 0 } else { 64 + key.len() };
        self.entries.insert(place, (key, output.to_owned_value()));
        if full {
            match keep {
                Keep::Top => self.entries.truncate(n),
                Keep::Bottom if self.slides => {
                    self.entries.remove(0);
                }
                // Of the least ones the one that came last goes.
                Keep::Bottom => {
                    let end =
                        self.entries.partition_point(|(held, _)| self.entries.first().is_some_and(|(l, _)| held <= l));
                    self.entries.remove(end.saturating_sub(1));
                }
            }
        }
        Ok(grown)
    }

    /// The values in order.
    pub(super) fn values(self) -> impl Iterator<Item = Option<OwnedValue>> {
        self.entries.into_iter().map(|(_, value)| value)
    }
}
