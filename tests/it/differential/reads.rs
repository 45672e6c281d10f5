//! Random commands that read: `find`, `count`, `distinct`.

use bson::{Bson, Document, doc};

use super::filters::{filter, operand};
use super::random::Random;
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
                count.insert("limit", random.between(1, 5));
            }
            if random.chance(20) {
                count.insert("skip", random.between(0, 5));
            }
            count
        }
        _ => doc! { "distinct": "c", "key": path(random), "query": filter(random, docs) },
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
    }
    if random.chance(30) {
        find.insert("projection", projection(random, docs, &filter));
    }
    if random.chance(3) {
        let strength = random.between(1, 3);
        find.insert("collation", doc! { "locale": "en", "strength": strength });
    }
    if random.chance(8) {
        find.insert("hint", hint(random, indexes));
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
            sort.insert(path, if random.chance(60) { 1 } else { -1 });
        }
    }
    if sort.is_empty() || random.chance(55) {
        sort.insert("_id", if random.chance(70) { 1 } else { -1 });
    }
    sort
}

/// An index that sees every document, or the collection itself.
fn hint(random: &mut Random, indexes: &[Document]) -> Bson {
    let whole: Vec<&str> = indexes
        .iter()
        .filter(|index| !index.contains_key("sparse") && !index.contains_key("partialFilterExpression"))
        .filter(|index| !index.get_document("key").is_ok_and(|key| key.to_string().contains("$**")))
        .filter_map(|index| index.get_str("name").ok())
        .collect();
    if whole.is_empty() || random.chance(30) {
        doc! { "$natural": if random.chance(70) { 1 } else { -1 } }.into()
    } else {
        whole[random.below(whole.len())].into()
    }
}

/// A projection; now and then one that MongoDB refuses.
pub(super) fn projection(random: &mut Random, docs: &[Document], filter: &Document) -> Document {
    let mut out = Document::new();
    match random.weighted(&[48, 26, 10, 10, 4]) {
        0 => {
            for _ in 0..1 + random.below(3) {
                out.insert(path(random), if random.chance(80) { Bson::Int32(1) } else { true.into() });
            }
            if random.chance(30) {
                out.insert("_id", 0);
            }
        }
        1 => {
            for _ in 0..1 + random.below(2) {
                out.insert(path(random), 0);
            }
        }
        2 => {
            let slice: Bson = if random.chance(60) {
                random.between(-2, 2).into()
            } else {
                vec![random.between(-2, 2), random.between(1, 2)].into()
            };
            out.insert(plain_path(random), doc! { "$slice": slice });
            if random.chance(30) {
                out.insert(plain_path(random), 1);
            }
        }
        3 => {
            let name = random.pick(&["a", "b", "c"]);
            let condition: Document = if random.chance(50) {
                doc! { random.pick(&["$gt", "$lte", "$eq"]): operand(random, docs, name) }
            } else {
                {
                    let field = random.pick(&["a", "b", "c"]);
                    doc! { field: operand(random, docs, &format!("{name}.{field}")) }
                }
            };
            out.insert(name, doc! { "$elemMatch": condition });
        }
        _ => {
            // Positional: it needs a field that the filter names.
            let field = filter.keys().find(|key| !key.starts_with('$')).cloned();
            out.insert(format!("{}.$", field.unwrap_or_else(|| "a".to_owned())), 1);
        }
    }
    out
}
