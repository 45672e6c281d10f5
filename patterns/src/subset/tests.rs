//! The law of unfolding, and what projections and updates need.

use bindery_document::{Doc, DocBuf, Value};
use bson::{Bson, doc};

use super::Subset;
use super::shortcut::Need;

fn layout() -> Subset {
    let options = DocBuf::from_bson(&doc! {"array": "r", "sort": {"d": -1}, "top": 2}).expect("document");
    Subset::parse(options.doc()).expect("layout")
}

#[test]
fn unfolding_gives_the_document_back() {
    let layout = layout();
    let documents = [
        doc! {"_id": 1},
        doc! {"_id": 1, "r": 5, "subset": {"total": 9}},
        doc! {"_id": 1, "r": [], "x": 1},
        doc! {"_id": 1, "a": 2, "r": [{"d": 1}, {"d": 3, "e": [1]}, 7, Bson::Null, {"d": [5]}], "subset": 3},
    ];
    for document in documents {
        let logical = DocBuf::from_bson(&document).expect("document");
        let children = layout.children(logical.doc()).unwrap_or_default();
        let stored = layout.fold_parent(logical.doc(), 0, 9);
        let back = layout.unfold(
            Doc::from_stored(&stored),
            children.iter().map(|child| (child.kind, child.bytes)),
            Vec::new(),
        );
        assert_eq!(back, logical.as_bytes(), "{:?}", Doc::from_stored(&stored));
        let parent = layout.parent(Doc::from_stored(&stored));
        assert_eq!(parent.children.map(|c| c.total as usize), layout.children(logical.doc()).map(|c| c.len()));
    }
}

#[test]
fn projections_need_no_more_than_they_show() {
    let layout = layout();
    let cases = [
        (doc! {}, Need::All),
        (doc! {"r": 0}, Need::Nothing),
        (doc! {"a": 1, "_id": 0}, Need::Nothing),
        (doc! {"a": 1, "r": 1}, Need::All),
        (doc! {"a": 0}, Need::All),
        (doc! {"r": {"$slice": 3}}, Need::Part { skip: 0, limit: 3 }),
        (doc! {"a": 1, "r": {"$slice": [60, 10]}}, Need::Part { skip: 60, limit: 10 }),
        (doc! {"r": {"$slice": -3}}, Need::All),
        (doc! {"r.d": 1}, Need::All),
        (doc! {"n": {"$size": "$r"}}, Need::All),
        (doc! {"n": "$r", "r": {"$slice": 1}}, Need::All),
    ];
    for (projection, need) in cases {
        let spec = DocBuf::from_bson(&projection).expect("document");
        assert_eq!(layout.need_of_projection(Some(spec.doc())), need, "{projection}");
    }
}

#[test]
fn updates_of_other_fields_leave_the_array_alone() {
    let layout = layout();
    for (update, expected) in [
        (doc! {"$set": {"a": 1}, "$inc": {"b.r": 1}}, false),
        (doc! {"$push": {"r": 1}}, true),
        (doc! {"$set": {"r.0.d": 1}}, true),
        (doc! {"$rename": {"a": "r"}}, true),
        (doc! {"a": 1}, true),
    ] {
        let update = DocBuf::from_bson(&update).expect("document");
        assert_eq!(layout.is_touched_by(&Value::Document(update.doc())), expected, "{update:?}");
    }
}
