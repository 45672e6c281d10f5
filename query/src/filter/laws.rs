//! Laws that hold for any filter on any document, tried on random ones (seeded, so that a failure repeats).

use super::*;
use bindery_document::{DocBuf, validate};
use bson::{Bson, Document, doc};

/// A small generator of its own (a linear congruential one); its quality does not matter here.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn scalar(&mut self) -> Bson {
        match self.below(12) {
            0 => Bson::Null,
            1 => Bson::String("a".into()),
            2 => Bson::String("b".into()),
            3 => Bson::Double(1.0),
            4 => Bson::Double(f64::NAN),
            5 => Bson::MinKey,
            6 => Bson::MaxKey,
            7 => Bson::Undefined,
            8 => Bson::Boolean(true),
            9 => Bson::Int64(2),
            _ => Bson::Int32(self.below(3) as i32),
        }
    }

    fn value(&mut self, level: usize) -> Bson {
        match self.below(4) {
            0 if level < 3 => Bson::Array((0..self.below(4)).map(|_| self.value(level + 1)).collect()),
            1 if level < 3 => Bson::Document(self.document(level + 1)),
            _ => self.scalar(),
        }
    }

    fn document(&mut self, level: usize) -> Document {
        let names = ["a", "b", "0"];
        (0..self.below(4)).map(|_| (names[self.below(3)].to_owned(), self.value(level))).collect()
    }

    fn operand(&mut self) -> Bson {
        match self.value(2) {
            Bson::Undefined => Bson::Null,
            other => other,
        }
    }

    fn operators(&mut self, level: usize) -> Document {
        let mut operators = Document::new();
        for _ in 0..=self.below(2) {
            let (name, operand): (&str, Bson) = match self.below(14) {
                0 => ("$gt", self.operand()),
                1 => ("$gte", self.operand()),
                2 => ("$lt", self.operand()),
                3 => ("$lte", self.operand()),
                4 => ("$ne", self.operand()),
                5 => ("$in", Bson::Array((0..self.below(3)).map(|_| self.operand()).collect())),
                6 => ("$nin", Bson::Array((0..self.below(3)).map(|_| self.operand()).collect())),
                7 => ("$exists", Bson::Boolean(self.below(2) == 0)),
                8 => ("$type", "number".into()),
                9 => ("$size", (self.below(3) as i32).into()),
                10 => ("$all", Bson::Array((0..self.below(3)).map(|_| self.operand()).collect())),
                11 if level < 3 => ("$elemMatch", self.query(level + 1).into()),
                12 if level < 3 => ("$elemMatch", self.operators(level + 1).into()),
                13 if level < 3 => ("$not", self.operators(level + 1).into()),
                _ => ("$eq", self.operand()),
            };
            operators.insert(name, operand);
        }
        operators
    }

    fn query(&mut self, level: usize) -> Document {
        let paths = ["a", "b", "a.b", "a.0", "b.a.0", "0"];
        let mut query = Document::new();
        for _ in 0..=self.below(2) {
            match self.below(5) {
                0 if level < 3 => {
                    let name = ["$and", "$or", "$nor"][self.below(3)];
                    query.insert(name, (0..=self.below(3)).map(|_| self.query(level + 1)).collect::<Vec<_>>());
                }
                1 => {
                    query.insert(paths[self.below(6)], self.operand());
                }
                _ => {
                    query.insert(paths[self.below(6)], self.operators(level));
                }
            }
        }
        query
    }
}

fn buffer(document: &Document) -> DocBuf {
    DocBuf::from_bson(document).expect("document")
}

fn matches(filter: &Filter, document: &DocBuf) -> bool {
    filter.matches(document.doc()).expect("no failure")
}

#[test]
fn simplifying_sorting_and_showing_keep_the_meaning() {
    let mut random = Random(7);
    let context = ParseContext::new();
    for _ in 0..4_000 {
        let query = random.query(0);
        let written = parse::document(buffer(&query).doc(), parse::Place::top(&context)).expect("filter");
        let simplified = canonical::simplify(written.clone());
        let sorted = canonical::sort(simplified.clone());
        let shown = Filter::parse(sorted.to_document().doc(), &context).expect("shown filter");
        for _ in 0..5 {
            let document = buffer(&random.document(0));
            let expected = matches(&written, &document);
            for (filter, step) in [(&simplified, "simplified"), (&sorted, "sorted"), (&shown, "shown")] {
                assert_eq!(matches(filter, &document), expected, "{step}: {query} on {document:?}");
            }
        }
    }
}

#[test]
fn a_document_passes_either_a_filter_or_its_negation() {
    let mut random = Random(8);
    let context = ParseContext::new();
    for _ in 0..4_000 {
        let query = random.query(0);
        let filter = Filter::parse(buffer(&query).doc(), &context).expect("filter");
        let negated = Filter::parse(buffer(&doc! {"$nor": [query.clone()]}).doc(), &context).expect("filter");
        for _ in 0..5 {
            let document = buffer(&random.document(0));
            assert_ne!(matches(&filter, &document), matches(&negated, &document), "{query} on {document:?}");
        }
    }
}

#[test]
fn a_flipped_filter_is_refused_or_still_runs() {
    let samples = [
        doc! {"a": {"$gt": 1, "$in": [1, "x", null]}, "b.c": {"$elemMatch": {"$mod": [4, 1]}}},
        doc! {"$or": [{"a": {"$bitsAllSet": 5}}, {"b": {"$type": ["int", 2]}}], "c": {"$not": {"$size": 2}}},
        doc! {"$jsonSchema": {"properties": {"a": {"bsonType": "int", "minimum": 1}}, "required": ["a"]}},
        doc! {"a": {"$regex": "^x", "$options": "i"}, "$expr": {"$eq": ["$a", 1]}},
    ];
    let document = buffer(&doc! {"a": [1, "x", {"b": 2.5}], "b": {"c": [5, 6]}, "c": [1]});
    for sample in samples {
        let bytes = buffer(&sample).into_bytes();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                if validate::validate(&flipped).is_ok()
                    && let Ok(filter) = Filter::parse(DocBuf::from_stored(flipped).doc(), &ParseContext::new())
                {
                    let _ = filter.matches_at(document.doc());
                    let _ = filter.to_document();
                }
            }
        }
    }
}
