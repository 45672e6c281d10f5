//! `$year`, `$month`, `$hour` and the other parts of a date; `$dateToParts`.

use bindery_document::{Builder, Result, Value};

use super::calendar::Civil;
use super::{read_date, read_zone};
use crate::expression::registry::{Entry, Field, Named};
use crate::expression::string::named;
use crate::expression::{Node, ParseContext, Scope, Val, fail, parse, type_name};

macro_rules! date_parts {
    ($($constant:ident $fields:ident $name:literal $part:expr;)*) => {
        $(
            static $fields: Named = Named {
                fields: &[Field::required("date", 40539), Field::optional("timezone")],
                not_object: 40539,
                unknown: 40535,
                function: |scope, operands| {
                    let part: fn(&Civil) -> Value<'static> = $part;
                    evaluate_part($name, scope, operands, part)
                },
            };
            static $constant: Entry = Entry::named($name, &$fields);
        )*
        pub(super) const OPERATORS: &[Entry] = &[
            $(Entry::parsed($name, |argument, ctx| parse_part(&$constant, &$fields, argument, ctx)),)*
            Entry::named("$dateToParts", &DATE_TO_PARTS),
        ];
    };
}

date_parts! {
    YEAR YEAR_FIELDS "$year" |c| Value::Int32(c.year as i32);
    MONTH MONTH_FIELDS "$month" |c| Value::Int32(c.month as i32);
    DAY_OF_MONTH DAY_OF_MONTH_FIELDS "$dayOfMonth" |c| Value::Int32(c.day as i32);
    HOUR HOUR_FIELDS "$hour" |c| Value::Int32(c.hour as i32);
    MINUTE MINUTE_FIELDS "$minute" |c| Value::Int32(c.minute as i32);
    SECOND SECOND_FIELDS "$second" |c| Value::Int32(c.second as i32);
    MILLISECOND MILLISECOND_FIELDS "$millisecond" |c| Value::Int32(c.millisecond as i32);
    DAY_OF_YEAR DAY_OF_YEAR_FIELDS "$dayOfYear" |c| Value::Int32(c.day_of_year() as i32);
    DAY_OF_WEEK DAY_OF_WEEK_FIELDS "$dayOfWeek" |c| Value::Int32((c.iso_day_of_week() % 7) as i32 + 1);
    WEEK WEEK_FIELDS "$week" |c| Value::Int32(c.week() as i32);
    ISO_WEEK ISO_WEEK_FIELDS "$isoWeek" |c| Value::Int32(c.iso_week().1 as i32);
    ISO_WEEK_YEAR ISO_WEEK_YEAR_FIELDS "$isoWeekYear" |c| Value::Int64(c.iso_week().0);
    ISO_DAY_OF_WEEK ISO_DAY_OF_WEEK_FIELDS "$isoDayOfWeek" |c| Value::Int32(c.iso_day_of_week() as i32);
}

/// A document whose first name has no dollar gives date and zone; anything else is the date itself.
fn parse_part(
    entry: &'static Entry,
    fields: &'static Named,
    argument: Value<'_>,
    ctx: &mut ParseContext,
) -> Result<Node> {
    let date = match argument {
        Value::Document(doc) if doc.first().is_none_or(|first| first.key.first() != Some(&b'$')) => {
            return parse::parse_named(entry, fields, argument, ctx);
        }
        Value::Array(items) => {
            let mut items_left = items.iter();
            match (items_left.next(), items_left.next()) {
                (Some(only), None) => only.value(),
                _ => {
                    let message = format!("{} takes one argument; {} were given", entry.name, items.count());
                    return fail(40536, message);
                }
            }
        }
        other => other,
    };
    let operands = Box::new([Some(parse::parse(date, ctx)?), None]);
    Ok(Node::Named { entry, named: fields, operands })
}

fn evaluate_part<'a>(
    name: &str,
    scope: &Scope<'a>,
    operands: &'a [Option<Node>],
    part: fn(&Civil) -> Value<'static>,
) -> Result<Val<'a>> {
    let date = named(scope, operands, 0)?;
    if date.is_nullish() {
        return Ok(Val::NULL);
    }
    let ms = read_date(name, &date)?;
    let Some(zone) = read_zone(name, scope, operands, 1, 40533)? else {
        return Ok(Val::NULL);
    };
    Ok(Val::Value(part(&Civil::from_millis(zone.to_local(ms)))))
}

static DATE_TO_PARTS: Named = Named {
    fields: &[Field::required("date", 40522), Field::optional("timezone"), Field::optional("iso8601")],
    not_object: 40524,
    unknown: 40520,
    function: date_to_parts,
};

fn date_to_parts<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let date = named(scope, operands, 0)?;
    let Some(zone) = read_zone("$dateToParts", scope, operands, 1, 40517)? else {
        return Ok(Val::NULL);
    };
    let iso = match operands.get(2) {
        Some(Some(iso)) => {
            let iso = iso.evaluate(scope)?;
            if iso.is_nullish() {
                return Ok(Val::NULL);
            }
            match iso.get() {
                Some(Value::Boolean(iso)) => iso,
                _ => return fail(40521, format!("iso8601 must be a boolean, not {}", type_name(&iso))),
            }
        }
        _ => false,
    };
    if date.is_nullish() {
        return Ok(Val::NULL);
    }
    let civil = Civil::from_millis(zone.to_local(read_date("$dateToParts", &date)?));
    let mut builder = Builder::new();
    if iso {
        let (year, week) = civil.iso_week();
        builder.append("isoWeekYear", year as i32);
        builder.append("isoWeek", week as i32);
        builder.append("isoDayOfWeek", civil.iso_day_of_week() as i32);
    } else {
        builder.append("year", civil.year as i32);
        builder.append("month", civil.month as i32);
        builder.append("day", civil.day as i32);
    }
    builder.append("hour", civil.hour as i32);
    builder.append("minute", civil.minute as i32);
    builder.append("second", civil.second as i32);
    builder.append("millisecond", civil.millisecond as i32);
    Ok(Val::Document(builder.finish()))
}
