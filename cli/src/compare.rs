//! `bindery compare`: scenarios from arguments, tables and JSON out.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use bindery_lab::import::Format;
use bindery_lab::measure::{self, Options};
use bindery_lab::own_data::{self, Files, TimeUnit};
use bindery_lab::report::{Comparison, render};
use bindery_lab::scenario::attribute::Attribute;
use bindery_lab::scenario::bucket::{self, Bucket};
use bindery_lab::scenario::subset::{self, Subset};
use bindery_lab::target::Engine;
use clap::ValueEnum;
use serde::Serialize;

use crate::Failure;
use crate::progress::Bar;

#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bindery compare                          the three scenarios on generated data
  bindery compare bucket --json out.json   one of them, also for programs
  bindery compare bucket --data weather.csv --time time_hour --meta origin --value temp
  bindery compare attribute --data parts.jsonl --keep kind,name,price
  bindery compare subset --data movies.csv --parent-key movieId \\
      --children ratings.csv --child-key movieId --order-by timestamp --array ratings
  bindery compare subset --data posts.bson --array comments --order-by date

CSV files have a header line; empty values and NA are missing. JSON files hold documents in a row (one a
line, or not) or one array of them, in Extended JSON. BSON files are as mongodump writes them.")]
pub(crate) struct Arguments {
    /// Which scenarios; all of them if none is named
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,

    /// Also write all figures to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Seeds the generated data and the operations drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Generate so many times the usual data, 0.01 to 100
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with = "data")]
    scale: f64,

    /// Operations of the mixed workload, instead of the scenario's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    operations: Option<u64>,

    /// At most so many samples of each question
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,

    /// Compare only these schemas with the naive one, by name or as `rival`, `by hand`, `native`
    #[arg(long = "schema", value_name = "NAME")]
    schemas: Vec<String>,

    /// Cache sizes, in MiB, for which missed bytes are told
    #[arg(long, value_name = "MIB,...", value_delimiter = ',', default_value = "1,4,16,64")]
    caches: Vec<u64>,

    #[command(flatten)]
    data: DataArguments,

    #[command(flatten)]
    bucket: BucketArguments,

    #[command(flatten)]
    attribute: AttributeArguments,

    #[command(flatten)]
    subset: SubsetArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// Readings of sensors, bound into spans of time
    Bucket,
    /// Products with sparse attributes, bound into one indexed array
    Attribute,
    /// Parents with many children, the newest of them kept with the parent
    Subset,
}

/// Own data instead of generated.
#[derive(clap::Args)]
#[command(next_help_heading = "Own data")]
struct DataArguments {
    /// Read the scenario's documents from FILE; may be given several times
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,

    /// How the files hold documents, where their names do not tell
    #[arg(long, value_enum)]
    format: Option<FileFormat>,

    /// What stands between the values of CSV files; found out from the header if not given
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<char>,

    /// Leave out these top-level fields
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',')]
    drop: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    Csv,
    Json,
    Bson,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Own data: bucket")]
struct BucketArguments {
    /// The field with the moment of a reading
    #[arg(long, value_name = "FIELD")]
    time: Option<String>,

    /// What the moment counts from 1970, where it is a number
    #[arg(long, value_enum)]
    time_unit: Option<Unit>,

    /// The field that tells one sensor from another; none if there is one sensor
    #[arg(long, value_name = "FIELD")]
    meta: Option<String>,

    /// The field with the number to be averaged
    #[arg(long, value_name = "FIELD")]
    value: Option<String>,

    /// In which order readings are loaded
    #[arg(long, value_enum, default_value = "time")]
    load_order: LoadOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    S,
    Ms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoadOrder {
    /// As in the files
    Given,
    /// By their time
    Time,
    /// Sensor by sensor, each by time
    Meta,
    /// At random
    Random,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Own data: attribute")]
struct AttributeArguments {
    /// Top-level fields, besides `_id`, that are no attributes
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',')]
    keep: Vec<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Own data: subset")]
struct SubsetArguments {
    /// The field of a parent that its children name; becomes its `_id`
    #[arg(long, value_name = "FIELD", default_value = "_id")]
    parent_key: String,

    /// Read the children from FILE, instead of from an array in their parents
    #[arg(long, value_name = "FILE")]
    children: Vec<PathBuf>,

    /// The field of a child that names its parent
    #[arg(long, value_name = "FIELD", default_value = "parentId")]
    child_key: String,

    /// The array that holds the children in a parent
    #[arg(long, value_name = "FIELD", default_value = "children")]
    array: String,

    /// The field of a child by which they are shown, the greatest first
    #[arg(long, value_name = "FIELD")]
    order_by: Option<String>,
}

/// What is written to a JSON file.
#[derive(Serialize)]
struct Written<'a> {
    /// The version of this form; goes up when a field changes its meaning or goes.
    version: u32,
    comparisons: &'a [Comparison],
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if !(0.01..=100.0).contains(&arguments.scale) {
        return Err(Failure::Usage("--scale takes a factor from 0.01 to 100".to_owned()));
    }
    let scenarios = wanted(arguments)?;
    // Before minutes of work: a file that cannot be written is a mistake worth knowing at once.
    let json = match &arguments.json {
        Some(path) => {
            // What an earlier run wrote stays until there is something to put in its place.
            let file = File::options().write(true).create(true).truncate(false).open(path);
            Some((path, file.map_err(|error| unwritable(path, &error))?))
        }
        None => None,
    };
    let progress = Bar::new();
    let mut stdout = std::io::stdout().lock();
    let mut comparisons = Vec::new();
    for scenario in scenarios {
        let outcome = compare(scenario, arguments, &progress);
        progress.clear();
        let comparison = outcome?;
        writeln!(stdout, "{}", render(&comparison))?;
        stdout.flush()?;
        comparisons.push(comparison);
    }
    if let Some((path, file)) = json {
        file.set_len(0).map_err(|error| unwritable(path, &error))?;
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, &Written { version: 1, comparisons: &comparisons })
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.flush())
            .map_err(|error| unwritable(path, &error))?;
    }
    Ok(())
}

fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::Undone(format!("{}: cannot be written: {error}", path.display()))
}

fn wanted(arguments: &Arguments) -> Result<Vec<Scenario>, Failure> {
    if !arguments.data.data.is_empty() && arguments.scenarios.len() != 1 {
        let message = "--data is for one scenario: name it, as in `bindery compare bucket --data FILE`";
        return Err(Failure::Usage(message.to_owned()));
    }
    if arguments.data.data.is_empty() && !arguments.subset.children.is_empty() {
        return Err(Failure::Usage("--children goes with --data, which holds the parents".to_owned()));
    }
    if arguments.scenarios.is_empty() {
        return Ok(vec![Scenario::Bucket, Scenario::Attribute, Scenario::Subset]);
    }
    let mut scenarios = arguments.scenarios.clone();
    scenarios.dedup();
    Ok(scenarios)
}

fn compare(scenario: Scenario, arguments: &Arguments, progress: &Bar) -> Result<Comparison, Failure> {
    let options = Options {
        seed: arguments.seed,
        caches: arguments.caches.iter().map(|mib| mib << 20).collect(),
        operations: arguments.operations.map(|n| n as usize),
        samples: arguments.samples.map(|n| n as usize),
        schemas: arguments.schemas.clone(),
    };
    Ok(match scenario {
        Scenario::Bucket => measure::compare(&bucket(arguments, progress)?, &Engine, &options, progress)?,
        Scenario::Attribute => measure::compare(&attribute(arguments, progress)?, &Engine, &options, progress)?,
        Scenario::Subset => measure::compare(&subset(arguments, progress)?, &Engine, &options, progress)?,
    })
}

/// `usual` times the scale, at least `least`.
fn scaled(arguments: &Arguments, usual: u32, least: u32) -> u32 {
    ((f64::from(usual) * arguments.scale) as u32).max(least)
}

fn files(arguments: &Arguments, paths: &[PathBuf]) -> Result<Files, Failure> {
    let delimiter = match arguments.data.delimiter {
        None => None,
        Some(c) if c.is_ascii() && c != '"' && c != '\n' && c != '\r' => Some(c as u8),
        Some(c) => return Err(Failure::Usage(format!("{c:?} cannot stand between values"))),
    };
    let format = match (arguments.data.format, delimiter) {
        (None, None) => None,
        (Some(FileFormat::Csv), _) | (None, Some(_)) => Some(Format::Csv { delimiter }),
        (Some(FileFormat::Json), _) => Some(Format::Json),
        (Some(FileFormat::Bson), _) => Some(Format::Bson),
    };
    Ok(Files { paths: paths.to_vec(), format, drop: arguments.data.drop.clone() })
}

fn named(field: &Option<String>, flag: &str, what: &str) -> Result<String, Failure> {
    field.clone().ok_or_else(|| Failure::Usage(format!("{flag} is missing: {what}")))
}

fn bucket(arguments: &Arguments, progress: &Bar) -> Result<Bucket, Failure> {
    if arguments.data.data.is_empty() {
        return Ok(Bucket::generated(arguments.seed, 250, scaled(arguments, 4_000, 60))?);
    }
    let given = &arguments.bucket;
    let fields = bucket::Fields {
        time: named(&given.time, "--time", "which field holds the moment of a reading?")?,
        meta: given.meta.clone(),
        value: named(&given.value, "--value", "which field holds the number to be averaged?")?,
    };
    let unit = given.time_unit.map(|unit| match unit {
        Unit::S => TimeUnit::Seconds,
        Unit::Ms => TimeUnit::Millis,
    });
    let order = match given.load_order {
        LoadOrder::Given => bucket::Order::Given,
        LoadOrder::Time => bucket::Order::Time,
        LoadOrder::Meta => bucket::Order::Meta,
        LoadOrder::Random => bucket::Order::Random,
    };
    let files = files(arguments, &arguments.data.data)?;
    Ok(own_data::bucket(&files, fields, unit, order, arguments.seed, progress)?)
}

fn attribute(arguments: &Arguments, progress: &Bar) -> Result<Attribute, Failure> {
    if arguments.data.data.is_empty() {
        return Ok(Attribute::generated(arguments.seed, scaled(arguments, 100_000, 2_000))?);
    }
    let files = files(arguments, &arguments.data.data)?;
    Ok(own_data::attribute(&files, arguments.attribute.keep.clone(), arguments.seed, progress)?)
}

fn subset(arguments: &Arguments, progress: &Bar) -> Result<Subset, Failure> {
    if arguments.data.data.is_empty() {
        return Ok(Subset::generated(arguments.seed, scaled(arguments, 28_000, 300))?);
    }
    let given = &arguments.subset;
    let order = named(&given.order_by, "--order-by", "by which field of a child are they shown?")?;
    let fields = subset::Fields { array: given.array.clone(), key: given.child_key.clone(), order };
    let parents = files(arguments, &arguments.data.data)?;
    let children = match given.children.is_empty() {
        true => None,
        false => Some(files(arguments, &given.children)?),
    };
    Ok(own_data::subset(&parents, &given.parent_key, children.as_ref(), fields, progress)?)
}
