//! `$dateFromString`, with a format or without.
//!
//! Without one, text is read as the timelib library reads it, which MongoDB uses: ISO 8601 in all its forms,
//! American and European dates, month names, week days, zone abbreviations. The forms that stand for a
//! moment of the present (`now`, `tomorrow`) lack a date and are refused, as MongoDB refuses them.

mod format;
mod free_text;
mod parsed;
mod scanner;

use bindery_document::{Result, Value, code};

use super::read_zone;
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, Scope, Val, fail, type_name};

use format::{check_format, parse_with_format};
pub(crate) use free_text::parse_date_text;

pub(super) const OPERATORS: &[Entry] = &[Entry::named("$dateFromString", &FIELDS)];

static FIELDS: Named = Named {
    fields: &[
        Field::required("dateString", 40542),
        Field::optional("format"),
        Field::optional("timezone"),
        Field::optional("onNull"),
        Field::optional("onError"),
    ],
    not_object: 40540,
    unknown: 40541,
    function: date_from_string,
};

fn date_from_string<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let text = named(scope, operands, 0)?;
    let format = match operands.get(1) {
        Some(Some(format)) => Some(format.evaluate(scope)?),
        _ => None,
    };
    let pattern = match &format {
        None => None,
        Some(format) if format.is_nullish() => None,
        Some(format) => match format.get() {
            Some(Value::String(pattern)) => Some(pattern.as_str()),
            _ => return fail(40684, format!("$dateFromString's format must be a string, not {}", type_name(format))),
        },
    };
    if let Some(pattern) = pattern {
        check_format(pattern)?;
    }
    let zone_given = matches!(operands.get(2), Some(Some(_)));
    let zone = read_zone("$dateFromString", scope, operands, 2, 40517)?;
    if text.is_nullish() {
        return match operands.get(3) {
            Some(Some(on_null)) => on_null.evaluate(scope),
            _ => Ok(Val::NULL),
        };
    }
    let Some(zone) = zone else {
        return Ok(Val::NULL);
    };
    if format.is_some() && pattern.is_none() {
        return Ok(Val::NULL);
    }
    let parsed = match text.get() {
        Some(Value::String(text)) => {
            let zone = zone_given.then_some(&zone);
            match pattern {
                None => parse_date_text(text.as_str(), zone),
                Some(pattern) => parse_with_format(text.as_str(), pattern).and_then(|parsed| parsed.resolve(zone)),
            }
        }
        _ => fail(
            code::CONVERSION_FAILURE,
            format!("$dateFromString's dateString must be a string, not {}", type_name(&text)),
        ),
    };
    match (parsed, operands.get(4)) {
        (Ok(ms), _) => Ok(Val::Value(Value::DateTime(ms))),
        (Err(_), Some(Some(on_error))) => on_error.evaluate(scope),
        (Err(error), _) => Err(error),
    }
}
fn invalid<T>(message: &str) -> Result<T> {
    fail(code::CONVERSION_FAILURE, message)
}
