//! e^x and 10^x of quadruple numbers, in the 128-bit arithmetic of the Intel library, whose small errors decide about one
//! last digit in some thousand.
//!
//! A number there is a fraction of 128 bits and an exponent. The argument is brought near 0 by a whole number n of
//! logarithms of 2, which are kept in two parts. The power series of the rest is summed from its end by Horner's
//! scheme, with products that leave out what the lower halves contribute; its result is rounded, and 2^n goes into the
//! exponent. The library's coefficients make a slightly better polynomial of degree 22; here they are those of the
//! series itself, of which there are more.

use std::sync::LazyLock;

use astro_float::{BigFloat, WORD_BIT_SIZE};
use ethnum::U256;

use super::fraction::{self, product};
use super::quad::{self, WORKING_BITS};

/// The last term of the series: below 2^-128 for what is less than half of ln 2.
const DEGREE: usize = 27;

/// A number: fraction * 2^(exponent - 128), normal if the upper bit of the fraction is set.
#[derive(Clone, Copy, Debug)]
struct Unpacked {
    negative: bool,
    exponent: i32,
    fraction: u128,
}

impl Unpacked {
    const ZERO: Unpacked = Unpacked { negative: false, exponent: i32::MIN / 2, fraction: 0 };

    /// A quadruple number, which has fewer bits.
    fn of(x: &BigFloat) -> Unpacked {
        let (Some((words, _, _, exponent, _)), false) = (x.as_raw_parts(), x.is_zero()) else {
            return Unpacked::ZERO;
        };
        let mut fraction = 0u128;
        let mut free = u128::BITS;
        for word in words.iter().rev() {
            let Some(rest) = free.checked_sub(WORD_BIT_SIZE as u32) else {
                break;
            };
            free = rest;
            fraction |= u128::from(*word) << free;
        }
        Unpacked { negative: x.is_negative(), exponent, fraction }.normalized()
    }

    fn normalized(self) -> Unpacked {
        if self.fraction == 0 {
            return Unpacked::ZERO;
        }
        let shift = self.fraction.leading_zeros();
        Unpacked { exponent: self.exponent - shift as i32, fraction: self.fraction << shift, ..self }
    }

    fn opposite(self) -> Unpacked {
        Unpacked { negative: !self.negative, ..self }
    }

    /// The fraction with a greater exponent; bits fall off.
    fn aligned(self, exponent: i32) -> u128 {
        u32::try_from(exponent - self.exponent).ok().and_then(|shift| self.fraction.checked_shr(shift)).unwrap_or(0)
    }

    /// The sum, with the greater exponent.
    fn plus(self, other: Unpacked) -> Unpacked {
        let exponent = self.exponent.max(other.exponent);
        let (a, b) = (self.aligned(exponent), other.aligned(exponent));
        if self.negative != other.negative {
            let negative = if a >= b { self.negative } else { other.negative };
            return Unpacked { negative, exponent, fraction: a.abs_diff(b) };
        }
        match a.overflowing_add(b) {
            (fraction, false) => Unpacked { negative: self.negative, exponent, fraction },
            (low, true) => {
                let fraction = (low >> 1) | (1 << 127);
                Unpacked { negative: self.negative, exponent: exponent + 1, fraction }
            }
        }
    }

    fn times(self, other: Unpacked) -> Unpacked {
        Unpacked {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            fraction: upper_half(self.fraction, other.fraction),
        }
    }

    /// A quadruple number, rounded.
    fn pack(self) -> BigFloat {
        let normal = self.normalized();
        if normal.fraction == 0 {
            return quad::whole(0);
        }
        let mut x = BigFloat::from_u128(normal.fraction, WORKING_BITS);
        x.set_exponent(normal.exponent);
        quad::nearest(&if normal.negative { x.neg() } else { x })
    }
}

/// The upper 128 bits of a product, without the carries from below.
fn upper_half(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let ([a1, a0], [b1, b0]) = ([a >> 64, a & LOW], [b >> 64, b & LOW]);
    (a1 * b1).wrapping_add((a1 * b0) >> 64).wrapping_add((a0 * b1) >> 64)
}

/// What a base needs.
#[derive(Debug)]
struct Base {
    /// How often the logarithm of 2 to this base goes into 1, times 2^62.
    steps: u64,
    /// That logarithm: its upper 64 bits, rounded, and what is missing to it.
    step: Unpacked,
    step_rest: Unpacked,
    /// The coefficients ln(base)^n / n! by n, as multiples of 2^(scale - 128).
    coefficients: [u128; DEGREE + 1],
    scale: i32,
}

static E: LazyLock<Base> = LazyLock::new(|| {
    let coefficients = coefficients(1, |term, n| term / U256::new(n));
    Base::new(fraction::ln_2(), coefficients, 1)
});

static TEN: LazyLock<Base> = LazyLock::new(|| {
    let quarter = fraction::ln_10() >> 2u32;
    let coefficients = coefficients(2, |term, n| (product(term, quarter) << 2u32) / U256::new(n));
    Base::new(fraction::quotient(fraction::ln_2(), fraction::ln_10()), coefficients, 2)
});

/// The terms of a series that begins with 1, rounded to multiples of 2^(scale - 128).
fn coefficients(scale: u32, next: impl Fn(U256, u128) -> U256) -> [u128; DEGREE + 1] {
    const EXCESS: u32 = fraction::BITS - 128;
    let mut term = U256::ONE << (fraction::BITS - scale);
    std::array::from_fn(|n| {
        if n > 0 {
            term = next(term, n as u128);
        }
        ((term + (U256::ONE << (EXCESS - 1))) >> EXCESS).as_u128()
    })
}

