//! A collection with its indexes, made on both sides, and the commands whose answers are compared.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use bson::raw::cstr;
use bson::{Bson, Document, RawDocumentBuf, doc};

use super::judge::Judge;
use super::random::Random;
use super::{collations, filters, indexes, schemas, values};
use crate::answer::{Answer, read};
use crate::corpus::number;
use crate::server::Server;
use crate::wire::Mongod;

/// The collection `c`.
#[derive(Clone, Default)]
pub(super) struct Scene {
    pub(super) docs: Vec<Document>,
    pub(super) indexes: Vec<Document>,
    /// What it is created with: a collation.
    pub(super) options: Document,
    /// What `collMod` gives it when it has its documents: a validator, or nothing.
    pub(super) rules: Document,
    /// The collection `d`, for joins. Without documents there is none.
    pub(super) foreign: Vec<Document>,
}

impl Scene {
    pub(super) fn random(random: &mut Random) -> Self {
        let size = match random.weighted(&[10, 60, 30]) {
            0 => random.between(0, 3),
            1 => random.between(4, 20),
            _ => random.between(21, 60),
        };
        let docs: Vec<Document> = (0..size).map(|id| values::document(random, id)).collect();
        let count = random.weighted(&[22, 34, 26, 18]);
        let indexes = (0..count).map(|place| indexes::index(random, place)).collect();
        let mut options = Document::new();
        if random.chance(6) {
            options.insert("collation", collations::collation(random));
        }
        let rules = if random.chance(8) { rules(random, &docs) } else { Document::new() };
        Self { docs, indexes, options, rules, foreign: Vec::new() }
    }

    /// A scene with a collection to join with.
    pub(super) fn random_with_foreign(random: &mut Random) -> Self {
        let foreign = (0..random.between(1, 10)).map(|id| values::document(random, id)).collect();
        Self { foreign, ..Self::random(random) }
    }

    /// The command that makes it refuse documents, if it does.
    fn restriction(&self) -> Option<Document> {
        if self.rules.is_empty() {
            return None;
        }
        let mut modify = doc! { "collMod": "c" };
        modify.extend(self.rules.clone());
        Some(modify)
    }

    /// The commands that make it: the last ones make one index each, so that one that is refused leaves
    /// the others.
    fn commands(&self) -> Vec<RawDocumentBuf> {
        let mut create = doc! { "create": "c" };
        create.extend(self.options.clone());
        let mut commands = vec![doc! { "drop": "c" }, create];
        if !self.docs.is_empty() {
            commands.push(doc! { "insert": "c", "documents": self.docs.clone() });
        }
        commands.extend(self.restriction());
        commands.push(doc! { "drop": "d" });
        if !self.foreign.is_empty() {
            commands.push(doc! { "insert": "d", "documents": self.foreign.clone() });
        }
        for index in &self.indexes {
            commands.push(doc! { "createIndexes": "c", "indexes": [index.clone()] });
        }
        commands.iter().map(raw).collect()
    }
}

/// A validator, and what is done about documents that it does not take.
fn rules(random: &mut Random, docs: &[Document]) -> Document {
    let validator = if random.chance(50) {
        doc! { "$jsonSchema": schemas::schema(random, 2) }
    } else {
        filters::filter(random, docs)
    };
    let mut rules = doc! { "validator": validator };
    if random.chance(40) {
        rules.insert("validationLevel", random.pick(&["moderate", "strict", "off"]));
    }
    if random.chance(10) {
        rules.insert("validationAction", "warn");
    }
    rules
}

/// The code that stands for a panic.
const PANICKED: i32 = -999;

/// A generated document as bytes.
pub(super) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).expect("a generated document is BSON")
}

/// Where two answers to one command differ.
pub(super) struct Difference {
    pub(super) scene: Scene,
    /// The commands to run on the scene; the last one's answer, or what it leaves, differs.
    pub(super) commands: Vec<Document>,
    pub(super) fault: String,
}

