//! `$bitsAllSet`, `$bitsAllClear`, `$bitsAnySet`, `$bitsAnyClear`.
//!
//! Integers are seen in two's complement, as wide as one asks: bits from 63 on are the sign. Binary
//! data counts from the lowest bit of its first byte, and is clear beyond its end.

use bindery_document::{Decimal, DecimalClass, Element, Error, Path, Result, Value, code};

use super::Filter;

/// Which bit test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bits {
    /// Every bit is 1.
    AllSet,
    /// Every bit is 0.
    AllClear,
    /// Some bit is 1.
    AnySet,
    /// Some bit is 0.
    AnyClear,
}

impl Bits {
    /// The operator's name in queries.
    pub fn name(self) -> &'static str {
        match self {
            Bits::AllSet => "$bitsAllSet",
            Bits::AllClear => "$bitsAllClear",
            Bits::AnySet => "$bitsAnySet",
            Bits::AnyClear => "$bitsAnyClear",
        }
    }

    fn decide(self, mut bits: impl Iterator<Item = bool>) -> bool {
        match self {
            Bits::AllSet => bits.all(|bit| bit),
            Bits::AllClear => bits.all(|bit| !bit),
            Bits::AnySet => bits.any(|bit| bit),
            Bits::AnyClear => bits.any(|bit| !bit),
        }
    }
}

/// A bit test on what a path leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct BitTest {
    /// Where the values are.
    pub path: Path,
    /// Which test.
    pub test: Bits,
    /// The positions of the bits asked for.
    pub positions: Vec<u32>,
}

impl BitTest {
    /// Whether one element passes: integers (of any number type, within 64 bits) and binary data.
    pub(super) fn accepts(&self, element: Option<Element<'_>>) -> bool {
        match element.map(|element| element.value()) {
            Some(Value::Binary { bytes, .. }) => self.test.decide(self.positions.iter().map(|&position| {
                let byte = bytes.get(position as usize / 8).copied().unwrap_or(0);
                byte >> (position % 8) & 1 == 1
            })),
            Some(Value::Decimal128(decimal)) => self.accepts_integer(rounded(decimal)),
            Some(value) => value.as_exact_i64().is_some_and(|number| self.accepts_integer(number)),
            None => false,
        }
    }

    fn accepts_integer(&self, number: i64) -> bool {
        self.test.decide(self.positions.iter().map(|&position| number >> position.min(63) & 1 == 1))
    }
}

/// A decimal as the nearest integer, ties to even; the least integer for what is not within 64 bits. So
/// MongoDB takes decimals here, while doubles with a fraction never match.
fn rounded(decimal: Decimal) -> i64 {
    let DecimalClass::Finite { negative, coefficient, exponent } = decimal.class() else {
        return i64::MIN;
    };
    if exponent >= 0 {
        return decimal.as_exact_i64().unwrap_or(i64::MIN);
    }
    // Beyond 34 digits nothing is left, not even a half.
    let Some(scale) = 10u128.checked_pow(exponent.unsigned_abs()) else {
        return 0;
    };
    let (whole, rest) = (coefficient / scale, coefficient % scale);
    let up = rest > scale - rest || (rest == scale - rest && whole % 2 == 1);
    let magnitude = whole as i128 + i128::from(up);
    i64::try_from(if negative { -magnitude } else { magnitude }).unwrap_or(i64::MIN)
}

/// Parses a bit mask, an array of positions, or binary data.
///
/// # Errors
/// Code 9 for a mask that is negative or no integer of 64 bits, 2 for other operands and positions.
pub(super) fn parse(path: Path, test: Bits, operand: Value<'_>) -> Result<Filter> {
    let positions = match operand {
        Value::Array(members) => members
            .iter()
            .map(|member| {
                let position = member.value().as_exact_i64().and_then(|n| i32::try_from(n).ok());
                position.and_then(|n| u32::try_from(n).ok()).ok_or_else(|| {
                    Error::new(code::BAD_VALUE, format!("{}: bit positions are integers from 0", test.name()))
                })
            })
            .collect::<Result<Vec<u32>>>()?,
        Value::Binary { bytes, .. } => {
            let bits =
                (0u32..).zip(bytes).flat_map(|(at, byte)| (0..8).map(move |bit| (at * 8 + bit, byte >> bit & 1)));
            bits.filter(|(_, bit)| *bit == 1).map(|(position, _)| position).collect()
        }
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            match operand.as_exact_i64().filter(|mask| *mask >= 0) {
                Some(mask) => (0..63).filter(|bit| mask >> bit & 1 == 1).collect(),
                None => {
                    let why = format!("{} needs a mask that is an integer and not negative", test.name());
                    return Err(Error::new(code::FAILED_TO_PARSE, why));
                }
            }
        }
        _ => {
            let why = format!("{} takes an array of positions, a number or binary data", test.name());
            return Err(Error::new(code::BAD_VALUE, why));
        }
    };
    Ok(Filter::Bits(BitTest { path, test, positions }))
}
