//! What one update, projection or sort key costs over raw documents.
//!
//! The rival of an update is the cheapest thing that gives a changed document: a copy of its bytes, with an
//! element found by hand. Run: `cargo bench -p bindery-benches --bench update`.

use std::hint::black_box;

use bindery_document::{Builder, Doc, DocBuf, Value};
use bindery_index::keygen::Keys;
use bindery_query::expression::ParseContext;
use bindery_query::projection::{Input, Language, Projection};
use bindery_query::sort::{Sort, Sorter};
use bindery_query::update::{Now, Options, Update};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A bucket of readings, as applications write them: about 30 bytes a reading.
fn bucket(readings: i32) -> DocBuf {
    let mut out = Builder::new();
    out.append("_id", 1);
    out.append("sensorId", 17);
    out.append("count", readings);
    out.append("sum", 0.5);
    let array = out.open_array("readings");
    let mut digits = [0; 20];
    for i in 0..readings {
        let reading = out.open_document(bindery_document::build::index_key(i as usize, &mut digits));
        out.append("t", Value::DateTime(i64::from(i)));
        out.append("v", f64::from(i));
        out.close(reading);
    }
    out.close(array);
    out.append("max", 9.5);
    out.finish()
}

/// A document of about 400 bytes in 20 fields.
fn product() -> DocBuf {
    let mut out = Builder::new();
    out.append("_id", 1);
    for i in 0..18 {
        if i % 3 == 0 {
            out.append(format!("field{i}"), "some text here");
        } else {
            out.append(format!("field{i}"), i);
        }
    }
    let inner = out.open_document("inner");
    out.append("x", 1);
    out.append("y", 2);
    out.close(inner);
    out.finish()
}

fn document(json: &str) -> DocBuf {
    let document: bson::Document = serde_json::from_str(json).expect("document");
    DocBuf::from_bson(&document).expect("document")
}

fn updates(c: &mut Criterion) {
    let mut group = c.benchmark_group("update");
    let cases = [
        (
            "product",
            product(),
            vec![
                r#"{"$inc": {"field1": 1}}"#,
                r#"{"$set": {"field17": "other text", "inner.y": 3}}"#,
                r#"{"$set": {"new.a": 1, "new.b": 2}}"#,
            ],
        ),
        (
            "bucket of 60",
            bucket(60),
            vec![
                r#"{"$push": {"readings": {"t": 1, "v": 2.5}}, "$inc": {"count": 1, "sum": 2.5}, "$max": {"max": 2.5}}"#,
            ],
        ),
        (
            "bucket of 3600",
            bucket(3600),
            vec![
                r#"{"$push": {"readings": {"t": 1, "v": 2.5}}, "$inc": {"count": 1, "sum": 2.5}, "$max": {"max": 2.5}}"#,
                r#"{"$set": {"readings.1800.v": 1.5}}"#,
            ],
        ),
    ];
    for (name, stored, specs) in cases {
        group.throughput(Throughput::Bytes(stored.as_bytes().len() as u64));
        let mut copy = Vec::new();
        group.bench_function(BenchmarkId::new(name, "copy and find by hand"), |b| {
            b.iter(|| {
                copy.clear();
                copy.extend_from_slice(black_box(stored.as_bytes()));
                Doc::from_stored(&copy).element(b"max").map(|element| element.bytes.len())
            });
        });
        for spec in specs {
            let update = document(spec);
            let update = Update::parse(Value::Document(update.doc()), &[], Options::default()).expect("update");
            let mut out = Vec::new();
            group.bench_function(BenchmarkId::new(name, spec), |b| {
                b.iter(|| update.apply(black_box(stored.doc()), None, Now::default(), &mut out).expect("applies"));
            });
        }
    }
    group.finish();
}

fn projections(c: &mut Criterion) {
    let mut group = c.benchmark_group("projection");
    let stored = product();
    for spec in [r#"{"field1": 1, "field9": 1}"#, r#"{"inner.x": 1}"#, r#"{"field3": 0}"#, r#"{"n": "$field4"}"#] {
        let projection = document(spec);
        let projection = Projection::parse(projection.doc(), Language::Find, None, &mut ParseContext::new());
        let projection = projection.expect("projection");
        let mut out = Vec::new();
        group.bench_function(spec, |b| {
            b.iter(|| projection.apply(&Input::new(black_box(stored.doc())), &mut out).expect("applies"));
        });
    }
    group.finish();
}

fn sorts(c: &mut Criterion) {
    let mut group = c.benchmark_group("sort");
    const DOCUMENTS: u32 = 100_000;
    let mut seed = 1u32;
    let docs: Vec<DocBuf> = (0..DOCUMENTS)
        .map(|i| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut out = Builder::new();
            out.append("_id", i as i32);
            out.append("a", (seed >> 8) as i32);
            out.append("b", format!("text {}", seed % 1000).as_str());
            out.finish()
        })
        .collect();
    group.throughput(Throughput::Elements(u64::from(DOCUMENTS)));
    group.sample_size(10);
    for (name, spec, limit) in [
        ("all by a", r#"{"a": 1}"#, None),
        ("all by b, a", r#"{"b": 1, "a": -1}"#, None),
        ("first 10 by a", r#"{"a": 1}"#, Some(10)),
    ] {
        let spec = document(spec);
        let sort = Sort::parse(spec.doc(), None).expect("sort");
        group.bench_function(name, |b| {
            b.iter(|| {
                let (mut keys, mut sorter) = (Keys::new(), Sorter::new(limit, usize::MAX));
                for (number, stored) in docs.iter().enumerate() {
                    let key = sort.key(stored.doc(), &mut keys).expect("key");
                    sorter.push(key, number, 8).expect("memory");
                }
                sorter.finish().count()
            });
        });
    }
    group.bench_function("rival: Vec of (i32, usize) sorted by a", |b| {
        b.iter(|| {
            let mut items: Vec<(i32, usize)> = docs
                .iter()
                .enumerate()
                .map(|(number, stored)| match stored.doc().get("a") {
                    Some(Value::Int32(a)) => (a, number),
                    _ => (0, number),
                })
                .collect();
            items.sort();
            items.len()
        });
    });
    group.finish();
}

criterion_group!(benches, updates, projections, sorts);
criterion_main!(benches);
