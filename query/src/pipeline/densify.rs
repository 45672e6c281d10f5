//! `$densify`: documents for the values that are missing in a sequence of numbers or dates.

use std::cmp::Ordering;
use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Error, OwnedValue, Result, Value, code, doc};

use super::nested_field::with_field;
use super::{Environment, Stream};
use crate::expression::date::arithmetic_unit::{Unit, Zone, add};
use crate::expression::field_path::{split_path, walk};
use crate::expression::number::Number;
use crate::expression::number_arithmetic;

/// The stage.
#[derive(Debug)]
pub struct Densify {
    field: Box<[Box<str>]>,
    partition_by: Vec<Box<[Box<str>]>>,
    step: OwnedValue,
    unit: Option<Unit>,
    bounds: Bounds,
}

#[derive(Debug)]
enum Bounds {
    /// From the least to the greatest value of all.
    Full,
    /// From the least to the greatest value of each partition.
    Partition,
    /// From a value to below another one.
    Explicit(OwnedValue, OwnedValue),
}

/// The most documents that the stage makes, MongoDB's `internalQueryMaxAllowedDensifyDocs`.
const MAX_GENERATED: usize = 500_000;
/// More documents than that.
const TOO_MANY_GENERATED: i32 = 5_897_900;

/// MongoDB's code for a null in place of an array.
const NO_ARRAY: i32 = 10_065;
/// MongoDB's code for a step that leads out of all dates.
const STEP_TOO_LONG: i32 = 5_976_500;

fn fail<T>(code: i32, message: &str) -> Result<T> {
    Err(Error::new(code, format!("$densify: {message}")))
}

/// Parses the stage.
///
/// # Errors
/// 9, 14, 10065, 40414, 40415, 57334xx, 5876900, 59468xx and 6586400 for malformed fields; those of paths.
pub(super) fn parse(argument: Value<'_>) -> Result<Densify> {
    let Value::Document(spec) = argument else {
        return fail(code::FAILED_TO_PARSE, "takes a document");
    };
    let (mut field, mut partition_by, mut range) = (None, Vec::new(), None);
    for element in spec {
        match (element.key, element.value()) {
            // A null is passed over, except in place of an array.
            (b"field" | b"range", Value::Null | Value::Undefined) => {}
            (b"partitionByFields", Value::Null | Value::Undefined) => {
                return fail(NO_ARRAY, "'partitionByFields' must be an array");
            }
            (b"field", Value::String(path)) => field = Some(split_path(path.as_str())?),
            (b"partitionByFields", Value::Array(paths)) => {
                for path in paths {
                    let path = match path.value() {
                        Value::String(path) => path,
                        Value::Null | Value::Undefined => continue,
                        _ => return fail(code::TYPE_MISMATCH, "'partitionByFields' must be strings"),
                    };
                    partition_by.push(split_path(path.as_str())?);
                }
            }
            (b"range", Value::Document(doc)) => range = Some(doc),
            (b"field" | b"partitionByFields" | b"range", _) => {
                return fail(code::TYPE_MISMATCH, &format!("'{}' has a wrong type", element.key_str()));
            }
            _ => return fail(40415, &format!("unknown field '{}'", element.key_str())),
        }
    }
    let (Some(field), Some(range)) = (field, range) else {
        return fail(40414, "needs 'field' and 'range'");
    };
    let (step, unit, bounds) = parse_range(range, !partition_by.is_empty())?;
    Ok(Densify { field, partition_by, step, unit, bounds })
}

