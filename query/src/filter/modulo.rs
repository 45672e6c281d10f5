//! `$mod`: the remainder of an integer division. Both sides are cut to whole numbers first.

use bindery_document::{Decimal, DecimalClass, Element, Error, Path, Result, Value, code};

use super::Filter;

/// `$mod` on what a path leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Modulo {
    /// Where the values are.
    pub path: Path,
    /// What is divided by; never zero.
    pub divisor: i64,
    /// The remainder that passes, with the sign of the dividend.
    pub remainder: i64,
}

impl Modulo {
    /// Whether one element passes: numbers within 64 bits only.
    pub(super) fn accepts(&self, element: Option<Element<'_>>) -> bool {
        element.filter(|element| element.kind.is_number()).and_then(|element| whole(&element.value())).is_some_and(
            // The least integer divided by -1 overflows, with remainder zero.
            |dividend| dividend.checked_rem(self.divisor).unwrap_or(0) == self.remainder,
        )
    }
}

/// A number without its fraction; `None` for what is no number or exceeds 64 bits.
fn whole(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        Value::Double(d) => Value::Double(d.trunc()).as_exact_i64(),
        Value::Decimal128(d) => whole_decimal(*d),
        _ => None,
    }
}

fn whole_decimal(decimal: Decimal) -> Option<i64> {
    let DecimalClass::Finite { negative, coefficient, exponent } = decimal.class() else {
        return None;
    };
    if exponent >= 0 {
        return decimal.as_exact_i64();
    }
    // Beyond 34 digits nothing is left of the coefficient.
    let coefficient = 10u128.checked_pow(exponent.unsigned_abs()).map_or(0, |scale| coefficient / scale);
    let magnitude = i128::try_from(coefficient).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// Parses `[divisor, remainder]`.
///
/// # Errors
/// Code 2 for anything but two numbers of 64 bits, the first not zero.
pub(super) fn parse(path: Path, operand: Value<'_>) -> Result<Filter> {
    let malformed = |why: &str| Error::new(code::BAD_VALUE, format!("malformed $mod: {why}"));
    let Value::Array(members) = operand else {
        return Err(malformed("it needs an array"));
    };
    let mut members = members.iter();
    let (Some(divisor), Some(remainder), None) = (members.next(), members.next(), members.next()) else {
        return Err(malformed("it needs a divisor and a remainder"));
    };
    let divisor = whole(&divisor.value()).ok_or_else(|| malformed("the divisor is no number of 64 bits"))?;
    let remainder = whole(&remainder.value()).ok_or_else(|| malformed("the remainder is no number of 64 bits"))?;
    if divisor == 0 {
        return Err(malformed("the divisor cannot be 0"));
    }
    Ok(Filter::Mod(Modulo { path, divisor, remainder }))
}
