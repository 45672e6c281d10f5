//! Trigonometric and hyperbolic functions, degrees and radians.

use bindery_document::{Decimal, Error, Result, Value};

use super::arithmetic::numeric_operand;
use super::decimal::arithmetic;
use super::decimal::elementary::{self, Elementary};
use super::decimal::trigonometric::{self, DEGREE, RADIAN, constant};
use super::number::{Number, Width};
use super::registry::{Arity, Entry};
use super::{Node, Scope, Val, fail, nulls_first, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::unary("$sin", |_, v| apply("$sin", &v, Domain::Finite, f64::sin, Elementary::Sin)),
    Entry::unary("$cos", |_, v| apply("$cos", &v, Domain::Finite, f64::cos, Elementary::Cos)),
    Entry::unary("$tan", |_, v| apply("$tan", &v, Domain::Finite, f64::tan, Elementary::Tan)),
    Entry::unary("$asin", |_, v| apply("$asin", &v, Domain::Unit, f64::asin, Elementary::Asin)),
    Entry::unary("$acos", |_, v| apply("$acos", &v, Domain::Unit, f64::acos, Elementary::Acos)),
    Entry::unary("$atan", |_, v| apply("$atan", &v, Domain::All, f64::atan, Elementary::Atan)),
    Entry::unary("$sinh", |_, v| apply("$sinh", &v, Domain::All, f64::sinh, Elementary::Sinh)),
    Entry::unary("$cosh", |_, v| apply("$cosh", &v, Domain::All, f64::cosh, Elementary::Cosh)),
    Entry::unary("$tanh", |_, v| apply("$tanh", &v, Domain::All, f64::tanh, Elementary::Tanh)),
    Entry::unary("$asinh", |_, v| apply("$asinh", &v, Domain::All, f64::asinh, Elementary::Asinh)),
    Entry::unary("$acosh", |_, v| apply("$acosh", &v, Domain::FromOne, f64::acosh, Elementary::Acosh)),
    Entry::unary("$atanh", |_, v| apply("$atanh", &v, Domain::Unit, f64::atanh, Elementary::Atanh)),
    Entry::variadic("$atan2", Arity::Exactly(2), atan2),
    Entry::unary("$degreesToRadians", degrees_to_radians),
    Entry::unary("$radiansToDegrees", radians_to_degrees),
];

/// Where a function is defined. NaN is let through everywhere.
#[derive(Clone, Copy, Debug)]
enum Domain {
    All,
    /// Not at the infinities.
    Finite,
    /// From -1 to 1.
    Unit,
    /// From 1.
    FromOne,
}

impl Domain {
    fn contains(self, number: Number) -> bool {
        if number.is_nan() {
            return true;
        }
        let one = Decimal::from_i64(1);
        match (self, number) {
            (Domain::All, _) => true,
            (Domain::Finite, Number::Decimal(d)) => matches!(d.class(), bindery_document::DecimalClass::Finite { .. }),
            (Domain::Finite, other) => other.to_f64().is_finite(),
            (Domain::Unit, Number::Decimal(d)) => super::decimal::abs(d).compare(one).is_le(),
            (Domain::Unit, other) => other.to_f64().abs() <= 1.0,
            (Domain::FromOne, Number::Decimal(d)) => d.compare(one).is_ge(),
            (Domain::FromOne, other) => other.to_f64() >= 1.0,
        }
    }
}

fn apply<'a>(
    name: &str,
    value: &Val<'_>,
    domain: Domain,
    of_double: fn(f64) -> f64,
    of_decimal: Elementary,
) -> Result<Val<'a>> {
    let Some(number) = numeric_operand(name, value)? else {
        return Ok(Val::NULL);
    };
    if !domain.contains(number) {
        return fail(50989, format!("{name} is not defined for this value"));
    }
    Ok(match number {
        Number::Decimal(d) => Val::Value(Value::Decimal128(elementary::evaluate(of_decimal, d))),
        other => Val::from(of_double(other.to_f64())),
    })
}

/// The first operand is looked at before the second is evaluated.
fn atan2<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let [y, rest @ ..] = operands else {
        return Err(super::fold::wrong_operands("$atan2"));
    };
    let [x] = rest else {
        return Err(super::fold::wrong_operands("$atan2"));
    };
    let y = y.evaluate(scope)?;
    if y.is_nullish() {
        return nulls_first::null(scope, rest);
    }
    let Some(ordinate) = y.get().and_then(|v| Number::of(&v)) else {
        let error = Error::new(51044, format!("$atan2 takes numbers, not {}", type_name(&y)));
        return nulls_first::wrong_type(scope, rest, error);
    };
    let x = x.evaluate(scope)?;
    if x.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(abscissa) = x.get().and_then(|v| Number::of(&v)) else {
        return fail(51045, format!("$atan2 takes numbers, not {}", type_name(&x)));
    };
    if ordinate.width().max(abscissa.width()) == Width::Decimal {
        let angle = trigonometric::atan2(ordinate.to_decimal(), abscissa.to_decimal());
        return Ok(Val::Value(Value::Decimal128(angle)));
    }
    Ok(Val::from(ordinate.to_f64().atan2(abscissa.to_f64())))
}

fn degrees_to_radians<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(match numeric_operand("$degreesToRadians", &value)? {
        None => Val::NULL,
        Some(Number::Decimal(d)) => Val::Value(Value::Decimal128(arithmetic::multiply(d, constant(DEGREE)))),
        Some(number) => Val::from(number.to_f64() * (std::f64::consts::PI / 180.0)),
    })
}

fn radians_to_degrees<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(match numeric_operand("$radiansToDegrees", &value)? {
        None => Val::NULL,
        Some(Number::Decimal(d)) => Val::Value(Value::Decimal128(arithmetic::multiply(d, constant(RADIAN)))),
        Some(number) => Val::from(number.to_f64() * (180.0 / std::f64::consts::PI)),
    })
}
