//! Preferred numbers: the series that bucket boundaries can be rounded to.
//!
//! Sources: ISO 3 (Renard series R5 to R80), IEC 60063 (E series), MongoDB's manual, "`$bucketAuto`".

use std::cmp::Ordering;

use bindery_document::{Decimal, Value, order::compare};

use crate::expression::decimal::arithmetic;
use crate::expression::decimal::power::power;
use crate::expression::decimal::text::from_f64_15;

/// A series of preferred numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granularity {
    /// R5, with two digits.
    Renard5,
    /// Every nth number of R20.
    Renard(usize),
    /// R40, and MongoDB's R80.
    Renard40,
    Renard80,
    /// Every nth number of E192.
    Fine(usize),
    /// Every nth number of E24.
    Coarse(usize),
    /// 1, 2, 5.
    OneTwoFive,
    /// Powers of two.
    PowersOfTwo,
}

/// The Renard series R40, and what MongoDB 6.0 has as R80: every second number of R80, without the powers of ten, and with
/// one number of its own.
const R40: [u16; 39] = [
    100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212, 224, 236, 250, 265, 280, 300, 315, 355, 375,
    400, 425, 450, 475, 500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950,
];

const R80: [u16; 40] = [
    103, 109, 115, 122, 128, 136, 145, 155, 165, 175, 185, 195, 206, 218, 230, 243, 258, 272, 290, 307, 325, 345, 365,
    387, 412, 437, 462, 487, 515, 545, 575, 615, 650, 690, 730, 775, 825, 875, 925, 975,
];

const R20: [u16; 20] =
    [100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900];

const E24: [u16; 24] = [10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91];

impl Granularity {
    /// The series of this name.
    pub(super) fn parse(name: &str) -> Option<Granularity> {
        Some(match name {
            "R5" => Granularity::Renard5,
            "R10" => Granularity::Renard(2),
            "R20" => Granularity::Renard(1),
            "R40" => Granularity::Renard40,
            "R80" => Granularity::Renard80,
            "E6" => Granularity::Coarse(4),
            "E12" => Granularity::Coarse(2),
            "E24" => Granularity::Coarse(1),
            "E48" => Granularity::Fine(4),
            "E96" => Granularity::Fine(2),
            "E192" => Granularity::Fine(1),
            "1-2-5" => Granularity::OneTwoFive,
            "POWERSOF2" => Granularity::PowersOfTwo,
            _ => return None,
        })
    }

    /// The numbers of one power of ten, whole and ascending.
    fn series(self) -> Vec<f64> {
        let every = |numbers: &[u16], step: usize| numbers.iter().step_by(step).map(|n| f64::from(*n)).collect();
        match self {
            Granularity::Renard5 => vec![10.0, 16.0, 25.0, 40.0, 63.0],
            Granularity::Renard(step) => every(&R20, step),
            Granularity::Renard40 => every(&R40, 1),
            Granularity::Renard80 => every(&R80, 1),
            Granularity::Coarse(step) => every(&E24, step),
            Granularity::Fine(step) => (0..192).step_by(step).map(e192).collect(),
            Granularity::OneTwoFive => vec![10.0, 20.0, 50.0],
            Granularity::PowersOfTwo => Vec::new(),
        }
    }

