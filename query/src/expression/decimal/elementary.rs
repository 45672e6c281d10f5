//! Exponential, logarithms, powers, trigonometric and hyperbolic functions of decimals.
//!
//! MongoDB's library evaluates these in IEEE binary128: the result is rounded to 113 bits before it becomes 34
//! digits, and for logarithms, inverse functions and tanh the argument is too. To give the same last digits,
//! the same roundings are made here around an evaluation with more bits. (Found by comparing some 60 random
//! arguments a function with a real server: so they agree on more last digits than a correctly rounded decimal
//! result would, but not on all; powers, whose errors follow no rule, are rounded correctly.)

use astro_float::{BigFloat, Consts, Radix, RoundingMode, Sign};
use bindery_document::{Decimal, DecimalClass};

use super::text::{format, parse};
use super::{EXPONENT_MIN, arithmetic, finite, infinity, nan, negate};

/// The bits of a binary128 significand.
const QUAD_BITS: usize = 113;
/// The bits that are computed with.
const WORKING_BITS: usize = 320;
const MODE: RoundingMode = RoundingMode::ToEven;
/// Within the working bits nothing is rounded correctly: seeking a correct rounding does not end where the
/// result is exact (4^0.5), and the bits to spare make it needless.
const LOOSE: RoundingMode = RoundingMode::None;

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
    let (negative, coefficient) = match x.class() {
        DecimalClass::NaN => return nan(),
        DecimalClass::Infinite(negative) => return at_infinity(function, negative),
        DecimalClass::Finite { negative, coefficient, .. } => (negative, coefficient),
    };
    if coefficient == 0 {
        return match function {
            Exp | Cos | Cosh => finite(false, 1, 0),
            Ln | Log2 | Log10 => infinity(true),
            Acos => evaluate_at(function, x),
            Acosh => nan(),
            Sin | Tan | Asin | Atan | Sinh | Tanh | Asinh | Atanh => x,
        };
    }
    let one = Decimal::from_i64(1);
    if matches!(function, Atanh) && super::abs(x).compare(one).is_eq() {
        return infinity(negative);
    }
    if matches!(function, Acos) && x.compare(one).is_eq() {
        return finite(false, 0, EXPONENT_MIN);
    }
    if matches!(function, Acosh | Ln | Log2 | Log10) && x.compare(one).is_eq() {
        return finite(false, 0, 0);
    }
    if matches!(function, Exp | Sinh | Cosh) && super::abs(x).compare(Decimal::from_i64(15_000)).is_gt() {
        // Beyond any exponent.
        return match function {
            Exp if negative => finite(false, 0, EXPONENT_MIN),
            Sinh => infinity(negative),
            _ => infinity(false),
        };
    }
    evaluate_at(function, x)
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
        Atan => {
            let half_pi = divide_pi(2);
            if negative { negate(half_pi) } else { half_pi }
        }
        Sin | Cos | Tan | Asin | Acos | Atanh => nan(),
    }
}

fn evaluate_at(function: Elementary, x: Decimal) -> Decimal {
    let Some(mut constants) = constants() else {
        return nan();
    };
    let cc = &mut constants;
    let exact = matches!(
        function,
        Elementary::Exp | Elementary::Sin | Elementary::Cos | Elementary::Tan | Elementary::Sinh | Elementary::Cosh
    );
    let x = if exact {
        to_binary(x, cc)
    } else if matches!(function, Elementary::Ln | Elementary::Log2 | Elementary::Log10) && is_near_one(x) {
        // Close to 1 what is rounded is the distance from it.
        let distance = to_quad(arithmetic::subtract(x, Decimal::from_i64(1)), cc);
        distance.add(&BigFloat::from_u8(1, WORKING_BITS), WORKING_BITS, MODE)
    } else {
        to_quad(x, cc)
    };
    let (p, m) = (WORKING_BITS, LOOSE);
    let result = match function {
        Elementary::Exp => x.exp(p, m, cc),
        Elementary::Ln => x.ln(p, m, cc),
        Elementary::Log2 => x.log2(p, m, cc),
        Elementary::Log10 => x.log10(p, m, cc),
        Elementary::Sin => x.sin(p, m, cc),
        Elementary::Cos => x.cos(p, m, cc),
        Elementary::Tan => x.tan(p, m, cc),
        Elementary::Asin => x.asin(p, m, cc),
        Elementary::Acos => x.acos(p, m, cc),
        Elementary::Atan => x.atan(p, m, cc),
        Elementary::Sinh => x.sinh(p, m, cc),
        Elementary::Cosh => x.cosh(p, m, cc),
        Elementary::Tanh => x.tanh(p, m, cc),
        Elementary::Asinh => x.asinh(p, m, cc),
        Elementary::Acosh => x.acosh(p, m, cc),
        Elementary::Atanh => x.atanh(p, m, cc),
    };
    from_quad(result, cc)
}

