//! Random pipelines, and what may be expected of the order of their results.
//!
//! Stages that depend on the order of their input are generated only where a total order holds: after a
//! sort that names `_id` while `_id` is still unique. The foreign collection is `d`.

use bson::{Bson, Document, doc};

use super::expressions::{expression, numeric};
use super::filters::{filter, operand};
use super::projections::projection;
use super::random::Random;
use super::values::{path, plain_path};
use super::windows::{densify, fill, window};

/// An `aggregate` command over the collection `c`.
pub(super) fn aggregate(random: &mut Random, docs: &[Document]) -> Document {
    let mut pipeline = Vec::new();
    if random.chance(25) {
        pipeline.push(doc! { "$match": filter(random, docs) });
    }
    if random.chance(75) {
        pipeline.push(doc! { "$sort": total_sort(random) });
    }
    for _ in 0..1 + random.weighted(&[30, 35, 25, 10]) {
        let ordered = order(&pipeline) == Some(true);
        pipeline.extend(stages(random, docs, ordered, true));
    }
    doc! { "aggregate": "c", "pipeline": pipeline, "cursor": { "batchSize": 10_000 } }
}

/// A sample of at least so many takes all documents, in any order.
const SAMPLE_OF_ALL: i32 = 1_000;

fn total_sort(random: &mut Random) -> Document {
    let mut sort = Document::new();
    if random.chance(50) {
        sort.insert(plain_path(random), random.pick(&[1, -1]));
    }
    sort.insert("_id", random.pick(&[1, 1, -1]));
    sort
}

/// One stage, or a few that belong together.
fn stages(random: &mut Random, docs: &[Document], ordered: bool, outer: bool) -> Vec<Document> {
    let (needs_order, is_outer) = (usize::from(ordered), usize::from(outer));
    let choice = random.weighted(&[
        14,
        14,
        14,
        6,
        5,
        8 * needs_order,
        3,
        6,
        3,
        22 * needs_order,
        12,
        8 * is_outer,
        3 * is_outer,
        4 * is_outer,
        4 * is_outer * needs_order,
        6 * needs_order,
        8 * needs_order,
        3,
        3 * needs_order,
        3 * needs_order,
        2,
    ]);
    let one = match choice {
        0 => doc! { "$match": filter(random, docs) },
        1 => doc! { "$project": computed_projection(random, docs) },
        2 => {
            let name = if random.chance(70) { plain_path(random) } else { "n".to_owned() };
            doc! { random.pick(&["$set", "$addFields"]): { name: expression(random, 2) } }
        }
        3 => doc! { "$unset": plain_path(random) },
        4 => doc! { "$sort": total_sort(random) },
        5 => doc! { random.pick(&["$limit", "$limit", "$skip"]): random.between(1, 6) },
        6 => doc! { "$count": "n" },
        7 => {
            let root = doc! { "$mergeObjects": [{ "_id": "$_id" }, expression(random, 1)] };
            if random.chance(50) {
                doc! { "$replaceWith": root }
            } else {
                doc! { "$replaceRoot": { "newRoot": root } }
            }
        }
        8 => {
            let deeper = random.pick(&["$$DESCEND", "$$KEEP"]);
            let condition = without_root(expression(random, 1));
            doc! { "$redact": { "$cond": [condition, deeper, random.pick(&["$$PRUNE", "$$KEEP"])] } }
        }
        9 => return group(random),
        10 => unwind(random),
        11 => return lookup(random, docs),
        12 => doc! { "$unionWith": { "coll": "d", "pipeline": [{ "$match": filter(random, docs) }] } },
        13 => return graph_lookup(random),
        14 => facet(random, docs),
        15 => bucket(random, docs),
        16 => window(random),
        18 => fill(random),
        19 => densify(random),
        20 => doc! { "$sample": { "size": SAMPLE_OF_ALL } },
        _ => doc! { "$sortByCount": expression(random, 1) },
    };
    vec![one]
}

/// Takes the whole document's place out of an expression. While `$redact` goes through a document, MongoDB 6.0.5 reads
/// `$$ROOT` into the very storage it goes through: the answer has lost fields and wrong values, or the server crashes.
fn without_root(expression: Bson) -> Bson {
    let all = |items: Vec<Bson>| items.into_iter().map(without_root).collect();
    match expression {
        Bson::String(text) if text.starts_with("$$ROOT") => text.replace("$$ROOT", "$$CURRENT").into(),
        Bson::Array(items) => Bson::Array(all(items)),
        Bson::Document(inner) => {
            Bson::Document(inner.into_iter().map(|(name, value)| (name, without_root(value))).collect())
        }
        other => other,
    }
}

fn computed_projection(random: &mut Random, docs: &[Document]) -> Document {
    if random.chance(40) {
        return projection(random, docs, &Document::new());
    }
    let mut out = doc! { plain_path(random): expression(random, 2) };
    if random.chance(50) {
        out.insert(random.pick(&["x", "y"]), expression(random, 1));
    }
    if random.chance(40) {
        out.insert(random.pick(&["a", "b", "c"]), 1);
    }
    out
}

