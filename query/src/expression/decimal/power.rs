//! Powers of decimals, to the last digit as MongoDB has them.
//!
//! MongoDB takes powers from the Intel Decimal Floating-Point Math Library, whose results are not rounded correctly
//! (5^1 is 4.999999999999999999999999999999999), so its method is followed step for step: base 10 and base 2
//! have functions of their own, [`elementary::exp10`] and [`elementary::exp2`]. For any other base the natural logarithm
//! is computed to some 158 bits behind the point and multiplied by the exponent, in two decimals each; the
//! first part of the product is given to [`elementary::exp`], the second corrects its result.
//!
//! The logarithm is a sum of integers that stand for multiples of 2^-160. A coefficient c of k bits and an exponent e
//! are worth 2^k m 10^e with m from 1/2 to 1: so there are k logarithms of 2 and e of 10. From m's upper 8 bits comes a
//! table's reciprocal that brings it near 1, from the next 7 bits of that product a second one that brings
//! it nearer; their logarithms are subtracted. What is then missing to 1, less than 2^-12, goes into a series.

use std::sync::LazyLock;

use bindery_document::{Decimal, DecimalClass};
use ethnum::{I256, U256};

use super::elementary::{self, with_sign};
use super::fraction::{self, logarithm_of_ratio, product};
use super::quad::with_quads;
use super::{EXPONENT_MIN, abs, arithmetic, finite, infinity, is_negative, nan, negate};

/// The bits behind the point of a logarithm.
const LOGARITHM_BITS: u32 = 160;
/// The bits behind the point of a reciprocal.
const RECIPROCAL_BITS: u32 = 63;
/// The reciprocals in one table.
const ENTRIES: usize = 128;
/// The terms of the series.
const TERMS: usize = 10;

/// A reciprocal and its logarithm.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// A multiple of 2^-63, from 1 to 2, cut off.
    reciprocal: u64,
    /// A multiple of 2^-160, rounded.
    logarithm: I256,
}

/// The constants of the method; all follow from their definitions.
#[derive(Debug)]
struct Tables {
    ln_2: I256,
    ln_10: I256,
    /// 256 / (b + 1) for the upper 8 bits b of what is to be brought near 1, from 128.
    coarse: [Entry; ENTRIES],
    /// 16384 / (16256 + b + 1) for the 7 bits b after the first 7.
    fine: [Entry; ENTRIES],
    /// The fractions 1 / n by n, rounded.
    inverses: [U256; TERMS + 1],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let entry = |numerator: u128, denominator: usize| {
        let reciprocal = (numerator << RECIPROCAL_BITS) / denominator as u128;
        let (r, one) = (U256::new(reciprocal), U256::ONE << RECIPROCAL_BITS);
        Entry { reciprocal: reciprocal as u64, logarithm: rounded(logarithm_of_ratio(r, one)) }
    };
    Tables {
        ln_2: rounded(fraction::ln_2()),
        ln_10: rounded(fraction::ln_10()),
        coarse: std::array::from_fn(|b| entry(256, 128 + b + 1)),
        fine: std::array::from_fn(|b| entry(16_384, 16_256 + b + 1)),
        inverses: std::array::from_fn(|n| match n as u128 {
            0 | 1 => U256::ZERO,
            n => ((U256::ONE << fraction::BITS) + U256::new(n / 2)) / U256::new(n),
        }),
    }
});

/// A multiple of 2^-192 as one of 2^-160.
fn rounded(x: U256) -> I256 {
    const EXCESS: u32 = fraction::BITS - LOGARITHM_BITS;
    ((x + (U256::ONE << (EXCESS - 1))) >> EXCESS).as_i256()
}

/// -ln(1 - x) as a multiple of 2^-192, for a small fraction x: x + x^2/2 + x^3/3 and so on.
fn series(x: U256, inverses: &[U256; TERMS + 1]) -> U256 {
    let (mut power, mut sum) = (x, x);
    for inverse in &inverses[2..] {
        power = product(power, x);
        sum += product(power, *inverse);
    }
    sum
}

/// The logarithm of c * 10^e, c not 0, as a multiple of 2^-160.
fn fixed_logarithm(c: u128, e: i32) -> I256 {
    let tables = &*TABLES;
    let bits = u128::BITS - c.leading_zeros();
    let c = U256::new(c << c.leading_zeros());
    let sum = I256::from(bits) * tables.ln_2 + I256::from(e) * tables.ln_10;
    let coarse = tables.coarse[(c >> 120u32).as_usize() % ENTRIES];
    let near = U256::from(coarse.reciprocal) * c;
    let fine = tables.fine[(near >> 177u32).as_usize() % ENTRIES];
    let nearer = U256::from(fine.reciprocal) * near;
    // Now 1/4 is what 1 was; its 192 upper bits, complemented, are what is missing.
    let missing = !((nearer >> 64u32) << 2u32) & fraction::mask();
    let rest = series(missing, &tables.inverses) >> (fraction::BITS - LOGARITHM_BITS);
    sum - coarse.logarithm - fine.logarithm - rest.as_i256()
}

