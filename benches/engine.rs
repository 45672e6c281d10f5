//! What does the engine cost above the bytes? One find by `_id`, and one scan with a filter.
//!
//! A million readings of 80 bytes. `find_one` by `_id` on a `Collection<RawDocumentBuf>` stands beside a
//! `BTreeMap<Vec<u8>, Vec<u8>>` look-up and a copy of the document; a scan that filters on one field beside a hand walk
//! over the same bytes; an average per sensor beside a plain pass that reads the same two fields.
//!
//! `cargo bench -p bindery-benches --bench engine`

use std::collections::BTreeMap;
use std::hint::black_box;

use bindery::{Collection, Database};
use bindery_document::{Doc, Value};
use bson::{Document, RawDocumentBuf, doc, rawdoc};
use criterion::{Criterion, criterion_group, criterion_main};

const READINGS: i64 = 1_000_000;
const SENSORS: i64 = 500;

fn reading(nth: i64) -> RawDocumentBuf {
    rawdoc! {
        "_id": nth,
        "sensorId": format!("sensor-{:04}", nth % SENSORS),
        "ts": bson::DateTime::from_millis(1_700_000_000_000 + nth / SENSORS * 60_000),
        "value": (nth % 977) as f64 / 7.0,
    }
}

/// The readings in the engine, and the same bytes in a row.
fn load() -> (Collection<RawDocumentBuf>, Vec<u8>) {
    let collection = Database::new().collection::<RawDocumentBuf>("readings");
    let readings: Vec<RawDocumentBuf> = (0..READINGS).map(reading).collect();
    let flat = readings.iter().flat_map(|r| r.as_bytes().iter().copied()).collect();
    collection.insert_many(&readings).expect("readings");
    (collection, flat)
}

/// Documents that stand in a row.
fn in_row(flat: &[u8]) -> impl Iterator<Item = Doc<'_>> {
    let mut rest = flat;
    std::iter::from_fn(move || {
        let length = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let (document, more) = rest.split_at(length);
        rest = more;
        Some(Doc::from_stored(document))
    })
}

/// Ids in an order without a pattern.
fn ids() -> impl Iterator<Item = i64> {
    (0_u64..).scan(0x9E37_79B9_7F4A_7C15_u64, |state, _| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some((*state >> 33) as i64 % READINGS)
    })
}

fn engine(c: &mut Criterion) {
    let (collection, flat) = load();
    {
        let mut group = c.benchmark_group("find by _id");
        let map: BTreeMap<Vec<u8>, Vec<u8>> = in_row(&flat)
            .enumerate()
            .map(|(nth, d)| ((nth as i64).to_be_bytes().to_vec(), d.as_bytes().to_vec()))
            .collect();
        let mut next = ids();
        group.bench_function("BTreeMap and copy", |b| {
            b.iter(|| next.next().and_then(|id| map.get(id.to_be_bytes().as_slice())).map(|d| black_box(d.clone())));
        });
        drop(map);
        let mut next = ids();
        group.bench_function("Collection::find_one", |b| {
            b.iter(|| {
                collection.find_one(doc! { "_id": next.next().unwrap_or(0) }).run().expect("found").map(black_box)
            });
        });
        group.finish();
    }
    {
        let mut group = c.benchmark_group("scan with a filter on one field");
        group.sample_size(10);
        let hand = || in_row(&flat).filter(|d| matches!(d.get("value"), Some(Value::Double(v)) if v > 139.0)).count();
        group.bench_function("walk by hand", |b| b.iter(|| black_box(hand())));
        let filter = doc! { "value": { "$gt": 139.0 } };
        let count = || collection.count_documents(filter.clone()).run().expect("count");
        assert_eq!(count(), hand() as u64);
        group.bench_function("count", |b| b.iter(|| black_box(count())));
        group.finish();
    }
    {
        let mut group = c.benchmark_group("average per sensor");
        group.sample_size(10);
        let pass = || {
            in_row(&flat).fold(0.0, |sum, d| match (d.get("sensorId"), d.get("value")) {
                (Some(Value::String(_)), Some(Value::Double(v))) => sum + v,
                _ => sum,
            })
        };
        group.bench_function("plain pass", |b| b.iter(|| black_box(pass())));
        let stages = || [doc! { "$group": { "_id": "$sensorId", "avg": { "$avg": "$value" } } }];
        let groups = || collection.aggregate(stages()).run().expect("groups").count();
        assert_eq!(groups() as i64, SENSORS);
        group.bench_function("$group", |b| b.iter(|| black_box(groups())));
        let top = || [doc! { "$sort": { "value": -1, "_id": 1 } }, doc! { "$limit": 10 }];
        let newest = || collection.aggregate(top()).run().expect("top").count();
        group.bench_function("$sort + $limit 10", |b| b.iter(|| black_box(newest())));
        group.finish();
    }
    {
        let mut group = c.benchmark_group("$lookup");
        group.sample_size(10);
        let db = Database::new();
        let customers = db.collection::<Document>("customers");
        let orders = db.collection::<Document>("orders");
        let all: Vec<Document> = (0..1_000).map(|n| doc! { "_id": n, "name": format!("customer {n}") }).collect();
        customers.insert_many(&all).expect("customers");
        let all: Vec<Document> = (0..10_000).map(|n| doc! { "_id": n, "customer": n * 7 % 1_000 }).collect();
        orders.insert_many(&all).expect("orders");
        group.bench_function("10,000 finds by _id", |b| {
            b.iter(|| {
                (0..10_000)
                    .filter_map(|n| customers.find_one(doc! { "_id": n * 7 % 1_000 }).run().expect("found"))
                    .count()
            });
        });
        let stages = || {
            [doc! { "$lookup": { "from": "customers", "localField": "customer", "foreignField": "_id", "as": "c" } }]
        };
        group.bench_function("$lookup of 10,000 orders", |b| {
            b.iter(|| orders.aggregate(stages()).run().expect("joined").count());
        });
        group.finish();
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
