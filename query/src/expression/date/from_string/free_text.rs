//! Text without a format: its forms one after the other.

use bindery_document::Result;

use super::invalid;
use super::parsed::Parsed;
use super::scanner::{Scanner, abbreviation};
use crate::expression::date::unit::{Unit, parse_day_of_week};
use crate::expression::date::zone::Zone;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Reads a date without a format; `zone` is the caller's, which text with a zone of its own does not allow.
///
/// # Errors
/// 241 for text that is no date.
pub(crate) fn parse_date_text(text: &str, zone: Option<&Zone>) -> Result<i64> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, found: Parsed::default() };
    match scanner.run() {
        Some(()) => scanner.found.resolve(zone),
        None => invalid(&format!("cannot read the date '{text}' at byte {}", scanner.at)),
    }
}
impl Scanner<'_> {
    fn run(&mut self) -> Option<()> {
        if self.text.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        loop {
            self.skip(b" \t\n,;()");
            let Some(&next) = self.text.get(self.at) else {
                return Some(());
            };
            match next {
                b'@' => self.epoch()?,
                b'+' | b'-' => self.signed()?,
                b'0'..=b'9' => self.number()?,
                b't' | b'T' if self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) => {
                    self.at += 1;
                    self.time(true)?;
                }
                _ if next.is_ascii_alphabetic() => self.word()?,
                _ => return None,
            }
        }
    }

    /// `@` and seconds since the epoch.
    fn epoch(&mut self) -> Option<()> {
        self.at += 1;
        let negative = self.accept(b'-');
        let seconds = self.digits(18)?;
        self.found.epoch_ms = Some(seconds.checked_mul(if negative { -1000 } else { 1000 })?);
        Some(())
    }

    /// An offset from UTC, a negative year, or a shift such as `+1 day`.
    fn signed(&mut self) -> Option<()> {
        let negative = self.text.get(self.at) == Some(&b'-');
        let start = self.at;
        if self.digit_run(start + 1) == 4 && self.text.get(start + 5) == Some(&b'-') {
            self.at += 1;
            let year = self.digits(4)?;
            self.at += 1;
            let month = self.digits(2)?;
            let day = if self.accept(b'-') { self.digits(2)? } else { 1 };
            return self.set_date(if negative { -year } else { year }, month, day);
        }
        self.at += 1;
        let run = self.digit_run(self.at);
        let number_start = self.at;
        let number = self.digits(9)?;
        let number_end = self.at;
        self.skip(b" ");
        let word = self.letters();
        if let Some((unit, times)) = relative_unit(&word) {
            self.found.shifts.push((if negative { -number } else { number } * times, unit));
            return Some(());
        }
        // No unit follows, so it is an offset.
        self.at = number_end;
        if self.found.offset.is_some() || self.found.time.is_none() && self.found.month.is_none() {
            return None;
        }
        self.found.offset = Some(self.offset_from(number_start, run, negative)?);
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let run = self.digit_run(start);
        let after = self.text.get(start + run).copied().unwrap_or(b' ');
        match (run, after) {
            (14, _) => {
                let (year, month, day) = (self.digits(4)?, self.digits(2)?, self.digits(2)?);
                self.found.time = Some([self.digits(2)?, self.digits(2)?, self.digits(2)?, 0]);
                self.set_date(year, month, day)
            }
            (8, _) => {
                let (year, month, day) = (self.digits(4)?, self.digits(2)?, self.digits(2)?);
                self.set_date(year, month, day)
            }
            // A day of the year is read as a day of January.
            (7, _) => {
                let (year, day) = (self.digits(4)?, self.digits(3)?);
                self.set_date(year, 1, day)
            }
            (4, b'-' | b'/' | b'W') => self.year_first(),
            // Behind a dot there is a day of the year.
            (4, b'.') if self.digit_run(start + run + 1) == 3 => self.year_first(),
            (2, b'-') if self.digit_run(start + 3) == 2 && self.text.get(start + 5) == Some(&b'-') => {
                // Two digits first: a short year, unless four digits come last.
                if self.digit_run(start + 6) == 4 { self.day_first(b'-') } else { self.short_year_first() }
            }
            (1 | 2, b'/') => self.american(),
            (1 | 2, b'.') if matches!(self.digit_run(start + run + 1), 1 | 2) && self.looks_like_date(start + run) => {
                self.day_first(b'.')
            }
            (1 | 2, b'-') if self.digit_run(start + run + 1) > 0 => self.day_first(b'-'),
            (1 | 2, b':' | b'.') => self.time(false),
            (4, _) if self.found.month.is_some() && self.found.year.is_none() => {
                self.found.year = Some(self.digits(4)?);
                Some(())
            }
            (1 | 2, _) => self.day_then_month(),
            _ => None,
        }
    }

    /// Whether a dotted number goes on to a year.
    fn looks_like_date(&self, first_dot: usize) -> bool {
        let second = first_dot + 1 + self.digit_run(first_dot + 1);
        self.text.get(second) == Some(&b'.') && self.digit_run(second + 1) == 4
    }

    /// `2024-02-29`, `2024/2/9`, `2024-02`, `2024-060`, `2024-W09-4`, `2024W094`, `2024-Feb-29`.
    fn year_first(&mut self) -> Option<()> {
        let year = self.digits(4)?;
        let separator = self.text.get(self.at).copied()?;
        if separator == b'W' || self.text.get(self.at + 1).is_some_and(|b| matches!(b, b'W')) {
            self.skip(b"-");
            self.accept(b'W');
            if self.found.month.is_some() {
                return None;
            }
            self.found.iso_week = Some(self.digits(2)?);
            self.found.iso_year = Some(year);
            let dash = self.accept(b'-');
            if dash || self.digit_run(self.at) > 0 {
                self.found.iso_day = Some(self.digits(1)?);
            }
            return Some(());
        }
        self.at += 1;
        if self.text.get(self.at).is_some_and(u8::is_ascii_alphabetic) {
            let month = month_number(&self.letters())?;
            self.skip(b"-");
            let day = self.digits(2)?;
            return self.set_date(year, month, day);
        }
        if self.digit_run(self.at) == 3 {
            let day = self.digits(3)?;
            return self.set_date(year, 1, day);
        }
        let month = self.digits(2)?;
        if month > 12 {
            return None;
        }
        let day = if self.accept(separator) { self.digits(2)? } else { 1 };
        self.set_date(year, month, day)
    }

    fn short_year_first(&mut self) -> Option<()> {
        let year = self.digits(2)?;
        self.accept(b'-');
        let month = self.digits(2)?;
        self.accept(b'-');
        let day = self.digits(2)?;
        self.set_date(full_year(year), month, day)
    }

    fn american(&mut self) -> Option<()> {
        let month = self.digits(2)?;
        self.accept(b'/');
        let day = self.digits(2)?;
        if !self.accept(b'/') {
            return None;
        }
        let length = self.digit_run(self.at);
        let year = self.digits(4)?;
        self.set_date(if length <= 2 { full_year(year) } else { year }, month, day)
    }

    fn day_first(&mut self, separator: u8) -> Option<()> {
        let day = self.digits(2)?;
        self.accept(separator);
        let month = self.digits(2)?;
        if !self.accept(separator) || self.digit_run(self.at) != 4 {
            return None;
        }
        let year = self.digits(4)?;
        self.set_date(year, month, day)
    }

    /// `29 February 2024`, `1st Jan`, or the hour of `1 pm`.
    fn day_then_month(&mut self) -> Option<()> {
        let day = self.digits(2)?;
        let behind = self.at;
        let suffix = self.letters();
        if !matches!(suffix.as_str(), "st" | "nd" | "rd" | "th") {
            self.at = behind;
        }
        self.skip(b" .-\t");
        let word = self.letters();
        if matches!(word.as_str(), "am" | "pm") {
            self.found.time = Some([twelve_hours(day, &word)?, 0, 0, 0]);
            return Some(());
        }
        let month = month_number(&word)?;
        if self.found.month.is_some() {
            return None;
        }
        (self.found.month, self.found.day) = (Some(month), Some(day));
        self.skip(b" .,-\t");
        self.trailing_year();
        Some(())
    }

    /// Takes a year of four digits if one follows that is no time.
    fn trailing_year(&mut self) {
        let run = self.digit_run(self.at);
        if run == 4 && self.text.get(self.at + 4) != Some(&b':') {
            self.found.year = self.digits(4);
        }
    }

    /// `12:30`, `12:30:15.123`, `1:30 pm`; after a `T` also `12`, `1230` and `123015`.
    fn time(&mut self, after_t: bool) -> Option<()> {
        if self.found.time.is_some() {
            return None;
        }
        let run = self.digit_run(self.at);
        let mut time = [0; 4];
        if run == 4 || run == 6 {
            if !after_t {
                return None;
            }
            time[0] = self.digits(2)?;
            time[1] = self.digits(2)?;
            if run == 6 {
                time[2] = self.digits(2)?;
            }
            self.found.time = Some(time);
            self.fraction();
            return Some(());
        }
        time[0] = self.digits(2)?;
        if time[0] > 24 {
            return None;
        }
        let separator = self.text.get(self.at).copied().unwrap_or(b' ');
        if matches!(separator, b':' | b'.') && self.digit_run(self.at + 1) > 0 {
            self.at += 1;
            time[1] = self.digits(2)?;
            if time[1] > 59 {
                return None;
            }
            if self.text.get(self.at) == Some(&separator) && self.digit_run(self.at + 1) > 0 {
                self.at += 1;
                time[2] = self.digits(2)?;
            }
        } else if !after_t {
            return None;
        }
        self.found.time = Some(time);
        self.fraction();
        let behind = self.at;
        self.skip(b" ");
        let word = self.letters();
        if matches!(word.as_str(), "am" | "pm") {
            time[0] = twelve_hours(time[0], &word)?;
            self.found.time = Some(time);
        } else {
            self.at = behind;
        }
        Some(())
    }

    /// A fraction of a second, of which milliseconds are kept.
    fn fraction(&mut self) {
        if self.text.get(self.at) != Some(&b'.') {
            return;
        }
        self.at += 1;
        let digits = self.digit_run(self.at);
        let taken = self.digits(3).unwrap_or(0);
        self.at += digits.saturating_sub(3);
        if let Some(time) = &mut self.found.time {
            time[3] = match digits {
                0 => 0,
                1 => taken * 100,
                2 => taken * 10,
                _ => taken,
            };
        }
    }

    /// A month, a day of the week, a time of day by name, or a zone.
    fn word(&mut self) -> Option<()> {
        let start = self.at;
        let word = self.letters();
        if let Some(month) = month_number(&word) {
            return self.month_first(month);
        }
        if let Some(day) = week_day(&word) {
            self.found.week_day = Some(day);
            return Some(());
        }
        match word.as_str() {
            "noon" => self.found.time = Some([12, 0, 0, 0]),
            "midnight" | "today" => self.found.time = Some([0; 4]),
            "now" | "tomorrow" | "yesterday" => {}
            _ => {
                // Zones of the tz database (`Europe/Paris`) are not read, only abbreviations.
                if self.found.offset.is_some() || self.text.get(self.at) == Some(&b'/') {
                    self.at = start;
                    return None;
                }
                let base = abbreviation(&word)?;
                let sign = self.text.get(self.at).copied().unwrap_or(b' ');
                let mut extra = 0;
                if matches!(sign, b'+' | b'-') && self.digit_run(self.at + 1) > 0 {
                    // Behind any other word it is a second zone.
                    if self.text.get(start..self.at) != Some(b"GMT") {
                        return None;
                    }
                    let run = self.digit_run(self.at + 1);
                    extra = self.offset_from(self.at + 1, run, sign == b'-')?;
                }
                self.found.offset = Some(base + extra);
            }
        }
        Some(())
    }

    /// `February 29 2024`, `Feb 29, 2024`, `Feb-29-2024`, `Feb 2024`, `Feb 29`.
    fn month_first(&mut self, month: i64) -> Option<()> {
        if self.found.month.is_some() {
            return None;
        }
        self.found.month = Some(month);
        self.skip(b" .-\t");
        match self.digit_run(self.at) {
            4 => {
                self.found.year = self.digits(4);
                self.found.day = Some(1);
            }
            1 | 2 if self.text.get(self.at + self.digit_run(self.at)) != Some(&b':') => {
                self.found.day = self.digits(2);
                let behind = self.at;
                let suffix = self.letters();
                if !matches!(suffix.as_str(), "st" | "nd" | "rd" | "th") {
                    self.at = behind;
                }
                let behind = self.at;
                self.skip(b" .,-\t");
                self.trailing_year();
                if self.found.year.is_none() {
                    self.at = behind;
                }
            }
            _ => self.found.day = Some(1),
        }
        Some(())
    }
}

