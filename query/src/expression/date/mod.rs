//! Dates: their parts, text, arithmetic, and time zones by name.
//!
//! A date is a number of milliseconds since the epoch; [`calendar`] turns it into a proleptic Gregorian date
//! and back for any 64-bit value, [`zone`] finds offsets from UTC. Operators read dates, timestamps and the
//! times inside ObjectIds alike.

mod arithmetic;
pub(crate) mod calendar;
mod difference;
mod from_parts;
mod from_string;
mod parts;
mod read;
mod to_string;
mod truncate;
pub(crate) mod unit;
pub(crate) mod zone;
mod zone_rules;

pub(crate) use from_string::parse_date_text;

/// Moving dates by units of time, for stages that do so.
pub(crate) mod arithmetic_unit {
    pub(crate) use super::arithmetic::add;
    pub(crate) use super::unit::Unit;
    pub(crate) use super::zone::Zone;
}

use bindery_document::{Error, Result, Value};

use super::registry::Entry;
use super::string::named;
use super::{Node, Scope, Val, fail, type_name};
use zone::Zone;

/// The families of date operators.
pub(super) const FAMILIES: &[&[Entry]] = &[
    parts::OPERATORS,
    from_parts::OPERATORS,
    from_string::OPERATORS,
    to_string::OPERATORS,
    arithmetic::OPERATORS,
    difference::OPERATORS,
    truncate::OPERATORS,
];

/// Milliseconds since the epoch of what can stand for a date.
pub(crate) fn date_of(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::DateTime(ms) => Some(*ms),
        Value::Timestamp(t) => Some((t >> 32) as i64 * 1000),
        Value::ObjectId([a, b, c, d, ..]) => Some(i64::from(u32::from_be_bytes([*a, *b, *c, *d])) * 1000),
        _ => None,
    }
}

/// The date of an operand.
///
/// # Errors
/// 16006 for what can stand for no date.
fn read_date(name: &str, value: &Val<'_>) -> Result<i64> {
    match value.get().and_then(|v| date_of(&v)) {
        Some(ms) => Ok(ms),
        None => fail(16006, format!("{name}: cannot convert {} to a date", type_name(value))),
    }
}

/// The operand `timezone`: UTC if it was left out, `None` if it is null.
///
/// # Errors
/// `type_code` if it is no string, 40485 if there is no such zone.
fn read_zone<'a>(
    name: &str,
    scope: &Scope<'a>,
    operands: &'a [Option<Node>],
    index: usize,
    type_code: i32,
) -> Result<Option<Zone>> {
    if !matches!(operands.get(index), Some(Some(_))) {
        return Ok(Some(Zone::UTC));
    }
    let value = named(scope, operands, index)?;
    if value.is_nullish() {
        return Ok(None);
    }
    match value.get() {
        Some(Value::String(zone)) => Zone::parse(zone.as_str())
            .map(Some)
            .map_err(|error| Error::new(error.code, format!("{name}: {}", error.message))),
        _ => fail(type_code, format!("{name}: timezone must be a string, not {}", type_name(&value))),
    }
}
