//! Strings: joining, case, length, parts, searching, trimming, replacing.

use bindery_document::{Builder, Error, Result, Text, Value, validate};

use super::array::bound;
use super::array_order::{NO_INTEGER, is_beyond_integers};
use super::decimal::arithmetic::Rounding;
use super::decimal::text::to_i64;
use super::limits::check_text_bytes;
use super::registry::{Arity, Entry, Field, Folding, Named};
use super::text::coerce;
use super::{Node, Scope, Val, fail, nulls_first, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$concat", Arity::Any, concat).folding(Folding::Associative),
    Entry::unary("$toLower", |_, v| change_case(&v, u8::to_ascii_lowercase)),
    Entry::unary("$toUpper", |_, v| change_case(&v, u8::to_ascii_uppercase)),
    Entry::binary("$strcasecmp", strcasecmp),
    Entry::unary("$strLenBytes", str_len_bytes),
    Entry::unary("$strLenCP", str_len_cp),
    Entry::ternary("$substr", substr_bytes),
    Entry::ternary("$substrBytes", substr_bytes),
    Entry::ternary("$substrCP", substr_cp),
    Entry::binary("$split", split),
    Entry::variadic("$indexOfBytes", Arity::Between(2, 4), index_of_bytes),
    Entry::variadic("$indexOfCP", Arity::Between(2, 4), index_of_cp),
    Entry::named("$trim", &TRIM),
    Entry::named("$ltrim", &LTRIM),
    Entry::named("$rtrim", &RTRIM),
    Entry::named("$replaceOne", &REPLACE_ONE).folding(Folding::Never),
    Entry::named("$replaceAll", &REPLACE_ALL).folding(Folding::Never),
];

/// The bytes of a string.
pub(super) fn string_of<'v>(value: &'v Val<'_>) -> Option<&'v [u8]> {
    match value.get() {
        Some(Value::String(text)) => Some(text.as_bytes()),
        _ => None,
    }
}

pub(super) fn text_of(bytes: impl Into<Box<[u8]>>) -> Val<'static> {
    Val::Text(bytes.into())
}

fn concat<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut joined = Vec::new();
    let mut rest = operands;
    while let [operand, others @ ..] = rest {
        rest = others;
        let value = operand.evaluate(scope)?;
        if value.is_nullish() {
            return nulls_first::null(scope, rest);
        }
        match string_of(&value) {
            Some(bytes) => {
                joined.extend_from_slice(bytes);
                check_text_bytes(joined.len())?;
            }
            None => {
                let error = Error::new(16702, format!("$concat takes strings, not {}", type_name(&value)));
                return nulls_first::wrong_type(scope, rest, error);
            }
        }
    }
    made_text("$concat", joined)
}

/// A text that may have become longer than its parts.
fn made_text(name: &str, text: Vec<u8>) -> Result<Val<'static>> {
    if text.len() >= validate::MAX_DOCUMENT_BYTES {
        return fail(16493, format!("{name} would make a string of {} bytes, which no document can hold", text.len()));
    }
    Ok(text_of(text))
}

/// Only ASCII letters have another case here.
fn change_case<'a>(value: &Val<'_>, change: fn(&u8) -> u8) -> Result<Val<'a>> {
    let changed: Vec<u8> = coerce(value)?.iter().map(change).collect();
    Ok(text_of(changed))
}

fn strcasecmp<'a>(_: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    let (left, right) = (coerce(&left)?.to_ascii_uppercase(), coerce(&right)?.to_ascii_uppercase());
    Ok(Val::from(left.cmp(&right) as i32))
}

fn str_len_bytes<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    match string_of(&value) {
        Some(bytes) => Ok(Val::from(bytes.len() as i32)),
        None => fail(34473, format!("$strLenBytes takes a string, not {}", type_name(&value))),
    }
}

fn str_len_cp<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    match string_of(&value) {
        Some(bytes) => Ok(Val::from(code_points(bytes) as i32)),
        None => fail(34471, format!("$strLenCP takes a string, not {}", type_name(&value))),
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The number of code points.
pub(super) fn code_points(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| !is_continuation(**byte)).count()
}

/// The byte offset of a code point; the length if there are fewer.
fn offset_of(bytes: &[u8], code_point: usize) -> usize {
    let starts = bytes.iter().enumerate().filter(|(_, byte)| !is_continuation(**byte));
    starts.map(|(at, _)| at).nth(code_point).unwrap_or(bytes.len())
}

/// A number cut to a long, as `$substrBytes` takes its places; decimals are rounded, those that are none become the
/// least long.
fn cut(value: &Val<'_>) -> Option<i64> {
    match value.get()? {
        Value::Double(d) => Some(d as i64),
        Value::Decimal128(d) => Some(to_i64(d, Rounding::HalfEven).unwrap_or(i64::MIN)),
        other => other.as_exact_i64(),
    }
}

