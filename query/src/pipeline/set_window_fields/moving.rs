//! `$shift`, `$derivative`, `$integral`, `$expMovingAvg`, covariances, `$locf` and `$linearFill`.

use bindery_document::{Decimal, Error, OwnedValue, Result, Value, code};

use super::Partition;
use super::function::{Column, Place, wrong_argument};
use super::window::Window;
use crate::expression::date::arithmetic_unit::Unit;
use crate::expression::decimal::{
    arithmetic as decimal,
    text::{from_f64_15, from_f64_34},
};
use crate::expression::number::{Number, Width};
use crate::expression::{Expression, number_arithmetic};
use crate::filter::ParseContext;

/// A compiled function.
#[derive(Debug)]
pub(super) enum Moving {
    Shift { output: Expression, by: i64, default: Option<OwnedValue> },
    Derivative { input: Expression, unit: Option<Unit>, window: Window },
    Integral { input: Expression, unit: Option<Unit>, window: Window },
    ExpMovingAvg { input: Expression, alpha: Alpha },
    Covariance { pair: Option<(Expression, Expression)>, sample: bool, window: Window },
    Locf(Expression),
    LinearFill(Expression),
}

/// The weight of the newest value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Alpha {
    /// 2 / (N + 1).
    FromN(i64),
    Given(Number),
}

pub(super) fn parse(
    name: &str,
    argument: Value<'_>,
    window: Option<Value<'_>>,
    place: Place,
    context: &mut ParseContext,
) -> Result<Moving> {
    match name {
        "$shift" | "$expMovingAvg" | "$locf" | "$linearFill" if window.is_some() => {
            wrong_argument(name, "takes no window")
        }
        "$shift" => parse_shift(argument, place, context),
        "$expMovingAvg" => parse_exp_moving_avg(argument, place, context),
        "$locf" => Ok(Moving::Locf(Expression::parse_unfolded(argument, &mut context.expressions)?)),
        "$linearFill" => {
            if place.sort.is_none() {
                return Err(Error::new(605_001, "$linearFill needs 'sortBy' with one path"));
            }
            Ok(Moving::LinearFill(Expression::parse_unfolded(argument, &mut context.expressions)?))
        }
        "$covariancePop" | "$covarianceSamp" => {
            let window = parse_window(window, place, context)?;
            let sample = name == "$covarianceSamp";
            let pair = match argument {
                Value::Array(items) => {
                    let items: Vec<_> = items.iter().collect();
                    match items[..] {
                        [x, y] => Some((
                            Expression::parse_unfolded(x.value(), &mut context.expressions)?,
                            Expression::parse_unfolded(y.value(), &mut context.expressions)?,
                        )),
                        // Any other number of values has no covariance.
                        _ => None,
                    }
                }
                _ => None,
            };
            Ok(Moving::Covariance { pair, sample, window })
        }
        _ => parse_rate(name, argument, window, place, context),
    }
}

fn parse_window(window: Option<Value<'_>>, place: Place, context: &mut ParseContext) -> Result<Window> {
    match window {
        None => Ok(Window::WHOLE),
        Some(window) => Window::parse(window, place.has_order, place.sort, context),
    }
}

fn parse_shift(argument: Value<'_>, place: Place, context: &mut ParseContext) -> Result<Moving> {
    const NAME: &str = "$shift";
    let Value::Document(spec) = argument else {
        return wrong_argument(NAME, "takes a document");
    };
    let (mut output, mut by, mut default) = (None, None, None);
    for element in spec {
        match element.key {
            b"output" => output = Some(Expression::parse_unfolded(element.value(), &mut context.expressions)?),
            b"by" => match element.value().as_exact_i64().and_then(|n| i32::try_from(n).ok()) {
                Some(n) => by = Some(i64::from(n)),
                None => return wrong_argument(NAME, "needs an integer as 'by'"),
            },
            b"default" => {
                let expression = Expression::parse(element.value(), &mut context.expressions)?;
                match expression.as_constant() {
                    Some(value) => default = value.map(OwnedValue::new),
                    None => return wrong_argument(NAME, "needs a constant as 'default'"),
                }
            }
            _ => return wrong_argument(NAME, &format!("does not know '{}'", element.key_str())),
        }
    }
    let (Some(output), Some(by)) = (output, by) else {
        return wrong_argument(NAME, "needs 'output' and 'by'");
    };
    if !place.has_order {
        return wrong_argument(NAME, "needs 'sortBy'");
    }
    Ok(Moving::Shift { output, by, default })
}

