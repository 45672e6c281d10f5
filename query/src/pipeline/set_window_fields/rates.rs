//! `$derivative` and `$integral`.

use bindery_document::{Error, OwnedValue, Result, Value, code};

use super::Partition;
use super::follow::{Follow, follow};
use super::function::Column;
use super::moving::{at, divide, null, owned};
use super::sliding::Sum;
use super::window::Window;
use crate::expression::date::arithmetic_unit::Unit;
use crate::expression::decimal::arithmetic as decimal;
use crate::expression::number::Number;
use crate::expression::{Expression, number_arithmetic};

/// The slope of the line between a window's first point and its last. Both are looked at even if they are the same.
pub(super) fn derivative(
    input: &Expression,
    unit: Option<Unit>,
    window: &Window,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    for index in 0..partition.len() {
        let range = window.of(partition, index)?;
        if range.is_empty() {
            values.push(Some(null()));
            continue;
        }
        let (first, last) = (range.start, range.end - 1);
        let run = run(&partition.position(first), &partition.position(last), unit)?;
        let (low, high) = (at(input, partition, first)?, at(input, partition, last)?);
        let low = low.as_ref().map_or(Value::Null, OwnedValue::value);
        let high = high.as_ref().map_or(Value::Null, OwnedValue::value);
        let rise = rise(low, high)?;
        let Some(rise) = rise else {
            return Err(Error::new(code::TYPE_MISMATCH, "$derivative has no rise between a number and a date"));
        };
        if is_zero(run) {
            values.push(Some(null()));
            continue;
        }
        let slope = divide(rise, run);
        let slope = match unit.and_then(Unit::millis) {
            Some(length) => number_arithmetic::multiply(slope, Number::Long(length)),
            None => slope,
        };
        values.push(Some(owned(slope)));
    }
    Ok(())
}

/// How far the positions of two points lie apart: dates in milliseconds.
fn run(from: &Value<'_>, to: &Value<'_>, unit: Option<Unit>) -> Result<Number> {
    match (from, to, unit) {
        (Value::DateTime(from), Value::DateTime(to), Some(_)) => Ok(Number::Long(to.wrapping_sub(*from))),
        (_, _, Some(_)) => Err(Error::new(5_624_900, "$derivative with a unit needs dates to sort by")),
        (Value::DateTime(_), _, None) | (_, Value::DateTime(_), None) => {
            Err(Error::new(5_624_901, "$derivative over dates needs a unit"))
        }
        _ => match (Number::of(from), Number::of(to)) {
            (Some(from), Some(to)) => Ok(number_arithmetic::subtract(to, from)),
            _ => Err(Error::new(5_624_902, "$derivative needs numbers or dates to sort by")),
        },
    }
}

/// The difference of two values, that of dates in milliseconds; `None` where it is a date, as that of a date and a
/// number.
fn rise(low: Value<'_>, high: Value<'_>) -> Result<Option<Number>> {
    let is_null = |value: &Value<'_>| matches!(value, Value::Null | Value::Undefined);
    if is_null(&low) || is_null(&high) {
        return Err(Error::new(5_624_903, "$derivative's input must not be null or missing"));
    }
    if let (Value::DateTime(low), Value::DateTime(high)) = (&low, &high) {
        return Ok(Some(Number::Long(high.wrapping_sub(*low))));
    }
    match (Number::of(&low), Number::of(&high), high) {
        (Some(low), Some(high), _) => Ok(Some(number_arithmetic::subtract(high, low))),
        (Some(low), None, Value::DateTime(ms)) => number_arithmetic::subtract_from_date(ms, low).map(|_| None),
        _ => Err(Error::new(code::TYPE_MISMATCH, "$derivative needs numbers")),
    }
}

fn is_zero(number: Number) -> bool {
    match number {
        Number::Decimal(d) => d.is_zero(),
        other => other.to_f64() == 0.0,
    }
}

/// The area under the straight lines between the points of the window.
pub(super) fn integral(
    input: &Expression,
    unit: Option<Unit>,
    window: &Window,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    let area = Area { input, unit, pieces: Sum::default(), points: 0, nans: 0 };
    follow(area, window, partition, values)
}

/// The sum of the pieces between neighbours.
struct Area<'a> {
    input: &'a Expression,
    unit: Option<Unit>,
    pieces: Sum,
    points: usize,
    /// Points with a NaN. While there is one, the area is one.
    nans: usize,
}

#[derive(Clone, Copy)]
enum Position {
    Number(Number),
    Date(i64),
}

#[derive(Clone, Copy)]
struct Point {
    position: Position,
    height: Number,
}

impl Point {
    fn has_nan(&self) -> bool {
        self.height.is_nan() || matches!(self.position, Position::Number(number) if number.is_nan())
    }
}

fn piece(left: &Point, right: &Point) -> Number {
    let step = match (left.position, right.position) {
        (Position::Number(left), Position::Number(right)) => number_arithmetic::subtract(right, left),
        (Position::Date(left), Position::Date(right)) => Number::Long(right.wrapping_sub(left)),
        _ => return Number::Int(0),
    };
    // Beside a decimal, a double counts with fifteen digits.
    let heights = match (left.height, right.height) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(decimal::add(left.height.to_decimal(), right.height.to_decimal()))
        }
        (left, right) => number_arithmetic::add(left, right),
    };
    divide(number_arithmetic::multiply(heights, step), Number::Double(2.0))
}

impl Follow for Area<'_> {
    type Entry = Point;

    fn read(&self, partition: &Partition<'_>, index: usize) -> Result<Point> {
        let height = at(self.input, partition, index)?;
        let position = match partition.position(index) {
            Value::DateTime(ms) => Some(Position::Date(ms)),
            other => Number::of(&other).map(Position::Number),
        };
        let (Some(position), Some(height)) = (position, height.and_then(|height| Number::of(&height.value()))) else {
            return Err(Error::new(5_423_900, "$integral needs numbers, and numbers or dates to sort by"));
        };
        match (position, self.unit) {
            (Position::Number(_), Some(_)) => {
                Err(Error::new(5_423_901, "$integral with a unit needs dates to sort by"))
            }
            (Position::Date(_), None) => Err(Error::new(5_423_902, "$integral over dates needs a unit")),
            _ => Ok(Point { position, height }),
        }
    }

    fn add(&mut self, before: Option<&Point>, newest: &Point) {
        self.points += 1;
        self.nans += usize::from(newest.has_nan());
        if let Some(before) = before {
            self.pieces.change(piece(before, newest), false);
        }
    }

    fn remove(&mut self, oldest: &Point, next: Option<&Point>) {
        self.points -= 1;
        self.nans -= usize::from(oldest.has_nan());
        if let Some(next) = next {
            self.pieces.change(piece(oldest, next), true);
        }
    }

    fn value(&mut self) -> OwnedValue {
        if self.points == 0 {
            return null();
        }
        if self.nans > 0 {
            return owned(Number::Double(f64::NAN));
        }
        match self.unit.and_then(Unit::millis) {
            Some(length) => owned(divide(self.pieces.total(), Number::Long(length))),
            None => owned(self.pieces.total()),
        }
    }
}
