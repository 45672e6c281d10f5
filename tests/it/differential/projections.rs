//! Random projections of `find` and `findAndModify`.

use bson::{Bson, Document, doc};

use super::expressions::expression;
use super::filters::{elem_match, operand};
use super::random::Random;
use super::values::{path, plain_path};

/// A projection; now and then one that MongoDB refuses.
pub(super) fn projection(random: &mut Random, docs: &[Document], filter: &Document) -> Document {
    let mut out = Document::new();
    match random.weighted(&[40, 22, 10, 10, 5, 14, 4]) {
        0 => {
            for _ in 0..1 + random.below(3) {
                out.insert(path(random), included(random));
            }
            if random.chance(30) {
                out.insert("_id", 0);
            }
        }
        1 => {
            for _ in 0..1 + random.below(2) {
                out.insert(path(random), 0);
            }
            if random.chance(15) {
                out.insert("_id", random.between(0, 1));
            }
        }
        2 => {
            out.insert(path(random), slice(random));
            if random.chance(40) {
                out.insert(path(random), random.between(0, 1));
            }
        }
        3 => {
            out.insert(random.pick(&["a", "b", "c", "a.b"]), elements(random, docs));
            if random.chance(30) {
                out.insert(path(random), random.between(0, 1));
            }
        }
        4 => {
            // Positional: it needs a field that the filter names.
            let field = filter.keys().find(|key| !key.starts_with('$')).cloned();
            out.insert(format!("{}.$", field.unwrap_or_else(|| "a".to_owned())), 1);
            if random.chance(20) {
                out.insert(path(random), 1);
            }
        }
        5 => {
            for _ in 0..1 + random.below(2) {
                let name = if random.chance(60) { plain_path(random) } else { "n".to_owned() };
                out.insert(name, expression(random, 1));
            }
            if random.chance(40) {
                out.insert(path(random), 1);
            }
        }
        _ => {
            // Whatever goes together or does not.
            for _ in 0..2 + random.below(2) {
                let value = match random.below(6) {
                    0 => Bson::Int32(0),
                    1 => slice(random).into(),
                    2 => elements(random, docs).into(),
                    3 => doc! { plain_path(random): included(random) }.into(),
                    4 => format!("${}", path(random)).into(),
                    _ => included(random),
                };
                out.insert(path(random), value);
            }
        }
    }
    out
}

fn included(random: &mut Random) -> Bson {
    match random.weighted(&[80, 12, 4, 2, 2]) {
        0 => Bson::Int32(1),
        1 => true.into(),
        2 => Bson::Double(random.pick(&[0.5, -1.0, 0.0])),
        3 => Bson::Int64(2),
        _ => doc! { random.pick(&["a", "b"]): 1 }.into(),
    }
}

fn slice(random: &mut Random) -> Document {
    let slice: Bson = match random.weighted(&[58, 38, 4]) {
        0 => random.between(-2, 2).into(),
        1 => vec![random.between(-2, 2), random.between(1, 2)].into(),
        _ => vec![random.between(-2, 2), random.between(-1, 0)].into(),
    };
    doc! { "$slice": slice }
}

fn elements(random: &mut Random, docs: &[Document]) -> Document {
    let name = random.pick(&["a", "b", "c"]);
    let condition = if random.chance(50) {
        doc! { random.pick(&["$gt", "$lte", "$eq"]): operand(random, docs, name) }
    } else {
        elem_match(random, docs, name, 1)
    };
    doc! { "$elemMatch": condition }
}
