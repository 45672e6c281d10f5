//! How fast stages run over raw documents, beside plain passes that read the same fields.
//!
//! 1,000,000 readings of about 80 bytes from 500 sensors. `group_avg` is the average per sensor, `sort_limit` the ten
//! readings with the highest value; they are to be held against `raw_pass`, which reads `sensorId` and `value` of each
//! reading with the bson crate's raw view (at most 3 times and 2 times its time), and `doc_pass`, the same with
//! this workspace's view.

use std::hint::black_box;
use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Result, Value};
use bindery_query::filter::ParseContext;
use bindery_query::pipeline::{Environment, NoForeign, Pipeline, Stream};
use bson::{RawDocument, doc};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const N_READINGS: usize = 1_000_000;
const N_SENSORS: u64 = 500;

/// Readings one after the other, and where each starts.
struct Readings {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Readings {
    fn generate() -> Readings {
        let mut readings = Readings { bytes: Vec::new(), starts: Vec::new() };
        let mut state = 42u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for id in 0..N_READINGS {
            let reading = doc! {
                "_id": id as i64, "sensorId": format!("s{:05}", random(N_SENSORS)),
                "ts": bson::DateTime::from_millis(1_700_000_000_000 + id as i64 * 1000),
                "value": random(100_000) as f64 / 100.0, "q": random(10) as i32,
            };
            readings.starts.push(readings.bytes.len());
            readings.bytes.extend(reading.to_vec().expect("bytes"));
        }
        readings
    }

    fn get(&self, index: usize) -> &[u8] {
        let end = self.starts.get(index + 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.starts[index]..end]
    }
}

/// The readings as a pipeline's source.
struct Scan {
    readings: Arc<Readings>,
    next: usize,
}

impl Stream for Scan {
    fn advance(&mut self) -> Result<bool> {
        let found = self.next < self.readings.starts.len();
        self.next += usize::from(found);
        Ok(found)
    }

    fn current(&self) -> Doc<'_> {
        Doc::from_stored(self.readings.get(self.next - 1))
    }
}

fn parse(stages: Vec<bson::Document>) -> Pipeline {
    let stages = DocBuf::from_bson(&doc! {"p": stages}).expect("pipeline");
    let stages = stages.doc().get("p").and_then(|p| p.as_array()).expect("array");
    Pipeline::parse(stages, &mut ParseContext::new()).expect("pipeline")
}

fn run(readings: &Arc<Readings>, pipeline: &Pipeline) -> usize {
    let scan = Scan { readings: Arc::clone(readings), next: 0 };
    let mut stream = pipeline.open(Box::new(scan), &Environment::new(Arc::new(NoForeign))).expect("stream");
    let mut n = 0;
    while stream.advance().expect("document") {
        black_box(stream.current());
        n += 1;
    }
    n
}

fn stages(criterion: &mut Criterion) {
    let readings = Arc::new(Readings::generate());
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Elements(N_READINGS as u64)).sample_size(10);
    group.bench_function("raw_pass", |bencher| {
        bencher.iter(|| {
            let mut sum = 0.0;
            for index in 0..N_READINGS {
                let reading = RawDocument::from_bytes(readings.get(index)).expect("document");
                black_box(reading.get_str("sensorId").expect("sensor"));
                sum += reading.get_f64("value").expect("value");
            }
            sum
        });
    });
    group.bench_function("doc_pass", |bencher| {
        bencher.iter(|| {
            let mut sum = 0.0;
            for index in 0..N_READINGS {
                let reading = Doc::from_stored(readings.get(index));
                black_box(reading.get("sensorId"));
                if let Some(Value::Double(value)) = reading.get("value") {
                    sum += value;
                }
            }
            sum
        });
    });
    let avg = parse(vec![doc! {"$group": {"_id": "$sensorId", "avg": {"$avg": "$value"}}}]);
    assert_eq!(run(&readings, &avg), N_SENSORS as usize);
    group.bench_function("group_avg", |bencher| bencher.iter(|| run(&readings, black_box(&avg))));
    let top = parse(vec![doc! {"$sort": {"value": -1}}, doc! {"$limit": 10}]);
    assert_eq!(run(&readings, &top), 10);
    group.bench_function("sort_limit", |bencher| bencher.iter(|| run(&readings, black_box(&top))));
    let matched = parse(vec![doc! {"$match": {"q": 3}}, doc! {"$count": "n"}]);
    group.bench_function("match_count", |bencher| bencher.iter(|| run(&readings, black_box(&matched))));
    let projected = parse(vec![doc! {"$project": {"value": 1, "double": {"$multiply": ["$value", 2]}}}]);
    group.bench_function("project_computed", |bencher| bencher.iter(|| run(&readings, black_box(&projected))));
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
