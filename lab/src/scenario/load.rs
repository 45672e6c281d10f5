//! Filling a schema: documents and updates into commands of many, made by one thread and run by another.

use bson::{RawArrayBuf, RawDocument, RawDocumentBuf, rawdoc};
use crossbeam::channel::Sender;

use crate::error::{Error, Result};

/// Documents that one `insert` carries; more would not be faster, and replies stay small.
const DOCUMENTS: usize = 1000;

/// Bytes after which a command is sent although it has fewer documents: below what MongoDB takes in
/// one message (48 MB), by far.
const BYTES: usize = 4 << 20;

/// Takes documents and updates in load order and hands over commands.
///
/// A command never holds both, and the order between an insert and an update is kept.
pub struct Loader<'c> {
    commands: &'c Sender<Command>,
    kind: Kind,
    collection: &'static str,
    batch: RawArrayBuf,
    batched: usize,
}

/// A command of a load, and how many logical documents it stands for.
pub struct Command {
    /// To be run as it is.
    pub command: RawDocumentBuf,
    /// Progress that it means.
    pub documents: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Update,
}

impl<'c> Loader<'c> {
    /// A loader that sends to `commands`.
    pub fn new(commands: &'c Sender<Command>) -> Loader<'c> {
        Loader { commands, kind: Kind::Insert, collection: "", batch: RawArrayBuf::new(), batched: 0 }
    }

    /// Inserts `document`.
    pub fn insert(&mut self, collection: &'static str, document: &RawDocument) -> Result<()> {
        self.add(Kind::Insert, collection, document)
    }

    /// Does one update, `{q, u, upsert}` as the `update` command takes it.
    pub fn update(&mut self, collection: &'static str, update: &RawDocument) -> Result<()> {
        self.add(Kind::Update, collection, update)
    }

    fn add(&mut self, kind: Kind, collection: &'static str, element: &RawDocument) -> Result<()> {
        if self.kind != kind || self.collection != collection {
            self.send()?;
            self.kind = kind;
            self.collection = collection;
        }
        self.batch.push(element);
        self.batched += 1;
        if self.batched == DOCUMENTS || self.batch.as_bytes().len() >= BYTES {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        if self.batched == 0 {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        let documents = std::mem::take(&mut self.batched) as u64;
        let command = match self.kind {
            Kind::Insert => rawdoc! { "insert": self.collection, "documents": batch },
            Kind::Update => rawdoc! { "update": self.collection, "updates": batch },
        };
        self.commands.send(Command { command, documents }).map_err(|_| Error::Target("loading was given up".to_owned()))
    }

    /// Sends what is left.
    pub fn finish(mut self) -> Result<()> {
        self.send()
    }
}
