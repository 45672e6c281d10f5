//! The functions over windows, by name.

use bindery_document::{Error, OwnedValue, Result, Value, code};

use super::follow::{Follow, follow};
use super::moving::{self, Moving};
use super::sliding::Sliding;
use super::window::Window;
use super::{Partition, malformed};
use crate::filter::ParseContext;
use crate::pipeline::group::Accumulator;
use crate::pipeline::group::accumulator::{self, AccumulatorKind};

/// A value for each document; `None` where there is none, so that the field goes.
pub(super) type Column = Vec<Option<OwnedValue>>;

/// What the stage's order allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Whether there is an order.
    pub(super) has_order: bool,
    /// If the order has one path: whether it is descending.
    pub(super) sort: Option<bool>,
}

/// A compiled function.
#[derive(Debug)]
pub(super) enum Function {
    /// An accumulator over a window.
    Accumulate(Box<Accumulator>, Window),
    Rank,
    DenseRank,
    DocumentNumber,
    /// Those that look at single documents or at pairs of numbers.
    Moving(Box<Moving>),
}

/// Parses `{$function: argument, window: ..}`.
pub(super) fn parse(value: Value<'_>, place: Place, context: &mut ParseContext) -> Result<Function> {
    let Value::Document(spec) = value else {
        return malformed("an output must be a function in a document");
    };
    let (mut function, mut window) = (None, None);
    if let Some(first) = spec.first().filter(|first| matches!(first.key, b"$rank" | b"$denseRank" | b"$documentNumber"))
        && spec.count() > 1
    {
        return Err(Error::new(5_371_601, format!("{} takes no window and nothing else", first.key_str())));
    }
    for element in spec {
        match element.key {
            b"window" => window = Some(element.value()),
            key if key.first() == Some(&b'$') => {
                if function.is_some() {
                    return malformed("an output has one function");
                }
                function = Some((element.key_str(), element.value()));
            }
            _ => return malformed(format!("an output does not know '{}'", element.key_str())),
        }
    }
    let Some((name, argument)) = function else {
        return malformed("an output needs a function");
    };
    match name {
        "$rank" | "$denseRank" | "$documentNumber" => {
            if !matches!(argument, Value::Document(doc) if doc.is_empty()) {
                return Err(Error::new(5_371_603, format!("{name} takes an empty document")));
            }
            if window.is_some() {
                return Err(Error::new(5_371_601, format!("{name} takes no window")));
            }
            if place.sort.is_none() {
                return Err(Error::new(5_371_602, format!("{name} needs 'sortBy' with one path")));
            }
            Ok(match name {
                "$rank" => Function::Rank,
                "$denseRank" => Function::DenseRank,
                _ => Function::DocumentNumber,
            })
        }
        "$shift" | "$derivative" | "$integral" | "$expMovingAvg" | "$covariancePop" | "$covarianceSamp" | "$locf"
        | "$linearFill" => {
            let moving = moving::parse(name, argument, window, place, context)?;
            Ok(Function::Moving(Box::new(moving)))
        }
        _ => {
            let kind = match accumulator::find(name) {
                Some(kind) if kind != AccumulatorKind::MergeObjects => kind,
                _ => return malformed(format!("unknown window function '{name}'")),
            };
            let window = match window {
                None => Window::WHOLE,
                Some(window) => Window::parse(window, place.has_order, place.sort, context)?,
            };
            // Unlike in a group, an array is an expression here.
            let accumulator = match argument {
                Value::Array(_) => accumulator::parse_expression(kind, argument, context)?,
                _ => accumulator::parse(name, kind, argument, context)?,
            };
            let accumulator = if window.starts_at_first() { accumulator } else { accumulator.sliding() };
            Ok(Function::Accumulate(Box::new(accumulator), window))
        }
    }
}

impl Function {
    pub(super) fn fold(&mut self) -> Result<()> {
        match self {
            Function::Accumulate(accumulator, _) => accumulator.fold(),
            Function::Moving(moving) => moving.fold(),
            _ => Ok(()),
        }
    }

    /// How many documents beyond one it looks at.
    pub(super) fn reach(&self) -> usize {
        match self {
            Function::Accumulate(_, window) => window.reach(),
            Function::Moving(moving) => moving.reach(),
            Function::Rank | Function::DenseRank | Function::DocumentNumber => 0,
        }
    }

    /// The first document of a partition whose value takes a look at what lies behind the partition. That of the last
    /// document always does.
    pub(super) fn first_to_look_beyond(&self, partition: &Partition<'_>) -> usize {
        if let Function::Accumulate(_, window) = self
            && let Some(first) = window.first_to_reach_the_end(partition)
        {
            return first;
        }
        partition.len().saturating_sub(self.reach().max(1))
    }

    /// Whether it has a window that cannot be said for a document.
    pub(super) fn window_fails(&self, partition: &Partition<'_>, index: usize) -> bool {
        match self {
            Function::Accumulate(_, window) => index < partition.len() && window.of(partition, index).is_err(),
            _ => false,
        }
    }