impl Base {
    /// From the logarithm of 2, a fraction.
    fn new(log_2: U256, coefficients: [u128; DEGREE + 1], scale: i32) -> Base {
        let steps = (((U256::ONE << (fraction::BITS + 62)) + (log_2 >> 1u32)) / log_2).as_u64();
        let zeros = log_2.leading_zeros() - (U256::BITS - fraction::BITS);
        let below = fraction::BITS - 64 - zeros;
        let upper = (log_2 + (U256::ONE << (below - 1))) >> below;
        let value = upper << below;
        let rest = if log_2 < value { value - log_2 } else { log_2 - value };
        Base {
            steps,
            step: Unpacked { negative: false, exponent: -(zeros as i32), fraction: upper.as_u128() << 64 },
            step_rest: Unpacked {
                negative: log_2 < value,
                exponent: 128 - fraction::BITS as i32,
                fraction: rest.as_u128(),
            }
            .normalized(),
            coefficients,
            scale,
        }
    }

    /// Takes whole logarithms of 2 from a number: how many, and what is left.
    fn reduce(&self, x: Unpacked) -> (i32, Unpacked) {
        // Below a quarter of 1, or a half of a logarithm of 2, nothing is taken.
        if !(0..=18).contains(&(x.exponent + 1 - self.step.exponent)) {
            return (0, x);
        }
        let magnitude = Unpacked { negative: false, ..x };
        let scaled = ((x.fraction >> 65) * u128::from(self.steps)) >> 64;
        let shift = 61 - x.exponent;
        let n = (scaled + (1 << (shift - 1))) >> shift;
        let count = Unpacked { negative: false, exponent: 128, fraction: n }.normalized();
        // Exact: n has 15 bits, the upper part of the logarithm 64.
        let taken = n * (self.step.fraction >> 64);
        let taken = Unpacked { negative: false, exponent: 64 + self.step.exponent, fraction: taken }.normalized();
        let left = magnitude.plus(taken.opposite()).normalized();
        let left = left.plus(count.times(self.step_rest).opposite()).normalized();
        let n = n as i32;
        if x.negative { (-n, left.opposite()) } else { (n, left) }
    }

    fn power(&self, x: &BigFloat) -> BigFloat {
        let (n, rest) = self.reduce(Unpacked::of(x));
        let mut sum = 0u128;
        for (k, coefficient) in self.coefficients.iter().enumerate().rev() {
            // The k-th sum is a multiple of what the k-th power of the rest's exponent stands for.
            let shift = (k as i64).saturating_mul(-i64::from(rest.exponent));
            let coefficient = u32::try_from(shift).ok().and_then(|shift| coefficient.checked_shr(shift)).unwrap_or(0);
            let product = upper_half(sum, rest.fraction);
            sum = if rest.negative { coefficient.wrapping_sub(product) } else { coefficient.wrapping_add(product) };
        }
        Unpacked { negative: false, exponent: self.scale + n, fraction: sum }.pack()
    }
}

/// e^x.
pub(super) fn power_of_e(x: &BigFloat) -> BigFloat {
    E.power(x)
}

/// 10^x.
pub(super) fn power_of_ten(x: &BigFloat) -> BigFloat {
    TEN.power(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::decimal::quad::{LOOSE, with_quads};
    use crate::expression::decimal::{finite, nan};

    #[test]
    fn constants_are_those_of_their_definitions() {
        // ln 2 is 0.B17217F7 D1CF79AB C9E3... in hexadecimal digits, log10 2 is 0.4D104D42 7DE7FBCC 47C4...
        assert_eq!(E.step.fraction >> 64, 0xB172_17F7_D1CF_79AC);
        assert_eq!(TEN.step.fraction >> 64, 0x9A20_9A84_FBCF_F799);
        assert!(E.step_rest.negative && TEN.step_rest.negative);
        assert_eq!((E.step.exponent, TEN.step.exponent), (0, -1));
        assert_eq!((E.coefficients[2], TEN.coefficients[0]), (1 << 126, 1 << 126));
    }

    #[test]
    fn values_are_within_a_bit_of_the_exact_ones() {
        with_quads(|q| {
            for (coefficient, exponent) in [(1, 0), (3, -1), (1234567, -3), (10_999, 0), (7, -30), (3466, -4)] {
                for negative in [false, true] {
                    let x = q.of(finite(negative, coefficient, exponent));
                    let exact = q.compute(|cc| x.exp(WORKING_BITS, LOOSE, cc));
                    let error =
                        power_of_e(&x).div(&exact, WORKING_BITS, LOOSE).sub(&quad::whole(1), WORKING_BITS, LOOSE);
                    assert!(error.is_zero() || error.exponent().is_some_and(|e| e < -112), "e^{x}: {error}");
                    let x = x.div(&quad::whole(4096), WORKING_BITS, LOOSE);
                    let exact = q.compute(|cc| quad::whole(10).pow(&x, WORKING_BITS, LOOSE, cc));
                    let error =
                        power_of_ten(&x).div(&exact, WORKING_BITS, LOOSE).sub(&quad::whole(1), WORKING_BITS, LOOSE);
                    assert!(error.is_zero() || error.exponent().is_some_and(|e| e < -112), "10^{x}: {error}");
                }
            }
            nan()
        });
        assert_eq!(power_of_e(&quad::whole(0)).cmp(&quad::whole(1)), Some(0));
    }
}
