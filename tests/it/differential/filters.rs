//! Random filters of MongoDB's query language. Operands come from the collection half of the time, so
//! that filters match something.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};

use super::expressions;
use super::random::Random;
use super::schemas::schema;
use super::values::{array, number, path, regex, value};

/// A filter for a collection with these documents.
pub(super) fn filter(random: &mut Random, docs: &[Document]) -> Document {
    let mut filter = match random.weighted(&[4, 96]) {
        0 => Document::new(),
        _ => condition(random, docs, 2),
    };
    if random.chance(3) {
        let (name, value) = match random.weighted(&[40, 30, 15, 8, 4, 3]) {
            0 => ("$comment", value(random, 1)),
            1 => ("$jsonSchema", schema(random, 2).into()),
            2 => ("$jsonSchema", doc! { "properties": { path(random): schema(random, 1) } }.into()),
            3 => (random.pick(&["$alwaysTrue", "$alwaysFalse"]), 1.into()),
            4 => (random.pick(&["$text", "$and", "$expr", "$foo"]), value(random, 1)),
            _ => ("", value(random, 1)),
        };
        filter.insert(name, value);
    }
    filter
}

fn condition(random: &mut Random, docs: &[Document], depth: usize) -> Document {
    let logical = if depth == 0 { 0 } else { 14 };
    match random.weighted(&[52, 20, logical, 5]) {
        0 => predicate(random, docs, depth),
        1 => {
            let mut both = predicate(random, docs, depth);
            both.extend(predicate(random, docs, depth));
            both
        }
        2 => {
            let operator = random.pick(&["$and", "$or", "$or", "$nor"]);
            let branches: Vec<Bson> =
                (0..1 + random.weighted(&[10, 60, 30])).map(|_| condition(random, docs, depth - 1).into()).collect();
            let mut out = doc! { operator: branches };
            if random.chance(35) {
                out.extend(predicate(random, docs, 0));
            }
            out
        }
        _ => expression(random, docs),
    }
}

fn predicate(random: &mut Random, docs: &[Document], depth: usize) -> Document {
    let path = path(random);
    if random.chance(5) {
        let id = random.between(0, docs.len() as i32);
        return match random.below(3) {
            0 => doc! { "_id": id },
            1 => doc! { "_id": { "$in": [id, id + 2, id] } },
            _ => doc! { "_id": { random.pick(&["$gte", "$lt", "$ne"]): id } },
        };
    }
    if random.chance(25) {
        let value = operand(random, docs, &path);
        return doc! { path: value };
    }
    let mut operators = operator(random, docs, &path, depth);
    if random.chance(18) {
        operators.extend(operator(random, docs, &path, depth));
    }
    if random.chance(10) {
        operators = doc! { "$not": operators };
    }
    doc! { path: operators }
}

/// A value to compare with: what some document has at `path`, or any part of one, or just any value.
pub(super) fn operand(random: &mut Random, docs: &[Document], path: &str) -> Bson {
    if docs.is_empty() || random.chance(20) {
        return value(random, 2);
    }
    let document = &docs[random.below(docs.len())];
    if random.chance(75) {
        return at_path(random, document, path).unwrap_or(Bson::Null);
    }
    let mut found = Bson::Document(document.clone());
    // One or more steps down to some part of the document.
    loop {
        let inner: Vec<Bson> = match &found {
            Bson::Document(d) => d.iter().filter(|(name, _)| *name != "_id").map(|(_, v)| v.clone()).collect(),
            Bson::Array(items) => items.clone(),
            _ => return found,
        };
        if inner.is_empty() {
            return found;
        }
        found = inner[random.below(inner.len())].clone();
        if random.chance(30) {
            return found;
        }
    }
}

/// One of the values that a filter on `path` may meet in `document`.
fn at_path(random: &mut Random, document: &Document, path: &str) -> Option<Bson> {
    let mut found = Bson::Document(document.clone());
    for part in path.split('.') {
        if let (Bson::Array(items), false) = (&found, part.parse::<usize>().is_ok()) {
            found = items.get(random.below(items.len().max(1)))?.clone();
        }
        found = match found {
            Bson::Document(inner) => inner.get(part)?.clone(),
            Bson::Array(items) => items.get(part.parse::<usize>().ok()?)?.clone(),
            _ => return None,
        };
    }
    match &found {
        Bson::Array(items) if !items.is_empty() && random.chance(75) => Some(items[random.below(items.len())].clone()),
        _ => Some(found),
    }
}

