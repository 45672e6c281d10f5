//! `{bucket: {time: "ts", meta: "sensorId", hours: 1}}`.

use bindery_document::{Builder, Doc, DocBuf, Result};

use super::{Bucket, Size, field};
use crate::declare::{Options, invalid};

impl Bucket {
    /// Reads the options: `time` and `meta` name fields; one of `seconds`, `minutes`, `hours`, `days` and `count`
    /// says when a bucket is full (an hour, without); `summary` lists the fields that are summed up; with
    /// `columns: false` all readings are kept as documents.
    ///
    /// # Errors
    /// 72 and 14 for options that cannot be.
    pub fn parse(options: Doc<'_>) -> Result<Bucket> {
        const UNITS: [(&str, i64); 4] =
            [("seconds", 1_000), ("minutes", 60_000), ("hours", 3_600_000), ("days", 86_400_000)];
        let known = ["time", "meta", "seconds", "minutes", "hours", "days", "count", "summary", "columns"];
        let options = Options::new("bucket", options, &known)?;
        let (time, meta) = (options.required_field("time")?, options.field("meta")?);
        if meta.as_ref() == Some(&time) {
            return Err(invalid("the time field of a bucket layout cannot be its meta field"));
        }
        let mut sizes = Vec::new();
        for (unit, millis) in UNITS {
            sizes.extend(options.count(unit)?.map(|n| Size::Span(i64::from(n) * millis)));
        }
        sizes.extend(options.count("count")?.map(Size::Count));
        let size = match sizes.as_slice() {
            [] => Size::Span(3_600_000),
            [size] => *size,
            _ => return Err(invalid("a bucket layout is bounded by one span of time or one count")),
        };
        let summarized = options.fields("summary")?;
        let in_columns = options.flag("columns")?.unwrap_or(true);
        Ok(Bucket { time, meta, size, summarized, in_columns, most: u32::MAX, is_series: false })
    }

    /// The index on meta and start.
    pub(crate) fn indexes(&self) -> Vec<DocBuf> {
        let mut key = Builder::new();
        key.append(field::META, 1);
        key.append(field::START, 1);
        vec![key.finish()]
    }

    /// When a bucket is full.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The begin of the span that a time falls into; the time itself for buckets by count.
    pub fn start_of(&self, time: i64) -> i64 {
        match self.size {
            Size::Span(span) => time.saturating_sub(time.rem_euclid(span)),
            Size::Count(_) => time,
        }
    }

    pub(super) fn is_meta(&self, name: &[u8]) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.as_bytes() == name)
    }

    pub(super) fn is_time(&self, name: &[u8]) -> bool {
        self.time.as_bytes() == name
    }

    /// Whether a field's numbers are summed up.
    pub(super) fn is_summarized(&self, name: &[u8]) -> bool {
        !self.is_time(name)
            && !self.is_meta(name)
            && name != b"_id"
            && self.summarized.as_ref().is_none_or(|fields| fields.iter().any(|field| field.as_bytes() == name))
    }
}