fn substr_bytes<'a>(_: &Scope<'a>, string: Val<'a>, start: Val<'a>, length: Val<'a>) -> Result<Val<'a>> {
    let text = coerce(&string)?;
    let from = start;
    let Some(start) = cut(&from) else {
        return fail(16034, format!("$substrBytes: the start must be a number, not {}", type_name(&from)));
    };
    let Some(to) = cut(&length) else {
        return fail(16035, format!("$substrBytes: the length must be a number, not {}", type_name(&length)));
    };
    let is_beyond = |place: &Val<'_>| place.get().is_some_and(|place| is_beyond_integers(&place));
    if is_beyond(&from) || is_beyond(&length) {
        return fail(NO_INTEGER, "$substrBytes: a place is beyond all integers");
    }
    let length = to;
    let Ok(start) = usize::try_from(start) else {
        return fail(50752, format!("$substrBytes: the start must not be negative: {start}"));
    };
    let splits = |at: usize| text.get(at).is_some_and(|byte| is_continuation(*byte));
    if splits(start) {
        return fail(28656, "$substrBytes: the start lies inside a character");
    }
    // A negative length is that of the rest.
    let end = usize::try_from(length).map_or(text.len(), |length| start.saturating_add(length).min(text.len()));
    if splits(end) {
        return fail(28657, "$substrBytes: the end lies inside a character");
    }
    Ok(text_of(text.get(start..end).unwrap_or_default()))
}

fn substr_cp<'a>(_: &Scope<'a>, string: Val<'a>, start: Val<'a>, length: Val<'a>) -> Result<Val<'a>> {
    let text = coerce(&string)?;
    let number = |value: &Val<'_>, type_code, integer_code, what: &str| -> Result<i32> {
        if !value.get().is_some_and(|v| v.kind().is_number()) {
            return fail(type_code, format!("$substrCP: the {what} must be a number, not {}", type_name(value)));
        }
        match value.get().and_then(|v| v.as_exact_i64()).and_then(|n| i32::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => fail(integer_code, format!("$substrCP: the {what} must be a 32-bit integer")),
        }
    };
    let first = number(&start, 34450, 34451, "start")?;
    let count = number(&length, 34452, 34453, "length")?;
    let Ok(count) = usize::try_from(count) else {
        return fail(34454, format!("$substrCP: the length must not be negative: {count}"));
    };
    let Ok(first) = usize::try_from(first) else {
        return fail(34455, format!("$substrCP: the start must not be negative: {first}"));
    };
    let from = offset_of(&text, first);
    let rest = text.get(from..).unwrap_or_default();
    let part = rest.get(..offset_of(rest, count)).unwrap_or_default();
    Ok(text_of(part))
}

fn split<'a>(_: &Scope<'a>, string: Val<'a>, separator: Val<'a>) -> Result<Val<'a>> {
    if string.is_nullish() || separator.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(text) = string_of(&string) else {
        return fail(40085, format!("$split's first argument must be a string, not {}", type_name(&string)));
    };
    let Some(by) = string_of(&separator) else {
        return fail(40086, format!("$split's second argument must be a string, not {}", type_name(&separator)));
    };
    if by.is_empty() {
        return fail(40087, "$split needs a separator that is not empty");
    }
    let mut builder = Builder::new();
    let (mut rest, mut index) = (text, 0);
    while let Some(at) = find(rest, by) {
        builder.append_index(index, Value::String(Text(&rest[..at])));
        rest = &rest[at + by.len()..];
        index += 1;
    }
    builder.append_index(index, Value::String(Text(rest)));
    Ok(Val::Array(builder.finish()))
}

/// The first occurrence of `needle`; the empty one is found at once.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    text.windows(needle.len()).position(|window| window == needle)
}

/// What both searches read of their operands: text, needle, start, end.
type Search<'a> = Option<(Val<'a>, Val<'a>, usize, usize)>;

fn search_operands<'a>(name: &str, codes: (i32, i32), scope: &Scope<'a>, operands: &'a [Node]) -> Result<Search<'a>> {
    let [string, needle, rest @ ..] = operands else {
        return Err(super::fold::wrong_operands(name));
    };
    let string = string.evaluate(scope)?;
    if string.is_nullish() {
        return Ok(None);
    }
    if string_of(&string).is_none() {
        return fail(codes.0, format!("{name}'s first argument must be a string, not {}", type_name(&string)));
    }
    let needle = needle.evaluate(scope)?;
    if string_of(&needle).is_none() {
        return fail(codes.1, format!("{name}'s second argument must be a string, not {}", type_name(&needle)));
    }
    let start = bound(name, "starting", scope, rest.first())?.unwrap_or(0);
    let end = bound(name, "ending", scope, rest.get(1))?.unwrap_or(usize::MAX);
    Ok(Some((string, needle, start, end)))
}

fn index_of_bytes<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let Some((string, needle, start, end)) = search_operands("$indexOfBytes", (40091, 40092), scope, operands)? else {
        return Ok(Val::NULL);
    };
    let (text, needle) = (string_of(&string).unwrap_or_default(), string_of(&needle).unwrap_or_default());
    let place = text.get(start..end.min(text.len())).and_then(|part| find(part, needle));
    Ok(Val::from(place.map_or(-1, |at| (start + at) as i32)))
}

