//! Sums and deviations over windows that values leave again.
//!
//! MongoDB takes a value out by adding its negative to the compensated sum, so that what rounding lost while it was in
//! stays lost, and counts the types, NaNs and infinities that are in, so that those leave no trace. Deviations
//! are updated likewise by what a value adds to the sum of squares.

use bindery_document::{DecimalClass, OwnedValue, Value};

use crate::expression::decimal::arithmetic::Rounding;
use crate::expression::decimal::negate;
use crate::expression::decimal::text::{from_f64_34, to_i64};
use crate::expression::number::{Number, Width};
use crate::expression::summation::Summation;
use crate::pipeline::group::accumulator::AccumulatorKind;

/// A running result from which values can be taken.
#[derive(Debug)]
pub(super) enum Sliding {
    Sum(Sum),
    Average { sum: Sum, count: u64 },
    Deviation(Box<Deviation>),
}

impl Sliding {
    /// The state of an accumulator that is computed like this; `None` for others.
    pub(super) fn of(kind: AccumulatorKind) -> Option<Sliding> {
        match kind {
            AccumulatorKind::Sum => Some(Sliding::Sum(Sum::default())),
            AccumulatorKind::Avg => Some(Sliding::Average { sum: Sum::default(), count: 0 }),
            AccumulatorKind::StdDevPop => Some(Sliding::Deviation(Box::default())),
            AccumulatorKind::StdDevSamp => {
                Some(Sliding::Deviation(Box::new(Deviation { is_sample: true, ..Deviation::default() })))
            }
            _ => None,
        }
    }

    /// Takes a value in. What is no number counts nothing.
    pub(super) fn add(&mut self, value: Option<&OwnedValue>) {
        self.change(value, false);
    }

    /// Takes a value out that was put in.
    pub(super) fn remove(&mut self, value: Option<&OwnedValue>) {
        self.change(value, true);
    }

    fn change(&mut self, value: Option<&OwnedValue>, out: bool) {
        let Some(number) = value.and_then(|value| Number::of(&value.value())) else {
            return;
        };
        match self {
            Sliding::Sum(sum) => sum.change(number, out),
            Sliding::Average { sum, count } => {
                sum.change(number, out);
                step(count, out);
            }
            Sliding::Deviation(deviation) => deviation.change(number, out),
        }
    }

    /// The result for what is in.
    pub(super) fn value(&mut self) -> OwnedValue {
        match self {
            Sliding::Sum(sum) => OwnedValue::new(sum.total().into()),
            Sliding::Average { count: 0, .. } => OwnedValue::new(Value::Null),
            Sliding::Average { sum, count } => OwnedValue::new(sum.average(*count).into()),
            Sliding::Deviation(deviation) => OwnedValue::new(deviation.value()),
        }
    }
}

fn step(count: &mut u64, out: bool) {
    *count = if out { count.saturating_sub(1) } else { *count + 1 };
}

/// A sum of the finite numbers, and how many there are of each type and of those that are not finite.
#[derive(Debug, Default)]
pub(super) struct Sum {
    finite: Summation,
    /// Below zero where more went out than came in: a covariance takes out products of another type than it put in.
    doubles: i64,
    decimals: i64,
    nans: u64,
    infinities: u64,
    negative_infinities: u64,
}

impl Sum {
    pub(super) fn change(&mut self, number: Number, out: bool) {
        match number.width() {
            Width::Double => self.doubles += if out { -1 } else { 1 },
            Width::Decimal => self.decimals += if out { -1 } else { 1 },
            Width::Int | Width::Long => {}
        }
        let wide = match number {
            Number::Decimal(d) if d.is_nan() => f64::NAN,
            Number::Decimal(d) if matches!(d.class(), DecimalClass::Infinite(_)) => number.to_f64(),
            Number::Decimal(_) => 0.0,
            other => other.to_f64(),
        };
        if wide.is_nan() {
            step(&mut self.nans, out);
        } else if wide == f64::INFINITY {
            step(&mut self.infinities, out);
        } else if wide == f64::NEG_INFINITY {
            step(&mut self.negative_infinities, out);
        } else if out {
            subtract(&mut self.finite, number);
        } else {
            self.finite.add(number);
        }
    }

    /// What is not finite, if anything.
    fn special(&self) -> Option<f64> {
        match (self.nans, self.infinities, self.negative_infinities) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(f64::INFINITY),
            (0, 0, _) => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }

    /// The sum, in the widest type of what is in; an integer in the narrowest that holds it.
    pub(super) fn total(&self) -> Number {
        if let Some(special) = self.special() {
            return self.of_double(special);
        }
        if self.decimals != 0 {
            return Number::Decimal(self.finite.to_decimal());
        }
        if self.doubles > 0 {
            return Number::Double(self.double());
        }
        let whole = match self.finite.total() {
            Number::Int(n) => Some(i64::from(n)),
            Number::Long(n) => Some(n),
            // Decimals have left; as one the sum has all digits of what is in.
            Number::Decimal(d) => to_i64(d, Rounding::HalfEven),
            other => Some(other.to_f64().round()).filter(|d| (-LONG_END..LONG_END).contains(d)).map(|d| d as i64),
        };
        match whole {
            None => Number::Double(self.double()),
            Some(n) => i32::try_from(n).map_or(Number::Long(n), Number::Int),
        }
    }

