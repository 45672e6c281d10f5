//! Sums of numbers: compensated for doubles, exact for integers, decimal as soon as one operand is.
//!
//! The state is an unevaluated sum of two doubles (Knuth's TwoSum), into which integers go as two halves,
//! so that nothing below 106 bits is lost. MongoDB reads only the leading double of the pair, which shows:
//! the sum of 1e16, 1, -1e16 is 0, though 1 waits in the second double.

use bindery_document::{Decimal, Value};

use super::decimal::{arithmetic, text::from_f64_34};
use super::number::{Number, Width};

/// A running sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summation {
    sum: f64,
    addend: f64,
    /// The plain sum, which knows infinities where the compensated one has only NaN.
    special: f64,
    decimal: Option<Decimal>,
    width: Width,
}

impl Default for Summation {
    fn default() -> Summation {
        Summation { sum: 0.0, addend: 0.0, special: 0.0, decimal: None, width: Width::Int }
    }
}

impl Summation {
    /// Adds a number.
    #[inline]
    pub(crate) fn add(&mut self, number: Number) {
        self.width = self.width.max(number.width());
        match number {
            Number::Int(n) => self.add_double(f64::from(n)),
            Number::Long(n) => self.add_long(n),
            Number::Double(d) => self.add_double(d),
            Number::Decimal(d) => self.decimal = Some(self.decimal.map_or(d, |sum| arithmetic::add(sum, d))),
        }
    }

    /// Adds a value if it is a number, and says so.
    #[inline]
    pub(crate) fn add_value(&mut self, value: &Value<'_>) -> bool {
        match Number::of(value) {
            Some(number) => {
                self.add(number);
                true
            }
            None => false,
        }
    }

    #[inline]
    fn add_double(&mut self, x: f64) {
        self.special += x;
        let (x, lost) = two_sum(x, self.addend);
        let (sum, addend) = two_sum(self.sum, x);
        self.sum = sum;
        self.addend = addend + lost;
    }

    /// Adds milliseconds without widening the type.
    pub(crate) fn add_long(&mut self, n: i64) {
        let high = n / (1 << 32) * (1 << 32);
        self.add_double((n - high) as f64);
        self.add_double(high as f64);
    }

    /// The widest type seen.
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// The sum without its decimals, as a double.
    pub(crate) fn double(&self) -> f64 {
        if self.sum.is_nan() { self.special } else { self.sum }
    }

    /// The sum as a decimal.
    pub(crate) fn to_decimal(self) -> Decimal {
        let doubles = if self.sum.is_finite() {
            arithmetic::add(from_f64_34(self.sum), from_f64_34(self.addend))
        } else {
            from_f64_34(self.double())
        };
        self.decimal.map_or(doubles, |decimal| arithmetic::add(decimal, doubles))
    }

    /// The sum without its decimals as an integer; `None` if it does not fit 64 bits.
    pub(crate) fn long(&self) -> Option<i64> {
        let total = self.sum + self.addend;
        if !total.is_finite() || total.abs() > 9.3e18 {
            return None;
        }
        // Rounded twice, as MongoDB does it: a half goes up and comes down again.
        let whole = self.sum.round();
        let rest = ((self.sum - whole) + self.addend).round();
        i64::try_from(whole as i128 + rest as i128).ok()
    }

    /// The sum in the widest type of its terms; integers that outgrow a long become a double.
    pub(crate) fn total(&self) -> Number {
        match self.width {
            Width::Decimal => Number::Decimal(self.to_decimal()),
            Width::Double => Number::Double(self.double()),
            Width::Int | Width::Long => match self.long() {
                Some(n) => super::number::integer_result(i128::from(n), self.width),
                None => Number::Double(self.double()),
            },
        }
    }

    /// The sum divided by a count: a double, or a decimal.
    pub(crate) fn average(&self, count: u64) -> Number {
        if self.width == Width::Decimal {
            let count = super::number::decimal_of(i128::from(count));
            return Number::Decimal(arithmetic::divide(self.to_decimal(), count));
        }
        Number::Double(self.double() / count as f64)
    }
}

/// The rounded sum and what rounding lost.
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let lost = (a - (sum - b_part)) + (b - b_part);
    (sum, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[Number]) -> Number {
        let mut state = Summation::default();
        terms.iter().for_each(|term| state.add(*term));
        state.total()
    }

    #[test]
    fn doubles_are_compensated() {
        assert!(matches!(sum(&[Number::Double(0.1); 10]), Number::Double(1.0)));
        let terms = [1e16, 1.0, -1e16, 0.0].map(Number::Double);
        assert!(matches!(sum(&terms[..3]), Number::Double(0.0)));
        assert!(matches!(sum(&terms), Number::Double(1.0)));
    }

    #[test]
    fn integers_stay_exact_and_widen() {
        assert!(matches!(sum(&[Number::Int(i32::MAX), Number::Int(1)]), Number::Long(2_147_483_648)));
        let terms = [Number::Long(i64::MAX), Number::Int(1), Number::Int(-5)];
        assert!(matches!(sum(&terms), Number::Long(9_223_372_036_854_775_803)));
        assert!(matches!(sum(&terms[..2]), Number::Double(_)));
    }
}
