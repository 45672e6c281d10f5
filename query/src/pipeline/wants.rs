//! What the first stage needs of the documents it is given, for whoever can have that more cheaply than the documents.

use std::collections::BTreeSet;

use super::{Pipeline, Stage};

/// What is needed of the documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The documents themselves.
    Documents,
    /// How many there are: any documents will do, empty ones too.
    Number,
    /// Nothing but these paths of them, none of which lies within another.
    Fields(Vec<String>),
}

impl Pipeline {
    /// What the first stage needs.
    pub fn wants(&self) -> Wanted {
        match self.stages.first() {
            Some(Stage::Count(_)) => Wanted::Number,
            Some(Stage::Group(group)) => {
                let reads = group.dependencies();
                if !reads.whole_document && reads.paths.is_empty() {
                    return Wanted::Number;
                }
                if reads.whole_document {
                    return Wanted::Documents;
                }
                Wanted::Fields(outermost(&reads.paths))
            }
            Some(Stage::Project(project)) => match project.projection.included_paths() {
                Some(paths) => Wanted::Fields(paths),
                None => Wanted::Documents,
            },
            _ => Wanted::Documents,
        }
    }
}

/// The paths that lie within no other of them.
fn outermost(paths: &BTreeSet<String>) -> Vec<String> {
    let within = |path: &str| path.match_indices('.').any(|(at, _)| paths.contains(&path[..at]));
    paths.iter().filter(|path| !within(path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use bindery_document::{DocBuf, Value};
    use bson::doc;

    use super::*;
    use crate::filter::ParseContext;

    fn wants(stage: bson::Document) -> Wanted {
        let stages = DocBuf::from_bson(&doc! {"p": [stage]}).expect("stages");
        let Some(Value::Array(written)) = stages.doc().get("p") else { panic!("no array") };
        Pipeline::parse(written, &mut ParseContext::new()).expect("a pipeline").wants()
    }

    #[test]
    fn stages_say_what_they_need() {
        assert_eq!(wants(doc! {"$count": "n"}), Wanted::Number);
        assert_eq!(wants(doc! {"$group": {"_id": null, "n": {"$sum": 1}, "m": {"$count": {}}}}), Wanted::Number);
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<String>>();
        for (stage, read) in [
            (doc! {"$group": {"_id": "$a", "n": {"$sum": 1}}}, vec!["a"]),
            (doc! {"$group": {"_id": {"k": "$a.b"}, "f": {"$first": "$b"}}}, vec!["a.b", "b"]),
            (doc! {"$group": {"_id": {"a": "$a", "b": "$b.c"}, "n": {"$sum": "$b"}}}, vec!["a", "b"]),
            (doc! {"$group": {"_id": "$a.0"}}, vec!["a.0"]),
            (doc! {"$group": {"_id": {"$toLower": "$a"}}}, vec!["a"]),
            (doc! {"$project": {"a": 1, "b.c": 1, "_id": 0}}, vec!["a", "b.c"]),
        ] {
            assert_eq!(wants(stage.clone()), Wanted::Fields(paths(&read)), "{stage}");
        }
        for documents in [
            doc! {"$group": {"_id": "$$ROOT"}},
            doc! {"$project": {"a": 0}},
            doc! {"$project": {"b": "$a"}},
            doc! {"$limit": 1},
        ] {
            assert_eq!(wants(documents.clone()), Wanted::Documents, "{documents}");
        }
    }
}
