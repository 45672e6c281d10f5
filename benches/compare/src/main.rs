//! The same work on Bindery, on SQLite, and on a real MongoDB: one table of medians, and how many times Bindery's
//! time the others take.
//!
//! ```text
//! cargo run --release --manifest-path benches/compare/Cargo.toml [-- READINGS]
//! ```
//!
//! Bindery and SQLite run in this process and in memory; SQLite holds documents as JSON, once as text and once in its
//! binary form, with `json_extract` and indexes on expressions, and sorts in memory (`PRAGMA temp_store = MEMORY`: it
//! would spill to files). A MongoDB is asked over loopback if
//! `BINDERY_MONGOD_URI` names one, in a database that is dropped afterwards. All get the same seeded documents, all
//! have the same indexes at the same time, and all must give the same answers: each operation returns what it found
//! as a count and a sum, which are compared.

mod data;
mod in_bindery;
mod in_mongodb;
mod in_sqlite;
mod table;

use std::error::Error;
use std::time::{Duration, Instant};

use data::{Answer, Data};

/// What an engine does with the documents. Every method does all of the operation's work and reads all results.
trait Engine {
    /// The name in the table.
    fn name(&self) -> &str;
    /// Stores readings in an empty collection, a thousand at a time.
    fn insert(&mut self, data: &Data) -> Fallible<Answer>;
    /// Stores orders and customers.
    fn insert_orders(&mut self, data: &Data) -> Fallible<()>;
    /// Makes the index of readings by sensor and time.
    fn create_index(&mut self) -> Fallible<()>;
    /// Finds one reading by its `_id` after the other.
    fn find_by_id(&mut self, ids: &[i64]) -> Fallible<Answer>;
    /// Finds the readings of a sensor in a stretch of time, one pair after the other.
    fn find_by_index(&mut self, asked: &[data::Stretch]) -> Fallible<Answer>;
    /// The average value of each sensor.
    fn group(&mut self) -> Fallible<Answer>;
    /// The ten readings with the greatest values.
    fn top(&mut self) -> Fallible<Answer>;
    /// All orders, each with its customer.
    fn lookup(&mut self) -> Fallible<Answer>;
}

type Fallible<T> = Result<T, Box<dyn Error>>;

/// An operation: its name, what one of it is, how many of them a run makes, how often it is run, and the run.
struct Operation {
    name: &'static str,
    times: usize,
    runs: usize,
    run: fn(&mut dyn Engine, &Data) -> Fallible<Answer>,
}

/// Short operations are run more often than those that take seconds somewhere.
fn operations(data: &Data) -> Vec<Operation> {
    let (finds, stretches) = (data.ids.len(), data.stretches.len());
    vec![
        Operation { name: "insert, each", times: data.readings.len(), runs: 1, run: |e, d| e.insert(d) },
        Operation { name: "$group avg per sensor", times: 1, runs: 5, run: |e, _| e.group() },
        Operation { name: "$sort, $limit 10", times: 1, runs: 5, run: |e, _| e.top() },
        Operation { name: "$lookup of 10,000 orders", times: 1, runs: 5, run: |e, _| e.lookup() },
        Operation { name: "find by _id, each", times: finds, runs: 5, run: |e, d| e.find_by_id(&d.ids) },
        Operation { name: "find by index, each", times: stretches, runs: 5, run: |e, d| e.find_by_index(&d.stretches) },
    ]
}

/// The time of one operation, the median of its runs, and what it answered.
fn measure(engine: &mut dyn Engine, operation: &Operation, data: &Data) -> Fallible<(Duration, Answer)> {
    let mut times = Vec::new();
    let mut answer = Answer::default();
    for _ in 0..operation.runs {
        let start = Instant::now();
        answer = (operation.run)(engine, data)?;
        times.push(start.elapsed());
    }
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((median / u32::try_from(operation.times.max(1))?, answer))
}

fn main() -> Fallible<()> {
    let n_readings = match std::env::args().nth(1) {
        Some(number) => number.replace(['_', ','], "").parse()?,
        None => 1_000_000,
    };
    let data = Data::generate(n_readings);
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(in_bindery::InBindery::new()?),
        Box::new(in_sqlite::InSqlite::open(in_sqlite::Form::Text)?),
        Box::new(in_sqlite::InSqlite::open(in_sqlite::Form::Binary)?),
    ];
    match in_mongodb::InMongoDb::of_environment()? {
        Some(engine) => engines.push(Box::new(engine)),
        None => eprintln!("BINDERY_MONGOD_URI is not set: no MongoDB is asked"),
    }
    println!("{n_readings} readings of {} sensors", data::SENSORS);
    let operations = operations(&data);
    let mut columns = Vec::new();
    for engine in &mut engines {
        let mut column = Vec::new();
        for (place, operation) in operations.iter().enumerate() {
            if place == 1 {
                engine.insert_orders(&data)?;
            } else if place + 1 == operations.len() {
                engine.create_index()?;
            }
            eprintln!("{}: {}", engine.name(), operation.name);
            column.push(measure(&mut **engine, operation, &data)?);
        }
        columns.push((engine.name().to_owned(), column));
    }
    check_answers(&operations, &columns)?;
    let names: Vec<&str> = operations.iter().map(|operation| operation.name).collect();
    print!("{}", table::render(&names, &columns));
    Ok(())
}

/// Fails where an engine answered other than the first.
fn check_answers(operations: &[Operation], columns: &[(String, Vec<(Duration, Answer)>)]) -> Fallible<()> {
    let Some(((first, expected), others)) = columns.split_first() else {
        return Ok(());
    };
    for (name, column) in others {
        for ((operation, (_, a)), (_, b)) in operations.iter().zip(expected).zip(column) {
            if !a.agrees_with(b) {
                let what = operation.name;
                return Err(format!("{what}: {first} answered {a:?}, {name} {b:?}").into());
            }
        }
    }
    Ok(())
}
