//! The proleptic Gregorian calendar over all of 64-bit milliseconds, ISO weeks, and ISO text.

use bindery_document::Result;

use crate::expression::fail;

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// A date and time of day, in whatever zone it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: u32,
    /// 1 to 31.
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) millisecond: u32,
}

/// Days since the epoch of a date; months beyond 1 to 12 and any days carry over.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day comes last (Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms", days_from_civil).
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 + day - 1
}

/// The year, month and day of a number of days since the epoch.
pub(crate) fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

impl Civil {
    /// Of milliseconds since the epoch, already moved into the zone.
    pub(crate) fn from_millis(ms: i64) -> Civil {
        let (year, month, day) = civil_from_days(ms.div_euclid(DAY_MS));
        let rest = ms.rem_euclid(DAY_MS);
        Civil {
            year,
            month,
            day,
            hour: (rest / 3_600_000) as u32,
            minute: (rest / 60_000 % 60) as u32,
            second: (rest / 1000 % 60) as u32,
            millisecond: (rest % 1000) as u32,
        }
    }

    /// Days since the epoch.
    pub(crate) fn days(&self) -> i64 {
        days_from_civil(self.year, i64::from(self.month), i64::from(self.day))
    }

    /// 1 for Monday to 7 for Sunday.
    pub(crate) fn iso_day_of_week(&self) -> i64 {
        (self.days() + 3).rem_euclid(7) + 1
    }

    /// 1 to 366.
    pub(crate) fn day_of_year(&self) -> i64 {
        self.days() - days_from_civil(self.year, 1, 1) + 1
    }

    /// Weeks begin on Sunday; days before the first Sunday are in week 0.
    pub(crate) fn week(&self) -> i64 {
        let sunday_based = self.iso_day_of_week() % 7;
        (self.day_of_year() - 1 + 7 - sunday_based) / 7
    }

    /// The ISO 8601 year and week.
    pub(crate) fn iso_week(&self) -> (i64, i64) {
        // The week belongs to the year of its Thursday.
        let thursday = self.days() + 4 - self.iso_day_of_week();
        let (year, _, _) = civil_from_days(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }
}

/// Days since the epoch of a day of an ISO week; weeks and days beyond their ranges carry over.
pub(crate) fn days_from_iso(year: i64, week: i64, day_of_week: i64) -> i64 {
    // January 4th is always in week 1.
    let fourth = days_from_civil(year, 1, 4);
    let monday = fourth - (fourth + 3).rem_euclid(7);
    monday + (week - 1) * 7 + day_of_week - 1
}

/// The number of days of a month.
pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    days_from_civil(year, month + 1, 1) - days_from_civil(year, month, 1)
}

/// `2020-01-02T03:04:05.678Z`.
///
/// # Errors
/// 18537 for years outside 0 to 9999.
pub(crate) fn iso_text(ms: i64) -> Result<String> {
    let c = Civil::from_millis(ms);
    check_year(c.year)?;
    Ok(format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        c.year, c.month, c.day, c.hour, c.minute, c.second, c.millisecond
    ))
}

/// Years that have a text.
pub(crate) fn check_year(year: i64) -> Result<()> {
    if (0..=9999).contains(&year) {
        return Ok(());
    }
    fail(18537, format!("cannot write the year {year}; years 0 to 9999 have a text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_come_back() {
        for days in (-800_000..800_000).step_by(37) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, i64::from(month), i64::from(day)), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(days_from_civil(2020, 13, 1), days_from_civil(2021, 1, 1));
        assert_eq!(days_from_civil(2020, 0, 1), days_from_civil(2019, 12, 1));
    }

    #[test]
    fn the_ends_of_time_have_years() {
        assert_eq!(Civil::from_millis(i64::MAX).year, 292_278_994);
        assert_eq!(Civil::from_millis(-i64::MAX).year, -292_275_055);
    }

    #[test]
    fn iso_weeks_belong_to_their_thursday() {
        let civil = Civil::from_millis(days_from_civil(2021, 1, 1) * DAY_MS);
        assert_eq!(civil.iso_week(), (2020, 53));
        assert_eq!(days_from_iso(2020, 53, 5), days_from_civil(2021, 1, 1));
    }
}
