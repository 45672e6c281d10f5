//! The states of accumulators.

use std::cmp::Ordering;

use bindery_document::{Builder, Error, Kind, OwnedValue, Result, Value};
use rustc_hash::FxHashSet;

use super::accumulator::AccumulatorKind;
use super::ordered::{OrderBy, Ranked};
use crate::expression::accumulate::Deviation;
use crate::expression::array_order::place_among;
use crate::expression::number::Number;
use crate::expression::object::{Merged, merge};
use crate::expression::summation::Summation;
use crate::expression::{Scope, Val};
use crate::pipeline::canonical_key::Strings;

/// What an accumulator has gathered.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Sum(Summation),
    Avg {
        sum: Summation,
        count: u64,
    },
    Count(u64),
    /// `$min`, `$max`: the best value so far.
    Extreme {
        best: Option<OwnedValue>,
        wanted: Ordering,
        /// Whether of equal values the last one counts, not the first.
        latest: bool,
    },
    First {
        value: Option<OwnedValue>,
        seen: bool,
    },
    Last {
        value: Option<OwnedValue>,
        seen: bool,
    },
    /// `$push`: the array so far.
    Push(Box<Items>),
    Set(Box<SetItems>),
    Deviation(Box<Deviation>),
    Merge(Box<Merged>),
    Some(Box<Several>),
    Ranked(Box<Ranked>),
    /// The result was taken.
    Taken,
}

/// The values of an array, encoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    values: Vec<(Kind, Box<[u8]>)>,
}

/// Different values, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetItems {
    seen: FxHashSet<Box<[u8]>>,
    held: Vec<OwnedValue>,
}

/// The values of `$firstN`, `$lastN`, `$minN`, `$maxN`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Several {
    n: usize,
    slides: bool,
    /// Whether the first ones are there and one more has come, so that no other is asked for.
    is_closed: bool,
    values: Vec<OwnedValue>,
}

/// What a value in a list takes besides its bytes: a list that is full is copied to one of twice the size, so that there
/// are up to three places of 24 bytes for each of its values, and the value's own memory is rounded up.
const LISTED_BYTES: usize = 3 * 24 + ROUNDED_BYTES;

/// What the memory of a value is rounded up by, at most.
const ROUNDED_BYTES: usize = 16;

/// What a value in a hash set takes besides its bytes, in the same way.
const HASHED_BYTES: usize = 3 * 20 + ROUNDED_BYTES;

/// Whether two elements of a set are one under a collation. In MongoDB's usual engine a symbol is alike to a symbol of
/// the same bytes only.
fn are_one(a: &Value<'_>, b: &Value<'_>, scope: &Scope<'_>) -> bool {
    match (a, b) {
        (Value::Symbol(x), Value::Symbol(y)) if !scope.nulls_first() => x == y,
        (Value::Symbol(_), _) | (_, Value::Symbol(_)) if !scope.nulls_first() => false,
        _ => scope.compare(a, b).is_eq(),
    }
}

impl State {
    /// The state before the first value; `slides` for windows that values leave again, where of equal values others
    /// are kept.
    pub(super) fn new(kind: AccumulatorKind, slides: bool) -> State {
        use AccumulatorKind::{
            AddToSet, Avg, Count, First, FirstN, Last, LastN, Max, MaxN, MergeObjects, Min, MinN, OneInOrder, Push,
            SomeInOrder, StdDevPop, StdDevSamp, Sum,
        };
        match kind {
            Sum => State::Sum(Summation::default()),
            Avg => State::Avg { sum: Summation::default(), count: 0 },
            Count => State::Count(0),
            Min => State::Extreme { best: None, wanted: Ordering::Less, latest: false },
            Max => State::Extreme { best: None, wanted: Ordering::Greater, latest: slides },
            First => State::First { value: None, seen: false },
            Last => State::Last { value: None, seen: false },
            Push => State::Push(Box::default()),
            AddToSet => State::Set(Box::default()),
            StdDevPop | StdDevSamp => State::Deviation(Box::default()),
            MergeObjects => State::Merge(Box::default()),
            FirstN | LastN | MaxN | MinN => State::Some(Box::new(Several { slides, ..Several::default() })),
            OneInOrder(_) | SomeInOrder(_) => State::Ranked(Box::new(Ranked::new(slides))),
        }
    }

