//! Buckets as an application writes them on a plain collection.
//!
//! ```text
//! {_id, sensorId: "sn-0042", start: 2024-03-01T05:00Z, count: 60,
//!  summary: {n: 60, sum: 1265.4, min: 20.3, max: 21.9}, readings: [{ts, value, quality}, ...]}
//! ```
//!
//! with an index on sensor and start. A reading drops its own `_id` and the sensor, which the bucket
//! has. It arrives by one upsert (`$push`, `$inc`, `$min`, `$max`). A whole load writes a bucket once,
//! when its sensor has moved on to the next one; readings that come later are pushed.

use std::collections::BTreeMap;

use bson::raw::cstr;
use bson::{Bson, DateTime, RawArrayBuf, RawDocument, RawDocumentBuf, rawdoc};

use super::logical::reading;
use super::{Bucket, Operation, READINGS, span_name};
use crate::answer::{Answer, compare};
use crate::error::Result;
use crate::scenario::{Loader, Role, Schema, create, create_indexes};
use crate::session::{BATCH, Session, field, owned};

pub(super) struct Buckets<'a> {
    data: &'a Bucket,
    span: i64,
}

/// A bucket that is being filled before it is written.
#[derive(Default)]
struct Open {
    readings: RawArrayBuf,
    count: i32,
    n: i32,
    sum: f64,
    min: f64,
    max: f64,
}

impl Open {
    fn add(&mut self, reading: &RawDocument, value: Option<f64>) {
        self.readings.push(reading);
        self.count += 1;
        if let Some(value) = value {
            let first = self.n == 0;
            self.min = if first { value } else { self.min.min(value) };
            self.max = if first { value } else { self.max.max(value) };
            self.n += 1;
            self.sum += value;
        }
    }
}

impl<'a> Buckets<'a> {
    pub(super) fn new(data: &'a Bucket, span: i64) -> Buckets<'a> {
        Buckets { data, span }
    }

    fn start_of(&self, millis: i64) -> i64 {
        millis.div_euclid(self.span) * self.span
    }

    fn of_meta(&self, meta: usize) -> Result<RawDocumentBuf> {
        let mut filter = RawDocumentBuf::new();
        if let Some(name) = &self.data.fields.meta {
            filter.append(field(name.as_str())?, self.data.raw_meta(meta)?);
        }
        Ok(filter)
    }

    /// What a bucket keeps of a reading.
    fn element(&self, document: &RawDocument) -> RawDocumentBuf {
        let mut element = RawDocumentBuf::new();
        for (name, value) in document.iter().flatten() {
            let is_meta = self.data.fields.meta.as_deref() == Some(name.as_str());
            if name.as_str() != "_id" && !is_meta {
                element.append(name, value);
            }
        }
        element
    }

    fn value_of(&self, document: &RawDocument) -> Option<f64> {
        match document.get(&self.data.fields.value).ok()?? {
            bson::RawBsonRef::Int32(n) => Some(f64::from(n)),
            bson::RawBsonRef::Int64(n) => Some(n as f64),
            bson::RawBsonRef::Double(n) => Some(n),
            _ => None,
        }
    }

    fn whole(&self, meta: usize, start: i64, open: Open) -> Result<RawDocumentBuf> {
        let mut bucket = self.of_meta(meta)?;
        bucket.append(cstr!("start"), DateTime::from_millis(start));
        bucket.append(cstr!("count"), open.count);
        let mut summary = rawdoc! { "n": open.n, "sum": open.sum };
        if open.n > 0 {
            summary.append(cstr!("min"), open.min);
            summary.append(cstr!("max"), open.max);
        }
        bucket.append(cstr!("summary"), summary);
        bucket.append(cstr!("readings"), open.readings);
        Ok(bucket)
    }

    /// The update that adds one reading, whether its bucket is there or not.
    fn push(&self, meta: usize, at: i64, document: &RawDocument) -> Result<RawDocumentBuf> {
        let mut filter = self.of_meta(meta)?;
        filter.append(cstr!("start"), DateTime::from_millis(self.start_of(at)));
        let push = rawdoc! { "readings": self.element(document) };
        let update = match self.value_of(document) {
            Some(value) => rawdoc! {
                "$push": push,
                "$inc": { "count": 1, "summary.n": 1, "summary.sum": value },
                "$min": { "summary.min": value },
                "$max": { "summary.max": value },
            },
            None => rawdoc! { "$push": push, "$inc": { "count": 1 } },
        };
        Ok(rawdoc! { "q": filter, "u": update, "upsert": true })
    }

    /// The readings in the buckets of `rows` that `keep` wants, by time.
    fn readings(&self, rows: &[RawDocumentBuf], mut keep: impl FnMut(&Bson) -> bool) -> Result<Vec<(Bson, Bson)>> {
        let mut found = Vec::new();
        for row in rows {
            let Ok(readings) = row.get_array("readings") else { continue };
            for element in readings.into_iter().flatten() {
                let Some(element) = element.as_document() else { continue };
                let time = owned(element, &self.data.fields.time)?.unwrap_or(Bson::Null);
                if keep(&time) {
                    found.push((time, reading(&self.data.fields, element)?));
                }
            }
        }
        found.sort_by(|a, b| compare(&a.0, &b.0).unwrap_or(std::cmp::Ordering::Equal));
        Ok(found)
    }
}

impl Schema<Operation> for Buckets<'_> {
    fn name(&self) -> String {
        format!("by hand, {}", span_name(self.span))
    }

