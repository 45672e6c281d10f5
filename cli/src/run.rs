//! `bindery run`: a script of commands in, a line for each reply out.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use bindery::{Database, Options, Planner};
use bindery_lab::extjson;
use bson::{RawDocumentBuf, rawdoc};

use crate::Failure;

#[derive(clap::Args)]
#[command(after_long_help = "\
Each line is a command as MongoDB takes it, in Extended JSON (canonical or relaxed), on the database that
its field `$db` names, or on `test`. Empty lines and lines that begin with # or // are passed over. Each
command is answered by one line of canonical Extended JSON; a command that fails, or a line that is no
document, by {\"ok\": 0, \"errmsg\", \"code\", \"codeName\"}, and the next line is run all the same.

  $ printf '%s\\n' '{\"insert\": \"c\", \"documents\": [{\"_id\": 1, \"a\": 2}]}' '{\"find\": \"c\", \"filter\": {\"a\": 2}}' | bindery run

The exit status is 1 if a line was no document.")]
pub(crate) struct Arguments {
    /// The script; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    script: PathBuf,
    /// Whose choice of plans; a command's own field `planner` outweighs it
    #[arg(long, value_name = "PLANNER", default_value = "bindery")]
    planner: Planning,
}

/// The planners, by their names.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Planning {
    /// The cheapest plan that this engine knows of
    Bindery,
    /// The plan that MongoDB 6.0 would choose, so that keys and documents examined are its counts
    #[value(name = "mongodb")]
    MongoDb,
}

impl Planning {
    fn options(self) -> Options {
        let planner = match self {
            Planning::Bindery => Planner::Bindery,
            Planning::MongoDb => Planner::MongoDb,
        };
        Options { planner, ..Options::default() }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stdout = std::io::stdout().lock();
    if arguments.script.as_os_str() == "-" {
        return run_script(arguments.planner, std::io::stdin().lock(), stdout);
    }
    let name = arguments.script.display();
    let unreadable = |error: std::io::Error| Failure::Undone(format!("{name}: cannot be read: {error}"));
    run_script(arguments.planner, File::open(&arguments.script).map_err(unreadable)?, stdout)
}

/// FailedToParse, for a line that is no document.
const FAILED_TO_PARSE: i32 = 9;

fn run_script(planning: Planning, input: impl Read, output: impl Write) -> Result<(), Failure> {
    let database = Database::with_options(planning.options());
    let mut input = BufReader::new(input);
    let mut output = BufWriter::new(output);
    let mut line = Vec::new();
    let (mut number, mut broken) = (0_u64, 0_u64);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let reply = match command(&line) {
            Ok(None) => continue,
            Ok(Some(command)) => database.run_command(&command),
            Err(message) => {
                broken += 1;
                let message = format!("line {number}: {message}");
                rawdoc! { "ok": 0.0, "errmsg": message, "code": FAILED_TO_PARSE, "codeName": "FailedToParse" }
            }
        };
        let reply = extjson::write_document(&reply)?;
        output.write_all(reply.as_bytes())?;
        output.write_all(b"\n")?;
        // Whoever waits for a reply before the next command gets it; a long script is not slowed down.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()?;
    match broken {
        0 => Ok(()),
        1 => Err(Failure::Undone("a line was no command".to_owned())),
        n => Err(Failure::Undone(format!("{n} lines were no commands"))),
    }
}

/// The command on a line, if there is one.
fn command(line: &[u8]) -> Result<Option<RawDocumentBuf>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() || text.starts_with('#') || text.starts_with("//") {
        return Ok(None);
    }
    match extjson::parse_document(text) {
        Ok(command) => Ok(Some(command)),
        Err(bindery_lab::Error::Json { column, message, .. }) if column > 0 => {
            Err(format!("column {column}: {message}"))
        }
        Err(bindery_lab::Error::Json { message, .. }) => Err(message),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(script: &str) -> (Vec<String>, Result<(), Failure>) {
        let mut output = Vec::new();
        let outcome = run_script(Planning::Bindery, script.as_bytes(), &mut output);
        let text = String::from_utf8(output).expect("UTF-8");
        (text.lines().map(str::to_owned).collect(), outcome)
    }

    #[test]
    fn commands_run_in_order_on_one_database() {
        let (lines, outcome) = replies(
            "# a lesson\n\n{\"insert\": \"c\", \"documents\": [{\"_id\": 1}, {\"_id\": 2}, {\"_id\": 3}]}\n\
             {\"find\": \"c\", \"batchSize\": 2, \"sort\": {\"_id\": 1}}\n\
             {\"count\": \"c\", \"$db\": \"other\"}\n{\"nonsense\": 1}\n",
        );
        assert!(outcome.is_ok());
        assert_eq!(lines.len(), 4);
        assert!(lines[0].contains("\"n\":{\"$numberInt\":\"3\"}"), "{}", lines[0]);
        let cursor = extjson::parse_document(&lines[1]).expect("Extended JSON");
        let cursor = cursor.get_document("cursor").expect("a cursor");
        let id = cursor.get_i64("id").expect("an id");
        assert_ne!(id, 0);
        assert!(lines[2].contains("\"n\":{\"$numberInt\":\"0\"}"), "{}", lines[2]);
        assert!(lines[3].contains("\"codeName\":\"CommandNotFound\""), "{}", lines[3]);
    }

    #[test]
    fn a_line_that_is_no_document_gets_an_error_and_the_next_runs() {
        let (lines, outcome) = replies("{\"ping\": 1\n[1]\n{\"ping\": 1}");
        assert!(matches!(outcome, Err(Failure::Undone(message)) if message.starts_with("2 lines")));
        assert!(lines[0].contains("line 1") && lines[0].contains("\"codeName\":\"FailedToParse\""), "{}", lines[0]);
        assert!(lines[1].contains("not an array"), "{}", lines[1]);
        assert_eq!(lines[2], "{\"ok\":{\"$numberDouble\":\"1.0\"}}");
    }
}