fn group(random: &mut Random) -> Vec<Document> {
    let key: Bson = match random.below(5) {
        0 => Bson::Null,
        1 => expression(random, 1),
        2 => doc! { "x": format!("${}", path(random)), "y": expression(random, 1) }.into(),
        _ => format!("${}", path(random)).into(),
    };
    let mut group = doc! { "_id": key };
    let mut sorts = Vec::new();
    for place in 0..1 + random.below(3) {
        let name = format!("n{place}");
        if random.chance(8) {
            // The order of a set is open.
            let sort = doc! { "$sortArray": { "input": format!("${name}"), "sortBy": 1 } };
            sorts.push(doc! { "$set": { &name: sort } });
            group.insert(name, doc! { "$addToSet": expression(random, 1) });
        } else {
            group.insert(name, accumulator(random));
        }
    }
    let mut stages = vec![doc! { "$group": group }];
    stages.append(&mut sorts);
    stages
}

fn accumulator(random: &mut Random) -> Document {
    let value = expression(random, 1);
    let by = doc! { plain_path(random): random.pick(&[1, -1]), "_id": 1 };
    match random.below(10) {
        0 => doc! { "$sum": random.pick(&[1, 2]) },
        1 => doc! { random.pick(&["$sum", "$avg"]): numeric(random, 0) },
        2 => doc! { random.pick(&["$sum", "$avg", "$min", "$max"]): value },
        3 => doc! { random.pick(&["$first", "$last", "$push"]): value },
        4 => doc! { "$count": {} },
        5 => doc! { random.pick(&["$stdDevPop", "$stdDevSamp"]): numeric(random, 0) },
        6 => {
            doc! { random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]): { "input": value, "n": random.between(1, 3) } }
        }
        8 => {
            let field = format!("${}", plain_path(random));
            doc! { "$mergeObjects": { "$cond": [{ "$eq": [{ "$type": &field }, "object"] }, &field, { "z": 1 }] } }
        }
        7 => doc! { random.pick(&["$top", "$bottom"]): { "sortBy": by, "output": value } },
        _ => doc! { random.pick(&["$topN", "$bottomN"]): { "sortBy": by, "output": value, "n": random.between(1, 3) } },
    }
}

fn unwind(random: &mut Random) -> Document {
    let path = format!("${}", plain_path(random));
    if random.chance(40) {
        return doc! { "$unwind": path };
    }
    let mut spec = doc! { "path": path };
    if random.chance(50) {
        spec.insert("preserveNullAndEmptyArrays", random.chance(80));
    }
    if random.chance(40) {
        spec.insert("includeArrayIndex", random.pick(&["i", "a.i"]));
    }
    doc! { "$unwind": spec }
}

/// A join comes with a sort of what it found, whose order is open otherwise.
fn sorted_by_id(name: &str) -> Document {
    doc! { "$set": { name: { "$sortArray": { "input": format!("${name}"), "sortBy": { "_id": 1 } } } } }
}

fn lookup(random: &mut Random, docs: &[Document]) -> Vec<Document> {
    let mut spec = doc! { "from": "d", "as": "r" };
    let keys = random.chance(75);
    if keys {
        spec.insert("localField", if random.chance(20) { "_id".to_owned() } else { plain_path(random) });
        spec.insert("foreignField", if random.chance(30) { "_id".to_owned() } else { plain_path(random) });
    }
    if !keys || random.chance(25) {
        let mut inner = Vec::new();
        if random.chance(60) {
            spec.insert("let", doc! { "v": format!("${}", plain_path(random)) });
            let operator = random.pick(&["$eq", "$gt", "$lte"]);
            inner.push(doc! { "$match": { "$expr": { operator: [format!("${}", plain_path(random)), "$$v"] } } });
        }
        if random.chance(50) {
            inner.push(doc! { "$match": filter(random, docs) });
        }
        spec.insert("pipeline", inner);
    }
    vec![doc! { "$lookup": spec }, sorted_by_id("r")]
}

fn graph_lookup(random: &mut Random) -> Vec<Document> {
    let mut spec = doc! {
        "from": "d",
        "startWith": format!("${}", plain_path(random)),
        "connectFromField": plain_path(random),
        "connectToField": plain_path(random),
        "as": "r",
    };
    if random.chance(40) {
        spec.insert("maxDepth", random.between(0, 2));
    }
    vec![doc! { "$graphLookup": spec }, sorted_by_id("r")]
}

