//! What a running pipeline has around it: other collections, parameters, limits.

use std::fmt;
use std::sync::Arc;

use bindery_document::{Doc, Error, OwnedValue, Path, Result, Value, code};

use super::{Sink, Stage, Stream};
use crate::collation::Collation;
use crate::expression::{Scope, StringOrder};
use crate::filter::Filter;

/// MongoDB's limit for the memory of one stage that may not use the disk: 100 MiB.
pub const MEMORY_LIMIT_BYTES: usize = 100 * 1024 * 1024;

/// Access to the other collections of the database, for `$lookup`, `$graphLookup` and `$unionWith`. Views are
/// read as if they were collections, missing collections as empty ones.
pub trait Foreign: Send + Sync {
    /// The documents of a collection that the filter lets through, all of them without one. The filter's
    /// expressions may use the parameters, and it compares strings by the collation.
    ///
    /// # Errors
    /// What reading fails with.
    fn find(
        &self,
        collection: &str,
        filter: Option<&Filter>,
        collation: Option<&Collation>,
        parameters: &Arc<[Option<OwnedValue>]>,
    ) -> Result<Box<dyn Stream>>;

    /// The documents of a stage that tells of a collection instead of reading it: [`Stage::IndexStats`] and its like.
    ///
    /// # Errors
    /// What the stage fails with.
    fn tell(&self, _collection: &str, _stage: &Stage) -> Result<Box<dyn Stream>> {
        Ok(Box::new(super::stream::Nothing))
    }

    /// Whether a name is that of a view.
    fn is_view(&self, _collection: &str) -> bool {
        false
    }

    /// What finds documents of a collection by a field without planning each time; strings are compared by their
    /// bytes. `None` if there is no such thing.
    fn probe(&self, _collection: &str, _path: &Path) -> Option<Box<dyn Probe>> {
        None
    }
}

/// Finds the documents of one collection by the value of one field, again and again.
pub trait Probe: Send {
    /// Hands over the documents whose field equals the value, in the order in which they were inserted. False, and
    /// nothing was handed over, where that needs more than an index: [`Foreign::find`] must be asked then.
    ///
    /// # Errors
    /// What reading fails with, and what `sink` does.
    fn find(&mut self, value: &Value<'_>, sink: &mut Sink<'_>) -> Result<bool>;
}

/// No other collections: all are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoForeign;

impl Foreign for NoForeign {
    fn find(
        &self,
        _: &str,
        _: Option<&Filter>,
        _: Option<&Collation>,
        _: &Arc<[Option<OwnedValue>]>,
    ) -> Result<Box<dyn Stream>> {
        Ok(Box::new(super::stream::Nothing))
    }
}

/// What a running pipeline has around it.
#[derive(Clone)]
pub struct Environment {
    /// Other collections.
    pub foreign: Arc<dyn Foreign>,
    /// Values of the parameters that the expressions' context declared.
    pub parameters: Arc<[Option<OwnedValue>]>,
    /// The memory that one stage may take, in bytes ([`MEMORY_LIMIT_BYTES`]).
    pub memory_limit_bytes: usize,
    /// Asked now and then whether to go on, for `maxTimeMS` and `killOp`.
    pub interrupt: Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>,
    /// The order of strings; set from the pipeline's collation when it is opened.
    pub(super) strings: Option<Arc<StringOrder>>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl Environment {
    /// Without parameters, with MongoDB's limits.
    pub fn new(foreign: Arc<dyn Foreign>) -> Environment {
        Environment {
            foreign,
            parameters: Arc::from([]),
            memory_limit_bytes: MEMORY_LIMIT_BYTES,
            interrupt: None,
            strings: None,
        }
    }

    /// The surroundings of an expression on this document.
    #[inline]
    pub(super) fn scope<'a>(&'a self, doc: Doc<'a>) -> Scope<'a> {
        Scope::new(doc).with_parameters(&self.parameters).with_strings(self.strings.as_deref())
    }

    /// Fails if the pipeline is to stop.
    #[inline]
    pub(super) fn check_interrupt(&self) -> Result<()> {
        match &self.interrupt {
            Some(interrupt) => interrupt(),
            None => Ok(()),
        }
    }

    /// Fails if a stage holds more memory than it may.
    #[inline]
    pub(super) fn check_memory(&self, stage: &str, used_bytes: usize) -> Result<()> {
        if used_bytes <= self.memory_limit_bytes {
            return Ok(());
        }
        let limit = self.memory_limit_bytes;
        let message = format!("{stage} needs more than {limit} bytes of memory");
        Err(Error::new(code::QUERY_EXCEEDED_MEMORY_LIMIT, message))
    }
}
