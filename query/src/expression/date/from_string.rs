//! `$dateFromString`, with a format or without.
//!
//! Without one, text is read as the timelib library reads it, which MongoDB uses: ISO 8601 in all its forms,
//! American and European dates, month names, week days, zone abbreviations. The forms that stand for a
//! moment of the present (`now`, `tomorrow`) lack a date and are refused, as MongoDB refuses them.

use bindery_document::{Result, Value, code};

use super::calendar::{DAY_MS, days_from_civil, days_from_iso, days_in_month};
use super::read_zone;
use super::unit::{Unit, parse_day_of_week};
use super::zone::{Zone, parse_offset};
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, Scope, Val, fail, type_name};

pub(super) const OPERATORS: &[Entry] = &[Entry::named("$dateFromString", &FIELDS)];

static FIELDS: Named = Named {
    fields: &[
        Field::required("dateString", 40542),
        Field::optional("format"),
        Field::optional("timezone"),
        Field::optional("onNull"),
        Field::optional("onError"),
    ],
    not_object: 40540,
    unknown: 40541,
    function: date_from_string,
};

fn date_from_string<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let text = named(scope, operands, 0)?;
    let format = match operands.get(1) {
        Some(Some(format)) => Some(format.evaluate(scope)?),
        _ => None,
    };
    let pattern = match &format {
        None => None,
        Some(format) if format.is_nullish() => None,
        Some(format) => match format.get() {
            Some(Value::String(pattern)) => Some(pattern.as_str()),
            _ => return fail(40684, format!("$dateFromString's format must be a string, not {}", type_name(format))),
        },
    };
    if let Some(pattern) = pattern {
        check_format(pattern)?;
    }
    let zone_given = matches!(operands.get(2), Some(Some(_)));
    let zone = read_zone(scope, operands, 2, 40517)?;
    if text.is_nullish() {
        return match operands.get(3) {
            Some(Some(on_null)) => on_null.evaluate(scope),
            _ => Ok(Val::NULL),
        };
    }
    let Some(zone) = zone else {
        return Ok(Val::NULL);
    };
    if format.is_some() && pattern.is_none() {
        return Ok(Val::NULL);
    }
    let parsed = match text.get() {
        Some(Value::String(text)) => {
            let zone = zone_given.then_some(&zone);
            match pattern {
                None => parse_date_text(text.as_str(), zone),
                Some(pattern) => parse_with_format(text.as_str(), pattern).and_then(|parsed| parsed.resolve(zone)),
            }
        }
        _ => fail(
            code::CONVERSION_FAILURE,
            format!("$dateFromString's dateString must be a string, not {}", type_name(&text)),
        ),
    };
    match (parsed, operands.get(4)) {
        (Ok(ms), _) => Ok(Val::Value(Value::DateTime(ms))),
        (Err(_), Some(Some(on_error))) => on_error.evaluate(scope),
        (Err(error), _) => Err(error),
    }
}

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

fn invalid<T>(message: &str) -> Result<T> {
    fail(code::CONVERSION_FAILURE, message)
}

/// What was read so far.
#[derive(Debug, Default)]
struct Parsed {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    /// Hour, minute, second, millisecond.
    time: Option<[i64; 4]>,
    /// Seconds east of UTC.
    offset: Option<i64>,
    /// Milliseconds since the epoch, given outright.
    epoch_ms: Option<i64>,
    /// The date moves on to this ISO day of the week.
    week_day: Option<i64>,
    shifts: Vec<(i64, Unit)>,
}

