//! Numbers of IEEE binary128 ("quadruple precision"), which the functions without exact results are evaluated in.
//!
//! MongoDB's library does so: decimals become numbers with a significand of 113 bits, and every operation on those
//! is rounded to 113 bits again. Here they are big floats with bits to spare, and [`Quads`] makes the
//! roundings. What is between the roundings is computed more exactly than the library does, so that a result can differ
//! from its only where its error is what decides how to round (see [`exponential`](super::exponential)).

use std::cell::Cell;

use astro_float::{BigFloat, Consts, Radix, RoundingMode, Sign};
use bindery_document::{Decimal, DecimalClass};

use super::text::{format, parse};
use super::{arithmetic, finite, infinity, nan};

/// The bits of a significand.
const SIGNIFICAND_BITS: usize = 113;
/// The exponent of the last bit of the least (subnormal) number.
const LAST_BIT_MIN: i32 = -16_494;
/// The bits that are computed with between two roundings.
pub(super) const WORKING_BITS: usize = 384;
const NEAREST: RoundingMode = RoundingMode::ToEven;
/// Within the working bits nothing is rounded correctly: seeking a correct rounding does not end where the
/// result is exact (the root of 4), and the bits to spare make it needless.
pub(super) const LOOSE: RoundingMode = RoundingMode::None;

/// Operations on quadruple numbers, and what is kept for them.
#[derive(Debug)]
pub(super) struct Quads {
    constants: Consts,
}

thread_local! {
    static KEPT: Cell<Option<Quads>> = const { Cell::new(None) };
}

/// Computes with the constants that are kept for this thread; not a number if there is no memory for any.
pub(super) fn with_quads(work: impl FnOnce(&mut Quads) -> Decimal) -> Decimal {
    let kept = KEPT.take().or_else(|| Consts::new().ok().map(|constants| Quads { constants }));
    let Some(mut quads) = kept else {
        return nan();
    };
    let result = work(&mut quads);
    KEPT.set(Some(quads));
    result
}

/// An integer.
pub(super) fn whole(n: i32) -> BigFloat {
    BigFloat::from_i32(n, WORKING_BITS)
}

/// How a number between two quadruple ones is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    /// To the nearer, of two equally near to the even one: as decimals are converted.
    HalfEven,
    /// To the nearer, of two equally near to the one that is further from zero: as operations round.
    HalfAway,
    TowardZero,
}

fn round(x: &BigFloat, rounding: Rounding) -> BigFloat {
    let Some(exponent) = x.exponent().filter(|_| !x.is_zero()) else {
        return x.clone();
    };
    // x lies in [2^(e-1), 2^e). Its sum with 1.5 * 2^(last bit + working bits - 1) has that last bit.
    let last_bit = exponent.saturating_sub(SIGNIFICAND_BITS as i32).max(LAST_BIT_MIN);
    let mut large = BigFloat::from_f64(1.5, WORKING_BITS);
    large.set_exponent(last_bit.saturating_add(WORKING_BITS as i32));
    let (mut magnitude, mut mode) = (x.abs(), NEAREST);
    if rounding != Rounding::HalfEven {
        mode = RoundingMode::ToZero;
    }
    if rounding == Rounding::HalfAway {
        let mut half = whole(1);
        half.set_exponent(last_bit);
        magnitude = magnitude.add(&half, WORKING_BITS, RoundingMode::ToZero);
    }
    let rounded = magnitude.add(&large, WORKING_BITS, mode).sub(&large, WORKING_BITS, mode);
    if rounded.is_nan() {
        return x.clone();
    }
    if x.is_negative() { rounded.neg() } else { rounded }
}

/// Rounds the result of an operation.
pub(super) fn nearest(x: &BigFloat) -> BigFloat {
    round(x, Rounding::HalfAway)
}

/// The quadruple number next to x, on the side of zero.
pub(super) fn truncated(x: &BigFloat) -> BigFloat {
    round(x, Rounding::TowardZero)
}

pub(super) fn add(x: &BigFloat, y: &BigFloat) -> BigFloat {
    nearest(&x.add(y, WORKING_BITS, NEAREST))
}

pub(super) fn subtract(x: &BigFloat, y: &BigFloat) -> BigFloat {
    nearest(&x.sub(y, WORKING_BITS, NEAREST))
}

pub(super) fn multiply(x: &BigFloat, y: &BigFloat) -> BigFloat {
    nearest(&x.mul(y, WORKING_BITS, NEAREST))
}

pub(super) fn divide(x: &BigFloat, y: &BigFloat) -> BigFloat {
    nearest(&x.div(y, WORKING_BITS, NEAREST))
}

pub(super) fn root(x: &BigFloat) -> BigFloat {
    nearest(&x.sqrt(WORKING_BITS, LOOSE))
}

