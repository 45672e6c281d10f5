//! `$pop`: takes the last or the first element off an array.

use bindery_document::{Builder, Element, Error, Result, Value, code};

use super::{Outcome, array_items, write_items};

/// Which end.
#[derive(Debug)]
pub(in crate::update) enum Pop {
    First,
    Last,
}

impl Pop {
    /// Takes the argument: 1 for the last element, -1 for the first, of any number type.
    ///
    /// # Errors
    /// [`code::FAILED_TO_PARSE`] for anything else.
    pub(super) fn parse(path: &str, argument: Value<'_>) -> Result<Pop> {
        match argument.as_exact_i64() {
            Some(1) => Ok(Pop::Last),
            Some(-1) => Ok(Pop::First),
            _ => Err(Error::new(code::FAILED_TO_PARSE, format!("$pop of '{path}' needs 1 or -1"))),
        }
    }

    /// Shortens a field.
    ///
    /// # Errors
    /// [`code::TYPE_MISMATCH`] for a field that is no array.
    pub(super) fn update(&self, field: Element<'_>, out: &mut Builder) -> Result<Outcome> {
        let items = array_items(field, "$pop", code::TYPE_MISMATCH)?;
        let rest = match self {
            Pop::First => items.split_first().map(|(_, rest)| rest),
            Pop::Last => items.split_last().map(|(_, rest)| rest),
        };
        let Some(rest) = rest else {
            return Ok(Outcome::Unchanged);
        };
        write_items(field.key, rest, out);
        Ok(Outcome::Written)
    }
}
