//! Random JSON Schemas.

use bson::{Bson, Document, doc};

use super::random::Random;
use super::values::{number, value};

/// A schema of a document or, further down, of any value.
pub(super) fn schema(random: &mut Random, depth: usize) -> Document {
    let mut schema = Document::new();
    for _ in 0..1 + random.below(2) {
        let (name, value) = keyword(random, depth);
        schema.insert(name, value);
    }
    schema
}

fn keyword(random: &mut Random, depth: usize) -> (&'static str, Bson) {
    let nested = usize::from(depth > 0);
    let name = |random: &mut Random| random.pick(&["a", "b", "c"]);
    match random.weighted(&[24 * nested, 14, 12, 8, 6, 8, 6, 5, 8 * nested, 3 * nested, 6 * nested, 4, 3, 3, 2]) {
        0 => {
            let fields: Document =
                (0..1 + random.below(2)).map(|_| (name(random).to_owned(), schema(random, depth - 1).into())).collect();
            ("properties", fields.into())
        }
        1 => ("required", vec![name(random)].into()),
        2 => {
            let types =
                ["string", "number", "object", "array", "bool", "null", "int", "long", "double", "decimal", "date"];
            if random.chance(75) {
                ("bsonType", (random.pick(&types)).into())
            } else {
                ("bsonType", vec![random.pick(&types), "null"].into())
            }
        }
        3 => (random.pick(&["minimum", "maximum"]), number(random)),
        4 => (random.pick(&["minLength", "maxLength"]), random.between(0, 2).into()),
        5 => (random.pick(&["minItems", "maxItems"]), random.between(0, 3).into()),
        6 => ("enum", (0..1 + random.below(3)).map(|_| value(random, 1)).collect::<Vec<Bson>>().into()),
        7 => ("uniqueItems", random.chance(80).into()),
        8 => (
            random.pick(&["anyOf", "allOf", "oneOf"]),
            (0..1 + random.below(2)).map(|_| schema(random, depth - 1)).collect::<Vec<_>>().into(),
        ),
        9 => ("not", schema(random, depth - 1).into()),
        10 => {
            let items: Bson = if random.chance(60) {
                schema(random, depth - 1).into()
            } else {
                vec![schema(random, depth - 1)].into()
            };
            ("items", items)
        }
        11 => (random.pick(&["minProperties", "maxProperties"]), random.between(0, 3).into()),
        12 => ("additionalProperties", random.chance(50).into()),
        13 => ("pattern", (random.pick(&["^a", "b", "^$"])).into()),
        _ => ("dependencies", doc! { name(random): [name(random)] }.into()),
    }
}
