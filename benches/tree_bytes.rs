//! How many bytes does an index entry take, against MongoDB's on the same data?
//!
//! A million entries of each kind, the tree compacted, grown in key order and grown in random
//! order; beside it MongoDB 6.0.5's bytes an entry (`collStats.indexSizes`, index built after
//! loading). No time is measured.
//!
//! ```text
//! cargo bench -p bindery-benches --bench tree_bytes
//! ```

use bindery_document::Value;
use bindery_index::key::{Direction, KeyBuilder};
use bindery_index::{RecordId, Tree, TreeOptions, TreeStats, Untraced};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

type Entry = (Vec<u8>, Vec<u8>);
type Append = fn(&mut KeyBuilder, &mut Random, u64);

/// Name, MongoDB's bytes an entry, whether it is `_id` (the RecordId is the value), the key.
const KINDS: [(&str, f64, bool, Append); 8] = [
    ("_id, ascending int", 10.8, true, |key, _, i| append(key, Value::Int32(i as i32))),
    ("_id, ObjectId", 10.8, true, |key, _, i| {
        let mut id = [0x65, 0, 0, 0, 0xA1, 0xB2, 0xC3, 0xD4, 0xE5, 0, 0, 0];
        id[1..4].copy_from_slice(&(i as u32 / 5000).to_be_bytes()[1..]);
        id[9..].copy_from_slice(&(i as u32).to_be_bytes()[1..]);
        append(key, Value::ObjectId(id));
    }),
    ("{sensorId: string, ts: date}", 12.2, false, |key, _, i| {
        append(key, Value::from(&format!("sensor-{:04}", i % 100)[..]));
        append(key, Value::DateTime(1_700_000_000_000 + (i / 100) as i64 * 60_000));
    }),
    ("ten distinct ints", 5.1, false, |key, _, i| append(key, Value::Int32((i % 10) as i32))),
    ("null", 3.8, false, |key, _, _| append(key, Value::Null)),
    ("random int", 10.8, false, |key, random, _| append(key, Value::Int32(random.next() as i32))),
    ("random 8-hex string", 14.2, false, |key, random, _| {
        append(key, Value::from(&format!("{:08x}", random.next() as u32)[..]));
    }),
    ("random double", 15.7, false, |key, random, _| {
        append(key, Value::Double((random.next() >> 11) as f64 / (1u64 << 53) as f64));
    }),
];

fn append(key: &mut KeyBuilder, value: Value<'_>) {
    key.append(&value, Direction::Ascending);
}

fn entries(n: u64, unique: bool, fields: Append) -> Vec<Entry> {
    let mut random = Random(7);
    let (mut key, mut id) = (KeyBuilder::new(), KeyBuilder::new());
    (0..n)
        .map(|i| {
            key.clear();
            fields(&mut key, &mut random, i);
            let mut value = Vec::new();
            if unique {
                id.clear();
                id.append_record_id(RecordId(i + 1));
                value.extend_from_slice(id.as_bytes());
                value.extend_from_slice(key.type_bits());
            } else {
                value.extend_from_slice(key.type_bits());
                key.append_record_id(RecordId(i + 1));
            }
            (key.as_bytes().to_vec(), value)
        })
        .collect()
}

fn grown(entries: &[Entry]) -> Tree {
    let mut tree = Tree::new(TreeOptions::default());
    for (key, value) in entries {
        tree.insert(key, value, &mut Untraced);
    }
    tree
}

fn per_entry(stats: &TreeStats) -> f64 {
    stats.bytes() as f64 / stats.entries as f64
}

fn main() {
    // `cargo test --benches` runs this too: in its smallest size.
    let n = if std::env::args().any(|arg| arg == "--bench") { 1_000_000 } else { 20_000 };
    println!("{n} entries; bytes an entry");
    println!(
        "{:<30} {:>8} {:>9} {:>9} {:>9} {:>9} {:>5}",
        "index", "MongoDB", "compacted", "key order", "random", "as loaded", "fill"
    );
    for (name, mongodb, unique, fields) in KINDS {
        let mut list = entries(n, unique, fields);
        let loaded = grown(&list);
        let mut compacted = loaded.clone();
        compacted.compact(&mut Untraced);
        list.sort_unstable();
        let in_order = grown(&list);
        let mut random = Random(8);
        for i in (1..list.len()).rev() {
            list.swap(i, (random.next() % (i as u64 + 1)) as usize);
        }
        let at_random = grown(&list);
        println!(
            "{name:<30} {mongodb:>8.1} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>5.2}",
            per_entry(&compacted.stats()),
            per_entry(&in_order.stats()),
            per_entry(&at_random.stats()),
            per_entry(&loaded.stats()),
            at_random.stats().fill(),
        );
    }
}
