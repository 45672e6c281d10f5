//! What does an insert cost above keeping the bytes? Documents through the typed API and as commands, a thousand at a
//! time, into an empty collection, with the index on `_id` alone and with one more; also with ids in no order.
//!
//! The baseline pushes a copy of each document to a `Vec` and its `_id` to a `BTreeMap`: what a program without a
//! database would do.
//!
//! `cargo bench -p bindery-benches --bench insert`

use std::collections::BTreeMap;
use std::hint::black_box;

use bindery::{Collection, Database};
use bson::{RawArrayBuf, RawDocumentBuf, doc, rawdoc};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const READINGS: i64 = 200_000;
const SENSORS: i64 = 500;
const BATCH: usize = 1_000;

fn reading(nth: i64) -> RawDocumentBuf {
    rawdoc! {
        "_id": nth,
        "sensorId": format!("sensor-{:04}", nth % SENSORS),
        "ts": bson::DateTime::from_millis(1_700_000_000_000 + nth / SENSORS * 60_000),
        "value": (nth % 977) as f64 / 7.0,
    }
}

/// An empty collection, with one more index if asked for.
fn collection(indexed: bool) -> (Database, Collection<RawDocumentBuf>) {
    let db = Database::new();
    let collection = db.collection::<RawDocumentBuf>("readings");
    if indexed {
        collection.create_index(doc! { "sensorId": 1, "ts": 1 }).expect("index");
    }
    (db, collection)
}

fn insert(c: &mut Criterion) {
    let readings: Vec<RawDocumentBuf> = (0..READINGS).map(reading).collect();
    let commands: Vec<RawDocumentBuf> = readings
        .chunks(BATCH)
        .map(|batch| {
            let documents: RawArrayBuf = batch.iter().cloned().collect();
            rawdoc! { "insert": "readings", "documents": documents }
        })
        .collect();
    let mut group = c.benchmark_group("insert");
    group.sample_size(10).throughput(Throughput::Elements(READINGS as u64));
    group.bench_function("Vec and BTreeMap", |b| {
        let load = |(mut documents, mut by_id): (Vec<Vec<u8>>, BTreeMap<Vec<u8>, usize>)| {
            for (place, (id, reading)) in (0..READINGS).zip(&readings).enumerate() {
                documents.push(reading.as_bytes().to_vec());
                by_id.insert(id.to_be_bytes().to_vec(), place);
            }
            black_box((documents, by_id))
        };
        b.iter_batched(Default::default, load, BatchSize::PerIteration);
    });
    for (indexed, with) in [(false, ""), (true, ", two indexes")] {
        group.bench_function(format!("Collection::insert_many{with}"), |b| {
            let load = |(db, collection): (Database, Collection<RawDocumentBuf>)| {
                for batch in readings.chunks(BATCH) {
                    collection.insert_many(batch).expect("inserted");
                }
                db
            };
            b.iter_batched(|| collection(indexed), load, BatchSize::PerIteration);
        });
        group.bench_function(format!("run_command{with}"), |b| {
            let load = |(db, _): (Database, Collection<RawDocumentBuf>)| {
                for command in &commands {
                    black_box(db.run_command(command));
                }
                db
            };
            b.iter_batched(|| collection(indexed), load, BatchSize::PerIteration);
        });
    }
    // An odd factor below the modulus' power of two visits every number once.
    let scattered: Vec<RawDocumentBuf> = (0..READINGS).map(|nth| reading(nth * 0x9E3B1 % (1 << 20))).collect();
    group.bench_function("Collection::insert_many, ids in no order", |b| {
        let load = |(db, collection): (Database, Collection<RawDocumentBuf>)| {
            for batch in scattered.chunks(BATCH) {
                collection.insert_many(batch).expect("inserted");
            }
            db
        };
        b.iter_batched(|| collection(false), load, BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, insert);
criterion_main!(benches);
