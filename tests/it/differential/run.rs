//! The tests proper.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Instant, SystemTime};

use bson::{Bson, Document, doc};

use super::judge::{timeless, write_fault};
use super::random::Random;
use super::scene::{Difference, Pair, Scene, both, raw};
use super::shrink::{error_codes, shrink};
use super::{pipelines, reads, writes};
use crate::answer::Answer;
use crate::conformance::say;
use crate::corpus::number;
use crate::server::Server;
use crate::wire::Mongod;

const FIXED_SEED: u64 = 0x0b1d_e521;
const READS_A_SCENE: usize = 200;
const WRITES_A_SCENE: usize = 40;
const READS_AFTER_WRITES: usize = 8;
const PIPELINES_A_SCENE: usize = 100;

/// What the runs are called in which a second MongoDB stands in the engine's place.
const ITSELF: &str = "MongoDB itself";

type Engines = fn() -> Box<dyn Server>;

/// How much a scene, or a run, compared, and how much of it says little.
#[derive(Default)]
struct Tally {
    compared: usize,
    errors: usize,
    /// Reads that found nothing and writes that changed nothing.
    idle: usize,
}

impl Tally {
    fn of<'a>(answers: impl Iterator<Item = &'a Answer>) -> Self {
        let mut tally = Self::default();
        for answer in answers {
            tally.compared += 1;
            match answer {
                Answer::Error { .. } => tally.errors += 1,
                Answer::Cursor(docs) => tally.idle += usize::from(docs.is_empty()),
                Answer::Reply(reply) if reply.get_array("writeErrors").is_ok() => tally.errors += 1,
                Answer::Reply(reply) => {
                    tally.idle += usize::from(["n", "nModified"].map(|n| number(reply, n)).contains(&Some(0)));
                }
            }
        }
        tally
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn count(name: &str, otherwise: usize) -> usize {
    variable(name).map_or(otherwise, |n| n.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
}

fn seed() -> u64 {
    match variable("BINDERY_DIFFERENTIAL_SEED").as_deref() {
        None => FIXED_SEED,
        Some("fresh") => {
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(FIXED_SEED, |since| since.as_nanos() as u64)
        }
        Some(given) => given.parse().expect("BINDERY_DIFFERENTIAL_SEED is a number or `fresh`"),
    }
}

/// Runs scenes until `commands` have been compared, on as many connections as there are processors.
fn run(
    what: &str,
    commands: usize,
    engines: Engines,
    scene: fn(&mut Pair, &mut Random) -> Result<Tally, Box<Difference>>,
) {
    let Some(uri) = Mongod::uri() else {
        return;
    };
    let (seed, keep, began) = (seed(), count("BINDERY_DIFFERENTIAL_KEEP", 5), Instant::now());
    say(&format!("differential {what}: {commands} with seed {seed}\n"));
    let first = count("BINDERY_DIFFERENTIAL_FROM", 0);
    let (next, done, differ) = (AtomicUsize::new(first), AtomicUsize::new(0), AtomicUsize::new(0));
    let (errors, idle) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let kinds = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (uri, next, done, differ, kinds) = (&uri, &next, &done, &differ, &kinds);
            let (errors, idle) = (&errors, &idle);
            scope.spawn(move || {
                let mut pair = Pair::new(uri, Box::new(engines), what.ends_with(ITSELF));
                while done.load(Ordering::Relaxed) < commands && differ.load(Ordering::Relaxed) < keep {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let mut random = Random::part(seed, number as u64);
                    let found = match scene(&mut pair, &mut random) {
                        Ok(tally) => {
                            done.fetch_add(tally.compared, Ordering::Relaxed);
                            errors.fetch_add(tally.errors, Ordering::Relaxed);
                            idle.fetch_add(tally.idle, Ordering::Relaxed);
                            continue;
                        }
                        Err(found) => shrink(&mut pair, *found),
                    };
                    done.fetch_add(1, Ordering::Relaxed);
                    let kind = kind(&found);
                    if let Ok(mut kinds) = kinds.lock() {
                        if kinds.contains(&kind) {
                            continue;
                        }
                        kinds.push(kind.clone());
                    }
                    differ.fetch_add(1, Ordering::Relaxed);
                    let line = pair.case_line(&format!("{kind}: scene {number} of seed {seed}"), &found);
                    say(&format!("  DIFFERS (seed {seed}, scene {number}) {}\n{line}\n", found.fault));
                }
            });
        }
    });
    let (done, differ) = (done.into_inner(), differ.into_inner());
    say(&format!(
        "differential {what}: {done} compared ({} errors, {} of no effect), {differ} kinds of differences, \
         seed {seed}, {:.0} s\n",
        errors.into_inner(),
        idle.into_inner(),
        began.elapsed().as_secs_f64()
    ));
    assert_eq!(differ, 0, "differences from MongoDB with seed {seed}");
}

