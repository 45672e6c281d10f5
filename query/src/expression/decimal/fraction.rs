//! Fractions of 192 bits: unsigned integers that stand for multiples of 2^-192.

use ethnum::U256;

/// The bits behind the point.
pub(super) const BITS: u32 = 192;

/// All bits of a fraction.
pub(super) fn mask() -> U256 {
    (U256::ONE << BITS) - U256::ONE
}

/// The product of two fractions, cut off: the upper 192 bits of 384.
pub(super) fn product(a: U256, b: U256) -> U256 {
    const HALF: u32 = BITS / 2;
    let mask = (U256::ONE << HALF) - U256::ONE;
    let ([a1, a0], [b1, b0]) = ([a >> HALF, a & mask], [b >> HALF, b & mask]);
    a1 * b1 + ((a1 * b0 + a0 * b1 + ((a0 * b0) >> HALF)) >> HALF)
}

/// ln(a / b) for b <= a <= 2b, some of whose last bits are not right: twice the sum of t^n / n for odd n, with
/// t = (a - b) / (a + b).
pub(super) fn logarithm_of_ratio(a: U256, b: U256) -> U256 {
    let t = ((a - b) << BITS) / (a + b);
    let square = product(t, t);
    let (mut power, mut sum, mut n) = (t, U256::ZERO, 1u128);
    while power != U256::ZERO {
        sum += power / U256::new(n);
        power = product(power, square);
        n += 2;
    }
    sum << 1
}

/// ln 2.
pub(super) fn ln_2() -> U256 {
    logarithm_of_ratio(U256::new(2), U256::ONE)
}

/// ln 10, which has two bits before the point.
pub(super) fn ln_10() -> U256 {
    ln_2() * U256::new(3) + logarithm_of_ratio(U256::new(5), U256::new(4))
}

/// a / b for a < b, bit after bit.
pub(super) fn quotient(a: U256, b: U256) -> U256 {
    let (mut rest, mut quotient) = (a, U256::ZERO);
    for _ in 0..BITS {
        rest <<= 1;
        quotient <<= 1;
        if rest >= b {
            rest -= b;
            quotient += U256::ONE;
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_cut_off() {
        let half = U256::ONE << (BITS - 1);
        assert_eq!(product(half, half), half >> 1);
        assert_eq!(product(mask(), mask()), mask() - U256::ONE);
        assert_eq!(product(U256::ONE, mask()), U256::ZERO);
        // (2^96 + 1)^2 is 2^192 + 2^97 + 1.
        let both_halves = (U256::ONE << 96) + U256::ONE;
        assert_eq!(product(both_halves, both_halves), U256::ONE);
    }

    #[test]
    fn logarithms_have_the_known_digits() {
        let digits = |x: U256| (x * U256::new(10u128.pow(18))) >> BITS;
        assert_eq!(digits(ln_2()), U256::new(693_147_180_559_945_309));
        assert_eq!(digits(ln_10()), U256::new(2_302_585_092_994_045_684));
        assert_eq!(digits(quotient(ln_2(), ln_10())), U256::new(301_029_995_663_981_195));
    }
}