fn parse_exp_moving_avg(argument: Value<'_>, place: Place, context: &mut ParseContext) -> Result<Moving> {
    const NAME: &str = "$expMovingAvg";
    let Value::Document(spec) = argument else {
        return wrong_argument(NAME, "takes a document");
    };
    let (mut input, mut alpha) = (None, None);
    for element in spec {
        let value = element.value();
        let weight = match element.key {
            b"input" => {
                input = Some(Expression::parse_unfolded(value, &mut context.expressions)?);
                continue;
            }
            b"N" => match value.as_exact_i64() {
                Some(n) if n > 0 => Alpha::FromN(n),
                _ => return wrong_argument(NAME, "needs a positive integer as 'N'"),
            },
            b"alpha" => match Number::of(&value) {
                Some(number) if number.to_f64() > 0.0 && number.to_f64() < 1.0 => Alpha::Given(number),
                _ => return wrong_argument(NAME, "needs a number between 0 and 1 as 'alpha'"),
            },
            _ => return wrong_argument(NAME, &format!("does not know '{}'", element.key_str())),
        };
        if alpha.replace(weight).is_some() {
            return wrong_argument(NAME, "takes 'N' or 'alpha', not both");
        }
    }
    let (Some(input), Some(alpha)) = (input, alpha) else {
        return wrong_argument(NAME, "needs 'input', and 'N' or 'alpha'");
    };
    if !place.has_order {
        return wrong_argument(NAME, "needs 'sortBy'");
    }
    Ok(Moving::ExpMovingAvg { input, alpha })
}

fn parse_rate(
    name: &str,
    argument: Value<'_>,
    window: Option<Value<'_>>,
    place: Place,
    context: &mut ParseContext,
) -> Result<Moving> {
    let Value::Document(spec) = argument else {
        return wrong_argument(name, "takes a document");
    };
    let (mut input, mut unit) = (None, None);
    for element in spec {
        match (element.key, element.value()) {
            (b"input", value) => input = Some(Expression::parse_unfolded(value, &mut context.expressions)?),
            (b"unit", Value::String(text)) => match Unit::parse(text.as_str()).filter(|unit| unit.millis().is_some()) {
                Some(parsed) => unit = Some(parsed),
                None => return wrong_argument(name, &format!("does not take the unit '{}'", text.as_str())),
            },
            (b"unit", _) => return wrong_argument(name, "needs a string as 'unit'"),
            _ => return wrong_argument(name, &format!("does not know '{}'", element.key_str())),
        }
    }
    let Some(input) = input else {
        return wrong_argument(name, "needs 'input'");
    };
    if place.sort.is_none() {
        return wrong_argument(name, "needs 'sortBy' with one path");
    }
    if name == "$derivative" && window.is_none() {
        return wrong_argument(name, "needs a window");
    }
    let window = parse_window(window, place, context)?;
    Ok(match name {
        "$derivative" => Moving::Derivative { input, unit, window },
        _ => Moving::Integral { input, unit, window },
    })
}

impl Moving {
    pub(super) fn fold(&mut self) -> Result<()> {
        match self {
            Moving::Shift { output: input, .. }
            | Moving::Derivative { input, .. }
            | Moving::Integral { input, .. }
            | Moving::ExpMovingAvg { input, .. }
            | Moving::Locf(input)
            | Moving::LinearFill(input) => input.fold(),
            Moving::Covariance { pair: Some((x, y)), .. } => {
                x.fold()?;
                y.fold()
            }
            Moving::Covariance { .. } => Ok(()),
        }
    }

    /// How many documents beyond one it looks at.
    pub(super) fn reach(&self) -> usize {
        match self {
            Moving::Shift { by, .. } => usize::try_from(*by).unwrap_or(0),
            Moving::Derivative { window, .. } | Moving::Integral { window, .. } | Moving::Covariance { window, .. } => {
                window.reach()
            }
            Moving::ExpMovingAvg { .. } | Moving::Locf(_) | Moving::LinearFill(_) => 0,
        }
    }