    pub(super) fn average(&self, count: u64) -> Number {
        if let Some(special) = self.special() {
            return self.of_double(special);
        }
        if self.decimals != 0 {
            return self.finite.average(count);
        }
        Number::Double(self.total().to_f64() / count as f64)
    }

    /// The sum as a double, that of decimals that have left included.
    fn double(&self) -> f64 {
        match self.finite.total() {
            Number::Decimal(_) => Number::Decimal(self.finite.to_decimal()).to_f64(),
            _ => self.finite.double(),
        }
    }

    fn of_double(&self, special: f64) -> Number {
        if self.decimals != 0 { Number::Decimal(from_f64_34(special)) } else { Number::Double(special) }
    }
}

/// Longs lie below it.
const LONG_END: f64 = 9_223_372_036_854_775_808.0;

/// Adds a number's negative.
fn subtract(sum: &mut Summation, number: Number) {
    match number {
        Number::Int(n) => sum.add(Number::Long(-i64::from(n))),
        Number::Long(n) => match n.checked_neg() {
            Some(n) => sum.add(Number::Long(n)),
            None => {
                sum.add(Number::Long(i64::MAX));
                sum.add(Number::Long(1));
            }
        },
        Number::Double(d) => sum.add(Number::Double(-d)),
        Number::Decimal(d) => sum.add(Number::Decimal(negate(d))),
    }
}

/// Squared deviations from the mean.
#[derive(Debug, Default)]
pub(super) struct Deviation {
    is_sample: bool,
    count: u64,
    not_finite: u64,
    sum: Summation,
    squares: Summation,
}

impl Deviation {
    fn change(&mut self, number: Number, out: bool) {
        let x = number.to_f64();
        if !x.is_finite() {
            step(&mut self.not_finite, out);
            // It is counted nevertheless, which shows in the result for those that came while it was in.
            step(&mut self.count, out);
            return;
        }
        if !out && self.count == 0 {
            self.count = 1;
            self.sum.add(number);
            return;
        }
        if out && self.count == 1 {
            *self = Deviation { is_sample: self.is_sample, ..Deviation::default() };
            return;
        }
        let before = self.count as f64;
        let distance = before * x - self.sum.total().to_f64();
        step(&mut self.count, out);
        let after = self.count as f64;
        let sign = if out { -1.0 } else { 1.0 };
        self.sum.add(Number::Double(x * sign));
        self.squares.add(Number::Double(distance * distance * sign / (before * after)));
    }

    fn value(&mut self) -> Value<'static> {
        // Without any number the divisor of a sample is -1, and the result the negative zero.
        let divisor = if self.is_sample { self.count as f64 - 1.0 } else { self.count as f64 };
        if self.not_finite > 0 || divisor == 0.0 {
            return Value::Null;
        }
        let squares = self.squares.double();
        if squares < 0.0 || (!self.is_sample && self.count == 1) {
            // What is below zero is all error, and forgotten.
            self.squares = Summation::default();
            return Value::Int32(0);
        }
        Value::Double((squares / divisor).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slide(kind: AccumulatorKind, values: &[Value<'static>]) -> Vec<OwnedValue> {
        let mut state = Sliding::of(kind).expect("a sliding state");
        let values: Vec<OwnedValue> = values.iter().map(|value| OwnedValue::new(*value)).collect();
        let mut results = Vec::new();
        for (place, value) in values.iter().enumerate() {
            state.add(Some(value));
            if place >= 2 {
                state.remove(values.get(place - 2));
            }
            results.push(state.value());
        }
        results
    }

    fn owned(values: &[Value<'static>]) -> Vec<OwnedValue> {
        values.iter().map(|value| OwnedValue::new(*value)).collect()
    }

    #[test]
    fn what_rounding_lost_stays_lost_and_types_shrink() {
        let one = Value::Int32(1);
        let large = Value::Double(1e300);
        assert_eq!(
            slide(AccumulatorKind::Sum, &[large, one, one, one]),
            owned(&[large, large, Value::Int32(0), Value::Int32(2)])
        );
        let infinite = Value::Double(f64::INFINITY);
        assert_eq!(
            slide(AccumulatorKind::Avg, &[infinite, one, one]),
            owned(&[infinite, infinite, Value::Double(1.0)])
        );
    }

    #[test]
    fn a_nan_that_has_left_shows_in_deviations() {
        let one = Value::Int32(1);
        let results = slide(AccumulatorKind::StdDevPop, &[Value::Double(f64::NAN), one, one]);
        assert_eq!(results, owned(&[Value::Null, Value::Null, Value::Double((2.0f64 / 3.0 / 2.0).sqrt())]));
    }
}
