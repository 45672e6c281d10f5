//! Columns: the values of one field of a bucket's readings, one after the other.
//!
//! A column is *packed* where all its values are of one type that always takes the same bytes: a binary value that
//! holds the type, the width of each value, and the values. Integers and dates take 1, 2, 4 or 8 bytes, as few as
//! all of them need; those of the time field count from the bucket's start, if that does not move. Any other column is
//! *listed*, an array.
//!
//! | offset | size | of a packed column |
//! |---|---|---|
//! | 0 | 1 | BSON's type of the values |
//! | 1 | 1 | width w of a value |
//! | 2 | n w | values, little-endian |

use bindery_document::build::index_key;
use bindery_document::{Doc, Element, Kind, Value};

/// The subtype of binary values that are columns: the first of those left to users.
const SUBTYPE: u8 = 0x80;

/// What stands before the values: length and subtype of the binary value, type, width.
pub(super) const PACKED_HEAD: usize = 7;

/// The bytes that every value of a type takes; `None` for types whose values differ in size.
fn full_width(kind: Kind) -> Option<usize> {
    Some(match kind {
        Kind::Double | Kind::DateTime | Kind::Int64 | Kind::Timestamp => 8,
        Kind::Int32 => 4,
        Kind::ObjectId => 12,
        Kind::Decimal128 => 16,
        Kind::Boolean => 1,
        Kind::Null | Kind::Undefined | Kind::MinKey | Kind::MaxKey => 0,
        _ => return None,
    })
}

fn is_integer(kind: Kind) -> bool {
    matches!(kind, Kind::Int32 | Kind::Int64 | Kind::DateTime)
}

/// A little-endian integer of up to eight bytes, its sign extended.
fn extended(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => bytes.try_into().map_or(0, i64::from_le_bytes),
    }
}

/// The width that an integer needs.
fn width_of(n: i64) -> usize {
    if i8::try_from(n).is_ok() {
        1
    } else if i16::try_from(n).is_ok() {
        2
    } else if i32::try_from(n).is_ok() {
        4
    } else {
        8
    }
}

