//! Scenarios over the user's own files.
//!
//! Which field means what is the user's to say; what a file does not say by itself (whether a number is
//! seconds or milliseconds) is asked for, never guessed.

use std::path::PathBuf;

use bson::raw::CString;
use bson::{DateTime, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::import::{Format, parse_timestamp, read_files};
use crate::measure::Progress;
use crate::scenario::attribute::Attribute;
use crate::scenario::bucket::{self, Bucket};
use crate::scenario::subset::{self, Subset};

/// Files with documents of one kind, and fields of them that are of no interest.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The files, read one after the other.
    pub paths: Vec<PathBuf>,
    /// How they hold documents; `None` goes by each file's name.
    pub format: Option<Format>,
    /// Top-level fields that are left out.
    pub drop: Vec<String>,
}

/// What a number in a time field counts from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
}

impl Files {
    fn formats(&self) -> Result<Vec<(PathBuf, Format)>> {
        let format = |path: &PathBuf| match self.format.or_else(|| Format::of(path)) {
            Some(format) => Ok((path.clone(), format)),
            None => Err(Error::file(path, "the name does not tell the format: say which with --format")),
        };
        self.paths.iter().map(format).collect()
    }

    /// All documents, each changed by `change`, told to `progress` by bytes.
    fn read(
        &self,
        progress: &dyn Progress,
        mut change: impl FnMut(RawDocumentBuf) -> Result<RawDocumentBuf>,
    ) -> Result<Documents> {
        let files = self.formats()?;
        let bytes = files.iter().filter_map(|(path, _)| std::fs::metadata(path).ok()).map(|file| file.len()).sum();
        progress.begin("reading", bytes);
        read_files(
            &files,
            |document, out| {
                out.push(&change(self.without_dropped(document))?);
                Ok(())
            },
            |n| progress.advance(n),
        )
    }

    fn without_dropped(&self, document: &RawDocument) -> RawDocumentBuf {
        if self.drop.is_empty() {
            return document.to_owned();
        }
        let mut kept = RawDocumentBuf::new();
        for (name, value) in document.iter().flatten() {
            if !self.drop.iter().any(|dropped| dropped == name.as_str()) {
                kept.append(name, value);
            }
        }
        kept
    }

    /// The names of the files, for a report.
    fn names(&self) -> String {
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        self.paths.iter().filter_map(name).collect::<Vec<_>>().join(", ")
    }
}

/// The bucket scenario over readings. The time field may hold dates, text that is a date, or numbers
/// if `unit` says what they count.
pub fn bucket(
    files: &Files,
    fields: bucket::Fields,
    unit: Option<TimeUnit>,
    order: bucket::Order,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Bucket> {
    let mut position = 0_u64;
    let time = fields.time.clone();
    let documents = files.read(progress, |document| {
        position += 1;
        with_date(document, &time, unit).map_err(|what| Error::Unsuitable(format!("reading {position}: {what}")))
    })?;
    Bucket::new(documents, fields, files.names(), order, seed)
}

/// `document` with its field `name` as a date, where that takes a conversion.
fn with_date(
    document: RawDocumentBuf,
    name: &str,
    unit: Option<TimeUnit>,
) -> std::result::Result<RawDocumentBuf, String> {
    let from_number = |n: i64| match unit {
        Some(TimeUnit::Seconds) => n.checked_mul(1000).ok_or(format!("`{name}` is no moment: {n}")),
        Some(TimeUnit::Millis) => Ok(n),
        None => Err(format!("`{name}` is a number: say with --time-unit what it counts")),
    };
    let millis = match document.get(name) {
        Ok(Some(RawBsonRef::String(text))) => match parse_timestamp(text) {
            Some(at) => at.timestamp_millis(),
            None => return Err(format!("`{name}` is no date: {text:?}")),
        },
        Ok(Some(RawBsonRef::Int32(n))) => from_number(i64::from(n))?,
        Ok(Some(RawBsonRef::Int64(n))) => from_number(n)?,
        Ok(Some(RawBsonRef::Double(n))) if n.abs() < 1e15 => match unit {
            Some(TimeUnit::Seconds) => (n * 1000.0) as i64,
            _ => from_number(n as i64)?,
        },
        // Dates stay, and what else is wrong the scenario says.
        _ => return Ok(document),
    };
    let mut with_date = RawDocumentBuf::new();
    for (field, value) in document.iter().flatten() {
        if field.as_str() == name {
            with_date.append(field, DateTime::from_millis(millis));
        } else {
            with_date.append(field, value);
        }
    }
    Ok(with_date)
}

/// The attribute scenario over products, whose fields but `_id` and `kept` are attributes.
pub fn attribute(files: &Files, kept: Vec<String>, seed: u64, progress: &dyn Progress) -> Result<Attribute> {
    let documents = files.read(progress, Ok)?;
    Attribute::new(documents, kept, files.names(), seed)
}

/// The subset scenario over parents and children: from files of their own, or (without `children`)
/// from parents with an embedded array.
pub fn subset(
    parents: &Files,
    parent_key: &str,
    children: Option<&Files>,
    fields: subset::Fields,
    progress: &dyn Progress,
) -> Result<Subset> {
    // A key that is no name would only be found out after reading.
    CString::try_from(parent_key).map_err(|_| Error::Unsuitable("a field name has no zero byte".to_owned()))?;
    let documents = parents.read(progress, Ok)?;
    match children {
        Some(files) => {
            let description = format!("{} and {}", parents.names(), files.names());
            let children = files.read(progress, Ok)?;
            Subset::new(documents, parent_key, children, fields, description)
        }
        None => {
            let (without, children) = Subset::split(&documents, parent_key, &fields)?;
            Subset::new(without, parent_key, children, fields, parents.names())
        }
    }
}
