//! From a bucket to its readings.

use std::ops::{Range, RangeInclusive};

use bindery_document::{Doc, Element, Result, Value, doc};

use super::column::{Column, Packed};
use super::{Bucket, Header};
use crate::Wanted;

/// A bucket opened to be read: its readings have places, those in columns first, by time, then the others.
#[derive(Debug)]
pub struct Readings<'a> {
    time: &'a str,
    /// How many are in columns.
    in_columns: u32,
    times: Option<Packed<'a>>,
    fields: Vec<Field<'a>>,
    /// Whether all columns are packed, so that readings differ in nothing but values at the same places.
    is_even: bool,
    /// A reading made of columns; values are put in.
    template: Vec<u8>,
    meta: Option<(Element<'a>, usize)>,
    rows: Vec<Doc<'a>>,
    wanted: Wanted<'a>,
}

/// A field of the readings in columns.
#[derive(Debug)]
enum Field<'a> {
    Packed {
        name: &'a [u8],
        column: Packed<'a>,
        /// Where the value stands in the template.
        at: usize,
    },
    Listed {
        name: &'a [u8],
        items: Doc<'a>,
        /// The walk over them, and the place of the next.
        walk: bindery_document::doc::Elements<'a>,
        next: usize,
    },
    /// The meta field.
    Whole(Element<'a>),
}

impl Bucket {
    /// Opens a stored bucket.
    pub fn open<'a>(&'a self, header: &Header<'a>, wanted: Wanted<'a>) -> Readings<'a> {
        let meta = match (header.meta, &self.meta) {
            (Some(meta), Some(name)) => {
                let element = Element { key: name.as_bytes(), ..meta };
                Some((element, usize::try_from(header.meta_at).unwrap_or(0)))
            }
            _ => None,
        };
        let mut readings = Readings {
            time: &self.time,
            in_columns: 0,
            times: None,
            fields: Vec::with_capacity(8),
            is_even: true,
            template: vec![0; 4],
            meta,
            rows: header.rows.iter().map(|row| Doc::from_stored(row.bytes)).collect(),
            wanted,
        };
        let mut columns = header.columns.iter();
        for place in 0usize.. {
            if let Some((meta, at)) = meta
                && at == place
            {
                readings.add_meta(meta);
                continue;
            }
            let Some(column) = columns.next() else { break };
            let is_time = self.is_time(column.key);
            let values = Column::read(&column, if is_time { self.base(header) } else { 0 });
            if let (true, Column::Packed(times)) = (is_time, values) {
                readings.times = Some(times);
                readings.in_columns = u32::try_from(times.len()).unwrap_or(u32::MAX);
            }
            if wanted.has(column.key) {
                readings.add_column(column.key, values);
            }
        }
        readings.template.push(0);
        let length = readings.template.len() as u32;
        readings.template[..4].copy_from_slice(&length.to_le_bytes());
        readings
    }

    /// What the times of a bucket's column count from.
    pub(super) fn base(&self, header: &Header<'_>) -> i64 {
        match self.size {
            super::Size::Span(_) => header.start,
            super::Size::Count(_) => 0,
        }
    }

    /// Calls `each` with the place of every reading with a time from `times` and where its logical document begins
    /// in `out`, in the order of the bucket, until that fails. `each` may leave the document there, or take it off
    /// again.
    ///
    /// # Errors
    /// What `each` gives.
    pub fn unfold(
        &self,
        stored: Doc<'_>,
        times: &RangeInclusive<i64>,
        out: &mut Vec<u8>,
        mut each: impl FnMut(u32, usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut readings = self.open(&Header::read(stored, false), Wanted::All);
        for place in readings.places(times) {
            let start = out.len();
            readings.write(place, out);
            each(place, start, out)?;
        }
        Ok(())
    }

    /// All logical documents of a bucket.
    pub fn documents(&self, stored: Doc<'_>) -> Vec<Vec<u8>> {
        let mut readings = self.open(&Header::read(stored, false), Wanted::All);
        (0..readings.len())
            .map(|place| {
                let mut out = Vec::with_capacity(readings.template.len());
                readings.write(place, &mut out);
                out
            })
            .collect()
    }

    /// The logical document at a place.
    pub fn document(&self, stored: Doc<'_>, place: u32) -> Option<Vec<u8>> {
        let mut readings = self.open(&Header::read(stored, false), Wanted::All);
        let mut out = Vec::new();
        (place < readings.len()).then(|| readings.write(place, &mut out))?;
        Some(out)
    }
}

impl<'a> Readings<'a> {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.in_columns.saturating_add(u32::try_from(self.rows.len()).unwrap_or(0))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The readings in columns with a time from `times`; their places are in the order of time.
    pub fn ordered(&self, times: &RangeInclusive<i64>) -> Range<u32> {
        let Some(column) = self.times else { return 0..0 };
        let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let from = column.partition_point(|time| time < *times.start());
        let to = column.partition_point(|time| time <= *times.end());
        place(from)..place(to.max(from))
    }

