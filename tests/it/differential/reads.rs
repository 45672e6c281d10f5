//! Random commands that read: `find`, `count`, `distinct`.

use bson::{Bson, Document, doc};

use super::collations::collation;
use super::filters::{filter, operand};
use super::projections::projection;
use super::random::Random;
use super::updates::constants;
use super::values::{path, plain_path};

/// More documents than any collection here has: one batch holds a whole answer.
const ONE_BATCH: i32 = 10_000;

/// A command that reads the collection `c`.
pub(super) fn read(random: &mut Random, docs: &[Document], indexes: &[Document]) -> Document {
    match random.weighted(&[86, 7, 7]) {
        0 => find(random, docs, indexes),
        1 => {
            let mut count = doc! { "count": "c", "query": filter(random, docs) };
            if random.chance(20) {
                count.insert("limit", random.between(-2, 5));
            }
            if random.chance(20) {
                count.insert("skip", random.between(0, 5));
            }
            if random.chance(5) {
                count.insert("collation", collation(random));
            }
            if random.chance(5) {
                count.insert("hint", hint(random, indexes));
            }
            count
        }
        _ => {
            let key = if random.chance(97) { path(random) } else { "_id".to_owned() };
            let mut distinct = doc! { "distinct": "c", "key": key };
            if random.chance(80) {
                distinct.insert("query", filter(random, docs));
            }
            distinct
        }
    }
}

fn find(random: &mut Random, docs: &[Document], indexes: &[Document]) -> Document {
    let filter = filter(random, docs);
    let mut find = doc! { "find": "c", "filter": filter.clone(), "batchSize": ONE_BATCH };
    if random.chance(45) {
        find.insert("sort", sort(random));
        if random.chance(35) {
            find.insert("limit", random.between(0, 6));
        }
        if random.chance(20) {
            find.insert("skip", random.between(0, 4));
        }
    } else if random.chance(3) {
        find.insert("skip", random.between(0, 4));
    }
    if random.chance(30) {
        find.insert("projection", projection(random, docs, &filter));
    }
    if random.chance(4) {
        find.insert("collation", collation(random));
    }
    if random.chance(8) {
        find.insert("hint", hint(random, indexes));
    }
    if random.chance(5) {
        find.insert("batchSize", random.between(1, 3));
    }
    if random.chance(4) {
        find.insert("let", constants(random, docs));
    }
    if random.chance(4) {
        between_keys(random, docs, indexes, &mut find);
    }
    find
}

fn sort(random: &mut Random) -> Document {
    let mut sort = Document::new();
    for _ in 0..random.weighted(&[6, 60, 26, 8]) {
        let path = if random.chance(94) { plain_path(random) } else { path(random) };
        // Two keys of which one is the other's beginning are refused in some places only.
        let nested = |a: &str, b: &str| a.starts_with(&format!("{b}.")) || b.starts_with(&format!("{a}."));
        if !sort.keys().any(|key| nested(key, &path)) {
            sort.insert(path, direction(random, 60));
        }
    }
    if sort.is_empty() || random.chance(55) {
        sort.insert("_id", direction(random, 70));
    }
    sort
}

/// Upwards so many times of a hundred; very seldom no direction at all.
fn direction(random: &mut Random, upwards: usize) -> Bson {
    if random.chance(1) {
        return match random.below(4) {
            0 => Bson::Double(random.pick(&[1.0, -1.0, 0.5])),
            1 => Bson::Int64(-1),
            2 => Bson::Int32(random.pick(&[0, 2])),
            _ => "x".into(),
        };
    }
    Bson::Int32(if random.chance(upwards) { 1 } else { -1 })
}

/// An index that sees every document, or the collection itself; seldom an index that leaves documents out, or
/// none that there is.
fn hint(random: &mut Random, indexes: &[Document]) -> Bson {
    let is_whole = |index: &&Document| {
        !["sparse", "partialFilterExpression", "hidden"].iter().any(|option| index.contains_key(option))
            && !index.get_document("key").is_ok_and(|key| key.to_string().contains("$**"))
    };
    let whole: Vec<&Document> = indexes.iter().filter(is_whole).collect();
    if !indexes.is_empty() && random.chance(15) {
        let index = &indexes[random.below(indexes.len())];
        return name_or_key(random, index);
    }
    if random.chance(2) {
        return "none".into();
    }
    if whole.is_empty() || random.chance(30) {
        doc! { "$natural": if random.chance(70) { 1 } else { -1 } }.into()
    } else {
        let index = whole[random.below(whole.len())];
        name_or_key(random, index)
    }
}

fn name_or_key(random: &mut Random, index: &Document) -> Bson {
    let by_key = random.chance(40);
    index.get(if by_key { "key" } else { "name" }).cloned().unwrap_or(Bson::Null)
}

/// `min` and `max`, with the index that they need, or what an index alone gives.
fn between_keys(random: &mut Random, docs: &[Document], indexes: &[Document], find: &mut Document) {
    let plain: Vec<&Document> = indexes
        .iter()
        .filter(|index| index.get_document("key").is_ok_and(|key| key.values().all(|v| v.as_i32().is_some())))
        .filter(|index| !index.to_string().contains("$**"))
        .collect();
    let Some(index) = plain.get(random.below(plain.len().max(1))) else {
        return;
    };
    let Ok(key) = index.get_document("key") else {
        return;
    };
    let bound = |random: &mut Random| -> Document {
        key.keys().map(|path| (path.clone(), operand(random, docs, path))).collect()
    };
    match random.weighted(&[40, 30, 20, 10]) {
        0 => {
            find.insert("min", bound(random));
        }
        1 => {
            find.insert("max", bound(random));
        }
        2 => {
            find.insert("min", bound(random));
            find.insert("max", bound(random));
        }
        _ => {
            find.insert("returnKey", true);
            find.remove("projection");
        }
    }
    if random.chance(95) {
        find.insert("hint", key.clone());
    }
}
