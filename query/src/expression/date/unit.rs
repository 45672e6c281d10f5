//! Time units, and the days on which weeks begin.

/// A time unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

impl Unit {
    /// The unit of this name (case counts).
    pub(crate) fn parse(name: &str) -> Option<Unit> {
        Some(match name {
            "year" => Unit::Year,
            "quarter" => Unit::Quarter,
            "month" => Unit::Month,
            "week" => Unit::Week,
            "day" => Unit::Day,
            "hour" => Unit::Hour,
            "minute" => Unit::Minute,
            "second" => Unit::Second,
            "millisecond" => Unit::Millisecond,
            _ => return None,
        })
    }

    /// Milliseconds, for units of fixed length (a day counts as one here).
    pub(crate) fn millis(self) -> Option<i64> {
        Some(match self {
            Unit::Year | Unit::Quarter | Unit::Month => return None,
            Unit::Week => 604_800_000,
            Unit::Day => 86_400_000,
            Unit::Hour => 3_600_000,
            Unit::Minute => 60_000,
            Unit::Second => 1000,
            Unit::Millisecond => 1,
        })
    }

    /// Months, for units that are some.
    pub(crate) fn months(self) -> Option<i64> {
        Some(match self {
            Unit::Year => 12,
            Unit::Quarter => 3,
            Unit::Month => 1,
            _ => return None,
        })
    }
}

/// The ISO number (1 for Monday) of a day by name or by its first three letters; case does not count.
pub(crate) fn parse_day_of_week(name: &str) -> Option<i64> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let name = name.to_ascii_lowercase();
    let place = DAYS.iter().position(|day| *day == name || day.get(..3) == Some(name.as_str()))?;
    Some(place as i64 + 1)
}
