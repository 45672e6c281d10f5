//! The subset layout under random operations.

use bson::{Bson, Document, doc};

use super::model::{Model, Random, Subject};

struct Products;

fn review(random: &mut Random) -> Bson {
    match random.below(20) {
        0 => Bson::Int32(random.below(4) as i32),
        1 => Bson::Document(doc! {"by": "x"}),
        2 => Bson::Document(doc! {"date": [3, 50], "by": "y"}),
        3 => Bson::Document(doc! {"date": Bson::Null}),
        _ => Bson::Document(doc! {"date": random.below(60) as i32, "by": random.pick(&["a", "b", "c"])}),
    }
}

/// Most arrays are of plain reviews, and many of them stand in order.
fn reviews(random: &mut Random) -> Bson {
    if random.one_in(15) {
        return random.pick(&[Bson::Null, Bson::Int32(3), Bson::Array(vec![])]);
    }
    let n = random.below(9);
    if random.one_in(2) {
        return Bson::Array((0..n).map(|_| review(random)).collect());
    }
    let top = random.below(40) as i32;
    Bson::Array((0..n as i32).map(|i| Bson::Document(doc! {"date": top - i / 2, "by": "a"})).collect())
}

impl Subject for Products {
    fn layout(&self) -> Document {
        doc! {"subset": {"array": "reviews", "sort": {"date": -1}, "top": 3, "key": "product"}}
    }

    fn document(&self, random: &mut Random, id: i32) -> Document {
        let mut document = doc! {"_id": id, "name": random.pick(&["a", "b", "c"])};
        if !random.one_in(10) {
            document.insert("reviews", reviews(random));
        }
        if random.one_in(2) {
            document.insert("price", random.below(9) as i32);
        }
        if random.one_in(20) {
            document.insert("subset", doc! {"total": 1});
        }
        document
    }

    fn filter(&self, random: &mut Random) -> Document {
        match random.below(11) {
            0 => doc! {"name": "a"},
            1 => doc! {"price": {"$gte": random.below(9) as i32}},
            2 => doc! {"reviews.date": {"$gt": 30}},
            3 => doc! {"reviews": {"$elemMatch": {"by": "b", "date": {"$lt": 20}}}},
            4 => doc! {"reviews": {"$size": random.below(5) as i32}},
            5 => doc! {"reviews": {"$exists": false}},
            6 => doc! {"subset.total": 1},
            7 => doc! {"$or": [{"price": 3}, {"reviews.0.by": "a"}]},
            8 => doc! {"$nor": [{"name": "b"}, {"price": 2}]},
            9 => doc! {"reviews.by": {"$ne": "a"}, "name": {"$in": ["a", "c"]}},
            _ => doc! {},
        }
    }

    fn update(&self, random: &mut Random) -> Document {
        match random.below(14) {
            0 => doc! {"$push": {"reviews": review(random)}},
            1 => doc! {"$push": {"reviews": {"$each": [review(random)], "$sort": {"date": -1}}}, "$inc": {"price": 1}},
            2 | 3 => {
                let new = doc! {"date": 60 + random.below(40) as i32, "by": "n"};
                doc! {"$push": {"reviews": {"$each": [new], "$sort": {"date": -1}}}}
            }
            4 => doc! {"$push": {"reviews": {"$each": [review(random), review(random)], "$position": 1}}},
            5 => doc! {"$pull": {"reviews": {"by": "a"}}},
            6 => doc! {"$pop": {"reviews": -1}},
            7 => doc! {"$set": {"price": random.below(9) as i32, "extra": {"x": 1}}},
            8 => doc! {"$set": {"reviews": reviews(random)}},
            9 => doc! {"$set": {"reviews.0.by": "set"}},
            10 => doc! {"$unset": {"reviews": ""}},
            11 => doc! {"$push": {"reviews": {"$each": [doc! {"date": 1}, doc! {"date": 0}]}}},
            12 => doc! {"$rename": {"price": "cost"}},
            _ => doc! {"name": "r", "reviews": reviews(random)},
        }
    }

    fn sort_fields(&self) -> Vec<&'static str> {
        vec!["name", "price", "reviews.date"]
    }

    fn projection(&self, random: &mut Random) -> Document {
        match random.below(8) {
            0 => doc! {"reviews": 0},
            1 => doc! {"name": 1, "price": 1},
            2 => doc! {"reviews": {"$slice": 2}},
            3 => doc! {"name": 1, "reviews": {"$slice": 3}},
            4 => doc! {"reviews": {"$slice": [2, 3]}},
            5 => doc! {"reviews": {"$slice": -2}},
            6 => doc! {"reviews.by": 1},
            _ => doc! {"reviews": {"$elemMatch": {"by": "b"}}},
        }
    }

    fn group(&self, random: &mut Random) -> Document {
        match random.below(2) {
            0 => doc! {"_id": "$name", "n": {"$sum": {"$cond": [{"$isArray": "$reviews"}, {"$size": "$reviews"}, 0]}}},
            _ => doc! {"_id": null, "n": {"$sum": 1}, "most": {"$max": "$price"}},
        }
    }

    fn indexes(&self) -> Vec<Document> {
        vec![doc! {"name": 1, "price": 1}]
    }
}

#[test]
fn subsets_answer_as_plain_documents_do() {
    for seed in 0..20 {
        Model::new(&Products, seed).steps(500);
    }
}
