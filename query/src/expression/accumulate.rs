//! The accumulators that are expressions as well: `$sum`, `$avg`, `$min`, `$max`, `$stdDevPop`, `$stdDevSamp`.
//!
//! A single operand that is an array stands for its elements; among several operands an array is one
//! value. What an accumulator does not count (strings in a sum, nulls in a maximum) it passes over.

use std::cmp::Ordering;

use bindery_document::{Result, Value};

use super::registry::{Arity, Entry, Folding};
use super::summation::Summation;
use super::{Node, Scope, Val};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$sum", Arity::Any, sum).folding(Folding::Whole),
    Entry::variadic("$avg", Arity::Any, avg),
    Entry::variadic("$min", Arity::Any, min).folding(Folding::CommutativeSeveral),
    Entry::variadic("$max", Arity::Any, max).folding(Folding::CommutativeSeveral),
    Entry::variadic("$stdDevPop", Arity::Any, std_dev_pop),
    Entry::variadic("$stdDevSamp", Arity::Any, std_dev_samp),
];

/// Calls `each` with every value that the operands stand for.
fn for_each<'a>(scope: &Scope<'a>, operands: &'a [Node], mut each: impl FnMut(&Value<'_>)) -> Result<()> {
    if let [single] = operands {
        let value = single.evaluate(scope)?;
        match value.get() {
            Some(Value::Array(items)) => items.iter().for_each(|item| each(&item.value())),
            Some(other) => each(&other),
            None => {}
        }
        return Ok(());
    }
    for operand in operands {
        if let Some(value) = operand.evaluate(scope)?.get() {
            each(&value);
        }
    }
    Ok(())
}

fn sum<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut sum = Summation::default();
    for_each(scope, operands, |value| {
        sum.add_value(value);
    })?;
    Ok(Val::from(sum.total()))
}

fn avg<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let (mut sum, mut count) = (Summation::default(), 0);
    for_each(scope, operands, |value| count += u64::from(sum.add_value(value)))?;
    Ok(if count == 0 { Val::NULL } else { Val::from(sum.average(count)) })
}

fn min<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    extreme(scope, operands, Ordering::Less)
}

fn max<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    extreme(scope, operands, Ordering::Greater)
}

fn extreme<'a>(scope: &Scope<'a>, operands: &'a [Node], wanted: Ordering) -> Result<Val<'a>> {
    let mut best: Option<Val<'static>> = None;
    for_each(scope, operands, |value| {
        if matches!(value, Value::Null | Value::Undefined) {
            return;
        }
        let better = match best.as_ref().and_then(Val::get) {
            None => true,
            Some(held) => scope.compare(value, &held) == wanted,
        };
        if better {
            best = Some(Val::copy_of(*value));
        }
    })?;
    Ok(best.unwrap_or(Val::NULL))
}

/// Mean and squared deviations, updated value by value (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deviation {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Deviation {
    /// Takes a number in; other values are passed over.
    pub(crate) fn add(&mut self, value: &Value<'_>) {
        let Some(x) = value.as_f64() else {
            return;
        };
        self.count += 1;
        let delta = x - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (x - self.mean);
    }

    /// The standard deviation of the values as a whole population.
    pub(crate) fn population(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }

    /// The standard deviation of a population of which the values are a sample.
    pub(crate) fn sample(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }
}

fn std_dev_pop<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut deviation = Deviation::default();
    for_each(scope, operands, |value| deviation.add(value))?;
    Ok(deviation.population().map_or(Val::NULL, Val::from))
}

fn std_dev_samp<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut deviation = Deviation::default();
    for_each(scope, operands, |value| deviation.add(value))?;
    Ok(deviation.sample().map_or(Val::NULL, Val::from))
}
