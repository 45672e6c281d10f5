//! Random index specifications.

use bson::{Document, doc};

use super::collations::collation;
use super::random::Random;
use super::values::{number, path, plain_path, string};

/// One index as `createIndexes` takes it; its name is its place.
pub(super) fn index(random: &mut Random, place: usize) -> Document {
    let mut key = Document::new();
    match random.weighted(&[82, 8, 4, 6]) {
        0 | 3 => {
            for _ in 0..1 + random.weighted(&[45, 40, 15]) {
                let path = if random.chance(92) { plain_path(random) } else { path(random) };
                key.insert(path, if random.chance(75) { 1 } else { -1 });
            }
            if random.chance(6) {
                key.insert("_id", 1);
            }
        }
        1 if random.chance(50) => {
            key.insert("$**", if random.chance(80) { 1 } else { -1 });
        }
        1 => {
            key.insert(format!("{}.$**", plain_path(random)), 1);
        }
        _ => {
            if random.chance(25) {
                key.insert(plain_path(random), 1);
            }
            key.insert(plain_path(random), "hashed");
            if random.chance(25) {
                key.insert(plain_path(random), -1);
            }
        }
    }
    let mut index = doc! { "key": key, "name": format!("i{place}") };
    let plain = index.get_document("key").is_ok_and(|key| key.values().all(|v| v.as_i32().is_some()))
        && !index.to_string().contains("$**");
    if plain {
        match random.weighted(&[78, 8, 9, 5]) {
            1 => {
                index.insert("sparse", true);
            }
            2 => {
                index.insert("partialFilterExpression", partial_filter(random));
            }
            3 => {
                index.insert("unique", true);
                if random.chance(40) {
                    index.insert("sparse", true);
                } else if random.chance(50) {
                    index.insert("partialFilterExpression", partial_filter(random));
                }
            }
            _ => {}
        }
        if random.chance(6) {
            index.insert("collation", collation(random));
        }
    } else if index.get_document("key").is_ok_and(|key| key.contains_key("$**")) {
        if random.chance(35) {
            let kept = i32::from(random.chance(60));
            let mut projection = doc! { plain_path(random): kept };
            if random.chance(30) {
                projection.insert("_id", random.between(0, 1));
            }
            index.insert("wildcardProjection", projection);
        }
    } else if random.chance(20) {
        index.insert("partialFilterExpression", partial_filter(random));
    }
    if random.chance(3) {
        index.insert("hidden", true);
    }
    index
}

fn partial_filter(random: &mut Random) -> Document {
    let path = plain_path(random);
    match random.below(7) {
        4 => doc! { path: { "$in": [number(random), string(random)] } },
        5 => doc! { "$or": [{ path: { "$exists": true } }, { plain_path(random): { "$gte": number(random) } }] },
        6 => doc! { "$and": [{ path: { "$gt": string(random) } }, { plain_path(random): { "$exists": true } }] },
        0 => doc! { path: { "$exists": true } },
        1 => doc! { path: { random.pick(&["$gt", "$gte", "$lt", "$lte"]): number(random) } },
        2 => doc! { path: { "$type": random.pick(&["string", "number", "int", "object", "array", "bool"]) } },
        _ => doc! { path: number(random) },
    }
}