fn parse_range(range: Doc<'_>, has_partitions: bool) -> Result<(OwnedValue, Option<Unit>, Bounds)> {
    let (mut step, mut unit, mut bounds) = (None, None, None);
    for element in range {
        match (element.key, element.value()) {
            (b"step" | b"unit", Value::Null | Value::Undefined) => {}
            (b"step", value) if value.kind().is_number() => step = Some(OwnedValue::new(value)),
            (b"unit", Value::String(name)) => match Unit::parse(name.as_str()) {
                Some(parsed) => unit = Some(parsed),
                None => return fail(code::FAILED_TO_PARSE, &format!("unknown time unit '{}'", name.as_str())),
            },
            (b"bounds", value) => bounds = Some(value),
            (b"step" | b"unit", _) => {
                return fail(code::TYPE_MISMATCH, &format!("'range.{}' has a wrong type", element.key_str()));
            }
            _ => return fail(40415, &format!("unknown field 'range.{}'", element.key_str())),
        }
    }
    let (Some(step), Some(bounds)) = (step, bounds) else {
        return fail(40414, "needs 'range.step' and 'range.bounds'");
    };
    if step.value().as_f64().is_none_or(|n| n.is_nan() || n <= 0.0) {
        return fail(5_733_401, "'range.step' must be positive");
    }
    if unit.is_some() && step.value().as_exact_i64().is_none() {
        return fail(6_586_400, "'range.step' must be an integer where there is a unit");
    }
    let bounds = match bounds {
        Value::String(word) => match word.as_str() {
            "full" => Bounds::Full,
            "partition" if has_partitions => Bounds::Partition,
            "partition" => return fail(5_733_408, "bounds by partition need 'partitionByFields'"),
            other => return fail(5_946_802, &format!("unknown bounds '{other}'")),
        },
        Value::Array(items) => {
            let ends: Vec<Value<'_>> = items.iter().map(|item| item.value()).collect();
            let [low, high] = ends[..] else {
                return fail(5_733_403, "bounds must be two values");
            };
            check_bounds(&low, &high, &step.value(), unit)?;
            Bounds::Explicit(OwnedValue::new(low), OwnedValue::new(high))
        }
        _ => return fail(5_733_404, "bounds must be a word or two values"),
    };
    Ok((step, unit, bounds))
}

fn check_bounds(low: &Value<'_>, high: &Value<'_>, step: &Value<'_>, unit: Option<Unit>) -> Result<()> {
    if bindery_document::order::compare(low, high) == Ordering::Greater {
        return fail(5_733_402, "bounds must ascend");
    }
    match low {
        Value::DateTime(_) if !matches!(high, Value::DateTime(_)) => fail(5_733_405, "bounds must both be dates"),
        Value::DateTime(_) if unit.is_none() => fail(5_733_410, "bounds of dates need a unit"),
        Value::DateTime(_) => Ok(()),
        _ if !low.kind().is_number() => fail(5_946_800, "bounds must be numbers or dates"),
        _ if unit.is_some() => fail(5_733_409, "bounds of numbers take no unit"),
        _ if !high.kind().is_number() => fail(5_733_406, "bounds must both be numbers"),
        _ if low.kind() != high.kind() || low.kind() != step.kind() => {
            fail(5_876_900, "bounds and step must be of one type")
        }
        _ => Ok(()),
    }
}

/// A document with what it is sorted by.
struct Row {
    partition: Vec<OwnedValue>,
    position: Option<OwnedValue>,
    document: DocBuf,
}

/// A partition and the next value that it should have.
struct Sequence {
    partition: Vec<OwnedValue>,
    next: OwnedValue,
    /// Whether it has neither met its first value nor made one.
    is_fresh: bool,
}

impl Densify {
    /// The paths that documents are ordered by, none of which is descending.
    pub(super) fn reads_in_order(&self) -> Vec<(String, bool)> {
        self.partition_by.iter().chain([&self.field]).map(|path| (path.join("."), false)).collect()
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(DensifyStream {
            stage: self,
            input: Some(input),
            env: env.clone(),
            rows: Vec::new().into_iter(),
            sequences: Vec::new(),
            range: None,
            pending: None,
            generated: 0,
            finished: None,
            is_done: false,
            current: None,
        })
    }

