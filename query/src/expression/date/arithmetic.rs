//! `$dateAdd` and `$dateSubtract`.

use bindery_document::{Result, Value, code};

use super::calendar::{Civil, DAY_MS, days_from_civil, days_in_month};
use super::unit::Unit;
use super::zone::Zone;
use super::{date_of, read_zone};
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, Scope, Val, fail};

pub(super) const OPERATORS: &[Entry] =
    &[Entry::named("$dateAdd", &DATE_ADD), Entry::named("$dateSubtract", &DATE_SUBTRACT)];

const FIELDS: &[Field] = &[
    Field::required("startDate", 5_166_402),
    Field::required("unit", 5_166_402),
    Field::required("amount", 5_166_402),
    Field::optional("timezone"),
];

static DATE_ADD: Named = Named {
    fields: FIELDS,
    not_object: 5_166_400,
    unknown: 5_166_401,
    function: |scope, operands| shift("$dateAdd", scope, operands, false),
};

static DATE_SUBTRACT: Named = Named {
    fields: FIELDS,
    not_object: 5_166_400,
    unknown: 5_166_401,
    function: |scope, operands| shift("$dateSubtract", scope, operands, true),
};

fn shift<'a>(name: &str, scope: &Scope<'a>, operands: &'a [Option<Node>], backwards: bool) -> Result<Val<'a>> {
    let start = named(scope, operands, 0)?;
    if start.is_nullish() {
        return Ok(Val::NULL);
    }
    let unit = named(scope, operands, 1)?;
    if unit.is_nullish() {
        return Ok(Val::NULL);
    }
    let amount = named(scope, operands, 2)?;
    if amount.is_nullish() {
        return Ok(Val::NULL);
    }
    // The time zone is looked at before the others are.
    let Some(zone) = read_zone(name, scope, operands, 3, 40517)? else {
        return Ok(Val::NULL);
    };
    let Some(ms) = start.get().and_then(|v| date_of(&v)) else {
        return fail(5_166_403, format!("{name}'s startDate must be a date"));
    };
    let Some(Value::String(unit)) = unit.get() else {
        return fail(5_166_404, format!("{name}'s unit must be a string"));
    };
    let Some(unit) = Unit::parse(unit.as_str()) else {
        return fail(code::FAILED_TO_PARSE, format!("{name}: unknown time unit {}", unit.as_str()));
    };
    let Some(amount) = amount.get().and_then(|v| v.as_exact_i64()) else {
        return fail(5_166_405, format!("{name}'s amount must be an integer"));
    };
    let amount = if backwards {
        match amount.checked_neg() {
            Some(amount) => amount,
            None => return fail(6_045_000, format!("{name}'s amount is out of range")),
        }
    } else {
        amount
    };
    if amount.unsigned_abs() > largest_amount(unit) {
        return fail(5_976_500, format!("{name}'s amount is out of range for its unit: {amount}"));
    }
    match add(ms, unit, amount, &zone) {
        Some(ms) => Ok(Val::Value(Value::DateTime(ms))),
        None => {
            let error_code = if unit == Unit::Millisecond { code::DURATION_OVERFLOW } else { OVERFLOW_OF_ADD };
            fail(error_code, format!("{name}: the date is out of range"))
        }
    }
}

/// A date that $dateAdd cannot give.
pub(super) const OVERFLOW_OF_ADD: i32 = 5_166_406;

/// No two dates lie more than this many units apart.
pub(super) fn largest_amount(unit: Unit) -> u64 {
    match (unit.months(), unit.millis()) {
        (Some(months), _) => 584_942_417 * 12 / months.unsigned_abs(),
        (None, Some(ms)) => u64::MAX / ms.unsigned_abs(),
        (None, None) => 0,
    }
}

/// Moves a date by a number of units. Months keep the day of the month if there is one, else take the last;
/// days and longer units keep the time on the zone's clock. Of a date before 1970 that is no whole second,
/// MongoDB 6.0 loses a second on the way, except by milliseconds; its answers are kept.
pub(crate) fn add(ms: i64, unit: Unit, amount: i64, zone: &Zone) -> Option<i64> {
    let moved = add_exactly(ms, unit, amount, zone)?;
    let loses_a_second = ms < 0 && ms % 1000 != 0 && unit != Unit::Millisecond;
    if loses_a_second { moved.checked_sub(1000) } else { Some(moved) }
}

fn add_exactly(ms: i64, unit: Unit, amount: i64, zone: &Zone) -> Option<i64> {
    if let Some(months) = unit.months() {
        let local = zone.to_local(ms);
        let civil = Civil::from_millis(local);
        let month = i64::from(civil.month).checked_add(months.checked_mul(amount)?)?;
        let (year, month) = (civil.year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
        let day = i64::from(civil.day).min(days_in_month(year, month));
        let days = days_from_civil(year, month, day);
        let moved = days.checked_mul(DAY_MS)?.checked_add(local.rem_euclid(DAY_MS))?;
        return Some(zone.to_utc(moved, zone.is_dst_at(ms)));
    }
    let by = unit.millis()?.checked_mul(amount)?;
    if matches!(unit, Unit::Week | Unit::Day) {
        return Some(zone.to_utc(zone.to_local(ms).checked_add(by)?, zone.is_dst_at(ms)));
    }
    ms.checked_add(by)
}
