//! Comma separated values: each line a document, each column a field.
//!
//! A column has one type, the narrowest that holds all its values: int32, int64, double, bool, date,
//! else string; so the file is read twice, once for the types and once for the documents. An empty
//! value and `NA` are missing: the field is left out. Digits that a number would lose (a leading zero,
//! more than 64 bits) keep a column a string.

use std::path::Path;

use ::csv::{ByteRecord, ReaderBuilder, Terminator};
use bson::raw::CString;
use bson::{RawBson, RawDocumentBuf};

use super::{Sink, Stop, parse_timestamp};
use crate::error::{Error, Place};

/// The name given to the first column where the header has one name less than the lines have values,
/// as R writes data frames: their row names.
const ROW_NAMES: &str = "row";

pub(super) fn read(path: &Path, bytes: &[u8], delimiter: Option<u8>, sink: &mut Sink) -> std::result::Result<(), Stop> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let file = File { path, bytes, delimiter: delimiter.unwrap_or_else(|| guess_delimiter(bytes)) };
    let columns = file.columns()?;
    file.each_line(columns.len(), |record, end| {
        let mut document = RawDocumentBuf::new();
        for (column, text) in columns.iter().zip(record.iter()) {
            if let Some(value) = column.value(text) {
                document.append(&column.name, value);
            }
        }
        sink.document(&document, end)?;
        Ok(())
    })
}

/// Whichever of comma, semicolon, tab and bar the header has most of.
fn guess_delimiter(bytes: &[u8]) -> u8 {
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| header.iter().filter(|byte| **byte == delimiter).count();
    let mut best = b',';
    for candidate in [b';', b'\t', b'|'] {
        if count(candidate) > count(best) {
            best = candidate;
        }
    }
    best
}

struct Column {
    name: CString,
    kind: Kind,
}

impl Column {
    /// `None` where the value is missing. The first pass has seen that `text` is of the column's kind.
    fn value(&self, text: &[u8]) -> Option<RawBson> {
        if is_missing(text) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let value = match self.kind {
            Kind::Unknown => None,
            Kind::Int32 => text.parse().ok().map(RawBson::Int32),
            Kind::Int64 => text.parse().ok().map(RawBson::Int64),
            Kind::Double => text.parse().ok().map(RawBson::Double),
            Kind::Bool => parse_bool(text).map(RawBson::Boolean),
            Kind::Date => parse_timestamp(text).map(RawBson::DateTime),
            Kind::String => None,
        };
        Some(value.unwrap_or_else(|| RawBson::String(text.to_owned())))
    }
}

fn is_missing(text: &[u8]) -> bool {
    text.is_empty() || text == b"NA"
}

fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// What a column's values have in common so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Only missing values.
    Unknown,
    Int32,
    Int64,
    Double,
    Bool,
    Date,
    String,
}

impl Kind {
    fn of(text: &str) -> Kind {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
        let starts_with_digit = digits.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
        if !starts_with_digit {
            return if parse_bool(text).is_some() { Kind::Bool } else { Kind::String };
        }
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse::<i64>() {
                _ if leading_zero => Kind::String,
                Ok(n) if i32::try_from(n).is_ok() => Kind::Int32,
                Ok(_) => Kind::Int64,
                Err(_) => Kind::String,
            };
        }
        let numeric = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        if numeric && !leading_zero && text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Kind::Double;
        }
        if parse_timestamp(text).is_some() { Kind::Date } else { Kind::String }
    }

    /// The narrowest kind that holds values of both.
    fn and(self, other: Kind) -> Kind {
        use Kind::{Double, Int32, Int64, Unknown};
        match (self, other) {
            (a, b) if a == b => a,
            (Unknown, kind) | (kind, Unknown) => kind,
            (Int32, Int64) | (Int64, Int32) => Int64,
            (Int32 | Int64, Double) | (Double, Int32 | Int64) => Double,
            _ => Kind::String,
        }
    }
}

struct File<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    delimiter: u8,
}