/// The natural logarithm of a finite positive decimal, as the sum of two.
fn logarithm(x: Decimal) -> (Decimal, Decimal) {
    let DecimalClass::Finite { coefficient, exponent, .. } = x.class() else {
        return (nan(), nan());
    };
    let sum = fixed_logarithm(coefficient, exponent);
    let negative = sum < I256::ZERO;
    // The complement does for the opposite.
    let magnitude = (if negative { !sum } else { sum }).as_u256();
    // Times 10^28: what is before the point now is the first part, what is behind it has 19 more digits.
    let decimal = product(magnitude, U256::new(10u128.pow(28)) << 96u32);
    let (high, low) = ((decimal >> 64u32).as_u128(), (decimal & U256::from(u64::MAX)).as_u128());
    if high >> 64 < 2 {
        return logarithm_near_one(x);
    }
    let low = (low * 10u128.pow(19)) >> 64;
    (finite(negative, high, -28), finite(negative, low, -47))
}

/// The logarithm where too few of its bits are left: the first is t = x - 1, the second -t^2/2 + t^3/3 - t^4/4.
fn logarithm_near_one(x: Decimal) -> (Decimal, Decimal) {
    use arithmetic::{add, multiply, subtract};
    let t = subtract(x, Decimal::from_i64(1));
    let square = multiply(t, t);
    let cube = multiply(t, square);
    let third = finite(false, 3_333_333_333_333_333_333_333_333_333_333_333, -34);
    let rest = multiply(finite(true, 5, -1), square);
    let rest = add(rest, multiply(third, cube));
    let rest = add(rest, multiply(finite(true, 25, -2), multiply(t, cube)));
    let high = add(t, rest);
    (high, subtract(subtract(high, t), rest))
}

/// base^exponent. Finite results have all 34 digits written, as MongoDB's have.
pub(crate) fn power(base: Decimal, exponent: Decimal) -> Decimal {
    let result = if base.compare(Decimal::from_i64(10)).is_eq() {
        of_ten(exponent)
    } else if base.compare(Decimal::from_i64(2)).is_eq() {
        of_two(exponent)
    } else {
        of_any(base, exponent)
    };
    // Adding the zero of the least exponent asks for all digits.
    arithmetic::add(result, finite(false, 0, EXPONENT_MIN))
}

fn of_ten(exponent: Decimal) -> Decimal {
    match exponent.class() {
        DecimalClass::NaN => nan(),
        DecimalClass::Infinite(negative) => if_grows(!negative),
        // MongoDB 6.0 does answer so.
        DecimalClass::Finite { coefficient: 0, .. } => finite(false, 0, EXPONENT_MIN),
        DecimalClass::Finite { .. } => with_quads(|q| elementary::exp10(q, exponent)),
    }
}

fn of_two(exponent: Decimal) -> Decimal {
    match exponent.class() {
        DecimalClass::NaN => nan(),
        DecimalClass::Infinite(negative) => if_grows(!negative),
        DecimalClass::Finite { .. } => with_quads(|q| elementary::exp2(q, exponent)),
    }
}

/// What a power without bounds is.
fn if_grows(grows: bool) -> Decimal {
    if grows { infinity(false) } else { finite(false, 0, EXPONENT_MIN) }
}

fn of_any(base: Decimal, exponent: Decimal) -> Decimal {
    use DecimalClass::{Finite, Infinite, NaN};
    let one = Decimal::from_i64(1);
    if exponent.is_zero() || base.compare(one).is_eq() {
        return one;
    }
    let rises = !is_negative(exponent);
    let (negative, exponent_is_finite) = match (base.class(), exponent.class()) {
        (NaN, _) | (_, NaN) => return nan(),
        (Infinite(negative), class) => (negative, matches!(class, Finite { .. })),
        (Finite { negative, .. }, class) => (negative, matches!(class, Finite { .. })),
    };
    if !exponent_is_finite {
        let order = abs(base).compare(one);
        return if order.is_eq() { one } else { if_grows(order.is_gt() == rises) };
    }
    let whole = exponent.compare(arithmetic::to_integral(exponent, arithmetic::Rounding::TowardZero)).is_eq();
    let odd = whole && !arithmetic::remainder(exponent, Decimal::from_i64(2)).is_zero();
    match base.class() {
        Infinite(_) => with_sign(if_grows(rises), negative && odd),
        Finite { coefficient: 0, .. } => with_sign(if_grows(!rises), negative && odd),
        _ if negative && !whole => nan(),
        _ => finite_power(abs(base), exponent, negative && odd),
    }
}

/// The power of a positive number; the result's sign is left out if that overflows or vanishes.
fn finite_power(base: Decimal, exponent: Decimal, negative: bool) -> Decimal {
    let (high, low) = logarithm(base);
    let product = arithmetic::multiply(exponent, high);
    let rest = arithmetic::multiply_add(exponent, high, negate(product));
    let rest = arithmetic::multiply_add(exponent, low, rest);
    let result = match product.class() {
        DecimalClass::Finite { .. } => with_quads(|q| elementary::exp(q, product)),
        _ => if_grows(!is_negative(product)),
    };
    match result.class() {
        DecimalClass::Finite { coefficient, .. } if coefficient != 0 => {
            with_sign(arithmetic::multiply_add(result, rest, result), negative)
        }
        _ => result,
    }
}

#[cfg(test)]
mod tests;