/// A real MongoDB and what is compared with it.
pub(super) struct Pair {
    pub(super) oracle: Mongod,
    engines: Box<dyn Fn() -> Box<dyn Server>>,
    engine: Box<dyn Server>,
    oracle_db: String,
    engine_db: String,
    /// The engine is a MongoDB too, whose planner may choose another index, and so answer otherwise,
    /// where MongoDB's answers change with the index.
    two_mongods: bool,
}

impl Pair {
    /// A pair with databases of its own.
    pub(super) fn new(uri: &str, engines: Box<dyn Fn() -> Box<dyn Server>>, two_mongods: bool) -> Self {
        static PAIRS: AtomicUsize = AtomicUsize::new(0);
        let engine = engines();
        let part = PAIRS.fetch_add(1, Ordering::Relaxed);
        let name = format!("differential_{}_{part}", std::process::id());
        Self {
            oracle: Mongod::connect(uri),
            engines,
            engine,
            engine_db: format!("{name}_other"),
            oracle_db: name,
            two_mongods,
        }
    }

    /// Makes `scene` on both sides; a difference where one refuses an index that the other takes.
    pub(super) fn set_up(&mut self, scene: &Scene) -> Result<(), Box<Difference>> {
        self.engine = (self.engines)();
        let commands = scene.commands();
        let expected = self.oracle.run_all(&self.oracle_db, &commands);
        let got = self.run_engine(&commands);
        let before_indexes = commands.len() - scene.indexes.len();
        for (at, (expected, got)) in expected.iter().zip(&got).enumerate() {
            if commands[at].get("drop").is_ok_and(|name| name.is_some()) {
                continue;
            }
            let (expected, got) = (code(expected), code(got));
            if expected != got {
                let mut sound = scene.clone();
                sound.indexes.truncate(at.saturating_sub(before_indexes));
                let command = Document::try_from(&*commands[at]).unwrap_or_default();
                return Err(Box::new(Difference {
                    scene: sound,
                    commands: vec![command],
                    fault: format!("code {expected} expected, got {got}"),
                }));
            }
        }
        Ok(())
    }

    /// Asks both sides the same commands, one after another.
    pub(super) fn ask(&mut self, commands: &[RawDocumentBuf]) -> Vec<(Answer, Answer)> {
        let expected = self.oracle.run_all(&self.oracle_db, commands);
        let got = self.run_engine(commands);
        let pairs = expected.iter().zip(&got);
        pairs
            .map(|(expected, got)| {
                (read(&mut self.oracle, &self.oracle_db, expected), read(self.engine.as_mut(), &self.engine_db, got))
            })
            .collect()
    }

    /// A panic is an answer too: an error with a code that MongoDB never gives.
    fn run_engine(&mut self, commands: &[RawDocumentBuf]) -> Vec<RawDocumentBuf> {
        let (engine, db) = (&mut self.engine, &self.engine_db);
        if self.two_mongods {
            return engine.run_all(db, commands);
        }
        commands
            .iter()
            .map(|command| {
                catch_unwind(AssertUnwindSafe(|| engine.run(db, command))).unwrap_or_else(|_| {
                    raw(&doc! { "ok": 0, "code": PANICKED, "codeName": "Panicked", "errmsg": "panicked" })
                })
            })
            .collect()
    }

    /// What is wrong with the engine's answer to a command that reads.
    pub(super) fn fault(&mut self, command: &Document, answers: &(Answer, Answer)) -> Option<String> {
        let mut judge = Judge { oracle: &mut self.oracle, db: &self.oracle_db };
        let fault = judge.fault(command, &answers.0, &answers.1)?;
        if let (Answer::Error { .. }, Answer::Cursor(_)) | (Answer::Cursor(_), Answer::Error { .. }) = answers
            && let Some(total) = with_total_sort(command)
        {
            // Which documents are cut off is open, and so is whether one that fails is among them.
            let answers = self.ask(&[raw(&total)]);
            return self.fault(&total, &answers[0]);
        }
        if self.two_mongods
            && let Some(unindexed) = judge.without_indexes(command)
        {
            let answers = self.ask(&[raw(&unindexed)]);
            let mut judge = Judge { oracle: &mut self.oracle, db: &self.oracle_db };
            return judge.fault(&unindexed, &answers[0].0, &answers[0].1).and(Some(fault));
        }
        Some(fault)
    }

