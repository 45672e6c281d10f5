//! Sums and products of numbers of any types, as `$inc` and `$mul` mean them.
//!
//! The result has the wider of the two types; two 32-bit integers may give one of 64 bits, 64 bits never
//! overflow into a double. A double that meets a decimal counts with its 15 leading digits. (In expressions
//! 64 bits do overflow into a double; so their operators cannot be used here.)

use bindery_document::{Decimal, Value};

use crate::expression::decimal;

/// The sum; `None` if it does not fit 64 bits.
pub(super) fn add(a: Value<'_>, b: Value<'_>) -> Option<Value<'static>> {
    Some(match pair(a, b) {
        Pair::Int32(x, y) => integer(i64::from(x) + i64::from(y)),
        Pair::Int64(x, y) => Value::Int64(x.checked_add(y)?),
        Pair::Double(x, y) => Value::Double(x + y),
        Pair::Decimal(x, y) => Value::Decimal128(decimal::arithmetic::add(x, y)),
    })
}

/// The product; `None` if it does not fit 64 bits.
pub(super) fn multiply(a: Value<'_>, b: Value<'_>) -> Option<Value<'static>> {
    Some(match pair(a, b) {
        Pair::Int32(x, y) => integer(i64::from(x) * i64::from(y)),
        Pair::Int64(x, y) => Value::Int64(x.checked_mul(y)?),
        Pair::Double(x, y) => Value::Double(x * y),
        Pair::Decimal(x, y) => Value::Decimal128(decimal::arithmetic::multiply(x, y)),
    })
}

/// Whether a result changes nothing: same type and equal. NaN is not equal to itself here, zeros of either
/// sign are, and so are decimals of equal value.
pub(super) fn is_same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Int32(x), Value::Int32(y)) => x == y,
        (Value::Int64(x), Value::Int64(y)) => x == y,
        (Value::Double(x), Value::Double(y)) => x == y,
        (Value::Decimal128(x), Value::Decimal128(y)) => !x.is_nan() && x.compare(*y).is_eq(),
        _ => false,
    }
}

enum Pair {
    Int32(i32, i32),
    Int64(i64, i64),
    Double(f64, f64),
    Decimal(Decimal, Decimal),
}

/// Two numbers in the wider of their types.
fn pair(a: Value<'_>, b: Value<'_>) -> Pair {
    let long = |value: Value<'_>| match value {
        Value::Int32(n) => i64::from(n),
        Value::Int64(n) => n,
        _ => 0,
    };
    match (a, b) {
        (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => Pair::Decimal(to_decimal(a), to_decimal(b)),
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            Pair::Double(a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN))
        }
        (Value::Int32(x), Value::Int32(y)) => Pair::Int32(x, y),
        _ => Pair::Int64(long(a), long(b)),
    }
}

/// The narrowest integer type that holds it.
fn integer(n: i64) -> Value<'static> {
    i32::try_from(n).map_or(Value::Int64(n), Value::Int32)
}

/// A number as a decimal; a double with 15 digits.
fn to_decimal(value: Value<'_>) -> Decimal {
    match value {
        Value::Decimal128(d) => d,
        Value::Int32(n) => Decimal::from_i64(i64::from(n)),
        Value::Int64(n) => Decimal::from_i64(n),
        Value::Double(d) => decimal::text::from_f64_15(d),
        _ => decimal::nan(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Value<'static> {
        Value::Decimal128(Decimal::from_bytes(text.parse::<bson::Decimal128>().expect("decimal").bytes()))
    }

    fn text(value: Option<Value<'_>>) -> String {
        match value {
            Some(Value::Decimal128(d)) => format!("{d:?}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn integers_widen_and_overflow() {
        assert!(matches!(add(Value::Int32(i32::MAX), Value::Int32(1)), Some(Value::Int64(2_147_483_648))));
        assert!(matches!(add(Value::Int64(1), Value::Int32(2)), Some(Value::Int64(3))));
        assert!(add(Value::Int64(i64::MAX), Value::Int32(1)).is_none());
        assert!(multiply(Value::Int64(i64::MIN), Value::Int32(-1)).is_none());
        assert!(matches!(add(Value::Int64(i64::MAX), Value::Double(1.0)), Some(Value::Double(_))));
    }

    /// Answers of MongoDB 6.0.5.
    #[test]
    fn decimals_as_the_server_computes_them() {
        let double = |d: f64| Value::Double(d);
        let sums = [
            (double(1.5), decimal("2.50"), "4.00000000000000"),
            (decimal("1.10"), decimal("2.2"), "3.30"),
            (double(0.1), decimal("1"), "1.100000000000000"),
            (double(0.0), decimal("2.50"), "2.50"),
            (double(1e20), decimal("2.50"), "100000000000000000002.50"),
            (double(1e-20), decimal("2.50"), "2.500000000000000000010000000000000"),
            (decimal("9999999999999999999999999999999999"), decimal("0.6"), "1.000000000000000000000000000000000E+34"),
            (decimal("Infinity"), decimal("-Infinity"), "NaN"),
            (decimal("1"), decimal("1E-6000"), "1.000000000000000000000000000000000"),
        ];
        for (a, b, expected) in sums {
            assert_eq!(text(add(a, b)), expected, "{a:?} + {b:?}");
        }
        let products = [
            (decimal("2.50"), decimal("2.50"), "6.2500"),
            (double(0.1 + 0.2), decimal("1"), "0.300000000000000"),
            (double(1.0 / 3.0), decimal("3.0"), "0.9999999999999990"),
            (decimal("9E6144"), Value::Int32(10), "Infinity"),
            (decimal("1E-6170"), decimal("1E-10"), "0E-6176"),
            (Value::Int32(0), decimal("-1E5"), "-0E+5"),
            (Value::Int32(0), decimal("Infinity"), "NaN"),
        ];
        for (a, b, expected) in products {
            assert_eq!(text(multiply(a, b)), expected, "{a:?} * {b:?}");
        }
    }

    #[test]
    fn what_counts_as_no_change() {
        assert!(is_same(&Value::Double(0.0), &Value::Double(-0.0)));
        assert!(!is_same(&Value::Double(f64::NAN), &Value::Double(f64::NAN)));
        assert!(is_same(&decimal("1.0"), &decimal("1.00")));
        assert!(!is_same(&Value::Int32(1), &Value::Int64(1)));
    }
}
