//! What a text says of a date, and the moment that it comes to.

use bindery_document::Result;

use super::invalid;
use crate::expression::date::arithmetic;
use crate::expression::date::calendar::{DAY_MS, days_from_civil, days_from_iso, days_in_month};
use crate::expression::date::unit::Unit;
use crate::expression::date::zone::Zone;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) year: Option<i64>,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) iso_year: Option<i64>,
    pub(super) iso_week: Option<i64>,
    pub(super) iso_day: Option<i64>,
    /// Hour, minute, second, millisecond.
    pub(super) time: Option<[i64; 4]>,
    /// Seconds east of UTC.
    pub(super) offset: Option<i64>,
    /// Milliseconds since the epoch, given outright.
    pub(super) epoch_ms: Option<i64>,
    /// The date moves on to this ISO day of the week.
    pub(super) week_day: Option<i64>,
    pub(super) shifts: Vec<(i64, Unit)>,
}

impl Parsed {
    pub(super) fn resolve(&self, zone: Option<&Zone>) -> Result<i64> {
        if (self.offset.is_some() || self.epoch_ms.is_some()) && zone.is_some() {
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
            local = match arithmetic::add(local, *unit, *amount, &Zone::UTC) {
                Some(moved) => moved,
                None => return invalid("the date is out of range"),
            };
        }
        Ok(match (self.offset, zone) {
            (Some(offset), _) => local - offset * 1000,
            (None, Some(zone)) => zone.to_utc_of_parts(local),
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