/// What sort of difference it is: the error codes, or else the operators in the last command. One of each
/// sort is enough to see.
fn kind(difference: &Difference) -> String {
    let errors = error_codes(&difference.fault);
    if !errors.is_empty() {
        return errors;
    }
    let command = difference.commands.last().map(Document::to_string).unwrap_or_default();
    let mut words: Vec<&str> = command
        .split(|c: char| !c.is_alphanumeric() && c != '$')
        .filter(|word| word.starts_with('$') || ["sort", "projection", "hint", "collation"].contains(word))
        .collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// Commands of which the run is to know nothing, by a word in them.
fn keep(command: &Document) -> bool {
    static SKIPPED: OnceLock<Vec<String>> = OnceLock::new();
    let skipped = SKIPPED.get_or_init(|| {
        variable("BINDERY_DIFFERENTIAL_SKIP")
            .map(|words| words.split('|').map(str::to_owned).collect())
            .unwrap_or_default()
    });
    skipped.is_empty() || {
        let text = command.to_string();
        !skipped.iter().any(|word| text.contains(word.as_str()))
    }
}

fn read_scene(pair: &mut Pair, random: &mut Random) -> Result<Tally, Box<Difference>> {
    let scene = Scene::random(random);
    pair.set_up(&scene)?;
    let commands: Vec<Document> =
        (0..READS_A_SCENE).map(|_| reads::read(random, &scene.docs, &scene.indexes)).filter(keep).collect();
    compare_reads(pair, scene, &commands)
}

fn pipeline_scene(pair: &mut Pair, random: &mut Random) -> Result<Tally, Box<Difference>> {
    let mut scene = Scene::random_with_foreign(random);
    scene.docs.iter_mut().chain(&mut scene.foreign).for_each(without_undefined);
    pair.set_up(&scene)?;
    let mut commands: Vec<Document> =
        (0..PIPELINES_A_SCENE).map(|_| pipelines::aggregate(random, &scene.docs)).filter(keep).collect();
    commands.iter_mut().for_each(without_undefined);
    compare_reads(pair, scene, &commands)
}

/// Puts null in the place of undefined: MongoDB's two engines take that withdrawn type differently in expressions.
fn without_undefined(document: &mut Document) {
    document.iter_mut().for_each(|(_, value)| define(value));
}

fn define(value: &mut Bson) {
    match value {
        Bson::Undefined => *value = Bson::Null,
        Bson::Document(inner) => without_undefined(inner),
        Bson::Array(items) => items.iter_mut().for_each(define),
        _ => {}
    }
}

fn compare_reads(pair: &mut Pair, scene: Scene, commands: &[Document]) -> Result<Tally, Box<Difference>> {
    let answers = pair.ask(&commands.iter().map(raw).collect::<Vec<_>>());
    for (command, answers) in commands.iter().zip(&answers) {
        if let Some(fault) = pair.fault(command, answers) {
            return Err(Box::new(Difference { scene, commands: vec![command.clone()], fault }));
        }
    }
    Ok(Tally::of(answers.iter().map(|(expected, _)| expected)))
}

fn write_scene(pair: &mut Pair, random: &mut Random) -> Result<Tally, Box<Difference>> {
    let scene = Scene::random(random);
    pair.set_up(&scene)?;
    let commands: Vec<Document> =
        (0..WRITES_A_SCENE).map(|_| writes::write(random, &scene.docs)).filter(keep).collect();
    let all = raw(&doc! { "find": "c", "sort": { "_id": 1 }, "batchSize": 10_000 });
    let asked: Vec<_> = commands.iter().flat_map(|command| [raw(command), all.clone()]).collect();
    let answers = pair.ask(&asked);
    let writes = |upto: usize| Tally::of(answers[..2 * upto].iter().step_by(2).map(|(expected, _)| expected));
    let mut before = scene.docs.clone();
    for (done, (command, answers)) in commands.iter().zip(answers.chunks(2)).enumerate() {
        match write_fault(command, &scene, both(&answers[0]), both(&answers[1])) {
            Ok(()) => {}
            Err(None) => return Ok(writes(done + 1)),
            Err(Some(fault)) => {
                let from_here = Scene { docs: before, ..scene.clone() };
                if pair.writes_alike_without_indexes(&from_here, command, answers) {
                    return Ok(writes(done + 1));
                }
                let alone = vec![command.clone()];
                // What came before may matter (an index stays multikey): then it is kept.
                let again = pair.again(&from_here, &alone);
                return Err(Box::new(match again {
                    Some(fault) => Difference { scene: from_here, commands: alone, fault },
                    None => Difference { scene, commands: commands[..=done].to_vec(), fault },
                }));
            }
        }
        if let Answer::Cursor(docs) = &answers[1].0 {
            before = docs.iter().filter_map(|doc| Document::try_from(&**doc).ok()).collect();
        }
    }
    before.iter_mut().for_each(timeless);
    // The indexes must have followed.
    let reads: Vec<Document> =
        (0..READS_AFTER_WRITES).map(|_| reads::read(random, &before, &scene.indexes)).filter(keep).collect();
    let answers_after = pair.ask(&reads.iter().map(raw).collect::<Vec<_>>());
    for (command, answers) in reads.iter().zip(&answers_after) {
        if let Some(fault) = pair.fault(command, answers) {
            let mut commands = commands;
            commands.push(command.clone());
            return Err(Box::new(Difference { scene, commands, fault }));
        }
    }
    Ok(writes(commands.len()))
}

#[test]
fn differential_self_pipelines() {
    let commands = count("BINDERY_DIFFERENTIAL_SELF", 4_000);
    run(&format!("pipelines of {ITSELF}"), commands, mongodb_itself, pipeline_scene);
}

#[test]
fn differential_pipelines() {
    run("pipelines", count("BINDERY_DIFFERENTIAL_PIPELINES", 6_000), bindery, pipeline_scene);
}

fn bindery() -> Box<dyn Server> {
    Box::new(bindery::Database::new())
}

#[test]
fn differential_reads() {
    run("reads", count("BINDERY_DIFFERENTIAL_READS", 10_000), bindery, read_scene);
}

#[test]
fn differential_writes() {
    run("writes", count("BINDERY_DIFFERENTIAL_WRITES", 4_000), bindery, write_scene);
}

/// A real MongoDB in the engine's place: the generators and the judge must not see differences where
/// there are none.
fn mongodb_itself() -> Box<dyn Server> {
    Box::new(Mongod::connect(&Mongod::uri().expect("checked before")))
}

#[test]
fn differential_self_reads() {
    run(&format!("reads of {ITSELF}"), count("BINDERY_DIFFERENTIAL_SELF", 4_000), mongodb_itself, read_scene);
}

#[test]
fn differential_self_writes() {
    run(&format!("writes of {ITSELF}"), count("BINDERY_DIFFERENTIAL_SELF", 2_000), mongodb_itself, write_scene);
}