impl Parsed {
    fn resolve(&self, zone: Option<&Zone>) -> Result<i64> {
        if self.offset.is_some() && zone.is_some() {
            return invalid("the text has a time zone, and another one is given");
        }
        if let Some(ms) = self.epoch_ms {
            return Ok(ms);
        }
        let mut days = self.days()?;
        if let Some(wanted) = self.week_day {
            days += (wanted - ((days + 3).rem_euclid(7) + 1)).rem_euclid(7);
        }
        let [hour, minute, second, millisecond] = self.time.unwrap_or_default();
        if hour > 23 || minute > 59 || second > 59 {
            return invalid("the time of day is out of range");
        }
        let mut local = days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
        for (amount, unit) in &self.shifts {
            local = match super::arithmetic::add(local, *unit, *amount, &Zone::UTC) {
                Some(moved) => moved,
                None => return invalid("the date is out of range"),
            };
        }
        Ok(match (self.offset, zone) {
            (Some(offset), _) => local - offset * 1000,
            (None, Some(zone)) => zone.to_utc(local),
            (None, None) => local,
        })
    }

    fn days(&self) -> Result<i64> {
        let has_iso = self.iso_year.is_some() || self.iso_week.is_some() || self.iso_day.is_some();
        if has_iso {
            if self.year.is_some() || self.month.is_some() || self.day.is_some() {
                return invalid("ISO dates do not mix with natural dates");
            }
            let Some(year) = self.iso_year else {
                return invalid("an incomplete date: the ISO year is missing");
            };
            let (week, day) = (self.iso_week.unwrap_or(1), self.iso_day.unwrap_or(1));
            if !(0..=53).contains(&week) || !(0..=7).contains(&day) {
                return invalid("the ISO week or day is out of range");
            }
            return Ok(days_from_iso(year, week, day));
        }
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return invalid("an incomplete date: year, month or day is missing");
        };
        if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
            return invalid("the date does not exist");
        }
        Ok(days_from_civil(year, month, day))
    }
}

/// Reads the forms one after the other.
struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    found: Parsed,
}

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

    fn skip(&mut self, set: &[u8]) {
        while self.text.get(self.at).is_some_and(|b| set.contains(b)) {
            self.at += 1;
        }
    }

    /// The digits from here, at most `most`.
    fn digits(&mut self, most: usize) -> Option<i64> {
        let start = self.at;
        while self.at - start < most && self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let digits = self.text.get(start..self.at).filter(|digits| !digits.is_empty())?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// The number of digits from here.
    fn digit_run(&self, from: usize) -> usize {
        self.text.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn letters(&mut self) -> String {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_alphabetic) {
            self.at += 1;
        }
        String::from_utf8_lossy(self.text.get(start..self.at).unwrap_or_default()).to_ascii_lowercase()
    }

    fn set_date(&mut self, year: i64, month: i64, day: i64) -> Option<()> {
        if self.found.month.is_some() || self.found.iso_year.is_some() {
            return None;
        }
        (self.found.year, self.found.month, self.found.day) = (Some(year), Some(month), Some(day));
        Some(())
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

    /// An offset whose digits start at `start`: `h`, `hh`, `hmm`, `hhmm`, `hh:mm`.
    fn offset_from(&mut self, start: usize, run: usize, negative: bool) -> Option<i64> {
        self.at = start;
        let (hours, minutes) = match run {
            1 | 2 => {
                let hours = self.digits(2)?;
                (hours, if self.accept(b':') { self.digits(2)? } else { 0 })
            }
            3 | 4 => {
                let number = self.digits(4)?;
                (number / 100, number % 100)
            }
            _ => return None,
        };
        let seconds = hours * 3600 + minutes * 60;
        Some(if negative { -seconds } else { seconds })
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
            (4, b'-' | b'/' | b'.' | b'W') => self.year_first(),
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

/// Seconds east of UTC of a zone's abbreviation or of a military letter.
fn abbreviation(word: &str) -> Option<i64> {
    let hours = |n: i64| Some(n * 3600);
    match word {
        "z" | "utc" | "gmt" | "wet" => hours(0),
        "bst" | "cet" | "met" | "west" => hours(1),
        "cest" | "mest" | "eet" | "sast" => hours(2),
        "eest" | "msk" => hours(3),
        "jst" => hours(9),
        "est" | "cdt" => hours(-5),
        "edt" | "ast" => hours(-4),
        "cst" | "mdt" => hours(-6),
        "mst" | "pdt" => hours(-7),
        "pst" | "akdt" => hours(-8),
        "akst" => hours(-9),
        "hst" => hours(-10),
        _ => match word.as_bytes() {
            [letter @ b'a'..=b'i'] => hours(i64::from(letter - b'a') + 1),
            [letter @ b'k'..=b'm'] => hours(i64::from(letter - b'k') + 10),
            [letter @ b'n'..=b'y'] => hours(-(i64::from(letter - b'n') + 1)),
            _ => None,
        },
    }
}

fn check_format(pattern: &str) -> Result<()> {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        match rest.next() {
            None => return fail(18535, "the format ends with an unmatched '%'"),
            Some(c) if "dGHLmMSuVYzZ%".contains(c) => {}
            Some(other) => return fail(18536, format!("the format holds an unknown '%{other}'")),
        }
    }
    Ok(())
}

fn parse_with_format(text: &str, pattern: &str) -> Result<Parsed> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, found: Parsed::default() };
    let mut rest = pattern.bytes();
    while let Some(byte) = rest.next() {
        let read =
            if byte == b'%' { rest.next().and_then(|letter| scanner.directive(letter)) } else { scanner.literal(byte) };
        if read.is_none() {
            return invalid(&format!("the date '{text}' does not follow its format at byte {}", scanner.at));
        }
    }
    if scanner.at < scanner.text.len() {
        return invalid(&format!("the date '{text}' goes on behind its format"));
    }
    Ok(scanner.found)
}

