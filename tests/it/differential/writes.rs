//! Random commands that write: `insert`, `update` and `delete` with one statement or several, `findAndModify`.

use bson::{Bson, Document, doc};

use super::collations::collation;
use super::projections::projection;
use super::random::Random;
use super::updates::{self, constants, target};
use super::values::{self, document, value};

/// A command that writes to the collection `c`. What it changes does not depend on the order in which
/// documents are found: it names one by `_id`, changes all that match, or sorts by `_id`.
pub(super) fn write(random: &mut Random, docs: &[Document]) -> Document {
    let mut command = match random.weighted(&[84, 8, 9, 5]) {
        0 => bulk(random, "update", "updates", |random| updates::update(random, docs)),
        1 => bulk(random, "delete", "deletes", |random| {
            let (query, many) = target(random, docs);
            let mut statement = doc! { "q": query, "limit": i32::from(!many) };
            if random.chance(4) {
                statement.insert("collation", collation(random));
            }
            statement
        }),
        2 => find_and_modify(random, docs),
        _ => bulk(random, "insert", "documents", |random| inserted(random, docs)),
    };
    if random.chance(4) {
        command.insert("let", constants(random, docs));
        if command.contains_key("documents") {
            command.remove("let");
        }
    }
    if random.chance(4) {
        command.insert("bypassDocumentValidation", true);
        if command.contains_key("deletes") {
            command.remove("bypassDocumentValidation");
        }
    }
    command
}

/// One statement mostly; else a few, which may be independent of each other.
fn bulk(random: &mut Random, name: &str, list: &str, mut statement: impl FnMut(&mut Random) -> Document) -> Document {
    let count = 1 + random.weighted(&[86, 6, 5, 3]);
    let statements: Vec<Document> = (0..count).map(|_| statement(random)).collect();
    let mut command = doc! { name: "c", list: statements };
    if random.chance(if count > 1 { 50 } else { 3 }) {
        command.insert("ordered", random.chance(25));
    }
    command
}

fn inserted(random: &mut Random, docs: &[Document]) -> Document {
    let id = random.between(0, docs.len() as i32 + 6);
    let mut new = document(random, id);
    match random.weighted(&[60, 20, 16, 4]) {
        0 => {}
        1 => {
            new.remove("_id");
        }
        2 => {
            new.insert("_id", value(random, 1));
        }
        _ => {
            new.insert(random.pick(&["$x", "", "a.b", "$set"]), values::number(random));
        }
    }
    new
}

fn find_and_modify(random: &mut Random, docs: &[Document]) -> Document {
    let (query, _) = target(random, docs);
    let mut sort = Document::new();
    if random.chance(20) {
        sort.insert(values::plain_path(random), random.pick(&[1, -1]));
    }
    sort.insert("_id", random.pick(&[1, -1]));
    let mut command = doc! { "findAndModify": "c", "query": query.clone(), "sort": sort };
    if random.chance(25) {
        command.insert("fields", projection(random, docs, &query));
    }
    if random.chance(4) {
        command.insert("collation", collation(random));
    }
    if random.chance(20) {
        command.insert("remove", true);
        if random.chance(6) {
            command.insert(random.pick(&["new", "upsert"]), true);
        }
        return command;
    }
    match random.weighted(&[76, 10, 14]) {
        0 => {
            let (operators, filters) = updates::operators(random, docs);
            command.insert("update", operators);
            if !filters.is_empty() {
                command.insert("arrayFilters", filters);
            }
        }
        1 => {
            command.insert("update", updates::replacement(random));
        }
        _ => {
            let stages: Vec<Bson> = updates::pipeline(random, docs).into_iter().map(Bson::Document).collect();
            command.insert("update", stages);
        }
    }
    if random.chance(50) {
        command.insert("new", true);
    }
    if random.chance(15) {
        command.insert("upsert", true);
    }
    command
}