    /// Appends the values for the documents of a partition, as many as can be computed before a failure.
    pub(super) fn evaluate(&self, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
        match self {
            Moving::Shift { output, by, default } => shift(output, *by, default.as_ref(), partition, values)?,
            Moving::Derivative { input, unit, window } => derivative(input, *unit, window, partition, values)?,
            Moving::Integral { input, unit, window } => *values = integral(input, *unit, window, partition)?,
            Moving::ExpMovingAvg { input, alpha } => exp_moving_avg(input, *alpha, partition, values)?,
            Moving::Covariance { pair, sample, window } => {
                *values = covariance(pair.as_ref(), *sample, window, partition)?;
            }
            Moving::Locf(input) => locf(input, partition, values)?,
            Moving::LinearFill(input) => linear_fill(input, partition, values)?,
        }
        Ok(())
    }
}

/// An expression's value for each document.
fn column(input: &Expression, partition: &Partition<'_>) -> Result<Column> {
    (0..partition.len()).map(|index| at(input, partition, index)).collect()
}

/// An expression's value for one document.
fn at(input: &Expression, partition: &Partition<'_>, index: usize) -> Result<Option<OwnedValue>> {
    let scope = partition.env.scope(partition.document(index));
    Ok(input.evaluate(&scope)?.to_owned_value())
}

fn shift(
    output: &Expression,
    by: i64,
    default: Option<&OwnedValue>,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    let place = |index: usize| usize::try_from(index as i64 + by).ok().filter(|place| *place < partition.len());
    for index in 0..partition.len() {
        values.push(match place(index) {
            Some(place) => at(output, partition, place)?,
            None => Some(default.cloned().unwrap_or_else(null)),
        });
    }
    Ok(())
}

/// The distance between two positions, in units if there is one.
fn distance(name: &str, codes: (i32, i32), from: &Value<'_>, to: &Value<'_>, unit: Option<Unit>) -> Result<Number> {
    match (from, to, unit) {
        (Value::DateTime(a), Value::DateTime(b), Some(unit)) => {
            let length = unit.millis().unwrap_or(1) as f64;
            Ok(Number::Double((*b as f64 - *a as f64) / length))
        }
        (Value::DateTime(_), _, None) | (_, Value::DateTime(_), None) => {
            Err(Error::new(codes.1, format!("{name} over dates needs a unit")))
        }
        (_, _, Some(_)) => Err(Error::new(codes.0, format!("{name} with a unit needs dates to sort by"))),
        _ => match (Number::of(from), Number::of(to)) {
            (Some(a), Some(b)) => Ok(number_arithmetic::subtract(b, a)),
            _ => Err(Error::new(codes.0, format!("{name} needs numbers or dates to sort by"))),
        },
    }
}

fn derivative(
    input: &Expression,
    unit: Option<Unit>,
    window: &Window,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    for index in 0..partition.len() {
        let range = window.of(partition, index)?;
        if range.len() < 2 {
            values.push(Some(null()));
            continue;
        }
        let (first, last) = (range.start, range.end - 1);
        let run = distance(
            "$derivative",
            (5_624_900, 5_624_901),
            &partition.position(first),
            &partition.position(last),
            unit,
        )?;
        // Only the window's ends are evaluated.
        let (low, high) = (at(input, partition, first)?, at(input, partition, last)?);
        let low = low.as_ref().map_or(Value::Null, OwnedValue::value);
        let high = high.as_ref().map_or(Value::Null, OwnedValue::value);
        let is_null = |value: &Value<'_>| matches!(value, Value::Null | Value::Undefined);
        if is_null(&low) || is_null(&high) || is_zero(run) {
            values.push(Some(null()));
            continue;
        }
        let (Some(low), Some(high)) = (Number::of(&low), Number::of(&high)) else {
            return Err(Error::new(code::TYPE_MISMATCH, "$derivative needs numbers"));
        };
        let rise = number_arithmetic::subtract(high, low);
        values.push(Some(owned(divide(rise, run))));
    }
    Ok(())
}

fn is_zero(number: Number) -> bool {
    match number {
        Number::Decimal(d) => d.is_zero(),
        other => other.to_f64() == 0.0,
    }
}

fn owned(number: Number) -> OwnedValue {
    OwnedValue::new(number.into())
}

