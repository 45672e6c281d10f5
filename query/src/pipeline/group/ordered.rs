//! `$top`, `$bottom`, `$topN`, `$bottomN`: the first or last documents of a group in an order.

use std::cmp::Ordering;

use bindery_document::{Doc, Error, OwnedValue, Result, code};
use bindery_index::keygen::Keys;

use crate::collation::Collation;
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
pub(crate) struct OrderBy(Sort);

impl OrderBy {
    pub(crate) fn parse(spec: Doc<'_>, collation: Option<&Collation>) -> Result<OrderBy> {
        if spec.is_empty() {
            return Err(Error::new(code::BAD_VALUE, "sortBy needs at least one field"));
        }
        Ok(OrderBy(Sort::parse(spec, collation)?))
    }
}

/// The values held, each with its sort key, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    entries: Vec<(Box<[u8]>, Option<OwnedValue>)>,
    pub(super) n: Option<usize>,
}

impl Ranked {
    /// Takes a document in, if it is among those to keep; the bytes by which the state grew.
    pub(super) fn add(
        &mut self,
        keep: Keep,
        order: &OrderBy,
        n: usize,
        scope: &Scope<'_>,
        output: impl FnOnce() -> Result<Val<'static>>,
    ) -> Result<usize> {
        let mut keys = Keys::default();
        let key = order.0.key(scope.root(), &mut keys)?;
        // Equal keys stay in the order in which they came.
        let place = self.entries.partition_point(|(held, _)| (**held).cmp(key) != Ordering::Greater);
        if self.entries.len() >= n && keep == Keep::Top && place >= n {
            return Ok(0);
        }
        if self.entries.len() >= n && keep == Keep::Bottom && place == 0 {
            return Ok(0);
        }
        let value = output()?.to_owned_value();
        let bytes = key.len() + 48 + value.as_ref().map_or(0, |_| 24);
        self.entries.insert(place, (key.into(), value));
        if self.entries.len() > n {
            match keep {
                Keep::Top => self.entries.truncate(n),
                Keep::Bottom => drop(self.entries.remove(0)),
            }
            return Ok(0);
        }
        Ok(bytes)
    }

    /// The values in order.
    pub(super) fn values(self) -> impl Iterator<Item = Option<OwnedValue>> {
        self.entries.into_iter().map(|(_, value)| value)
    }
}