    /// Whether the engine wrote what MongoDB writes where it has no index to find documents by.
    pub(super) fn writes_alike_without_indexes(
        &mut self,
        scene: &Scene,
        command: &Document,
        answers: &[(Answer, Answer)],
    ) -> bool {
        if self.two_mongods {
            let bare = Scene { indexes: Vec::new(), ..scene.clone() };
            return !scene.indexes.is_empty() && self.again(&bare, std::slice::from_ref(command)).is_none();
        }
        let mut bare = scene.clone();
        // What must be unique stays so, but a hidden index finds nothing.
        bare.indexes.retain(|index| index.contains_key("unique"));
        bare.indexes.iter_mut().for_each(|index| drop(index.insert("hidden", true)));
        let mut commands = bare.commands();
        commands.extend([
            raw(&without_index(command)),
            raw(&doc! { "find": "c", "sort": { "_id": 1 }, "batchSize": 10_000 }),
        ]);
        let replies = self.oracle.run_all(&self.oracle_db, &commands);
        let [.., reply, contents] = &replies[..] else {
            return false;
        };
        let reply = read(&mut self.oracle, &self.oracle_db, reply);
        let contents = read(&mut self.oracle, &self.oracle_db, contents);
        let [(_, got_reply), (_, got_contents)] = answers else {
            return false;
        };
        super::judge::write_fault(command, scene, (&reply, got_reply), (&contents, got_contents)).is_ok()
    }

    /// Runs a difference again, from its scene on.
    pub(super) fn again(&mut self, scene: &Scene, commands: &[Document]) -> Option<String> {
        if let Err(difference) = self.set_up(scene) {
            return (difference.commands[..] == *commands).then_some(difference.fault);
        }
        let mut docs = scene.docs.clone();
        for command in commands {
            if !is_write(command) {
                let answers = self.ask(&[raw(command)]);
                if let Some(fault) = self.fault(command, &answers[0]) {
                    return Some(fault);
                }
                continue;
            }
            let all = raw(&doc! { "find": "c", "sort": { "_id": 1 }, "batchSize": 10_000 });
            let answers = self.ask(&[raw(command), all]);
            if let Err(fault) = super::judge::write_fault(command, scene, both(&answers[0]), both(&answers[1])) {
                let from_here = Scene { docs, ..scene.clone() };
                // Where they rightly went apart, nothing can be said of what comes after.
                return fault.filter(|_| !self.writes_alike_without_indexes(&from_here, command, &answers));
            }
            if let Answer::Cursor(after) = &answers[1].0 {
                docs = after.iter().filter_map(|doc| Document::try_from(&**doc).ok()).collect();
            }
        }
        None
    }

