//! Sums, products, quotients, remainders, roundings: exact, rounded once.

use bindery_document::{Decimal, DecimalClass};
use ethnum::U256;

use super::{COEFFICIENT_MAX, EXPONENT_MAX, EXPONENT_MIN, finite, infinity, nan, negate};

use DecimalClass::{Finite, Infinite, NaN};

/// How a number between two representable ones is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    HalfEven,
    TowardZero,
    Up,
    Down,
}

/// 10^n for n up to 76.
fn pow10(n: u32) -> U256 {
    U256::new(10).pow(n)
}

/// The number of decimal digits; 0 has one.
fn digits(n: U256) -> u32 {
    let mut count = 1;
    let mut bound = U256::new(10);
    while n >= bound {
        count += 1;
        match bound.checked_mul(U256::new(10)) {
            Some(next) => bound = next,
            None => break,
        }
    }
    count
}

/// Divides by 10^n; `inexact` tells whether something below the result was lost before.
fn shift_right(coefficient: U256, n: u32, mode: Rounding, negative: bool, inexact: bool) -> U256 {
    if n == 0 && !inexact {
        return coefficient;
    }
    if n > 76 {
        // All digits fall away; what is left is less than half a unit.
        let anything = coefficient != U256::ZERO || inexact;
        let up = match mode {
            Rounding::Up => !negative,
            Rounding::Down => negative,
            Rounding::HalfEven | Rounding::TowardZero => false,
        };
        return if anything && up { U256::ONE } else { U256::ZERO };
    }
    let unit = pow10(n);
    let (quotient, remainder) = (coefficient / unit, coefficient % unit);
    let exact = remainder == U256::ZERO && !inexact;
    let up = match mode {
        Rounding::HalfEven if n == 0 => false,
        Rounding::HalfEven => {
            let half = unit / U256::new(2);
            remainder > half || (remainder == half && (inexact || quotient % U256::new(2) == U256::ONE))
        }
        Rounding::TowardZero => false,
        Rounding::Up => !exact && !negative,
        Rounding::Down => !exact && negative,
    };
    if up { quotient + U256::ONE } else { quotient }
}

/// Rounds an exact result to 34 digits and the range of exponents.
pub(super) fn round(negative: bool, coefficient: U256, exponent: i32, inexact: bool) -> Decimal {
    let excess = digits(coefficient).saturating_sub(34) as i32;
    // Below the least exponent digits are lost as well (gradual underflow).
    let drop = excess.max(EXPONENT_MIN.saturating_sub(exponent)).max(0);
    let mut exponent = exponent.saturating_add(drop);
    let mut coefficient = shift_right(coefficient, drop as u32, Rounding::HalfEven, negative, inexact);
    if coefficient > U256::new(COEFFICIENT_MAX) {
        coefficient /= U256::new(10);
        exponent += 1;
    }
    let mut coefficient = coefficient.as_u128();
    // Too great an exponent: use the coefficient's free digits.
    while exponent > EXPONENT_MAX && coefficient <= COEFFICIENT_MAX / 10 {
        if coefficient == 0 {
            exponent = EXPONENT_MAX;
            break;
        }
        coefficient *= 10;
        exponent -= 1;
    }
    if exponent > EXPONENT_MAX { infinity(negative) } else { finite(negative, coefficient, exponent) }
}

/// The sum.
pub(crate) fn add(a: Decimal, b: Decimal) -> Decimal {
    match (a.class(), b.class()) {
        (NaN, _) | (_, NaN) => nan(),
        (Infinite(x), Infinite(y)) => {
            if x == y {
                a
            } else {
                nan()
            }
        }
        (Infinite(_), _) => a,
        (_, Infinite(_)) => b,
        (
            Finite { negative: n1, coefficient: c1, exponent: e1 },
            Finite { negative: n2, coefficient: c2, exponent: e2 },
        ) => add_finite((n1, c1, e1), (n2, c2, e2)),
    }
}

fn add_finite(a: (bool, u128, i32), b: (bool, u128, i32)) -> Decimal {
    let [x, y] = [a, b].map(|(negative, coefficient, exponent)| Term {
        negative,
        coefficient: U256::new(coefficient),
        exponent,
    });
    sum(x, y)
}

/// An exact product of two decimals, or a decimal: up to 68 digits.
#[derive(Clone, Copy, Debug)]
struct Term {
    negative: bool,
    coefficient: U256,
    exponent: i32,
}

impl Term {
    /// The power of ten that is just above it.
    fn top(self) -> i32 {
        self.exponent + digits(self.coefficient) as i32
    }

