//! Time zones: fixed offsets (`+05:30`) and zones of the tz database, which is inside the binary.

use bindery_document::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::expression::fail;

/// A time zone.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    /// Seconds east of UTC.
    Fixed(i64),
    /// A zone by name.
    Named(TimeZone),
}

impl Zone {
    pub(crate) const UTC: Zone = Zone::Fixed(0);

    /// Reads a zone's name (case counts) or an offset: `+hh`, `+hhmm`, `+hh:mm`.
    ///
    /// # Errors
    /// 40485 if there is no such zone.
    pub(crate) fn parse(name: &str) -> Result<Zone> {
        if name == "UTC" || name == "GMT" {
            return Ok(Zone::UTC);
        }
        if let Some(offset) = parse_offset(name) {
            return Ok(Zone::Fixed(offset));
        }
        match TimeZone::get(name) {
            Ok(zone) if zone.iana_name() == Some(name) => Ok(Zone::Named(zone)),
            _ => fail(40485, format!("unrecognized time zone identifier: \"{name}\"")),
        }
    }

    /// Seconds east of UTC at a moment (milliseconds since the epoch).
    pub(crate) fn offset_at(&self, ms: i64) -> i64 {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => i64::from(zone.to_offset(moment(ms)).seconds()),
        }
    }

    /// Moves a moment into the zone: milliseconds on the zone's clock.
    pub(crate) fn to_local(&self, ms: i64) -> i64 {
        ms.saturating_add(self.offset_at(ms) * 1000)
    }

    /// The moment at which the zone's clock shows this. Times that a clock skips or shows twice are read as
    /// the timelib library reads them, which MongoDB uses.
    pub(crate) fn to_utc(&self, local_ms: i64) -> i64 {
        let Zone::Named(zone) = self else {
            return local_ms.saturating_sub(self.offset_at(0) * 1000);
        };
        let current = self.offset_at(local_ms);
        let guess = local_ms.saturating_sub(current * 1000);
        let after = self.offset_at(guess);
        let transition = zone.preceding(moment(guess.saturating_add(1))).next().map(|t| t.timestamp().as_millisecond());
        let candidate = local_ms.saturating_sub(after * 1000);
        let in_transition = transition.is_some_and(|transition| {
            candidate >= transition.saturating_add((current - after) * 1000) && candidate < transition
        });
        let offset = if current != after && !in_transition { after } else { current };
        local_ms.saturating_sub(offset * 1000)
    }
}

/// The moment for the tz database, which ends at the year 9999.
fn moment(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// Seconds of `+hh`, `+hhmm` or `+hh:mm`; any two digits do for each.
pub(crate) fn parse_offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let digits: Vec<i64> = match rest.as_bytes() {
        [a, b] => vec![digit(*a)?, digit(*b)?, 0, 0],
        [a, b, c, d] | [a, b, b':', c, d] => vec![digit(*a)?, digit(*b)?, digit(*c)?, digit(*d)?],
        _ => return None,
    };
    let [a, b, c, d] = digits[..] else {
        return None;
    };
    Some(sign * ((a * 10 + b) * 3600 + (c * 10 + d) * 60))
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::date::calendar::{DAY_MS, days_from_civil};

    fn at(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> i64 {
        days_from_civil(year, month, day) * DAY_MS + hour * 3_600_000 + minute * 60_000
    }

    #[test]
    fn skipped_and_repeated_times_are_read_as_a_real_server_does() {
        let london = Zone::parse("Europe/London").expect("zone");
        assert_eq!(london.to_utc(at(2020, 3, 29, 1, 30)), at(2020, 3, 29, 1, 30));
        assert_eq!(london.to_utc(at(2020, 10, 25, 1, 30)), at(2020, 10, 25, 1, 30));
        let new_york = Zone::parse("America/New_York").expect("zone");
        assert_eq!(new_york.to_utc(at(2020, 3, 8, 2, 30)), at(2020, 3, 8, 7, 30));
        assert_eq!(new_york.to_utc(at(2020, 11, 1, 1, 30)), at(2020, 11, 1, 5, 30));
    }

    #[test]
    fn names_are_exact() {
        for bad in ["utc", "Z", "europe/london", "+5", "", "Foo/Bar"] {
            assert_eq!(Zone::parse(bad).expect_err("no zone").code, 40485, "{bad}");
        }
        for good in ["EST", "EST5EDT", "Etc/GMT+5", "+25:00", "-0330", "+05:75"] {
            assert!(Zone::parse(good).is_ok(), "{good}");
        }
    }
}
