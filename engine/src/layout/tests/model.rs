//! Two collections, one plain and one with a layout, that must not differ in any answer.

use bson::{Bson, Document, doc};

use crate::Database;

/// A plain generator of numbers that repeat (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// What is random about a layout's documents.
pub(super) trait Subject {
    /// The layout's declaration.
    fn layout(&self) -> Document;
    /// A document; its `_id` is given.
    fn document(&self, random: &mut Random, id: i32) -> Document;
    /// A filter.
    fn filter(&self, random: &mut Random) -> Document;
    /// An update, with operators or a replacement (which has the `_id` if it is given).
    fn update(&self, random: &mut Random) -> Document;
    /// Fields that may be sorted by.
    fn sort_fields(&self) -> Vec<&'static str>;
    /// A projection.
    fn projection(&self, random: &mut Random) -> Document;
    /// What `$group` does; its answer must not depend on the order of documents.
    fn group(&self, random: &mut Random) -> Document;
    /// Fields to sort by of which equal values are the same to the byte.
    fn order_fields(&self, _random: &mut Random) -> Vec<&'static str> {
        Vec::new()
    }
    /// Indexes that both have.
    fn indexes(&self) -> Vec<Document> {
        Vec::new()
    }
    /// Whether `_id`s are unique across the collection.
    fn ids_are_unique(&self) -> bool {
        true
    }
}

/// Runs operations on both sides.
pub(super) struct Model<'a> {
    db: Database,
    subject: &'a dyn Subject,
    random: Random,
    next_id: i32,
    log: Vec<String>,
}