pub(super) fn is_less(x: &BigFloat, y: &BigFloat) -> bool {
    x.cmp(y).is_some_and(|order| order < 0)
}

impl Quads {
    /// A finite decimal with so many bits.
    pub(super) fn parse(&mut self, x: Decimal, bits: usize) -> BigFloat {
        BigFloat::parse(&format(x), Radix::Dec, bits, NEAREST, &mut self.constants)
    }

    /// The quadruple number next to a finite decimal.
    pub(super) fn of(&mut self, x: Decimal) -> BigFloat {
        round(&self.parse(x, WORKING_BITS), Rounding::HalfEven)
    }

    /// A finite decimal in two parts, whose sum has twice the bits: the number next to it on the side of zero, and
    /// what that leaves.
    pub(super) fn halves(&mut self, x: Decimal) -> (BigFloat, BigFloat) {
        let x = self.parse(x, WORKING_BITS);
        let high = truncated(&x);
        let low = truncated(&x.sub(&high, WORKING_BITS, NEAREST));
        (high, low)
    }

    /// The value of a function, rounded.
    pub(super) fn apply(&mut self, function: impl FnOnce(&mut Consts) -> BigFloat) -> BigFloat {
        nearest(&function(&mut self.constants))
    }

    /// A value with all working bits, or more.
    pub(super) fn compute(&mut self, function: impl FnOnce(&mut Consts) -> BigFloat) -> BigFloat {
        function(&mut self.constants)
    }

    /// The decimal next to a quadruple number; an exact one has no zeros that its value does not ask for.
    pub(super) fn decimal(&mut self, x: &BigFloat) -> Decimal {
        if x.is_nan() {
            return nan();
        }
        let negative = x.sign() == Some(Sign::Neg);
        if x.is_inf() {
            return infinity(negative);
        }
        if x.is_zero() {
            return finite(negative, 0, 0);
        }
        // Text with more digits than the 113 bits need is their exact value, or rounds as it does.
        let mut long = x.clone();
        let _ = long.set_precision(1024, NEAREST);
        let Ok(text) = long.format(Radix::Dec, NEAREST, &mut self.constants) else {
            return nan();
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let trimmed =
            if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
        let decimal = parse(&format!("{trimmed}e{exponent}")).unwrap_or_else(nan);
        // An exact integer is written as one.
        match decimal.class() {
            DecimalClass::Finite { exponent, .. } if exponent > 0 => arithmetic::add(decimal, finite(false, 0, 0)),
            _ => decimal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_number_has_113_bits() {
        let third = whole(1).div(&whole(3), WORKING_BITS, NEAREST);
        for rounded in [nearest(&third), truncated(&third), nearest(&third.neg())] {
            let mut scaled = rounded.clone();
            scaled.set_exponent(113);
            assert!(scaled.is_int(), "{rounded}");
            // A third is 0.0101... and so rounded down.
            assert!(is_less(&rounded.abs(), &third), "{rounded}");
        }
        assert_eq!(nearest(&third.neg()).cmp(&nearest(&third).neg()), Some(0));
    }

    #[test]
    fn of_two_equally_near_numbers_operations_take_the_greater() {
        let mut power = whole(1);
        power.set_exponent(114);
        let between = power.add(&whole(1), WORKING_BITS, NEAREST);
        let distance = |rounding| round(&between, rounding).sub(&power, WORKING_BITS, NEAREST);
        assert!(distance(Rounding::HalfEven).is_zero() && distance(Rounding::TowardZero).is_zero());
        assert_eq!(distance(Rounding::HalfAway).cmp(&whole(2)), Some(0));
    }

    #[test]
    fn what_is_too_small_vanishes() {
        with_quads(|q| {
            assert!(q.of(finite(false, 1, -6000)).is_zero());
            assert!(!q.of(finite(false, 1, -4960)).is_zero());
            finite(false, 0, 0)
        });
    }

    #[test]
    fn two_parts_are_worth_the_whole() {
        with_quads(|q| {
            let x = finite(true, 1_234_567_890_123_456_789_012_345_678_901_234, -33);
            let (high, low) = q.halves(x);
            assert!(high.is_negative() && low.is_negative());
            let difference =
                high.add(&low, WORKING_BITS, NEAREST).sub(&q.parse(x, WORKING_BITS), WORKING_BITS, NEAREST);
            assert!(difference.is_zero() || difference.exponent().is_some_and(|e| e < -220));
            assert_eq!(nearest(&high).cmp(&high), Some(0));
            x
        });
    }

    #[test]
    fn decimals_come_back() {
        for text in ["0.5", "3", "12345678901234567890", "-0.0009765625", "40"] {
            let back = with_quads(|q| {
                let x = q.of(parse(text).expect("decimal"));
                q.decimal(&x)
            });
            assert_eq!(format(back), text);
        }
    }
}
