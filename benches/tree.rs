//! Is the tree of index keys as fast as a `BTreeMap<Vec<u8>, u64>` with the same million keys?
//!
//! Keys are index entries as the engine writes them: ordered key, then RecordId. Each group is a
//! question; in it `tree` stands beside `btreemap`. What must hold (times of the tree against those
//! of the map): lookup 0.9, insertion in random order 1.2, in key order 0.8, scan 1.0; a lookup
//! while a snapshot is held and written beside 1.2 times a plain one.
//!
//! ```text
//! cargo bench -p bindery-benches --bench tree
//! ```

use std::collections::BTreeMap;
use std::hint::black_box;

use bindery_document::Value;
use bindery_index::key::{Direction, KeyBuilder};
use bindery_index::{Cursor, RecordId, Tree, TreeOptions, Untraced};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const ENTRIES: usize = 1_000_000;
/// Lookups in one iteration.
const LOOKUPS: usize = 1000;

/// A seeded generator (SplitMix64): the same keys on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

/// The keys of one index, in random order.
struct DataSet {
    name: &'static str,
    keys: Vec<Vec<u8>>,
}

fn data_sets() -> Vec<DataSet> {
    let mut random = Random(1);
    let mut builder = KeyBuilder::new();
    let mut set = |name, fields: &mut dyn FnMut(&mut KeyBuilder, &mut Random, usize)| {
        let keys = (0..ENTRIES).map(|i| {
            builder.clear();
            fields(&mut builder, &mut random, i);
            builder.append_record_id(RecordId(i as u64));
            builder.as_bytes().to_vec()
        });
        let mut keys: Vec<_> = keys.collect();
        random.shuffle(&mut keys);
        DataSet { name, keys: laid_out(&keys) }
    };
    vec![
        // 14 to 15 bytes.
        set("hex8", &mut |key, random, _| {
            let hex = format!("{:08x}", random.next() as u32);
            key.append(&Value::from(&hex[..]), Direction::Ascending);
        }),
        // 20 bytes.
        set("sensor_ts", &mut |key, _, i| {
            let sensor = format!("s{:03}", i % 300);
            key.append(&Value::from(&sensor[..]), Direction::Ascending);
            let ts = 1_700_000_000_000 + (i / 300) as i64 * 60_000;
            key.append(&Value::DateTime(ts), Direction::Ascending);
        }),
    ]
}

/// The keys copied to lie in memory in the order of their use, so that fetching them, which costs
/// either side the same, does not hide the difference.
fn laid_out(keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.to_vec()).collect()
}

fn tree_of(keys: &[Vec<u8>]) -> Tree {
    let mut tree = Tree::new(TreeOptions::default());
    for key in keys {
        tree.insert(key, &[], &mut Untraced);
    }
    tree
}

fn map_of(keys: &[Vec<u8>]) -> BTreeMap<Vec<u8>, u64> {
    keys.iter().zip(0..).map(|(key, id)| (key.clone(), id)).fold(BTreeMap::new(), |mut map, (key, id)| {
        map.insert(key, id);
        map
    })
}

/// Hands out keys in random order, the next `LOOKUPS` on each call.
struct Probes {
    keys: Vec<Vec<u8>>,
    at: usize,
}

impl Probes {
    fn of(set: &DataSet) -> Probes {
        let mut keys = set.keys.clone();
        Random(2).shuffle(&mut keys);
        Probes { keys: laid_out(&keys), at: 0 }
    }

    fn take(&mut self) -> &[Vec<u8>] {
        if self.at + LOOKUPS > self.keys.len() {
            self.at = 0;
        }
        self.at += LOOKUPS;
        &self.keys[self.at - LOOKUPS..self.at]
    }
}

