//! Random commands that write: `update` in all forms, `delete`, `findAndModify`.

use bson::{Bson, Document, doc};

use super::filters::{filter, operand};
use super::random::Random;
use super::values::{array, document, number, path, plain_path, value};

/// A command that writes to the collection `c`. What it changes does not depend on the order in which
/// documents are found: it names one by `_id`, changes all that match, or sorts by `_id`.
pub(super) fn write(random: &mut Random, docs: &[Document]) -> Document {
    match random.weighted(&[84, 8, 8]) {
        0 => doc! { "update": "c", "updates": [update(random, docs)] },
        1 => {
            let (query, many) = target(random, docs);
            doc! { "delete": "c", "deletes": [{ "q": query, "limit": i32::from(!many) }] }
        }
        _ => find_and_modify(random, docs),
    }
}

/// Which documents, and whether that may be several.
fn target(random: &mut Random, docs: &[Document]) -> (Document, bool) {
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

fn update(random: &mut Random, docs: &[Document]) -> Document {
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
        }
    }
    if many {
        statement.insert("multi", true);
    }
    if random.chance(15) {
        statement.insert("upsert", true);
    }
    statement
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

fn find_and_modify(random: &mut Random, docs: &[Document]) -> Document {
    let (query, _) = target(random, docs);
    let mut command = doc! { "findAndModify": "c", "query": query, "sort": { "_id": random.pick(&[1, -1]) } };
    if random.chance(20) {
        command.insert("remove", true);
        return command;
    }
    let (operators, filters) = operators(random, docs);
    command.insert("update", if random.chance(90) { operators } else { replacement(random) });
    if !filters.is_empty() {
        command.insert("arrayFilters", filters);
    }
    if random.chance(50) {
        command.insert("new", true);
    }
    if random.chance(15) {
        command.insert("upsert", true);
    }
    command
}

fn replacement(random: &mut Random) -> Document {
    let mut document = document(random, 0);
    document.remove("_id");
    document
}

/// An update document and the array filters that it needs.
fn operators(random: &mut Random, docs: &[Document]) -> (Document, Vec<Document>) {
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
    let choice = random.weighted(&[22, 10, 9, 5, 6, 6, 14, 8, 4, 7, 5, 3, 3]);
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
            } else {
                doc! { random.pick(&["$gte", "$lt", "$eq", "$ne"]): operand(random, docs, &at) }.into()
            };
            ("$pull", doc! { path: condition })
        }
        10 => ("$rename", doc! { path: plain_path(random) }),
        11 => ("$setOnInsert", doc! { path: value(random, 1) }),
        _ => {
            if random.chance(50) {
                let items: Vec<Bson> = (0..2).map(|_| operand(random, docs, &at)).collect();
                ("$pullAll", doc! { path: items })
            } else {
                let path = path_to(random, docs, |v| matches!(v, Bson::Int32(_) | Bson::Int64(_)));
                ("$bit", doc! { path: { random.pick(&["and", "or", "xor"]): random.between(0, 5) } })
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
            doc! { random.pick(&["a", "b"]): random.pick(&[1, -1]) }.into()
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
    match random.weighted(&[80, 8, 6, 6]) {
        0 => path(random),
        1 => {
            let mut path = format!("{}.$[]", plain_path(random));
            if random.chance(50) {
                path.push_str(random.pick(&[".a", ".b"]));
            }
            path
        }
        2 => {
            if filters.is_empty() {
                let field = random.pick(&["x", "x.a", "x.b"]);
                let operator = random.pick(&["$gte", "$lt", "$ne", "$exists"]);
                filters.push(doc! { field: { operator: operand(random, docs, "a") } });
            }
            let mut path = format!("{}.$[x]", plain_path(random));
            if random.chance(50) {
                path.push_str(random.pick(&[".a", ".b"]));
            }
            path
        }
        _ => format!("{}.${}", plain_path(random), random.pick(&["", ".a"])),
    }
}

fn pipeline(random: &mut Random, docs: &[Document]) -> Vec<Document> {
    (0..1 + random.below(2))
        .map(|_| match random.below(4) {
            0 | 1 => {
                let value: Bson = match random.below(3) {
                    0 => format!("${}", path(random)).into(),
                    1 => doc! { "$literal": operand(random, docs, "a") }.into(),
                    _ => doc! { "$ifNull": [format!("${}", path(random)), number(random)] }.into(),
                };
                doc! { "$set": { plain_path(random): value } }
            }
            2 => doc! { "$unset": plain_path(random) },
            _ => doc! { "$project": { plain_path(random): random.pick(&[0, 1]) } },
        })
        .collect()
}
