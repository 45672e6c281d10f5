//! From readings to buckets: new ones, ones that grow by a reading, ones made anew.

use bindery_document::{Doc, Element, Error, Kind, Result, Value, build::index_key, code};

use super::column::{self, Column, PACKED_HEAD, Place};
use super::{Bucket, FULL_BYTES, Header, Size, field};

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

impl<'a> Reading<'a> {
    /// The reading's fields without the meta field.
    fn fields(&self, document: Doc<'a>) -> impl Iterator<Item = Element<'a>> + Clone {
        let skipped = self.meta.map(|_| self.meta_at);
        (0..).zip(document).filter(move |(at, _)| Some(*at) != skipped).map(|(_, field)| field)
    }
}

/// How a stored bucket changes when a reading is appended.
#[derive(Debug)]
pub struct Appended {
    change: Change,
    /// The old document's length.
    old_bytes: usize,
    /// The new document's length.
    pub bytes: usize,
    /// Whether the bucket's start, which is indexed, has changed.
    pub start_changed: bool,
}

#[derive(Debug)]
enum Change {
    /// Another header, and bytes put in between the rest.
    Splice(Splice),
    /// Another document.
    Whole(Vec<u8>),
}

/// Bytes that go into a stored bucket. All places are those of the old document, ascending.
#[derive(Debug, Default)]
struct Splice {
    header: Vec<u8>,
    /// Where columns and readings begin.
    rest_at: usize,
    added: Vec<u8>,
    /// Before which place, and the end of what goes there in `added`.
    inserts: Vec<(usize, usize)>,
    /// The lengths to be changed: where, and to what.
    lengths: Vec<(usize, u32)>,
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
        // The fields of the readings in columns, one reading after the other.
        let mut names: Vec<&[u8]> = Vec::new();
        let mut cells: Vec<Element<'a>> = Vec::new();
        let mut times = Vec::new();
        let (mut rows, mut row_count) = (Vec::new(), 0);
        for document in documents {
            let reading = self.reading(document)?;
            let header = header.get_or_insert_with(|| Header::empty(id, &reading, self.start_of(reading.time)));
            header.take_in(self, reading.time, document);
            if matches!(self.size, Size::Count(_)) {
                header.start = header.first;
            }
            let fields = reading.fields(document);
            if self.in_columns && names.is_empty() && are_distinct(fields.clone()) {
                names.extend(fields.clone().map(|field| field.key));
            }
            if !names.is_empty() && fields.clone().map(|field| field.key).eq(names.iter().copied()) {
                cells.extend(fields);
                times.push(reading.time);
            } else {
                write_row(document, &reading, row_count, &mut rows);
                row_count += 1;
            }
        }
        let Some(header) = header else { return Ok(None) };
        let mut order: Vec<usize> = (0..times.len()).collect();
        if !times.is_sorted() {
            order.sort_by_key(|&reading| times[reading]);
        }
        let mut bytes = header.to_bytes();
        if !names.is_empty() {
            let close = open(&mut bytes, Kind::Document, field::COLUMNS);
            for (at, name) in names.iter().enumerate() {
                let base = if self.is_time(name) { self.base(&header) } else { 0 };
                let values = order.iter().map(|reading| cells[reading * names.len() + at]);
                column::write(name, values, base, &mut bytes);
            }
            close_at(&mut bytes, close);
        }
        if row_count > 0 {
            let close = open(&mut bytes, Kind::Array, field::READINGS);
            bytes.extend_from_slice(&rows);
            close_at(&mut bytes, close);
        }
        close_at(&mut bytes, 0);
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

