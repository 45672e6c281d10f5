//! What buckets answer without their readings: counts and rollups of whole buckets.

use std::collections::BTreeMap;
use std::ops::Range;

use bindery_document::{Builder, Doc, DocBuf, OwnedValue, Path, Value, order};
use bindery_query::filter::{Compare, Filter};

use super::{Bucket, Header, Readings, Summary, field};
use crate::prune::{below_first, moved};

impl Bucket {
    /// Whether every reading of a stored bucket is known to match a filter.
    pub fn covers(&self, filter: &Filter, stored: Doc<'_>, header: &Header<'_>) -> bool {
        match filter {
            Filter::AlwaysTrue => true,
            Filter::And(parts) => parts.iter().all(|part| self.covers(part, stored, header)),
            Filter::Or(parts) => parts.iter().any(|part| self.covers(part, stored, header)),
            Filter::Compare(test) if test.path.is_top_level() && self.is_time(test.path.first().as_bytes()) => {
                covers_times(test, header)
            }
            _ => match filter.path() {
                Some(path) if self.is_meta(path.first().as_bytes()) => {
                    let below = format!("{}{}", field::META, below_first(path.as_str()));
                    moved(filter, Path::parse(&below)).is_some_and(|filter| filter.matches(stored).unwrap_or(false))
                }
                _ => false,
            },
        }
    }

    /// Reads the argument of a `$group` that summaries can answer: `_id` null or the meta field; `$min`, `$max`,
    /// `$sum` and `$avg` of summed-up fields, `$sum: 1` and `$count`.
    pub fn rollup(&self, group: Doc<'_>) -> Option<Rollup> {
        let mut rollup = Rollup { by_meta: false, fields: Vec::new() };
        let mut has_id = false;
        for part in group {
            if part.key == b"_id" {
                has_id = true;
                rollup.by_meta = match part.value() {
                    Value::Null => false,
                    Value::String(path) if self.is_meta(path.as_str().strip_prefix('$')?.as_bytes()) => true,
                    _ => return None,
                };
                continue;
            }
            let Value::Document(accumulator) = part.value() else { return None };
            let mut operators = accumulator.iter();
            let (Some(operator), None) = (operators.next(), operators.next()) else { return None };
            rollup.fields.push((part.key_str().into(), self.wanted(operator.key_str(), operator.value())?));
        }
        has_id.then_some(rollup)
    }