impl<'a> Model<'a> {
    pub(super) fn new(subject: &'a dyn Subject, seed: u64) -> Model<'a> {
        let db = Database::new();
        let mut model = Model { db, subject, random: Random::new(seed), next_id: 0, log: vec![format!("seed {seed}")] };
        model.run("plain", doc! {"create": "c"});
        let reply = model.run("bound", doc! {"create": "c", "layout": subject.layout()});
        assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
        for key in subject.indexes() {
            let name = key.keys().cloned().collect::<Vec<_>>().join("_");
            model.both(doc! {"createIndexes": "c", "indexes": [{"key": key, "name": name}]});
        }
        model
    }

    fn run(&self, database: &str, mut command: Document) -> Document {
        command.insert("$db", database);
        let raw = bson::RawDocumentBuf::try_from(&command).expect("command");
        Document::try_from(&*self.db.run_command(&raw)).expect("reply")
    }

    /// The parts of both replies that must be equal.
    fn both(&mut self, command: Document) -> Document {
        self.log.push(command.to_string());
        let (plain, bound) = (self.run("plain", command.clone()), self.run("bound", command.clone()));
        let (mut a, mut b) = (comparable(&plain), comparable(&bound));
        if command.contains_key("aggregate") {
            // Of equal numbers any may stand for the group.
            (a, b) = (with_doubles(&a), with_doubles(&b));
        }
        if command.contains_key("aggregate") || command.contains_key("find") && !command.contains_key("sort") {
            sort_rows(&mut a);
            sort_rows(&mut b);
        }
        if a.to_vec().expect("bytes") != b.to_vec().expect("bytes") {
            let from = self.log.len().saturating_sub(6);
            panic!("{}\nplain {plain}\nbound {bound}\n{:#?}", self.log[0], &self.log[from..]);
        }
        a
    }

    /// Runs this many operations.
    pub(super) fn steps(&mut self, n: usize) {
        for step in 0..n {
            self.step();
            if step % 500 == 499 {
                self.check();
            }
        }
        self.check();
    }

    fn check(&mut self) {
        let reply = self.run("bound", doc! {"validate": "c"});
        assert_eq!(reply.get_bool("valid").ok(), Some(true), "{reply}\n{:?}", self.log.last());
        if self.random.one_in(3) {
            self.run("bound", doc! {"compact": "c"});
        }
        self.both(doc! {"find": "c", "batchSize": 1_000_000});
        self.both(doc! {"count": "c"});
    }

    fn step(&mut self) {
        match self.random.below(17) {
            0..=3 => {
                let documents: Vec<Document> = (0..1 + self.random.below(3)).map(|_| self.document()).collect();
                let ordered = self.random.one_in(2);
                self.both(doc! {"insert": "c", "documents": documents, "ordered": ordered});
            }
            4..=6 => {
                let multi = self.random.one_in(3);
                let mut u = self.subject.update(&mut self.random);
                let is_replacement = !u.keys().next().is_some_and(|key| key.starts_with('$'));
                let multi = multi && !is_replacement;
                let mut q = if multi { self.subject.filter(&mut self.random) } else { self.one() };
                let may_upsert = is_replacement || self.subject.ids_are_unique();
                let upsert = !multi && may_upsert && self.random.one_in(8);
                if upsert {
                    self.next_id += 1;
                    q = doc! {"_id": self.next_id};
                    if is_replacement {
                        u.insert("_id", self.next_id);
                    }
                }
                self.both(doc! {"update": "c", "updates": [{"q": q, "u": u, "multi": multi, "upsert": upsert}]});
            }
            7 => {
                let all = self.random.one_in(3);
                let q = if all { self.subject.filter(&mut self.random) } else { self.one() };
                // Now and then only, so that documents stay.
                if !all || self.random.one_in(4) {
                    self.both(doc! {"delete": "c", "deletes": [{"q": q, "limit": if all { 0 } else { 1 }}]});
                }
            }
            8 => {
                let mut command = doc! {"findAndModify": "c", "query": self.one(), "sort": {"_id": 1}};
                if self.random.one_in(3) {
                    command.insert("remove", true);
                } else {
                    command.insert("update", self.subject.update(&mut self.random));
                    command.insert("new", self.random.one_in(2));
                }
                self.both(command);
            }
            9 => {
                let query = self.subject.filter(&mut self.random);
                let mut command = doc! {"count": "c", "query": query};
                if self.random.one_in(3) {
                    command.insert("skip", self.random.below(4) as i32);
                    command.insert("limit", self.random.below(9) as i32);
                }
                self.both(command);
            }
            10 => {
                let key = self.random.pick(&self.subject.sort_fields());
                let query = self.subject.filter(&mut self.random);
                self.both(doc! {"distinct": "c", "key": key, "query": query});
            }
            11 => {
                let filter = self.subject.filter(&mut self.random);
                let group = self.subject.group(&mut self.random);
                let pipeline = [doc! {"$match": filter}, doc! {"$group": group}];
                self.both(doc! {"aggregate": "c", "pipeline": pipeline.to_vec(), "cursor": {"batchSize": 1_000_000}});
            }
            12 => self.first_by_order(),
            _ => self.find(),
        }
    }

    /// The fields that are sorted by, of the first or of all in that order: documents that are equal under it may
    /// come in any order, but these fields do not tell.
    fn first_by_order(&mut self) {
        let (mut sort, mut projection) = (Document::new(), doc! {"_id": 0});
        for field in self.subject.order_fields(&mut self.random) {
            sort.insert(field, if self.random.one_in(2) { 1 } else { -1 });
            projection.insert(field, 1);
        }
        if sort.is_empty() {
            return;
        }
        let filter = self.subject.filter(&mut self.random);
        let mut command = doc! {"find": "c", "filter": filter, "sort": sort, "batchSize": 1_000_000};
        if self.random.one_in(3) {
            command.insert("skip", self.random.below(5) as i32);
        }
        if !self.random.one_in(3) {
            command.insert("limit", 1 + self.random.below(9) as i32);
        }
        command.insert("projection", projection);
        self.both(command);
    }

    fn find(&mut self) {
        let filter = if self.random.one_in(4) { self.one() } else { self.subject.filter(&mut self.random) };
        let mut command = doc! {"find": "c", "filter": filter, "batchSize": 1_000_000};
        if self.random.one_in(2) {
            let mut sort = Document::new();
            for _ in 0..1 + self.random.below(2) {
                let field = self.random.pick(&self.subject.sort_fields());
                sort.insert(field, if self.random.one_in(2) { 1 } else { -1 });
            }
            sort.insert("_id", 1);
            command.insert("sort", sort);
            if self.random.one_in(2) {
                command.insert("skip", self.random.below(5) as i32);
                command.insert("limit", 1 + self.random.below(12) as i32);
            }
        }
        if self.random.one_in(3) {
            command.insert("projection", self.subject.projection(&mut self.random));
        }
        self.both(command);
    }

    /// A filter that at most one document matches.
    fn one(&mut self) -> Document {
        doc! {"_id": self.random.below(self.next_id.max(1) as usize + 1) as i32}
    }

    fn document(&mut self) -> Document {
        if self.subject.ids_are_unique() && self.random.one_in(12) {
            let id = self.random.below(self.next_id.max(1) as usize) as i32;
            return self.subject.document(&mut self.random, id);
        }
        self.next_id += 1;
        self.subject.document(&mut self.random, self.next_id)
    }
}

/// What of a reply does not speak of names or messages.
fn comparable(reply: &Document) -> Document {
    let mut kept = Document::new();
    for (key, value) in reply {
        match (key.as_str(), value) {
            ("cursor", Bson::Document(cursor)) => {
                kept.insert("rows", cursor.get("firstBatch").cloned().unwrap_or(Bson::Null));
            }
            ("errmsg" | "numIndexesBefore" | "numIndexesAfter", _) => {}
            ("values", Bson::Array(values)) => {
                // Of equal numbers the first is given, and which that is depends on the plan; so does
                // whether missing counts as null, which it does in an index.
                let values = values.iter().filter(|value| **value != Bson::Null);
                kept.insert("values", values.map(number_as_double).collect::<Vec<Bson>>());
            }
            ("writeErrors", Bson::Array(errors)) => {
                let codes = errors.iter().filter_map(Bson::as_document);
                let codes: Vec<Bson> =
                    codes.map(|e| Bson::Document(doc! {"i": e.get("index"), "c": e.get("code")})).collect();
                kept.insert("writeErrors", codes);
            }
            _ => {
                kept.insert(key, value.clone());
            }
        }
    }
    kept
}

fn with_doubles(document: &Document) -> Document {
    document.iter().map(|(key, value)| (key.clone(), number_as_double(value))).collect()
}

fn number_as_double(value: &Bson) -> Bson {
    match value {
        Bson::Document(document) => Bson::Document(with_doubles(document)),
        Bson::Array(values) => Bson::Array(values.iter().map(number_as_double).collect()),
        Bson::Int32(n) => Bson::Double(f64::from(*n)),
        Bson::Int64(n) => Bson::Double(*n as f64),
        other => other.clone(),
    }
}

fn sort_rows(reply: &mut Document) {
    if let Ok(rows) = reply.get_array_mut("rows") {
        rows.sort_by_cached_key(|row| row.as_document().map(|row| row.to_vec().expect("bytes")));
    }
}