    /// The same number with a lower exponent, for which there must be room; or a higher one, with one more digit
    /// that stands for all that is lost, if that is not 0.
    fn at(self, exponent: i32) -> U256 {
        if self.exponent >= exponent {
            return self.coefficient * pow10(self.exponent.abs_diff(exponent));
        }
        // The last digit of the result is the one that stands for the rest.
        let lost = self.exponent.abs_diff(exponent) + 1;
        if lost > 76 {
            return U256::ONE;
        }
        let unit = pow10(lost);
        let rest = if self.coefficient % unit == U256::ZERO { U256::ZERO } else { U256::ONE };
        self.coefficient / unit * U256::new(10) + rest
    }
}

/// The sum, rounded once.
fn sum(a: Term, b: Term) -> Decimal {
    let low = a.exponent.min(b.exponent);
    let (zero_a, zero_b) = (a.coefficient == U256::ZERO, b.coefficient == U256::ZERO);
    if zero_a && zero_b {
        return finite(a.negative && b.negative, 0, low);
    }
    if zero_a || zero_b {
        // The lower exponent, as far as the digits allow.
        let term = if zero_a { b } else { a };
        let free = 34u32.saturating_sub(digits(term.coefficient));
        let shift = term.exponent.abs_diff(low).min(free);
        return round(term.negative, term.coefficient * pow10(shift), term.exponent - shift as i32, false);
    }
    // Terms of about the same size have at most 70 digits together, and all count, as the first may cancel out. Of
    // terms further apart, what is 40 digits below the greater only decides which way to round.
    let top = a.top().max(b.top());
    let exponent = if top - low <= 75 { low } else { top - 42 };
    let (x, y) = (a.at(exponent), b.at(exponent));
    let (negative, sum) = if a.negative == b.negative {
        (a.negative, x + y)
    } else if x > y {
        (a.negative, x - y)
    } else if x < y {
        (b.negative, y - x)
    } else {
        (false, U256::ZERO)
    };
    round(negative, sum, exponent, false)
}

/// The difference.
pub(crate) fn subtract(a: Decimal, b: Decimal) -> Decimal {
    if b.is_nan() { nan() } else { add(a, negate(b)) }
}

/// The product.
pub(crate) fn multiply(a: Decimal, b: Decimal) -> Decimal {
    match (a.class(), b.class()) {
        (NaN, _) | (_, NaN) => nan(),
        (Infinite(x), Infinite(y)) => infinity(x != y),
        (Infinite(x), Finite { negative, coefficient, .. }) | (Finite { negative, coefficient, .. }, Infinite(x)) => {
            if coefficient == 0 {
                nan()
            } else {
                infinity(x != negative)
            }
        }
        (
            Finite { negative: n1, coefficient: c1, exponent: e1 },
            Finite { negative: n2, coefficient: c2, exponent: e2 },
        ) => round(n1 != n2, U256::new(c1) * U256::new(c2), e1 + e2, false),
    }
}

/// a * b + c, rounded once (IEEE 754's `fusedMultiplyAdd`).
pub(crate) fn multiply_add(a: Decimal, b: Decimal, c: Decimal) -> Decimal {
    match (a.class(), b.class(), c.class()) {
        (
            Finite { negative: n1, coefficient: c1, exponent: e1 },
            Finite { negative: n2, coefficient: c2, exponent: e2 },
            Finite { negative, coefficient, exponent },
        ) => {
            let product = Term { negative: n1 != n2, coefficient: U256::new(c1) * U256::new(c2), exponent: e1 + e2 };
            sum(product, Term { negative, coefficient: U256::new(coefficient), exponent })
        }
        // An infinite or undefined term decides alone, and a finite product that would overflow does not.
        (Finite { .. }, Finite { .. }, _) => c,
        _ => add(multiply(a, b), c),
    }
}

/// The quotient; a finite number by zero is an infinity, zero by zero is not a number.
pub(crate) fn divide(a: Decimal, b: Decimal) -> Decimal {
    match (a.class(), b.class()) {
        (NaN, _) | (_, NaN) | (Infinite(_), Infinite(_)) => nan(),
        (Infinite(x), Finite { negative, .. }) => infinity(x != negative),
        (Finite { negative, .. }, Infinite(y)) => finite(negative != y, 0, EXPONENT_MIN),
        (
            Finite { negative: n1, coefficient: c1, exponent: e1 },
            Finite { negative: n2, coefficient: c2, exponent: e2 },
        ) => {
            let negative = n1 != n2;
            if c2 == 0 {
                return if c1 == 0 { nan() } else { infinity(negative) };
            }
            let ideal = e1 - e2;
            if c1 == 0 {
                return finite(negative, 0, ideal);
            }
            // Enough digits for 34 and one to round by.
            let scale = (36 + digits(U256::new(c2))).saturating_sub(digits(U256::new(c1)));
            let (dividend, divisor) = (U256::new(c1) * pow10(scale), U256::new(c2));
            let (mut quotient, remainder) = (dividend / divisor, dividend % divisor);
            let mut exponent = ideal - scale as i32;
            if remainder == U256::ZERO {
                // An exact quotient comes as near to the ideal exponent as it can.
                while exponent < ideal && quotient % U256::new(10) == U256::ZERO {
                    quotient /= U256::new(10);
                    exponent += 1;
                }
            }
            round(negative, quotient, exponent, remainder != U256::ZERO)
        }
    }
}