fn facet(random: &mut Random, docs: &[Document]) -> Document {
    let mut facet = Document::new();
    for name in ["f", "g"] {
        let mut inner = Vec::new();
        for _ in 0..random.below(3) {
            let ordered = order_from(&inner, true) == Some(true);
            if ordered {
                inner.extend(stages(random, docs, true, false));
            }
        }
        if order_from(&inner, true) != Some(true) {
            inner.push(doc! { "$count": "n" });
        }
        facet.insert(name, inner);
    }
    doc! { "$facet": facet }
}

fn bucket(random: &mut Random, docs: &[Document]) -> Document {
    if random.chance(40) {
        return doc! { "$bucketAuto": {
            "groupBy": expression(random, 1),
            "buckets": random.between(1, 4),
            "output": { "n": accumulator(random) },
        } };
    }
    let mut spec = doc! {
        "groupBy": format!("${}", path(random)),
        "boundaries": [0, 2, 4, 100],
        "output": { "n": accumulator(random) },
    };
    if random.chance(85) {
        spec.insert("default", operand(random, docs, "a"));
    }
    doc! { "$bucket": spec }
}

/// What holds of a pipeline's results: `Some(true)` if their order is determined, `Some(false)` if they are
/// a bag, nothing if they depend on an open order.
pub(super) fn order(pipeline: &[Document]) -> Option<bool> {
    order_from(pipeline, false)
}

/// What is known of the `_id`s at a place in a pipeline.
#[derive(Clone, Copy, PartialEq)]
enum Ids {
    /// Unique, and no arrays.
    Scalars,
    /// Unique, compared as wholes, as `$group` leaves them. A sort by `_id` alone compares them like that; one
    /// by several fields takes the least element of an array, by which different ones may be equal.
    Wholes,
    /// Some may be equal or missing.
    Open,
}

impl Ids {
    /// Whether a sort leaves nothing open.
    fn decide(self, sort: &Document) -> bool {
        sort.contains_key("_id") && (self == Ids::Scalars || self == Ids::Wholes && sort.len() == 1)
    }
}

fn order_from(pipeline: &[Document], ordered: bool) -> Option<bool> {
    let (mut total, mut ids) = (ordered, Ids::Scalars);
    let mut stages = pipeline.iter().peekable();
    while let Some(stage) = stages.next() {
        let (name, spec) = stage.iter().next()?;
        match name.as_str() {
            "$sort" => total = ids.decide(spec.as_document()?),
            "$limit" | "$skip" if !total => return None,
            "$group" | "$bucket" | "$bucketAuto" | "$sortByCount" => {
                if !total {
                    return None;
                }
                (total, ids) = (false, Ids::Wholes);
            }
            "$count" => total = true,
            "$unwind" | "$replaceRoot" | "$replaceWith" => ids = Ids::Open,
            "$unset" if spec.as_str() != Some("_id") => {}
            "$set" | "$addFields" | "$project" if !spec.as_document()?.contains_key("_id") => {}
            "$unset" | "$set" | "$addFields" | "$project" => ids = Ids::Open,
            "$unionWith" => (total, ids) = (false, Ids::Open),
            "$lookup" | "$graphLookup" => {
                let name = spec.as_document()?.get_str("as").ok()?;
                if stages.next() != Some(&sorted_by_id(name)) {
                    return None;
                }
            }
            "$facet" => {
                for (_, inner) in spec.as_document()? {
                    let inner: Option<Vec<Document>> =
                        inner.as_array()?.iter().map(|stage| stage.as_document().cloned()).collect();
                    if order_from(&inner?, total) != Some(true) {
                        return None;
                    }
                }
                (total, ids) = (true, Ids::Scalars);
            }
            "$setWindowFields" => {
                // The partition comes before the order in the sort that is made of both.
                let mut by = spec.as_document()?.get_document("sortBy").cloned().unwrap_or_default();
                if spec.as_document()?.contains_key("partitionBy") {
                    by.insert("partition", 1);
                }
                if !ids.decide(&by) {
                    return None;
                }
                total = false;
            }
            "$sample" if spec.as_document()?.get_i32("size").ok()? < SAMPLE_OF_ALL => return None,
            // What it adds has values of `_id` that no other document has.
            "$sample" | "$densify" => total = false,
            "$fill" if ids != Ids::Scalars => return None,
            "$fill" => total = false,
            _ => {}
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::order;

    #[test]
    fn an_order_is_total_only_by_unique_ids() {
        let by_id = doc! { "$sort": { "a": 1, "_id": 1 } };
        assert_eq!(order(std::slice::from_ref(&by_id)), Some(true));
        assert_eq!(order(&[doc! { "$sort": { "a": 1 } }]), Some(false));
        assert_eq!(order(&[doc! { "$limit": 1 }]), None);
        assert_eq!(order(&[by_id.clone(), doc! { "$limit": 1 }]), Some(true));
        assert_eq!(order(&[doc! { "$unwind": "$a" }, by_id.clone(), doc! { "$limit": 1 }]), None);
        assert_eq!(order(&[by_id, doc! { "$group": { "_id": "$a" } }]), Some(false));
    }
}
