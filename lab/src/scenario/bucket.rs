//! Readings of sensors over time: one document each, or bound into buckets of an hour or a day.
//!
//! Asked: what came lately from one sensor; the least, greatest and average value of one sensor over a
//! long span; the average of every sensor; the latest reading of one. Done: a reading arrives.
//! The two spans are an hour and a day for readings some minutes apart, a day and thirty days for
//! sparser ones.

mod by_hand;
mod logical;

use std::collections::HashMap;

use bson::{Bson, DateTime, RawBson, RawBsonRef, RawDocumentBuf};

use super::{DataFigures, Effect, Question, Scenario, Schema};
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::generate::{self, HotSet, Random};
use crate::session::{field, owned};

/// The collection of every schema of this scenario.
const READINGS: &str = "readings";

const HOUR: i64 = 3_600_000;

/// Which fields of the readings mean what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The moment of the reading, a date.
    pub time: String,
    /// Which sensor it is from; `None` where there is only one.
    pub meta: Option<String>,
    /// The number that is averaged.
    pub value: String,
}

/// In which order readings are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are given.
    Given,
    /// By their time.
    Time,
    /// Sensor by sensor, each by time.
    Meta,
    /// At random, by a fixed seed.
    Random,
}

/// The readings and what is known of them.
pub struct Bucket {
    documents: Documents,
    fields: Fields,
    description: String,
    load_order: String,
    /// Positions in `documents`, in load order.
    order: Vec<u32>,
    /// Per document: its moment in milliseconds and its sensor, an index into `metas`.
    times: Vec<i64>,
    of: Vec<u32>,
    metas: Vec<Meta>,
    first: i64,
    newest: i64,
    /// The usual time between two readings of one sensor.
    gap: i64,
    /// Milliseconds of a short and of a long bucket.
    spans: [i64; 2],
    hot: HotSet,
}

struct Meta {
    value: Bson,
    newest: i64,
    /// The document that ingested readings look like.
    template: usize,
}

/// One logical operation. Moments are milliseconds since 1970, sensors are positions in the data's list.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Readings of one sensor, by time.
    Recent {
        /// Which sensor.
        meta: usize,
        /// Later than this.
        after: i64,
        /// Not later than this.
        until: i64,
    },
    /// Least, greatest and average value of one sensor.
    Summary {
        /// Which sensor.
        meta: usize,
        /// Not earlier than this.
        from: i64,
        /// Earlier than this.
        to: i64,
    },
    /// The average value of every sensor.
    Averages,
    /// The newest reading of one sensor.
    Latest {
        /// Which sensor.
        meta: usize,
    },
    /// A reading arrives.
    Ingest {
        /// Its sensor.
        meta: usize,
        /// Its moment.
        at: i64,
        /// The logical document.
        document: RawDocumentBuf,
    },
}

impl Bucket {
    /// A million generated readings of 250 sensors, one in a hundred of them late.
    pub fn generated(seed: u64, sensors: u32, minutes: u32) -> Result<Bucket> {
        let wanted = generate::Readings { sensors, minutes, one_late_in: 100, seed };
        let fields = Fields { time: "ts".to_owned(), meta: Some("sensorId".to_owned()), value: "value".to_owned() };
        let description = format!("generated with seed {seed}: {sensors} sensors, one reading a minute");
        let mut bucket = Bucket::new(generate::readings(wanted), fields, description, Order::Given, seed)?;
        bucket.load_order = "as they arrive: by time, 1 % up to 90 minutes late".to_owned();
        Ok(bucket)
    }

    /// Readings from elsewhere. Fails with [`Error::Unsuitable`] where one has no date in its time
    /// field or no sensor.
    pub fn new(documents: Documents, fields: Fields, description: String, order: Order, seed: u64) -> Result<Bucket> {
        field(fields.time.as_str())?;
        field(fields.value.as_str())?;
        let mut times = Vec::with_capacity(documents.len());
        let mut of = Vec::with_capacity(documents.len());
        let mut metas: Vec<Meta> = Vec::new();
        let mut index: HashMap<String, u32> = HashMap::new();
        for (position, document) in documents.iter().enumerate() {
            let wrong = |what: String| Error::Unsuitable(format!("reading {}: {what}", position + 1));
            let time = match document.get(&fields.time) {
                Ok(Some(RawBsonRef::DateTime(at))) => at.timestamp_millis(),
                Ok(Some(_)) => return Err(wrong(format!("`{}` is no date", fields.time))),
                _ => return Err(wrong(format!("it has no field `{}`", fields.time))),
            };
            let value = match &fields.meta {
                None => Bson::Null,
                Some(meta) => owned(document, meta)?.ok_or_else(|| wrong(format!("it has no field `{meta}`")))?,
            };
            let next = metas.len() as u32;
            let meta = *index.entry(value.to_string()).or_insert(next);
            if meta == next {
                metas.push(Meta { value, newest: time, template: position });
            }
            let known = &mut metas[meta as usize];
            known.newest = known.newest.max(time);
            times.push(time);
            of.push(meta);
        }
        let (Some(first), Some(newest)) = (times.iter().min().copied(), times.iter().max().copied()) else {
            return Err(Error::Unsuitable("there are no readings".to_owned()));
        };
        let gap = usual_gap(&times, &of);
        let spans = if gap <= HOUR / 10 { [HOUR, 24 * HOUR] } else { [24 * HOUR, 720 * HOUR] };
        let (order, load_order) = arrange(order, &times, &of, seed);
        let hot = HotSet::new(metas.len(), &mut Random::stream(seed, "hot sensors"));
        Ok(Bucket {
            documents,
            fields,
            description,
            load_order: load_order.to_owned(),
            order,
            times,
            of,
            metas,
            first,
            newest,
            gap,
            spans,
            hot,
        })
    }

