//! Exponentials, logarithms and hyperbolic functions of decimals, and which module has the other functions.
//!
//! MongoDB takes these from the Intel Decimal Floating-Point Math Library, which evaluates them in IEEE binary128
//! ([`quad`]) and takes some care where that loses digits: near 1 for logarithms, near -1 and 1 for
//! inverse functions. To have the same last digits, the same steps are taken here, with the same roundings.

use astro_float::BigFloat;
use bindery_document::{Decimal, DecimalClass};
use ethnum::U256;

use super::quad::{self, LOOSE, Quads, WORKING_BITS, with_quads};
use super::{EXPONENT_MIN, abs, arithmetic, finite, infinity, is_negative, nan, negate};
use super::{exponential, trigonometric};

/// A function of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elementary {
    Exp,
    Ln,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
}

/// The function's value. Arguments outside its domain give NaN; the callers refuse them first.
pub(crate) fn evaluate(function: Elementary, x: Decimal) -> Decimal {
    use Elementary::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Ln, Log2, Log10, Sin, Sinh, Tan, Tanh};
    match x.class() {
        DecimalClass::NaN => return nan(),
        DecimalClass::Infinite(negative) => return at_infinity(function, negative),
        DecimalClass::Finite { .. } => {}
    }
    with_quads(|q| match function {
        Exp => exp(q, x),
        Ln => logarithm(q, Base::E, x),
        Log2 => logarithm(q, Base::Two, x),
        Log10 => logarithm(q, Base::Ten, x),
        Sin => trigonometric::sin(q, x),
        Cos => trigonometric::cos(q, x),
        Tan => trigonometric::tan(q, x),
        Asin => trigonometric::asin(q, x),
        Acos => trigonometric::acos(q, x),
        Atan => trigonometric::atan(q, x),
        Sinh => hyperbolic(q, Hyperbolic::Sine, x),
        Cosh => hyperbolic(q, Hyperbolic::Cosine, x),
        Tanh => tanh(q, x),
        Asinh => asinh(q, x),
        Acosh => acosh(q, x),
        Atanh => atanh(q, x),
    })
}

fn at_infinity(function: Elementary, negative: bool) -> Decimal {
    use Elementary::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Ln, Log2, Log10, Sin, Sinh, Tan, Tanh};
    match function {
        Exp if negative => finite(false, 0, 0),
        Exp | Cosh => infinity(false),
        Ln | Log2 | Log10 | Acosh if negative => nan(),
        Ln | Log2 | Log10 | Acosh => infinity(false),
        Sinh | Asinh => infinity(negative),
        Tanh => finite(negative, 1, 0),
        Atan => with_sign(trigonometric::half_pi(), negative),
        Sin | Cos | Tan | Asin | Acos | Atanh => nan(),
    }
}

/// 10^-40: an argument below it is its own sine, arc tangent and so on.
pub(super) const TINY: (u128, i32) = (1, -40);

/// x moved by a 10^-40th of itself, which leaves it as it is but for all 34 digits being written.
pub(super) fn itself(x: Decimal) -> Decimal {
    arithmetic::multiply_add(x, finite(false, TINY.0, TINY.1), x)
}

/// Whether a quadruple number is below 10^-40 in magnitude.
pub(super) fn is_tiny(q: &mut Quads, x: &BigFloat) -> bool {
    let bound = q.of(finite(false, TINY.0, TINY.1));
    quad::is_less(&x.abs(), &bound)
}

/// A magnitude with a sign.
pub(super) fn with_sign(magnitude: Decimal, negative: bool) -> Decimal {
    if negative { negate(magnitude) } else { magnitude }
}

/// Where binary128 would overflow, powers are computed that much smaller or greater.
const STEP: i32 = 11_000;

/// A base that a number is raised to the power of: what differs between e^x and 2^x.
struct Exponential {
    /// Above it everything overflows, below its opposite everything vanishes.
    limit: i64,
    /// The powers to 11,000 and to -11,000, as the library has them (e^-11000 is not rounded, but cut).
    step_up: (u128, i32),
    step_down: (u128, i32),
}

const POWER_OF_E: Exponential = Exponential {
    limit: 15_000,
    step_up: (1_735_005_819_277_738_509_638_425_077_349_642, 4744),
    step_down: (5_763_669_429_168_183_696_272_822_960_961_269, -4811),
};

const POWER_OF_TWO: Exponential = Exponential {
    limit: 25_000,
    step_up: (2_137_727_301_617_594_663_994_741_880_109_512, 3278),
    step_down: (4_677_865_129_211_340_627_076_550_713_009_785, -3345),
};