impl Scanner<'_> {
    fn literal(&mut self, byte: u8) -> Option<()> {
        self.accept(byte).then_some(())
    }

    fn time_part(&mut self, index: usize, value: i64) {
        let time = self.found.time.get_or_insert_default();
        if let Some(part) = time.get_mut(index) {
            *part = value;
        }
    }

    fn directive(&mut self, letter: u8) -> Option<()> {
        match letter {
            b'd' => self.found.day = Some(self.digits(2)?),
            b'm' => self.found.month = Some(self.digits(2)?),
            b'Y' => self.found.year = Some(self.digits(4)?),
            b'G' => self.found.iso_year = Some(self.digits(4)?),
            b'V' => self.found.iso_week = Some(self.digits(2)?),
            b'u' => self.found.iso_day = Some(self.digits(1)?),
            b'H' => {
                let hour = self.digits(2)?;
                self.time_part(0, hour);
            }
            b'M' => {
                let minute = self.digits(2)?;
                self.time_part(1, minute);
            }
            b'S' => {
                let second = self.digits(2)?;
                self.time_part(2, second);
            }
            b'L' => {
                let start = self.at;
                let digits = self.digits(3)?;
                let scale = 10i64.pow(3 - (self.at - start).min(3) as u32);
                self.time_part(3, digits * scale);
            }
            b'z' => self.zone_directive()?,
            b'Z' => {
                let negative = match self.text.get(self.at)? {
                    b'+' => false,
                    b'-' => true,
                    _ => return None,
                };
                self.at += 1;
                let minutes = self.digits(4)?;
                self.found.offset = Some(if negative { -minutes * 60 } else { minutes * 60 });
            }
            b'%' => self.literal(b'%')?,
            _ => return None,
        }
        Some(())
    }

    fn zone_directive(&mut self) -> Option<()> {
        match self.text.get(self.at)? {
            b'+' | b'-' => {
                let end = self.at
                    + 1
                    + self.text[self.at + 1..].iter().take_while(|b| b.is_ascii_digit() || **b == b':').count();
                let offset = parse_offset(std::str::from_utf8(self.text.get(self.at..end)?).ok()?)?;
                self.at = end;
                self.found.offset = Some(offset);
            }
            _ => {
                let word = self.letters();
                if self.text.get(self.at) == Some(&b'/') {
                    return None;
                }
                self.found.offset = Some(abbreviation(&word)?);
            }
        }
        Some(())
    }
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