    /// Adds a reading to its bucket.
    ///
    /// # Errors
    /// None but faults of ours.
    pub fn append<'a>(&self, stored: Doc<'a>, reading: &Reading<'a>, logical: Doc<'a>) -> Result<Appended> {
        let mut header = Header::read(stored, true);
        let start = header.start;
        header.take_in(self, reading.time, logical);
        if matches!(self.size, Size::Count(_)) {
            header.start = header.first;
        }
        let start_changed = header.start != start;
        let old_bytes = stored.as_bytes().len();
        let mut splice = Splice {
            header: header.to_bytes(),
            rest_at: header.rest_at,
            added: Vec::with_capacity(logical.as_bytes().len()),
            inserts: Vec::with_capacity(8),
            lengths: Vec::with_capacity(8),
        };
        let can_splice = splice.header.len() >= header.rest_at;
        let whole = if let Some(place) = self.place_of(&header, reading, logical) {
            match can_splice && self.add_to_columns(&mut splice, &header, place, reading, logical) {
                true => None,
                false => Some(self.with_wider_columns(stored, &header, place, reading, logical)),
            }
        } else if can_splice && !(header.columns.is_empty() && self.in_columns && are_distinct(reading.fields(logical)))
        {
            splice.add_row(&header, old_bytes, reading, logical);
            None
        } else {
            // Columns begin with the first reading that can be in them.
            let documents = self.documents(stored);
            let all = documents.iter().map(|document| Doc::from_stored(document)).chain([logical]);
            Some(self.fold(header.id, all)?.unwrap_or_default())
        };
        let (change, bytes) = match whole {
            Some(whole) => {
                let bytes = whole.len();
                (Change::Whole(whole), bytes)
            }
            None => {
                let bytes = splice.header.len() + (old_bytes - header.rest_at) + splice.added.len();
                (Change::Splice(splice), bytes)
            }
        };
        Ok(Appended { change, old_bytes, bytes, start_changed })
    }

    /// Where a reading goes in the columns; `None` if it has other fields.
    fn place_of<'a>(&self, header: &Header<'a>, reading: &Reading<'a>, logical: Doc<'a>) -> Option<Place> {
        let (mut columns, mut place) = (header.columns.iter(), None);
        for field in reading.fields(logical) {
            let column = columns.next().filter(|column| column.key == field.key)?;
            if place.is_none() && self.is_time(column.key) {
                let Column::Packed(times) = Column::read(&column, self.base(header)) else { return None };
                place = Some(Place { at: times.position_after(reading.time), count: times.len() });
            }
        }
        place.filter(|_| columns.next().is_none())
    }

    /// The bucket with a reading that some columns have to be made anew for.
    fn with_wider_columns(
        &self,
        stored: Doc<'_>,
        header: &Header<'_>,
        place: Place,
        reading: &Reading<'_>,
        logical: Doc<'_>,
    ) -> Vec<u8> {
        let mut bytes = header.to_bytes();
        bytes.reserve(stored.as_bytes().len());
        let close = open(&mut bytes, Kind::Document, field::COLUMNS);
        for (column, value) in header.columns.iter().zip(reading.fields(logical)) {
            let base = if self.is_time(column.key) { self.base(header) } else { 0 };
            column::write_with(&column, base, place, &value, &mut bytes);
        }
        close_at(&mut bytes, close);
        if !header.rows.is_empty() {
            let rows = open(&mut bytes, Kind::Array, field::READINGS);
            bytes.truncate(rows);
            bytes.extend_from_slice(header.rows.as_bytes());
        }
        close_at(&mut bytes, 0);
        bytes
    }

    /// Whether a stored bucket is what its readings are stored as.
    pub fn is_sound(&self, stored: Doc<'_>) -> bool {
        let documents = self.documents(stored);
        let header = Header::read(stored, true);
        let Ok(Some(again)) = self.fold(header.id, documents.iter().map(|document| Doc::from_stored(document))) else {
            return false;
        };
        let other = Header::read(Doc::from_stored(&again), true);
        let rest = |bytes: &[u8], header: &Header<'_>| bytes.get(header.rest_at..).map(<[u8]>::to_vec);
        header.is_like(&other) && rest(stored.as_bytes(), &header) == rest(&again, &other)
    }

    /// Puts a value into each column; false if one of them cannot take it as it is.
    fn add_to_columns(
        &self,
        splice: &mut Splice,
        header: &Header<'_>,
        place: Place,
        reading: &Reading<'_>,
        logical: Doc<'_>,
    ) -> bool {
        let base = self.base(header);
        let Place { at: place, count } = place;
        let columns_at = header.rest_at + 2 + field::COLUMNS.len();
        let mut at = columns_at + 4;
        for (stored, value) in header.columns.iter().zip(reading.fields(logical)) {
            let value_at = at + 2 + stored.key.len();
            let own = u32::try_from(stored.bytes.len()).unwrap_or(u32::MAX);
            let start = splice.added.len();
            let is_time = self.is_time(stored.key);
            match Column::read(&stored, if is_time { base } else { 0 }) {
                Column::Packed(column) => {
                    if !column.encode(&value, &mut splice.added) {
                        return false;
                    }
                    splice.insert(value_at + PACKED_HEAD + place * column.width);
                    let added = (splice.added.len() - start) as u32;
                    splice.lengths.push((value_at, own - 5 + added));
                }
                Column::Listed(_) if place == count => {
                    splice.added.push(value.kind as u8);
                    splice.added.extend_from_slice(index_key(count, &mut [0; 20]));
                    splice.added.push(0);
                    splice.added.extend_from_slice(value.bytes);
                    splice.insert(value_at + stored.bytes.len() - 1);
                    let added = (splice.added.len() - start) as u32;
                    splice.lengths.push((value_at, own + added));
                }
                // The items that follow would have other names.
                Column::Listed(_) => return false,
            }
            at = value_at + stored.bytes.len();
        }
        let columns = u32::try_from(header.columns.as_bytes().len()).unwrap_or(u32::MAX);
        splice.lengths.push((columns_at, columns + splice.added.len() as u32));
        true
    }
}

