//! The `bindery` command.
//!
//! Results go to standard output, progress and failures to standard error. The exit status is 0 when
//! everything was done, 1 when something could not be done, 2 for arguments that make no sense (as clap
//! has it), and 3 when schemas that hold the same data answer differently. Whoever reads the output may
//! stop at any time: a closed pipe is no failure.

mod compare;
mod progress;
mod run;

use std::fmt;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "bindery",
    version,
    about = "An embedded document engine that shows what a schema design pattern costs and saves",
    after_help = "Exit status: 0 done, 1 could not be done, 2 wrong arguments, 3 schemas that should agree did not."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hold the same data in different schemas, ask them the same questions, and show what each costs
    Compare(Box<compare::Arguments>),
    /// Run MongoDB commands, one a line in Extended JSON, on one in-memory database
    Run(run::Arguments),
}

/// Why the command stops.
enum Failure {
    /// Something could not be done.
    Undone(String),
    /// Arguments that contradict each other.
    Usage(String),
    /// Schemas answered differently.
    Disagreement(String),
    /// Nobody reads the output any more.
    Unread,
}

impl From<bindery_lab::Error> for Failure {
    fn from(error: bindery_lab::Error) -> Failure {
        match error {
            bindery_lab::Error::Disagreement(message) => Failure::Disagreement(message),
            error => Failure::Undone(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Undone(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Undone(message) | Failure::Usage(message) => f.write_str(message),
            Failure::Disagreement(message) => {
                write!(f, "{message}\nSchemas that answer differently cannot be compared: there are no figures.")
            }
            Failure::Unread => f.write_str("nobody reads the output"),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
    };
    let status = match &outcome {
        Ok(()) | Err(Failure::Unread) => return ExitCode::SUCCESS,
        Err(Failure::Undone(_)) => 1,
        Err(Failure::Usage(_)) => 2,
        Err(Failure::Disagreement(_)) => 3,
    };
    if let Err(failure) = outcome {
        eprintln!("bindery: {failure}");
    }
    ExitCode::from(status)
}
