//! What can go wrong in the laboratory, sorted by whose fault it is: the file's, the command's, the
//! request's.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// A byte offset from the file's start.
    Offset(u64),
}

/// A failure, worded for the person who asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A data file could not be read or does not hold what it should. Nothing of it was kept.
    File {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong there.
        message: String,
    },
    /// Text is not a document in Extended JSON.
    Json {
        /// The line, counted from 1.
        line: u64,
        /// The column, counted from 1; 0 before the first character.
        column: u64,
        /// What is wrong there.
        message: String,
    },
    /// A command was refused.
    Command {
        /// MongoDB's error code.
        code: i32,
        /// The server's words.
        message: String,
        /// The command's name.
        command: String,
    },
    /// Two schemas answered one logical question differently: there are no figures to show.
    Disagreement(String),
    /// A command could not be delivered, or what came back is no reply.
    Target(String),
    /// The data does not suit the scenario, or the request contradicts itself.
    Unsuitable(String),
}

impl Error {
    /// An error in `path` as a whole.
    pub fn file(path: &Path, message: impl Into<String>) -> Error {
        Error::at(path, Place::File, message)
    }

    /// An error at a place in `path`.
    pub fn at(path: &Path, place: Place, message: impl Into<String>) -> Error {
        Error::File { path: path.to_owned(), place, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, place: Place::File, message } => write!(f, "{}: {message}", path.display()),
            Error::File { path, place: Place::Line(line), message } => {
                write!(f, "{}, line {line}: {message}", path.display())
            }
            Error::File { path, place: Place::Offset(offset), message } => {
                write!(f, "{}, byte {offset}: {message}", path.display())
            }
            Error::Json { line, column, message } => write!(f, "line {line}, column {column}: {message}"),
            Error::Command { code, message, command } => {
                write!(f, "the command `{command}` was refused with code {code}: {message}")
            }
            Error::Disagreement(message) | Error::Target(message) | Error::Unsuitable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
