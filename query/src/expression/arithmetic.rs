//! `$add`, `$subtract`, `$multiply`, `$divide`, `$mod`, `$abs`, powers, roots and logarithms.

use bindery_document::{Decimal, Error, Result, Value, code};

use super::decimal::arithmetic::{self as decimal, Rounding};
use super::decimal::elementary::{self, Elementary};
use super::decimal::power;
use super::decimal::text::to_i64;
use super::number::{Number, Width, decimal_of, integer_result};
use super::registry::{Arity, Entry, Folding};
use super::summation::Summation;
use super::{Node, Scope, Val, fail, nulls_first, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$add", Arity::Any, add).folding(Folding::Commutative),
    Entry::variadic("$multiply", Arity::Any, multiply).folding(Folding::Commutative),
    Entry::binary_from_right("$subtract", subtract),
    Entry::binary_from_right("$divide", divide),
    Entry::binary("$mod", modulo),
    Entry::unary("$abs", abs),
    Entry::unary("$sqrt", sqrt),
    Entry::binary("$pow", pow),
    Entry::unary("$exp", exp),
    Entry::unary("$ln", ln),
    Entry::unary("$log10", log10),
    Entry::binary("$log", log),
];

/// `$add`: numbers, and at most one date. The first null in order makes the sum null, unless something
/// that cannot be added comes before it.
fn add<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut sum = Summation::default();
    let mut has_date = false;
    let mut rest = operands;
    while let [operand, others @ ..] = rest {
        rest = others;
        let value = operand.evaluate(scope)?;
        match value.get() {
            None | Some(Value::Null | Value::Undefined) => return nulls_first::null(scope, rest),
            Some(Value::DateTime(ms)) => {
                if has_date {
                    let error = Error::new(16612, "only one date is allowed in $add");
                    return nulls_first::wrong_type(scope, rest, error);
                }
                has_date = true;
                sum.add_long(ms);
            }
            Some(other) if sum.add_value(&other) => {}
            Some(other) => {
                let what = if operands.len() == 1 { "$add of one value" } else { "$add" };
                let message = format!("{what} takes numbers and dates, not {}", other.kind().alias());
                return nulls_first::wrong_type(scope, rest, Error::new(16554, message));
            }
        }
    }
    if !has_date {
        let is_whole = sum.width() <= Width::Long;
        if scope.nulls_first() && operands.len() == 2 && is_whole && sum.long().is_none() {
            // MongoDB's other engine goes on in decimals where this one goes on in doubles, with two operands.
            return Ok(Val::from(Number::Decimal(sum.to_decimal())));
        }
        return Ok(Val::from(sum.total()));
    }
    let ms = if sum.width() == Width::Decimal { Some(wrapped_long(sum.to_decimal())) } else { sum.long() };
    match ms {
        Some(ms) => Ok(Val::Value(Value::DateTime(ms))),
        None => fail(code::OVERFLOW, "date overflow in $add"),
    }
}

pub(crate) fn add_numbers(a: Number, b: Number) -> Number {
    let mut sum = Summation::default();
    sum.add(a);
    sum.add(b);
    sum.total()
}

/// `$multiply`: a product of integers that outgrows a long goes on as a double.
fn multiply<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut product = Number::Int(1);
    let mut rest = operands;
    while let [operand, others @ ..] = rest {
        rest = others;
        let value = operand.evaluate(scope)?;
        if value.is_nullish() {
            return nulls_first::null(scope, rest);
        }
        let Some(factor) = value.get().and_then(|v| Number::of(&v)) else {
            let message = format!("$multiply takes numbers, not {}", type_name(&value));
            return nulls_first::wrong_type(scope, rest, Error::new(code::TYPE_MISMATCH, message));
        };
        product = match (product.integer(), factor.integer()) {
            (Some(x), Some(y)) if scope.nulls_first() && x.checked_mul(y).is_none() => {
                // As $add.
                Number::Decimal(decimal_of(i128::from(x) * i128::from(y)))
            }
            _ => multiply_numbers(product, factor),
        };
    }
    Ok(Val::from(product))
}