    /// The least number of the series above a positive one; zero stays.
    pub(super) fn round_up(self, value: Value<'_>) -> Value<'static> {
        let x = Size::of(&value);
        if x.is_zero() {
            return Value::Int32(0);
        }
        if self == Granularity::PowersOfTwo {
            return x.power_of_two(x.to_f64().log2().floor() as i32 + 1);
        }
        let series = self.series();
        let (first, last) = ends(&series);
        let mut scale = x.one();
        while x >= scale.times(last) {
            scale = scale.up();
        }
        let mut least = None;
        while x < scale.times(first) {
            least = Some(scale.times(first));
            scale = scale.down();
        }
        // Between the last number of one power and the first of the next.
        let above = series.iter().map(|n| scale.times(*n)).find(|n| *n > x);
        above.or(least).unwrap_or_else(|| scale.up().times(first)).value()
    }

    /// The greatest number of the series below a positive one; zero stays.
    pub(super) fn round_down(self, value: Value<'_>) -> Value<'static> {
        let x = Size::of(&value);
        if x.is_zero() {
            return Value::Int32(0);
        }
        if self == Granularity::PowersOfTwo {
            return x.power_of_two(x.to_f64().log2().ceil() as i32 - 1);
        }
        let series = self.series();
        let (first, last) = ends(&series);
        let mut scale = x.one();
        while x <= scale.times(first) {
            scale = scale.down();
        }
        let mut greatest = None;
        while x > scale.times(last) {
            greatest = Some(scale.times(last));
            scale = scale.up();
        }
        let below = series.iter().rev().map(|n| scale.times(*n)).find(|n| *n < x);
        below.or(greatest).unwrap_or_else(|| scale.down().times(last)).value()
    }
}

fn ends(series: &[f64]) -> (f64, f64) {
    (series.first().copied().unwrap_or(1.0), series.last().copied().unwrap_or(1.0))
}

/// A number to be rounded, or a bound. Decimals are rounded to decimals.
#[derive(Clone, Copy)]
enum Size {
    Double(f64),
    Decimal(Decimal),
}

impl Size {
    fn of(value: &Value<'_>) -> Size {
        match value {
            Value::Decimal128(decimal) => Size::Decimal(*decimal),
            other => Size::Double(other.as_f64().unwrap_or(0.0)),
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Size::Double(x) => x,
            Size::Decimal(x) => x.to_f64(),
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Size::Double(x) => x == 0.0,
            Size::Decimal(x) => x.is_zero(),
        }
    }

    /// One, of the same type.
    fn one(self) -> Size {
        match self {
            Size::Double(_) => Size::Double(1.0),
            Size::Decimal(_) => Size::Decimal(Decimal::from_i64(1)),
        }
    }

    fn up(self) -> Size {
        match self {
            Size::Double(x) => Size::Double(x * 10.0),
            Size::Decimal(x) => Size::Decimal(arithmetic::multiply(x, Decimal::from_i64(10))),
        }
    }

    fn down(self) -> Size {
        match self {
            Size::Double(x) => Size::Double(x / 10.0),
            Size::Decimal(x) => Size::Decimal(arithmetic::divide(x, Decimal::from_i64(10))),
        }
    }

    /// A number of a series at this scale; decimals have fifteen digits.
    fn times(self, n: f64) -> Size {
        match self {
            Size::Double(scale) => Size::Double(n * scale),
            Size::Decimal(scale) => Size::Decimal(arithmetic::multiply(from_f64_15(n), scale)),
        }
    }

    /// A power of two in the type of this number, in that of integers if it is none of decimals.
    fn power_of_two(self, exponent: i32) -> Value<'static> {
        match (self, exponent) {
            (Size::Decimal(_), _) => {
                let exponent = Decimal::from_i64(i64::from(exponent));
                Value::Decimal128(power(Decimal::from_i64(2), exponent))
            }
            (_, 0..=30) => Value::Int32(1 << exponent),
            (_, 31..=62) => Value::Int64(1 << exponent),
            _ => Value::Double(f64::from(exponent).exp2()),
        }
    }

    fn value(self) -> Value<'static> {
        match self {
            Size::Double(x) => Value::Double(x),
            Size::Decimal(x) => Value::Decimal128(x),
        }
    }
}

impl PartialEq for Size {
    fn eq(&self, other: &Size) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Size {
    fn partial_cmp(&self, other: &Size) -> Option<Ordering> {
        Some(compare(&self.value(), &other.value()))
    }
}

/// The numbers of E192 are the powers of the 192nd root of ten, to three digits; the standard has one exception.
fn e192(index: usize) -> f64 {
    if index == 185 { 920.0 } else { (100.0 * 10f64.powf(index as f64 / 192.0)).round() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_strictly_above_and_below() {
        let r20 = Granularity::parse("R20").expect("series");
        assert!(matches!(r20.round_down(Value::Double(0.4)), Value::Double(d) if (d - 0.355).abs() < 1e-12));
        assert!(matches!(r20.round_up(Value::Double(0.4)), Value::Double(d) if (d - 0.45).abs() < 1e-12));
        let powers = Granularity::parse("POWERSOF2").expect("series");
        assert!(matches!(powers.round_up(Value::Int32(4)), Value::Int32(8)));
        assert!(matches!(powers.round_down(Value::Double(0.4)), Value::Double(0.25)));
    }
}
