//! Trigonometric functions of decimals and their inverse functions, in the steps of the Intel Decimal Floating-Point
//! Math Library (see [`elementary`](super::elementary)).

use astro_float::BigFloat;
use bindery_document::{Decimal, DecimalClass};

use super::elementary::{TINY, is_tiny, itself, with_sign};
use super::quad::{self, LOOSE, Quads, WORKING_BITS, with_quads};
use super::{EXPONENT_MIN, abs, arithmetic, finite, is_negative, nan, negate};

/// The multiples of pi, rounded to 34 digits.
const PI: (u128, i32) = (3_141_592_653_589_793_238_462_643_383_279_503, -33);
const HALF_PI: (u128, i32) = (1_570_796_326_794_896_619_231_321_691_639_751, -33);
const QUARTER_PI: (u128, i32) = (785_398_163_397_448_309_615_660_845_819_876, -33);
const THREE_QUARTERS_PI: (u128, i32) = (2_356_194_490_192_344_928_846_982_537_459_627, -33);

/// A degree in radians, and a radian in degrees.
pub(crate) const DEGREE: (u128, i32) = (1_745_329_251_994_329_576_923_690_768_488_613, -35);
pub(crate) const RADIAN: (u128, i32) = (5_729_577_951_308_232_087_679_815_481_410_517, -32);

/// One of the constants here.
pub(crate) fn constant((coefficient, exponent): (u128, i32)) -> Decimal {
    finite(false, coefficient, exponent)
}

/// Half of pi.
pub(super) fn half_pi() -> Decimal {
    constant(HALF_PI)
}

/// An angle from -pi/4 to pi/4, and how many quarter turns it is away from the argument.
struct Reduced {
    quarters: u8,
    angle: BigFloat,
}

/// Brings an angle near 0. A decimal with an exponent below -35 is less than 0.1 and stays as it is.
fn reduce(q: &mut Quads, negative: bool, coefficient: u128, exponent: i32) -> Reduced {
    if exponent < -35 {
        return Reduced { quarters: 0, angle: q.of(finite(negative, coefficient, exponent)) };
    }
    // The fraction of a turn must have all bits also when there are up to 10^6145 turns.
    let bits = WORKING_BITS + 4 * exponent.max(0).unsigned_abs() as usize;
    let x = q.parse(finite(false, coefficient, exponent), bits);
    let turns = q.compute(|cc| x.div(&cc.pi(bits, LOOSE), bits, LOOSE).div(&quad::whole(2), bits, LOOSE));
    let quarter_turns = turns.fract().mul(&quad::whole(4), WORKING_BITS, LOOSE);
    let mut quarters = (1..4).filter(|n| !quad::is_less(&quarter_turns, &quad::whole(*n))).count() as u8;
    let mut fraction = quarter_turns.fract();
    let mut negative_angle = negative;
    let opposite = quad::whole(1).sub(&fraction, WORKING_BITS, LOOSE);
    if !quad::is_less(&fraction, &opposite) {
        quarters = (quarters + 1) % 4;
        fraction = opposite;
        negative_angle = !negative;
    }
    if negative {
        quarters = (4 - quarters) % 4;
    }
    let quarter = q.apply(|cc| cc.pi(WORKING_BITS, LOOSE).div(&quad::whole(2), WORKING_BITS, LOOSE));
    let angle = quad::multiply(&quarter, &quad::truncated(&fraction));
    Reduced { quarters, angle: if negative_angle { angle.neg() } else { angle } }
}

/// The parts of an argument that is not too small to be looked at.
fn parts(x: Decimal) -> Option<(bool, u128, i32)> {
    match x.class() {
        DecimalClass::Finite { negative, coefficient, exponent } if coefficient != 0 && exponent >= -52 => {
            Some((negative, coefficient, exponent))
        }
        _ => None,
    }
}

pub(super) fn sin(q: &mut Quads, x: Decimal) -> Decimal {
    if x.is_zero() {
        return x;
    }
    let Some((negative, coefficient, exponent)) = parts(x) else {
        return itself(x);
    };
    let Reduced { quarters, angle } = reduce(q, negative, coefficient, exponent);
    wave(q, quarters, &angle)
}

pub(super) fn cos(q: &mut Quads, x: Decimal) -> Decimal {
    let Some((negative, coefficient, exponent)) = parts(x) else {
        return arithmetic::subtract(Decimal::from_i64(1), constant(TINY));
    };
    let Reduced { quarters, angle } = reduce(q, negative, coefficient, exponent);
    wave(q, quarters + 1, &angle)
}

