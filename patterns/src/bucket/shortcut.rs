//! What buckets answer without their readings: counts and rollups of whole buckets.

use std::collections::BTreeMap;
use std::ops::Range;

use bindery_document::{Builder, Doc, DocBuf, Element, OwnedValue, Path, Value, order};
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

    /// Reads the argument of a `$group` that summaries can answer: `_id` null, the meta field or a field below it, the
    /// time cut to a span (`$dateTrunc`), or a document of them; `$min`, `$max`, `$sum` and `$avg` of summed-up
    /// fields, `$sum: 1` and `$count`.
    pub fn rollup(&self, group: Doc<'_>) -> Option<Rollup> {
        let mut rollup = Rollup { id: Id::Null, fields: Vec::new() };
        let mut has_id = false;
        for part in group {
            if part.key == b"_id" {
                has_id = true;
                rollup.id = self.id(part.value())?;
                if rollup.id.spans().count() > 1 {
                    return None;
                }
                continue;
            }
            let Value::Document(accumulator) = part.value() else { return None };
            let mut operators = accumulator.iter();
            let (Some(operator), None) = (operators.next(), operators.next()) else { return None };
            rollup.fields.push((part.key_str().into(), self.wanted(operator.key_str(), operator.value())?));
        }
        has_id.then_some(rollup)
    }

    /// What groups are told apart by.
    fn id(&self, value: Value<'_>) -> Option<Id> {
        match value {
            Value::Null => Some(Id::Null),
            Value::String(path) => {
                let mut names = path.as_str().strip_prefix('$')?.split('.');
                let is_meta = names.next().is_some_and(|first| self.is_meta(first.as_bytes()));
                is_meta.then(|| Id::Meta(names.map(Into::into).collect()))
            }
            Value::Document(doc) if doc.first().is_some_and(|first| first.key == b"$dateTrunc") => {
                let argument = doc.first().filter(|_| doc.count() == 1)?.value().as_document()?;
                self.cut(argument)
            }
            Value::Document(doc) => {
                let field = |element: Element<'_>| {
                    let name = element.key_str();
                    let is_plain = !name.is_empty() && !name.contains(['$', '.']);
                    is_plain.then(|| Some((name.into(), self.id(element.value())?))).flatten()
                };
                Some(Id::Document(doc.iter().map(field).collect::<Option<Vec<_>>>()?))
            }
            _ => None,
        }
    }

    /// The argument of a `$dateTrunc` of the time, in UTC and by a unit that always takes as long.
    fn cut(&self, argument: Doc<'_>) -> Option<Id> {
        let (mut is_time, mut unit, mut size) = (false, None, 1);
        for part in argument {
            match (part.key, part.value()) {
                (b"date", Value::String(path)) => is_time = path.as_str().strip_prefix('$')? == &*self.time,
                (b"unit", Value::String(name)) => {
                    unit = Some(match name.as_str() {
                        "second" => 1_000,
                        "minute" => 60_000,
                        "hour" => 3_600_000,
                        "day" => 86_400_000,
                        _ => return None,
                    });
                }
                (b"binSize", value) => size = value.as_exact_i64().filter(|size| (1..=1_000_000).contains(size))?,
                _ => return None,
            }
        }
        unit.filter(|_| is_time).map(|unit: i64| Id::Time(unit * size))
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
    id: Id,
    fields: Vec<(Box<str>, Wanted)>,
}

/// What groups are told apart by.
#[derive(Debug)]
enum Id {
    Null,
    /// The meta field, or what these names lead to in it.
    Meta(Vec<Box<str>>),
    /// The time cut to spans of so many milliseconds.
    Time(i64),
    Document(Vec<(Box<str>, Id)>),
}

/// What `$dateTrunc` counts spans from: the begin of the year 2000.
const CUT_FROM: i64 = 946_684_800_000;