impl Splice {
    /// What was added since the last insert goes before this place.
    fn insert(&mut self, before: usize) {
        self.inserts.push((before, self.added.len()));
    }

    /// Adds a reading to those that are not in columns.
    fn add_row(&mut self, header: &Header<'_>, old_bytes: usize, reading: &Reading<'_>, logical: Doc<'_>) {
        if header.rows.is_empty() {
            let close = open(&mut self.added, Kind::Array, field::READINGS);
            write_row(logical, reading, 0, &mut self.added);
            close_at(&mut self.added, close);
            self.insert(old_bytes - 1);
            return;
        }
        write_row(logical, reading, header.rows.item_count(), &mut self.added);
        // Before the zeroes that end the array and the document.
        self.insert(old_bytes - 2);
        let rows = header.rows.as_bytes().len();
        self.lengths.push((old_bytes - 1 - rows, (rows + self.added.len()) as u32));
    }

    /// Where a byte of the old document's rest goes, with so many of the added ones before it.
    fn shifted(&self, old: usize, added: usize) -> usize {
        old - self.rest_at + self.header.len() + added
    }

    /// Makes the new document in a place that holds the old one, followed by room for what is added.
    fn write(&self, place: &mut [u8], old_bytes: usize) {
        // Everything moves towards the end, so the last moves first.
        let mut end = old_bytes;
        for (before, added) in self.inserts.iter().rev() {
            place.copy_within(*before..end, self.shifted(*before, *added));
            end = *before;
        }
        place.copy_within(self.rest_at..end, self.header.len());
        let mut start = 0;
        for (before, added) in &self.inserts {
            let to = self.shifted(*before, start);
            place[to..to + added - start].copy_from_slice(&self.added[start..*added]);
            start = *added;
        }
        place[..self.header.len()].copy_from_slice(&self.header);
        for (old, length) in &self.lengths {
            let before = self.inserts.iter().take_while(|(before, _)| before <= old).last();
            let at = self.shifted(*old, before.map_or(0, |(_, added)| *added));
            place[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

impl Appended {
    /// Makes the new document of the old one, which stands at the begin of `place`; `place` is as long as the
    /// new one.
    pub fn write(&self, place: &mut [u8]) {
        match &self.change {
            Change::Splice(splice) => splice.write(place, self.old_bytes),
            Change::Whole(whole) => place.copy_from_slice(whole),
        }
        place[..4].copy_from_slice(&(self.bytes as u32).to_le_bytes());
    }
}

/// Whether no two fields have the same name.
fn are_distinct<'a>(fields: impl Iterator<Item = Element<'a>> + Clone) -> bool {
    fields.clone().enumerate().all(|(at, field)| fields.clone().take(at).all(|earlier| earlier.key != field.key))
}

/// Opens an element; gives where its length stands.
fn open(out: &mut Vec<u8>, kind: Kind, name: &str) -> usize {
    out.push(kind as u8);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

/// Ends a document whose length stands at `at`.
fn close_at(out: &mut Vec<u8>, at: usize) {
    out.push(0);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Writes one element of the readings that are not in columns: the document without its meta field.
fn write_row(document: Doc<'_>, reading: &Reading<'_>, position: usize, out: &mut Vec<u8>) {
    out.push(Kind::Document as u8);
    out.extend_from_slice(index_key(position, &mut [0; 20]));
    out.push(0);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    for field in reading.fields(document) {
        out.push(field.kind as u8);
        out.extend_from_slice(field.key);
        out.push(0);
        out.extend_from_slice(field.bytes);
    }
    close_at(out, start);
}