    /// Whether it goes to the end of its window before it evaluates anything.
    pub(super) fn reads_before_it_evaluates(&self) -> bool {
        match self {
            Function::Accumulate(accumulator, window) => {
                let is_end = matches!(accumulator.kind(), AccumulatorKind::First | AccumulatorKind::Last);
                window.ends_at_a_value() || is_end && window.reach() > 0
            }
            _ => false,
        }
    }

    /// Appends the function's value for each document of a partition. After a failure there are values for those
    /// documents that were given before it.
    pub(super) fn evaluate(&self, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
        match self {
            Function::Accumulate(accumulator, window) => return accumulate(accumulator, window, partition, values),
            Function::Rank => *values = ranks(partition, |index, _| index + 1),
            Function::DenseRank => *values = ranks(partition, |_, groups| groups + 1),
            Function::DocumentNumber => values.extend((1..=partition.len()).map(|n| Some(count(n)))),
            Function::Moving(moving) => return moving.evaluate(partition, values),
        }
        Ok(())
    }
}

fn count(n: usize) -> OwnedValue {
    OwnedValue::new(crate::pipeline::count::count_value(n as u64))
}

/// A number for each run of equal sort keys, made of the run's first index and of the number of runs before.
fn ranks(partition: &Partition<'_>, rank: fn(usize, usize) -> usize) -> Vec<Option<OwnedValue>> {
    let mut ranks = Vec::with_capacity(partition.len());
    let (mut first, mut groups) = (0, 0);
    for (index, key) in partition.keys.iter().enumerate() {
        if index > 0 && partition.keys.get(index - 1) != Some(key) {
            first = index;
            groups += 1;
        }
        ranks.push(Some(count(rank(first, groups))));
    }
    ranks
}

fn accumulate(
    accumulator: &Accumulator,
    window: &Window,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    if let AccumulatorKind::First | AccumulatorKind::Last = accumulator.kind() {
        return ends(accumulator, window, partition, values);
    }
    if !window.starts_at_first()
        && let Some(state) = Sliding::of(accumulator.kind())
    {
        return follow(SlidingAccumulator { accumulator, state }, window, partition, values);
    }
    let env = partition.env;
    let begin = || -> Result<_> {
        let mut state = accumulator.state();
        accumulator.begin(&mut state, &env.scope(bindery_document::doc::EMPTY))?;
        Ok(state)
    };
    let (mut state, mut taken) = (begin()?, 0..0);
    for index in 0..partition.len() {
        let range = window.of(partition, index)?;
        if !window.starts_at_first() || range.end < taken.end || index == 0 {
            if index > 0 && range == taken {
                // The same documents as before.
                let last = values.last().cloned().flatten();
                values.push(last);
                continue;
            }
            state = begin()?;
            taken = range.start..range.start;
        } else if range == taken {
            let last = values.last().cloned().flatten();
            values.push(last);
            continue;
        }
        for other in taken.end.max(range.start)..range.end {
            accumulator.add(&mut state, &env.scope(partition.document(other)))?;
        }
        taken = range;
        let value = if state.gave_missing() { None } else { accumulator.finish(state.clone()).to_owned_value() };
        values.push(value);
        env.check_interrupt()?;
    }
    Ok(())
}

/// An accumulator from whose state values can be taken.
struct SlidingAccumulator<'a> {
    accumulator: &'a Accumulator,
    state: Sliding,
}

impl Follow for SlidingAccumulator<'_> {
    type Entry = Option<OwnedValue>;

    fn read(&self, partition: &Partition<'_>, index: usize) -> Result<Self::Entry> {
        self.accumulator.value_of(&partition.env.scope(partition.document(index)))
    }

    fn add(&mut self, _: Option<&Self::Entry>, newest: &Self::Entry) {
        self.state.add(newest.as_ref());
    }

    fn remove(&mut self, oldest: &Self::Entry, _: Option<&Self::Entry>) {
        self.state.remove(oldest.as_ref());
    }

    fn value(&mut self) -> OwnedValue {
        self.state.value()
    }
}

/// The first or last value of each window. Only that one is evaluated.
fn ends(accumulator: &Accumulator, window: &Window, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
    for index in 0..partition.len() {
        let mut range = window.of(partition, index)?;
        let end = if accumulator.kind() == AccumulatorKind::First { range.next() } else { range.next_back() };
        values.push(match end {
            None => Some(OwnedValue::new(Value::Null)),
            Some(end) => accumulator.value_of(&partition.env.scope(partition.document(end)))?,
        });
    }
    Ok(())
}

/// An error of a function's argument.
pub(super) fn wrong_argument<T>(name: &str, what: &str) -> Result<T> {
    Err(Error::new(code::FAILED_TO_PARSE, format!("{name} {what}")))
}
