//! Time zones: fixed offsets (`+05:30`) and zones of the tz database, which is inside the binary.

use bindery_document::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::zone_rules::{dst_is_turned_since, offset_of, rule_of};
use crate::expression::fail;

/// A time zone.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    /// Seconds east of UTC.
    Fixed(i64),
    /// A zone by name.
    Named(NamedZone),
}

/// A zone of the tz database.
#[derive(Clone, Debug)]
pub(crate) struct NamedZone {
    zone: TimeZone,
    /// Rules that count from a moment on in place of the database's.
    later: Option<(i64, TimeZone)>,
    dst_turned_since: Option<i64>,
}

impl NamedZone {
    fn zone_at(&self, ms: i64) -> &TimeZone {
        match &self.later {
            Some((since, later)) if ms >= *since => later,
            _ => &self.zone,
        }
    }

    /// The offset in seconds, and whether it is one of daylight saving time.
    fn info_at(&self, ms: i64) -> (i64, bool) {
        let info = self.zone_at(ms).to_offset_info(moment(cycled(ms)));
        let is_turned = self.dst_turned_since.is_some_and(|since| ms >= since);
        (i64::from(info.offset().seconds()), info.dst().is_dst() != is_turned)
    }

    /// When the offset last changed at a moment or before it.
    fn last_change(&self, ms: i64) -> Option<i64> {
        let within = cycled(ms);
        let change = self.zone_at(ms).preceding(moment(within.saturating_add(1))).next()?;
        Some(change.timestamp().as_millisecond().saturating_add(ms - within))
    }
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
        if let Some(offset) = parse_offset(name).or_else(|| offset_of(name)) {
            return Ok(Zone::Fixed(offset));
        }
        match TimeZone::get(name) {
            Ok(zone) if zone.iana_name() == Some(name) => {
                Ok(Zone::Named(NamedZone { zone, later: rule_of(name), dst_turned_since: dst_is_turned_since(name) }))
            }
            _ => fail(40485, format!("unrecognized time zone identifier: \"{name}\"")),
        }
    }

    /// Seconds east of UTC at a moment (milliseconds since the epoch).
    pub(crate) fn offset_at(&self, ms: i64) -> i64 {
        self.info_at(ms).0
    }

    /// Moves a moment into the zone: milliseconds on the zone's clock.
    pub(crate) fn to_local(&self, ms: i64) -> i64 {
        ms.saturating_add(self.offset_at(ms) * 1000)
    }

    /// Whether daylight saving time is in force at a moment.
    pub(crate) fn is_dst_at(&self, ms: i64) -> bool {
        self.info_at(ms).1
    }

    /// The offset in seconds, and whether it is one of daylight saving time.
    fn info_at(&self, ms: i64) -> (i64, bool) {
        match self {
            Zone::Fixed(offset) => (*offset, false),
            Zone::Named(zone) => zone.info_at(ms),
        }
    }

    /// The moment at which the zone's clock shows this. Times that a clock skips or shows twice are read as
    /// the timelib library reads them, which MongoDB uses: a time that is shown twice is the one with daylight
    /// saving time if the date that it was computed from had it (`from_dst`). A date that was not computed from
    /// another is taken to come from the epoch ([`Zone::to_utc_of_parts`]).
    pub(crate) fn to_utc(&self, local_ms: i64, from_dst: bool) -> i64 {
        let Zone::Named(zone) = self else {
            return local_ms.saturating_sub(self.offset_at(0) * 1000);
        };
        let (current, current_dst) = self.info_at(local_ms);
        let guess = local_ms.saturating_sub(current * 1000);
        let (mut actual, mut change) = (self.offset_at(guess), zone.last_change(guess));
        if current == actual {
            // The clock's time taken for UTC lies on the far side of the change: look two hours beyond.
            let is_east = current >= 0 && from_dst && !current_dst;
            let is_west = current <= 0 && !from_dst && current_dst;
            let beyond = if is_east { guess.saturating_sub(LOOK_MS) } else { guess.saturating_add(LOOK_MS) };
            let other = self.offset_at(beyond);
            let candidate = local_ms.saturating_sub(other * 1000);
            let other_change = zone.last_change(beyond);
            let fits = (is_east && change.is_some_and(|change| candidate < change))
                || (is_west && other_change.is_none_or(|change| candidate >= change));
            if other != actual && fits {
                (actual, change) = (other, other_change);
            }
        }
        let candidate = local_ms.saturating_sub(actual * 1000);
        let in_transition = change
            .is_some_and(|change| candidate >= change.saturating_add((current - actual) * 1000) && candidate < change);
        let offset = if current != actual && !in_transition { actual } else { current };
        local_ms.saturating_sub(offset * 1000)
    }

    /// As [`Zone::to_utc`], of a date that is given by its parts.
    pub(crate) fn to_utc_of_parts(&self, local_ms: i64) -> i64 {
        self.to_utc(local_ms, self.is_dst_at(0))
    }
}

/// How far beyond a time on the clock a change of its offset is looked for.
const LOOK_MS: i64 = 7_200_000;

/// The tz database ends at the year 9999; later moments lie where they would in a cycle of 400 years before, since a
/// zone's last rule goes on for ever.
fn cycled(ms: i64) -> i64 {
    const CYCLE_MS: i64 = 146_097 * 86_400_000;
    const LAST_CYCLE: i64 = 240_000_000_000_000;
    if ms < LAST_CYCLE { ms } else { LAST_CYCLE + (ms - LAST_CYCLE) % CYCLE_MS }
}

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
        assert_eq!(london.to_utc(at(2020, 3, 29, 1, 30), false), at(2020, 3, 29, 1, 30));
        assert_eq!(london.to_utc(at(2020, 10, 25, 1, 30), false), at(2020, 10, 25, 1, 30));
        assert_eq!(london.to_utc(at(2020, 10, 25, 1, 30), true), at(2020, 10, 25, 0, 30));
        let new_york = Zone::parse("America/New_York").expect("zone");
        assert_eq!(new_york.to_utc(at(2020, 3, 8, 2, 30), false), at(2020, 3, 8, 7, 30));
        assert_eq!(new_york.to_utc(at(2020, 11, 1, 1, 30), true), at(2020, 11, 1, 5, 30));
        assert_eq!(new_york.to_utc(at(2020, 11, 1, 1, 30), false), at(2020, 11, 1, 6, 30));
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