pub(crate) fn multiply_numbers(a: Number, b: Number) -> Number {
    let width = a.width().max(b.width());
    match (a.integer(), b.integer()) {
        (Some(x), Some(y)) => integer_result(i128::from(x) * i128::from(y), width),
        _ if width == Width::Decimal => Number::Decimal(decimal::multiply(a.to_decimal(), b.to_decimal())),
        _ => Number::Double(a.to_f64() * b.to_f64()),
    }
}

/// `$subtract`: numbers, dates (milliseconds apart), or a number of milliseconds from a date.
fn subtract<'a>(_: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    if left.is_nullish() || right.is_nullish() {
        return Ok(Val::NULL);
    }
    let (a, b) = (left.or_null(), right.or_null());
    match (a, b) {
        (Value::DateTime(x), Value::DateTime(y)) => {
            // Dates too far apart wrap around, as they do in MongoDB.
            return Ok(Val::Value(Value::Int64(x.wrapping_sub(y))));
        }
        (Value::DateTime(x), _) => {
            if let Some(number) = Number::of(&b) {
                return subtract_from_date(x, number);
            }
        }
        _ => {
            if let (Some(x), Some(y)) = (Number::of(&a), Number::of(&b)) {
                return Ok(Val::from(subtract_numbers(x, y)));
            }
        }
    }
    let message = format!("cannot $subtract {} from {}", type_name(&right), type_name(&left));
    fail(code::TYPE_MISMATCH, message)
}

pub(crate) fn subtract_numbers(x: Number, y: Number) -> Number {
    let width = x.width().max(y.width());
    match (x.integer(), y.integer()) {
        (Some(m), Some(n)) => integer_result(i128::from(m) - i128::from(n), width),
        _ if width == Width::Decimal => Number::Decimal(decimal::subtract(x.to_decimal(), y.to_decimal())),
        _ => Number::Double(x.to_f64() - y.to_f64()),
    }
}

pub(crate) fn subtract_from_date<'a>(ms: i64, number: Number) -> Result<Val<'a>> {
    let amount = match number {
        Number::Decimal(d) => Some(wrapped_long(d)),
        other => to_long(other),
    };
    let Some(amount) = amount else {
        return fail(31109, "cannot coerce the number to a long: out of range");
    };
    if amount == i64::MIN {
        return fail(code::DURATION_OVERFLOW, "cannot negate the least number of milliseconds");
    }
    match ms.checked_sub(amount) {
        Some(ms) => Ok(Val::Value(Value::DateTime(ms))),
        None => fail(code::OVERFLOW, "date overflow in $subtract"),
    }
}

/// A decimal as a number of milliseconds. What is out of range, and NaN, becomes the least long: MongoDB takes what its
/// decimal library leaves behind, without looking at the library's flags.
fn wrapped_long(d: Decimal) -> i64 {
    to_i64(d, Rounding::HalfEven).unwrap_or(i64::MIN)
}

/// A number as a long: doubles are cut, decimals rounded half to even; `None` out of range and for NaN.
pub(crate) fn to_long(number: Number) -> Option<i64> {
    match number {
        Number::Int(n) => Some(i64::from(n)),
        Number::Long(n) => Some(n),
        Number::Double(d) => Value::Double(d.trunc()).as_exact_i64(),
        Number::Decimal(d) => to_i64(d, Rounding::HalfEven),
    }
}

/// `$divide`: a double, or a decimal if one operand is.
fn divide<'a>(_: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    let (a, b) = (left.or_null(), right.or_null());
    if let (Some(x), Some(y)) = (Number::of(&a), Number::of(&b)) {
        if matches!(y, Number::Decimal(d) if d.is_zero()) || y.to_f64() == 0.0 && y.width() != Width::Decimal {
            return fail(code::BAD_VALUE, "cannot $divide by zero");
        }
        if x.width().max(y.width()) == Width::Decimal {
            return Ok(Val::Value(Value::Decimal128(decimal::divide(x.to_decimal(), y.to_decimal()))));
        }
        return Ok(Val::Value(Value::Double(x.to_f64() / y.to_f64())));
    }
    if left.is_nullish() || right.is_nullish() {
        return Ok(Val::NULL);
    }
    let message = format!("$divide takes numbers, not {} and {}", type_name(&left), type_name(&right));
    fail(code::TYPE_MISMATCH, message)
}

