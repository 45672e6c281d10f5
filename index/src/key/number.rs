//! Numbers in ordered keys: all four types interleave by exact value.
//!
//! The type byte carries sign and size class, so that magnitudes need only ascend within a class.
//! Negative numbers have the bytes after the type byte inverted.
//!
//! | class | bytes |
//! |---|---|
//! | zero, NaN | none |
//! | 1 <= \|x\| < 2^63 | `whole << 1` in n bytes (1 to 8), its low bit set if a fraction follows |
//! | its fraction | 8 - n bytes: fixed-point binary, cut off toward zero, and a low bit: digits follow |
//! | \|x\| < 1 | 8 bytes: the double's bits `<< 2`, cut off toward zero, and a low bit: digits follow |
//! | \|x\| >= 2^63 | 8 bytes: the double's bits `<< 1`, cut off toward zero, and a low bit: digits follow |
//! | digits | of decimals that are no binary fraction of that length |
//!
//! A double whose integer part takes n bytes has at most 63 - 8n bits of fraction (52 for n = 1, where 55
//! fit), so doubles never need digits, take nine bytes at most, and cutting off is exact for them. A
//! decimal that was cut off lies strictly between its binary part and the next one; the digits that
//! follow put it in its place among its neighbours:
//!
//! - after a fraction: the fraction's decimal digits, from the point on;
//! - else: the exponent of the coefficient scaled to 34 digits, biased, in two bytes; then those digits.
//!
//! Digits are written two a byte, as `2 * pair + more`, without trailing zeros; `more` says that
//! another pair follows, so that a longer number sorts after its prefix. The price 19.99 takes ten
//! bytes: `2B`, `27` (19 << 1 | 1), seven bytes of fraction, `C6` (99 << 1).

use bindery_document::{Decimal, DecimalClass, Value};

use super::builder::invert;
use super::decode::Reader;
use super::type_bits::{TypeBits, TypeBitsReader};
use super::{CorruptKey, marker};

pub(super) const INT32: u32 = 0;
pub(super) const INT64: u32 = 1;
const DOUBLE: u32 = 2;
const DECIMAL: u32 = 3;

const TWO_63: f64 = 9_223_372_036_854_775_808.0;
/// The digits of a decimal's coefficient.
const DIGITS: u32 = 34;
/// Makes scaled exponents positive; the least is -6176 - 33.
const EXPONENT_BIAS: i32 = 6300;
/// Makes unscaled exponents positive.
const QUANTUM_BIAS: i32 = 6176;

#[inline]
pub(super) fn append_integer(n: i64, out: &mut Vec<u8>) {
    let magnitude = n.unsigned_abs();
    if n == 0 {
        out.push(marker::ZERO);
    } else if magnitude >= 1 << 63 {
        append_word(marker::NEGATIVE_LARGE, TWO_63.to_bits() << 1, true, out);
    } else {
        append_whole(magnitude, n < 0, out);
    }
}

#[inline]
pub(super) fn append_double(d: f64, out: &mut Vec<u8>, bits: &mut TypeBits) {
    bits.push(DOUBLE, 2);
    let magnitude = d.abs();
    let negative = d < 0.0;
    if d == 0.0 {
        bits.push(u32::from(d.is_sign_negative()), 1);
        out.push(marker::ZERO);
    } else if d.is_nan() {
        out.push(marker::NAN);
    } else if magnitude < 1.0 {
        append_word(small(negative), magnitude.to_bits() << 2, negative, out);
    } else if magnitude >= TWO_63 {
        append_word(large(negative), magnitude.to_bits() << 1, negative, out);
    } else {
        let whole = magnitude as u64;
        // Exact: below 2^53 both are multiples of the last place, above there is no fraction.
        let fraction = magnitude - whole as f64;
        if fraction == 0.0 {
            append_whole(whole, negative, out);
        } else {
            let width = fraction_width(whole_bytes(whole));
            let fixed = (fraction * (1u64 << width) as f64) as u64;
            append_fraction(whole, fixed, false, negative, out);
        }
    }
}

pub(super) fn append_decimal(d: Decimal, out: &mut Vec<u8>, bits: &mut TypeBits) {
    bits.push(DECIMAL, 2);
    match d.class() {
        DecimalClass::NaN => out.push(marker::NAN),
        DecimalClass::Infinite(negative) => {
            append_word(large(negative), f64::INFINITY.to_bits() << 1, negative, out);
        }
        DecimalClass::Finite { negative, coefficient: 0, exponent } => {
            bits.push(u32::from(negative), 1);
            bits.push((exponent + QUANTUM_BIAS) as u32, 14);
            out.push(marker::ZERO);
        }
        DecimalClass::Finite { negative, coefficient, exponent } => {
            let (stripped, zeros) = strip_zeros(coefficient);
            bits.push(zeros, 6);
            append_finite(negative, stripped, exponent + zeros as i32, out);
        }
    }
}