impl File<'_> {
    fn reader(&self) -> ::csv::Reader<&[u8]> {
        ReaderBuilder::new()
            .delimiter(self.delimiter)
            .terminator(Terminator::CRLF)
            .flexible(true)
            .has_headers(true)
            .from_reader(self.bytes)
    }

    fn error(&self, line: u64, message: impl Into<String>) -> Error {
        Error::at(self.path, Place::Line(line), message)
    }

    fn parser_error(&self, error: &::csv::Error) -> Error {
        let line = error.position().map_or(1, ::csv::Position::line);
        self.error(line, error.to_string())
    }

    /// Names and types of all columns. After this, every line is known to be well formed.
    fn columns(&self) -> std::result::Result<Vec<Column>, Error> {
        let mut reader = self.reader();
        let header = reader.byte_headers().map_err(|error| self.parser_error(&error))?.clone();
        let mut names = Vec::new();
        for name in &header {
            let name = std::str::from_utf8(name).map_err(|_| self.error(1, "a column's name is not UTF-8"))?;
            names.push(name.trim().to_owned());
        }
        let mut first = ByteRecord::new();
        let has_lines = reader.read_byte_record(&mut first).map_err(|error| self.parser_error(&error))?;
        if !has_lines {
            return Err(Error::file(self.path, "a header, but no lines under it"));
        }
        if first.len() == names.len() + 1 {
            names.insert(0, ROW_NAMES.to_owned());
        }
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(self.error(1, format!("column {} has no name", index + 1)));
            }
            if names[..index].contains(name) {
                return Err(self.error(1, format!("two columns are named `{name}`")));
            }
        }
        let mut kinds = vec![Kind::Unknown; names.len()];
        self.each_line(names.len(), |record, _| {
            for (kind, (index, text)) in kinds.iter_mut().zip(record.iter().enumerate()) {
                if is_missing(text) {
                    continue;
                }
                let line = record.position().map_or(0, ::csv::Position::line);
                let text = std::str::from_utf8(text)
                    .map_err(|_| self.error(line, format!("column `{}` is not UTF-8", names[index])))?;
                if *kind != Kind::String {
                    *kind = kind.and(Kind::of(text));
                }
            }
            Ok(())
        })
        .map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Abandoned => Error::file(self.path, "reading was given up"),
        })?;
        let mut columns = Vec::with_capacity(names.len());
        for (name, kind) in names.into_iter().zip(kinds) {
            let name = CString::try_from(name).map_err(|_| self.error(1, "a column's name contains a zero byte"))?;
            columns.push(Column { name, kind });
        }
        Ok(columns)
    }

    /// Calls `line` with every record under the header and the offset of its end.
    fn each_line(
        &self,
        columns: usize,
        mut line: impl FnMut(&ByteRecord, u64) -> std::result::Result<(), Stop>,
    ) -> std::result::Result<(), Stop> {
        let mut reader = self.reader();
        let mut record = ByteRecord::new();
        let mut last = None;
        while reader.read_byte_record(&mut record).map_err(|error| self.parser_error(&error))? {
            if record.len() != columns {
                let at = record.position().map_or(0, ::csv::Position::line);
                let message = format!("{} values, but {columns} columns", record.len());
                return Err(self.error(at, message).into());
            }
            line(&record, reader.position().byte())?;
            if let Some(position) = record.position() {
                last = Some((position.byte() as usize, position.line()));
            }
        }
        match last {
            Some((start, at)) if self.is_left_open(start) => Err(self.error(at, "a quoted value is not closed").into()),
            _ => Ok(()),
        }
    }

    /// Whether the last record, which starts at `start`, ends within a quoted value: the parser takes
    /// the end of the file for the end of the value. Then a line written behind it would belong to it.
    fn is_left_open(&self, start: usize) -> bool {
        let mut tail = self.bytes.get(start..).unwrap_or_default().to_vec();
        tail.extend_from_slice(b"\nx");
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(tail.as_slice());
        reader.byte_records().count() < 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_the_narrowest_kind() {
        let kind = |values: &[&str]| values.iter().map(|v| Kind::of(v)).fold(Kind::Unknown, Kind::and);
        assert_eq!(kind(&["1", "-2"]), Kind::Int32);
        assert_eq!(kind(&["1", "4000000000"]), Kind::Int64);
        assert_eq!(kind(&["1", "2.5", "-1e3", "0.5"]), Kind::Double);
        assert_eq!(kind(&["TRUE", "false"]), Kind::Bool);
        assert_eq!(kind(&["2015-02-04", "2015-02-04 17:51:00"]), Kind::Date);
        assert_eq!(kind(&["00501", "10001"]), Kind::String);
        assert_eq!(kind(&["99999999999999999999"]), Kind::String);
        assert_eq!(kind(&["1", "true"]), Kind::String);
        assert_eq!(kind(&["inf"]), Kind::String);
        assert_eq!(kind(&["1-2"]), Kind::String);
    }
}