/// `$mod`: the remainder with the sign of the dividend. A double divisor that is an int does not make an
/// integer's remainder a double.
fn modulo<'a>(_: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    let (a, b) = (left.or_null(), right.or_null());
    let (Some(x), Some(y)) = (Number::of(&a), Number::of(&b)) else {
        if left.is_nullish() || right.is_nullish() {
            return Ok(Val::NULL);
        }
        let message = format!("$mod takes numbers, not {} and {}", type_name(&left), type_name(&right));
        return fail(16611, message);
    };
    if x.width() == Width::Decimal || y.width() == Width::Decimal {
        if y.to_decimal().is_zero() {
            return fail(5_733_415, "cannot $mod by zero");
        }
        return Ok(Val::Value(Value::Decimal128(decimal::remainder(x.to_decimal(), y.to_decimal()))));
    }
    if y.to_f64() == 0.0 {
        return fail(16610, "cannot $mod by zero");
    }
    let divisor = match y {
        Number::Double(d) => (d.fract() == 0.0 && (-2_147_483_648.0..2_147_483_648.0).contains(&d)).then_some(d as i64),
        other => other.integer(),
    };
    Ok(match (x.integer(), divisor) {
        (Some(n), Some(by)) => {
            let rest = n.wrapping_rem(by);
            let is_long = x.width() == Width::Long || y.width() == Width::Long;
            Val::from(integer_result(i128::from(rest), if is_long { Width::Long } else { Width::Int }))
        }
        _ => Val::Value(Value::Double(x.to_f64() % y.to_f64())),
    })
}

/// The number of a unary operator's operand; `None` for a null one.
///
/// # Errors
/// 28765 for anything else.
pub(super) fn numeric_operand(name: &str, value: &Val<'_>) -> Result<Option<Number>> {
    if value.is_nullish() {
        return Ok(None);
    }
    match value.get().and_then(|v| Number::of(&v)) {
        Some(number) => Ok(Some(number)),
        None => fail(28765, format!("{name} takes numbers, not {}", type_name(value))),
    }
}

fn abs<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(match numeric_operand("$abs", &value)? {
        None => Val::NULL,
        Some(Number::Int(n)) => Val::from(integer_result(i128::from(n).abs(), Width::Int)),
        Some(Number::Long(i64::MIN)) => return fail(28680, "cannot take $abs of the least long"),
        Some(Number::Long(n)) => Val::Value(Value::Int64(n.abs())),
        Some(Number::Double(d)) => Val::Value(Value::Double(d.abs())),
        Some(Number::Decimal(d)) => Val::Value(Value::Decimal128(super::decimal::abs(d))),
    })
}

fn sqrt<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    let Some(number) = numeric_operand("$sqrt", &value)? else {
        return Ok(Val::NULL);
    };
    if let Number::Decimal(d) = number {
        if d.compare(Decimal::from_i64(0)).is_lt() && !d.is_nan() {
            return fail(28714, "$sqrt takes no negative numbers");
        }
        return Ok(Val::Value(Value::Decimal128(decimal::sqrt(d))));
    }
    let x = number.to_f64();
    if x < 0.0 {
        return fail(28714, "$sqrt takes no negative numbers");
    }
    Ok(Val::Value(Value::Double(x.sqrt())))
}

fn exp<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(match numeric_operand("$exp", &value)? {
        None => Val::NULL,
        Some(Number::Decimal(d)) => Val::Value(Value::Decimal128(elementary::evaluate(Elementary::Exp, d))),
        Some(number) => Val::Value(Value::Double(number.to_f64().exp())),
    })
}

fn ln<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    logarithm("$ln", 28766, &value, Elementary::Ln, f64::ln)
}

fn log10<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    logarithm("$log10", 28761, &value, Elementary::Log10, f64::log10)
}

fn is_positive(number: Number) -> bool {
    match number {
        Number::Decimal(d) => d.compare(Decimal::from_i64(0)).is_gt(),
        other => other.to_f64() > 0.0,
    }
}

fn logarithm<'a>(
    name: &str,
    domain_code: i32,
    value: &Val<'_>,
    function: Elementary,
    of_double: fn(f64) -> f64,
) -> Result<Val<'a>> {
    let Some(number) = numeric_operand(name, value)? else {
        return Ok(Val::NULL);
    };
    if number.is_nan() {
        // Of a decimal NaN, too, MongoDB makes a double.
        return Ok(Val::Value(Value::Double(f64::NAN)));
    }
    if !is_positive(number) {
        return fail(domain_code, format!("{name} takes positive numbers"));
    }
    Ok(match number {
        Number::Decimal(d) => Val::Value(Value::Decimal128(elementary::evaluate(function, d))),
        other => Val::Value(Value::Double(of_double(other.to_f64()))),
    })
}

