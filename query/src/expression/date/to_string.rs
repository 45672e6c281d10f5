//! `$dateToString`.

use std::fmt::Write as _;

use bindery_document::{Result, Value};

use super::calendar::{Civil, check_year};
use super::{read_date, read_zone};
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, Scope, Val, fail, type_name};

pub(super) const OPERATORS: &[Entry] = &[Entry::named("$dateToString", &FIELDS)];

static FIELDS: Named = Named {
    fields: &[
        Field::required("date", 18628),
        Field::optional("format"),
        Field::optional("timezone"),
        Field::optional("onNull"),
    ],
    not_object: 18629,
    unknown: 18534,
    function: date_to_string,
};

const ISO_FORMAT: &str = "%Y-%m-%dT%H:%M:%S.%LZ";

fn date_to_string<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let date = named(scope, operands, 0)?;
    let format = match operands.get(1) {
        Some(Some(format)) => Some(format.evaluate(scope)?),
        _ => None,
    };
    let pattern = match &format {
        None => Some(ISO_FORMAT),
        Some(format) if format.is_nullish() => None,
        Some(format) => match format.get() {
            Some(Value::String(pattern)) => Some(pattern.as_str()),
            _ => return fail(18533, format!("$dateToString's format must be a string, not {}", type_name(format))),
        },
    };
    pattern.map_or(Ok(()), check_format)?;
    let zone = read_zone("$dateToString", scope, operands, 2, 40517)?;
    if date.is_nullish() {
        return match operands.get(3) {
            Some(Some(on_null)) => on_null.evaluate(scope),
            _ => Ok(Val::NULL),
        };
    }
    let (Some(pattern), Some(zone)) = (pattern, zone) else {
        return Ok(Val::NULL);
    };
    let ms = read_date("$dateToString", &date)?;
    Ok(Val::from(format_date(pattern, &Civil::from_millis(zone.to_local(ms)), zone.offset_at(ms))?))
}

fn check_format(pattern: &str) -> Result<()> {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        match rest.next() {
            None => return fail(18535, "the format ends with an unmatched '%'"),
            Some(c) if "dGHjLmMSUuVwYzZ%".contains(c) => {}
            Some(other) => return fail(18536, format!("the format holds an unknown '%{other}'")),
        }
    }
    Ok(())
}

/// Writes a date; `offset` is in seconds east of UTC.
fn format_date(pattern: &str, c: &Civil, offset: i64) -> Result<String> {
    let mut text = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        // Writing to a string does not fail.
        let _ = match rest.next() {
            Some('d') => write!(text, "{:02}", c.day),
            Some('G') => {
                let year = c.iso_week().0;
                check_year(year)?;
                write!(text, "{year:04}")
            }
            Some('H') => write!(text, "{:02}", c.hour),
            Some('j') => write!(text, "{:03}", c.day_of_year()),
            Some('L') => write!(text, "{:03}", c.millisecond),
            Some('m') => write!(text, "{:02}", c.month),
            Some('M') => write!(text, "{:02}", c.minute),
            Some('S') => write!(text, "{:02}", c.second),
            Some('U') => write!(text, "{:02}", c.week()),
            Some('u') => write!(text, "{}", c.iso_day_of_week()),
            Some('V') => write!(text, "{:02}", c.iso_week().1),
            Some('w') => write!(text, "{}", c.iso_day_of_week() % 7 + 1),
            Some('Y') => {
                check_year(c.year)?;
                write!(text, "{:04}", c.year)
            }
            Some('z') => {
                let sign = if offset < 0 { '-' } else { '+' };
                write!(text, "{sign}{:02}{:02}", offset.abs() / 3600, offset.abs() / 60 % 60)
            }
            Some('Z') => write!(text, "{}", offset / 60),
            Some(other) => {
                text.push(other);
                Ok(())
            }
            None => Ok(()),
        };
    }
    Ok(text)
}
