//! A stored bucket's fields but its readings.

use bindery_document::{Builder, Doc, Element, Kind, Value, doc};

use super::{Bucket, Reading, Summary, field};

/// What a stored bucket says before its readings.
#[derive(Clone, Debug)]
pub struct Header<'a> {
    /// The bucket's own `_id`.
    pub id: Value<'a>,
    /// The meta field, if the readings have it.
    pub meta: Option<Element<'a>>,
    /// The place of the meta field among a reading's fields.
    pub meta_at: i32,
    /// The begin of the span.
    pub start: i64,
    /// The earliest time.
    pub first: i64,
    /// The latest time.
    pub last: i64,
    /// How many readings.
    pub count: u32,
    /// What is known of the fields, by their names; empty unless it was asked for.
    pub summaries: Vec<(&'a [u8], Summary)>,
    /// The summaries as they are stored.
    summary: Doc<'a>,
    /// The columns of the readings that have the same fields.
    pub(super) columns: Doc<'a>,
    /// The other readings.
    pub(super) rows: Doc<'a>,
    /// Where columns and other readings begin in the stored document.
    pub(super) rest_at: usize,
}

impl<'a> Header<'a> {
    /// The header of a bucket without readings.
    pub(super) fn empty(id: Value<'a>, reading: &Reading<'a>, start: i64) -> Header<'a> {
        Header {
            id,
            meta: reading.meta,
            meta_at: reading.meta_at,
            start,
            first: reading.time,
            last: reading.time,
            count: 0,
            summaries: Vec::new(),
            summary: doc::EMPTY,
            columns: doc::EMPTY,
            rows: doc::EMPTY,
            rest_at: 0,
        }
    }

    /// Reads a stored bucket; all summaries only if they are asked for.
    pub fn read(stored: Doc<'a>, with_summaries: bool) -> Header<'a> {
        let nothing = Reading { meta: None, meta_at: 0, time: 0 };
        let mut header = Header::empty(Value::Null, &nothing, 0);
        let date = |element: Element<'_>| match element.value() {
            Value::DateTime(millis) => millis,
            _ => 0,
        };
        let number = |element: Element<'_>| element.value().as_exact_i64().unwrap_or_default();
        let end = stored.as_bytes().len().saturating_sub(1);
        header.rest_at = end;
        let mut elements = stored.iter();
        loop {
            let at = end - elements.remaining().len();
            let Some(element) = elements.next() else { break };
            let is = |name: &str| element.key == name.as_bytes();
            match element.kind {
                _ if is("_id") => header.id = element.value(),
                _ if is(field::META) => header.meta = Some(element),
                _ if is(field::START) => header.start = date(element),
                _ if is(field::FIRST) => header.first = date(element),
                _ if is(field::LAST) => header.last = date(element),
                _ if is(field::COUNT) => header.count = u32::try_from(number(element)).unwrap_or(0),
                _ if is(field::META_AT) => header.meta_at = i32::try_from(number(element)).unwrap_or(0),
                Kind::Document if is(field::SUMMARY) => {
                    header.summary = Doc::from_stored(element.bytes);
                    if with_summaries {
                        let read = |e: Element<'a>| (e.key, Summary::read(Doc::from_stored(e.bytes)));
                        header.summaries.extend(header.summary.iter().map(read));
                    }
                }
                _ if is(field::COLUMNS) => {
                    header.rest_at = at;
                    header.columns = Doc::from_stored(element.bytes);
                }
                _ if is(field::READINGS) => {
                    header.rest_at = header.rest_at.min(at);
                    header.rows = Doc::from_stored(element.bytes);
                    break;
                }
                _ => {}
            }
        }
        header
    }

    /// The summary of a field.
    pub fn summary(&self, name: &str) -> Option<Summary> {
        let stored = self.summary.element(name.as_bytes())?;
        Some(Summary::read(Doc::from_stored(stored.bytes)))
    }

    /// Whether there are readings that are not in columns.
    pub fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Whether a reading belongs here by its meta field.
    pub fn is_of(&self, reading: &Reading<'_>) -> bool {
        let same = match (&self.meta, &reading.meta) {
            (None, None) => true,
            (Some(a), Some(b)) => a.kind == b.kind && a.bytes == b.bytes,
            _ => false,
        };
        same && self.meta_at == reading.meta_at
    }

    /// Takes a reading's time and numbers in.
    pub(super) fn take_in(&mut self, layout: &Bucket, time: i64, row: Doc<'a>) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        self.count += 1;
        for element in row {
            if !layout.is_summarized(element.key) || matches!(element.kind, Kind::Null | Kind::Undefined) {
                continue;
            }
            // A field twice in a document: filters and expressions look at the first only.
            if row.element(element.key).is_some_and(|first| !std::ptr::eq(first.key, element.key)) {
                continue;
            }
            let at = self.summaries.iter().position(|(name, _)| *name == element.key);
            let at = at.unwrap_or_else(|| {
                self.summaries.push((element.key, Summary::default()));
                self.summaries.len() - 1
            });
            if let Some((_, summary)) = self.summaries.get_mut(at) {
                summary.add(&element.value());
            }
        }
    }

    /// The document's bytes up to columns and readings, with room for the length.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Builder::with_buffer(Vec::with_capacity(self.rest_at + 64));
        out.append("_id", self.id);
        if let Some(meta) = self.meta {
            out.append_bytes(field::META.as_bytes(), meta.kind, meta.bytes);
        }
        out.append(field::START, Value::DateTime(self.start));
        out.append(field::FIRST, Value::DateTime(self.first));
        out.append(field::LAST, Value::DateTime(self.last));
        out.append(field::COUNT, i32::try_from(self.count).unwrap_or(i32::MAX));
        if self.meta.is_some() {
            out.append(field::META_AT, self.meta_at);
        }
        let open = out.open_document(field::SUMMARY);
        for (name, summary) in &self.summaries {
            summary.write(name, &mut out);
        }
        out.close(open);
        let mut bytes = out.finish().into_bytes();
        bytes.pop();
        bytes
    }

    /// Whether both are those of the same readings, in whatever order they came.
    pub(super) fn is_like(&self, other: &Header<'_>) -> bool {
        let meta = |header: &Header<'_>| header.meta.map(|meta| (meta.kind, meta.bytes.to_vec()));
        (self.start, self.first, self.last, self.count, self.meta_at)
            == (other.start, other.first, other.last, other.count, other.meta_at)
            && meta(self) == meta(other)
            && self.summaries.len() == other.summaries.len()
            && self.summaries.iter().all(|(name, summary)| {
                other.summaries.iter().any(|(also, other)| name == also && summary.is_like(other))
            })
    }
}