/// `$log`: the logarithm of the first operand to the base of the second.
fn log<'a>(_: &Scope<'a>, argument: Val<'a>, base: Val<'a>) -> Result<Val<'a>> {
    if argument.is_nullish() || base.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(x) = argument.get().and_then(|v| Number::of(&v)) else {
        return fail(28756, format!("$log's argument must be a number, not {}", type_name(&argument)));
    };
    let Some(b) = base.get().and_then(|v| Number::of(&v)) else {
        return fail(28757, format!("$log's base must be a number, not {}", type_name(&base)));
    };
    if !x.is_nan() && !is_positive(x) {
        return fail(28758, "$log's argument must be positive");
    }
    let base_is_one = match b {
        Number::Decimal(d) => d.compare(Decimal::from_i64(1)).is_eq(),
        other => other.to_f64() == 1.0,
    };
    if !b.is_nan() && (!is_positive(b) || base_is_one) {
        return fail(28759, "$log's base must be positive and not 1");
    }
    if x.is_nan() || b.is_nan() {
        return Ok(Val::Value(Value::Double(f64::NAN)));
    }
    if x.width() == Width::Decimal || b.width() == Width::Decimal {
        return Ok(Val::Value(Value::Decimal128(decimal_log(x.to_decimal(), b.to_decimal()))));
    }
    Ok(Val::Value(Value::Double(x.to_f64().ln() / b.to_f64().ln())))
}

/// The logarithm of a decimal. For bases other than 2 and 10, MongoDB 6.0 divides the natural logarithm by the
/// base itself, not by its logarithm; the answers are kept.
fn decimal_log(x: Decimal, base: Decimal) -> Decimal {
    if base.compare(Decimal::from_i64(2)).is_eq() {
        elementary::evaluate(Elementary::Log2, x)
    } else if base.compare(Decimal::from_i64(10)).is_eq() {
        elementary::evaluate(Elementary::Log10, x)
    } else {
        decimal::divide(elementary::evaluate(Elementary::Ln, x), base)
    }
}

/// `$pow`: integers stay integers while the result is exact and fits a long.
fn pow<'a>(_: &Scope<'a>, base: Val<'a>, exponent: Val<'a>) -> Result<Val<'a>> {
    if base.is_nullish() || exponent.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(x) = base.get().and_then(|v| Number::of(&v)) else {
        return fail(28762, format!("$pow's base must be a number, not {}", type_name(&base)));
    };
    let Some(y) = exponent.get().and_then(|v| Number::of(&v)) else {
        return fail(28763, format!("$pow's exponent must be a number, not {}", type_name(&exponent)));
    };
    let width = x.width().max(y.width());
    let (base_is_zero, exponent_is_negative) = if width == Width::Decimal {
        // A negative zero is negative, too, and so is what is not a number with a sign.
        (x.to_decimal().is_zero(), y.to_decimal().to_bytes()[15] & 0x80 != 0)
    } else {
        (x.to_f64() == 0.0, y.to_f64() < 0.0)
    };
    if base_is_zero && exponent_is_negative {
        return fail(28764, "$pow takes no base of 0 with a negative exponent");
    }
    if width == Width::Decimal {
        return Ok(Val::Value(Value::Decimal128(power::power(x.to_decimal(), y.to_decimal()))));
    }
    if let (Some(b), Some(e)) = (x.integer(), y.integer())
        && let Some(result) = integer_power(b, e)
    {
        return Ok(Val::from(integer_result(result, width)));
    }
    Ok(Val::Value(Value::Double(x.to_f64().powf(y.to_f64()))))
}

/// The power if it is an integer of 64 bits.
fn integer_power(base: i64, exponent: i64) -> Option<i128> {
    match base {
        1 => return Some(1),
        -1 => return Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => {}
    }
    let result = i128::from(base).checked_pow(u32::try_from(exponent).ok()?)?;
    i64::try_from(result).ok().map(i128::from)
}
