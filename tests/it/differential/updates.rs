//! Random statements of `update`: which documents, and what is done with them.

use bson::{Bson, Document, doc};

use super::collations::collation;
use super::expressions::expression;
use super::filters::{filter, operand};
use super::projections::projection;
use super::random::Random;
use super::values::{array, document, number, path, plain_path, regex, value};

/// Which documents, and whether that may be several.
pub(super) fn target(random: &mut Random, docs: &[Document]) -> (Document, bool) {
    let mut query = if random.chance(35) { Document::new() } else { filter(random, docs) };
    if random.chance(55) {
        let mut one = doc! { "_id": random.between(0, docs.len() as i32) };
        query.remove("_id");
        one.extend(query);
        (one, false)
    } else {
        (query, true)
    }
}

pub(super) fn update(random: &mut Random, docs: &[Document]) -> Document {
    let (query, many) = target(random, docs);
    let mut statement = doc! { "q": query };
    let kind = random.weighted(&[82, if many { 2 } else { 8 }, 10]);
    match kind {
        0 => {
            let (operators, filters) = operators(random, docs);
            if many && random.chance(70) {
                statement.insert("q", guarded(statement.get_document("q"), &operators));
            }
            statement.insert("u", operators);
            if !filters.is_empty() {
                statement.insert("arrayFilters", filters);
            }
        }
        1 => {
            statement.insert("u", replacement(random));
        }
        _ => {
            statement.insert("u", pipeline(random, docs));
            if random.chance(8) {
                statement.insert("c", constants(random, docs));
            }
        }
    }
    if random.chance(4) {
        statement.insert("collation", collation(random));
    }
    if many {
        statement.insert("multi", true);
    }
    if random.chance(15) {
        statement.insert("upsert", true);
    }
    statement
}

/// Constants of a command, or of a pipeline: the one that some filters and pipelines name.
pub(super) fn constants(random: &mut Random, docs: &[Document]) -> Document {
    let mut constants = doc! { "v": operand(random, docs, "a") };
    if random.chance(5) {
        constants.insert(random.pick(&["w", "Big", "1x"]), 1);
    }
    constants
}

/// A query that also asks for the types that the operators need, so that fewer updates of many fail.
fn guarded(query: Result<&Document, bson::error::Error>, operators: &Document) -> Document {
    let mut guarded = query.cloned().unwrap_or_default();
    for (operator, fields) in operators {
        let wanted = match operator.as_str() {
            "$inc" | "$mul" => "number",
            "$push" | "$addToSet" | "$pop" | "$pull" | "$pullAll" => "array",
            _ => continue,
        };
        for path in fields.as_document().into_iter().flat_map(Document::keys) {
            if !path.contains('$') && !guarded.contains_key(path) {
                guarded.insert(path.clone(), doc! { "$type": wanted });
            }
        }
    }
    guarded
}

pub(super) fn replacement(random: &mut Random) -> Document {
    let mut document = document(random, 0);
    match random.weighted(&[85, 10, 5]) {
        0 => {
            document.remove("_id");
        }
        1 => {
            document.insert("_id", random.between(0, 5));
        }
        _ => {
            document.remove("_id");
            document.insert(random.pick(&["$x", "", "a.b"]), 1);
        }
    }
    document
}

/// An update document and the array filters that it needs.
pub(super) fn operators(random: &mut Random, docs: &[Document]) -> (Document, Vec<Document>) {
    let mut out = Document::new();
    let mut filters = Vec::new();
    for _ in 0..1 + random.weighted(&[82, 15, 3]) {
        let (name, fields) = operator(random, docs, &mut filters);
        match out.get_document_mut(name) {
            Ok(present) => present.extend(fields),
            Err(_) => {
                out.insert(name, fields);
            }
        }
    }
    (out, filters)
}

