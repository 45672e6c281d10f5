//! Pipelines.

use bindery_document::{Result, Value};
use bindery_index::Untraced;
use bson::{Bson, Document};
use serde::de::DeserializeOwned;

use super::command::{append_document, append_optional};
use super::write::array_of;
use super::{Collection, Cursor};
use crate::command::open_aggregate;
use crate::trace::Cx;

/// A pipeline being put together; [`Aggregate::run`] runs it.
#[derive(Debug)]
#[must_use = "nothing is read until `run`"]
pub struct Aggregate<'a, T> {
    collection: &'a Collection<T>,
    stages: Vec<Document>,
    hint: Option<Bson>,
    collation: Option<Document>,
    variables: Option<Document>,
    max_time_ms: u64,
}

impl<T> Aggregate<'_, T> {
    /// The index to use for the first stages, by name or by key.
    pub fn hint(mut self, hint: impl Into<Bson>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// How strings are compared.
    pub fn collation(mut self, collation: Document) -> Self {
        self.collation = Some(collation);
        self
    }

    /// Variables for expressions.
    pub fn let_vars(mut self, variables: Document) -> Self {
        self.variables = Some(variables);
        self
    }

    /// The most milliseconds to take.
    pub fn max_time_ms(mut self, ms: u64) -> Self {
        self.max_time_ms = ms;
        self
    }

    /// Runs the pipeline; its documents are read as `U`.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the pipeline.
    pub fn run_as<U: DeserializeOwned>(self) -> Result<Cursor<U>> {
        let mut command = self.collection.command("aggregate");
        command.append("pipeline", Value::Array(array_of(&self.stages)?.doc()));
        append_optional(&mut command, "collation", self.collation.as_ref())?;
        append_optional(&mut command, "let", self.variables.as_ref())?;
        match &self.hint {
            None => {}
            Some(Bson::Document(key)) => append_document(&mut command, "hint", key)?,
            Some(other) => command.append("hint", other.as_str().unwrap_or_default()),
        }
        if self.max_time_ms > 0 {
            command.append("maxTimeMS", i64::try_from(self.max_time_ms).unwrap_or(i64::MAX));
        }
        let command = command.finish();
        let mut untraced = Untraced;
        let mut cx = Cx::new(&mut untraced);
        let rows = open_aggregate(&self.collection.inner, &self.collection.database, command.doc(), &mut cx)?;
        Ok(Cursor::new(Some(rows)))
    }

    /// Runs the pipeline.
    ///
    /// # Errors
    /// With MongoDB's codes for what is wrong with the pipeline.
    pub fn run(self) -> Result<Cursor<Document>> {
        self.run_as()
    }
}

impl<T> Collection<T> {
    /// A pipeline over the collection's documents.
    pub fn aggregate(&self, stages: impl IntoIterator<Item = Document>) -> Aggregate<'_, T> {
        let stages = stages.into_iter().collect();
        Aggregate { collection: self, stages, hint: None, collation: None, variables: None, max_time_ms: 0 }
    }
}
