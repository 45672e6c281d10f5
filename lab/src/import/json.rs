//! Extended JSON: documents in a row (NDJSON is the usual case), or one array of documents.

use std::path::Path;

use super::{Sink, Stop};
use crate::error::{Error, Place};
use crate::extjson::Parsed;

pub(super) fn read(path: &Path, bytes: &[u8], sink: &mut Sink) -> std::result::Result<(), Stop> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = Text { path, bytes, at: 0 };
    text.skip_space();
    if text.peek() == Some(b'[') {
        text.at += 1;
        return read_array(&mut text, sink);
    }
    loop {
        text.skip_space();
        if text.peek().is_none() {
            return Ok(());
        }
        let document = text.document()?;
        sink.document(&document, text.at as u64)?;
    }
}

fn read_array(text: &mut Text<'_>, sink: &mut Sink) -> std::result::Result<(), Stop> {
    let mut first = true;
    loop {
        text.skip_space();
        match text.peek() {
            Some(b']') => {
                text.at += 1;
                text.skip_space();
                return match text.peek() {
                    None => Ok(()),
                    Some(_) => Err(text.error("something follows the array").into()),
                };
            }
            Some(b',') if !first => {
                text.at += 1;
                text.skip_space();
            }
            None => return Err(text.error("the file ends within the array").into()),
            Some(_) if !first => {
                return Err(text.error("a comma is missing between two documents").into());
            }
            Some(_) => {}
        }
        first = false;
        let document = text.document()?;
        sink.document(&document, text.at as u64)?;
    }
}

struct Text<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl Text<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::at(self.path, Place::Line(self.line(self.at)), message)
    }

    /// The line of a byte; counted only when something is wrong there.
    fn line(&self, at: usize) -> u64 {
        self.bytes[..at.min(self.bytes.len())].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
    }

    fn document(&mut self) -> std::result::Result<bson::RawDocumentBuf, Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(&self.bytes[self.at..]);
        deserializer.disable_recursion_limit();
        let mut documents = deserializer.into_iter::<Parsed>();
        match documents.next() {
            Some(Ok(parsed)) => {
                self.at += documents.byte_offset();
                Ok(parsed.0)
            }
            Some(Err(error)) => {
                let line = self.line(self.at) + (error.line() as u64).saturating_sub(1);
                let message = if error.is_eof() {
                    "the file ends within a document".to_owned()
                } else if error.line() == 0 {
                    error.to_string()
                } else {
                    format!("{}, column {}", crate::extjson::message_of(&error), error.column())
                };
                Err(Error::at(self.path, Place::Line(line), message))
            }
            None => Err(self.error("a document was expected")),
        }
    }
}