fn operator(random: &mut Random, docs: &[Document], path: &str, depth: usize) -> Document {
    let nested = if depth == 0 { 0 } else { 1 };
    if random.chance(1) {
        // Mostly an operand that the operator does not take.
        let operators = [
            "$in",
            "$nin",
            "$exists",
            "$type",
            "$size",
            "$mod",
            "$all",
            "$elemMatch",
            "$not",
            "$regex",
            "$bitsAnySet",
            "$options",
            "$foo",
            "$gt",
            "$ne",
            "$ref",
        ];
        return doc! { random.pick(&operators): value(random, 1) };
    }
    match random.weighted(&[34, 6, 12, 8, 8, 6, 3, 3, 6, 12 * nested, 3]) {
        0 => doc! { random.pick(&["$gt", "$gte", "$lt", "$lte"]): operand(random, docs, path) },
        1 => doc! { random.pick(&["$eq", "$ne", "$ne"]): operand(random, docs, path) },
        2 => {
            let mut items: Vec<Bson> = (0..random.below(4)).map(|_| operand(random, docs, path)).collect();
            if random.chance(10) {
                items.push(Bson::RegularExpression(regex(random)));
            }
            doc! { random.pick(&["$in", "$in", "$nin"]): items }
        }
        3 => doc! { "$exists": random.chance(60) },
        4 => doc! { "$type": type_set(random) },
        5 => doc! { "$size": random.between(0, 3) },
        6 if random.chance(70) => doc! { "$mod": [random.between(1, 3), random.between(0, 2)] },
        6 => doc! { "$mod": [number(random), number(random)] },
        7 => {
            if random.chance(50) {
                doc! { "$regex": Bson::RegularExpression(regex(random)) }
            } else {
                let options = random.pick(&["i", "", "s", "im", "x", "m"]);
                let pattern =
                    random.pick(&["^a", "b", "^A", "^a\\.b", "a b", "^(a|b)", "\\Aab", "^a|b", "[^a]", "^a*", "\\d+"]);
                doc! { "$regex": pattern, "$options": options }
            }
        }
        8 => {
            let count = if random.chance(96) { 1 + random.below(2) } else { 0 };
            let items: Vec<Bson> = if depth > 0 && random.chance(25) {
                (0..count).map(|_| doc! { "$elemMatch": elem_match(random, docs, path, depth - 1) }.into()).collect()
            } else {
                (0..count).map(|_| operand(random, docs, path)).collect()
            };
            doc! { "$all": items }
        }
        9 => doc! { "$elemMatch": elem_match(random, docs, path, depth - 1) },
        _ => {
            let operator = random.pick(&["$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"]);
            match random.weighted(&[50, 30, 14, 6]) {
                0 => doc! { operator: random.between(0, 3) },
                1 => {
                    doc! { operator: (0..random.below(3)).map(|_| random.pick(&[0, 1, 2, 31, 63, 70])).collect::<Vec<i32>>() }
                }
                2 => {
                    doc! { operator: Binary { subtype: BinarySubtype::Generic, bytes: vec![random.pick(&[0, 1, 5]); random.below(3)] } }
                }
                _ => doc! { operator: number(random) },
            }
        }
    }
}

pub(super) fn elem_match(random: &mut Random, docs: &[Document], path: &str, depth: usize) -> Document {
    if random.chance(45) {
        let mut operators = operator(random, docs, path, 0);
        if random.chance(50) {
            operators.extend(operator(random, docs, path, 0));
        }
        operators
    } else {
        // The elements' own fields, so that the condition has something to find.
        let elements: Vec<Document> = docs
            .iter()
            .filter_map(|document| match at_path(random, document, path)? {
                Bson::Document(element) => Some(element),
                _ => None,
            })
            .collect();
        condition(random, if elements.is_empty() { docs } else { &elements }, depth)
    }
}

fn type_set(random: &mut Random) -> Bson {
    let types = [
        "double",
        "string",
        "object",
        "array",
        "bool",
        "null",
        "int",
        "long",
        "decimal",
        "number",
        "minKey",
        "regex",
        "date",
        "objectId",
        "binData",
        "timestamp",
        "maxKey",
        "undefined",
        "symbol",
        "javascript",
    ];
    if random.chance(65) {
        (random.pick(&types)).into()
    } else if random.chance(30) {
        Bson::Int32(random.pick(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, -1, 127, 0, 20]))
    } else {
        Bson::Array(vec![(random.pick(&types)).into(), (random.pick(&types)).into()])
    }
}

/// `$expr` over two fields or a field and a constant; now and then any expression.
fn expression(random: &mut Random, docs: &[Document]) -> Document {
    if random.chance(15) {
        return doc! { "$expr": expressions::expression(random, 2) };
    }
    let operator = random.pick(&["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]);
    let name = path(random);
    let right: Bson = if random.chance(40) {
        format!("${}", path(random)).into()
    } else if random.chance(90) {
        doc! { "$literal": operand(random, docs, &name) }.into()
    } else if random.chance(30) {
        // A constant of `let`, if the command has it.
        "$$v".into()
    } else {
        Bson::Array(array(random, 0))
    };
    doc! { "$expr": { operator: [format!("${name}"), right] } }
}
