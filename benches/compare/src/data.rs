//! The documents and what is asked of them, from a fixed seed.

use bson::{RawDocumentBuf, rawdoc};

/// Different sensors.
pub(crate) const SENSORS: u64 = 500;
const ORDERS: i64 = 10_000;
const CUSTOMERS: i64 = 1_000;
const FINDS: usize = 10_000;
const STRETCHES: usize = 1_000;
/// Readings of one sensor that a stretch of time holds.
const STRETCH_READINGS: i64 = 20;

/// A reading, in the form that every engine makes its own of.
pub(crate) struct Reading {
    /// `_id`, ascending.
    pub(crate) id: i64,
    /// The sensor's name.
    pub(crate) sensor: String,
    /// Milliseconds.
    pub(crate) ts: i64,
    /// What was measured.
    pub(crate) value: f64,
}

/// A sensor and a stretch of time: from, and up to but not including.
pub(crate) struct Stretch {
    pub(crate) sensor: String,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

/// All that is stored and asked for.
pub(crate) struct Data {
    pub(crate) readings: Vec<Reading>,
    /// The same readings as BSON.
    pub(crate) readings_bson: Vec<RawDocumentBuf>,
    /// The same readings as JSON.
    pub(crate) readings_json: Vec<String>,
    /// `_id`s of orders with their customers' `_id`s.
    pub(crate) orders: Vec<(i64, i64)>,
    /// `_id`s and names of customers.
    pub(crate) customers: Vec<(i64, String)>,
    /// `_id`s of readings to find.
    pub(crate) ids: Vec<i64>,
    pub(crate) stretches: Vec<Stretch>,
}

/// What an operation found: how many documents, and the sum of one of their numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) count: u64,
    pub(crate) sum: f64,
}

impl Answer {
    /// Counts a document in.
    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1;
        self.sum += number;
    }

    /// Whether both are the same but for the order in which numbers were added.
    pub(crate) fn agrees_with(&self, other: &Answer) -> bool {
        self.count == other.count && (self.sum - other.sum).abs() <= 1e-9 * self.sum.abs().max(1.0)
    }
}

/// The sensor with this number.
fn sensor(number: u64) -> String {
    format!("sensor-{number:04}")
}

fn time_of(reading: i64) -> i64 {
    1_700_000_000_000 + reading / SENSORS as i64 * 60_000
}

impl Data {
    /// The data of a run with so many readings.
    pub(crate) fn generate(n_readings: usize) -> Data {
        let mut state = 42_u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n.max(1)
        };
        let n = n_readings as i64;
        let readings: Vec<Reading> = (0..n)
            .map(|id| {
                let sensor = sensor(id as u64 % SENSORS);
                Reading { id, sensor, ts: time_of(id), value: random(100_000_000) as f64 / 1000.0 }
            })
            .collect();
        let readings_bson = readings
            .iter()
            .map(|r| rawdoc! { "_id": r.id, "sensorId": r.sensor.as_str(), "ts": r.ts, "value": r.value })
            .collect();
        let readings_json = readings
            .iter()
            .map(|r| serde_json::json!({"_id": r.id, "sensorId": r.sensor, "ts": r.ts, "value": r.value}).to_string())
            .collect();
        let ids = (0..FINDS).map(|_| random(n as u64) as i64).collect();
        let stretches = (0..STRETCHES)
            .map(|_| {
                let from = time_of(random(n as u64) as i64);
                Stretch { sensor: sensor(random(SENSORS)), from, to: from + STRETCH_READINGS * 60_000 }
            })
            .collect();
        Data {
            readings,
            readings_bson,
            readings_json,
            orders: (0..ORDERS).map(|id| (id, id * 7 % CUSTOMERS)).collect(),
            customers: (0..CUSTOMERS).map(|id| (id, format!("customer {id}"))).collect(),
            ids,
            stretches,
        }
    }
}
