//! `$convert` and its short forms, `$type`, `$isNumber`.

use bindery_document::{Decimal, DecimalClass, Error, Kind, Result, Value, code};

use super::date::{date_of, parse_date_text};
use super::decimal::text as decimal_text;
use super::decimal::{self, arithmetic::Rounding};
use super::number::Number;
use super::registry::{Entry, Field, Named};
use super::string::named;
use super::text::format_double;
use super::{Node, ParseContext, Scope, Val, fail, parse, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::named("$convert", &CONVERT),
    Entry::parsed("$toBool", |v, ctx| short_form(&TO_BOOL, v, ctx)),
    Entry::parsed("$toDate", |v, ctx| short_form(&TO_DATE, v, ctx)),
    Entry::parsed("$toDecimal", |v, ctx| short_form(&TO_DECIMAL, v, ctx)),
    Entry::parsed("$toDouble", |v, ctx| short_form(&TO_DOUBLE, v, ctx)),
    Entry::parsed("$toInt", |v, ctx| short_form(&TO_INT, v, ctx)),
    Entry::parsed("$toLong", |v, ctx| short_form(&TO_LONG, v, ctx)),
    Entry::parsed("$toObjectId", |v, ctx| short_form(&TO_OBJECT_ID, v, ctx)),
    Entry::parsed("$toString", |v, ctx| short_form(&TO_STRING, v, ctx)),
    Entry::unary("$type", type_of),
    Entry::unary("$isNumber", is_number),
];

static TO_BOOL: Entry = Entry::unary("$toBool", |_, v| convert_or_null(v, Kind::Boolean));
static TO_DATE: Entry = Entry::unary("$toDate", |_, v| convert_or_null(v, Kind::DateTime));
static TO_DECIMAL: Entry = Entry::unary("$toDecimal", |_, v| convert_or_null(v, Kind::Decimal128));
static TO_DOUBLE: Entry = Entry::unary("$toDouble", |_, v| convert_or_null(v, Kind::Double));
static TO_INT: Entry = Entry::unary("$toInt", |_, v| convert_or_null(v, Kind::Int32));
static TO_LONG: Entry = Entry::unary("$toLong", |_, v| convert_or_null(v, Kind::Int64));
static TO_OBJECT_ID: Entry = Entry::unary("$toObjectId", |_, v| convert_or_null(v, Kind::ObjectId));
static TO_STRING: Entry = Entry::unary("$toString", |_, v| convert_or_null(v, Kind::String));

fn short_form(entry: &'static Entry, argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let operands = parse::parse_operands(argument, ctx)?;
    if operands.len() != 1 {
        return fail(50723, format!("{} takes one argument; {} were given", entry.name, operands.len()));
    }
    Ok(Node::Call { entry, operands })
}

fn convert_or_null<'a>(value: Val<'a>, to: Kind) -> Result<Val<'a>> {
    if value.is_nullish() { Ok(Val::NULL) } else { convert_value(value, Some(to)) }
}

static CONVERT: Named = Named {
    fields: &[
        Field::required("input", code::FAILED_TO_PARSE),
        Field::required("to", code::FAILED_TO_PARSE),
        Field::optional("onError"),
        Field::optional("onNull"),
    ],
    not_object: code::FAILED_TO_PARSE,
    unknown: code::FAILED_TO_PARSE,
    function: convert,
};

fn convert<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>]) -> Result<Val<'a>> {
    let to = named(scope, operands, 1)?;
    let input = named(scope, operands, 0)?;
    let target = if to.is_nullish() { None } else { Some(read_target(&to)?) };
    if input.is_nullish() {
        return match operands.get(3) {
            Some(Some(on_null)) => on_null.evaluate(scope),
            _ => Ok(Val::NULL),
        };
    }
    let Some(target) = target else {
        return Ok(Val::NULL);
    };
    match (convert_value(input, target), operands.get(2)) {
        (Err(error), Some(Some(on_error))) if error.code == code::CONVERSION_FAILURE => on_error.evaluate(scope),
        (result, _) => result,
    }
}