fn divide(a: Number, b: Number) -> Number {
    if a.width().max(b.width()) == Width::Decimal {
        return Number::Decimal(decimal::divide(a.to_decimal(), b.to_decimal()));
    }
    Number::Double(a.to_f64() / b.to_f64())
}

/// The area under the straight lines between the points of the window.
fn integral(input: &Expression, unit: Option<Unit>, window: &Window, partition: &Partition<'_>) -> Result<Column> {
    let values = column(input, partition)?;
    let mut numbers = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let position = partition.position(index);
        // Both coordinates of each point are asked for, also where a window holds only one.
        distance("$integral", (5_423_900, 5_423_902), &position, &position, unit)?;
        match value.as_ref().and_then(|v| Number::of(&v.value())) {
            Some(number) => numbers.push(number),
            None => return Err(Error::new(5_423_901, "$integral needs numbers")),
        }
    }
    // Pieces between neighbours are summed by window.
    let mut pieces = Vec::with_capacity(numbers.len());
    for (index, pair) in numbers.windows(2).enumerate() {
        let [a, b] = pair else {
            continue;
        };
        let step = distance(
            "$integral",
            (5_423_900, 5_423_902),
            &partition.position(index),
            &partition.position(index + 1),
            unit,
        )?;
        let sum = number_arithmetic::add(*a, *b);
        // Beside decimals a step counts with its exact value, not with fifteen digits.
        let step = match (sum, step) {
            (Number::Decimal(_), Number::Double(d)) => Number::Decimal(from_f64_34(d)),
            _ => step,
        };
        pieces.push(divide(number_arithmetic::multiply(sum, step), Number::Int(2)));
    }
    let mut results = Vec::with_capacity(numbers.len());
    for index in 0..partition.len() {
        let range = window.of(partition, index)?;
        let mut sum = crate::expression::summation::Summation::default();
        for piece in pieces.get(range.start..range.end.saturating_sub(1).max(range.start)).unwrap_or_default() {
            sum.add(*piece);
        }
        let total = match (sum.total(), unit) {
            (Number::Int(0), Some(_)) => Number::Double(0.0),
            (total, _) => total,
        };
        results.push(Some(if range.is_empty() { null() } else { owned(total) }));
    }
    Ok(results)
}

fn exp_moving_avg(input: &Expression, alpha: Alpha, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
    let mut average: Option<Number> = None;
    for index in 0..partition.len() {
        let value = at(input, partition, index)?;
        // What is no number leaves the average as it is.
        if let Some(number) = value.as_ref().and_then(|v| Number::of(&v.value())) {
            average = Some(match average {
                None => number,
                Some(previous) => weigh(number, previous, alpha),
            });
        }
        values.push(Some(average.map_or_else(null, as_average)));
    }
    Ok(())
}

/// An average is a double or a decimal, from the first value on.
fn as_average(number: Number) -> OwnedValue {
    match number {
        Number::Decimal(_) => owned(number),
        other => OwnedValue::new(Value::Double(other.to_f64())),
    }
}

fn weigh(newest: Number, previous: Number, alpha: Alpha) -> Number {
    let is_decimal = newest.width() == Width::Decimal
        || previous.width() == Width::Decimal
        || matches!(alpha, Alpha::Given(Number::Decimal(_)));
    if is_decimal {
        let one = Decimal::from_i64(1);
        let alpha = match alpha {
            Alpha::FromN(n) => decimal::divide(Decimal::from_i64(2), Decimal::from_i64(n.saturating_add(1))),
            Alpha::Given(number) => number.to_decimal(),
        };
        let newest = decimal::multiply(newest.to_decimal(), alpha);
        let previous = decimal::multiply(previous.to_decimal(), decimal::subtract(one, alpha));
        return Number::Decimal(decimal::add(newest, previous));
    }
    let alpha = match alpha {
        Alpha::FromN(n) => 2.0 / (n as f64 + 1.0),
        Alpha::Given(number) => number.to_f64(),
    };
    Number::Double(newest.to_f64() * alpha + previous.to_f64() * (1.0 - alpha))
}