fn operator(random: &mut Random, docs: &[Document], filters: &mut Vec<Document>) -> (&'static str, Document) {
    let choice = random.weighted(&[22, 10, 9, 5, 6, 6, 14, 8, 4, 7, 5, 3, 3, 1]);
    let path = match choice {
        2 | 3 if random.chance(75) => path_to(random, docs, is_number),
        6..=9 | 12 if random.chance(75) => path_to(random, docs, |value| value.as_array().is_some()),
        _ => update_path(random, docs, filters),
    };
    let at = path.replace(".$[]", "").replace(".$[x]", "").replace(".$", "");
    match choice {
        0 => ("$set", doc! { path: operand(random, docs, &at) }),
        1 => ("$unset", doc! { path: "" }),
        2 => ("$inc", doc! { path: number(random) }),
        3 => ("$mul", doc! { path: number(random) }),
        4 => ("$min", doc! { path: operand(random, docs, &at) }),
        5 => ("$max", doc! { path: operand(random, docs, &at) }),
        6 => ("$push", doc! { path: pushed(random, docs, &at) }),
        7 => {
            let value: Bson =
                if random.chance(60) { operand(random, docs, &at) } else { doc! { "$each": array(random, 1) }.into() };
            ("$addToSet", doc! { path: value })
        }
        8 => ("$pop", doc! { path: random.pick(&[1, -1]) }),
        9 => {
            let condition: Bson = if random.chance(45) {
                operand(random, docs, &at)
            } else if random.chance(30) {
                match random.below(4) {
                    0 => Bson::RegularExpression(regex(random)),
                    1 => filter(random, docs).into(),
                    2 => doc! { "$in": [operand(random, docs, &at), operand(random, docs, &at)] }.into(),
                    _ => doc! { "$elemMatch": filter(random, docs) }.into(),
                }
            } else {
                doc! { random.pick(&["$gte", "$lt", "$eq", "$ne"]): operand(random, docs, &at) }.into()
            };
            ("$pull", doc! { path: condition })
        }
        10 => ("$rename", doc! { path: plain_path(random) }),
        11 => ("$setOnInsert", doc! { path: value(random, 1) }),
        13 => {
            let what: Bson = match random.below(3) {
                0 => true.into(),
                1 => doc! { "$type": "date" }.into(),
                _ => doc! { "$type": "timestamp" }.into(),
            };
            ("$currentDate", doc! { random.pick(&["when", "when.at"]): what })
        }
        _ => {
            if random.chance(50) {
                let items: Vec<Bson> = (0..2).map(|_| operand(random, docs, &at)).collect();
                ("$pullAll", doc! { path: items })
            } else {
                let path = path_to(random, docs, |v| matches!(v, Bson::Int32(_) | Bson::Int64(_)));
                let operand = if random.chance(80) { Bson::Int32(random.between(0, 5)) } else { number(random) };
                ("$bit", doc! { path: { random.pick(&["and", "or", "xor"]): operand } })
            }
        }
    }
}

fn is_number(value: &Bson) -> bool {
    matches!(value, Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_))
}

/// A path at which some document has such a value; any path if none is found soon.
fn path_to(random: &mut Random, docs: &[Document], wanted: fn(&Bson) -> bool) -> String {
    for _ in 0..12 {
        if docs.is_empty() {
            break;
        }
        let mut walked = String::new();
        let mut found = Bson::Document(docs[random.below(docs.len())].clone());
        loop {
            let (name, inner) = match &found {
                Bson::Document(d) if !d.is_empty() => match d.iter().nth(random.below(d.len())) {
                    Some((name, inner)) if name != "_id" => (name.clone(), inner.clone()),
                    _ => break,
                },
                Bson::Array(items) if !items.is_empty() => {
                    let at = random.below(items.len());
                    (at.to_string(), items[at].clone())
                }
                _ => break,
            };
            walked = if walked.is_empty() { name } else { format!("{walked}.{name}") };
            if wanted(&inner) {
                return walked;
            }
            found = inner;
        }
    }
    path(random)
}

