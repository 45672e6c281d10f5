//! The user's own files as documents: CSV, Extended JSON, BSON dumps.
//!
//! A file is read by a thread of its own that hands over chunks of documents, so that reading and
//! parsing overlap with whatever takes them. The last message of a good file is its end; a file that
//! breaks half-way ends in an error with the place, and [`read_files`] then gives nothing at all.
//!
//! - CSV: a first pass finds each column's type, a second one makes documents;
//! - Extended JSON: documents one after the other (a line each, or not), or one array of documents;
//! - BSON: what `mongodump` writes: documents without anything between them.

mod bson_dump;
mod csv;
mod json;
mod mapped;
mod timestamp;

use std::path::{Path, PathBuf};

use bson::RawDocument;
use crossbeam::channel::{self, Receiver, Sender};

use crate::documents::Documents;
use crate::error::{Error, Result};
use mapped::MappedFile;

pub use timestamp::parse_timestamp;

/// How a file holds its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma separated values with a header line.
    Csv {
        /// What stands between two values; `None` finds out from the header.
        delimiter: Option<u8>,
    },
    /// Extended JSON: documents in a row, or an array of them.
    Json,
    /// Concatenated BSON documents.
    Bson,
}

impl Format {
    /// The format that the name's extension stands for: csv, tsv and txt; json, jsonl and ndjson; bson.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "csv" | "txt" => Format::Csv { delimiter: None },
            "tsv" => Format::Csv { delimiter: Some(b'\t') },
            "json" | "jsonl" | "ndjson" => Format::Json,
            "bson" => Format::Bson,
            _ => return None,
        })
    }
}

/// Some documents of a file, in its order.
#[derive(Debug)]
pub struct Chunk {
    /// The documents, each valid.
    pub documents: Documents,
    /// How far in the file the reader is, in bytes from its start.
    pub position: u64,
}

/// A chunk is handed over when it holds this many bytes.
const CHUNK_BYTES: u64 = 1 << 20;

/// How many chunks a reader may be ahead of whoever takes them.
const CHUNKS_AHEAD: usize = 4;

/// Where a format's reader puts documents.
struct Sink {
    chunk: Documents,
    sender: Sender<Result<Chunk>>,
}

/// Nobody listens any more: the reader may stop.
struct Abandoned;

/// Why a reader stopped before the file's end.
enum Stop {
    Failed(Error),
    Abandoned,
}

impl From<Abandoned> for Stop {
    fn from(_: Abandoned) -> Stop {
        Stop::Abandoned
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl Sink {
    fn document(&mut self, document: &RawDocument, position: u64) -> std::result::Result<(), Abandoned> {
        self.chunk.push(document);
        if self.chunk.bytes() < CHUNK_BYTES {
            return Ok(());
        }
        self.hand_over(position)
    }

    fn hand_over(&mut self, position: u64) -> std::result::Result<(), Abandoned> {
        let documents = std::mem::take(&mut self.chunk);
        self.sender.send(Ok(Chunk { documents, position })).map_err(|_| Abandoned)
    }
}

/// Starts reading `path` and returns its chunks as they come, with the file's size in bytes.
///
/// The receiver gets an error as its last message where the file breaks, with the line (text) or the
/// byte offset (BSON). Fails at once where the file cannot be opened, is empty, or is of another kind
/// than `format` in a way that its first bytes show. Dropping the receiver stops the reader.
pub fn read(path: &Path, format: Format) -> Result<(u64, Receiver<Result<Chunk>>)> {
    let file = MappedFile::open(path)?;
    let size = file.bytes().len() as u64;
    refuse_foreign(path, file.bytes())?;
    let (sender, receiver) = channel::bounded(CHUNKS_AHEAD);
    let path = path.to_owned();
    let reader = move || {
        let mut sink = Sink { chunk: Documents::new(), sender };
        let outcome = match format {
            Format::Csv { delimiter } => csv::read(&path, file.bytes(), delimiter, &mut sink),
            Format::Json => json::read(&path, file.bytes(), &mut sink),
            Format::Bson => bson_dump::read(&path, file.bytes(), &mut sink),
        };
        match outcome {
            Ok(()) => {
                let _ = sink.hand_over(file.bytes().len() as u64);
            }
            Err(Stop::Failed(error)) => {
                let _ = sink.sender.send(Err(error));
            }
            Err(Stop::Abandoned) => {}
        }
    };
    std::thread::Builder::new()
        .name("bindery-import".to_owned())
        .spawn(reader)
        .map_err(|error| Error::Target(format!("no thread to read with: {error}")))?;
    Ok((size, receiver))
}

/// Containers that hold documents but are not documents themselves.
fn refuse_foreign(path: &Path, bytes: &[u8]) -> Result<()> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::file(path, "the file is empty"));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Error::file(path, "compressed with gzip: unpack it first"));
    }
    if bytes.starts_with(&0x8199_e26d_u32.to_le_bytes()) {
        return Err(Error::file(path, "an archive of mongodump: dump to a folder instead (`mongodump --out`)"));
    }
    Ok(())
}

/// All documents of `files`, in order, converted by `convert` as they come; or nothing and the error.
///
/// `progress` is told how many bytes were read since it was told last.
pub fn read_files(
    files: &[(PathBuf, Format)],
    mut convert: impl FnMut(&RawDocument, &mut Documents) -> Result<()>,
    mut progress: impl FnMut(u64),
) -> Result<Documents> {
    let mut documents = Documents::new();
    for (path, format) in files {
        let (_, chunks) = read(path, *format)?;
        let mut told = 0;
        let before = documents.len();
        for chunk in chunks {
            let chunk = chunk?;
            for document in chunk.documents.iter() {
                convert(document, &mut documents)?;
            }
            progress(chunk.position - told);
            told = chunk.position;
        }
        if documents.len() == before {
            return Err(Error::file(path, "no documents in it"));
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests;