fn covariance(
    pair: Option<&(Expression, Expression)>,
    sample: bool,
    window: &Window,
    partition: &Partition<'_>,
) -> Result<Column> {
    let Some((x, y)) = pair else {
        return Ok(vec![Some(null()); partition.len()]);
    };
    let (xs, ys) = (column(x, partition)?, column(y, partition)?);
    let number = |values: &Column, index: usize| {
        values.get(index).and_then(Option::as_ref).and_then(|value| Number::of(&value.value()))
    };
    let mut results = Vec::with_capacity(partition.len());
    for index in 0..partition.len() {
        let range = window.of(partition, index)?;
        let points: Vec<(Number, Number)> =
            range.filter_map(|place| Some((number(&xs, place)?, number(&ys, place)?))).collect();
        results.push(Some(covariance_of(&points, sample).unwrap_or_else(null)));
    }
    Ok(results)
}

fn covariance_of(points: &[(Number, Number)], sample: bool) -> Option<OwnedValue> {
    let count = points.len();
    let divisor = if sample { count.checked_sub(1)? } else { count };
    if divisor == 0 {
        return None;
    }
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count as f64;
    let mean_x = mean(&mut points.iter().map(|(x, _)| x.to_f64()));
    let mean_y = mean(&mut points.iter().map(|(_, y)| y.to_f64()));
    let sum: f64 = points.iter().map(|(x, y)| (x.to_f64() - mean_x) * (y.to_f64() - mean_y)).sum();
    let result = sum / divisor as f64;
    let is_decimal = points.iter().any(|(x, y)| x.width().max(y.width()) == Width::Decimal);
    let number = if is_decimal { Number::Decimal(from_f64_15(result)) } else { Number::Double(result) };
    Some(owned(number))
}

fn null() -> OwnedValue {
    OwnedValue::new(Value::Null)
}

fn is_null(value: Option<&OwnedValue>) -> bool {
    value.is_none_or(|value| matches!(value.value(), Value::Null | Value::Undefined))
}

/// The last value that was not null.
fn locf(input: &Expression, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
    let mut last: Option<OwnedValue> = None;
    for index in 0..partition.len() {
        let value = at(input, partition, index)?;
        if !is_null(value.as_ref()) {
            last = value;
        }
        values.push(Some(last.clone().unwrap_or_else(null)));
    }
    Ok(())
}

/// Nulls between two numbers are replaced by what lies on the straight line between them.
fn linear_fill(input: &Expression, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
    let mut known: Option<(usize, Number)> = None;
    for index in 0..partition.len() {
        let position = partition.position(index);
        if !(position.kind().is_number() || matches!(position, Value::DateTime(_))) {
            return Err(Error::new(code::TYPE_MISMATCH, "$linearFill needs numbers or dates to sort by"));
        }
        if index > 0 && partition.keys.get(index - 1) == partition.keys.get(index) {
            return Err(Error::new(6_050_106, "$linearFill needs different values to sort by"));
        }
        let value = at(input, partition, index)?;
        let Some(value) = value.filter(|value| !is_null(Some(value))) else {
            // Behind a number it takes the next one to say what stands here.
            if known.is_none() {
                values.push(Some(null()));
            }
            continue;
        };
        let Some(end) = Number::of(&value.value()) else {
            // Behind a number the step is computed first, which fails in its own way for a date.
            if let (Some((_, start)), Value::DateTime(ms)) = (known, value.value()) {
                number_arithmetic::subtract_from_date(ms, start)?;
            }
            return Err(Error::new(code::TYPE_MISMATCH, "$linearFill needs numbers"));
        };
        if let Some(start) = known {
            values.extend((start.0 + 1..index).map(|place| interpolate(partition, start, (index, end), place)));
        }
        values.push(Some(value));
        known = Some((index, end));
    }
    values.resize_with(partition.len(), || Some(null()));
    Ok(())
}

fn interpolate(
    partition: &Partition<'_>,
    (start_index, start): (usize, Number),
    (end_index, end): (usize, Number),
    place: usize,
) -> Option<OwnedValue> {
    let at = |index: usize| match partition.position(index) {
        Value::DateTime(ms) => Some(Number::Long(ms)),
        other => Number::of(&other),
    };
    let (x1, x2, x) = (at(start_index)?, at(end_index)?, at(place)?);
    let rise = number_arithmetic::subtract(end, start);
    let run = number_arithmetic::subtract(x2, x1);
    let walked = number_arithmetic::subtract(x, x1);
    let slope_step = number_arithmetic::multiply(divide(rise, run), walked);
    Some(owned(number_arithmetic::add(start, slope_step)))
}
