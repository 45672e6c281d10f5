//! Numbers as people read them.

/// Bytes in decimal units, three digits or so: `812 B`, `4.10 kB`, `41.2 MB`.
pub(super) fn bytes(n: f64) -> String {
    let (mut value, mut unit) = (n, "B");
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    if unit == "B" { format!("{} B", short(value)) } else { format!("{} {unit}", digits(value)) }
}

/// Microseconds, milliseconds or seconds: `1.80 us`, `44.1 ms`.
pub(super) fn micros(n: f64) -> String {
    let (value, unit) = match n {
        n if n < 999.5 => (n, "us"),
        n if n < 999_500.0 => (n / 1000.0, "ms"),
        n => (n / 1e6, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A mean: whole where it is or is large, else with a digit behind the point.
pub(super) fn short(n: f64) -> String {
    let rounded = (n * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 || rounded >= 100.0 { count(rounded.round() as u64) } else { format!("{rounded:.1}") }
}

/// A count, with commas: `1,008,000`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_or_so() {
        let shown: Vec<String> = [0.0, 812.0, 999.6, 4_096.0, 41_200_000.0, 1e9].map(bytes).to_vec();
        assert_eq!(shown, ["0 B", "812 B", "1.00 kB", "4.10 kB", "41.2 MB", "1.00 GB"]);
        assert_eq!([1.8, 44_100.0, 2e6].map(micros), ["1.80 us", "44.1 ms", "2.00 s"]);
        assert_eq!([1440.4, 0.25, 99.96, 999_999.99].map(short), ["1,440", "0.3", "100", "1,000,000"]);
        assert_eq!([0, 999, 1_000, 1_008_000].map(count), ["0", "999", "1,000", "1,008,000"]);
    }
}
