//! The fields of documents that the first stage of a pipeline reads, where that is all that the pipeline sees of them.
//!
//! A layout makes documents of what it stores, and makes no more of them than this.

use std::collections::BTreeSet;

use bindery_document::{Doc, Value};
use bindery_query::expression::{Dependencies, Expression};
use bindery_query::filter::ParseContext;
use bindery_query::projection::{Language, Projection};

/// The accumulators whose argument is one expression.
const PLAIN: [&str; 9] = ["$addToSet", "$avg", "$first", "$last", "$max", "$min", "$push", "$stdDevPop", "$sum"];

/// The top-level fields that a stage reads; `None` if it may read others, or pass the document on.
pub(super) fn of_stage(stage: Doc<'_>, context: &mut ParseContext) -> Option<BTreeSet<String>> {
    let stage = stage.first()?;
    let mut dependencies = Dependencies::default();
    match (stage.key, stage.value()) {
        (b"$count", _) => {}
        (b"$project", Value::Document(argument)) => {
            let collation = context.collation.clone();
            let projection =
                Projection::parse(argument, Language::Aggregate, collation.as_ref(), &mut context.expressions).ok()?;
            dependencies = projection.dependencies();
            dependencies.add_path("_id");
        }
        (b"$group", Value::Document(argument)) => {
            for part in argument {
                let expression = match (part.key, part.value()) {
                    (b"_id", value) => value,
                    (_, Value::Document(accumulator)) => {
                        let operator = accumulator.first()?;
                        match PLAIN.contains(&operator.key_str()) {
                            true => operator.value(),
                            false if operator.key == b"$count" => continue,
                            false => return None,
                        }
                    }
                    _ => return None,
                };
                Expression::parse(expression, &mut context.expressions).ok()?.add_dependencies(&mut dependencies);
            }
        }
        _ => return None,
    }
    Some(dependencies.top_level_fields()?.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::doc;

    fn fields(stage: bson::Document) -> Option<Vec<String>> {
        let stage = DocBuf::from_bson(&stage).expect("document");
        of_stage(stage.doc(), &mut ParseContext::default()).map(|fields| fields.into_iter().collect())
    }

    #[test]
    fn a_stage_reads_what_it_names() {
        let some = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(fields(doc! {"$count": "n"}), some(&[]));
        assert_eq!(fields(doc! {"$project": {"a.b": 1, "n": {"$add": ["$x.y", 1]}}}), some(&["_id", "a", "x"]));
        let group =
            doc! {"$group": {"_id": {"$hour": "$t"}, "n": {"$sum": 1}, "m": {"$max": "$v"}, "c": {"$count": {}}}};
        assert_eq!(fields(group), some(&["t", "v"]));
        for whole in [
            doc! {"$project": {"a": 0}},
            doc! {"$group": {"_id": null, "all": {"$push": "$$ROOT"}}},
            doc! {"$group": {"_id": null, "top": {"$top": {"sortBy": {"a": 1}, "output": "$b"}}}},
            doc! {"$set": {"a": 1}},
        ] {
            assert_eq!(fields(whole.clone()), None, "{whole}");
        }
    }
}