fn lookup(c: &mut Criterion) {
    for set in data_sets() {
        let mut group = c.benchmark_group(format!("lookup/{}", set.name));
        group.throughput(Throughput::Elements(LOOKUPS as u64));
        let mut probes = Probes::of(&set);
        let map = map_of(&set.keys);
        group.bench_function("btreemap", |b| {
            b.iter(|| probes.take().iter().filter(|key| map.contains_key(&key[..])).count());
        });
        drop(map);
        let mut tree = tree_of(&set.keys);
        group.bench_function("tree", |b| {
            b.iter(|| probes.take().iter().filter(|key| tree.get(key, &mut Untraced).is_some()).count());
        });
        // Every so many lookups a snapshot is taken and the tree is written beside it.
        let mut random = Random(3);
        group.bench_function("tree_beside_snapshot", |b| {
            b.iter_batched(
                || {
                    let snapshot = tree.clone();
                    for _ in 0..20 {
                        let key = &set.keys[random.next() as usize % ENTRIES];
                        tree.remove(key, &mut Untraced);
                        tree.insert(key, &[], &mut Untraced);
                    }
                    (snapshot, probes.take().to_vec())
                },
                |(snapshot, keys)| {
                    let found = keys.iter().filter(|key| snapshot.get(key, &mut Untraced).is_some()).count();
                    (found, snapshot, keys)
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function("tree_compacted", |b| {
            tree.compact(&mut Untraced);
            b.iter(|| probes.take().iter().filter(|key| tree.get(key, &mut Untraced).is_some()).count());
        });
        group.finish();
    }
}

fn insert(c: &mut Criterion) {
    for set in data_sets() {
        let mut sorted = set.keys.clone();
        sorted.sort_unstable();
        let sorted = laid_out(&sorted);
        for (order, keys) in [("random", &set.keys), ("key_order", &sorted)] {
            let mut group = c.benchmark_group(format!("insert_{order}/{}", set.name));
            group.throughput(Throughput::Elements(ENTRIES as u64));
            group.sample_size(10);
            group.bench_function("btreemap", |b| b.iter_with_large_drop(|| map_of(keys)));
            group.bench_function("tree", |b| b.iter_with_large_drop(|| tree_of(keys)));
            group.finish();
        }
    }
}

fn scan(c: &mut Criterion) {
    for set in data_sets() {
        let mut sorted = set.keys.clone();
        sorted.sort_unstable();
        let sorted = laid_out(&sorted);
        for (order, keys) in [("loaded_random", &set.keys), ("loaded_in_order", &sorted)] {
            let mut group = c.benchmark_group(format!("scan_{order}/{}", set.name));
            group.throughput(Throughput::Elements(ENTRIES as u64));
            group.sample_size(20);
            let map = map_of(keys);
            group.bench_function("btreemap", |b| {
                b.iter(|| map.iter().fold(0u64, |sum, (key, id)| sum.wrapping_add(black_box(last_byte(key)) + id)));
            });
            drop(map);
            let tree = tree_of(keys);
            group.bench_function("tree", |b| {
                b.iter(|| {
                    let mut cursor = Cursor::new(&tree);
                    let mut sum = 0u64;
                    while cursor.next(&mut Untraced) {
                        let value = cursor.value().len() as u64;
                        sum = sum.wrapping_add(black_box(last_byte(cursor.key())) + value);
                    }
                    sum
                });
            });
            group.bench_function("tree_backward", |b| {
                b.iter(|| {
                    let mut cursor = Cursor::new(&tree);
                    let mut sum = 0u64;
                    cursor.seek_last(&mut Untraced);
                    while cursor.is_on_entry() {
                        let value = cursor.value().len() as u64;
                        sum = sum.wrapping_add(black_box(last_byte(cursor.key())) + value);
                        cursor.prev(&mut Untraced);
                    }
                    sum
                });
            });
            group.finish();
        }
    }
}

fn last_byte(key: &[u8]) -> u64 {
    key.last().map_or(0, |byte| u64::from(*byte))
}

criterion_group!(benches, lookup, insert, scan);
criterion_main!(benches);
