//! Indexes are smaller than MongoDB's: the same documents on both, bytes of each index beside each other.
//!
//! MongoDB's figure is `collStats.indexSizes` after `fsync`, the indexes built after loading: its smallest. The
//! engine's is compacted; printed beside it is what the index takes when it grows with its documents, in order and
//! at random.

use bindery_lab::generate::Random;
use bindery_lab::target::{Engine, Planner, Target, Targets};
use bson::oid::ObjectId;
use bson::{Bson, Document, doc};

use crate::mongod::Mongod;

const DOCUMENTS: usize = 200_000;
const BATCH: usize = 1_000;

/// Documents, and the indexes on them beside that on `_id`.
struct Data {
    collection: &'static str,
    documents: Vec<Document>,
    indexes: Vec<(&'static str, Document)>,
}

fn readings() -> Data {
    let mut random = Random::new(1);
    let reading = |n: usize| {
        doc! {
            "_id": n as i32,
            "sensorId": format!("sensor-{:04}", n % 100),
            "ts": bson::DateTime::from_millis(1_700_000_000_000 + (n / 100) as i64 * 60_000),
            "ten": (n % 10) as i32,
            "random": random.unit(),
        }
    };
    let documents = (0..DOCUMENTS).map(reading).collect();
    let indexes = vec![
        ("sensorId_1_ts_1", doc! {"sensorId": 1, "ts": 1}),
        ("ten_1", doc! {"ten": 1}),
        ("random_1", doc! {"random": 1}),
    ];
    Data { collection: "readings", documents, indexes }
}

/// Each with five of fifty attributes, numbers and strings.
fn products() -> Data {
    let mut random = Random::new(2);
    let product = |n: usize| {
        let spec = |nth: u64| {
            let k = nth * 10 + random.below(10);
            let v = if k.is_multiple_of(2) {
                Bson::Int32(random.below(1_000) as i32)
            } else {
                Bson::String(format!("value {}", random.below(40)))
            };
            doc! {"k": format!("attribute{k}"), "v": v}
        };
        let specs: Vec<Document> = (0..5).map(spec).collect();
        doc! {"_id": object_id(n), "specs": specs}
    };
    let documents = (0..DOCUMENTS).map(product).collect();
    Data { collection: "products", documents, indexes: vec![("specs", doc! {"specs.k": 1, "specs.v": 1})] }
}

/// As a driver makes them: 5,000 a second, by one process.
fn object_id(n: usize) -> ObjectId {
    let mut id = [0x65, 0, 0, 0, 0xA1, 0xB2, 0xC3, 0xD4, 0xE5, 0, 0, 0];
    id[1..4].copy_from_slice(&(n as u32 / 5_000).to_be_bytes()[1..]);
    id[9..].copy_from_slice(&(n as u32).to_be_bytes()[1..]);
    ObjectId::from_bytes(id)
}

fn run(target: &mut dyn Target, command: Document) {
    let command = bson::serialize_to_raw_document_buf(&command).expect("a command");
    let reply = target.run(&command).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply:?}");
}

fn insert(target: &mut dyn Target, data: &Data, order: &[usize]) {
    for batch in order.chunks(BATCH) {
        let documents: Vec<&Document> = batch.iter().map(|&n| &data.documents[n]).collect();
        let documents = bson::serialize_to_bson(&documents).expect("documents");
        run(target, doc! {"insert": data.collection, "documents": documents});
    }
}

fn create_indexes(target: &mut dyn Target, data: &Data) {
    let index = |(name, key): &(&str, Document)| Bson::from(doc! {"key": key.clone(), "name": *name});
    let indexes: Vec<Bson> = data.indexes.iter().map(index).collect();
    run(target, doc! {"createIndexes": data.collection, "indexes": indexes});
}

/// Bytes of each index.
fn sizes(target: &mut dyn Target, data: &Data) -> Vec<(String, u64)> {
    let figures = target.storage(data.collection).unwrap_or_else(|error| panic!("{error}"));
    let mut sizes: Vec<_> = figures.indexes.into_iter().map(|tree| (tree.name, tree.bytes)).collect();
    sizes.sort();
    sizes
}

/// On the engine: grown with its documents in this order, and then compacted.
fn grown_and_compacted(data: &Data, order: &[usize]) -> [Vec<(String, u64)>; 2] {
    let mut target = Engine.open(Planner::Bindery).expect("a database");
    create_indexes(&mut *target, data);
    insert(&mut *target, data, order);
    let grown = sizes(&mut *target, data);
    target.compact(data.collection).unwrap_or_else(|error| panic!("{error}"));
    [grown, sizes(&mut *target, data)]
}

/// Checks one collection's indexes, and says what was found.
fn compare(data: &Data, mongod: &Mongod) -> Vec<String> {
    let in_order: Vec<usize> = (0..data.documents.len()).collect();
    let mut shuffled = in_order.clone();
    let mut random = Random::new(3);
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, random.below(at as u64 + 1) as usize);
    }

    let mut server = mongod.open(Planner::Mongodb).unwrap_or_else(|error| panic!("{error}"));
    insert(&mut *server, data, &in_order);
    create_indexes(&mut *server, data);
    run(&mut *server, doc! {"fsync": 1, "$db": "admin"});
    let theirs = sizes(&mut *server, data);
    let [ordered, compacted] = grown_and_compacted(data, &in_order);
    let [at_random, compacted_too] = grown_and_compacted(data, &shuffled);

    let mut larger = Vec::new();
    for (nth, (name, theirs)) in theirs.iter().enumerate() {
        let ours = [&compacted, &ordered, &at_random, &compacted_too].map(|sizes| {
            assert_eq!(&sizes[nth].0, name);
            sizes[nth].1
        });
        eprintln!(
            "{} {name}: {} bytes compacted, {} grown in order, {} at random; {theirs} on MongoDB",
            data.collection, ours[0], ours[1], ours[2]
        );
        if ours[0].max(ours[3]) > *theirs {
            larger.push(format!("{} {name}: {ours:?} bytes, {theirs} on MongoDB", data.collection));
        }
    }
    larger
}

#[test]
fn indexes_take_no_more_than_on_mongodb() {
    let Some(mongod) = Mongod::from_environment() else { return };
    let larger: Vec<String> = [readings(), products()].iter().flat_map(|data| compare(data, &mongod)).collect();
    assert!(larger.is_empty(), "{}", larger.join("\n"));
}
