//! How much memory does the process take, beside the bytes that the engine accounts for?
//!
//! Loads a million readings of about 80 bytes in batches, with an index on {sensorId, ts}, and prints resident bytes
//! before and after, data bytes and index bytes. Linux only: it reads `/proc/self/statm`.
//!
//! `cargo bench -p bindery-benches --bench resident`

use bindery::Database;
use bson::{RawDocumentBuf, rawdoc};

/// Resident bytes of this process; 0 where there is no `/proc`.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * 4096
}

fn main() {
    // Criterion's own arguments come here too: a run that only tests loads little.
    let readings: i64 = if std::env::args().any(|a| a == "--test") { 10_000 } else { 1_000_000 };
    let before = resident_bytes();
    let db = Database::new();
    let collection = db.collection::<RawDocumentBuf>("readings");
    collection.create_index(bson::doc! { "sensorId": 1, "ts": 1 }).expect("index");
    for start in (0..readings).step_by(1_000) {
        let batch: Vec<RawDocumentBuf> = (start..start + 1_000)
            .map(|n| {
                rawdoc! {
                    "_id": n,
                    "sensorId": format!("sensor-{:04}", n % 500),
                    "ts": bson::DateTime::from_millis(1_700_000_000_000 + n / 500 * 60_000),
                    "value": (n % 977) as f64 / 7.0,
                }
            })
            .collect();
        collection.insert_many(&batch).expect("batch");
    }
    let taken = resident_bytes() - before;
    let stats = db.run_command(&rawdoc! { "collStats": "readings" });
    let number = |field: &str| match stats.get(field) {
        Ok(Some(bson::RawBsonRef::Int32(n))) => f64::from(n),
        Ok(Some(bson::RawBsonRef::Int64(n))) => n as f64,
        _ => 0.0,
    };
    let accounted = number("size") + number("totalIndexSize");
    println!(
        "{readings} readings: data {:.1} MB, indexes {:.1} MB, resident {:.1} MB, {:.3} times data and indexes",
        number("size") / 1e6,
        number("totalIndexSize") / 1e6,
        taken as f64 / 1e6,
        taken as f64 / accounted
    );
}