/// base^exponent. Finite results have all 34 digits written, as MongoDB's have.
pub(crate) fn power(base: Decimal, exponent: Decimal) -> Decimal {
    use DecimalClass::{Finite, Infinite};
    let one = Decimal::from_i64(1);
    if exponent.is_zero() || base.compare(one).is_eq() {
        return pad(one);
    }
    if base.is_nan() || exponent.is_nan() {
        return nan();
    }
    let whole = exponent.compare(arithmetic::to_integral(exponent, arithmetic::Rounding::TowardZero)).is_eq();
    let odd = whole && !arithmetic::remainder(exponent, Decimal::from_i64(2)).is_zero() && !is_infinite(exponent);
    let raised_up = !super::is_negative(exponent);
    match (base.class(), exponent.class()) {
        (_, Infinite(negative)) => match super::abs(base).compare(one) {
            std::cmp::Ordering::Equal => pad(one),
            std::cmp::Ordering::Greater if negative => finite(false, 0, EXPONENT_MIN),
            std::cmp::Ordering::Less if !negative => finite(false, 0, EXPONENT_MIN),
            _ => infinity(false),
        },
        (Infinite(negative), _) => {
            if raised_up {
                infinity(negative && odd)
            } else {
                finite(negative && odd, 0, EXPONENT_MIN)
            }
        }
        (Finite { negative, coefficient: 0, .. }, _) => {
            if raised_up {
                finite(negative && odd, 0, EXPONENT_MIN)
            } else {
                infinity(negative && odd)
            }
        }
        (DecimalClass::NaN, _) | (_, DecimalClass::NaN) => nan(),
        (Finite { negative: true, .. }, _) if !whole => nan(),
        (Finite { negative, .. }, _) => {
            let Some(mut constants) = constants() else {
                return nan();
            };
            let cc = &mut constants;
            let (x, y) = (to_binary(super::abs(base), cc), to_binary(exponent, cc));
            let magnitude = from_binary(x.pow(&y, WORKING_BITS, LOOSE, cc), cc);
            let result = pad(magnitude);
            if negative && odd { negate(result) } else { result }
        }
    }
}

/// The angle of the point (x, y).
pub(crate) fn atan2(y: Decimal, x: Decimal) -> Decimal {
    if y.is_nan() || x.is_nan() {
        return nan();
    }
    let (y_negative, x_negative) = (super::is_negative(y), super::is_negative(x));
    let signed = |d: Decimal| if y_negative { negate(d) } else { d };
    if y.is_zero() {
        return if x_negative { signed(divide_pi(1)) } else { y };
    }
    if x.is_zero() {
        return signed(divide_pi(2));
    }
    match (is_infinite(y), is_infinite(x)) {
        (true, true) => {
            let quarter = divide_pi(4);
            return signed(if x_negative { arithmetic::multiply(quarter, Decimal::from_i64(3)) } else { quarter });
        }
        (true, false) => return signed(divide_pi(2)),
        (false, true) => return signed(if x_negative { divide_pi(1) } else { finite(false, 0, EXPONENT_MIN) }),
        (false, false) => {}
    }
    let Some(mut constants) = constants() else {
        return nan();
    };
    let cc = &mut constants;
    let (a, b) = (to_quad(super::abs(y), cc), to_quad(super::abs(x), cc));
    let mut angle = a.div(&b, WORKING_BITS, MODE).atan(WORKING_BITS, LOOSE, cc);
    if x_negative {
        angle = cc.pi(WORKING_BITS, MODE).sub(&angle, WORKING_BITS, MODE);
    }
    signed(from_quad(angle, cc))
}