/// The type to convert to; the inner `None` is `"missing"`, which is a type that nothing converts to.
fn read_target(to: &Val<'_>) -> Result<Option<Kind>> {
    if let Some(Value::String(name)) = to.get() {
        let name = name.as_str();
        if name == "missing" {
            return Ok(None);
        }
        return match Kind::ALL.into_iter().find(|kind| kind.alias() == name) {
            Some(kind) => Ok(Some(kind)),
            None => fail(code::BAD_VALUE, format!("unknown type name: {name}")),
        };
    }
    let Some(value) = to.get().filter(|v| v.kind().is_number()) else {
        let message = format!("$convert's 'to' must be a string or a number, not {}", type_name(to));
        return fail(code::FAILED_TO_PARSE, message);
    };
    let number = value.as_exact_i64();
    if number == Some(0) {
        return Ok(None);
    }
    match Kind::ALL.into_iter().find(|kind| Some(i64::from(kind.number())) == number) {
        Some(kind) => Ok(Some(kind)),
        None => fail(code::FAILED_TO_PARSE, "$convert's 'to' is not the number of a type"),
    }
}

fn failure<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(code::CONVERSION_FAILURE, message))
}

/// Converts a value that is not null.
fn convert_value<'a>(value: Val<'a>, to: Option<Kind>) -> Result<Val<'a>> {
    let from = value.or_null();
    let unsupported = || {
        let target = to.map_or("missing", Kind::alias);
        failure(format!("unsupported conversion from {} to {target}", from.kind().alias()))
    };
    let Some(to) = to else {
        return unsupported();
    };
    Ok(match to {
        Kind::Boolean => Val::from(from.is_truthy()),
        Kind::Int32 => Val::from(to_int(&from)?.map_or_else(unsupported_int, Ok)?),
        Kind::Int64 => Val::from(to_long(&from)?.map_or_else(unsupported_long, Ok)?),
        Kind::Double => match to_double(&from)? {
            Some(x) => Val::from(x),
            None => return unsupported(),
        },
        Kind::Decimal128 => match to_decimal(&from)? {
            Some(d) => Val::Value(Value::Decimal128(d)),
            None => return unsupported(),
        },
        Kind::DateTime => match to_date(&from)? {
            Some(ms) => Val::Value(Value::DateTime(ms)),
            None => return unsupported(),
        },
        Kind::ObjectId => match from {
            Value::ObjectId(_) => return Ok(value),
            Value::String(text) => Val::Value(Value::ObjectId(parse_object_id(text.as_str())?)),
            _ => return unsupported(),
        },
        Kind::String => match from {
            Value::String(_) => return Ok(value),
            Value::Boolean(b) => Val::from(b.to_string()),
            Value::Int32(n) => Val::from(n.to_string()),
            Value::Int64(n) => Val::from(n.to_string()),
            Value::Double(d) if d.is_nan() => Val::from("NaN".to_owned()),
            Value::Double(d) if d.is_infinite() => Val::from(if d > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()),
            Value::Double(d) => Val::from(format_double(d)),
            Value::Decimal128(d) => Val::from(decimal_text::format(d)),
            Value::ObjectId(id) => Val::from(id.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
            Value::DateTime(ms) => Val::from(super::date::calendar::iso_text(ms)?),
            _ => return unsupported(),
        },
        _ => return unsupported(),
    })
}

fn unsupported_int() -> Result<i32> {
    failure("unsupported conversion to int")
}

fn unsupported_long() -> Result<i64> {
    failure("unsupported conversion to long")
}

/// An integer of a number, cut towards zero; of text, digits only.
fn to_long(from: &Value<'_>) -> Result<Option<i64>> {
    Ok(Some(match from {
        Value::Boolean(b) => i64::from(*b),
        Value::DateTime(ms) => *ms,
        Value::String(text) => match parse_integer(text.as_str()) {
            Some(n) => n,
            None => return failure(format!("cannot read '{}' as an integer", text.as_str())),
        },
        other => match Number::of(other) {
            Some(number) => cut(number)?,
            None => return Ok(None),
        },
    }))
}

fn to_int(from: &Value<'_>) -> Result<Option<i32>> {
    if matches!(from, Value::DateTime(_)) {
        return Ok(None);
    }
    if let Value::Double(d) = from
        && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(d)
    {
        // Unlike decimals, doubles are compared with the range before they are cut.
        return failure("the value does not fit an int");
    }
    match to_long(from)? {
        None => Ok(None),
        Some(n) => match i32::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => failure("the value does not fit an int"),
        },
    }
}

