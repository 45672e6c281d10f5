//! How fast is the record store, beside what a program without a database would use?
//!
//! A million documents of 80 bytes: read at random, against `BTreeMap<u64, Vec<u8>>`; read in
//! order, against a walk over one flat `Vec<u8>` of the same length-prefixed documents; appended,
//! against pushing to a `Vec<Vec<u8>>`. Reads add up bytes of the document, so that it must be there.
//!
//! `cargo bench -p bindery-benches --bench records [-- get]`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bindery_index::records::Records;
use bindery_index::{RecordId, Untraced};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const DOCUMENTS: u64 = 1_000_000;
const DOCUMENT_BYTES: usize = 80;
const PAGE_SIZES: [usize; 4] = [8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// A document that begins with its length, as BSON does.
fn document(nth: u64) -> [u8; DOCUMENT_BYTES] {
    let mut document = [0; DOCUMENT_BYTES];
    document[..4].copy_from_slice(&(DOCUMENT_BYTES as u32).to_le_bytes());
    document[4..12].copy_from_slice(&nth.to_le_bytes());
    document
}

fn records(page_bytes: usize) -> Records {
    let mut records = Records::with_page_bytes(page_bytes);
    for nth in 0..DOCUMENTS {
        records.append(&document(nth), &mut Untraced);
    }
    records
}

fn map() -> BTreeMap<u64, Vec<u8>> {
    (0..DOCUMENTS).map(|nth| (nth + 1, document(nth).to_vec())).collect()
}

/// Ids in use, in an order without a pattern (a multiplicative walk over them).
fn ids() -> impl Iterator<Item = u64> {
    (0_u64..).scan(0x9E37_79B9_7F4A_7C15_u64, |state, _| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some((*state >> 33) % DOCUMENTS + 1)
    })
}

fn weigh(document: &[u8]) -> u64 {
    u64::from(document[4]) + u64::from(document[document.len() - 1])
}

fn get(c: &mut Criterion) {
    let mut group = c.benchmark_group("get at random");
    {
        let map = map();
        let mut ids = ids();
        group.bench_function("BTreeMap", |b| {
            b.iter(|| ids.next().and_then(|rid| map.get(&rid)).map(|document| weigh(document)));
        });
    }
    for page_bytes in PAGE_SIZES {
        let records = records(page_bytes);
        let mut ids = ids();
        group.bench_function(BenchmarkId::new("Records", page_bytes), |b| {
            b.iter(|| {
                let rid = ids.next().map(RecordId);
                rid.and_then(|rid| records.get(rid, &mut Untraced)).map(weigh)
            });
        });
    }
    group.finish();
}

fn get_beside_a_writer(c: &mut Criterion) {
    let mut group = c.benchmark_group("get at random, a snapshot held and written beside");
    let mut records = records(bindery_index::records::DEFAULT_PAGE_BYTES);
    let snapshot = records.clone();
    let (mut reads, mut writes) = (ids(), ids());
    for rid in writes.by_ref().take(100_000) {
        records.update(RecordId(rid), &document(7), &mut Untraced);
    }
    for (name, store) in [("written", &records), ("snapshot", &snapshot)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let rid = reads.next().map(RecordId);
                rid.and_then(|rid| store.get(rid, &mut Untraced)).map(weigh)
            });
        });
    }
    group.finish();
}

fn scan(c: &mut Criterion) {
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements(DOCUMENTS)).sample_size(20);
    {
        let flat: Vec<u8> = (0..DOCUMENTS).flat_map(document).collect();
        group.bench_function("flat buffer", |b| {
            b.iter(|| {
                let (mut rest, mut sum) = (black_box(flat.as_slice()), 0);
                while let Some(prefix) = rest.first_chunk() {
                    let (document, after) = rest.split_at(u32::from_le_bytes(*prefix) as usize);
                    sum += weigh(document);
                    rest = after;
                }
                sum
            });
        });
    }
    {
        let map = map();
        group.bench_function("BTreeMap", |b| {
            b.iter(|| black_box(&map).values().map(|document| weigh(document)).sum::<u64>());
        });
    }
    for page_bytes in PAGE_SIZES {
        let records = records(page_bytes);
        group.bench_function(BenchmarkId::new("Records, by runs", page_bytes), |b| {
            b.iter(|| {
                let (mut cursor, mut sum) = (black_box(&records).cursor(), 0);
                while let Some(run) = cursor.next_run(&mut Untraced) {
                    sum += run.map(|(_, document)| weigh(document)).sum::<u64>();
                }
                sum
            });
        });
        group.bench_function(BenchmarkId::new("Records", page_bytes), |b| {
            b.iter(|| {
                let (mut cursor, mut sum) = (black_box(&records).cursor(), 0);
                while let Some((_, document)) = cursor.next(&mut Untraced) {
                    sum += weigh(document);
                }
                sum
            });
        });
    }
    group.finish();
}

/// Times `load` without the time to drop what it returns.
fn timed<T>(iterations: u64, mut load: impl FnMut() -> T) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let start = Instant::now();
        let loaded = black_box(load());
        total += start.elapsed();
        drop(loaded);
    }
    total
}

fn append(c: &mut Criterion) {
    let mut group = c.benchmark_group("append");
    group.throughput(Throughput::Elements(DOCUMENTS)).sample_size(10);
    group.bench_function("Vec<Vec<u8>>", |b| {
        b.iter_custom(|n| timed(n, || (0..DOCUMENTS).map(|nth| document(nth).to_vec()).collect::<Vec<_>>()));
    });
    group.bench_function("BTreeMap", |b| b.iter_custom(|n| timed(n, map)));
    for page_bytes in PAGE_SIZES {
        group.bench_function(BenchmarkId::new("Records", page_bytes), |b| {
            b.iter_custom(|n| timed(n, || records(page_bytes)));
        });
    }
    group.finish();
}

fn write(c: &mut Criterion) {
    let mut group = c.benchmark_group("write at random");
    for page_bytes in PAGE_SIZES {
        let mut records = records(page_bytes);
        let mut ids = ids();
        group.bench_function(BenchmarkId::new("update, same size", page_bytes), |b| {
            b.iter(|| {
                let rid = RecordId(ids.next().unwrap_or(1));
                records.update(rid, &document(rid.0), &mut Untraced)
            });
        });
        group.bench_function(BenchmarkId::new("grow and shrink", page_bytes), |b| {
            b.iter(|| {
                let rid = RecordId(ids.next().unwrap_or(1));
                let len = DOCUMENT_BYTES + (rid.0 % 16) as usize;
                records.update_with(rid, len, |document| document[4] = 1, &mut Untraced)
            });
        });
        group.bench_function(BenchmarkId::new("remove and insert", page_bytes), |b| {
            b.iter(|| {
                let rid = RecordId(ids.next().unwrap_or(1));
                records.remove(rid, &mut Untraced);
                records.insert_at(rid, &document(rid.0), &mut Untraced)
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = get, get_beside_a_writer, scan, append, write
}
criterion_main!(benches);
