//! The two laws, on documents and filters chosen to be awkward.

use bindery_document::{Doc, DocBuf};
use bindery_query::filter::{Filter, ParseContext};
use bson::{Bson, doc};

use super::Attribute;
use crate::Wanted;

fn layout() -> Attribute {
    let options = DocBuf::from_bson(&doc! {"path": "specs", "except": ["name", "price"]}).expect("document");
    Attribute::parse(options.doc()).expect("layout")
}

fn documents() -> Vec<DocBuf> {
    let documents = [
        doc! {},
        doc! {"_id": 1},
        doc! {"_id": 1, "name": "x"},
        doc! {"_id": 1, "color": "red", "name": "x", "size": 5, "price": 2.5},
        doc! {"color": null, "_id": 3, "specs": [{"k": "color", "v": 9}], "price": [1]},
        doc! {"_id": 4, "size": [1, 2, {"a": []}], "color": {"a": {"b": [1, 5]}}},
        doc! {"_id": 5, "": 1, "a.b": 2, "$x": 3, "k": 4, "v": 5, "after": 6},
        doc! {"_id": 6, "size": Bson::Double(f64::NAN), "color": []},
    ];
    let mut all: Vec<DocBuf> = documents.iter().map(|d| DocBuf::from_bson(d).expect("document")).collect();
    let mut twice = bindery_document::Builder::new();
    twice.append("size", 1);
    twice.append("name", "n");
    twice.append("size", 2);
    all.push(twice.finish());
    all
}

#[test]
fn unfolding_gives_the_document_back() {
    let layout = layout();
    for document in documents() {
        let stored = layout.fold(document.doc(), Vec::new());
        let back = layout.unfold(Doc::from_stored(&stored), Wanted::All, Vec::new());
        assert_eq!(back, document.as_bytes(), "{document:?} stored as {:?}", Doc::from_stored(&stored));
    }
}

#[test]
fn unfolding_what_is_wanted_leaves_the_rest_out() {
    let layout = layout();
    let names: [Box<str>; 3] = ["_id".into(), "size".into(), "price".into()];
    for document in documents() {
        let stored = layout.fold(document.doc(), Vec::new());
        let some = layout.unfold(Doc::from_stored(&stored), Wanted::Only(&names), Vec::new());
        let mut expected = bindery_document::Builder::new();
        for field in document.doc().iter().filter(|field| names.iter().any(|name| name.as_bytes() == field.key)) {
            expected.append_element(field);
        }
        assert_eq!(some, expected.finish().as_bytes(), "{document:?}");
    }
}

#[test]
fn pruned_filters_are_implied_and_exact_where_they_say_so() {
    let layout = crate::Layout::Attribute(layout());
    let crate::Layout::Attribute(attribute) = &layout else { return };
    let filters = [
        doc! {"color": "red"},
        doc! {"color": null},
        doc! {"color": {"$exists": true}},
        doc! {"color": {"$exists": false}},
        doc! {"size": 2, "name": "n"},
        doc! {"size": {"$gte": 1, "$lt": 3}},
        doc! {"size.a": []},
        doc! {"color.a.b": {"$in": [5, null]}},
        doc! {"size": {"$ne": 2}},
        doc! {"$or": [{"color": "red"}, {"price": 1}]},
        doc! {"$nor": [{"name": "x"}, {"price": 1}]},
        doc! {"size": {"$elemMatch": {"$gt": 1}}},
        doc! {"size": {"$size": 3}},
        doc! {"size": f64::NAN},
        doc! {"specs.k": "color"},
        doc! {"color": {"$type": "array"}},
    ];
    for filter in filters {
        let query = DocBuf::from_bson(&filter).expect("document");
        let logical = Filter::parse(query.doc(), &ParseContext::default()).expect("filter");
        let pruned = layout.prune(&logical);
        for document in documents() {
            let stored = attribute.fold(document.doc(), Vec::new());
            let is_match = logical.matches(document.doc()).expect("match");
            let is_kept = pruned.filter.matches(Doc::from_stored(&stored)).expect("match");
            assert!(is_kept || !is_match, "{filter} on {document:?}");
            assert!(!pruned.exact || is_kept == is_match, "{filter} on {document:?}");
        }
    }
}