/// The remainder with the sign of the dividend, exact (C's `fmod`).
pub(crate) fn remainder(a: Decimal, b: Decimal) -> Decimal {
    match (a.class(), b.class()) {
        (NaN, _) | (_, NaN) | (Infinite(_), _) => nan(),
        (Finite { .. }, Infinite(_)) => a,
        (Finite { negative, coefficient: c1, exponent: e1 }, Finite { negative: _, coefficient: c2, exponent: e2 }) => {
            if c2 == 0 {
                return nan();
            }
            if e1 >= e2 {
                let divisor = U256::new(c2);
                let scale = power_mod(e1.abs_diff(e2), divisor);
                let rest = (U256::new(c1) % divisor) * scale % divisor;
                return finite(negative, rest.as_u128(), e2);
            }
            let difference = e1.abs_diff(e2);
            if difference > 40 {
                // The divisor is greater than any coefficient of the dividend's exponent.
                return a;
            }
            let rest = U256::new(c1) % (U256::new(c2) * pow10(difference));
            finite(negative, rest.as_u128(), e1)
        }
    }
}

/// 10^n modulo m, for m below 2^113.
fn power_mod(mut n: u32, m: U256) -> U256 {
    let (mut base, mut result) = (U256::new(10) % m, U256::ONE % m);
    while n > 0 {
        if n & 1 == 1 {
            result = result * base % m;
        }
        base = base * base % m;
        n >>= 1;
    }
    result
}

/// Rounds to a multiple of 10^exponent and gives the result that exponent (`quantize`).
/// A number that needs more than 34 digits for that is not a number.
pub(crate) fn quantize(a: Decimal, exponent: i32, mode: Rounding) -> Decimal {
    let Finite { negative, coefficient, exponent: own } = a.class() else {
        return a;
    };
    let exponent = exponent.clamp(EXPONENT_MIN, EXPONENT_MAX);
    if own >= exponent {
        let shift = own.abs_diff(exponent);
        if coefficient == 0 {
            return finite(negative, 0, exponent);
        }
        if digits(U256::new(coefficient)) + shift > 34 {
            return nan();
        }
        return finite(negative, coefficient * 10u128.pow(shift), exponent);
    }
    let shifted = shift_right(U256::new(coefficient), own.abs_diff(exponent), mode, negative, false);
    if shifted > U256::new(COEFFICIENT_MAX) { nan() } else { finite(negative, shifted.as_u128(), exponent) }
}

/// Rounds to an integer; what has none to round keeps its exponent.
pub(crate) fn to_integral(a: Decimal, mode: Rounding) -> Decimal {
    match a.class() {
        Finite { exponent, .. } if exponent < 0 => quantize(a, 0, mode),
        _ => a,
    }
}

/// The square root, rounded half to even.
pub(crate) fn sqrt(a: Decimal) -> Decimal {
    let (coefficient, exponent) = match a.class() {
        NaN => return nan(),
        Infinite(negative) => return if negative { nan() } else { a },
        Finite { negative, coefficient: 0, exponent } => return finite(negative, 0, exponent.div_euclid(2)),
        Finite { negative: true, .. } => return nan(),
        Finite { coefficient, exponent, .. } => (coefficient, exponent),
    };
    let ideal = exponent.div_euclid(2);
    // An even exponent and some 70 digits give a root of 35.
    let mut scale = 70u32.saturating_sub(digits(U256::new(coefficient)));
    if (exponent - scale as i32) % 2 != 0 {
        scale += 1;
    }
    let radicand = U256::new(coefficient) * pow10(scale);
    let mut root = integer_sqrt(radicand);
    let exact = root * root == radicand;
    let mut exponent = (exponent - scale as i32) / 2;
    if exact {
        while exponent < ideal && root % U256::new(10) == U256::ZERO {
            root /= U256::new(10);
            exponent += 1;
        }
    }
    round(false, root, exponent, !exact)
}