    fn compare_partitions(a: &[OwnedValue], b: &[OwnedValue], env: &Environment) -> Ordering {
        let scope = env.scope(doc::EMPTY);
        let mut orders = a.iter().zip(b).map(|(x, y)| scope.compare(&x.value(), &y.value()));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn check_position(&self, value: &Value<'_>) -> Result<()> {
        match (value, self.unit) {
            (Value::DateTime(_), Some(_)) => Ok(()),
            (Value::DateTime(_), None) => fail(6_053_600, "dates need a unit"),
            (number, unit) if number.kind().is_number() => match unit {
                None => Ok(()),
                Some(_) => fail(6_053_600, "numbers take no unit"),
            },
            (other, _) => {
                fail(5_733_201, &format!("the field must hold numbers or dates, not {}", other.kind().alias()))
            }
        }
    }

    /// Whether a value lies a whole number of steps from another one; steps of months and years are not told.
    fn is_on_step(&self, from: &Value<'_>, to: &Value<'_>) -> bool {
        let step = self.step.value();
        if let (Value::DateTime(from), Value::DateTime(to)) = (from, to) {
            let step_ms = self.unit.and_then(Unit::millis).zip(step.as_exact_i64());
            let step_ms = step_ms.and_then(|(unit_ms, n)| unit_ms.checked_mul(n)).filter(|ms| *ms > 0);
            return step_ms.is_some_and(|ms| (i128::from(*to) - i128::from(*from)) % i128::from(ms) == 0);
        }
        if let (Some(from), Some(to), Some(step)) = (from.as_exact_i64(), to.as_exact_i64(), step.as_exact_i64()) {
            return step != 0 && (i128::from(to) - i128::from(from)) % i128::from(step) == 0;
        }
        match (from.as_f64(), to.as_f64(), step.as_f64()) {
            (Some(from), Some(to), Some(step)) => (to - from) % step == 0.0,
            _ => false,
        }
    }

    /// The first value within given bounds if a document lies behind it: a step on from a step before the lower one. That
    /// is not always the same, since a month less than the 31st of December is the 30th of November.
    fn first_of(&self, low: &OwnedValue) -> Result<OwnedValue> {
        match (low.value(), self.unit) {
            (Value::DateTime(_), Some(unit)) if unit.months().is_some() => {
                let before = self.step_by(&low.value(), -self.step.value().as_exact_i64().unwrap_or(1))?;
                self.step_on(&before.value())
            }
            _ => Ok(low.clone()),
        }
    }

    /// The value one step on.
    fn step_on(&self, value: &Value<'_>) -> Result<OwnedValue> {
        self.step_by(value, self.step.value().as_exact_i64().unwrap_or(1))
    }

    /// A date a number of units on, a number one step on.
    fn step_by(&self, value: &Value<'_>, units: i64) -> Result<OwnedValue> {
        let stepped = match (value, self.unit) {
            (Value::DateTime(ms), Some(unit)) => add(*ms, unit, units, &Zone::UTC).map(Value::DateTime),
            _ => match (Number::of(value), Number::of(&self.step.value())) {
                (Some(a), Some(b)) => Some(number_arithmetic::add(a, b).into()),
                _ => None,
            },
        };
        match stepped {
            Some(value) => Ok(OwnedValue::new(value)),
            None if self.unit.is_some() => fail(STEP_TOO_LONG, "a step leads out of all dates"),
            None => fail(code::OVERFLOW, "a value is out of range"),
        }
    }

    fn generate(&self, partition: &[OwnedValue], value: &Value<'_>) -> Result<DocBuf> {
        let mut document = DocBuf::new();
        for (path, held) in self.partition_by.iter().zip(partition) {
            if path.first() == self.field.first() && path.iter().zip(&self.field).all(|(a, b)| a == b) {
                return fail(5_733_306, "the field is among those to partition by");
            }
            if !matches!(held.value(), Value::Undefined) {
                document = with_field(document.doc(), path, held.value());
            }
        }
        Ok(with_field(document.doc(), &self.field, *value))
    }
}

struct DensifyStream {
    stage: Arc<Densify>,
    input: Option<Box<dyn Stream>>,
    env: Environment,
    rows: std::vec::IntoIter<Row>,
    sequences: Vec<Sequence>,
    /// The least and the greatest value of all.
    range: Option<(OwnedValue, OwnedValue)>,
    /// A row whose gap is being filled, and its sequence.
    pending: Option<(usize, Row)>,
    /// How many documents were made.
    generated: usize,
    /// The sequence whose end is worked on, once all documents were read.
    finished: Option<usize>,
    /// Whether the documents that are left are given as they are.
    is_done: bool,
    current: Option<DocBuf>,
}

impl DensifyStream {
    fn fill(&mut self, mut input: Box<dyn Stream>) -> Result<()> {
        let stage = &*self.stage;
        let (mut rows, mut used_bytes) = (Vec::new(), 0);
        while input.advance()? {
            let document = input.current();
            used_bytes += document.as_bytes().len() + size_of::<Row>();
            self.env.check_memory("$densify", used_bytes)?;
            let read = |path: &[Box<str>]| walk(Value::Document(document), path);
            let partition: Vec<OwnedValue> = (stage.partition_by.iter())
                .map(|path| read(path).to_owned_value().unwrap_or_else(|| OwnedValue::new(Value::Undefined)))
                .collect();
            let position = read(&stage.field).to_owned_value().filter(|v| !matches!(v.value(), Value::Null));
            rows.push(Row { partition, position, document: DocBuf::from(document) });
            self.env.check_interrupt()?;
        }
        let scope = self.env.scope(doc::EMPTY);
        let by_partition = !matches!(stage.bounds, Bounds::Full);
        rows.sort_by(|a, b| {
            let position = |row: &Row| row.position.clone().unwrap_or_else(|| OwnedValue::new(Value::Null));
            let partitions = if by_partition {
                Densify::compare_partitions(&a.partition, &b.partition, &self.env)
            } else {
                Ordering::Equal
            };
            partitions.then_with(|| scope.compare(&position(a).value(), &position(b).value()))
        });
        let mut positions: Vec<&OwnedValue> = rows.iter().filter_map(|row| row.position.as_ref()).collect();
        positions.sort_by(|a, b| scope.compare(&a.value(), &b.value()));
        if let (Some(least), Some(greatest)) = (positions.first(), positions.last()) {
            self.range = Some(((*least).clone(), (*greatest).clone()));
        }
        let has_positions = rows.iter().any(|row| row.position.is_some());
        if let Bounds::Explicit(low, _) = &stage.bounds
            && (stage.partition_by.is_empty() || !has_positions)
        {
            // Without partitions the bounds are filled even if there are no documents.
            self.sequences.push(Sequence { partition: Vec::new(), next: low.clone(), is_fresh: true });
        }
        self.rows = rows.into_iter();
        Ok(())
    }