    /// What a new state holds besides itself, in bytes.
    pub(super) fn boxed_bytes(&self) -> usize {
        match self {
            State::Push(items) => size_of_val(&**items),
            State::Set(set) => size_of_val(&**set),
            State::Deviation(deviation) => size_of_val(&**deviation),
            State::Merge(merged) => size_of_val(&**merged),
            State::Some(several) => size_of_val(&**several),
            State::Ranked(ranked) => size_of_val(&**ranked),
            _ => 0,
        }
    }

    /// Sets the number of values to keep.
    pub(super) fn set_limit(&mut self, n: usize) {
        match self {
            State::Some(several) => several.n = n,
            State::Ranked(ranked) => ranked.n = Some(n),
            _ => {}
        }
    }

    /// Takes a number in; false, and nothing is done, if the state keeps more of its values than their sum.
    #[inline(always)]
    pub(super) fn add_number(&mut self, number: Number) -> bool {
        match self {
            State::Sum(sum) => sum.add(number),
            State::Avg { sum, count } => {
                sum.add(number);
                *count += 1;
            }
            _ => return false,
        }
        true
    }

    /// Whether no further value can change it.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        match self {
            State::First { seen, .. } => *seen,
            State::Some(several) => several.is_closed,
            _ => false,
        }
    }

    /// Takes a value in; the bytes by which the state grew.
    #[inline]
    pub(super) fn add(&mut self, value: &Val<'_>, scope: &Scope<'_>) -> Result<usize> {
        match self {
            State::Sum(sum) => {
                if let Some(number) = value.get().and_then(|v| Number::of(&v)) {
                    sum.add(number);
                }
                Ok(0)
            }
            State::Avg { sum, count } => {
                if let Some(number) = value.get().and_then(|v| Number::of(&v)) {
                    sum.add(number);
                    *count += 1;
                }
                Ok(0)
            }
            State::Count(count) => {
                *count += 1;
                Ok(0)
            }
            _ => self.add_value(value, scope),
        }
    }

    fn add_value(&mut self, value: &Val<'_>, scope: &Scope<'_>) -> Result<usize> {
        match self {
            State::Extreme { best, wanted, latest } => {
                let Some(found) = value.get().filter(|v| !matches!(v, Value::Null | Value::Undefined)) else {
                    return Ok(0);
                };
                let better = best.as_ref().is_none_or(|held| {
                    let order = scope.compare(&found, &held.value());
                    order == *wanted || *latest && order.is_eq()
                });
                if better {
                    return Ok(keep(best, Some(found)));
                }
            }
            State::First { value: first, seen } => {
                if !*seen {
                    *seen = true;
                    return Ok(keep(first, value.get()));
                }
            }
            State::Last { value: last, seen } => {
                *seen = true;
                return Ok(keep(last, value.get()));
            }
            State::Push(items) => {
                if let Some(found) = value.get() {
                    let mut bytes = Vec::new();
                    found.write_to(&mut bytes);
                    let grown = bytes.len() + LISTED_BYTES;
                    items.values.push((found.kind(), bytes.into_boxed_slice()));
                    return Ok(grown);
                }
            }
            State::Set(set) => {
                if let Some(found) = value.get() {
                    let mut key = Vec::new();
                    crate::pipeline::canonical_key::append(&found, Strings::Bytes, &mut key);
                    let grown = 2 * key.len() + LISTED_BYTES + HASHED_BYTES;
                    let is_new = match scope.has_string_order() {
                        true => !set.held.iter().any(|held| are_one(&held.value(), &found, scope)),
                        false => set.seen.insert(key.into_boxed_slice()),
                    };
                    if is_new {
                        set.held.push(OwnedValue::new(found));
                        return Ok(grown);
                    }
                }
            }
            State::Deviation(deviation) => {
                if let Some(found) = value.get() {
                    deviation.add(&found);
                }
            }
            State::Merge(merged) => {
                merge(merged, value.get())
                    .map_err(|error| Error::new(error.code, format!("the accumulator {}", error.message)))?;
            }
            State::Some(_) | State::Sum(_) | State::Avg { .. } | State::Count(_) | State::Ranked(_) | State::Taken => {}
        }
        Ok(0)
    }

    /// Takes a value into one of the accumulators that keep several.
    pub(super) fn add_to_several(&mut self, kind: AccumulatorKind, value: &Val<'_>, scope: &Scope<'_>) -> usize {
        let State::Some(several) = self else {
            return 0;
        };
        let (n, slides) = (several.n, several.slides);
        let values = &mut several.values;
        let before = values.len();
        match kind {
            AccumulatorKind::FirstN => {
                if values.len() < n {
                    values.push(OwnedValue::new(value.or_null()));
                } else {
                    several.is_closed = true;
                }
            }
            AccumulatorKind::LastN => {
                if values.len() == n {
                    values.remove(0);
                }
                values.push(OwnedValue::new(value.or_null()));
            }
            _ => {
                let Some(found) = value.get().filter(|v| !matches!(v, Value::Null | Value::Undefined)) else {
                    return 0;
                };
                let order = |held: &OwnedValue| scope.compare(&held.value(), &found);
                let place = match (kind, slides) {
                    (AccumulatorKind::MaxN, true) => Some(values.partition_point(|held| order(held).is_gt())),
                    (kind, _) => place_among(values, n, kind == AccumulatorKind::MaxN, order),
                };
                if let Some(place) = place.filter(|place| *place < n) {
                    values.insert(place, OwnedValue::new(found));
                    values.truncate(n);
                }
            }
        }
        if values.len() > before { 48 } else { 0 }
    }

    /// Takes a document into one of the accumulators with an order.
    pub(super) fn add_in_order(
        &mut self,
        kind: AccumulatorKind,
        order: &OrderBy,
        scope: &Scope<'_>,
        output: Val<'static>,
    ) -> Result<usize> {
        match (self, kind) {
            (State::Ranked(ranked), AccumulatorKind::OneInOrder(keep) | AccumulatorKind::SomeInOrder(keep)) => {
                ranked.add(keep, order, scope, output)
            }
            _ => Ok(0),
        }
    }

    /// Whether the first or last value was a missing one, which a window gives as such and a group as null.
    pub(crate) fn gave_missing(&self) -> bool {
        matches!(self, State::First { value: None, seen: true } | State::Last { value: None, seen: true })
    }

    /// The result.
    pub(super) fn finish(self, kind: AccumulatorKind) -> Val<'static> {
        let maybe = |value: Option<OwnedValue>| value.map_or(Val::NULL, Val::Owned);
        match self {
            State::Sum(sum) => Val::from(sum.total()),
            State::Avg { sum, count } => {
                if count == 0 {
                    Val::NULL
                } else {
                    Val::from(sum.average(count))
                }
            }
            State::Count(count) => Val::Value(crate::pipeline::count::count_value(count)),
            State::Extreme { best, .. } => maybe(best),
            State::First { value, .. } | State::Last { value, .. } => maybe(value),
            State::Push(items) => {
                let mut builder = Builder::new();
                let mut digits = [0; 20];
                for (index, (kind, bytes)) in items.values.iter().enumerate() {
                    builder.append_bytes(bindery_document::build::index_key(index, &mut digits), *kind, bytes);
                }
                Val::Array(builder.finish())
            }
            State::Set(set) => array(set.held.into_iter().map(Some)),
            State::Deviation(deviation) => {
                let result = match kind {
                    AccumulatorKind::StdDevSamp => deviation.sample(),
                    _ => deviation.population(),
                };
                result.map_or(Val::NULL, Val::from)
            }
            State::Merge(merged) => merged.build(),
            State::Some(several) => array(several.values.into_iter().map(Some)),
            State::Ranked(ranked) => match kind {
                AccumulatorKind::OneInOrder(_) => maybe(ranked.values().next().flatten()),
                _ => array(ranked.values()),
            },
            State::Taken => Val::Missing,
        }
    }
}

/// Holds a value instead of another; the bytes by which that takes more.
fn keep(held: &mut Option<OwnedValue>, value: Option<Value<'_>>) -> usize {
    let length = |held: &Option<OwnedValue>| held.as_ref().map_or(0, |held| held.bytes().len() + ROUNDED_BYTES);
    let before = length(held);
    match (held.as_mut(), value) {
        (Some(held), Some(value)) => held.set(value),
        (_, value) => *held = value.map(OwnedValue::new),
    }
    length(held).saturating_sub(before)
}

fn array(values: impl Iterator<Item = Option<OwnedValue>>) -> Val<'static> {
    let mut builder = Builder::new();
    for (index, value) in values.enumerate() {
        builder.append_index(index, value.as_ref().map_or(Value::Null, OwnedValue::value));
    }
    Val::Array(builder.finish())
}