    /// A difference as a case of the corpus: the real MongoDB's answers, and what it holds in the end.
    pub(super) fn case_line(&mut self, name: &str, difference: &Difference) -> String {
        let oracle = &mut self.oracle;
        oracle.run_all(&self.oracle_db, &difference.scene.commands());
        let mut steps = Vec::new();
        for command in difference.scene.restriction().iter().chain(&difference.commands) {
            let reply = oracle.run(&self.oracle_db, &raw(command));
            steps.push(
                doc! { "command": command.clone(), "expect": expectation(oracle, &self.oracle_db, command, &reply) },
            );
        }
        let mut setup = doc! { "c": {
            "docs": difference.scene.docs.clone(),
            "indexes": difference.scene.indexes.clone(),
            "options": difference.scene.options.clone(),
        } };
        if !difference.scene.foreign.is_empty() {
            let foreign = difference.scene.foreign.clone();
            setup.insert("d", doc! { "docs": foreign, "indexes": [], "options": {} });
        }
        let mut case = doc! { "name": name, "topic": "found", "setup": setup, "steps": steps };
        if difference.commands.iter().any(is_write) {
            let all = oracle.run(&self.oracle_db, &raw(&doc! { "find": "c" }));
            if let Answer::Cursor(docs) = read(oracle, &self.oracle_db, &all) {
                case.insert("after", doc! { "c": documents(&docs) });
            }
        }
        crate::extjson::to_line(&raw(&case))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // Not while unwinding: the connection itself may be what failed.
        if !std::thread::panicking() {
            let mut drop = RawDocumentBuf::new();
            drop.append(cstr!("dropDatabase"), 1);
            self.oracle.run(&self.oracle_db, &drop);
            self.engine.run(&self.engine_db, &drop);
        }
    }
}

/// A command that cuts documents off, in an order that leaves none open; nothing if it was such before.
fn with_total_sort(command: &Document) -> Option<Document> {
    let cuts = command.contains_key("skip") || command.get_i32("limit").is_ok_and(|limit| limit != 0);
    let mut sort = command.get_document("sort").cloned().unwrap_or_default();
    if !cuts || sort.contains_key("_id") {
        return None;
    }
    sort.insert("_id", 1);
    let mut total = command.clone();
    total.insert("sort", sort);
    Some(total)
}

/// A command that writes, with the documents looked for in the collection itself.
fn without_index(command: &Document) -> Document {
    let natural = doc! { "$natural": 1 };
    let mut plain = command.clone();
    if plain.contains_key("findAndModify") {
        plain.insert("hint", natural);
        return plain;
    }
    for list in ["updates", "deletes"] {
        for statement in plain.get_array_mut(list).into_iter().flatten() {
            if let Bson::Document(statement) = statement {
                statement.insert("hint", natural.clone());
            }
        }
    }
    plain
}

/// A pair of answers by reference.
pub(super) fn both(answers: &(Answer, Answer)) -> (&Answer, &Answer) {
    (&answers.0, &answers.1)
}

/// Whether a command changes the collection.
pub(super) fn is_write(command: &Document) -> bool {
    command.keys().next().is_some_and(|name| matches!(name.as_str(), "insert" | "update" | "delete" | "findAndModify"))
}

fn code(reply: &RawDocumentBuf) -> i32 {
    if number(reply, "ok") == Some(1) { 0 } else { number(reply, "code").unwrap_or(-1) }
}

fn documents(docs: &[RawDocumentBuf]) -> Vec<Bson> {
    docs.iter().filter_map(|doc| Some(Bson::Document(Document::try_from(&**doc).ok()?))).collect()
}

/// What may be expected of the order of a pipeline's results.
pub(super) fn pipeline_order(stages: &[Bson]) -> Option<bool> {
    let stages: Option<Vec<Document>> = stages.iter().map(|stage| stage.as_document().cloned()).collect();
    super::pipelines::order(&stages?)
}

fn expectation(oracle: &mut Mongod, db: &str, command: &Document, reply: &RawDocumentBuf) -> Document {
    match read(oracle, db, reply) {
        Answer::Cursor(docs) => {
            let ordered = match command.get_array("pipeline") {
                Ok(stages) => pipeline_order(stages) == Some(true),
                Err(_) => command.contains_key("sort"),
            };
            doc! { "ok": 1, "result": documents(&docs), "ordered": ordered }
        }
        Answer::Reply(reply) => {
            let mut reply = Document::try_from(&*reply).unwrap_or_default();
            if command.contains_key("createIndexes") {
                reply.remove("note");
                reply.remove("createdCollectionAutomatically");
            }
            doc! { "ok": 1, "reply": reply }
        }
        Answer::Error { code, code_name, .. } => doc! { "ok": 0, "code": code, "codeName": code_name },
    }
}