/// A packed column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    pub(super) kind: Kind,
    /// The bytes of a value in a document, and here.
    full: usize,
    pub(super) width: usize,
    /// What integers count from.
    base: i64,
    data: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Reads the bytes of a binary value.
    fn read(bytes: &'a [u8], base: i64) -> Option<Packed<'a>> {
        let [_, _, _, _, SUBTYPE, kind, width, data @ ..] = bytes else { return None };
        let kind = Kind::from_byte(*kind)?;
        let (full, width) = (full_width(kind)?, usize::from(*width));
        let narrow = is_integer(kind) && matches!(width, 1 | 2 | 4 | 8) && width <= full;
        (narrow || width == full).then_some(Packed { kind, full, width, base, data })
    }

    /// The number of values; 0 where they take no bytes.
    pub(super) fn len(&self) -> usize {
        self.data.len().checked_div(self.width).unwrap_or(0)
    }

    fn raw(&self, i: usize) -> &'a [u8] {
        self.data.get(i * self.width..(i + 1) * self.width).unwrap_or_default()
    }

    /// An integer or date.
    pub(super) fn integer(&self, i: usize) -> i64 {
        self.base.wrapping_add(extended(self.raw(i)))
    }

    /// Writes a value's bytes as they stand in a document, over as many that are there.
    #[inline]
    pub(super) fn write(&self, i: usize, place: &mut [u8]) {
        let raw = self.raw(i);
        if is_integer(self.kind) {
            let bytes = self.base.wrapping_add(extended(raw)).to_le_bytes();
            place.copy_from_slice(&bytes[..self.full]);
        } else if raw.len() == place.len() {
            place.copy_from_slice(raw);
        }
    }

    /// The bytes of a value in a document.
    pub(super) fn full(&self) -> usize {
        self.full
    }

    /// A number in the column.
    pub(super) fn number(&self, i: usize) -> Option<Value<'static>> {
        Some(match self.kind {
            Kind::Int32 => Value::Int32(self.integer(i) as i32),
            Kind::Int64 => Value::Int64(self.integer(i)),
            Kind::Double => Value::Double(f64::from_le_bytes(self.raw(i).try_into().ok()?)),
            Kind::Null | Kind::Undefined => Value::Null,
            _ => return None,
        })
    }

    /// Where a value with this time goes in a column of ascending times: after equal ones.
    pub(super) fn position_after(&self, time: i64) -> usize {
        self.partition_point(|other| other <= time)
    }

    /// The number of values before the first for which this does not hold.
    pub(super) fn partition_point(&self, holds: impl Fn(i64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        // Readings arrive in order, so that most are asked for, or belong, at the end.
        if high > 0 && holds(self.integer(high - 1)) {
            return high;
        }
        while low < high {
            let middle = low.midpoint(high);
            match holds(self.integer(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Appends a value as it is kept here; false, and nothing done, if this column cannot hold it.
    pub(super) fn encode(&self, element: &Element<'_>, out: &mut Vec<u8>) -> bool {
        if element.kind != self.kind {
            return false;
        }
        if !is_integer(self.kind) {
            out.extend_from_slice(element.bytes);
            return true;
        }
        let n = extended(element.bytes).wrapping_sub(self.base);
        let fits = width_of(n) <= self.width;
        if fits {
            out.extend_from_slice(&n.to_le_bytes()[..self.width]);
        }
        fits
    }
}

/// The values of one field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column<'a> {
    Packed(Packed<'a>),
    Listed(Doc<'a>),
}

impl<'a> Column<'a> {
    /// Reads a stored column.
    pub(super) fn read(element: &Element<'a>, base: i64) -> Column<'a> {
        match element.kind {
            Kind::Binary => match Packed::read(element.bytes, base) {
                Some(packed) => Column::Packed(packed),
                None => Column::Listed(bindery_document::doc::EMPTY),
            },
            _ => Column::Listed(Doc::from_stored(element.bytes)),
        }
    }
}

/// A column's values being written.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Where the length stands.
    at: usize,
    /// The width of packed values; `None` where they are listed.
    width: Option<usize>,
    /// How many are written.
    count: usize,
}

impl<'a> Writer<'a> {
    /// Begins a packed column.
    fn packed(name: &[u8], kind: Kind, width: usize, out: &'a mut Vec<u8>) -> Writer<'a> {
        let writer = Writer::open(name, Kind::Binary, Some(width), out);
        writer.out.extend_from_slice(&[SUBTYPE, kind as u8, width as u8]);
        writer
    }

    /// Begins a listed column.
    fn listed(name: &[u8], out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer::open(name, Kind::Array, None, out)
    }

    fn open(name: &[u8], kind: Kind, width: Option<usize>, out: &'a mut Vec<u8>) -> Writer<'a> {
        out.push(kind as u8);
        out.extend_from_slice(name);
        out.push(0);
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        Writer { out, at, width, count: 0 }
    }

    /// Appends an item of a list.
    fn item(&mut self, kind: Kind, bytes: &[u8]) {
        self.out.push(kind as u8);
        self.out.extend_from_slice(index_key(self.count, &mut [0; 20]));
        self.out.push(0);
        self.out.extend_from_slice(bytes);
        self.count += 1;
    }

    /// Appends an integer, less what it counts from.
    fn integer(&mut self, n: i64) {
        self.out.extend_from_slice(&n.to_le_bytes()[..self.width.unwrap_or(8)]);
    }

    fn close(self) {
        let length = match self.width {
            // The length of a binary value is that of what follows its subtype.
            Some(_) => self.out.len() - self.at - 5,
            None => {
                self.out.push(0);
                self.out.len() - self.at
            }
        };
        self.out[self.at..self.at + 4].copy_from_slice(&(length as u32).to_le_bytes());
    }
}

/// Writes a column of these values.
pub(super) fn write<'a>(name: &[u8], values: impl Iterator<Item = Element<'a>> + Clone, base: i64, out: &mut Vec<u8>) {
    let kind = values.clone().next().map_or(Kind::Null, |first| first.kind);
    let full = full_width(kind).filter(|_| values.clone().all(|value| value.kind == kind));
    let Some(full) = full else {
        let mut writer = Writer::listed(name, out);
        values.for_each(|value| writer.item(value.kind, value.bytes));
        return writer.close();
    };
    let integer = |value: &Element<'_>| extended(value.bytes).wrapping_sub(base);
    let width = match is_integer(kind) {
        true => values.clone().map(|value| width_of(integer(&value))).max().unwrap_or(1),
        false => full,
    };
    let mut writer = Writer::packed(name, kind, width, out);
    for value in values {
        match is_integer(kind) {
            true => writer.integer(integer(&value)),
            false => writer.out.extend_from_slice(value.bytes),
        }
    }
    writer.close();
}

/// Where a value goes into a column of so many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) count: usize,
}

/// Writes a stored column with one more value.
pub(super) fn write_with(stored: &Element<'_>, base: i64, place: Place, value: &Element<'_>, out: &mut Vec<u8>) {
    let Place { at: place, count } = place;
    let name = stored.key;
    match Column::read(stored, base) {
        Column::Packed(column) if column.kind == value.kind && is_integer(column.kind) => {
            let new = extended(value.bytes).wrapping_sub(base);
            let mut writer = Writer::packed(name, column.kind, column.width.max(width_of(new)), out);
            (0..place).for_each(|i| writer.integer(column.integer(i).wrapping_sub(base)));
            writer.integer(new);
            (place..count).for_each(|i| writer.integer(column.integer(i).wrapping_sub(base)));
            writer.close();
        }
        Column::Packed(column) if column.kind == value.kind => {
            let writer = Writer::packed(name, column.kind, column.width, out);
            let (before, after) = column.data.split_at((place * column.width).min(column.data.len()));
            writer.out.extend_from_slice(before);
            writer.out.extend_from_slice(value.bytes);
            writer.out.extend_from_slice(after);
            writer.close();
        }
        Column::Packed(column) => {
            let mut writer = Writer::listed(name, out);
            let mut bytes = [0; 16];
            for i in 0..count {
                if i == place {
                    writer.item(value.kind, value.bytes);
                }
                column.write(i, &mut bytes[..column.full]);
                writer.item(column.kind, &bytes[..column.full]);
            }
            if writer.count <= place {
                writer.item(value.kind, value.bytes);
            }
            writer.close();
        }
        Column::Listed(items) => {
            let mut writer = Writer::listed(name, out);
            for (i, item) in items.iter().enumerate() {
                if i == place {
                    writer.item(value.kind, value.bytes);
                }
                writer.item(item.kind, item.bytes);
            }
            if writer.count <= place {
                writer.item(value.kind, value.bytes);
            }
            writer.close();
        }
    }
}
