//! Dates as data files write them.

use bson::DateTime;

/// The moment that `text` names, in UTC where it names no offset: `2015-02-04`,
/// `2015-02-04 17:51[:00[.123]]`, with `T` or a space between, `Z` or `+01:30` behind. Digits of the
/// fraction beyond milliseconds are dropped. `None` for anything else, days that do not exist included.
pub fn parse_timestamp(text: &str) -> Option<DateTime> {
    let mut rest = Digits { bytes: text.as_bytes() };
    let year = rest.number(4)?;
    rest.byte(b"-")?;
    let month = rest.number(2)?;
    rest.byte(b"-")?;
    let day = rest.number(2)?;
    if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let mut millis = days_from_epoch(year, month, day) * 86_400_000;
    if !rest.bytes.is_empty() {
        rest.byte(b"T t")?;
        millis += rest.time()?;
        millis -= rest.offset()?;
    }
    rest.bytes.is_empty().then(|| DateTime::from_millis(millis))
}

struct Digits<'a> {
    bytes: &'a [u8],
}

impl Digits<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let head = self.bytes.get(..digits)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.bytes = &self.bytes[digits..];
        Some(head.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0')))
    }

    fn byte(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        if !any_of.contains(first) {
            return None;
        }
        self.bytes = rest;
        Some(*first)
    }

    /// Milliseconds since midnight.
    fn time(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        self.byte(b":")?;
        let minute = self.number(2)?;
        let mut millis = (hour * 60 + minute) * 60_000;
        if hour > 23 || minute > 59 {
            return None;
        }
        if self.byte(b":").is_some() {
            let second = self.number(2)?;
            if second > 59 {
                return None;
            }
            millis += second * 1000;
            if self.byte(b".").is_some() {
                let mut worth = 100;
                self.bytes.first().filter(|byte| byte.is_ascii_digit())?;
                while let Some(digit) = self.number(1) {
                    millis += digit * worth;
                    worth /= 10;
                }
            }
        }
        Some(millis)
    }

    /// Milliseconds that local time is ahead of UTC.
    fn offset(&mut self) -> Option<i64> {
        if self.bytes.is_empty() || self.byte(b"Zz").is_some() {
            return Some(0);
        }
        let sign = if self.byte(b"+-")? == b'+' { 1 } else { -1 };
        let hours = self.number(2)?;
        let _ = self.byte(b":");
        let minutes = self.number(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar: the year begins in March, so that the leap day is
/// its last, and 153 days are any five months from there.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_rfc_3339() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2000-02-29T23:59:59.999Z",
            "1999-12-31T23:59:59Z",
            "2015-02-04T17:51:00+01:30",
            "2100-03-01T00:00:00-11:00",
            "0001-01-01T00:00:00Z",
        ] {
            let right = DateTime::parse_rfc3339_str(text).expect(text);
            assert_eq!(parse_timestamp(text), Some(right), "{text}");
        }
    }

    #[test]
    fn looser_forms_are_in_utc() {
        let at = |text| parse_timestamp(text).map(DateTime::timestamp_millis);
        assert_eq!(at("1970-01-02"), Some(86_400_000));
        assert_eq!(at("1970-01-01 00:01"), Some(60_000));
        assert_eq!(at("1970-01-01 00:00:01"), Some(1000));
        assert_eq!(at("1970-01-01T00:00:00.12345"), Some(123));
        assert_eq!(at("1970-01-01T01:00:00+0100"), Some(0));
    }

    #[test]
    fn anything_else_is_no_date() {
        for text in [
            "",
            "2015",
            "2015-13-01",
            "2015-02-29",
            "2015-02-04x",
            "2015-02-04 24:00",
            "2015-02-04 17:51:60",
            "2015-02-04 17:51:00.",
            "2015-02-04 17:51:00 ",
            "15-02-04",
            "2015-02-04 17:51:00+1",
            "2015-02-04T",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
