//! From readings to buckets: new ones, ones that grow by a reading, ones made anew.

use bindery_document::{Doc, Element, Error, Kind, Result, Value, build::index_key, code};

use super::{Bucket, FULL_BYTES, Header, Size};

/// What decides about the bucket of a reading.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The meta field, if there is one.
    pub meta: Option<Element<'a>>,
    /// How many fields stand before it.
    pub meta_at: i32,
    /// The time, in milliseconds since the epoch.
    pub time: i64,
}

/// How a stored bucket changes when a reading is appended.
#[derive(Debug)]
pub struct Appended {
    header: Vec<u8>,
    row: Vec<u8>,
    /// The length of the old document and of the readings in it.
    old_bytes: usize,
    readings_bytes: usize,
    /// The new document's length.
    pub bytes: usize,
    /// Whether the bucket's start, which is indexed, has changed.
    pub start_changed: bool,
}

impl Bucket {
    /// Reads what decides about a logical document's bucket.
    ///
    /// # Errors
    /// 2 without a date in the time field.
    pub fn reading<'a>(&self, logical: Doc<'a>) -> Result<Reading<'a>> {
        let (mut time, mut meta) = (None, None);
        for (at, element) in (0..).zip(logical) {
            if time.is_none() && self.is_time(element.key) {
                time = Some(element.value());
            } else if meta.is_none() && self.is_meta(element.key) {
                meta = Some((element, at));
            }
        }
        let Some(Value::DateTime(time)) = time else {
            return Err(Error::new(
                code::BAD_VALUE,
                format!("'{}' must be present and contain a valid BSON UTC datetime value", self.time),
            ));
        };
        Ok(Reading { meta: meta.map(|(element, _)| element), meta_at: meta.map_or(0, |(_, at)| at), time })
    }

    /// A bucket of one or more logical documents, which all belong into it; `None` if there are none.
    ///
    /// # Errors
    /// As [`Bucket::reading`].
    pub fn fold<'a>(&self, id: Value<'a>, documents: impl Iterator<Item = Doc<'a>>) -> Result<Option<Vec<u8>>> {
        let mut header: Option<Header<'a>> = None;
        let mut rows = Vec::new();
        for document in documents {
            let reading = self.reading(document)?;
            let header = header.get_or_insert_with(|| Header::empty(id, &reading, self.start_of(reading.time)));
            write_row(document, &reading, header.count as usize, &mut rows);
            header.take_in(self, reading.time, document);
            if matches!(self.size, Size::Count(_)) {
                header.start = header.first;
            }
        }
        let Some(header) = header else { return Ok(None) };
        let mut bytes = header.to_bytes();
        bytes.extend_from_slice(&(rows.len() as u32 + 5).to_le_bytes());
        bytes.extend_from_slice(&rows);
        bytes.extend_from_slice(&[0, 0]);
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Ok(Some(bytes))
    }

    /// Whether a reading goes into a stored bucket, as far as size and span decide.
    pub fn has_room(&self, stored: Doc<'_>, header: &Header<'_>, reading: &Reading<'_>, reading_bytes: usize) -> bool {
        stored.as_bytes().len() + reading_bytes <= FULL_BYTES
            && match self.size {
                Size::Span(_) => header.count < self.most && header.start == self.start_of(reading.time),
                Size::Count(most) => header.count < most,
            }
    }

    /// Appends a reading to its bucket.
    pub fn append<'a>(&self, stored: Doc<'a>, reading: &Reading<'a>, logical: Doc<'a>) -> Appended {
        let mut header = Header::read(stored, true);
        let (old_start, readings_bytes) = (header.start, header.readings.as_bytes().len());
        let mut row = Vec::with_capacity(logical.as_bytes().len() + 8);
        write_row(logical, reading, header.count as usize, &mut row);
        header.take_in(self, reading.time, logical);
        if matches!(self.size, Size::Count(_)) {
            header.start = header.first;
        }
        let start_changed = header.start != old_start;
        let header = header.to_bytes();
        let bytes = header.len() + readings_bytes + row.len() + 1;
        Appended { header, row, old_bytes: stored.as_bytes().len(), readings_bytes, bytes, start_changed }
    }
}

impl Appended {
    /// Makes the new document of the old one, which stands at the begin of `place`; `place` is as long as the
    /// new one. Readings are moved only if what stands before them has changed its length.
    pub fn write(&self, place: &mut [u8]) {
        let (old_at, new_at) = (self.old_bytes - 1 - self.readings_bytes, self.header.len());
        let kept = self.readings_bytes - 1;
        if old_at != new_at {
            place.copy_within(old_at..old_at + kept, new_at);
        }
        place[..new_at].copy_from_slice(&self.header);
        place[..4].copy_from_slice(&(self.bytes as u32).to_le_bytes());
        let readings = (self.readings_bytes + self.row.len()) as u32;
        place[new_at..new_at + 4].copy_from_slice(&readings.to_le_bytes());
        let row_at = new_at + kept;
        place[row_at..row_at + self.row.len()].copy_from_slice(&self.row);
        place[row_at + self.row.len()..].fill(0);
    }
}

/// Writes one element of the readings: the document without its meta field.
fn write_row(document: Doc<'_>, reading: &Reading<'_>, position: usize, out: &mut Vec<u8>) {
    out.push(Kind::Document as u8);
    out.extend_from_slice(index_key(position, &mut [0; 20]));
    out.push(0);
    let start = out.len();
    let bytes = document.as_bytes();
    match &reading.meta {
        None => out.extend_from_slice(bytes),
        Some(meta) => {
            // Around the field: type byte, name, zero, value.
            let mut fields = document.iter();
            for _ in 0..reading.meta_at {
                fields.next();
            }
            let from = bytes.len() - 1 - fields.remaining().len();
            let to = from + 2 + meta.key.len() + meta.bytes.len();
            out.extend_from_slice(&bytes[..from]);
            out.extend_from_slice(&bytes[to..]);
        }
    }
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}