/// The greatest integer whose square is not above n (Newton's method from above).
fn integer_sqrt(n: U256) -> U256 {
    if n <= U256::ONE {
        return n;
    }
    let mut x = U256::ONE << (256 - n.leading_zeros()).div_ceil(2);
    loop {
        let next = (x + n / x) >> 1;
        if next >= x {
            return x;
        }
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::decimal::text::{format, parse};

    fn decimal(text: &str) -> Decimal {
        parse(text).expect("decimal")
    }

    fn check(f: fn(Decimal, Decimal) -> Decimal, a: &str, b: &str, expected: &str) {
        assert_eq!(format(f(decimal(a), decimal(b))), expected, "{a}, {b}");
    }

    #[test]
    fn sums_keep_the_lower_exponent_and_round_half_to_even() {
        check(add, "1.10", "2.2000", "3.3000");
        check(add, "1E+6144", "9E+6144", "Infinity");
        check(add, "1E-6176", "1", "1.000000000000000000000000000000000");
        check(add, "9999999999999999999999999999999999", "0.5", "1.000000000000000000000000000000000E+34");
        check(add, "1E+40", "0E-3", "1.000000000000000000000000000000000E+40");
        check(add, "Infinity", "-Infinity", "NaN");
        check(add, "-0", "-0.0", "-0.0");
        check(add, "1.5", "-1.50", "0.00");
        // The smaller operand has more digits than it lies lower.
        check(add, "1", "1.084202172485504434007452800869942E-19", "1.000000000000000000108420217248550");
        check(add, "1", "-9.999999999999999999999999999999999E-36", "1.000000000000000000000000000000000");
    }

    #[test]
    fn a_product_and_a_sum_are_rounded_once() {
        let check = |a: &str, b: &str, c: &str, expected: &str| {
            assert_eq!(format(multiply_add(decimal(a), decimal(b), decimal(c))), expected, "{a} * {b} + {c}");
        };
        check("3", "4", "-12.00", "0.00");
        check(
            "1.000000000000000000000000000000001",
            "1.000000000000000000000000000000001",
            "-1.000000000000000000000000000000002",
            "1E-66",
        );
        check("0.1", "1E-6176", "1", "1.000000000000000000000000000000000");
        check("1E+6144", "10", "-1E+6144", "9.000000000000000000000000000000000E+6144");
        check("1E+6144", "10", "-9.5E+6144", "5.00000000000000000000000000000000E+6143");
        check("1E-3000", "1E-3100", "5E-6100", "6E-6100");
        check(
            "9999999999999999999999999999999999",
            "9999999999999999999999999999999999",
            "1E+80",
            "1.000000000001000000000000000000000E+80",
        );
        check(
            "9999999999999999999999999999999999",
            "9999999999999999999999999999999999",
            "-1E-20",
            "9.999999999999999999999999999999998E+67",
        );
        check("5", "1E-40", "1", "1.000000000000000000000000000000000");
        check("5", "1E-34", "1", "1.000000000000000000000000000000000");
        check("5.000000001", "1E-34", "1", "1.000000000000000000000000000000001");
        check("0", "3", "2E+5", "200000");
        check("Infinity", "2", "1", "Infinity");
        check("Infinity", "0", "1", "NaN");
        check("1E+6000", "1E+6000", "-Infinity", "-Infinity");
    }

    #[test]
    fn quotients_come_near_the_ideal_exponent() {
        check(divide, "1", "3", "0.3333333333333333333333333333333333");
        check(divide, "10.00", "2", "5.00");
        check(divide, "1", "1E+6000", "1E-6000");
        check(divide, "1E-6176", "2", "0E-6176");
        check(divide, "1E+6000", "1E-6000", "Infinity");
        check(divide, "0E+5", "3", "0E+5");
        check(divide, "3", "Infinity", "0E-6176");
        check(divide, "100", "1E+2", "1.00");
        check(divide, "1", "7", "0.1428571428571428571428571428571429");
    }

    #[test]
    fn remainders_are_exact() {
        check(remainder, "1E+6000", "7", "1");
        check(remainder, "-7.5", "2", "-1.5");
        check(remainder, "1", "Infinity", "1");
        check(remainder, "Infinity", "2", "NaN");
        check(remainder, "5", "1E+10", "5");
        check(remainder, "-4", "2", "-0");
        check(remainder, "1E+3", "7.00", "6.00");
    }

    #[test]
    fn roots_are_rounded_once() {
        for (a, expected) in
            [("2", "1.414213562373095048801688724209698"), ("16", "4"), ("1E+3", "31.62277660168379331998893544432719")]
        {
            assert_eq!(format(sqrt(decimal(a))), expected);
        }
    }
}
