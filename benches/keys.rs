//! What does a key cost beside reading the fields it is made of?
//!
//! Each group has a plain walk over the same fields of the same documents; the ratio to it is what holds
//! across machines. Work: 10,000 documents an iteration, one key each (`specs`: 10 each).

use std::hint::black_box;
use std::time::Duration;

use bindery_document::{Builder, Doc, DocBuf, Value};
use bindery_index::RecordId;
use bindery_index::key::{Direction, Directions, KeyBuilder, KeyDecoder, prefix_end};
use bindery_index::keygen::{KeyGenerator, KeyPattern, Keys};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const DOCUMENTS: u64 = 10_000;

/// Readings of 300 sensors, one a minute.
fn readings() -> Vec<DocBuf> {
    let reading = |i: u64| {
        let mut builder = Builder::new();
        builder.append("_id", Value::Int32(i as i32));
        builder.append("sensorId", format!("sensor-{:04}", i * 7919 % 300).as_str());
        builder.append("ts", Value::DateTime(1_700_000_000_000 + i as i64 * 200));
        builder.append("value", Value::Double(20.0 + (i % 1000) as f64 / 100.0));
        builder.finish()
    };
    (0..DOCUMENTS).map(reading).collect()
}

/// Products with ten attributes each, folded into an array.
fn products() -> Vec<DocBuf> {
    let product = |i: u64| {
        let mut builder = Builder::new();
        builder.append("_id", Value::Int32(i as i32));
        let specs = builder.open_array("specs");
        for j in 0..10 {
            let mut digits = [0; 20];
            let spec = builder.open_document(bindery_document::build::index_key(j, &mut digits));
            builder.append("k", format!("attr_{:03}", (i * 31 + j as u64 * 47) % 500).as_str());
            builder.append("v", Value::Int32((i % 100) as i32));
            builder.close(spec);
        }
        builder.close(specs);
        builder.finish()
    };
    (0..DOCUMENTS).map(product).collect()
}

fn generator(fields: &[&str]) -> KeyGenerator {
    let mut builder = Builder::new();
    for field in fields {
        builder.append(field, 1);
    }
    KeyGenerator::new(KeyPattern::parse(builder.finish().doc()).expect("a pattern"))
}

/// Finds and decodes the fields, as anything that reads them must.
fn walk(doc: Doc<'_>, fields: &[&str]) -> usize {
    fields.iter().filter_map(|field| doc.get(field)).map(|value| value.kind() as usize).sum()
}

fn walk_array(doc: Doc<'_>) -> usize {
    let specs = doc.get("specs").and_then(|value| value.as_array());
    let elements = specs.into_iter().flatten().filter_map(|element| element.value().as_document());
    elements.map(|spec| walk(spec, &["k", "v"])).sum()
}

fn generating(c: &mut Criterion) {
    let (readings, products) = (readings(), products());
    for (name, documents, fields) in [
        ("_id", &readings, &["_id"][..]),
        ("sensorId_ts", &readings, &["sensorId", "ts"]),
        ("value", &readings, &["value"]),
        ("specs", &products, &["specs.k", "specs.v"]),
    ] {
        let mut group = c.benchmark_group(format!("keys_{name}"));
        group.throughput(Throughput::Elements(DOCUMENTS));
        group.bench_function("walk", |b| {
            b.iter(|| {
                let each = documents.iter().map(|document| match name {
                    "specs" => walk_array(document.doc()),
                    _ => walk(document.doc(), fields),
                });
                each.fold(0, |sum, n| black_box(sum + n))
            });
        });
        let generator = generator(fields);
        let mut keys = Keys::new();
        group.bench_function("generate", |b| {
            b.iter(|| {
                for document in documents {
                    generator.generate(document.doc(), &mut keys).expect("keys");
                    black_box(keys.iter().map(|key| key.bytes.len()).sum::<usize>());
                }
            });
        });
        group.finish();
    }
}

fn reading_back(c: &mut Criterion) {
    let mut entries = Vec::new();
    for (i, document) in readings().iter().enumerate() {
        let mut key = KeyBuilder::new();
        key.append(&document.doc().get("sensorId").expect("sensorId"), Direction::Ascending);
        key.append(&document.doc().get("ts").expect("ts"), Direction::Ascending);
        key.append_record_id(RecordId(i as u64));
        entries.push(key);
    }
    let mut group = c.benchmark_group("keys_back");
    group.throughput(Throughput::Elements(DOCUMENTS));
    let mut out = Vec::new();
    group.bench_function("decode", |b| {
        b.iter(|| {
            for entry in &entries {
                out.clear();
                let mut decoder = KeyDecoder::new(entry.as_bytes(), entry.type_bits(), Directions::ASCENDING);
                black_box((decoder.next_into(&mut out), decoder.next_into(&mut out)).1.is_ok());
            }
        });
    });
    group.bench_function("prefix_end", |b| {
        b.iter(|| {
            entries
                .iter()
                .filter_map(|entry| prefix_end(entry.as_bytes(), 1, Directions::ASCENDING).ok())
                .sum::<usize>()
        });
    });
    group.bench_function("record_id", |b| {
        b.iter(|| {
            entries
                .iter()
                .filter_map(|entry| bindery_index::key::record_id(entry.as_bytes()).ok())
                .map(|id| id.0)
                .sum::<u64>()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).without_plots();
    targets = generating, reading_back
}
criterion_main!(benches);
