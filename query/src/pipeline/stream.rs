//! Streams of documents: what stages read and what they give.
//!
//! A stream is pulled: [`Stream::advance`] goes to the next document, [`Stream::current`] shows it, borrowed
//! from wherever it lies, so that a stage that lets documents through copies none. A stream owns what it
//! needs (a snapshot, a buffer), can be kept between two batches of a cursor, and holds no lock.
//!
//! A stage that reads all of its input before it gives anything has it pushed instead: [`Stream::drain`] hands over
//! document after document, so that a scan below runs through its pages without stopping at each record.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use bindery_document::{Doc, DocBuf, Result, doc};

use crate::projection::Metadata;

/// Takes a document with its metadata, and says whether it takes another.
pub type Sink<'s> = dyn FnMut(Doc<'_>, Metadata<'_>) -> Result<ControlFlow<()>> + 's;

/// A source of documents.
pub trait Stream: Send {
    /// Goes to the next document; false at the end, and ever after.
    ///
    /// # Errors
    /// What reading or computing the document fails with. The stream is not to be used then.
    fn advance(&mut self) -> Result<bool>;

    /// The document that [`Stream::advance`] went to; empty if there is none.
    fn current(&self) -> Doc<'_>;

    /// What is known of the document besides its fields.
    fn metadata(&self) -> Metadata<'_> {
        Metadata::default()
    }

    /// Hands over the documents that are left, until `sink` takes no more. The stream is not to be used afterwards.
    ///
    /// # Errors
    /// What reading or computing a document fails with, and what `sink` does.
    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        while self.advance()? {
            if sink(self.current(), self.metadata())?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Documents in memory, each dropped when it has been read.
#[derive(Debug, Default)]
pub struct Documents {
    rest: VecDeque<DocBuf>,
    current: Option<DocBuf>,
}

impl Documents {
    /// A stream of these documents.
    pub fn new(documents: impl IntoIterator<Item = DocBuf>) -> Documents {
        Documents { rest: documents.into_iter().collect(), current: None }
    }

    /// Adds a document at the end.
    pub fn push(&mut self, document: DocBuf) {
        self.rest.push_back(document);
    }

    /// The number of documents not yet read.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether all documents were read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl Stream for Documents {
    fn advance(&mut self) -> Result<bool> {
        self.current = self.rest.pop_front();
        Ok(self.current.is_some())
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }
}

/// The stream without documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Stream for Nothing {
    fn advance(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn current(&self) -> Doc<'_> {
        doc::EMPTY
    }
}
