//! Conditions on readings as conditions on buckets.

use std::ops::RangeInclusive;

use bindery_document::{Builder, Doc, DocBuf, Kind, OwnedValue, Path, Value};
use bindery_query::filter::{Compare, CompareOp, Filter, Membership};
use bindery_query::sort::SortField;

use super::{Bucket, Size, field};
use crate::prune::{Pruned, StoredOrder, below_first, first_of, moved, rewrite};

impl Bucket {
    /// See [`Layout::prune`](crate::Layout::prune). Conditions on the meta field hold for a bucket exactly as
    /// for its readings; times become bounds of the start, widened by the span, or else of the last time; ranges of numbers are asked of the summaries.
    pub(crate) fn prune(&self, filter: &Filter) -> Pruned {
        rewrite(filter, &|leaf| self.prune_leaf(leaf))
    }

    fn prune_leaf(&self, leaf: &Filter) -> Pruned {
        let Some(path) = leaf.path() else { return Pruned::anything() };
        let first = path.first().as_bytes();
        if self.is_meta(first) {
            let below = Path::parse(&format!("{}{}", field::META, below_first(path.as_str())));
            return moved(leaf, below).map_or_else(Pruned::anything, Pruned::exact);
        }
        if !path.is_top_level() || first.is_empty() {
            return Pruned::anything();
        }
        let condition = match leaf {
            Filter::Compare(test) if self.is_time(first) => self.time_compare(test),
            Filter::In(test) if self.is_time(first) => self.time_in(test),
            Filter::Compare(test) if self.is_summarized(first) => number_compare(test),
            _ => None,
        };
        condition.map_or_else(Pruned::anything, |filter| Pruned { filter, exact: false })
    }

    /// The times that matching readings can have, and whether that is all that is left to ask of readings in the
    /// buckets that the pruned filter finds.
    pub fn times_of(&self, filter: &Filter) -> (RangeInclusive<i64>, bool) {
        let all = i64::MIN..=i64::MAX;
        match filter {
            Filter::AlwaysTrue => (all, true),
            Filter::And(parts) => parts.iter().fold((all, true), |(times, is_all), part| {
                let (of_part, is_all_of_part) = self.times_of(part);
                let both = *times.start().max(of_part.start())..=*times.end().min(of_part.end());
                (both, is_all && is_all_of_part)
            }),
            Filter::Compare(test) if test.path.is_top_level() && self.is_time(test.path.first().as_bytes()) => {
                let Value::DateTime(time) = test.operand.value() else { return (all, false) };
                // Times are whole milliseconds.
                let times = match test.op {
                    CompareOp::Eq => time..=time,
                    CompareOp::Gte => time..=i64::MAX,
                    CompareOp::Lte => i64::MIN..=time,
                    CompareOp::Gt => match time.checked_add(1) {
                        Some(next) => next..=i64::MAX,
                        None => return (all, false),
                    },
                    CompareOp::Lt => match time.checked_sub(1) {
                        Some(last) => i64::MIN..=last,
                        None => return (all, false),
                    },
                };
                (times, true)
            }
            _ => (all, rewrite(filter, &|leaf| self.prune_leaf(leaf)).exact),
        }
    }

    fn time_compare(&self, test: &Compare) -> Option<Filter> {
        let Value::DateTime(time) = test.operand.value() else { return None };
        let start = self.start_of(time);
        // Times are whole milliseconds.
        let earliest = |op: CompareOp| if op == CompareOp::Gt { time.saturating_add(1) } else { time };
        let latest = |op: CompareOp| if op == CompareOp::Lt { time.saturating_sub(1) } else { time };
        let by_span = matches!(self.size, Size::Span(_));
        // Spans say enough: which readings of the buckets at the edges are meant is found by halving.
        let lower = |op: CompareOp| match by_span {
            true => date(field::START, CompareOp::Gte, self.start_of(earliest(op))),
            false => date(field::LAST, op, time),
        };
        let upper = |op: CompareOp| date(field::START, CompareOp::Lte, self.start_of(latest(op)));
        Some(match test.op {
            CompareOp::Gt | CompareOp::Gte => lower(test.op),
            CompareOp::Lt | CompareOp::Lte => upper(test.op),
            CompareOp::Eq if by_span => date(field::START, CompareOp::Eq, start),
            CompareOp::Eq => Filter::And(vec![lower(CompareOp::Gte), upper(CompareOp::Lte)]),
        })
    }