/// e^x of a finite decimal.
pub(super) fn exp(q: &mut Quads, x: Decimal) -> Decimal {
    raised(q, &POWER_OF_E, x, |_, high, low| {
        let power = exponential::power_of_e(high);
        let correction = quad::multiply(&power, low);
        quad::add(&power, &correction)
    })
}

/// 2^x of a finite decimal.
pub(super) fn exp2(q: &mut Quads, x: Decimal) -> Decimal {
    raised(q, &POWER_OF_TWO, x, |q, high, low| {
        let ln_2 = q.apply(|cc| cc.ln_2(WORKING_BITS, LOOSE));
        let power = q.apply(|cc| quad::whole(2).pow(high, WORKING_BITS, LOOSE, cc));
        let correction = quad::multiply(&quad::multiply(&power, &ln_2), low);
        quad::add(&power, &correction)
    })
}

/// A power of e or 2: of the argument's upper part, then corrected by its lower part.
fn raised(
    q: &mut Quads,
    base: &Exponential,
    x: Decimal,
    power: impl FnOnce(&mut Quads, &BigFloat, &BigFloat) -> BigFloat,
) -> Decimal {
    if x.is_zero() {
        return finite(false, 1, 0);
    }
    if abs(x).compare(Decimal::from_i64(base.limit)).is_gt() {
        return if is_negative(x) { finite(false, 0, EXPONENT_MIN) } else { infinity(false) };
    }
    let (high, low) = q.halves(x);
    let (high, step) = if quad::is_less(&quad::whole(STEP), &high) {
        (quad::subtract(&high, &quad::whole(STEP)), Some(base.step_up))
    } else if quad::is_less(&high, &quad::whole(-STEP)) {
        (quad::add(&high, &quad::whole(STEP)), Some(base.step_down))
    } else {
        (high, None)
    };
    let result = power(q, &high, &low);
    let result = q.decimal(&result);
    match step {
        Some((coefficient, exponent)) => arithmetic::multiply(result, finite(false, coefficient, exponent)),
        None => result,
    }
}

/// 10^x of a finite decimal other than 0: of what the nearest integer leaves, whose place is then moved by that integer.
pub(super) fn exp10(q: &mut Quads, x: Decimal) -> Decimal {
    if abs(x).compare(Decimal::from_i64(6_400)).is_gt() {
        return if is_negative(x) { finite(false, 0, EXPONENT_MIN) } else { infinity(false) };
    }
    let integer = arithmetic::quantize(x, 0, arithmetic::Rounding::HalfEven);
    let rest = q.of(arithmetic::subtract(x, integer));
    let power = exponential::power_of_ten(&rest);
    let result = q.decimal(&power);
    match (result.class(), integer.class()) {
        (
            DecimalClass::Finite { coefficient, exponent, .. },
            DecimalClass::Finite { negative, coefficient: places, .. },
        ) => {
            let places = i32::try_from(places).unwrap_or(i32::MAX);
            let exponent = if negative { exponent - places } else { exponent.saturating_add(places) };
            arithmetic::round(false, U256::new(coefficient), exponent, false)
        }
        _ => result,
    }
}

/// The base of a logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    E,
    Two,
    Ten,
}

/// Numbers beyond 10^4464, or below 10^-4464, are brought near 1 by it.
const FAR: i32 = 4464;

