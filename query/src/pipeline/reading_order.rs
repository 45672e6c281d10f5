//! The order that a first stage brings its documents into: MongoDB makes a `$sort` of it, which an index may answer.

use bindery_document::{Builder, DocBuf};

use super::{Pipeline, Stage};

impl Pipeline {
    /// The order that the first stage brings its documents into before it begins, as a sort.
    pub fn leading_order(&self) -> Option<DocBuf> {
        let fields = match self.stages.first()? {
            Stage::SetWindowFields(windows) => windows.reads_in_order()?,
            Stage::Densify(densify) => densify.reads_in_order(),
            _ => return None,
        };
        let mut order = Builder::new();
        for (place, (path, descending)) in fields.iter().enumerate() {
            // The order of a path is settled the first time that it is named.
            if !fields[..place].iter().any(|(earlier, _)| earlier == path) {
                order.append(path.as_str(), if *descending { -1 } else { 1 });
            }
        }
        (!fields.is_empty()).then(|| order.finish())
    }
}

#[cfg(test)]
mod tests {
    use bindery_document::{DocBuf, Value};
    use bson::{Bson, Document, doc};

    use super::super::Pipeline;
    use crate::filter::ParseContext;

    #[test]
    fn windows_and_sequences_are_read_in_order() {
        let output = doc! {"n": {"$sum": "$b"}};
        let cases = [
            (doc! {"$setWindowFields": {"output": &output}}, None),
            (doc! {"$setWindowFields": {"partitionBy": "$p.q", "output": &output}}, Some(doc! {"p.q": 1})),
            (
                doc! {"$setWindowFields": {"partitionBy": "$p", "sortBy": {"a": -1, "p": 1, "b": 1}, "output": &output}},
                Some(doc! {"p": 1, "a": -1, "b": 1}),
            ),
            (doc! {"$setWindowFields": {"partitionBy": {"$abs": "$p"}, "sortBy": {"a": 1}, "output": &output}}, None),
            (
                doc! {"$densify": {"field": "t", "partitionByFields": ["p"], "range": {"step": 1, "bounds": "full"}}},
                Some(doc! {"p": 1, "t": 1}),
            ),
            (doc! {"$fill": {"sortBy": {"t": -1}, "output": {"a": {"method": "locf"}}}}, Some(doc! {"t": -1})),
            (doc! {"$group": {"_id": "$a"}}, None),
        ];
        for (stage, expected) in cases {
            let stages = DocBuf::from_bson(&doc! {"p": [stage.clone()]}).expect("stages");
            let Some(Value::Array(written)) = stages.doc().get("p") else { panic!("no array") };
            let pipeline = Pipeline::parse(written, &mut ParseContext::new()).expect("a pipeline");
            let order = pipeline.leading_order().map(|order| {
                let numbers = order.doc().iter().map(|field| (field.key_str().to_owned(), field.value().as_f64()));
                numbers.map(|(path, way)| (path, Bson::from(way.unwrap_or_default() as i32))).collect::<Document>()
            });
            assert_eq!(order, expected, "{stage}");
        }
    }
}
