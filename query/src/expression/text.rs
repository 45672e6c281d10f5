//! How values read as text: what `$toLower` and its siblings make of numbers and dates, and `$toString`.

use bindery_document::{Result, Text, Value};

use super::date::calendar::{Civil, iso_text};
use super::decimal;
use super::{Val, fail, type_name};

/// A double with six significant digits, as C's `%g` writes it.
pub(crate) fn format_double(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{x:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..6).contains(&exponent) {
        return trim(&format!("{x:.*}", (5 - exponent).max(0) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
}

/// The text of a value for operators that take anything readable; null reads as the empty string.
///
/// # Errors
/// 16007 for values without a text (booleans, arrays, documents, binary data and others).
pub(super) fn coerce<'v>(value: &'v Val<'_>) -> Result<std::borrow::Cow<'v, [u8]>> {
    use std::borrow::Cow::{Borrowed, Owned};
    Ok(match value.or_null() {
        Value::Null | Value::Undefined => Borrowed(b""),
        Value::String(Text(bytes)) | Value::JavaScript(Text(bytes)) | Value::Symbol(Text(bytes)) => Borrowed(bytes),
        Value::Int32(n) => Owned(n.to_string().into_bytes()),
        Value::Int64(n) => Owned(n.to_string().into_bytes()),
        Value::Double(d) => Owned(format_double(d).into_bytes()),
        Value::Decimal128(d) => Owned(decimal::text::format(d).into_bytes()),
        Value::DateTime(ms) => Owned(iso_text(ms)?.into_bytes()),
        Value::Timestamp(t) => Owned(timestamp_text(t).into_bytes()),
        _ => return fail(16007, format!("cannot convert {} to a string", type_name(value))),
    })
}

/// `"Jan  1 00:00:05:6"`: the time of a timestamp as C's `ctime` writes it, and its increment.
fn timestamp_text(t: u64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let civil = Civil::from_millis((t >> 32) as i64 * 1000);
    let month = MONTHS.get(civil.month as usize - 1).copied().unwrap_or_default();
    let (day, hour, minute, second) = (civil.day, civil.hour, civil.minute, civil.second);
    format!("{month} {day:2} {hour:02}:{minute:02}:{second:02}:{}", t & 0xFFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_have_six_digits() {
        for (x, text) in [
            (1.5, "1.5"),
            (1e20, "1e+20"),
            (123_456_789.125, "1.23457e+08"),
            (0.1, "0.1"),
            (1e-7, "1e-07"),
            (100_000.0, "100000"),
            (1_234_567.0, "1.23457e+06"),
            (999_999.5, "1e+06"),
            (0.000_1, "0.0001"),
            (-2.0, "-2"),
        ] {
            assert_eq!(format_double(x), text);
        }
    }
}