    /// Whether a value that is not there is to be made.
    fn is_wanted(&self, value: &Value<'_>) -> bool {
        let scope = self.env.scope(doc::EMPTY);
        match &self.stage.bounds {
            Bounds::Partition => true,
            Bounds::Full => {
                self.range.as_ref().is_some_and(|(_, greatest)| scope.compare(value, &greatest.value()).is_le())
            }
            Bounds::Explicit(low, high) => {
                let below = scope.compare(value, &high.value());
                // Equal bounds stand for the one value.
                below.is_lt() || below.is_eq() && scope.compare(&low.value(), &high.value()).is_eq()
            }
        }
    }

    /// Looks up where a row's sequence has come to, and leaves the row to [`DensifyStream::before`].
    fn take(&mut self, row: Row) -> Result<()> {
        let position = match &row.position {
            Some(position) if !self.is_done => position,
            _ => {
                self.current = Some(row.document);
                return Ok(());
            }
        };
        self.stage.check_position(&position.value())?;
        let env = self.env.clone();
        let same = |sequence: &Sequence| Densify::compare_partitions(&sequence.partition, &row.partition, &env).is_eq();
        let place = match self.sequences.iter().position(same) {
            Some(place) => place,
            None => {
                let next = match (&self.stage.bounds, &self.range) {
                    (Bounds::Full, Some((least, _))) => least.clone(),
                    (Bounds::Explicit(low, _), _) => low.clone(),
                    _ => position.clone(),
                };
                self.sequences.push(Sequence { partition: row.partition.clone(), next, is_fresh: true });
                self.sequences.len() - 1
            }
        };
        self.is_done = self.is_last_to_look_at(place, &position.value());
        self.pending = Some((place, row));
        Ok(())
    }