/// The sine of an angle and quarter turns.
fn wave(q: &mut Quads, quarters: u8, angle: &BigFloat) -> Decimal {
    let value = q.apply(|cc| {
        if quarters.is_multiple_of(2) { angle.sin(WORKING_BITS, LOOSE, cc) } else { angle.cos(WORKING_BITS, LOOSE, cc) }
    });
    with_sign(q.decimal(&value), quarters % 4 >= 2)
}

pub(super) fn tan(q: &mut Quads, x: Decimal) -> Decimal {
    let Some((negative, coefficient, exponent)) = parts(x) else {
        return itself(x);
    };
    let Reduced { quarters, angle } = reduce(q, negative, coefficient, exponent);
    let value = q.apply(|cc| angle.tan(WORKING_BITS, LOOSE, cc));
    let value = if quarters.is_multiple_of(2) { value } else { quad::divide(&quad::whole(-1), &value) };
    q.decimal(&value)
}

/// Up to 0.7 the inverse functions are well conditioned.
fn is_far_from_one(q: &mut Quads, x: &BigFloat) -> bool {
    let bound = q.of(finite(false, 7, -1));
    !quad::is_less(&bound, &x.abs())
}

/// The root of 1 - x^2, which is exact until it is rounded once as a decimal.
fn opposite_side(q: &mut Quads, x: Decimal) -> BigFloat {
    let square = arithmetic::multiply_add(x, x, finite(true, 1, 0));
    let square = q.of(negate(square));
    quad::root(&square)
}

pub(super) fn asin(q: &mut Quads, x: Decimal) -> Decimal {
    let binary = q.of(x);
    if is_tiny(q, &binary) {
        return itself(x);
    }
    if is_far_from_one(q, &binary) {
        let angle = q.apply(|cc| binary.asin(WORKING_BITS, LOOSE, cc));
        return q.decimal(&angle);
    }
    if quad::is_less(&quad::whole(1), &binary.abs()) {
        return nan();
    }
    let side = opposite_side(q, x);
    let angle = q.apply(|cc| side.acos(WORKING_BITS, LOOSE, cc));
    with_sign(q.decimal(&angle), is_negative(x))
}

pub(super) fn acos(q: &mut Quads, x: Decimal) -> Decimal {
    let binary = q.of(x);
    if is_tiny(q, &binary) {
        return half_pi();
    }
    if is_far_from_one(q, &binary) {
        let angle = q.apply(|cc| binary.acos(WORKING_BITS, LOOSE, cc));
        return q.decimal(&angle);
    }
    if quad::is_less(&quad::whole(1), &binary.abs()) {
        return nan();
    }
    if binary.cmp(&quad::whole(1)) == Some(0) {
        return finite(false, 0, EXPONENT_MIN);
    }
    let side = opposite_side(q, x);
    let mut angle = q.apply(|cc| side.asin(WORKING_BITS, LOOSE, cc));
    if is_negative(x) {
        let pi = q.apply(|cc| cc.pi(WORKING_BITS, LOOSE));
        angle = quad::subtract(&pi, &angle);
    }
    q.decimal(&angle)
}

pub(super) fn atan(q: &mut Quads, x: Decimal) -> Decimal {
    if x.is_zero() {
        return x;
    }
    let binary = q.of(x);
    if is_tiny(q, &binary) {
        return itself(x);
    }
    let angle = q.apply(|cc| binary.atan(WORKING_BITS, LOOSE, cc));
    q.decimal(&angle)
}

fn is_infinite(x: Decimal) -> bool {
    matches!(x.class(), DecimalClass::Infinite(_))
}

/// The angle of the point (x, y).
pub(crate) fn atan2(y: Decimal, x: Decimal) -> Decimal {
    if y.is_nan() || x.is_nan() {
        return nan();
    }
    let (below, left) = (is_negative(y), is_negative(x));
    let magnitude = match (is_infinite(y), is_infinite(x)) {
        (true, true) => constant(if left { THREE_QUARTERS_PI } else { QUARTER_PI }),
        (true, false) => half_pi(),
        _ if y.is_zero() || is_infinite(x) => {
            if left {
                constant(PI)
            } else {
                finite(false, 0, EXPONENT_MIN)
            }
        }
        _ if x.is_zero() => half_pi(),
        _ => {
            let slope = abs(arithmetic::divide(y, x));
            if slope.compare(finite(false, 1, 36)).is_gt() {
                half_pi()
            } else if slope.compare(finite(false, 1, -36)).is_lt() {
                if left { constant(PI) } else { slope }
            } else {
                let angle = with_quads(|q| {
                    let slope = q.of(slope);
                    let angle = q.apply(|cc| slope.atan(WORKING_BITS, LOOSE, cc));
                    q.decimal(&angle)
                });
                if left { arithmetic::subtract(constant(PI), angle) } else { angle }
            }
        }
    };
    with_sign(magnitude, below)
}
