//! Conditions asked of columns, before readings are made of them.
//!
//! A comparison of a field with a constant looks at the field's column alone. What a filter asks beyond such
//! comparisons, is asked of the reading.

use bindery_document::{Element, Kind};
use bindery_query::filter::{Compare, Filter, Membership};

use super::column::{Column, Packed};
use super::{Bucket, Header};

/// The comparisons of a filter that the columns of one bucket answer.
#[derive(Debug)]
pub struct Sieve<'r, 'f> {
    tests: Vec<(Packed<'r>, Test<'f>)>,
    /// How many readings are in columns.
    count: u32,
    /// Whether no reading in the columns can match, for want of a field.
    is_closed: bool,
    /// Whether readings in the columns that pass match the whole filter.
    is_whole: bool,
}

#[derive(Clone, Copy, Debug)]
enum Test<'f> {
    Compare(&'f Compare),
    In(&'f Membership),
}

impl Test<'_> {
    fn accepts(self, element: Option<Element<'_>>) -> bool {
        match self {
            Test::Compare(test) => test.accepts(element),
            Test::In(test) => test.accepts(element),
        }
    }
}

impl Bucket {
    /// What of a filter columns answer. The bucket was found by the pruned filter, and its readings by their times.
    pub fn sieve<'r, 'f>(&self, header: &Header<'r>, filter: &'f Filter) -> Sieve<'r, 'f> {
        let count = match self.column(header, &self.time) {
            Some(Column::Packed(times)) => u32::try_from(times.len()).unwrap_or(u32::MAX),
            _ => 0,
        };
        let mut sieve = Sieve { tests: Vec::new(), count, is_closed: false, is_whole: true };
        self.add_tests(header, filter, &mut sieve);
        sieve
    }

    fn column<'r>(&self, header: &Header<'r>, name: &str) -> Option<Column<'r>> {
        let stored = header.columns.element(name.as_bytes())?;
        Some(Column::read(&stored, if *name == *self.time { self.base(header) } else { 0 }))
    }

    fn add_tests<'r, 'f>(&self, header: &Header<'r>, filter: &'f Filter, sieve: &mut Sieve<'r, 'f>) {
        let test = match filter {
            Filter::And(parts) => return parts.iter().for_each(|part| self.add_tests(header, part, sieve)),
            Filter::Compare(test) => Test::Compare(test),
            Filter::In(test) => Test::In(test),
            other => {
                sieve.is_whole &= self.times_of(other).1;
                return;
            }
        };
        if self.times_of(filter).1 {
            return;
        }
        let top_level = filter.path().filter(|path| path.is_top_level() && !self.is_meta(path.first().as_bytes()));
        match top_level.map(|path| self.column(header, path.first())) {
            Some(Some(Column::Packed(column))) => sieve.tests.push((column, test)),
            Some(None) => sieve.is_closed |= !test.accepts(None),
            Some(Some(Column::Listed(_))) | None => sieve.is_whole = false,
        }
    }
}

impl Sieve<'_, '_> {
    /// Whether the reading at a place of the columns may match.
    pub fn passes(&self, place: u32) -> bool {
        let mut bytes = [0; 16];
        !self.is_closed
            && self.tests.iter().all(|(column, test)| {
                let value = &mut bytes[..column.full()];
                column.write(place as usize, value);
                let kind: Kind = column.kind;
                test.accepts(Some(Element { key: b"", kind, bytes: value }))
            })
    }

    /// Whether any reading in the columns may match.
    pub fn passes_any(&self) -> bool {
        self.tests.is_empty() && !self.is_closed || (0..self.count).any(|place| self.passes(place))
    }

    /// Whether a reading of the columns that passes matches the whole filter.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}
