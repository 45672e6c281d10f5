//! Random aggregation expressions. Operands are mostly of the type that an operator wants, guarded where a
//! field may hold anything, so that expressions give values more often than errors.

use bson::{Bson, DateTime, Document, doc};

use super::operators::any_operator;
use super::random::Random;
use super::values::{number, path, plain_path, string, value};

/// Any expression, nested up to `depth` operators.
pub(super) fn expression(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return leaf(random);
    }
    match random.weighted(&[14, 16, 10, 12, 12, 14, 8, 8, 6, 16]) {
        0 => leaf(random),
        1 => numeric(random, depth),
        2 => text(random, depth),
        3 => truth(random, depth),
        4 => conditional(random, depth),
        5 => list(random, depth),
        6 => object(random, depth),
        7 => conversion(random, depth),
        8 => date_part(random, depth),
        _ => any_operator(random, depth),
    }
}

fn field(random: &mut Random) -> String {
    match random.weighted(&[90, 6, 4]) {
        0 => format!("${}", path(random)),
        1 => format!("$$ROOT.{}", plain_path(random)),
        _ => format!("$$CURRENT.{}", plain_path(random)),
    }
}

fn leaf(random: &mut Random) -> Bson {
    match random.weighted(&[60, 25, 12, 3]) {
        0 => field(random).into(),
        1 => doc! { "$literal": value(random, 1) }.into(),
        2 => number(random),
        _ => "$$REMOVE".into(),
    }
}

/// A field where its value has the type, or else the other value; now and then the field as it is.
fn guarded(random: &mut Random, test: impl Fn(&str) -> Document, otherwise: impl Into<Bson>) -> Bson {
    let field = format!("${}", path(random));
    if random.chance(12) {
        return field.into();
    }
    doc! { "$cond": [test(&field), field.as_str(), otherwise.into()] }.into()
}

pub(super) fn numeric(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return match random.below(3) {
            0 => number(random),
            _ => guarded(random, |field| doc! { "$isNumber": field }, 1),
        };
    }
    let mut inner = || numeric(random, depth - 1);
    let (a, b) = (inner(), inner());
    match random.weighted(&[12, 8, 10, 8, 6, 14, 4, 5, 5, 4, 4]) {
        0 => doc! { "$add": [a, b] },
        1 => doc! { "$subtract": [a, b] },
        2 => doc! { "$multiply": [a, b] },
        3 => doc! { "$divide": [a, b] },
        4 => doc! { "$mod": [a, b] },
        5 => doc! { random.pick(&["$abs", "$ceil", "$floor", "$trunc", "$round"]): a },
        6 => doc! { random.pick(&["$sqrt", "$exp", "$ln", "$log10", "$sin", "$cos"]): no_decimal(a) },
        7 => doc! { random.pick(&["$round", "$trunc"]): [a, random.between(-2, 3)] },
        8 => doc! { random.pick(&["$min", "$max", "$sum", "$avg"]): [a, b] },
        9 => doc! { "$size": array_of(random, depth - 1) },
        _ => doc! { "$strLenCP": string_of(random, depth - 1) },
    }
    .into()
}

/// A value unless it is a decimal: the last digit of what MongoDB's library gives for transcendental functions of
/// decimals follows from its own approximations, not from rounding the true value.
pub(super) fn no_decimal(value: Bson) -> Bson {
    let test = doc! { "$eq": [{ "$type": "$$t" }, "decimal"] };
    doc! { "$let": { "vars": { "t": value }, "in": { "$cond": [test, 0.5, "$$t"] } } }.into()
}

fn string_of(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return match random.below(3) {
            0 => string(random),
            _ => guarded(random, |field| doc! { "$eq": [{ "$type": field }, "string"] }, "x"),
        };
    }
    text(random, depth)
}

fn text(random: &mut Random, depth: usize) -> Bson {
    let a = string_of(random, depth - 1);
    match random.below(8) {
        0 => doc! { "$concat": [a, string_of(random, depth - 1)] },
        1 => doc! { random.pick(&["$toUpper", "$toLower"]): a },
        2 => doc! { "$substrCP": [a, random.between(0, 2), random.between(0, 2)] },
        3 => doc! { random.pick(&["$trim", "$ltrim", "$rtrim"]): { "input": a, "chars": random.pick(&["a", "b", "ab"]) } },
        4 => doc! { "$replaceAll": { "input": a, "find": random.pick(&["a", "b"]), "replacement": "z" } },
        5 => doc! { "$toString": numeric(random, 0) },
        6 => doc! { "$type": leaf(random) },
        _ => doc! { "$ifNull": [doc! { "$arrayElemAt": [doc! { "$split": [a, "b"] }, 0] }, "none"] },
    }
    .into()
}

fn truth(random: &mut Random, depth: usize) -> Bson {
    let (a, b) = (expression(random, depth - 1), expression(random, depth - 1));
    match random.weighted(&[40, 8, 12, 8, 8, 6]) {
        0 => doc! { random.pick(&["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$cmp"]): [a, b] },
        1 => doc! { "$not": [a] },
        2 => doc! { random.pick(&["$and", "$or"]): [a, b] },
        3 => doc! { "$in": [a, array_of(random, depth - 1)] },
        4 => doc! { random.pick(&["$isArray", "$isNumber"]): [a] },
        _ => doc! { random.pick(&["$setEquals", "$setIsSubset"]): [array_of(random, 0), array_of(random, 0)] },
    }
    .into()
}

