//! `$ceil`, `$floor`, `$round`, `$trunc`.

use bindery_document::{DecimalClass, Result, Value};

use super::arithmetic::numeric_operand;
use super::array_order::{NO_INTEGER, is_beyond_integers};
use super::decimal::arithmetic::{Rounding, quantize};
use super::decimal::{nan, text::from_i128};
use super::number::{Number, Width, integer_result};
use super::registry::{Arity, Entry};
use super::{Node, Scope, Val, fail, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::unary("$ceil", ceil),
    Entry::unary("$floor", floor),
    Entry::variadic("$round", Arity::Between(1, 2), round),
    Entry::variadic("$trunc", Arity::Between(1, 2), trunc),
];

fn ceil<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    to_whole("$ceil", value, Rounding::Up, f64::ceil)
}

fn floor<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    to_whole("$floor", value, Rounding::Down, f64::floor)
}

fn to_whole<'a>(name: &str, value: Val<'a>, mode: Rounding, of_double: fn(f64) -> f64) -> Result<Val<'a>> {
    Ok(match numeric_operand(name, &value)? {
        None => Val::NULL,
        Some(Number::Double(d)) => Val::Value(Value::Double(of_double(d))),
        Some(Number::Decimal(d)) => Val::Value(Value::Decimal128(match d.class() {
            // MongoDB rounds by quantizing to exponent 0, which infinities and what is too large do not survive.
            DecimalClass::Infinite(_) => nan(),
            _ => quantize(d, 0, mode),
        })),
        Some(_) => value,
    })
}

fn round<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    to_place("$round", scope, operands, Rounding::HalfEven)
}

fn trunc<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    to_place("$trunc", scope, operands, Rounding::TowardZero)
}

/// Rounds to a decimal place; a negative one counts before the point.
fn to_place<'a>(name: &str, scope: &Scope<'a>, operands: &'a [Node], mode: Rounding) -> Result<Val<'a>> {
    let [number, rest @ ..] = operands else {
        return Err(super::fold::wrong_operands(name));
    };
    let value = number.evaluate(scope)?;
    if value.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(number) = value.get().and_then(|v| Number::of(&v)) else {
        return fail(51081, format!("{name} takes numbers, not {}", type_name(&value)));
    };
    let place = match rest.first() {
        None => None,
        Some(place) => Some(place.evaluate(scope)?),
    };
    if place.as_ref().is_some_and(Val::is_nullish) {
        return Ok(Val::NULL);
    }
    let place = match &place {
        None => 0,
        Some(place) => read_place(name, place)?,
    };
    Ok(Val::from(match number {
        Number::Decimal(d) => Number::Decimal(match d.class() {
            DecimalClass::Finite { coefficient, exponent, .. } => {
                let quantized = quantize(d, -place, mode);
                // A number that cannot have so many places has as many as it can.
                let most = exponent - (34 - coefficient.checked_ilog10().map_or(1, |log| log as i32 + 1));
                if quantized.is_nan() { quantize(d, most, mode) } else { quantized }
            }
            _ => d,
        }),
        Number::Double(x) => Number::Double(round_double(x, place, mode)),
        _ if place >= 0 => number,
        Number::Int(n) => round_integer(name, i64::from(n), place, mode, Width::Int)?,
        Number::Long(n) => round_integer(name, n, place, mode, Width::Long)?,
    }))
}

fn read_place(name: &str, place: &Val<'_>) -> Result<i32> {
    let Some(n) = place.get().and_then(|v| v.as_exact_i64()) else {
        let code = match place.get() {
            Some(value) if is_beyond_integers(&value) => NO_INTEGER,
            Some(value) if value.kind().is_number() => 51082,
            _ => 16004,
        };
        return fail(code, format!("{name}'s place must be an integer, not {}", type_name(place)));
    };
    if i32::try_from(n).is_err() {
        return fail(51082, format!("{name}'s place must be a 32-bit integer"));
    }
    if !(-20..=100).contains(&n) {
        return fail(51083, format!("{name}'s place must lie between -20 and 100, not at {n}"));
    }
    Ok(n as i32)
}

/// Doubles are rounded by their exact decimal value.
fn round_double(x: f64, place: i32, mode: Rounding) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    if place == 0 {
        return if mode == Rounding::TowardZero { x.trunc() } else { x.round_ties_even() };
    }
    let exact = super::decimal::text::from_f64_34(x);
    let quantized = quantize(exact, -place, mode);
    if quantized.is_nan() {
        return x;
    }
    quantized.to_f64()
}

fn round_integer(name: &str, n: i64, place: i32, mode: Rounding, width: Width) -> Result<Number> {
    let rounded = quantize(from_i128(i128::from(n)), -place, mode);
    match rounded.as_exact_i64() {
        // MongoDB looks at the upper end only before it makes an int of it.
        Some(n) if width == Width::Int && n < i64::from(i32::MIN) => Ok(Number::Int(n as i32)),
        Some(n) => Ok(integer_result(i128::from(n), width)),
        None => fail(51080, format!("{name}: the result does not fit a long")),
    }
}
