//! Random uses of all other expression operators: operands of the wanted type as often as not, so that errors and the
//! order in which operands are looked at are compared as well as values.

use bson::{Bson, DateTime, Document, doc};

use super::expressions::expression;
use super::random::Random;
use super::values::{number, string};

/// One operator of any kind with operands nested up to `depth` - 1 operators.
pub(super) fn any_operator(random: &mut Random, depth: usize) -> Bson {
    match random.below(6) {
        0 => of_numbers(random, depth),
        1 => of_strings(random, depth),
        2 => of_arrays(random, depth),
        3 => of_dates(random, depth),
        4 => of_objects(random, depth),
        _ => of_anything(random, depth),
    }
    .into()
}

/// A literal of the wanted type, or anything.
fn mostly(random: &mut Random, depth: usize, wanted: impl FnOnce(&mut Random) -> Bson) -> Bson {
    if random.chance(60) { wanted(random) } else { expression(random, depth.saturating_sub(1)) }
}

fn small(random: &mut Random) -> Bson {
    random.between(-2, 4).into()
}

fn text(random: &mut Random) -> Bson {
    random.pick(&["", "a", "b", "ab", "aB", "abab", "10", "\u{e4}"]).into()
}

fn items(random: &mut Random) -> Bson {
    Bson::Array((0..random.below(4)).map(|_| doc! { "$literal": number(random) }.into()).collect())
}

fn date(random: &mut Random) -> Bson {
    let millis = i64::from(random.between(-500, 20_000)) * 86_400_000 + i64::from(random.between(0, 86_399_999));
    DateTime::from_millis(millis).into()
}

fn of_numbers(random: &mut Random, depth: usize) -> Document {
    // No decimals: the last digit of transcendental functions of them is MongoDB's own.
    let mut a = || mostly(random, depth, small);
    let (a, b) = (a(), a());
    match random.below(5) {
        0 => {
            let test = doc! { "$isNumber": "$$t" };
            let plain = doc! { "$cond": [test, { "$toDouble": 1.25 }, "$$t"] };
            let operators = ["$tan", "$asin", "$acos", "$atan", "$sinh", "$cosh", "$tanh", "$degreesToRadians"];
            doc! { "$let": { "vars": { "t": a }, "in": { random.pick(&operators): plain } } }
        }
        1 => doc! { "$range": [a, b, random.between(-2, 3)] },
        2 => doc! { random.pick(&["$bsonSize", "$abs", "$ceil", "$floor"]): a },
        3 => doc! { random.pick(&["$subtract", "$divide", "$mod", "$add", "$multiply"]): [a, b] },
        _ => doc! { random.pick(&["$max", "$min", "$sum", "$avg", "$stdDevPop", "$stdDevSamp"]): [a, b, 1] },
    }
}

fn of_strings(random: &mut Random, depth: usize) -> Document {
    let a = mostly(random, depth, text);
    let b = mostly(random, depth, text);
    match random.below(9) {
        0 => doc! { "$strcasecmp": [a, b] },
        1 => doc! { random.pick(&["$strLenBytes", "$strLenCP", "$toLower", "$toUpper"]): a },
        2 => doc! { random.pick(&["$indexOfBytes", "$indexOfCP"]): [a, b, random.between(0, 3)] },
        3 => doc! { random.pick(&["$indexOfBytes", "$indexOfCP"]): [a, b] },
        4 => {
            let replacement = mostly(random, depth, text);
            doc! { random.pick(&["$replaceOne", "$replaceAll"]): { "input": a, "find": b, "replacement": replacement } }
        }
        5 => {
            let operator = random.pick(&["$regexMatch", "$regexFind", "$regexFindAll"]);
            let regex = random.pick(&["a", "^a", "(a)(b)?", "b+$", ".", "[aB]"]);
            doc! { operator: { "input": a, "regex": regex, "options": random.pick(&["", "i", "s"]) } }
        }
        6 => doc! { "$split": [a, b] },
        7 => doc! { "$substrCP": [a, mostly(random, depth, small), mostly(random, depth, small)] },
        _ => doc! { random.pick(&["$trim", "$ltrim", "$rtrim"]): { "input": a, "chars": b } },
    }
}

