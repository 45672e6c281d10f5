//! The bucket layout under random operations.

use bson::{Bson, DateTime, Document, doc};

use super::model::{Model, Random, Subject};

struct Readings {
    options: Document,
}

/// A time within some hours, in steps that make equal ones likely.
fn time(random: &mut Random) -> Bson {
    Bson::DateTime(DateTime::from_millis(random.below(400) as i64 * 60_000 - 7_200_000))
}

fn sensor(random: &mut Random) -> Bson {
    match random.below(12) {
        0 => Bson::Null,
        1 => Bson::Double(1.0),
        2 => Bson::Document(doc! {"room": random.below(2) as i32, "tags": ["a", 1]}),
        3 => Bson::Array(vec![Bson::Int32(1), Bson::Int32(2)]),
        _ => Bson::Int32(random.below(4) as i32),
    }
}

fn number(random: &mut Random) -> Bson {
    match random.below(12) {
        0 => Bson::Null,
        1 => "off".into(),
        2 => Bson::Int64(3),
        3 => Bson::Array(vec![Bson::Int32(2), Bson::Int32(90)]),
        4 => Bson::Double(f64::NAN),
        5 => Bson::Int32(random.below(9) as i32),
        _ => Bson::Double(random.below(400) as f64 / 4.0),
    }
}

impl Subject for Readings {
    fn layout(&self) -> Document {
        doc! {"bucket": self.options.clone()}
    }

    fn document(&self, random: &mut Random, id: i32) -> Document {
        let mut document = doc! {"_id": id};
        match random.below(8) {
            0 => {
                document.insert("ts", time(random));
                document.insert("value", number(random));
                document.insert("sensor", sensor(random));
            }
            1 => {
                document.insert("ts", time(random));
            }
            _ => {
                document.insert("sensor", sensor(random));
                document.insert("ts", time(random));
                document.insert("value", number(random));
                document.insert("level", random.below(1000) as i32 - 300);
                if random.one_in(3) {
                    document.insert("extra", doc! {"a": [random.below(3) as i32]});
                }
            }
        }
        document
    }

    fn filter(&self, random: &mut Random) -> Document {
        match random.below(14) {
            0 => doc! {"sensor": sensor(random)},
            1 => doc! {"sensor": sensor(random), "ts": {"$gte": time(random), "$lt": time(random)}},
            2 => doc! {"ts": {"$gt": time(random)}},
            3 => doc! {"ts": {"$in": [time(random), time(random)]}},
            4 => doc! {"value": {"$gt": 60}},
            5 => doc! {"value": {"$lt": 10}, "sensor": {"$in": [1, 2]}},
            6 => doc! {"value": number(random)},
            7 => doc! {"sensor": {"$ne": sensor(random)}},
            8 => doc! {"sensor.room": 1},
            9 => doc! {"$or": [{"sensor": 1}, {"ts": {"$lte": time(random)}}]},
            10 => doc! {"$nor": [{"sensor": 1}, {"value": {"$gt": 50}}]},
            11 => doc! {"sensor": {"$exists": false}},
            12 => match random.below(3) {
                0 => doc! {"ts": time(random)},
                1 => doc! {"sensor": random.below(4) as i32},
                _ => doc! {"sensor": random.below(4) as i32, "ts": {"$gt": time(random), "$lte": time(random)}},
            },
            _ => doc! {},
        }
    }

    fn update(&self, random: &mut Random) -> Document {
        match random.below(6) {
            0 => doc! {"$set": {"value": number(random)}},
            1 => doc! {"$set": {"sensor": sensor(random), "ts": time(random)}},
            2 => doc! {"$set": {"ts": time(random), "value": 4}},
            3 => doc! {"$unset": {"extra": "", "sensor": ""}, "$set": {"ts": time(random)}},
            4 => doc! {"$max": {"ts": time(random)}},
            _ => doc! {"sensor": sensor(random), "ts": time(random), "value": number(random)},
        }
    }

    fn sort_fields(&self) -> Vec<&'static str> {
        vec!["ts", "sensor", "value", "ts", "sensor.room"]
    }

    fn order_fields(&self, random: &mut Random) -> Vec<&'static str> {
        if random.one_in(4) { vec!["ts", "level"] } else { vec!["ts"] }
    }

    fn projection(&self, random: &mut Random) -> Document {
        match random.below(3) {
            0 => doc! {"ts": 1, "value": 1},
            1 => doc! {"sensor": 0},
            _ => doc! {"extra.a": 1, "sensor": 1, "_id": 0},
        }
    }

    fn group(&self, random: &mut Random) -> Document {
        match random.below(10) {
            6 => {
                doc! {"_id": {"$dateTrunc": {"date": "$ts", "unit": "hour"}}, "n": {"$sum": 1}, "most": {"$max": "$level"}}
            }
            7 => doc! {
                "_id": {"d": {"$dateTrunc": {"date": "$ts", "unit": "minute", "binSize": 45}}, "s": "$sensor"},
                "n": {"$sum": 1}, "sum": {"$sum": "$level"},
            },
            8 => doc! {
                "_id": {"r": "$sensor.room", "d": {"$dateTrunc": {"date": "$ts", "unit": "day"}}},
                "least": {"$min": "$level"}, "avg": {"$avg": "$level"},
            },
            9 => doc! {"_id": {"$minute": "$ts"}, "most": {"$max": "$level"}, "s": {"$addToSet": "$absent"}},
            4 => doc! {"_id": "$sensor", "n": {"$sum": 1}, "sum": {"$sum": "$extra"}},
            5 => doc! {"_id": null, "most": {"$max": "$level"}, "sum": {"$sum": "$level"}, "avg": {"$avg": "$level"}},
            0 => doc! {"_id": "$sensor", "n": {"$sum": 1}, "most": {"$max": "$ts"}},
            1 => doc! {"_id": null, "n": {"$sum": 1}, "sum": {"$sum": "$value"}},
            2 => doc! {"_id": "$sensor", "least": {"$min": "$value"}, "avg": {"$avg": "$value"}},
            _ => doc! {"_id": null, "avg": {"$avg": "$value"}, "n": {"$count": {}}},
        }
    }

    fn ids_are_unique(&self) -> bool {
        false
    }
}

#[test]
fn buckets_by_hour_answer_as_plain_documents_do() {
    for seed in 0..8 {
        Model::new(&Readings { options: doc! {"time": "ts", "meta": "sensor", "hours": 1} }, seed).steps(500);
    }
}

#[test]
fn buckets_of_documents_answer_as_plain_documents_do() {
    let options = doc! {"time": "ts", "meta": "sensor", "hours": 2, "columns": false};
    for seed in 20..23 {
        Model::new(&Readings { options: options.clone() }, seed).steps(500);
    }
}

#[test]
fn buckets_by_count_answer_as_plain_documents_do() {
    for seed in 0..6 {
        Model::new(&Readings { options: doc! {"time": "ts", "meta": "sensor", "count": 7} }, seed).steps(500);
    }
}

#[test]
fn buckets_without_meta_answer_as_plain_documents_do() {
    Model::new(&Readings { options: doc! {"time": "ts", "minutes": 30, "summary": ["value"]} }, 9).steps(500);
}