    fn wanted(&self, operator: &str, argument: Value<'_>) -> Option<Wanted> {
        match (operator, argument) {
            ("$sum", Value::Int32(1)) => Some(Wanted::Count),
            ("$count", Value::Document(empty)) if empty.is_empty() => Some(Wanted::Count),
            (_, Value::String(path)) => {
                let field = path.as_str().strip_prefix('$')?;
                if field.is_empty() || field.contains(['.', '$']) || !self.is_summarized(field.as_bytes()) {
                    return None;
                }
                match operator {
                    "$min" => Some(Wanted::Min(field.into())),
                    "$max" => Some(Wanted::Max(field.into())),
                    "$sum" => Some(Wanted::Sum(field.into())),
                    "$avg" => Some(Wanted::Avg(field.into())),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The times of a bucket all pass if its first and last do: what they are compared with bounds an interval.
fn covers_times(test: &Compare, header: &Header<'_>) -> bool {
    let operand = test.operand.value();
    let passes = |time: i64| test.op.accepts(order::compare(&Value::DateTime(time), &operand));
    matches!(operand, Value::DateTime(_)) && passes(header.first) && passes(header.last)
}

/// A `$group` that is answered from summaries.
#[derive(Debug)]
pub struct Rollup {
    by_meta: bool,
    fields: Vec<(Box<str>, Wanted)>,
}

#[derive(Debug)]
enum Wanted {
    Count,
    Min(Box<str>),
    Max(Box<str>),
    Sum(Box<str>),
    Avg(Box<str>),
}

impl Wanted {
    fn field(&self) -> Option<&str> {
        match self {
            Wanted::Count => None,
            Wanted::Min(field) | Wanted::Max(field) | Wanted::Sum(field) | Wanted::Avg(field) => Some(field),
        }
    }
}

/// What came of adding readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// They are in.
    All,
    /// They cannot be added so; nothing was.
    Nothing,
    /// There is something among them that only the general way can add.
    Untold,
}

/// The groups of a rollup while it runs.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    by_key: BTreeMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct Group {
    id: OwnedValue,
    count: i64,
    /// One for each field of the rollup.
    summaries: Vec<Summary>,
}

impl Rollup {
    /// Whether groups are those of meta values.
    pub fn is_by_meta(&self) -> bool {
        self.by_meta
    }

    /// Whether a bucket's summaries say all that is asked.
    pub fn is_told_by(&self, header: &Header<'_>) -> bool {
        let mut fields = self.fields.iter().filter_map(|(_, wanted)| wanted.field());
        fields.all(|field| header.summary(field).is_none_or(|summary| !summary.mixed))
    }

    /// Adds a whole bucket. The key tells groups apart: equal for equal meta values.
    pub fn add_bucket(&self, groups: &mut Groups, key: &[u8], header: &Header<'_>) {
        let group = self.group(groups, key, header);
        group.count += i64::from(header.count);
        for ((_, wanted), state) in self.fields.iter().zip(&mut group.summaries) {
            if let Some(summary) = wanted.field().and_then(|field| header.summary(field)) {
                state.merge(&summary);
            }
        }
    }

    /// Adds one reading of a bucket; false if it holds what only the general way can add.
    pub fn add_reading(&self, groups: &mut Groups, key: &[u8], header: &Header<'_>, reading: Doc<'_>) -> bool {
        let group = self.group(groups, key, header);
        group.count += 1;
        for ((_, wanted), state) in self.fields.iter().zip(&mut group.summaries) {
            if let Some(value) = wanted.field().and_then(|field| reading.get(field)) {
                state.add(&value);
            }
        }
        group.summaries.iter().all(|summary| !summary.mixed)
    }

    /// Adds the readings at these places, of a bucket that has them in columns.
    pub fn add_columns(
        &self,
        groups: &mut Groups,
        key: &[u8],
        header: &Header<'_>,
        readings: &Readings<'_>,
        places: Range<u32>,
    ) -> Added {
        let mut fields = self.fields.iter().filter_map(|(_, wanted)| wanted.field());
        if !fields.all(|field| !readings.has(field) || readings.numbers(field, 0..0).is_some()) {
            return Added::Nothing;
        }
        if places.is_empty() {
            return Added::All;
        }
        let group = self.group(groups, key, header);
        group.count += i64::from(places.end.saturating_sub(places.start));
        for ((_, wanted), state) in self.fields.iter().zip(&mut group.summaries) {
            let numbers = wanted.field().and_then(|field| readings.numbers(field, places.clone()));
            numbers.into_iter().flatten().for_each(|number| state.add(&number));
        }
        match group.summaries.iter().all(|summary| !summary.mixed) {
            true => Added::All,
            false => Added::Untold,
        }
    }

    fn group<'g>(&self, groups: &'g mut Groups, key: &[u8], header: &Header<'_>) -> &'g mut Group {
        let at = match groups.by_key.get(key) {
            Some(at) => *at,
            None => {
                let id = match (self.by_meta, &header.meta) {
                    (true, Some(meta)) => OwnedValue::new(meta.value()),
                    _ => OwnedValue::new(Value::Null),
                };
                let summaries = vec![Summary::default(); self.fields.len()];
                groups.groups.push(Group { id, count: 0, summaries });
                groups.by_key.insert(key.to_vec(), groups.groups.len() - 1);
                groups.groups.len() - 1
            }
        };
        &mut groups.groups[at]
    }

    /// The groups as documents; `None` if a sum is not one that summaries can tell.
    pub fn finish(&self, groups: &Groups) -> Option<Vec<DocBuf>> {
        groups.groups.iter().map(|group| self.document(group)).collect()
    }

    fn document(&self, group: &Group) -> Option<DocBuf> {
        let mut out = Builder::new();
        out.append("_id", group.id.value());
        for ((name, wanted), summary) in self.fields.iter().zip(&group.summaries) {
            let value = match wanted {
                Wanted::Count => match i32::try_from(group.count) {
                    Ok(small) => Value::Int32(small),
                    Err(_) => Value::Int64(group.count),
                },
                Wanted::Min(_) => summary.min.unwrap_or(Value::Null),
                Wanted::Max(_) => summary.max.unwrap_or(Value::Null),
                Wanted::Sum(_) => summary.total()?,
                Wanted::Avg(_) => summary.average()?,
            };
            out.append(&**name, value);
        }
        Some(out.finish())
    }
}
