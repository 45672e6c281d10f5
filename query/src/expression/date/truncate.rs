//! `$dateTrunc`: the start of the bin that holds a date. Bins are counted from the year 2000.

use bindery_document::{Result, Value};

use super::arithmetic::{OVERFLOW_OF_ADD, largest_amount};
use super::calendar::{Civil, DAY_MS, days_from_civil};
use super::unit::Unit;
use super::zone::Zone;
use super::{read, read_zone};
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, Scope, Val, fail, type_name};

pub(super) const OPERATORS: &[Entry] = &[Entry::named("$dateTrunc", &FIELDS)];

static FIELDS: Named = Named {
    fields: &[
        Field::required("date", 5_439_009),
        Field::required("unit", 5_439_010),
        Field::optional("binSize"),
        Field::optional("timezone"),
        Field::optional("startOfWeek"),
    ],
    not_object: 5_439_007,
    unknown: 5_439_008,
    function: date_trunc,
};

/// The largest bin, in units.
const LARGEST_BIN: i64 = 100_000_000_000;

fn date_trunc<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let date = named(scope, operands, 0)?;
    if date.is_nullish() {
        return Ok(Val::NULL);
    }
    let unit = named(scope, operands, 1)?;
    if unit.is_nullish() {
        return Ok(Val::NULL);
    }
    let size = match operands.get(2) {
        Some(Some(size)) => Some(size.evaluate(scope)?),
        _ => None,
    };
    if size.as_ref().is_some_and(Val::is_nullish) {
        return Ok(Val::NULL);
    }
    let Some(zone) = read_zone("$dateTrunc", scope, operands, 3, 40517)? else {
        return Ok(Val::NULL);
    };
    let mut bin = 1;
    if let Some(size) = size {
        bin = match size.get().and_then(|v| v.as_exact_i64()) {
            Some(bin) => bin,
            None => {
                return fail(5_439_017, format!("$dateTrunc's binSize must be an integer, not {}", type_name(&size)));
            }
        };
        if bin <= 0 {
            return fail(5_439_018, format!("$dateTrunc's binSize must be positive, not {bin}"));
        }
    }
    let unit = read::unit("$dateTrunc", &unit)?;
    let mut first_day = 7;
    if let (Unit::Week, Some(Some(day))) = (unit, operands.get(4)) {
        let day = day.evaluate(scope)?;
        if day.is_nullish() {
            return Ok(Val::NULL);
        }
        first_day = read::start_of_week("$dateTrunc", &day)?;
    }
    let ms = read::date("$dateTrunc", "date", 5_439_012, &date)?;
    // Units of days and more are added to the reference as $dateAdd does it, and fail as it does.
    let is_long = unit.months().is_some() || matches!(unit, Unit::Week | Unit::Day);
    if is_long && bin > LARGEST_BIN {
        return fail(5_439_006, format!("$dateTrunc does not support a binSize of {bin}"));
    }
    if !is_long && unit.millis().is_none_or(|unit_ms| unit_ms.checked_mul(bin).is_none()) {
        return fail(5_439_002, format!("$dateTrunc: {bin} units are too long a time"));
    }
    if is_long && amount_from_reference(ms, unit, bin, first_day, &zone).is_none_or(|n| n > largest_amount(unit)) {
        return fail(5_976_500, format!("$dateTrunc: bins of {bin} units begin too far from the date"));
    }
    match truncate(ms, unit, bin, first_day, &zone) {
        Some(ms) => Ok(Val::Value(Value::DateTime(ms))),
        None => fail(if is_long { OVERFLOW_OF_ADD } else { 5_439_000 }, "$dateTrunc: the date is out of range"),
    }
}

/// How many units a bin's start lies from the reference, for units of days and more.
fn amount_from_reference(ms: i64, unit: Unit, bin: i64, first_day: i64, zone: &Zone) -> Option<u64> {
    let since = match unit.months() {
        Some(months) => {
            let civil = Civil::from_millis(zone.to_local(ms));
            ((civil.year - 2000) * 12 + i64::from(civil.month) - 1).div_euclid(months)
        }
        None => {
            let days = zone.to_local(ms).div_euclid(DAY_MS) - days_from_civil(2000, 1, 1);
            if unit == Unit::Week { (days - (first_day + 1).rem_euclid(7)).div_euclid(7) } else { days }
        }
    };
    since.div_euclid(bin).checked_mul(bin).map(i64::unsigned_abs)
}

fn truncate(ms: i64, unit: Unit, bin: i64, first_day: i64, zone: &Zone) -> Option<i64> {
    let reference_day = days_from_civil(2000, 1, 1);
    // Bins of days and more are computed from their reference, as $dateAdd would.
    let reference_dst = zone.is_dst_at(zone.to_utc_of_parts(reference_day * DAY_MS));
    if let Some(months) = unit.months() {
        let bin = bin.checked_mul(months)?;
        let civil = Civil::from_millis(zone.to_local(ms));
        let since = (civil.year - 2000) * 12 + i64::from(civil.month) - 1;
        let start = since.div_euclid(bin).checked_mul(bin)?;
        let days = days_from_civil(2000, start + 1, 1);
        return Some(zone.to_utc(days.checked_mul(DAY_MS)?, reference_dst));
    }
    if matches!(unit, Unit::Week | Unit::Day) {
        let day = zone.to_local(ms).div_euclid(DAY_MS);
        let (bin, reference) = if unit == Unit::Week {
            // 2000 began on a Saturday; weeks are counted from the first day after it that begins one.
            (bin.checked_mul(7)?, reference_day + (first_day + 1).rem_euclid(7))
        } else {
            (bin, reference_day)
        };
        let start = reference.checked_add((day - reference).div_euclid(bin).checked_mul(bin)?)?;
        return Some(zone.to_utc(start.checked_mul(DAY_MS)?, reference_dst));
    }
    // Shorter units count real time from the zone's first moment of 2000.
    let reference = zone.to_utc_of_parts(reference_day * DAY_MS);
    let bin = unit.millis()?.checked_mul(bin)?;
    reference.checked_add(ms.checked_sub(reference)?.div_euclid(bin).checked_mul(bin)?)
}
