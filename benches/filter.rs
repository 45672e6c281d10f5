//! How fast compiled filters match raw documents, beside plain passes over the same bytes.
//!
//! 100,000 documents of about 400 bytes with 16 top-level fields. `three_conditions` is
//! `{a: {$gte: x}, "b.c": "y", tags: "z"}`, to be held against `raw_document_pass`, the bson crate's
//! iteration over all top-level fields (at most 2 times its time). `one_condition` is
//! `{a: {$gte: x}}`, to be held against `hand_walk`, which does the same by offsets written out by hand (at
//! most 1.5 times).

use std::hint::black_box;

use bindery_document::{Doc, DocBuf};
use bindery_query::filter::{Filter, ParseContext};
use bson::{RawDocument, doc};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const N_DOCUMENTS: usize = 100_000;

/// Documents one after the other, and where each starts.
struct Documents {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Documents {
    fn generate() -> Documents {
        let mut documents = Documents { bytes: Vec::new(), starts: Vec::new() };
        let mut state = 42u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let words = ["x", "y", "z", "w", "red", "green", "blue", "small"];
        for id in 0..N_DOCUMENTS {
            let mut word = || words[random(words.len() as u64) as usize];
            let (c, tags, color) = (word(), [word(), word(), word(), word()], word());
            let document = doc! {
                "_id": id as i64, "name": format!("product number {id}"), "color": color, "price": random(10_000) as f64 / 100.0,
                "stock": random(500) as i32, "a": random(1000) as i32, "weight": random(900) as i32,
                "maker": {"name": "some maker", "city": "some city", "since": 1990},
                "b": {"a": random(10) as i32, "c": c, "d": true}, "created": bson::DateTime::from_millis(1_700_000_000_000),
                "tags": tags.to_vec(), "rating": 4.5, "active": true, "seller": "somebody or other",
                "note": "a few words that nobody looks at here", "version": 3,
            };
            documents.starts.push(documents.bytes.len());
            documents.bytes.extend(document.to_vec().expect("bytes"));
        }
        documents
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        self.starts.iter().zip(ends).map(|(&start, end)| &self.bytes[start..end])
    }
}

fn parse(filter: bson::Document) -> Filter {
    let filter = DocBuf::from_bson(&filter).expect("filter");
    Filter::parse(filter.doc(), &ParseContext::new()).expect("filter")
}

fn count(documents: &Documents, filter: &Filter) -> usize {
    documents.iter().filter(|bytes| filter.matches(Doc::from_stored(bytes)).expect("no failure")).count()
}

/// The integer field `a` by hand: no abstraction, no check but the slice's own.
fn hand_walk(bytes: &[u8], least: i32) -> bool {
    let mut at = 4;
    while bytes[at] != 0 {
        let kind = bytes[at];
        let key = at + 1;
        let mut end = key;
        while bytes[end] != 0 {
            end += 1;
        }
        let value = end + 1;
        if &bytes[key..end] == b"a" {
            return kind == 0x10
                && i32::from_le_bytes([bytes[value], bytes[value + 1], bytes[value + 2], bytes[value + 3]]) >= least;
        }
        let length =
            || u32::from_le_bytes([bytes[value], bytes[value + 1], bytes[value + 2], bytes[value + 3]]) as usize;
        at = value
            + match kind {
                0x01 | 0x09 | 0x11 | 0x12 => 8,
                0x02 => 4 + length(),
                0x03 | 0x04 => length(),
                0x08 => 1,
                0x10 => 4,
                _ => 0,
            };
    }
    false
}

fn filters(criterion: &mut Criterion) {
    let documents = Documents::generate();
    let mut group = criterion.benchmark_group("filter");
    group.throughput(Throughput::Elements(N_DOCUMENTS as u64)).sample_size(20);
    group.bench_function("raw_document_pass", |bencher| {
        bencher.iter(|| {
            let fields = |bytes| RawDocument::from_bytes(bytes).expect("document").iter().map(|f| f.expect("field"));
            documents
                .iter()
                .map(|bytes| fields(bytes).filter(|(key, _)| !black_box(key).is_empty()).count())
                .sum::<usize>()
        });
    });
    let three = parse(doc! {"a": {"$gte": 250}, "b.c": "y", "tags": "z"});
    group.bench_function("three_conditions", |bencher| bencher.iter(|| count(&documents, black_box(&three))));
    let three = parse(doc! {"a": {"$gte": 0}, "b.c": {"$gte": ""}, "tags": {"$ne": "q"}});
    group.bench_function("three_conditions_all_met", |bencher| bencher.iter(|| count(&documents, black_box(&three))));
    group.bench_function("hand_walk", |bencher| {
        bencher.iter(|| documents.iter().filter(|bytes| hand_walk(bytes, black_box(500))).count());
    });
    let one = parse(doc! {"a": {"$gte": 500}});
    group.bench_function("one_condition", |bencher| bencher.iter(|| count(&documents, black_box(&one))));
    let one = parse(doc! {"color": "red"});
    group.bench_function("one_string_equality", |bencher| bencher.iter(|| count(&documents, black_box(&one))));
    group.finish();
}

criterion_group!(benches, filters);
criterion_main!(benches);
