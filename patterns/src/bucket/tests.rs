//! The two laws, and that a bucket grown by appending is the one made at once.

use bindery_document::{Doc, DocBuf, Value};
use bindery_query::filter::{Filter, ParseContext};
use bson::{Bson, DateTime, doc};

use super::Bucket;

fn layout(options: &bson::Document) -> Bucket {
    Bucket::parse(DocBuf::from_bson(options).expect("document").doc()).expect("layout")
}

fn at(millis: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(millis))
}

fn readings() -> Vec<DocBuf> {
    let readings = [
        doc! {"_id": 1, "s": 3, "t": at(3_600_100), "v": 5},
        doc! {"_id": 2, "s": 3, "t": at(3_600_000), "v": 2.5, "w": "x"},
        doc! {"_id": 3, "s": 3, "t": at(7_199_999), "v": Bson::Int64(7), "x": {"y": [1]}},
        doc! {"_id": 4, "s": 3, "t": at(3_700_000), "v": Bson::Null},
        doc! {"_id": 5, "s": 3, "t": at(3_700_000), "v": -1, "w": 2, "n": f64::NAN},
    ];
    readings.iter().map(|reading| DocBuf::from_bson(reading).expect("document")).collect()
}

fn folded(layout: &Bucket, readings: &[DocBuf]) -> Vec<u8> {
    layout.fold(Value::Int32(1), readings.iter().map(DocBuf::doc)).expect("readings").expect("a bucket")
}

#[test]
fn appending_gives_the_bucket_that_folding_gives() {
    for options in [doc! {"time": "t", "meta": "s"}, doc! {"time": "t", "count": 9}] {
        let layout = layout(&options);
        let readings = readings();
        let mut stored = folded(&layout, &readings[..1]);
        for (n, reading) in readings.iter().enumerate().skip(1) {
            let decided = layout.reading(reading.doc()).expect("a reading");
            let appended = layout.append(Doc::from_stored(&stored), &decided, reading.doc());
            let mut place = stored.clone();
            place.resize(appended.bytes, 0);
            appended.write(&mut place);
            stored = place;
            assert_eq!(stored, folded(&layout, &readings[..=n]), "{:?}", Doc::from_stored(&stored));
            assert!(bindery_document::validate::validate(&stored).is_ok());
        }
        let back = layout.documents(Doc::from_stored(&stored));
        assert!(back.iter().zip(&readings).all(|(a, b)| a == b.as_bytes()));
    }
}

#[test]
fn pruned_filters_are_implied() {
    let filters = [
        doc! {"s": 3},
        doc! {"s": {"$ne": 3}},
        doc! {"t": {"$gt": at(3_600_100)}},
        doc! {"t": {"$gte": at(7_199_999), "$lt": at(7_200_000)}},
        doc! {"t": at(3_700_000)},
        doc! {"t": {"$in": [at(3_700_000), 5]}},
        doc! {"t": {"$lt": at(3_600_001)}},
        doc! {"v": {"$gte": 7}},
        doc! {"v": {"$lt": 0}},
        doc! {"v": 2.5},
        doc! {"w": 2},
        doc! {"w": {"$gt": 5}},
        doc! {"n": f64::NAN},
        doc! {"v": Bson::Null},
        doc! {"x.y": 1},
        doc! {"$or": [{"s": 9}, {"v": 5}]},
        doc! {"$nor": [{"s": 9}, {"v": 99}]},
    ];
    for options in [doc! {"time": "t", "meta": "s"}, doc! {"time": "t", "meta": "s", "count": 9}] {
        let bucket = layout(&options);
        let layout = crate::Layout::Bucket(bucket.clone());
        for filter in &filters {
            let query = DocBuf::from_bson(filter).expect("document");
            let logical = Filter::parse(query.doc(), &ParseContext::default()).expect("filter");
            let pruned = layout.prune(&logical);
            for reading in readings() {
                for stored in [folded(&bucket, std::slice::from_ref(&reading)), folded(&bucket, &readings())] {
                    let is_match = logical.matches(reading.doc()).expect("match");
                    let is_kept = pruned.filter.matches(Doc::from_stored(&stored)).expect("match");
                    assert!(is_kept || !is_match, "{filter} on {reading:?}: {:?}", pruned.filter);
                }
            }
        }
    }
}