/// Two digits of a year: 70 and up are of the last century.
fn full_year(year: i64) -> i64 {
    if year >= 100 {
        year
    } else if year < 70 {
        2000 + year
    } else {
        1900 + year
    }
}

fn twelve_hours(hour: i64, word: &str) -> Option<i64> {
    if !(1..=12).contains(&hour) {
        return None;
    }
    Some(hour % 12 + if word == "pm" { 12 } else { 0 })
}

fn month_number(word: &str) -> Option<i64> {
    let matches = |name: &&str| {
        **name == *word || word.len() == 3 && name.starts_with(word) || word == "sept" && name.starts_with("sep")
    };
    MONTHS.iter().position(matches).map(|place| place as i64 + 1)
}

fn week_day(word: &str) -> Option<i64> {
    match word {
        "tues" => Some(2),
        "wednes" => Some(3),
        "thur" | "thurs" => Some(4),
        other => parse_day_of_week(other),
    }
}

fn relative_unit(word: &str) -> Option<(Unit, i64)> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "sec" | "second" => (Unit::Second, 1),
        "min" | "minute" => (Unit::Minute, 1),
        "hour" => (Unit::Hour, 1),
        "day" => (Unit::Day, 1),
        "week" => (Unit::Week, 1),
        "fortnight" | "forthnight" => (Unit::Week, 2),
        "month" => (Unit::Month, 1),
        "year" => (Unit::Year, 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::date::calendar::iso_text;

    fn read(text: &str) -> String {
        parse_date_text(text, None).and_then(iso_text).unwrap_or_else(|e| e.code.to_string())
    }

    #[test]
    fn free_text_reads_as_a_real_server_reads_it() {
        let cases = [
            ("2024-02-29", "2024-02-29T00:00:00.000Z"),
            ("2024-2-9", "2024-02-09T00:00:00.000Z"),
            ("2024-02-29T12:34:56+02:00", "2024-02-29T10:34:56.000Z"),
            ("2024-02-29T12:34:56 +02", "2024-02-29T10:34:56.000Z"),
            ("20240229T123456", "2024-02-29T12:34:56.000Z"),
            ("2024-W09-4", "2024-02-29T00:00:00.000Z"),
            ("2024W09", "2024-02-26T00:00:00.000Z"),
            ("29 February 2024 10:00", "2024-02-29T10:00:00.000Z"),
            ("Feb 29, 2024", "2024-02-29T00:00:00.000Z"),
            ("29-Feb-2024", "2024-02-29T00:00:00.000Z"),
            ("Feb 2024", "2024-02-01T00:00:00.000Z"),
            ("2/9/2024", "2024-02-09T00:00:00.000Z"),
            ("29.02.2024", "2024-02-29T00:00:00.000Z"),
            ("2024-02-29 1:30 PM", "2024-02-29T13:30:00.000Z"),
            ("2024-02-29T12:30:15.123456Z", "2024-02-29T12:30:15.123Z"),
            ("2024-02-29T12", "2024-02-29T12:00:00.000Z"),
            ("Fri, 29 Feb 2024", "2024-03-01T00:00:00.000Z"),
            ("Thu Feb 29 12:30:15 2024", "2024-02-29T12:30:15.000Z"),
            ("2024-02-29 +1 day", "2024-03-01T00:00:00.000Z"),
            ("@1234567890", "2009-02-13T23:31:30.000Z"),
            ("2024-02-29T12:30:15GMT+2", "2024-02-29T10:30:15.000Z"),
            ("2024-02-29T12:30:15 (EST)", "2024-02-29T17:30:15.000Z"),
            ("1/1/24", "2024-01-01T00:00:00.000Z"),
            ("July 4th, 2024", "2024-07-04T00:00:00.000Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "hello",
            "12:30",
            "2024",
            "2024-060",
            "2024-02-30",
            "2024-13-01",
            "2024-02-29T24:00:00Z",
            "2024-02-29T25:00",
            "2024-02-29T12:60",
            "2024-02-29 12",
            "now",
            "02/29",
            "2024-02-29T12:30:15 America/New_York",
        ] {
            assert_eq!(read(text), "241", "{text}");
        }
    }
}