    /// The readings that are not in columns, with a time from `times`.
    pub fn others<'s>(&'s self, times: &'s RangeInclusive<i64>) -> impl Iterator<Item = u32> + 's {
        let rows = (self.in_columns..).zip(&self.rows);
        rows.filter(|(_, row)| self.is_within(**row, times)).map(|(place, _)| place)
    }

    /// Whether all readings are in columns, and so in the order of time.
    pub fn are_ordered(&self) -> bool {
        self.rows.is_empty()
    }

    /// The places of all readings with a time from `times`, as the bucket has them.
    pub fn places(&self, times: &RangeInclusive<i64>) -> Vec<u32> {
        self.ordered(times).chain(self.others(times)).collect()
    }

    /// The values of a field that all readings from these places have; `None` where it is not kept as numbers.
    pub fn numbers(&self, name: &str, places: Range<u32>) -> Option<impl Iterator<Item = Value<'static>> + use<'a>> {
        let column = self.packed(name)?;
        column.number(0)?;
        Some(places.filter_map(move |place| column.number(place as usize)))
    }

    /// The packed column of a field, if it is one.
    pub(super) fn packed(&self, name: &str) -> Option<Packed<'a>> {
        self.fields.iter().find_map(|field| match field {
            Field::Packed { name: other, column, .. } => (*other == name.as_bytes()).then_some(*column),
            _ => None,
        })
    }

    /// The time of a reading in columns.
    pub fn time_at(&self, place: u32) -> Option<i64> {
        self.times.filter(|_| self.is_in_columns(place)).map(|times| times.integer(place as usize))
    }

    /// Whether a place is in columns.
    pub fn is_in_columns(&self, place: u32) -> bool {
        place < self.in_columns
    }

    /// Whether the readings in columns have a field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| match field {
            Field::Packed { name: other, .. } | Field::Listed { name: other, .. } => *other == name.as_bytes(),
            Field::Whole(element) => element.key == name.as_bytes(),
        })
    }

    /// Writes the logical document at a place, with the fields that are wanted.
    pub fn write(&mut self, place: u32, out: &mut Vec<u8>) {
        match place.checked_sub(self.in_columns) {
            None if self.is_even => self.write_even(place as usize, out),
            None => self.write_uneven(place as usize, out),
            Some(row) => {
                let row = self.rows.get(row as usize).copied().unwrap_or(doc::EMPTY);
                self.write_row(row, out);
            }
        }
    }

    fn write_even(&self, place: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.template);
        for field in &self.fields {
            if let Field::Packed { column, at, .. } = field
                && let Some(value) = out.get_mut(start + at..start + at + column.full())
            {
                column.write(place, value);
            }
        }
    }

    fn write_uneven(&mut self, place: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        for field in &mut self.fields {
            match field {
                Field::Packed { name, column, .. } => {
                    out.push(column.kind as u8);
                    out.extend_from_slice(name);
                    out.push(0);
                    let value = out.len();
                    out.resize(value + column.full(), 0);
                    column.write(place, &mut out[value..]);
                }
                Field::Listed { name, items, walk, next } => {
                    if *next > place {
                        (*walk, *next) = (items.iter(), 0);
                    }
                    walk.skip_items(*next, place - *next);
                    *next = place + 1;
                    let Some(item) = walk.next() else { continue };
                    append(out, &Element { key: name, ..item });
                }
                Field::Whole(element) => append(out, element),
            }
        }
        close(start, out);
    }

    /// Writes a reading that is not in columns, with the meta field in its place.
    fn write_row(&self, row: Doc<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut fields = row.iter();
        let mut meta = self.meta;
        for place in 0usize.. {
            if let Some((element, _)) = meta.take_if(|(_, at)| *at == place) {
                if self.wanted.has(element.key) {
                    append(out, &element);
                }
                continue;
            }
            let Some(field) = fields.next() else { break };
            if self.wanted.has(field.key) {
                append(out, &field);
            }
        }
        close(start, out);
    }

    fn is_within(&self, row: Doc<'_>, times: &RangeInclusive<i64>) -> bool {
        match row.element(self.time.as_bytes()).map(|time| time.value()) {
            Some(Value::DateTime(time)) => times.contains(&time),
            _ => true,
        }
    }

    fn add_meta(&mut self, meta: Element<'a>) {
        if self.wanted.has(meta.key) {
            append(&mut self.template, &meta);
            self.fields.push(Field::Whole(meta));
        }
    }

    fn add_column(&mut self, name: &'a [u8], values: Column<'a>) {
        match values {
            Column::Packed(column) => {
                self.template.push(column.kind as u8);
                self.template.extend_from_slice(name);
                self.template.push(0);
                let at = self.template.len();
                self.template.resize(at + column.full(), 0);
                self.fields.push(Field::Packed { name, column, at });
            }
            Column::Listed(items) => {
                self.is_even = false;
                self.fields.push(Field::Listed { name, items, walk: items.iter(), next: 0 });
            }
        }
    }
}

fn append(out: &mut Vec<u8>, element: &Element<'_>) {
    out.push(element.kind as u8);
    out.extend_from_slice(element.key);
    out.push(0);
    out.extend_from_slice(element.bytes);
}

fn close(start: usize, out: &mut Vec<u8>) {
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}