/// The logarithm of a finite decimal.
fn logarithm(q: &mut Quads, base: Base, x: Decimal) -> Decimal {
    if x.is_zero() {
        return infinity(true);
    }
    if is_negative(x) {
        return nan();
    }
    let far = [FAR, -FAR].map(|exponent| finite(false, 1, exponent));
    let moved = if x.compare(far[0]).is_gt() {
        Some((arithmetic::multiply(x, far[1]), FAR))
    } else if x.compare(far[1]).is_lt() {
        Some((arithmetic::multiply(x, far[0]), -FAR))
    } else {
        None
    };
    let binary = q.of(moved.map_or(x, |(near, _)| near));
    let mut result = q.apply(|cc| match base {
        Base::E | Base::Ten => binary.ln(WORKING_BITS, LOOSE, cc),
        Base::Two => binary.log2(WORKING_BITS, LOOSE, cc),
    });
    if moved.is_none() {
        let distance = quad::subtract(&binary, &quad::whole(1));
        let half = q.of(finite(false, 5, -1));
        if quad::is_less(&distance.abs(), &half) {
            // What the conversion has changed in the distance from 1 is taken from the result.
            let exact = q.of(arithmetic::subtract(x, Decimal::from_i64(1)));
            let mut change = quad::subtract(&distance, &exact);
            if base == Base::Two {
                let per_e = q.compute(|cc| cc.ln_2(WORKING_BITS, LOOSE));
                let per_e = quad::divide(&quad::whole(1), &per_e);
                change = quad::multiply(&per_e, &change);
            }
            result = quad::subtract(&result, &quad::divide(&change, &binary));
        }
    }
    if base == Base::Ten {
        let ln_10 = q.compute(|cc| cc.ln_10(WORKING_BITS, LOOSE));
        result = quad::multiply(&result, &quad::divide(&quad::whole(1), &ln_10));
    }
    if let Some((_, exponent)) = moved {
        let digits = quad::whole(exponent);
        let distance = q.apply(|cc| match base {
            Base::E => digits.mul(&cc.ln_10(WORKING_BITS, LOOSE), WORKING_BITS, LOOSE),
            Base::Two => digits.mul(&quad::whole(10).log2(WORKING_BITS, LOOSE, cc), WORKING_BITS, LOOSE),
            Base::Ten => digits,
        });
        result = quad::add(&result, &distance);
    }
    q.decimal(&result)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hyperbolic {
    Sine,
    Cosine,
}

/// The hyperbolic sine or cosine of a finite decimal.
fn hyperbolic(q: &mut Quads, function: Hyperbolic, x: Decimal) -> Decimal {
    let negative = is_negative(x) && function == Hyperbolic::Sine;
    let binary = q.of(x);
    // Here the bound itself is below it.
    let bound = q.of(finite(false, TINY.0, TINY.1));
    if !quad::is_less(&bound, &binary.abs()) {
        return match function {
            Hyperbolic::Sine => itself(x),
            Hyperbolic::Cosine => arithmetic::add(Decimal::from_i64(1), finite(false, TINY.0, TINY.1)),
        };
    }
    let magnitude = binary.abs();
    if !quad::is_less(&quad::whole(1), &magnitude) {
        let result = q.apply(|cc| match function {
            Hyperbolic::Sine => binary.sinh(WORKING_BITS, LOOSE, cc),
            Hyperbolic::Cosine => binary.cosh(WORKING_BITS, LOOSE, cc),
        });
        return q.decimal(&result);
    }
    let x = abs(x);
    let half = finite(false, 5, -1);
    if !quad::is_less(&quad::whole(64), &magnitude) {
        // Half of e^x and e^-x, in decimals.
        let power = exp(q, x);
        let opposite = arithmetic::divide(Decimal::from_i64(1), power);
        let opposite = arithmetic::multiply(with_sign(half, function == Hyperbolic::Sine), opposite);
        return with_sign(arithmetic::multiply_add(power, half, opposite), negative);
    }
    if x.compare(Decimal::from_i64(POWER_OF_E.limit)).is_gt() {
        return infinity(negative);
    }
    // Half of e^x alone, as the product of two powers.
    let integer = arithmetic::to_integral(x, arithmetic::Rounding::HalfEven);
    let (rest, integer) = (q.of(arithmetic::subtract(x, integer)), q.of(integer));
    let is_far = quad::is_less(&quad::whole(STEP), &integer);
    let integer = if is_far { quad::subtract(&integer, &quad::whole(STEP)) } else { integer };
    let power = exponential::power_of_e(&integer);
    let factor = exponential::power_of_e(&rest);
    let result = quad::divide(&quad::multiply(&power, &factor), &quad::whole(2));
    let result = with_sign(q.decimal(&result), negative);
    if is_far {
        let (coefficient, exponent) = POWER_OF_E.step_up;
        arithmetic::multiply(result, finite(false, coefficient, exponent))
    } else {
        result
    }
}

fn tanh(q: &mut Quads, x: Decimal) -> Decimal {
    if x.is_zero() {
        return x;
    }
    let binary = q.of(x);
    if is_tiny(q, &binary) {
        return itself(x);
    }
    let result = q.apply(|cc| binary.tanh(WORKING_BITS, LOOSE, cc));
    q.decimal(&result)
}

/// What both inverse functions are of arguments with an exponent above 34: the logarithm of twice the argument.
fn logarithm_of_double(q: &mut Quads, coefficient: u128, exponent: i32) -> Decimal {
    let binary = q.of(finite(false, coefficient, 0));
    let double = quad::add(&binary, &binary);
    let near = q.apply(|cc| double.ln(WORKING_BITS, LOOSE, cc));
    let ln_10 = q.apply(|cc| cc.ln_10(WORKING_BITS, LOOSE));
    let far = quad::multiply(&quad::whole(exponent), &ln_10);
    q.decimal(&quad::add(&far, &near))
}

fn asinh(q: &mut Quads, x: Decimal) -> Decimal {
    match x.class() {
        DecimalClass::Finite { negative, coefficient: 0, .. } => finite(negative, 0, EXPONENT_MIN),
        DecimalClass::Finite { negative, coefficient, exponent } if exponent > 34 => {
            with_sign(logarithm_of_double(q, coefficient, exponent), negative)
        }
        _ => {
            let binary = q.of(x);
            let result = q.apply(|cc| binary.asinh(WORKING_BITS, LOOSE, cc));
            // What vanished in the conversion keeps its sign.
            if result.is_zero() { finite(is_negative(x), 0, 0) } else { q.decimal(&result) }
        }
    }
}

fn acosh(q: &mut Quads, x: Decimal) -> Decimal {
    let one = Decimal::from_i64(1);
    if x.compare(one).is_lt() {
        return nan();
    }
    // Near 1 by the root of x^2 - 1, which is exact until it is rounded once.
    if x.compare(finite(false, 103_125, -5)).is_lt() {
        let root = arithmetic::sqrt(arithmetic::multiply_add(x, x, negate(one)));
        let binary = q.of(root);
        let result = q.apply(|cc| binary.asinh(WORKING_BITS, LOOSE, cc));
        return q.decimal(&result);
    }
    match x.class() {
        DecimalClass::Finite { coefficient, exponent, .. } if exponent > 34 => {
            logarithm_of_double(q, coefficient, exponent)
        }
        _ => {
            let binary = q.of(x);
            let result = q.apply(|cc| binary.acosh(WORKING_BITS, LOOSE, cc));
            q.decimal(&result)
        }
    }
}

fn atanh(q: &mut Quads, x: Decimal) -> Decimal {
    let negative = is_negative(x);
    match x.class() {
        DecimalClass::Finite { coefficient: 0, .. } => return finite(negative, 0, EXPONENT_MIN),
        DecimalClass::Finite { exponent, .. } if exponent <= -51 => return x,
        _ => {}
    }
    let distance = arithmetic::subtract(Decimal::from_i64(1), abs(x));
    if distance.is_zero() {
        return infinity(negative);
    }
    if is_negative(distance) {
        return nan();
    }
    // Half the logarithm of 1 + 2x / (1 - x).
    let quotient = arithmetic::divide(abs(x), distance);
    let binary = q.of(arithmetic::add(quotient, quotient));
    let result = q.apply(|cc| quad::whole(1).add(&binary, WORKING_BITS, LOOSE).ln(WORKING_BITS, LOOSE, cc));
    let result = quad::divide(&result, &quad::whole(2));
    with_sign(q.decimal(&result), negative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::decimal::text::{format, parse};

    fn check(function: Elementary, x: &str, expected: &str) {
        assert_eq!(format(evaluate(function, parse(x).expect("decimal"))), expected, "{function:?} {x}");
    }

    #[test]
    fn values_are_those_of_a_real_server() {
        use Elementary::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Ln, Log10, Sin, Sinh, Tan, Tanh};
        check(Exp, "2.5", "12.18249396070347343807017595116797");
        check(Exp, "1E+3", "1.970071114017046993888879352243323E+434");
        check(Exp, "-2.5", "0.08208499862389879516952867446715980");
        check(Exp, "0", "1");
        check(Ln, "2.5", "0.9162907318741550651835272117680110");
        check(Log10, "1E+3", "3");
        check(Log10, "2.5", "0.3979400086720376095725222105510140");
        check(Sin, "0.5", "0.4794255386042030002732879352155714");
        check(Sin, "180", "-0.8011526357338304777467311158209893");
        check(Cos, "0.1", "0.9950041652780257660955619878038703");
        check(Tan, "1", "1.557407724654902230506974807458360");
        check(Asin, "1", "1.570796326794896619231321691639751");
        check(Acos, "-1", "3.141592653589793238462643383279503");
        check(Acos, "1", "0E-6176");
        check(Atan, "2", "1.107148717794090503017065460178537");
        check(Sinh, "180", "7.446921003909191797822205115161443E+77");
        check(Cosh, "-1E-40", "1.000000000000000000000000000000000");
        check(Cosh, "1.1E-40", "1");
        check(Cosh, "0.5", "1.127625965206380785226225161402672");
        check(Tanh, "180", "1");
        check(Asinh, "-1", "-0.8813735870195430252326093249797923");
        check(Acosh, "2", "1.316957896924816708625046347307968");
        check(Acosh, "1", "0");
        check(Atanh, "0.5", "0.5493061443340548456976226184612628");
        check(Atanh, "1", "Infinity");
    }
}