/// Appends a decimal that is not zero, its coefficient without trailing zeros.
fn append_finite(negative: bool, coefficient: u128, exponent: i32, out: &mut Vec<u8>) {
    if exponent >= 0 {
        let scale = 10u128.checked_pow(exponent.unsigned_abs());
        let whole = scale.and_then(|scale| coefficient.checked_mul(scale)).filter(|whole| *whole < 1 << 63);
        return match whole {
            Some(whole) => append_whole(whole as u64, negative, out),
            None => append_rounded(large(negative), 1, negative, coefficient, exponent, out),
        };
    }
    // Past 10^38 the power overflows, and the coefficient is far below it.
    let places = exponent.unsigned_abs();
    let scale = 10u128.checked_pow(places).unwrap_or(u128::MAX);
    let whole = coefficient / scale;
    if whole == 0 {
        return append_rounded(small(negative), 2, negative, coefficient, exponent, out);
    }
    if whole >= 1 << 63 {
        return append_rounded(large(negative), 1, negative, coefficient, exponent, out);
    }
    // With a whole part there are at most 33 places, so doubling the rest cannot overflow.
    let rest = coefficient % scale;
    let (mut left, mut fixed) = (rest, 0u64);
    for _ in 0..fraction_width(whole_bytes(whole as u64)) {
        left *= 2;
        let bit = left >= scale;
        fixed = fixed << 1 | u64::from(bit);
        if bit {
            left -= scale;
        }
    }
    append_fraction(whole as u64, fixed, left != 0, negative, out);
    if left != 0 {
        let start = out.len();
        append_digits(rest * 10u128.pow(DIGITS - places), out);
        if negative {
            invert(out, start);
        }
    }
}

/// Appends a decimal as the double at or next below its magnitude, then its digits if that is not exact.
fn append_rounded(type_byte: u8, shift: u32, negative: bool, coefficient: u128, exponent: i32, out: &mut Vec<u8>) {
    let Some(magnitude) = Decimal::from_parts(false, coefficient, exponent)
        .or_else(|| Decimal::from_parts(false, coefficient * 10u128.pow((exponent - 6111).max(0) as u32), 6111))
    else {
        return;
    };
    let nearest = magnitude.to_f64();
    let order = magnitude.compare_f64(nearest);
    let below = if order.is_lt() { nearest.next_down() } else { nearest };
    let inexact = order.is_ne();
    append_word(type_byte, below.to_bits() << shift | u64::from(inexact), negative, out);
    if inexact && let Some((exponent, digits)) = magnitude.normalized() {
        let start = out.len();
        out.extend_from_slice(&((exponent + EXPONENT_BIAS) as u16).to_be_bytes());
        append_digits(digits, out);
        if negative {
            invert(out, start);
        }
    }
}

fn small(negative: bool) -> u8 {
    if negative { marker::NEGATIVE_SMALL } else { marker::POSITIVE_SMALL }
}

fn large(negative: bool) -> u8 {
    if negative { marker::NEGATIVE_LARGE } else { marker::POSITIVE_LARGE }
}

fn whole_type(n: u32, negative: bool) -> u8 {
    if negative { marker::NEGATIVE_INTEGER_BASE - n as u8 } else { marker::POSITIVE_INTEGER_BASE + n as u8 }
}

/// The bytes that an integer part below 2^63, shifted by one, takes.
#[inline]
fn whole_bytes(whole: u64) -> u32 {
    8 - (whole << 1).leading_zeros() / 8
}

/// The bits of fraction that follow an integer part of n bytes; the last bit is kept for "digits follow".
fn fraction_width(n: u32) -> u32 {
    (8 * (8 - n)).saturating_sub(1)
}

#[inline]
fn append_word(type_byte: u8, word: u64, negative: bool, out: &mut Vec<u8>) {
    let word = if negative { !word } else { word };
    let mut bytes = [type_byte; 9];
    bytes[1..].copy_from_slice(&word.to_be_bytes());
    out.extend_from_slice(&bytes);
}

#[inline]
fn append_whole(whole: u64, negative: bool, out: &mut Vec<u8>) {
    let n = whole_bytes(whole);
    append_word(whole_type(n, negative), whole << 1 << (64 - 8 * n), negative, out);
    // Writing nine bytes and taking some back is faster than writing a varying number.
    out.truncate(out.len() - (8 - n as usize));
}

