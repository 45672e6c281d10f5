//! A place in a text, and what was read up to there: what both ways of reading have in common.

use super::parsed::Parsed;

/// Reads the forms one after the other.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    pub(super) found: Parsed,
}

impl Scanner<'_> {
    pub(super) fn skip(&mut self, set: &[u8]) {
        while self.text.get(self.at).is_some_and(|b| set.contains(b)) {
            self.at += 1;
        }
    }

    /// The digits from here, at most `most`.
    pub(super) fn digits(&mut self, most: usize) -> Option<i64> {
        let start = self.at;
        while self.at - start < most && self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let digits = self.text.get(start..self.at).filter(|digits| !digits.is_empty())?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// The number of digits from here.
    pub(super) fn digit_run(&self, from: usize) -> usize {
        self.text.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
    }

    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn letters(&mut self) -> String {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_alphabetic) {
            self.at += 1;
        }
        String::from_utf8_lossy(self.text.get(start..self.at).unwrap_or_default()).to_ascii_lowercase()
    }

    /// An offset whose digits start at `start`: `h`, `hh`, `hmm`, `hhmm`, `hh:mm`.
    pub(super) fn offset_from(&mut self, start: usize, run: usize, negative: bool) -> Option<i64> {
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

    pub(super) fn set_date(&mut self, year: i64, month: i64, day: i64) -> Option<()> {
        if self.found.month.is_some() || self.found.iso_year.is_some() {
            return None;
        }
        (self.found.year, self.found.month, self.found.day) = (Some(year), Some(month), Some(day));
        Some(())
    }
}

/// Seconds east of UTC of a zone's abbreviation or of a military letter.
pub(super) fn abbreviation(word: &str) -> Option<i64> {
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
