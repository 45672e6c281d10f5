//! Text that follows a format.

use bindery_document::Result;

use super::invalid;
use super::parsed::Parsed;
use super::scanner::{Scanner, abbreviation};
use crate::expression::fail;

pub(super) fn check_format(pattern: &str) -> Result<()> {
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

pub(super) fn parse_with_format(text: &str, pattern: &str) -> Result<Parsed> {
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

    /// An offset, behind `GMT` if that is there, or a zone's abbreviation; blanks may stand before it.
    fn zone_directive(&mut self) -> Option<()> {
        self.skip(b" \t");
        let is_signed = |at: usize| matches!(self.text.get(at), Some(b'+' | b'-'));
        if self.text.get(self.at..self.at + 3).is_some_and(|word| word == b"GMT") && is_signed(self.at + 3) {
            self.at += 3;
        }
        let offset = match self.text.get(self.at)? {
            sign @ (b'+' | b'-') => {
                let start = self.at + 1;
                self.offset_from(start, self.digit_run(start), *sign == b'-')?
            }
            _ => {
                let word = self.letters();
                if self.text.get(self.at) == Some(&b'/') {
                    return None;
                }
                abbreviation(&word)?
            }
        };
        self.found.offset = Some(offset);
        Some(())
    }
}
