//! `$top`, `$bottom`, `$topN`, `$bottomN`: the first or last documents of a group in an order.
//!
//! The order's paths are read as expressions are ("$a.b"), so an array is compared as a whole; only the empty
//! one stands below null, as it does in sorts.

use std::cmp::Ordering;

use bindery_document::{Doc, Error, OwnedValue, Result, Value, code};

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

/// A compiled order: paths, each with whether it is descending.
#[derive(Debug)]
pub(crate) struct OrderBy(Vec<(Box<[Box<str>]>, bool)>);

impl OrderBy {
    pub(crate) fn parse(spec: Doc<'_>, collation: Option<&Collation>) -> Result<OrderBy> {
        if spec.is_empty() {
            return Err(Error::new(code::BAD_VALUE, "sortBy needs at least one field"));
        }
        let sort = Sort::parse(spec, collation)?;
        let fields = sort.fields().iter().map(|field| Ok((split_path(&field.path)?, field.descending)));
        Ok(OrderBy(fields.collect::<Result<_>>()?))
    }

    fn key(&self, doc: Doc<'_>) -> Vec<OwnedValue> {
        let read = |(names, _): &(Box<[Box<str>]>, bool)| match walk(Value::Document(doc), names).or_null() {
            Value::Array(items) if items.is_empty() => OwnedValue::new(Value::Undefined),
            other => OwnedValue::new(other),
        };
        self.0.iter().map(read).collect()
    }

    fn compare(&self, a: &[OwnedValue], b: &[OwnedValue], scope: &Scope<'_>) -> Ordering {
        for ((x, y), (_, descending)) in a.iter().zip(b).zip(&self.0) {
            let order = scope.compare(&x.value(), &y.value());
            if order.is_ne() {
                return if *descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    }
}

/// The values held, each with its sort key, in order; of equal keys the one that came first is first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    entries: Vec<(Vec<OwnedValue>, Option<OwnedValue>)>,
    pub(super) n: Option<usize>,
}

impl Ranked {
    /// Takes a document in, if it is among those to keep; the bytes by which the state grew.
    pub(super) fn add(
        &mut self,
        keep: Keep,
        order: &OrderBy,
        scope: &Scope<'_>,
        output: impl FnOnce() -> Result<Val<'static>>,
    ) -> Result<usize> {
        let n = self.n.unwrap_or(1);
        let key = order.key(scope.root());
        let place = self.entries.partition_point(|(held, _)| order.compare(held, &key, scope) != Ordering::Greater);
        let full = self.entries.len() >= n;
        if full && keep == Keep::Top && place >= n {
            return Ok(0);
        }
        if full
            && keep == Keep::Bottom
            && self.entries.first().is_some_and(|(least, _)| order.compare(&key, least, scope) != Ordering::Greater)
        {
            return Ok(0);
        }
        self.entries.insert(place, (key, output()?.to_owned_value()));
        if !full {
            return Ok(64 + 32 * order.0.len());
        }
        match keep {
            Keep::Top => self.entries.truncate(n),
            // Of the least ones the one that came last goes.
            Keep::Bottom => {
                let Some((least, _)) = self.entries.first() else {
                    return Ok(0);
                };
                let end = self.entries.partition_point(|(held, _)| order.compare(held, least, scope).is_eq());
                self.entries.remove(end.saturating_sub(1));
            }
        }
        Ok(0)
    }

    /// The values in order.
    pub(super) fn values(self) -> impl Iterator<Item = Option<OwnedValue>> {
        self.entries.into_iter().map(|(_, value)| value)
    }
}