    fn time_in(&self, test: &Membership) -> Option<Filter> {
        let Size::Span(_) = self.size else { return None };
        // A date equals nothing but a date.
        let starts = test.values.iter().filter_map(|value| match value.value() {
            Value::DateTime(time) => Some(OwnedValue::new(Value::DateTime(self.start_of(time)))),
            _ => None,
        });
        Some(Filter::In(Membership::new(Path::parse(field::START), starts.collect(), Vec::new(), None)))
    }

    /// Meta fields first and then the time: buckets come in that order, and what is left to sort is what is
    /// equal under it. The time counts only with spans, which do not overlap.
    pub(crate) fn order(&self, fields: &[SortField]) -> StoredOrder {
        let mut order = Builder::new();
        for sort in fields {
            let direction = if sort.descending { -1 } else { 1 };
            if self.is_meta(first_of(&sort.path).as_bytes()) {
                order.append(format!("{}{}", field::META, below_first(&sort.path)), direction);
                continue;
            }
            if *sort.path == *self.time && matches!(self.size, Size::Span(_)) {
                order.append(field::START, direction);
            }
            break;
        }
        match order.is_empty() {
            true => StoredOrder::Any,
            false => StoredOrder::Groups(order.finish()),
        }
    }

    /// Whether a sort is by the time alone once readings of one meta value are looked at; and then, whether the latest
    /// come first.
    pub fn sorts_by_time(&self, fields: &[SortField]) -> Option<bool> {
        let (last, before) = fields.split_last()?;
        let are_meta = before.iter().all(|field| self.is_meta(first_of(&field.path).as_bytes()));
        (are_meta && *last.path == *self.time).then_some(last.descending)
    }

    /// The meta field and the time have their equals; what is in readings has none.
    /// Those of a time-series collection do: their bounds.
    pub(crate) fn index_key(&self, key: Doc<'_>) -> Option<DocBuf> {
        if self.is_series {
            return Some(self.series_index_key(key));
        }
        let mut stored = Builder::new();
        for part in key {
            let path = part.key_str();
            if self.is_meta(first_of(path).as_bytes()) && !path.ends_with("$**") {
                stored.append_bytes(format!("{}{}", field::META, below_first(path)).as_bytes(), part.kind, part.bytes);
            } else if path == &*self.time && part.kind != Kind::String {
                stored.append_bytes(field::START.as_bytes(), part.kind, part.bytes);
            } else {
                return None;
            }
        }
        Some(stored.finish())
    }
}

fn date(name: &str, op: CompareOp, time: i64) -> Filter {
    Filter::Compare(Compare::new(Path::parse(name), op, OwnedValue::new(Value::DateTime(time)), None))
}

/// A bucket has a number in a range only if its bounds allow it, or if its summary does not say all.
fn number_compare(test: &Compare) -> Option<Filter> {
    let operand = test.operand.value();
    if !operand.kind().is_number() || operand.as_f64().is_none_or(f64::is_nan) {
        return None;
    }
    let name = test.path.first();
    let at = |part: &str| Path::parse(&format!("{}.{name}.{part}", field::SUMMARY));
    let bound = |part: &str, op: CompareOp| Filter::Compare(Compare::new(at(part), op, test.operand.clone(), None));
    let within = match test.op {
        CompareOp::Gt | CompareOp::Gte => bound(field::MAX, test.op),
        CompareOp::Lt | CompareOp::Lte => bound(field::MIN, test.op),
        CompareOp::Eq => Filter::And(vec![bound(field::MIN, CompareOp::Lte), bound(field::MAX, CompareOp::Gte)]),
    };
    Some(Filter::Or(vec![within, Filter::Exists(at(field::MIXED))]))
}
