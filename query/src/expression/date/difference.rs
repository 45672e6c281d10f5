//! `$dateDiff`: how many boundaries of a unit lie between two dates.

use bindery_document::Result;

use super::calendar::{Civil, DAY_MS};
use super::unit::Unit;
use super::zone::Zone;
use super::{read, read_zone};
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, Scope, Val, fail};

pub(super) const OPERATORS: &[Entry] = &[Entry::named("$dateDiff", &FIELDS)];

static FIELDS: Named = Named {
    fields: &[
        Field::required("startDate", 5_166_303),
        Field::required("endDate", 5_166_304),
        Field::required("unit", 5_166_305),
        Field::optional("timezone"),
        Field::optional("startOfWeek"),
    ],
    not_object: 5_166_301,
    unknown: 5_166_302,
    function: date_diff,
};

fn date_diff<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let start = named(scope, operands, 0)?;
    if start.is_nullish() {
        return Ok(Val::NULL);
    }
    let end = named(scope, operands, 1)?;
    if end.is_nullish() {
        return Ok(Val::NULL);
    }
    let unit = named(scope, operands, 2)?;
    if unit.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(zone) = read_zone("$dateDiff", scope, operands, 3, 40517)? else {
        return Ok(Val::NULL);
    };
    let unit = read::unit("$dateDiff", &unit)?;
    let mut first_day = 7;
    if let (Unit::Week, Some(Some(day))) = (unit, operands.get(4)) {
        let day = day.evaluate(scope)?;
        if day.is_nullish() {
            return Ok(Val::NULL);
        }
        first_day = read::start_of_week("$dateDiff", &day)?;
    }
    let start = read::date("$dateDiff", "startDate", 5_166_307, &start)?;
    let end = read::date("$dateDiff", "endDate", 5_166_307, &end)?;
    match difference(start, end, unit, first_day, &zone) {
        Some(n) => Ok(Val::from(n)),
        None => fail(5_166_308, "$dateDiff overflows"),
    }
}

fn difference(start: i64, end: i64, unit: Unit, first_day: i64, zone: &Zone) -> Option<i64> {
    if unit == Unit::Millisecond {
        return end.checked_sub(start);
    }
    let (local_start, local_end) = (zone.to_local(start), zone.to_local(end));
    if let Some(months) = unit.months() {
        let place = |ms: i64| {
            let civil = Civil::from_millis(ms);
            (civil.year * 12 + i64::from(civil.month) - 1).div_euclid(months)
        };
        return Some(place(local_end) - place(local_start));
    }
    let units = |ms: i64, length: i64| ms.div_euclid(length);
    Some(match unit {
        Unit::Week => {
            // The epoch was a Thursday: day 4 of its week counted from Monday.
            let week = |ms: i64| (units(ms, DAY_MS) + 4 - first_day).div_euclid(7);
            week(local_end) - week(local_start)
        }
        Unit::Day => units(local_end, DAY_MS) - units(local_start, DAY_MS),
        _ => {
            // Boundaries are those on the zone's clock, time passed is real: a change of offset is no time.
            let length = unit.millis()?;
            let turned = (zone.offset_at(end) - zone.offset_at(start)) * 1000 / length;
            units(local_end, length) - units(local_start, length) - turned
        }
    })
}
