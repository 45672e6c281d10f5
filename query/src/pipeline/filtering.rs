//! `$match`: lets through the documents that a query matches.

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::{Doc, Error, Result, Value, code};

use super::{Environment, Sink, Stream};
use crate::filter::{Filter, ParseContext};
use crate::projection::Metadata;

/// The stage.
#[derive(Debug)]
pub struct Match {
    /// The compiled query.
    pub filter: Filter,
}

/// Parses the query.
///
/// # Errors
/// 15959 for what is no document; those of queries.
pub(super) fn parse(argument: Value<'_>, context: &ParseContext) -> Result<Match> {
    let Value::Document(query) = argument else {
        return Err(Error::new(15959, format!("$match takes a document, not {}", argument.kind().alias())));
    };
    Ok(Match { filter: parse_query(query, context)? })
}

/// Parses a query inside a pipeline, where an order by distance is not to be had.
///
/// # Errors
/// 5626500 for `$near` and its kin; those of queries.
pub(super) fn parse_query(query: Doc<'_>, context: &ParseContext) -> Result<Filter> {
    Filter::parse(query, context).map_err(|error| {
        if error.code == code::NO_QUERY_EXECUTION_PLANS { Error::new(5_626_500, error.message) } else { error }
    })
}

struct MatchStream {
    stage: Arc<Match>,
    input: Box<dyn Stream>,
    env: Environment,
}

impl Match {
    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(MatchStream { stage: self, input, env: env.clone() })
    }
}

impl Stream for MatchStream {
    fn advance(&mut self) -> Result<bool> {
        while self.input.advance()? {
            if self.stage.filter.matches_with(self.input.current(), &self.env.parameters)? {
                return Ok(true);
            }
            self.env.check_interrupt()?;
        }
        Ok(false)
    }

    fn current(&self) -> Doc<'_> {
        self.input.current()
    }

    fn metadata(&self) -> Metadata<'_> {
        self.input.metadata()
    }

    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let MatchStream { stage, input, env } = self;
        input.drain(&mut |document, metadata| {
            if stage.filter.matches_with(document, &env.parameters)? {
                return sink(document, metadata);
            }
            env.check_interrupt()?;
            Ok(ControlFlow::Continue(()))
        })
    }
}