/// Integer part and fraction always fill one word.
fn append_fraction(whole: u64, fixed: u64, digits_follow: bool, negative: bool, out: &mut Vec<u8>) {
    let n = whole_bytes(whole);
    let low = if n == 8 { 0 } else { fixed << 1 | u64::from(digits_follow) };
    append_word(whole_type(n, negative), (whole << 1 | 1) << (64 - 8 * n) | low, negative, out);
}

/// Appends 34 digits, two a byte, without trailing zeros.
fn append_digits(mut digits: u128, out: &mut Vec<u8>) {
    let mut scale = 10u128.pow(DIGITS - 2);
    loop {
        let pair = (digits / scale) as u8;
        digits %= scale;
        out.push(pair * 2 + u8::from(digits != 0));
        if digits == 0 {
            return;
        }
        scale /= 100;
    }
}

/// The number without its trailing zeros, and how many there were.
fn strip_zeros(mut number: u128) -> (u128, u32) {
    let mut zeros = 0;
    while number != 0 && number.is_multiple_of(10) {
        number /= 10;
        zeros += 1;
    }
    (number, zeros)
}

/// What the bytes of a number say: its magnitude in the form of its class.
enum Magnitude {
    Whole(u64),
    /// Integer part, fraction, and the fraction's width in bits.
    Binary(u64, u64, u32),
    /// Integer part, and 34 digits after the point.
    Digits(u64, u128),
    Double(f64),
    /// 34 digits, and the exponent of the last one.
    Scaled(u128, i32),
}

/// Reads the number whose type byte was read before.
pub(super) fn decode(
    type_byte: u8,
    reader: &mut Reader<'_>,
    bits: &mut TypeBitsReader<'_>,
) -> Result<Value<'static>, CorruptKey> {
    let offset = reader.offset();
    let kind = bits.take(2);
    if type_byte == marker::NAN {
        let nan = Decimal::from_bytes((0x7Cu128 << 120).to_le_bytes());
        return Ok(if kind == DECIMAL { Value::Decimal128(nan) } else { Value::Double(f64::NAN) });
    }
    if type_byte == marker::ZERO {
        return zero(kind, bits).ok_or(CorruptKey { offset });
    }
    let negative = type_byte <= marker::NEGATIVE_SMALL;
    if negative {
        reader.invert();
    }
    let magnitude = decode_magnitude(type_byte, reader);
    if negative {
        reader.invert();
    }
    typed(kind, negative, &magnitude?, bits).ok_or(CorruptKey { offset })
}