fn cut(number: Number) -> Result<i64> {
    let cut = match number {
        Number::Int(n) => Some(i64::from(n)),
        Number::Long(n) => Some(n),
        Number::Double(d) => Value::Double(d.trunc()).as_exact_i64(),
        Number::Decimal(d) => decimal_text::to_i64(d, Rounding::TowardZero),
    };
    cut.map_or_else(|| failure("the value does not fit a long"), Ok)
}

fn parse_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

fn to_double(from: &Value<'_>) -> Result<Option<f64>> {
    Ok(Some(match from {
        Value::Boolean(b) => f64::from(u8::from(*b)),
        Value::DateTime(ms) => *ms as f64,
        Value::String(text) => match parse_double(text.as_str()) {
            Some(x) => x,
            None => return failure(format!("cannot read '{}' as a double", text.as_str())),
        },
        Value::Decimal128(d) => {
            let x = d.to_f64();
            let is_finite = matches!(d.class(), DecimalClass::Finite { .. });
            if is_finite && (x.is_infinite() || loses_digits(*d)) {
                return failure("the value does not fit a double");
            }
            x
        }
        other => match Number::of(other) {
            Some(number) => number.to_f64(),
            None => return Ok(None),
        },
    }))
}

/// Whether a finite decimal is so small that doubles have fewer digits for it: below 2^-1022, unless 53 bits round it up
/// to that. MongoDB takes this for not fitting, as it does what is too great.
fn loses_digits(d: Decimal) -> bool {
    // The last decimal below 2^-1022 - 2^-1076.
    let bound = decimal::finite(false, 2_225_073_858_507_201_259_573_821_257_020_768, -341);
    !d.is_zero() && decimal::abs(d).compare(bound).is_le()
}

fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned.to_ascii_lowercase().as_str() {
        "nan" => return Some(f64::NAN),
        "inf" | "infinity" => return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ => {}
    }
    if !unsigned.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    text.parse::<f64>().ok().filter(|x| x.is_finite() && !vanishes(text, *x))
}

/// Whether text stands for a number so small that the double next to it, x, has fewer digits than others, and
/// is not exactly that number: C's `strtod` fails then.
fn vanishes(text: &str, x: f64) -> bool {
    if x.abs() > f64::MIN_POSITIVE {
        return false;
    }
    if x.abs() == f64::MIN_POSITIVE {
        return decimal_text::parse(text).is_some_and(loses_digits);
    }
    // No subnormal number has more digits than these.
    significant(text) != significant(&format!("{x:.1100e}"))
}

/// The digits from the first that is not 0 to the last, whatever their place.
fn significant(text: &str) -> String {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

fn to_decimal(from: &Value<'_>) -> Result<Option<Decimal>> {
    Ok(Some(match from {
        Value::Boolean(b) => Decimal::from_i64(i64::from(*b)),
        Value::DateTime(ms) => Decimal::from_i64(*ms),
        Value::String(text) => match decimal_text::parse_cut(text.as_str()) {
            Some(d) => d,
            None => return failure(format!("cannot read '{}' as a decimal", text.as_str())),
        },
        other => match Number::of(other) {
            Some(number) => number.to_decimal(),
            None => return Ok(None),
        },
    }))
}

/// Dates come from long, double and decimal milliseconds (not from ints), timestamps, ObjectIds, text.
fn to_date(from: &Value<'_>) -> Result<Option<i64>> {
    Ok(Some(match from {
        Value::Int64(n) => *n,
        Value::Double(d) => cut(Number::Double(*d))?,
        Value::Decimal128(d) => cut(Number::Decimal(*d))?,
        Value::String(text) => parse_date_text(text.as_str(), None)?,
        other => return Ok(date_of(other)),
    }))
}

fn parse_object_id(text: &str) -> Result<[u8; 12]> {
    let mut id = [0; 12];
    if text.len() != 24 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return failure(format!("cannot read '{text}' as an ObjectId: 24 hexadecimal digits are needed"));
    }
    for (byte, pair) in id.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).unwrap_or(0);
    }
    Ok(id)
}

fn type_of<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::Value(Value::from(type_name(&value))))
}

fn is_number<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(value.get().is_some_and(|v| v.kind().is_number())))
}
