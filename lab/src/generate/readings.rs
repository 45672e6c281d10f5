//! Readings of sensors, one a minute from each, in the order in which they arrive.

use std::collections::BTreeMap;

use bson::{DateTime, rawdoc};

use super::{EPOCH_MILLIS, Random};
use crate::documents::Documents;

/// How many readings, of what.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    /// Sensors, each with one reading a minute.
    pub sensors: u32,
    /// Minutes; the readings are `sensors * minutes`.
    pub minutes: u32,
    /// One reading in so many arrives late, by up to an hour and a half.
    pub one_late_in: u64,
    /// What makes the data what it is.
    pub seed: u64,
}

const LONGEST_DELAY_MINUTES: u64 = 90;

/// `{_id: int64, sensorId: "sn-0042", ts: date, value: double, quality: int32}`, 80 bytes each, in
/// order of arrival; `_id` counts up in that order.
///
/// The value of a sensor goes up and down once a day around a level of its own, with hundredths.
pub fn readings(wanted: Readings) -> Documents {
    let mut random = Random::stream(wanted.seed, "readings");
    let levels: Vec<i64> = (0..wanted.sensors).map(|_| 1_000 + random.below(1_500) as i64).collect();
    let mut documents = Documents::new();
    let mut late: BTreeMap<u32, Vec<Reading>> = BTreeMap::new();
    for minute in 0..wanted.minutes {
        for (sensor, level) in levels.iter().enumerate() {
            let reading = Reading {
                sensor: sensor as u32,
                minute,
                hundredths: level + daily_wave(minute) + random.below(41) as i64 - 20,
                quality: if random.one_in(20) { 60 + random.below(40) as i32 } else { 100 },
            };
            if random.one_in(wanted.one_late_in) {
                let arrival = minute + 1 + random.below(LONGEST_DELAY_MINUTES) as u32;
                late.entry(arrival).or_default().push(reading);
            } else {
                reading.push_to(&mut documents);
            }
        }
        for reading in late.remove(&minute).unwrap_or_default() {
            reading.push_to(&mut documents);
        }
    }
    for reading in late.into_values().flatten() {
        reading.push_to(&mut documents);
    }
    documents
}

/// A triangle of four degrees up and down, in hundredths.
fn daily_wave(minute: u32) -> i64 {
    let of_day = i64::from(minute % 1440);
    let up = if of_day < 720 { of_day } else { 1440 - of_day };
    up * 800 / 720 - 400
}

struct Reading {
    sensor: u32,
    minute: u32,
    hundredths: i64,
    quality: i32,
}

impl Reading {
    fn push_to(&self, documents: &mut Documents) {
        // Sensors report at a second of the minute of their own.
        let second = i64::from(self.sensor % 60);
        let at = EPOCH_MILLIS + i64::from(self.minute) * 60_000 + second * 1000;
        documents.push(&rawdoc! {
            "_id": documents.len() as i64,
            "sensorId": format!("sn-{:04}", self.sensor),
            "ts": DateTime::from_millis(at),
            "value": self.hundredths as f64 / 100.0,
            "quality": self.quality,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sensor_reports_once_a_minute_and_some_late() {
        let wanted = Readings { sensors: 7, minutes: 300, one_late_in: 50, seed: 1 };
        let documents = readings(wanted);
        assert_eq!(documents.len(), 2100);
        assert_eq!(documents.bytes(), 80 * 2100);
        let mut seen = std::collections::BTreeSet::new();
        let (mut late, mut newest) = (0, 0);
        for document in documents.iter() {
            let at = document.get_datetime("ts").expect("a date").timestamp_millis();
            let sensor = document.get_str("sensorId").expect("a string").to_owned();
            assert!(seen.insert((sensor, at / 60_000)), "one reading a minute");
            late += u32::from(at < newest - 60_000);
            newest = newest.max(at);
        }
        assert!((20..70).contains(&late), "{late} late readings");
        assert_eq!(readings(wanted).get(999), documents.get(999), "the same seed, the same data");
    }
}
