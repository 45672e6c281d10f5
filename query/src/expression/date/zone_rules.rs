//! Rules of zones as they stood when MongoDB 6.0.5 was made (its tz database is of the summer of 2022), for zones whose
//! law has changed since: dates after the change get the answer of that server, not that of today's law.

use jiff::tz::TimeZone;

/// A moment in milliseconds, the rule from then on, and the zones that follow it.
const RULES: &[(i64, &str, &[&str])] = &[
    (
        1_667_113_200_000,
        "CST6CDT,M4.1.0,M10.5.0",
        &["America/Mexico_City", "America/Merida", "America/Monterrey", "America/Bahia_Banderas", "Mexico/General"],
    ),
    (1_667_116_800_000, "MST7MDT,M4.1.0,M10.5.0", &["America/Mazatlan", "America/Chihuahua", "Mexico/BajaSur"]),
    (1_667_116_800_000, "MST7MDT,M3.2.0,M11.1.0", &["America/Ojinaga"]),
    (1_777_593_600_000, "PST8PDT,M3.2.0,M11.1.0", &["America/Vancouver", "Canada/Pacific"]),
    (
        1_777_593_600_000,
        "MST7MDT,M3.2.0,M11.1.0",
        &["America/Edmonton", "America/Inuvik", "America/Yellowknife", "Canada/Mountain"],
    ),
    (1_777_593_600_000, "CST6CDT,M3.2.0,M11.1.0", &["America/Winnipeg", "America/Rainy_River", "Canada/Central"]),
    (1_777_593_600_000, "CST5CDT,M3.2.0/0,M11.1.0/1", &["America/Havana", "Cuba"]),
    (1_667_260_800_000, "EET-2", &["Africa/Cairo", "Egypt"]),
    (1_709_164_800_000, "<+06>-6", &["Asia/Almaty", "Asia/Qostanay"]),
    (1_665_000_000_000, "EET-2EEST,M2.5.4/24,M10.5.5/1", &["Asia/Amman"]),
    (1_665_000_000_000, "EET-2EEST,M3.5.5/0,M10.5.5/0", &["Asia/Damascus"]),
    (1_664_582_400_000, "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", &["America/Nuuk", "America/Godthab"]),
    (1_704_067_200_000, "<-01>1<+00>,M3.5.0/0,M10.5.0/1", &["America/Scoresbysund"]),
    (1_727_740_800_000, "<-04>4<-03>,M10.1.0/0,M3.4.0/0", &["America/Asuncion"]),
    (1_656_633_600_000, "<+12>-12<+13>,M11.2.0,M1.2.3/99", &["Pacific/Fiji"]),
    (1_601_740_860_000, "<+11>-11", &["Antarctica/Casey"]),
];

/// Zones that are an offset for all time there; today they are other names of places.
const OFFSETS: &[(&str, i64)] = &[("EST", -5 * 3600), ("MST", -7 * 3600), ("HST", -10 * 3600)];

/// Zones whose winter time, not their summer time, is the exception by today's data; there it is the summer time.
const SUMMER_TIMES: &[(&str, i64)] = &[
    ("Europe/Dublin", 57_722_400_000),
    ("Eire", 57_722_400_000),
    ("Africa/Casablanca", 1_540_692_000_000),
    ("Africa/El_Aaiun", 1_540_692_000_000),
    ("Africa/Windhoek", 764_200_800_000),
];

/// The rule of a zone whose law has changed, and the moment from which on it counts.
pub(super) fn rule_of(name: &str) -> Option<(i64, TimeZone)> {
    let (since, rule, _) = RULES.iter().find(|(_, _, names)| names.contains(&name))?;
    Some((*since, TimeZone::posix(rule).ok()?))
}

/// The offset in seconds of a zone that has but one.
pub(super) fn offset_of(name: &str) -> Option<i64> {
    OFFSETS.iter().find(|(other, _)| *other == name).map(|(_, offset)| *offset)
}

/// The moment from which on what the data call daylight saving time is the other half of the year.
pub(super) fn dst_is_turned_since(name: &str) -> Option<i64> {
    SUMMER_TIMES.iter().find(|(other, _)| *other == name).map(|(_, since)| *since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read() {
        for (_, rule, names) in RULES {
            assert!(TimeZone::posix(rule).is_ok(), "{rule}");
            assert!(names.iter().all(|name| rule_of(name).is_some()));
        }
    }
}
