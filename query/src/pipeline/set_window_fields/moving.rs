//! Functions over windows that are no accumulators: their text, and `$shift`, `$expMovingAvg`, `$locf` and `$linearFill`.

use bindery_document::{Decimal, Error, OwnedValue, Result, Value, code};

use super::Partition;
use super::covariance::covariance;
use super::function::{Column, Place, wrong_argument};
use super::rates::{derivative, integral};
use super::window::Window;
use crate::expression::date::arithmetic_unit::Unit;
use crate::expression::decimal::arithmetic as decimal;
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
            (b"unit", Value::String(text)) => match Unit::parse(text.as_str()) {
                Some(parsed) if parsed.millis().is_some() => unit = Some(parsed),
                Some(_) => return Err(Error::new(5_490_710, format!("{name} takes weeks and shorter units"))),
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
            Moving::Integral { input, unit, window } => integral(input, *unit, window, partition, values)?,
            Moving::ExpMovingAvg { input, alpha } => exp_moving_avg(input, *alpha, partition, values)?,
            Moving::Covariance { pair, sample, window } => {
                covariance(pair.as_ref(), *sample, window, partition, values)?;
            }
            Moving::Locf(input) => locf(input, partition, values)?,
            Moving::LinearFill(input) => linear_fill(input, partition, values)?,
        }
        Ok(())
    }
}

/// An expression's value for one document.
pub(super) fn at(input: &Expression, partition: &Partition<'_>, index: usize) -> Result<Option<OwnedValue>> {
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

pub(super) fn owned(number: Number) -> OwnedValue {
    OwnedValue::new(number.into())
}

pub(super) fn divide(a: Number, b: Number) -> Number {
    if a.width().max(b.width()) == Width::Decimal {
        return Number::Decimal(decimal::divide(a.to_decimal(), b.to_decimal()));
    }
    Number::Double(a.to_f64() / b.to_f64())
}

/// The average is kept as a decimal, and shown as one once there was a decimal among the values.
fn exp_moving_avg(input: &Expression, alpha: Alpha, partition: &Partition<'_>, values: &mut Column) -> Result<()> {
    let alpha = match alpha {
        Alpha::FromN(n) => decimal::divide(Decimal::from_i64(2), Decimal::from_i64(n.saturating_add(1))),
        Alpha::Given(number) => number.to_decimal(),
    };
    let rest = decimal::subtract(Decimal::from_i64(1), alpha);
    let mut average: Option<Decimal> = None;
    let mut is_decimal = false;
    for index in 0..partition.len() {
        let value = at(input, partition, index)?;
        // What is no number leaves the average as it is.
        if let Some(number) = value.as_ref().and_then(|v| Number::of(&v.value())) {
            is_decimal |= number.width() == Width::Decimal;
            let newest = number.to_decimal();
            average = Some(match average {
                None => newest,
                Some(previous) => decimal::add(decimal::multiply(newest, alpha), decimal::multiply(previous, rest)),
            });
        }
        values.push(Some(match average {
            None => null(),
            Some(average) if is_decimal => owned(Number::Decimal(average)),
            Some(average) => OwnedValue::new(Value::Double(average.to_f64())),
        }));
    }
    Ok(())
}

pub(super) fn null() -> OwnedValue {
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
        let value = at(input, partition, index)?;
        let Some(value) = value.filter(|value| !is_null(Some(value))) else {
            // The first null behind a number looks for the next one; the others are looked at after that.
            if known.is_none() || values.len() == index {
                check_different(partition, index)?;
            }
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
        (values.len() + 1..=index).try_for_each(|place| check_different(partition, place))?;
        if values.len() == index {
            check_different(partition, index)?;
        }
        if let Some(start) = known {
            values.extend((start.0 + 1..index).map(|place| interpolate(partition, start, (index, end), place)));
        }
        values.push(Some(value));
        known = Some((index, end));
    }
    (values.len() + 1..partition.len()).try_for_each(|place| check_different(partition, place))?;
    values.resize_with(partition.len(), || Some(null()));
    Ok(())
}

/// Checks that a document stands at another place than the one before it.
fn check_different(partition: &Partition<'_>, index: usize) -> Result<()> {
    if index > 0 && partition.keys.get(index - 1) == partition.keys.get(index) {
        return Err(Error::new(6_050_106, "$linearFill needs different values to sort by"));
    }
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
