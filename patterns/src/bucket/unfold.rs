//! From a bucket to its readings.

use std::ops::RangeInclusive;

use bindery_document::{Doc, Result, Value};

use super::{Bucket, Header};

impl Bucket {
    /// Calls `each` with the place of every reading with a time from `times` and where its logical document begins in `out`, in the order of
    /// the bucket, until that fails. `each` may leave the document there, or take it off again.
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
        let header = Header::read(stored, false);
        let are_all = times.contains(&header.first) && times.contains(&header.last);
        for (position, row) in (0..).zip(header.readings) {
            if !are_all && !self.is_within(Doc::from_stored(row.bytes), times) {
                continue;
            }
            let start = out.len();
            self.write_logical(&header, Doc::from_stored(row.bytes), out);
            each(position, start, out)?;
        }
        Ok(())
    }

    fn is_within(&self, row: Doc<'_>, times: &RangeInclusive<i64>) -> bool {
        match row.element(self.time.as_bytes()).map(|time| time.value()) {
            Some(Value::DateTime(time)) => times.contains(&time),
            _ => true,
        }
    }

    /// All logical documents of a bucket.
    pub fn documents(&self, stored: Doc<'_>) -> Vec<Vec<u8>> {
        let header = Header::read(stored, false);
        let document = |row: &[u8]| {
            let mut out = Vec::with_capacity(row.len() + 16);
            self.write_logical(&header, Doc::from_stored(row), &mut out);
            out
        };
        header.readings.iter().map(|row| document(row.bytes)).collect()
    }

    /// The logical document at a place.
    pub fn document(&self, stored: Doc<'_>, position: u32) -> Option<Vec<u8>> {
        let header = Header::read(stored, false);
        let row = header.readings.iter().nth(position as usize)?;
        let mut out = Vec::with_capacity(row.bytes.len() + 16);
        self.write_logical(&header, Doc::from_stored(row.bytes), &mut out);
        Some(out)
    }

    /// Writes a reading with the meta field in its place.
    fn write_logical(&self, header: &Header<'_>, row: Doc<'_>, out: &mut Vec<u8>) {
        let bytes = row.as_bytes();
        let start = out.len();
        match (&header.meta, &self.meta) {
            (Some(meta), Some(name)) => {
                let mut fields = row.iter();
                for _ in 0..header.meta_at {
                    fields.next();
                }
                let at = bytes.len().saturating_sub(1 + fields.remaining().len());
                out.extend_from_slice(&bytes[..at]);
                out.push(meta.kind as u8);
                out.extend_from_slice(name.as_bytes());
                out.push(0);
                out.extend_from_slice(meta.bytes);
                out.extend_from_slice(&bytes[at..]);
            }
            _ => out.extend_from_slice(bytes),
        }
        let length = (out.len() - start) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}
