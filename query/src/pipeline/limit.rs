//! `$limit` and `$skip`.

use std::ops::ControlFlow;

use bindery_document::{Doc, Error, Result, Value};

use super::{Sink, Stream};
use crate::projection::Metadata;

/// Parses `$limit`.
///
/// # Errors
/// 5107201 for what is no integer from 0, 15958 for 0.
pub(super) fn parse_limit(argument: Value<'_>) -> Result<u64> {
    match count(&argument) {
        Some(0) => Err(Error::new(15958, "$limit must be positive")),
        Some(limit) => Ok(limit),
        None => Err(Error::new(5_107_201, "$limit takes a positive integer")),
    }
}

/// Parses `$skip`.
///
/// # Errors
/// 5107200 for what is no integer from 0.
pub(super) fn parse_skip(argument: Value<'_>) -> Result<u64> {
    count(&argument).ok_or_else(|| Error::new(5_107_200, "$skip takes an integer that is not negative"))
}

fn count(argument: &Value<'_>) -> Option<u64> {
    u64::try_from(argument.as_exact_i64()?).ok()
}

/// Ends after a number of documents; the input is not asked for more.
pub(super) struct Limit {
    pub(super) input: Box<dyn Stream>,
    pub(super) left: u64,
}

impl Stream for Limit {
    fn advance(&mut self) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let found = self.input.advance()?;
        if !found {
            self.left = 0;
        }
        Ok(found)
    }

    fn current(&self) -> Doc<'_> {
        self.input.current()
    }

    fn metadata(&self) -> Metadata<'_> {
        self.input.metadata()
    }

    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        let left = &mut self.left;
        self.input.drain(&mut |document, metadata| {
            *left -= 1;
            let flow = sink(document, metadata)?;
            Ok(if *left == 0 { ControlFlow::Break(()) } else { flow })
        })
    }
}

/// Passes over a number of documents.
pub(super) struct Skip {
    pub(super) input: Box<dyn Stream>,
    pub(super) left: u64,
}

impl Stream for Skip {
    fn advance(&mut self) -> Result<bool> {
        while self.left > 0 {
            if !self.input.advance()? {
                return Ok(false);
            }
            self.left -= 1;
        }
        self.input.advance()
    }

    fn current(&self) -> Doc<'_> {
        self.input.current()
    }

    fn metadata(&self) -> Metadata<'_> {
        self.input.metadata()
    }

    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let left = &mut self.left;
        self.input.drain(&mut |document, metadata| {
            if *left > 0 {
                *left -= 1;
                return Ok(ControlFlow::Continue(()));
            }
            sink(document, metadata)
        })
    }
}
