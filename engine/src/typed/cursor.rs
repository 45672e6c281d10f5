//! Results, one by one.

use std::marker::PhantomData;

use bindery_document::Result;
use bindery_index::Untraced;
use serde::de::DeserializeOwned;

use super::command::deserialize;
use crate::cursor::Rows;
use crate::trace::Cx;

/// The documents of a `find` or an `aggregate`, read from one snapshot: what is written meanwhile is not seen.
///
/// Dropping it lets the snapshot go.
pub struct Cursor<T> {
    rows: Option<Box<dyn Rows>>,
    documents: PhantomData<fn() -> T>,
}

impl<T> Cursor<T> {
    /// A cursor over rows; none of them for a collection that does not exist.
    pub(super) fn new(rows: Option<Box<dyn Rows>>) -> Cursor<T> {
        Cursor { rows, documents: PhantomData }
    }
}

impl<T> std::fmt::Debug for Cursor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("is_open", &self.rows.is_some()).finish_non_exhaustive()
    }
}

impl<T: DeserializeOwned> Iterator for Cursor<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let rows = self.rows.as_mut()?;
        match rows.advance(&mut Cx::new(&mut Untraced)) {
            Ok(true) => Some(deserialize(rows.current())),
            Ok(false) => {
                self.rows = None;
                None
            }
            // After a failure there is nothing more.
            Err(error) => {
                self.rows = None;
                Some(Err(error))
            }
        }
    }
}