impl Id {
    /// The spans of time in it.
    fn spans(&self) -> Box<dyn Iterator<Item = i64> + '_> {
        match self {
            Id::Null | Id::Meta(_) => Box::new(std::iter::empty()),
            Id::Time(span) => Box::new(std::iter::once(*span)),
            Id::Document(fields) => Box::new(fields.iter().flat_map(|(_, id)| id.spans())),
        }
    }

    /// Its value for a reading of a bucket: `Ok(None)` if it is missing, an error if it leads through an array.
    fn value(&self, header: &Header<'_>, time: i64) -> Result<Option<OwnedValue>, ThroughArray> {
        match self {
            Id::Null => Ok(Some(OwnedValue::new(Value::Null))),
            Id::Time(span) => Ok(Some(OwnedValue::new(Value::DateTime(cut(time, *span))))),
            Id::Meta(names) => {
                let mut value = header.meta.map(|meta| meta.value());
                for name in names {
                    value = match value {
                        Some(Value::Document(doc)) => doc.get(name),
                        Some(Value::Array(_)) => return Err(ThroughArray),
                        _ => None,
                    };
                }
                Ok(value.map(OwnedValue::new))
            }
            Id::Document(fields) => {
                let mut out = Builder::new();
                for (name, id) in fields {
                    if let Some(value) = id.value(header, time)? {
                        out.append(&**name, value.value());
                    }
                }
                Ok(Some(OwnedValue::new(Value::Document(out.finish().doc()))))
            }
        }
    }
}

/// A path leads through an array, whose elements summaries know nothing of.
#[derive(Clone, Copy, Debug)]
pub struct ThroughArray;

/// The begin of the span that a time lies in.
fn cut(time: i64, span: i64) -> i64 {
    let since = time.saturating_sub(CUT_FROM);
    time.saturating_sub(since.rem_euclid(span))
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
    /// The group of a bucket's readings at a time.
    ///
    /// # Errors
    /// [`ThroughArray`] if only the general way can tell.
    pub fn id(&self, header: &Header<'_>, time: i64) -> Result<OwnedValue, ThroughArray> {
        Ok(self.id.value(header, time)?.unwrap_or_else(|| OwnedValue::new(Value::Null)))
    }

    /// Whether all readings between two times are in one group, as far as the time says.
    pub fn is_one_group(&self, first: i64, last: i64) -> bool {
        self.id.spans().all(|span| cut(first, span) == cut(last, span))
    }

    /// The readings at these places of a bucket's columns, group by group, each with a time in it.
    pub fn pieces(&self, readings: &Readings<'_>, places: Range<u32>) -> Vec<(i64, Range<u32>)> {
        let mut pieces = Vec::new();
        let mut from = places.start;
        while from < places.end {
            let Some(time) = readings.time_at(from) else { break };
            let last = self.id.spans().map(|span| cut(time, span).saturating_add(span - 1)).min();
            let to =
                last.map_or(places.end, |last| readings.ordered(&(i64::MIN..=last)).end.clamp(from + 1, places.end));
            pieces.push((time, from..to));
            from = to;
        }
        pieces
    }

    /// Whether a bucket's summaries say all that is asked.
    pub fn is_told_by(&self, header: &Header<'_>) -> bool {
        let mut fields = self.fields.iter().filter_map(|(_, wanted)| wanted.field());
        fields.all(|field| header.summary(field).is_none_or(|summary| !summary.mixed))
    }

    /// Adds a whole bucket. The key tells groups apart: equal for equal ids.
    pub fn add_bucket(&self, groups: &mut Groups, key: &[u8], id: &OwnedValue, header: &Header<'_>) {
        let group = self.group(groups, key, id);
        group.count += i64::from(header.count);
        for ((_, wanted), state) in self.fields.iter().zip(&mut group.summaries) {
            if let Some(summary) = wanted.field().and_then(|field| header.summary(field)) {
                state.merge(&summary);
            }
        }
    }

    /// Adds one reading of a bucket; false if it holds what only the general way can add.
    pub fn add_reading(&self, groups: &mut Groups, key: &[u8], id: &OwnedValue, reading: Doc<'_>) -> bool {
        let group = self.group(groups, key, id);
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
        id: &OwnedValue,
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
        let group = self.group(groups, key, id);
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

    fn group<'g>(&self, groups: &'g mut Groups, key: &[u8], id: &OwnedValue) -> &'g mut Group {
        let at = match groups.by_key.get(key) {
            Some(at) => *at,
            None => {
                let summaries = vec![Summary::default(); self.fields.len()];
                groups.groups.push(Group { id: id.clone(), count: 0, summaries });
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