    /// The value of a sensor's meta field.
    fn raw_meta(&self, meta: usize) -> Result<RawBson> {
        let value = self.metas[meta].value.clone();
        RawBson::try_from(value).map_err(|error| Error::Unsuitable(error.to_string()))
    }

    /// How many readings all sensors have sent after `written` more: steps of the usual gap.
    fn steps(&self, meta: usize, written: u64) -> i64 {
        let metas = self.metas.len() as u64;
        let behind = u64::from(meta as u64 >= written % metas);
        ((written / metas) + 1 - behind) as i64
    }

    fn ingest(&self, written: u64) -> Operation {
        let meta = (written % self.metas.len() as u64) as usize;
        let at = self.metas[meta].newest + (self.steps(meta, written) + 1) * self.gap;
        let mut document = RawDocumentBuf::new();
        let template = self.documents.get(self.metas[meta].template);
        for (name, value) in template.into_iter().flat_map(|d| d.iter()).flatten() {
            match name.as_str() {
                // A number above all others; any other kind of id is left to the server.
                "_id" => {
                    if value.as_i32().is_some() || value.as_i64().is_some() {
                        document.append(name, (1_i64 << 40) + written as i64);
                    }
                }
                time if time == self.fields.time => document.append(name, DateTime::from_millis(at)),
                _ => document.append(name, value),
            }
        }
        Operation::Ingest { meta, at, document }
    }
}

/// The median time between neighbouring readings of one sensor, at least a millisecond.
fn usual_gap(times: &[i64], of: &[u32]) -> i64 {
    let mut sorted: Vec<(u32, i64)> = of.iter().copied().zip(times.iter().copied()).collect();
    sorted.sort_unstable();
    let mut gaps: Vec<i64> =
        sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1 - pair[0].1).collect();
    let middle = gaps.len() / 2;
    if gaps.is_empty() {
        return 60_000;
    }
    (*gaps.select_nth_unstable(middle).1).max(1)
}

fn arrange(order: Order, times: &[i64], of: &[u32], seed: u64) -> (Vec<u32>, &'static str) {
    let mut positions: Vec<u32> = (0..times.len() as u32).collect();
    let name = match order {
        Order::Given => "as given",
        Order::Time => {
            positions.sort_by_key(|p| times[*p as usize]);
            "by time"
        }
        Order::Meta => {
            positions.sort_by_key(|p| (of[*p as usize], times[*p as usize]));
            "sensor by sensor, each by time"
        }
        Order::Random => {
            Random::stream(seed, "order").shuffle(&mut positions);
            "at random"
        }
    };
    (positions, name)
}

/// `hour`, `day`, `30 days`, `36 hours`.
fn span_name(span: i64) -> String {
    match span / HOUR {
        1 => "hour".to_owned(),
        24 => "day".to_owned(),
        hours if hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}

impl Scenario for Bucket {
    type Operation = Operation;

    fn name(&self) -> &'static str {
        "bucket"
    }

    fn data(&self) -> DataFigures {
        DataFigures {
            description: self.description.clone(),
            load_order: self.load_order.clone(),
            documents: self.documents.len() as u64,
            bytes: self.documents.bytes(),
        }
    }

    fn questions(&self) -> Vec<Question> {
        let [short, long] = self.spans.map(span_name);
        let question = |name: String, text: &str, effect, weight, samples| Question {
            name,
            text: text.to_owned(),
            effect,
            weight,
            samples,
        };
        vec![
            question(format!("last {short}"), "the latest readings of one sensor, by time", Effect::Read, 55, 200),
            question(
                format!("{long} summary"),
                "least, greatest and average value of one sensor",
                Effect::Read,
                10,
                200,
            ),
            question("averages".to_owned(), "the average value of every sensor over all time", Effect::Read, 0, 3),
            question("latest".to_owned(), "the newest reading of one sensor", Effect::Read, 15, 200),
            question("ingest".to_owned(), "a reading arrives", Effect::Write, 20, 500),
        ]
    }

    fn mix_operations(&self) -> usize {
        10_000
    }

    fn draw(&self, question: usize, written: u64, random: &mut Random) -> Operation {
        let [short, long] = self.spans;
        let meta = self.hot.pick(random);
        match question {
            0 => {
                let until = self.metas[meta].newest + self.steps(meta, written) * self.gap;
                Operation::Recent { meta, after: until - short, until }
            }
            1 => {
                let first = self.first.div_euclid(long);
                let spans = self.newest.div_euclid(long) - first + 1;
                let from = (first + random.below(spans as u64) as i64) * long;
                Operation::Summary { meta, from, to: from + long }
            }
            2 => Operation::Averages,
            3 => Operation::Latest { meta },
            _ => self.ingest(written),
        }
    }

    fn schemas(&self) -> Vec<Box<dyn Schema<Operation> + '_>> {
        let mut schemas: Vec<Box<dyn Schema<Operation> + '_>> = vec![Box::new(logical::Readings::plain(self))];
        for span in self.spans {
            schemas.push(Box::new(by_hand::Buckets::new(self, span)));
        }
        for span in self.spans {
            schemas.push(Box::new(logical::Readings::native(self, span)));
        }
        schemas
    }
}