    fn role(&self) -> Role {
        Role::ByHand
    }

    fn note(&self) -> String {
        format!("one document for each sensor and {}, with summary and array of readings", span_name(self.span))
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![READINGS]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        let mut key = RawDocumentBuf::new();
        if let Some(meta) = &self.data.fields.meta {
            key.append(field(meta.as_str())?, 1);
        }
        key.append(cstr!("start"), 1);
        Ok(vec![create(READINGS, None), create_indexes(READINGS, &[key], false)?])
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        let data = self.data;
        // By start, so that buckets are written in the order in which they end.
        let mut open: BTreeMap<(i64, u32), Open> = BTreeMap::new();
        let mut current: Vec<Option<i64>> = vec![None; data.metas.len()];
        for position in &data.order {
            let position = *position as usize;
            let Some(document) = data.documents.get(position) else { continue };
            let (at, meta) = (data.times[position], data.of[position]);
            let start = self.start_of(at);
            match current[meta as usize] {
                Some(now) if start < now => {
                    loader.update(READINGS, &self.push(meta as usize, at, document)?)?;
                    continue;
                }
                Some(now) if start > now => {
                    if let Some(bucket) = open.remove(&(now, meta)) {
                        loader.insert(READINGS, &self.whole(meta as usize, now, bucket)?)?;
                    }
                    current[meta as usize] = Some(start);
                }
                Some(_) => {}
                None => current[meta as usize] = Some(start),
            }
            open.entry((start, meta)).or_default().add(&self.element(document), self.value_of(document));
        }
        for ((start, meta), bucket) in open {
            loader.insert(READINGS, &self.whole(meta as usize, start, bucket)?)?;
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        match operation {
            Operation::Recent { meta, after, until } => {
                let mut filter = self.of_meta(*meta)?;
                let range = rawdoc! {
                    "$gte": DateTime::from_millis(self.start_of(*after)), "$lte": DateTime::from_millis(*until),
                };
                filter.append(cstr!("start"), range);
                let rows = session.rows(&rawdoc! { "find": READINGS, "filter": filter, "batchSize": BATCH })?;
                let (after, until) = (DateTime::from_millis(*after), DateTime::from_millis(*until));
                let found = self
                    .readings(&rows, |time| matches!(time, Bson::DateTime(time) if *time > after && *time <= until))?;
                Ok(Answer::ordered(found.into_iter().map(|(_, row)| row).collect()))
            }
            Operation::Summary { meta, from, to } => {
                let mut filter = self.of_meta(*meta)?;
                let range = rawdoc! { "$gte": DateTime::from_millis(*from), "$lt": DateTime::from_millis(*to) };
                filter.append(cstr!("start"), range);
                let rows = session.rows(&rawdoc! {
                    "aggregate": READINGS,
                    "pipeline": [
                        { "$match": filter },
                        { "$group": {
                            "_id": null,
                            "min": { "$min": "$summary.min" },
                            "max": { "$max": "$summary.max" },
                            "sum": { "$sum": "$summary.sum" },
                            "n": { "$sum": "$summary.n" },
                        } },
                    ],
                    "cursor": {},
                })?;
                let rows = rows.iter().map(|row| {
                    let part = |name: &str| Ok(owned(row, name)?.unwrap_or(Bson::Null));
                    Ok(Bson::Array(vec![part("min")?, part("max")?, average(row)]))
                });
                Ok(Answer::ordered(rows.collect::<Result<_>>()?))
            }
            Operation::Averages => {
                let id = match &self.data.fields.meta {
                    Some(meta) => bson::RawBson::String(format!("${meta}")),
                    None => bson::RawBson::Null,
                };
                let rows = session.rows(&rawdoc! {
                    "aggregate": READINGS,
                    "pipeline": [{ "$group": {
                        "_id": id,
                        "sum": { "$sum": "$summary.sum" },
                        "n": { "$sum": "$summary.n" },
                    } }],
                    "cursor": { "batchSize": BATCH },
                })?;
                let rows = rows.iter().map(|row| {
                    let id = owned(row, "_id")?.unwrap_or(Bson::Null);
                    Ok(Bson::Document(bson::doc! { "_id": id, "avg": average(row) }))
                });
                Ok(Answer::bag(rows.collect::<Result<_>>()?))
            }
            Operation::Latest { meta } => {
                let rows = session.rows(&rawdoc! {
                    "find": READINGS, "filter": self.of_meta(*meta)?, "sort": { "start": -1 }, "limit": 1,
                })?;
                let mut found = self.readings(&rows, |_| true)?;
                Ok(Answer::ordered(found.pop().map(|(_, row)| row).into_iter().collect()))
            }
            Operation::Ingest { meta, at, document } => {
                let update = self.push(*meta, *at, document)?;
                let reply = session.run(&rawdoc! { "update": READINGS, "updates": [update] })?;
                Ok(Answer::ordered(vec![owned(&reply, "n")?.unwrap_or(Bson::Null)]))
            }
        }
    }
}

fn average(row: &RawDocument) -> Bson {
    let number = |name: &str| match row.get(name) {
        Ok(Some(bson::RawBsonRef::Int32(n))) => f64::from(n),
        Ok(Some(bson::RawBsonRef::Int64(n))) => n as f64,
        Ok(Some(bson::RawBsonRef::Double(n))) => n,
        _ => 0.0,
    };
    match number("n") {
        0.0 => Bson::Null,
        n => Bson::Double(number("sum") / n),
    }
}