fn pushed(random: &mut Random, docs: &[Document], path: &str) -> Bson {
    if random.chance(45) {
        return operand(random, docs, path);
    }
    let mut modifiers = doc! { "$each": array(random, 1) };
    if random.chance(40) {
        let sort: Bson = if random.chance(50) {
            random.pick(&[1, -1]).into()
        } else {
            doc! { random.pick(&["a", "b", "a.b", "a.0"]): random.pick(&[1, -1]) }.into()
        };
        modifiers.insert("$sort", sort);
    }
    if random.chance(40) {
        modifiers.insert("$slice", random.between(-3, 3));
    }
    if random.chance(30) {
        modifiers.insert("$position", random.between(-2, 3));
    }
    modifiers.into()
}

/// A path to write to: plain, with a position, or with one of the positional operators.
fn update_path(random: &mut Random, docs: &[Document], filters: &mut Vec<Document>) -> String {
    match random.weighted(&[77, 8, 8, 6, 2]) {
        0 if random.chance(97) => path(random),
        0 => (random.pick(&["_id", "_id.a", "a..b", "", "a.", "$x", "a.$x", "a.00", "a.-1", "a.01", "d.2"])).to_owned(),
        1 => {
            let mut path = format!("{}.$[]", plain_path(random));
            if random.chance(50) {
                path.push_str(random.pick(&[".a", ".b"]));
            }
            path
        }
        2 => {
            if filters.is_empty() || random.chance(5) {
                filters.push(array_filter(random, docs, "x"));
            }
            let mut path = format!("{}.$[x]", plain_path(random));
            if random.chance(50) {
                path.push_str(random.pick(&[".a", ".b"]));
            }
            if random.chance(15) {
                path.push_str(".$[y]");
                if filters.len() < 2 && random.chance(90) {
                    filters.push(array_filter(random, docs, "y"));
                }
            } else if random.chance(10) {
                path.push_str(random.pick(&[".$[]", ".$[].a"]));
            }
            path
        }
        3 => format!("{}.${}", plain_path(random), random.pick(&["", ".a", "", ".a.b"])),
        _ => format!("{}.$[].$[]", plain_path(random)),
    }
}

fn array_filter(random: &mut Random, docs: &[Document], name: &str) -> Document {
    let field = format!("{name}{}", random.pick(&["", ".a", ".b"]));
    match random.weighted(&[70, 12, 10, 8]) {
        0 => {
            let operator = random.pick(&["$gte", "$lt", "$ne", "$exists"]);
            doc! { field: { operator: operand(random, docs, "a") } }
        }
        1 => doc! { field: operand(random, docs, "a") },
        2 => {
            let other = doc! { format!("{name}.c"): { "$exists": random.chance(50) } };
            doc! { random.pick(&["$or", "$and", "$nor"]): [{ field: { "$gt": number(random) } }, other] }
        }
        _ => doc! { field: { "$type": random.pick(&["number", "string", "object", "array"]) } },
    }
}

pub(super) fn pipeline(random: &mut Random, docs: &[Document]) -> Vec<Document> {
    (0..1 + random.below(2))
        .map(|_| match random.weighted(&[50, 22, 14, 8, 4, 2]) {
            3 => {
                let root = doc! { "$mergeObjects": ["$$ROOT", expression(random, 1)] };
                if random.chance(50) {
                    doc! { "$replaceWith": root }
                } else {
                    doc! { "$replaceRoot": { "newRoot": root } }
                }
            }
            4 => doc! { "$project": projection(random, docs, &Document::new()) },
            5 => doc! { random.pick(&["$match", "$limit", "$foo"]): 1 },
            0 => {
                let value: Bson = match random.below(5) {
                    3 => expression(random, 2),
                    4 => "$$v".into(),
                    0 => format!("${}", path(random)).into(),
                    1 => doc! { "$literal": operand(random, docs, "a") }.into(),
                    _ => doc! { "$ifNull": [format!("${}", path(random)), number(random)] }.into(),
                };
                doc! { random.pick(&["$set", "$addFields"]): { plain_path(random): value } }
            }
            1 => doc! { "$unset": plain_path(random) },
            _ => doc! { "$project": { plain_path(random): random.pick(&[0, 1]) } },
        })
        .collect()
}
