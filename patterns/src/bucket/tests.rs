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

/// Readings with the same fields, some of them late, with values of all widths.
fn even_readings() -> Vec<DocBuf> {
    let values = [5, 127, 128, -1, -40_000, 1 << 30, 7, 9];
    let minutes = [3, 5, 4, 9, 9, 8, 0, 59];
    let reading = |i: usize| {
        let mixed = if i.is_multiple_of(2) { Bson::Int32(1) } else { Bson::Double(1.5) };
        doc! {
            "_id": i as i64 * 1000, "s": 3, "t": at(3_600_000 + minutes[i] * 60_000 + i as i64), "v": values[i],
            "d": i as f64 / 3.0, "name": format!("n{i}"), "gone": Bson::Null, "mixed": mixed, "is": i.is_multiple_of(3),
        }
    };
    (0..values.len()).map(|i| DocBuf::from_bson(&reading(i)).expect("document")).collect()
}

fn time_of(layout: &Bucket, reading: &[u8]) -> i64 {
    layout.reading(Doc::from_stored(reading)).expect("a reading").time
}

#[test]
fn appending_gives_the_bucket_that_folding_gives() {
    let all: Vec<DocBuf> = readings().into_iter().chain(even_readings()).collect();
    for options in
        [doc! {"time": "t", "meta": "s"}, doc! {"time": "t", "count": 99}, doc! {"time": "t", "columns": false}]
    {
        let layout = layout(&options);
        for readings in [readings(), even_readings(), all.clone(), all.iter().rev().cloned().collect()] {
            let mut stored = folded(&layout, &readings[..1]);
            for (n, reading) in readings.iter().enumerate().skip(1) {
                let decided = layout.reading(reading.doc()).expect("a reading");
                let appended = layout.append(Doc::from_stored(&stored), &decided, reading.doc()).expect("a bucket");
                let mut place = stored.clone();
                place.resize(appended.bytes.max(stored.len()), 0);
                appended.write(&mut place[..]);
                place.truncate(appended.bytes);
                stored = place;
                assert!(bindery_document::validate::validate(&stored).is_ok());
                assert!(layout.is_sound(Doc::from_stored(&stored)), "{:?}", Doc::from_stored(&stored));
                let whole = folded(&layout, &readings[..=n]);
                let both = [&stored, &whole].map(|bytes| layout.documents(Doc::from_stored(bytes)));
                assert_eq!(both[0], both[1]);
            }
            let mut back = layout.documents(Doc::from_stored(&stored));
            let mut expected: Vec<Vec<u8>> = readings.iter().map(|reading| reading.as_bytes().to_vec()).collect();
            back.sort();
            expected.sort();
            assert_eq!(back, expected);
        }
    }
}

/// Numbers that repeat (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// A value of any kind, often of one kind and then of any width.
fn value(random: &mut Numbers) -> Bson {
    let wide = (random.below(1 << 40) >> random.below(40)) as i64 - 100;
    match random.below(30) {
        0 => Bson::Null,
        1 => Bson::String("x".repeat(random.below(40) as usize)),
        2 => Bson::Document(doc! {"a": wide}),
        3 => Bson::Boolean(wide % 2 == 0),
        4 => Bson::ObjectId(bson::oid::ObjectId::from_bytes([7; 12])),
        5 => Bson::MinKey,
        6 => at(wide),
        7 => Bson::Double(wide as f64 / 8.0),
        8..=12 => Bson::Int32(wide as i32),
        _ => Bson::Int64(wide),
    }
}

#[test]
fn whatever_comes_in_whatever_order_is_kept() {
    for seed in 1..60 {
        let mut random = Numbers(0x9E37_79B9_7F4A_7C15 ^ (seed << 7));
        let layout = match seed % 3 {
            0 => layout(&doc! {"time": "t", "count": 999}),
            _ => layout(&doc! {"time": "t", "meta": "s", "days": 1}),
        };
        let (mut stored, mut expected) = (Vec::new(), Vec::new());
        for n in 0..40 {
            let mut reading = doc! {"_id": value(&mut random), "s": 3, "t": at(random.below(86_400_000) as i64)};
            if random.below(9) > 0 {
                reading.insert("v", value(&mut random));
            }
            let reading = DocBuf::from_bson(&reading).expect("document");
            if n == 0 {
                stored = folded(&layout, std::slice::from_ref(&reading));
            } else {
                let decided = layout.reading(reading.doc()).expect("a reading");
                let appended = layout.append(Doc::from_stored(&stored), &decided, reading.doc()).expect("a bucket");
                stored.resize(appended.bytes.max(stored.len()), 0);
                appended.write(&mut stored);
                stored.truncate(appended.bytes);
            }
            expected.push(reading.as_bytes().to_vec());
            assert!(bindery_document::validate::validate(&stored).is_ok(), "seed {seed}");
            assert!(layout.is_sound(Doc::from_stored(&stored)), "seed {seed}, {n}: {:?}", Doc::from_stored(&stored));
        }
        let mut back = layout.documents(Doc::from_stored(&stored));
        for (place, reading) in (0u32..).zip(&back) {
            assert_eq!(layout.document(Doc::from_stored(&stored), place).as_ref(), Some(reading));
        }
        back.sort();
        expected.sort();
        assert_eq!(back, expected, "seed {seed}");
    }
}

#[test]
fn readings_in_columns_lie_in_the_order_of_time() {
    let layout = layout(&doc! {"time": "t", "meta": "s"});
    let stored = folded(&layout, &even_readings());
    let header = super::Header::read(Doc::from_stored(&stored), false);
    let mut opened = layout.open(&header, crate::Wanted::All);
    assert!(opened.are_ordered());
    let documents = layout.documents(Doc::from_stored(&stored));
    assert!(documents.is_sorted_by_key(|reading| time_of(&layout, reading)));
    let range = 3_600_000 + 4 * 60_000..=3_600_000 + 9 * 60_000 + 3;
    let within = documents.iter().filter(|reading| range.contains(&time_of(&layout, reading))).count();
    assert_eq!(opened.ordered(&range).len(), within);
    // Fields that are not wanted are not made, and places can be read in any order.
    let wanted = ["v".into(), "name".into()];
    let mut opened_some = layout.open(&header, crate::Wanted::Only(&wanted));
    for place in [5, 2, 7] {
        let (mut whole, mut some) = (Vec::new(), Vec::new());
        opened.write(place, &mut whole);
        opened_some.write(place, &mut some);
        assert_eq!(whole, documents[place as usize]);
        let (whole, some) = (Doc::from_stored(&whole), Doc::from_stored(&some));
        assert_eq!(some.iter().map(|e| e.key_str()).collect::<Vec<_>>(), ["v", "name"]);
        let same = |e: bindery_document::Element<'_>| whole.element(e.key).is_some_and(|other| other.bytes == e.bytes);
        assert!(some.iter().all(same));
    }
    let numbers: Vec<_> = opened.numbers("d", 0..2).expect("numbers").map(|number| number.as_f64()).collect();
    let expected = documents[..2].iter().map(|reading| Doc::from_stored(reading).get("d").and_then(|d| d.as_f64()));
    assert_eq!(numbers, expected.collect::<Vec<_>>());
    assert!(opened.numbers("mixed", 0..1).is_none() && opened.numbers("name", 0..1).is_none());
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