fn zero(kind: u32, bits: &mut TypeBitsReader<'_>) -> Option<Value<'static>> {
    Some(match kind {
        INT32 => Value::Int32(0),
        INT64 => Value::Int64(0),
        DOUBLE => Value::Double(if bits.take(1) == 1 { -0.0 } else { 0.0 }),
        _ => {
            let negative = bits.take(1) == 1;
            Value::Decimal128(Decimal::from_parts(negative, 0, bits.take(14) as i32 - QUANTUM_BIAS)?)
        }
    })
}

fn decode_magnitude(type_byte: u8, reader: &mut Reader<'_>) -> Result<Magnitude, CorruptKey> {
    let n = if marker::POSITIVE_INTEGERS.contains(&type_byte) {
        u32::from(type_byte - marker::POSITIVE_INTEGER_BASE)
    } else if marker::NEGATIVE_INTEGERS.contains(&type_byte) {
        u32::from(marker::NEGATIVE_INTEGER_BASE - type_byte)
    } else {
        let is_small = matches!(type_byte, marker::POSITIVE_SMALL | marker::NEGATIVE_SMALL);
        let word = reader.word(8)?;
        let double = f64::from_bits(word >> if is_small { 2 } else { 1 });
        if word & 1 == 0 {
            return Ok(Magnitude::Double(double));
        }
        let exponent = reader.word(2)? as i32 - EXPONENT_BIAS;
        return Ok(Magnitude::Scaled(decode_digits(reader)?, exponent));
    };
    let word = reader.word(n)?;
    let whole = word >> 1;
    if word & 1 == 0 {
        return Ok(Magnitude::Whole(whole));
    }
    let low = if n == 8 { 1 } else { reader.word(8 - n)? };
    if low & 1 == 0 {
        Ok(Magnitude::Binary(whole, low >> 1, fraction_width(n)))
    } else {
        Ok(Magnitude::Digits(whole, decode_digits(reader)?))
    }
}

fn decode_digits(reader: &mut Reader<'_>) -> Result<u128, CorruptKey> {
    let mut digits = 0;
    let mut scale = 10u128.pow(DIGITS);
    loop {
        let offset = reader.offset();
        let byte = reader.byte()?;
        scale /= 100;
        if byte >= 200 || scale == 0 {
            return Err(CorruptKey { offset });
        }
        digits += u128::from(byte / 2) * scale;
        if byte & 1 == 0 {
            return Ok(digits);
        }
    }
}

/// Steps over the number whose type byte was read before.
pub(super) fn skip(type_byte: u8, reader: &mut Reader<'_>) -> Result<(), CorruptKey> {
    if matches!(type_byte, marker::NAN | marker::ZERO) {
        return Ok(());
    }
    let negative = type_byte <= marker::NEGATIVE_SMALL;
    if negative {
        reader.invert();
    }
    let skipped = decode_magnitude(type_byte, reader);
    if negative {
        reader.invert();
    }
    skipped.map(|_| ())
}

/// Gives a magnitude its sign and type; `None` if the type cannot hold it.
fn typed(kind: u32, negative: bool, magnitude: &Magnitude, bits: &mut TypeBitsReader<'_>) -> Option<Value<'static>> {
    Some(match kind {
        INT32 => Value::Int32(i32::try_from(integer(negative, magnitude)?).ok()?),
        INT64 => Value::Int64(integer(negative, magnitude)?),
        DOUBLE => {
            let double = match *magnitude {
                Magnitude::Whole(whole) => whole as f64,
                Magnitude::Binary(whole, fixed, width) => whole as f64 + fixed as f64 / (1u64 << width) as f64,
                Magnitude::Double(double) => double,
                Magnitude::Digits(..) | Magnitude::Scaled(..) => return None,
            };
            Value::Double(if negative { -double } else { double })
        }
        _ => {
            if matches!(magnitude, Magnitude::Double(double) if double.is_infinite()) {
                let infinity = 0x78u128 << 120 | u128::from(negative) << 127;
                return Some(Value::Decimal128(Decimal::from_bytes(infinity.to_le_bytes())));
            }
            let (coefficient, exponent) = decimal_parts(magnitude)?;
            let zeros = bits.take(6);
            let coefficient = coefficient.checked_mul(10u128.checked_pow(zeros)?)?;
            Value::Decimal128(Decimal::from_parts(negative, coefficient, exponent - zeros as i32)?)
        }
    })
}

fn integer(negative: bool, magnitude: &Magnitude) -> Option<i64> {
    match *magnitude {
        Magnitude::Whole(whole) => {
            let whole = i64::try_from(whole).ok()?;
            Some(if negative { -whole } else { whole })
        }
        Magnitude::Double(TWO_63) if negative => Some(i64::MIN),
        _ => None,
    }
}

/// Coefficient without trailing zeros, and exponent.
fn decimal_parts(magnitude: &Magnitude) -> Option<(u128, i32)> {
    let (coefficient, exponent) = match *magnitude {
        Magnitude::Whole(whole) => (u128::from(whole), 0),
        Magnitude::Binary(whole, fixed, width) => binary_parts(whole.checked_shl(width)? | fixed, -(width as i32))?,
        Magnitude::Digits(whole, digits) => {
            let (digits, zeros) = strip_zeros(digits);
            let places = DIGITS.checked_sub(zeros)?;
            let coefficient = u128::from(whole).checked_mul(10u128.checked_pow(places)?)?.checked_add(digits)?;
            (coefficient, -(places as i32))
        }
        Magnitude::Double(double) => {
            let bits = double.to_bits();
            let (biased, mantissa) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
            if biased == 0 { binary_parts(mantissa, -1074)? } else { binary_parts(mantissa | 1 << 52, biased - 1075)? }
        }
        Magnitude::Scaled(digits, exponent) => (digits, exponent),
    };
    let (coefficient, zeros) = strip_zeros(coefficient);
    Some((coefficient, exponent + zeros as i32))
}

/// `mantissa * 2^exponent` as a decimal; `None` if it needs more than 128 bits.
fn binary_parts(mantissa: u64, exponent: i32) -> Option<(u128, i32)> {
    if mantissa == 0 {
        return None;
    }
    let zeros = mantissa.trailing_zeros();
    let mut odd = u128::from(mantissa >> zeros);
    let exponent = exponent + zeros as i32;
    if exponent <= 0 {
        // odd / 2^k = odd * 5^k / 10^k
        return Some((odd.checked_mul(5u128.checked_pow(exponent.unsigned_abs())?)?, exponent));
    }
    // Fives in the mantissa pair with twos of the power and make tens.
    let mut tens = 0;
    while tens < exponent && odd.is_multiple_of(5) {
        odd /= 5;
        tens += 1;
    }
    let twos = 1u128.checked_shl((exponent - tens).unsigned_abs())?;
    Some((odd.checked_mul(twos)?, tens))
}