fn of_arrays(random: &mut Random, depth: usize) -> Document {
    let a = mostly(random, depth, items);
    let b = mostly(random, depth, items);
    match random.below(10) {
        0 => doc! { "$zip": { "inputs": [a, b], "useLongestLength": random.chance(50) } },
        1 => {
            // Not missing: MongoDB keeps that in the array, where no stored array can hold it.
            let otherwise = doc! { "$ifNull": [expression(random, 0), "none"] };
            doc! { "$zip": { "inputs": [a, b], "useLongestLength": true, "defaults": [0, otherwise] } }
        }
        2 => doc! { "$slice": [a, mostly(random, depth, small), random.between(1, 3)] },
        3 => doc! { "$indexOfArray": [a, expression(random, 0), random.between(0, 2), random.between(0, 4)] },
        4 => {
            // The order of a set is open.
            let set = doc! { random.pick(&["$setUnion", "$setIntersection", "$setDifference"]): [a, b] };
            doc! { "$sortArray": { "input": set, "sortBy": random.pick(&[1, -1]) } }
        }
        5 => {
            doc! { "$sortArray": { "input": a, "sortBy": { random.pick(&["a", "b", "a.b"]): random.pick(&[1, -1]) } } }
        }
        6 => doc! { "$reduce": { "input": a, "initialValue": [], "in": { "$concatArrays": ["$$value", ["$$this"]] } } },
        7 => doc! { "$filter": { "input": a, "cond": expression(random, 0), "limit": random.between(1, 2) } },
        8 => doc! { "$map": { "input": a, "as": "x", "in": ["$$x", expression(random, 0)] } },
        _ => doc! { random.pick(&["$in", "$setIsSubset", "$setEquals", "$arrayElemAt", "$concatArrays"]): [a, b] },
    }
}

fn of_dates(random: &mut Random, depth: usize) -> Document {
    let a = mostly(random, depth, date);
    let zone = random.pick(&["UTC", "+05:30", "America/New_York", "Europe/Berlin", "-0330"]);
    let unit = random.pick(&["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"]);
    match random.below(7) {
        0 => {
            let parts = ["$year", "$month", "$dayOfMonth", "$hour", "$minute", "$second", "$millisecond"];
            doc! { random.pick(&parts): a }
        }
        1 => {
            let parts = ["$dayOfYear", "$dayOfWeek", "$week", "$isoWeek", "$isoWeekYear", "$isoDayOfWeek"];
            doc! { random.pick(&parts): { "date": a, "timezone": zone } }
        }
        2 => {
            doc! { "$dateDiff": { "startDate": a, "endDate": mostly(random, depth, date), "unit": unit, "timezone": zone } }
        }
        3 => {
            let amount = mostly(random, depth, small);
            let operator = random.pick(&["$dateAdd", "$dateSubtract"]);
            doc! { operator: { "startDate": a, "unit": unit, "amount": amount, "timezone": zone } }
        }
        4 => doc! { "$dateToParts": { "date": a, "timezone": zone, "iso8601": random.chance(40) } },
        5 => {
            let year = random.between(1900, 2100);
            let (month, day) = (mostly(random, depth, small), random.between(-3, 40));
            doc! { "$dateFromParts": { "year": year, "month": month, "day": day, "timezone": zone } }
        }
        _ => {
            let text = random.pick(&[
                "2020-02-29",
                "2021-12-31T23:59:59.999Z",
                "2019-01-01T00:00:00+03:00",
                "x",
                "2020-13-01",
            ]);
            doc! { "$dateFromString": { "dateString": text, "onError": "no", "onNull": Bson::Null } }
        }
    }
}

fn of_objects(random: &mut Random, depth: usize) -> Document {
    let object = |random: &mut Random| doc! { "$literal": { "a": number(random), "b": string(random) } }.into();
    let a = mostly(random, depth, object);
    match random.below(6) {
        0 => doc! { "$arrayToObject": [[["k", a], ["v", 1]]] },
        1 => doc! { "$arrayToObject": [[{ "k": random.pick(&["x", "y"]), "v": a }]] },
        2 => doc! { "$objectToArray": a },
        3 => doc! { "$unsetField": { "field": random.pick(&["a", "b", "z"]), "input": a } },
        4 => doc! { "$mergeObjects": [a, mostly(random, depth, object)] },
        _ => doc! { "$getField": { "field": { "$literal": random.pick(&["a", "b", "a.b"]) }, "input": a } },
    }
}

fn of_anything(random: &mut Random, depth: usize) -> Document {
    let a = expression(random, depth - 1);
    match random.below(6) {
        0 => doc! { random.pick(&["$isArray", "$isNumber", "$type", "$not", "$toBool"]): [a] },
        1 => doc! { random.pick(&["$toInt", "$toLong", "$toDouble", "$toDecimal", "$toString", "$toDate"]): a },
        2 => doc! { "$switch": { "branches": [
            { "case": a, "then": expression(random, 0) },
            { "case": expression(random, 0), "then": 1 },
        ] } },
        3 => doc! { "$ifNull": [a, expression(random, 0), "none"] },
        4 => doc! { random.pick(&["$and", "$or"]): [a, expression(random, 0), random.pick(&[0, 1])] },
        _ => doc! { random.pick(&["$cmp", "$eq", "$lt", "$gte"]): [a, expression(random, depth - 1)] },
    }
}
