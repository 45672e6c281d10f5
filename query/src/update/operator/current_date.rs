//! `$currentDate`: the time of the command, as a date or as a timestamp.

use bindery_document::{Builder, Error, Result, Value, code};

use super::Context;

/// The type to write.
#[derive(Debug)]
pub(in crate::update) enum CurrentDate {
    /// Milliseconds since the epoch.
    Date,
    /// Seconds and increment.
    Timestamp,
}

impl CurrentDate {
    /// Takes the argument: a boolean (either one), or `{$type: "date"}` or `{$type: "timestamp"}`.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for anything else.
    pub(super) fn parse(path: &str, argument: Value<'_>) -> Result<CurrentDate> {
        match argument {
            Value::Boolean(_) => return Ok(CurrentDate::Date),
            Value::Document(doc) if doc.count() == 1 => match doc.get("$type").and_then(|name| name.as_str()) {
                Some("date") => return Ok(CurrentDate::Date),
                Some("timestamp") => return Ok(CurrentDate::Timestamp),
                _ => {}
            },
            _ => {}
        }
        Err(Error::new(
            code::BAD_VALUE,
            format!("$currentDate of '{path}' needs true, {{$type: \"date\"}} or {{$type: \"timestamp\"}}"),
        ))
    }

    /// Writes the field.
    pub(super) fn write(&self, key: &[u8], context: &Context<'_>, out: &mut Builder) {
        match self {
            CurrentDate::Date => out.append(key, Value::DateTime(context.now.date_ms)),
            CurrentDate::Timestamp => out.append(key, Value::Timestamp(context.now.timestamp)),
        }
    }
}
