//! Operands that `$dateDiff` and `$dateTrunc` share, with their error codes.

use bindery_document::{Result, Value};

use super::date_of;
use super::unit::{Unit, parse_day_of_week};
use crate::expression::{Val, fail, type_name};

/// A date that is not null.
pub(super) fn date(name: &str, field: &str, code: i32, value: &Val<'_>) -> Result<i64> {
    match value.get().and_then(|v| date_of(&v)) {
        Some(ms) => Ok(ms),
        None => fail(code, format!("{name}'s {field} must be a date, not {}", type_name(value))),
    }
}

/// A unit that is not null.
pub(super) fn unit(name: &str, value: &Val<'_>) -> Result<Unit> {
    let Some(Value::String(text)) = value.get() else {
        return fail(5_439_013, format!("{name}'s unit must be a string, not {}", type_name(value)));
    };
    match Unit::parse(text.as_str()) {
        Some(unit) => Ok(unit),
        None => fail(5_439_014, format!("{name}: unknown time unit '{}'", text.as_str())),
    }
}

/// The ISO number of the day on which weeks begin.
pub(super) fn start_of_week(name: &str, value: &Val<'_>) -> Result<i64> {
    let Some(Value::String(text)) = value.get() else {
        return fail(5_439_015, format!("{name}'s startOfWeek must be a string, not {}", type_name(value)));
    };
    match parse_day_of_week(text.as_str()) {
        Some(day) => Ok(day),
        None => fail(5_439_016, format!("{name}: unknown day of the week '{}'", text.as_str())),
    }
}
