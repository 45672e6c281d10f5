//! The attribute layout under random operations.

use bson::{Bson, Document, doc};

use super::model::{Model, Random, Subject};

struct Products;

const ATTRIBUTES: [&str; 6] = ["color", "size", "weight", "tags", "dims", "extra"];

fn value(random: &mut Random) -> Bson {
    match random.below(14) {
        0 => Bson::Null,
        1 => "red".into(),
        2 => "blue".into(),
        3 => Bson::Int64(2),
        4 => Bson::Double(2.0),
        5 => Bson::Array(vec![Bson::Int32(1), Bson::Int32(3)]),
        6 => Bson::Array(vec![]),
        7 => Bson::Document(doc! {"w": random.below(3) as i32, "h": [1, "red"]}),
        8 => Bson::Array(vec![Bson::Document(doc! {"w": 1}), Bson::Document(doc! {"w": 4})]),
        9 => Bson::Double(f64::NAN),
        10 => Bson::Boolean(true),
        _ => Bson::Int32(random.below(5) as i32),
    }
}

impl Subject for Products {
    fn layout(&self) -> Document {
        doc! {"attribute": {"path": "specs", "except": ["name", "price"]}}
    }

    fn document(&self, random: &mut Random, id: i32) -> Document {
        let mut document = doc! {"_id": id};
        for _ in 0..random.below(6) {
            match random.below(4) {
                0 => document.insert("name", random.pick(&["a", "b", "c"])),
                1 => document.insert("price", random.below(9) as i32),
                _ => document.insert(random.pick(&ATTRIBUTES), value(random)),
            };
        }
        document
    }

    fn filter(&self, random: &mut Random) -> Document {
        let field = random.pick(&ATTRIBUTES);
        match random.below(16) {
            0 => doc! {field: value(random)},
            1 => doc! {field: {"$gte": value(random), "$lt": 4}},
            2 => doc! {field: {"$in": [value(random), value(random)]}},
            3 => doc! {field: {"$exists": random.one_in(2)}},
            4 => doc! {field: {"$ne": value(random)}},
            5 => doc! {"name": "a", field: value(random)},
            6 => doc! {"$or": [{field: value(random)}, {"price": {"$lt": 4}}]},
            7 => doc! {"color": value(random), "size": value(random), "weight": value(random)},
            8 => doc! {"dims.w": {"$lte": random.below(4) as i32}},
            9 => doc! {"price": {"$gt": random.below(9) as i32}},
            10 => doc! {"$nor": [{field: value(random)}, {"name": "b"}]},
            11 => doc! {field: {"$elemMatch": {"$gt": 0}}},
            12 => doc! {field: {"$type": "number"}, "name": {"$exists": true}},
            13 => doc! {field: {"$not": {"$gt": 2}}},
            14 => doc! {"$and": [{"color": {"$gt": 0}}, {"color": {"$lt": 3}}, {"size": {"$gte": 0}}]},
            _ => doc! {},
        }
    }

    fn update(&self, random: &mut Random) -> Document {
        let field = random.pick(&ATTRIBUTES);
        match random.below(7) {
            0 => doc! {"$set": {field: value(random)}},
            1 => doc! {"$unset": {field: ""}},
            2 => doc! {"$set": {"price": random.below(9) as i32, field: value(random)}},
            3 => doc! {"$rename": {"name": "price"}},
            4 => doc! {"$unset": {"name": "", "extra": ""}},
            5 => doc! {"$rename": {"extra": "name"}},
            _ => doc! {field: value(random), "name": "r", "size": value(random)},
        }
    }

    fn sort_fields(&self) -> Vec<&'static str> {
        vec!["name", "price", "color", "size", "dims.w"]
    }

    fn projection(&self, random: &mut Random) -> Document {
        match random.below(4) {
            0 => doc! {"color": 1, "name": 1},
            1 => doc! {"color": 0, "price": 0},
            2 => doc! {"dims.w": 1, "_id": 0},
            _ => doc! {"tags": {"$slice": 1}},
        }
    }

    fn group(&self, random: &mut Random) -> Document {
        match random.below(2) {
            0 => doc! {"_id": "$name", "n": {"$sum": 1}, "most": {"$max": "$price"}},
            _ => doc! {"_id": null, "least": {"$min": "$price"}, "sum": {"$sum": "$price"}},
        }
    }

    fn indexes(&self) -> Vec<Document> {
        vec![doc! {"name": 1, "price": -1}, doc! {"price": 1}]
    }
}

#[test]
fn attributes_answer_as_plain_documents_do() {
    for seed in 0..20 {
        Model::new(&Products, seed).steps(500);
    }
}
