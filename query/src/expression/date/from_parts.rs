//! `$dateFromParts`: a date from numbers; numbers beyond their range carry over.

use bindery_document::{Result, Value};

use super::calendar::{DAY_MS, days_from_civil, days_from_iso};
use super::read_zone;
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::{Node, ParseContext, Scope, Val, fail, parse, type_name};

pub(super) const OPERATORS: &[Entry] = &[Entry::parsed("$dateFromParts", parse_date_from_parts)];

const PARTS: [&str; 10] =
    ["year", "month", "day", "hour", "minute", "second", "millisecond", "isoWeekYear", "isoWeek", "isoDayOfWeek"];
const ZONE: usize = 10;

static FIELDS: Named = Named {
    fields: &[
        Field::optional(PARTS[0]),
        Field::optional(PARTS[1]),
        Field::optional(PARTS[2]),
        Field::optional(PARTS[3]),
        Field::optional(PARTS[4]),
        Field::optional(PARTS[5]),
        Field::optional(PARTS[6]),
        Field::optional(PARTS[7]),
        Field::optional(PARTS[8]),
        Field::optional(PARTS[9]),
        Field::optional("timezone"),
    ],
    not_object: 40519,
    unknown: 40518,
    function: date_from_parts,
};

static DATE_FROM_PARTS: Entry = Entry::named("$dateFromParts", &FIELDS);

fn parse_date_from_parts(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let node = parse::parse_named(&DATE_FROM_PARTS, &FIELDS, argument, ctx)?;
    if let Node::Named { operands, .. } = &node {
        let given = |index: usize| matches!(operands.get(index), Some(Some(_)));
        if !given(0) && !given(7) {
            return fail(40516, "$dateFromParts needs 'year' or 'isoWeekYear'");
        }
        if given(0) && (7..10).any(given) {
            return fail(40489, "$dateFromParts does not mix natural dates with ISO dates");
        }
        if given(7) && (0..3).any(given) {
            return fail(40525, "$dateFromParts does not mix ISO dates with natural dates");
        }
    }
    Ok(node)
}

/// A part, or its default if it was left out; `None` if it is null.
fn part<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>], index: usize, default: i64) -> Result<Option<i64>> {
    let Some(Some(operand)) = operands.get(index) else {
        return Ok(Some(default));
    };
    let value = operand.evaluate(scope)?;
    if value.is_nullish() {
        return Ok(None);
    }
    match value.get().and_then(|v| v.as_exact_i64()) {
        Some(n) => Ok(Some(n)),
        None => {
            let name = PARTS.get(index).copied().unwrap_or_default();
            fail(40515, format!("'{name}' must be an integer, not {}", type_name(&value)))
        }
    }
}

/// A part that must fit 16 bits.
fn small_part<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>], index: usize, default: i64) -> Result<Option<i64>> {
    let value = part(scope, operands, index, default)?;
    match value {
        Some(n) if i16::try_from(n).is_err() => {
            let name = PARTS.get(index).copied().unwrap_or_default();
            fail(31034, format!("'{name}' must lie between -32768 and 32767, not at {n}"))
        }
        other => Ok(other),
    }
}

fn date_from_parts<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let is_iso = matches!(operands.get(7), Some(Some(_)));
    let hour = small_part(scope, operands, 3, 0)?;
    let minute = small_part(scope, operands, 4, 0)?;
    let second = part(scope, operands, 5, 0)?;
    let millisecond = part(scope, operands, 6, 0)?;
    let (Some(hour), Some(minute), Some(second), Some(millisecond)) = (hour, minute, second, millisecond) else {
        return Ok(Val::NULL);
    };
    let Some(zone) = read_zone("$dateFromParts", scope, operands, ZONE, 40517)? else {
        return Ok(Val::NULL);
    };
    let days = if is_iso {
        let year = part(scope, operands, 7, 1970)?;
        let week = small_part(scope, operands, 8, 1)?;
        let day = small_part(scope, operands, 9, 1)?;
        let (Some(year), Some(week), Some(day)) = (year, week, day) else {
            return Ok(Val::NULL);
        };
        if !(1..=9999).contains(&year) {
            return fail(31095, format!("'isoWeekYear' must lie between 1 and 9999, not at {year}"));
        }
        days_from_iso(year, week, day)
    } else {
        let year = part(scope, operands, 0, 1970)?;
        let month = small_part(scope, operands, 1, 1)?;
        let day = small_part(scope, operands, 2, 1)?;
        let (Some(year), Some(month), Some(day)) = (year, month, day) else {
            return Ok(Val::NULL);
        };
        if !(1..=9999).contains(&year) {
            return fail(40523, format!("'year' must lie between 1 and 9999, not at {year}"));
        }
        days_from_civil(year, month, day)
    };
    let whole = i128::from(days * DAY_MS + hour * 3_600_000 + minute * 60_000);
    let ms = whole + i128::from(second) * 1000 + i128::from(millisecond);
    // MongoDB counts microseconds on the way.
    let overflows = [second, millisecond].iter().any(|part| part.checked_mul(1000).is_none());
    match i64::try_from(ms) {
        Ok(ms) if !overflows => Ok(Val::Value(Value::DateTime(zone.to_utc_of_parts(ms)))),
        _ => fail(bindery_document::code::DURATION_OVERFLOW, "the date is out of range"),
    }
}