fn index_of_cp<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let Some((string, needle, start, end)) = search_operands("$indexOfCP", (40093, 40094), scope, operands)? else {
        return Ok(Val::NULL);
    };
    let (text, needle) = (string_of(&string).unwrap_or_default(), string_of(&needle).unwrap_or_default());
    let length = code_points(text);
    // Unlike the search by bytes, this one finds nothing at the very end, not even the empty string.
    if start >= length && !(length == 0 && start == 0) {
        return Ok(Val::from(-1));
    }
    let (from, to) = (offset_of(text, start), offset_of(text, end));
    let part = text.get(from..to);
    let place = part.and_then(|part| find(part, needle).map(|at| start + code_points(&part[..at])));
    Ok(Val::from(place.map_or(-1, |at| at as i32)))
}

const TRIM_FIELDS: &[Field] = &[Field::required("input", 50695), Field::optional("chars")];

static TRIM: Named = Named {
    fields: TRIM_FIELDS,
    not_object: 50696,
    unknown: 50694,
    function: |scope, operands| trim("$trim", scope, operands, true, true),
};
static LTRIM: Named = Named {
    fields: TRIM_FIELDS,
    not_object: 50696,
    unknown: 50694,
    function: |scope, operands| trim("$ltrim", scope, operands, true, false),
};
static RTRIM: Named = Named {
    fields: TRIM_FIELDS,
    not_object: 50696,
    unknown: 50694,
    function: |scope, operands| trim("$rtrim", scope, operands, false, true),
};

/// What is trimmed unless the caller says otherwise (MongoDB's manual, "$trim", White Space Characters).
const WHITE_SPACE: &str = "\0 \t\n\u{b}\u{c}\r\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}";

fn trim<'a>(name: &str, scope: &Scope<'a>, operands: &'a [Option<Node>], left: bool, right: bool) -> Result<Val<'a>> {
    let input = named(scope, operands, 0)?;
    if input.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(Value::String(text)) = input.get() else {
        return fail(50699, format!("{name}'s input must be a string, not {}", type_name(&input)));
    };
    let chars = match operands.get(1) {
        Some(Some(chars)) => Some(chars.evaluate(scope)?),
        _ => None,
    };
    if chars.as_ref().is_some_and(Val::is_nullish) {
        return Ok(Val::NULL);
    }
    let set = match &chars {
        None => WHITE_SPACE,
        Some(chars) => match chars.get() {
            Some(Value::String(set)) => set.as_str(),
            _ => return fail(50700, format!("{name}'s chars must be a string, not {}", type_name(chars))),
        },
    };
    let mut rest = text.as_str();
    if left {
        rest = rest.trim_start_matches(|c| set.contains(c));
    }
    if right {
        rest = rest.trim_end_matches(|c| set.contains(c));
    }
    Ok(text_of(rest.as_bytes()))
}

/// A named operand; missing if it was left out.
pub(super) fn named<'a>(scope: &Scope<'a>, operands: &'a [Option<Node>], index: usize) -> Result<Val<'a>> {
    match operands.get(index) {
        Some(Some(operand)) => operand.evaluate(scope),
        _ => Ok(Val::Missing),
    }
}

const REPLACE_FIELDS: &[Field] =
    &[Field::required("input", 51749), Field::required("find", 51748), Field::required("replacement", 51747)];

static REPLACE_ONE: Named = Named {
    fields: REPLACE_FIELDS,
    not_object: 51751,
    unknown: 51750,
    function: |scope, operands| replace("$replaceOne", scope, operands, false),
};
static REPLACE_ALL: Named = Named {
    fields: REPLACE_FIELDS,
    not_object: 51751,
    unknown: 51750,
    function: |scope, operands| replace("$replaceAll", scope, operands, true),
};

fn replace<'a>(name: &str, scope: &Scope<'a>, operands: &'a [Option<Node>], all: bool) -> Result<Val<'a>> {
    let values = [named(scope, operands, 0)?, named(scope, operands, 1)?, named(scope, operands, 2)?];
    for (value, (code, what)) in values.iter().zip([(51746, "input"), (51745, "find"), (51744, "replacement")]) {
        if !value.is_nullish() && string_of(value).is_none() {
            return fail(code, format!("{name}'s {what} must be a string, not {}", type_name(value)));
        }
    }
    let [Some(text), Some(needle), Some(replacement)] = values.each_ref().map(string_of) else {
        return Ok(Val::NULL);
    };
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find(rest, needle) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(replacement);
        check_text_bytes(result.len())?;
        rest = &rest[at + needle.len()..];
        if needle.is_empty() {
            // The empty string is found before every byte and at the end.
            let Some((&next, after)) = rest.split_first() else {
                break;
            };
            if all {
                result.push(next);
                rest = after;
            }
        }
        if !all {
            break;
        }
    }
    result.extend_from_slice(rest);
    made_text(name, result)
}
