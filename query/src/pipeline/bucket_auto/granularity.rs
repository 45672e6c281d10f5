//! Preferred numbers: the series that bucket boundaries can be rounded to.
//!
//! Sources: ISO 3 (Renard series R5 to R80), IEC 60063 (E series), MongoDB's manual, "`$bucketAuto`".

use bindery_document::Value;

/// A series of preferred numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granularity {
    /// Every nth number of R80.
    Renard(usize),
    /// Every nth number of E192.
    Fine(usize),
    /// Every nth number of E24.
    Coarse(usize),
    /// 1, 2, 5.
    OneTwoFive,
    /// Powers of two.
    PowersOfTwo,
}

const R80: [u16; 80] = [
    100, 103, 106, 109, 112, 115, 118, 122, 125, 128, 132, 136, 140, 145, 150, 155, 160, 165, 170, 175, 180, 185, 190,
    195, 200, 206, 212, 218, 224, 230, 236, 243, 250, 258, 265, 272, 280, 290, 300, 307, 315, 325, 335, 345, 355, 365,
    375, 387, 400, 412, 425, 437, 450, 462, 475, 487, 500, 515, 530, 545, 560, 580, 600, 615, 630, 650, 670, 690, 710,
    730, 750, 775, 800, 825, 850, 875, 900, 925, 950, 975,
];

const E24: [u16; 24] = [
    100, 110, 120, 130, 150, 160, 180, 200, 220, 240, 270, 300, 330, 360, 390, 430, 470, 510, 560, 620, 680, 750, 820,
    910,
];

impl Granularity {
    /// The series of this name.
    pub(super) fn parse(name: &str) -> Option<Granularity> {
        Some(match name {
            "R5" => Granularity::Renard(16),
            "R10" => Granularity::Renard(8),
            "R20" => Granularity::Renard(4),
            "R40" => Granularity::Renard(2),
            "R80" => Granularity::Renard(1),
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

    /// The numbers from 100 to below 1000.
    fn series(self) -> Vec<f64> {
        match self {
            // MongoDB's finest series lacks the power of ten.
            Granularity::Renard(1) => R80.iter().skip(1).map(|n| f64::from(*n)).collect(),
            Granularity::Renard(step) => R80.iter().step_by(step).map(|n| f64::from(*n)).collect(),
            Granularity::Coarse(step) => E24.iter().step_by(step).map(|n| f64::from(*n)).collect(),
            Granularity::Fine(step) => (0..192).step_by(step).map(e192).collect(),
            Granularity::OneTwoFive => vec![100.0, 200.0, 500.0],
            Granularity::PowersOfTwo => Vec::new(),
        }
    }

    /// The least number of the series above a positive one; zero stays.
    pub(super) fn round_up(self, value: Value<'_>) -> Value<'static> {
        let x = value.as_f64().unwrap_or(0.0);
        if x == 0.0 {
            return Value::Int32(0);
        }
        if self == Granularity::PowersOfTwo {
            return power_of_two(x.log2().floor() as i32 + 1);
        }
        let series = self.series();
        let scale = scale_of(x);
        let first = series.first().copied().unwrap_or(100.0);
        let above = series.iter().map(|n| n * scale).find(|n| *n > x);
        Value::Double(above.unwrap_or(first * scale * 10.0))
    }

    /// The greatest number of the series below a positive one; zero stays.
    pub(super) fn round_down(self, value: Value<'_>) -> Value<'static> {
        let x = value.as_f64().unwrap_or(0.0);
        if x == 0.0 {
            return Value::Int32(0);
        }
        if self == Granularity::PowersOfTwo {
            return power_of_two(x.log2().ceil() as i32 - 1);
        }
        let series = self.series();
        let scale = scale_of(x);
        let below = series.iter().rev().map(|n| n * scale).find(|n| *n < x);
        let last = series.last().copied().unwrap_or(100.0);
        Value::Double(below.unwrap_or(last * scale / 10.0))
    }
}

/// The numbers of E192 are the powers of the 192nd root of ten, to three digits; the standard has one exception.
fn e192(index: usize) -> f64 {
    if index == 185 { 920.0 } else { (100.0 * 10f64.powf(index as f64 / 192.0)).round() }
}

/// What brings a number from 100 to below 1000 to the size of `x`.
fn scale_of(x: f64) -> f64 {
    let mut scale = 1.0;
    while x >= 1000.0 * scale {
        scale *= 10.0;
    }
    while x < 100.0 * scale {
        scale /= 10.0;
    }
    scale
}

fn power_of_two(exponent: i32) -> Value<'static> {
    match exponent {
        0..=30 => Value::Int32(1 << exponent),
        31..=62 => Value::Int64(1 << exponent),
        _ => Value::Double(f64::from(exponent).exp2()),
    }
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