/// Pi divided by a small number.
pub(crate) fn divide_pi(by: u8) -> Decimal {
    let Some(mut constants) = constants() else {
        return nan();
    };
    let pi = constants.pi(WORKING_BITS, MODE);
    from_quad(pi.div(&BigFloat::from_u8(by, WORKING_BITS), WORKING_BITS, MODE), &mut constants)
}

/// 180 divided by pi.
pub(crate) fn degrees() -> Decimal {
    let Some(mut constants) = constants() else {
        return nan();
    };
    let pi = constants.pi(WORKING_BITS, MODE);
    from_quad(BigFloat::from_u8(180, WORKING_BITS).div(&pi, WORKING_BITS, MODE), &mut constants)
}

fn is_near_one(x: Decimal) -> bool {
    (0.85..1.15).contains(&x.to_f64())
}

fn is_infinite(x: Decimal) -> bool {
    matches!(x.class(), DecimalClass::Infinite(_))
}

/// Writes all 34 digits: adding the zero of the least exponent asks for them.
fn pad(x: Decimal) -> Decimal {
    arithmetic::add(x, finite(false, 0, EXPONENT_MIN))
}

fn constants() -> Option<Consts> {
    Consts::new().ok()
}

fn to_binary(x: Decimal, cc: &mut Consts) -> BigFloat {
    BigFloat::parse(&format(x), Radix::Dec, WORKING_BITS, MODE, cc)
}

fn to_quad(x: Decimal, cc: &mut Consts) -> BigFloat {
    let mut quad = to_binary(x, cc);
    round_to_quad(&mut quad);
    quad
}

fn from_quad(mut x: BigFloat, cc: &mut Consts) -> Decimal {
    round_to_quad(&mut x);
    from_binary(x, cc)
}

fn from_binary(mut x: BigFloat, cc: &mut Consts) -> Decimal {
    if x.is_nan() {
        return nan();
    }
    if x.is_inf() {
        return infinity(x.is_inf_neg());
    }
    if x.is_zero() {
        return finite(x.sign() == Some(Sign::Neg), 0, EXPONENT_MIN);
    }
    // Text with more digits than the 113 bits need is their exact value, or rounds as it does.
    let _ = x.set_precision(1024, MODE);
    let Ok(text) = x.format(Radix::Dec, MODE, cc) else {
        return nan();
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let trimmed = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let decimal = parse(&format!("{trimmed}e{exponent}")).unwrap_or_else(nan);
    // An exact integer is written as one.
    match decimal.class() {
        DecimalClass::Finite { exponent, .. } if exponent > 0 => {
            let zero = finite(false, 0, 0);
            arithmetic::add(decimal, zero)
        }
        _ => decimal,
    }
}

/// Rounds the significand to 113 bits; the library's precision counts whole words, so this is done by
/// adding and taking away a number that is larger by the excess.
fn round_to_quad(x: &mut BigFloat) {
    let Some(exponent) = x.exponent() else {
        return;
    };
    // x lies in [2^(e-1), 2^e); a sum near 1.5 * 2^(e + p - 113) with p bits rounds at bit 113.
    let precision = WORKING_BITS;
    let mut big = BigFloat::from_f64(1.5, precision);
    big.set_exponent(exponent.saturating_add((precision - QUAD_BITS) as i32));
    let rounded = x.add(&big, precision, MODE).sub(&big, precision, MODE);
    if !rounded.is_nan() {
        *x = rounded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check(Cosh, "0.5", "1.127625965206380785226225161402672");
        check(Tanh, "180", "1");
        check(Asinh, "-1", "-0.8813735870195430252326093249797923");
        check(Acosh, "2", "1.316957896924816708625046347307968");
        check(Acosh, "1", "0");
        check(Atanh, "0.5", "0.5493061443340548456976226184612628");
        check(Atanh, "1", "Infinity");
    }

    #[test]
    fn powers_have_all_digits() {
        let power_of = |x: &str, y: &str| format(power(parse(x).expect("decimal"), parse(y).expect("decimal")));
        assert_eq!(power_of("2", "3"), "8.000000000000000000000000000000000");
        assert_eq!(power_of("2", "0.5"), "1.414213562373095048801688724209698");
        assert_eq!(power_of("0", "0"), "1.000000000000000000000000000000000");
    }
}