    /// Whether nothing behind a value is looked at any more, not even whether it is of a sound type: MongoDB is done with
    /// given bounds when it has reached the upper one, or with a value beyond it that lies a number of steps from the
    /// lower one.
    fn is_last_to_look_at(&self, place: usize, position: &Value<'_>) -> bool {
        let (Bounds::Explicit(low, high), true) = (&self.stage.bounds, self.stage.partition_by.is_empty()) else {
            return false;
        };
        let Some(sequence) = self.sequences.get(place) else {
            return false;
        };
        let scope = self.env.scope(doc::EMPTY);
        let (low, high) = (low.value(), high.value());
        match scope.compare(position, &high) {
            Ordering::Less => false,
            order if scope.compare(&low, &high).is_eq() => order.is_gt(),
            _ => !self.is_wanted(&sequence.next.value()) || self.stage.is_on_step(&low, position),
        }
    }

    /// The next document of the gap before a row of the input, or the row itself once the gap is filled.
    fn before(&mut self, place: usize, row: Row) -> Result<DocBuf> {
        let env = self.env.clone();
        let scope = env.scope(doc::EMPTY);
        if let (Some(sequence), Some(position)) = (self.sequences.get(place), &row.position) {
            let mut next = sequence.next.clone();
            let order = scope.compare(&next.value(), &position.value());
            if order.is_lt() && sequence.is_fresh && matches!(self.stage.bounds, Bounds::Explicit(..)) {
                next = self.stage.first_of(&next)?;
            }
            match order {
                Ordering::Less if self.is_wanted(&next.value()) => {
                    let made = self.generate(&row.partition, &next.value())?;
                    self.move_on(place, &next.value())?;
                    self.pending = Some((place, row));
                    return Ok(made);
                }
                Ordering::Equal => self.move_on(place, &position.value())?,
                Ordering::Greater if sequence.is_fresh && self.stage.partition_by.is_empty() => {
                    // Without partitions, the first value is made out of one that lies before the bounds, too.
                    let first = self.stage.first_of(&next)?;
                    if let (Bounds::Explicit(..), Some(sequence)) = (&self.stage.bounds, self.sequences.get_mut(place))
                    {
                        (sequence.next, sequence.is_fresh) = (first, false);
                    }
                }
                _ => {}
            }
        }
        Ok(row.document)
    }

    fn generate(&mut self, partition: &[OwnedValue], value: &Value<'_>) -> Result<DocBuf> {
        self.generated += 1;
        if self.generated > MAX_GENERATED {
            return fail(TOO_MANY_GENERATED, &format!("it makes at most {MAX_GENERATED} documents"));
        }
        self.env.check_interrupt()?;
        self.stage.generate(partition, value)
    }

    fn move_on(&mut self, place: usize, from: &Value<'_>) -> Result<()> {
        let next = self.stage.step_on(from)?;
        if let Some(sequence) = self.sequences.get_mut(place) {
            sequence.next = next;
            sequence.is_fresh = false;
        }
        Ok(())
    }

    /// Makes the next document behind the last one of a sequence.
    fn finish(&mut self) -> Result<bool> {
        if matches!(self.stage.bounds, Bounds::Partition) {
            return Ok(false);
        }
        let mut place = self.finished.unwrap_or(0);
        while let Some(sequence) = self.sequences.get(place) {
            let next = sequence.next.clone();
            if self.is_wanted(&next.value()) {
                let partition = sequence.partition.clone();
                self.current = Some(self.generate(&partition, &next.value())?);
                self.move_on(place, &next.value())?;
                self.finished = Some(place);
                return Ok(true);
            }
            place += 1;
        }
        self.finished = Some(place);
        Ok(false)
    }
}

impl Stream for DensifyStream {
    fn advance(&mut self) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.fill(input)?;
        }
        self.current = None;
        while self.current.is_none() {
            match self.pending.take() {
                Some((place, row)) => self.current = Some(self.before(place, row)?),
                None => match self.rows.next() {
                    Some(row) => self.take(row)?,
                    None => return self.finish(),
                },
            }
        }
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }
}
