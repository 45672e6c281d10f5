//! Random stages that look at documents beside others: `$setWindowFields`, `$fill`, `$densify`.

use bson::{Bson, Document, doc};

use super::expressions::{expression, no_decimal, numeric};
use super::random::Random;
use super::values::plain_path;

/// `$setWindowFields`, sorted by `_id`.
pub(super) fn window(random: &mut Random) -> Document {
    // One field only: of several MongoDB keeps the functions in a table whose order changes from run to run, and with
    // it the order of the fields and of errors.
    let output = doc! { random.pick(&["w", "w", "a", "b.a"]): function(random) };
    let mut spec = doc! { "sortBy": { "_id": random.pick(&[1, 1, -1]) }, "output": output };
    if random.chance(60) {
        spec.insert("partitionBy", format!("${}", plain_path(random)));
    }
    doc! { "$setWindowFields": spec }
}

fn bounds(random: &mut Random) -> Document {
    let bounds: Vec<Bson> = match random.below(6) {
        0 => vec!["unbounded".into(), "current".into()],
        1 => vec![(-1).into(), 1.into()],
        2 => vec!["unbounded".into(), "unbounded".into()],
        3 => vec!["current".into(), "unbounded".into()],
        4 => vec![(-2).into(), random.pick(&[-1, 0, 1]).into()],
        _ => vec![0.into(), 2.into()],
    };
    if random.chance(20) {
        doc! { "range": bounds }
    } else {
        doc! { "documents": bounds }
    }
}

fn function(random: &mut Random) -> Document {
    let value = expression(random, 1);
    let by = doc! { plain_path(random): random.pick(&[1, -1]), "_id": 1 };
    let mut function = match random.below(13) {
        0 | 1 => doc! { random.pick(&["$sum", "$avg"]): numeric(random, 0) },
        2 | 3 => doc! { random.pick(&["$min", "$max", "$first", "$last", "$push"]): value },
        4 => return doc! { random.pick(&["$rank", "$denseRank", "$documentNumber"]): {} },
        5 => return doc! { "$shift": { "output": value, "by": random.between(-2, 2), "default": Bson::Null } },
        6 => doc! { random.pick(&["$stdDevPop", "$stdDevSamp"]): no_decimal(numeric(random, 0)) },
        7 => {
            let operator = random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]);
            doc! { operator: { "input": value, "n": random.between(1, 3) } }
        }
        8 => doc! { random.pick(&["$top", "$bottom"]): { "sortBy": by, "output": value } },
        9 => doc! { random.pick(&["$topN", "$bottomN"]): { "sortBy": by, "output": value, "n": random.between(1, 3) } },
        10 => {
            let input = no_decimal(numeric(random, 0));
            return doc! { "$expMovingAvg": { "input": input, "N": random.between(1, 3) } };
        }
        11 => return doc! { "$locf": value },
        _ => doc! { "$count": {} },
    };
    if random.chance(85) {
        function.insert("window", bounds(random));
    }
    function
}

/// `$fill`, sorted by `_id`.
pub(super) fn fill(random: &mut Random) -> Document {
    let mut output = Document::new();
    if random.chance(75) {
        output.insert(random.pick(&["a", "b"]), doc! { "method": random.pick(&["locf", "linear"]) });
    }
    output.insert("c", doc! { "value": expression(random, 1) });
    let mut spec = doc! { "sortBy": { "_id": 1 }, "output": output };
    if random.chance(40) {
        spec.insert("partitionByFields", [plain_path(random)]);
    }
    doc! { "$fill": spec }
}

/// `$densify` of `_id`.
pub(super) fn densify(random: &mut Random) -> Document {
    let low = random.between(-3, 30);
    let bounds: Bson = match random.below(3) {
        0 => "full".into(),
        _ => vec![low, low + random.between(1, 9)].into(),
    };
    doc! { "$densify": { "field": "_id", "range": { "step": random.between(1, 4), "bounds": bounds } } }
}