fn conditional(random: &mut Random, depth: usize) -> Bson {
    let (a, b) = (expression(random, depth - 1), expression(random, depth - 1));
    match random.below(4) {
        0 => doc! { "$cond": [truth(random, depth), a, b] },
        1 => doc! { "$ifNull": [field(random), a] },
        2 => doc! { "$switch": { "branches": [{ "case": truth(random, depth), "then": a }], "default": b } },
        _ => doc! { "$let": { "vars": { "v": a }, "in": { "$eq": ["$$v", b] } } },
    }
    .into()
}

fn array_of(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return guarded(random, |field| doc! { "$isArray": field }, vec![Bson::Int32(1), Bson::Null]);
    }
    list(random, depth)
}

fn list(random: &mut Random, depth: usize) -> Bson {
    let a = array_of(random, depth - 1);
    match random.weighted(&[10, 10, 10, 12, 10, 8, 8, 6, 6, 6, 6, 4, 4]) {
        0 => doc! { "$concatArrays": [a, array_of(random, depth - 1)] },
        1 => doc! { "$slice": [a, random.between(-2, 2)] },
        2 => doc! { "$filter": { "input": a, "as": "x", "cond": about_x(random) } },
        3 => doc! { "$map": { "input": a, "as": "x", "in": about_x(random) } },
        4 => doc! { random.pick(&["$arrayElemAt"]): [a, random.between(-2, 2)] },
        5 => doc! { random.pick(&["$first", "$last", "$reverseArray"]): a },
        6 => doc! { "$size": { random.pick(&["$setUnion", "$setIntersection", "$setDifference"]): [a, array_of(random, 0)] } },
        7 => doc! { "$reduce": { "input": a, "initialValue": 0, "in": { "$cond": [{ "$isNumber": "$$this" }, { "$add": ["$$value", "$$this"] }, "$$value"] } } },
        8 => doc! { "$indexOfArray": [a, leaf(random)] },
        9 => doc! { random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]): { "n": random.between(1, 2), "input": a } },
        10 => return Bson::Array(vec![expression(random, depth - 1), leaf(random)]),
        11 => doc! { "$range": [random.between(0, 2), random.between(0, 5), random.between(1, 2)] },
        _ => doc! { random.pick(&["$allElementsTrue", "$anyElementTrue"]): [a] },
    }
    .into()
}

/// Something about the variable `$$x`.
fn about_x(random: &mut Random) -> Bson {
    match random.below(5) {
        0 => doc! { random.pick(&["$gt", "$gte", "$lt", "$ne", "$eq"]): ["$$x", leaf(random)] },
        1 => doc! { "$type": "$$x" },
        2 => doc! { "$ifNull": ["$$x.a", "$$x"] },
        3 => doc! { "$cond": [{ "$isNumber": "$$x" }, { "$multiply": ["$$x", 2] }, "$$x"] },
        _ => return "$$x.b".into(),
    }
    .into()
}

fn object(random: &mut Random, depth: usize) -> Bson {
    let guard =
        |random: &mut Random| guarded(random, |field| doc! { "$eq": [{ "$type": field }, "object"] }, doc! { "z": 1 });
    match random.below(5) {
        0 => doc! { "$mergeObjects": [guard(random), guard(random)] },
        1 => doc! { "$objectToArray": guard(random) },
        2 => doc! { "$getField": { "field": random.pick(&["a", "b", "z"]), "input": guard(random) } },
        3 => doc! { "x": expression(random, depth - 1), "y": leaf(random) },
        _ => doc! { "$setField": { "field": "a", "input": guard(random), "value": expression(random, depth - 1) } },
    }
    .into()
}

fn conversion(random: &mut Random, depth: usize) -> Bson {
    let a = expression(random, depth - 1);
    let to = random.pick(&["int", "long", "double", "decimal", "string", "bool", "date", "objectId"]);
    match random.below(3) {
        0 => doc! { "$convert": { "input": a, "to": to, "onError": "failed", "onNull": Bson::Null } },
        1 => doc! { "$toBool": a },
        _ => doc! { "$type": a },
    }
    .into()
}

fn date_part(random: &mut Random, _depth: usize) -> Bson {
    let millis = i64::from(random.between(-3, 20_000)) * 86_400_000 + i64::from(random.between(0, 86_399_999));
    let date = DateTime::from_millis(millis);
    let zone = random.pick(&["UTC", "+05:30", "America/New_York", "Europe/Berlin"]);
    match random.below(4) {
        0 => {
            let part = random.pick(&["$year", "$month", "$dayOfMonth", "$hour", "$isoWeek", "$dayOfWeek", "$week"]);
            doc! { part: { "date": date, "timezone": zone } }
        }
        1 => {
            let unit = random.pick(&["year", "quarter", "month", "week", "day", "hour", "second"]);
            doc! { "$dateAdd": { "startDate": date, "unit": unit, "amount": random.between(-5, 30), "timezone": zone } }
        }
        2 => {
            let unit = random.pick(&["year", "month", "week", "day", "hour"]);
            let size = random.between(1, 3);
            doc! { "$dateTrunc": { "date": date, "unit": unit, "binSize": size, "timezone": zone } }
        }
        _ => doc! { "$dateToString": { "date": date, "format": "%Y-%m-%dT%H:%M:%S.%L %j %V %u %z", "timezone": zone } },
    }
    .into()
}
