//! MongoDB's time-series collections as this layout: their declaration, the order of a reading's fields, the indexes
//! they may have, and a bucket in the form in which `system.buckets.<name>` shows it.
//!
//! Source: MongoDB's manual, "Time Series Collections"; the form was looked at on a real server.

use std::cmp::Ordering;

use bindery_document::{Builder, Doc, DocBuf, Element, Kind, OwnedValue, Value, doc, order};

use super::{Bucket, Header, Size, field};
use crate::prune::{below_first, first_of};

/// The most readings of a bucket, as on the server.
const MOST: u32 = 1_000;

impl Bucket {
    /// The layout of a time-series collection. Its buckets span whole multiples of `span_millis`.
    pub fn time_series(time: &str, meta: Option<&str>, span_millis: i64) -> Bucket {
        Bucket {
            time: time.into(),
            meta: meta.map(Into::into),
            size: Size::Span(span_millis),
            summarized: None,
            in_columns: true,
            most: MOST,
            is_series: true,
        }
    }

    /// A reading as a time-series collection gives it back: the time first, then the meta field, then the others.
    /// With `sorts_meta` the fields of documents in the meta field are sorted by name, which makes documents with
    /// the same fields one meta value.
    pub fn arranged(&self, reading: Doc<'_>, sorts_meta: bool) -> DocBuf {
        let mut out = Builder::with_buffer(Vec::with_capacity(reading.as_bytes().len()));
        let time = reading.element(self.time.as_bytes());
        let meta = self.meta.as_ref().and_then(|meta| reading.element(meta.as_bytes()));
        time.into_iter().for_each(|time| out.append_element(time));
        match meta {
            Some(meta) if sorts_meta => append_sorted(meta, &mut out),
            Some(meta) => out.append_element(meta),
            None => {}
        }
        let is_one_of_them = |element: &Element<'_>| {
            [time, meta].iter().flatten().any(|other| std::ptr::eq(other.key.as_ptr(), element.key.as_ptr()))
        };
        reading.iter().filter(|element| !is_one_of_them(element)).for_each(|element| out.append_element(element));
        out.finish()
    }

    /// Whether a path leads to or into the meta field.
    pub fn is_meta_path(&self, path: &str) -> bool {
        self.is_meta(first_of(path).as_bytes())
    }

    /// Whether a path is the time field.
    pub fn is_time_path(&self, path: &str) -> bool {
        self.is_time(path.as_bytes())
    }

    /// The key of a time-series collection's index on stored buckets: measurements are indexed by their bounds.
    pub(super) fn series_index_key(&self, key: Doc<'_>) -> DocBuf {
        self.bounds_key(key, field::START, |path, is_min| {
            format!("{}.{path}.{}", field::SUMMARY, if is_min { field::MIN } else { field::MAX })
        })
    }

    /// The key of a time-series collection's index as `system.buckets.<name>` shows it.
    pub fn server_index_key(&self, key: Doc<'_>) -> DocBuf {
        let of_bounds = |path: &str, is_min: bool| format!("control.{}.{path}", if is_min { "min" } else { "max" });
        self.bounds_key(key, "", of_bounds)
    }

    /// A key with the meta field in its place, the time as `time` (as bounds, if that is empty) and other paths as
    /// their bounds, the nearer one first.
    fn bounds_key(&self, key: Doc<'_>, time: &str, bound: impl Fn(&str, bool) -> String) -> DocBuf {
        let mut out = Builder::new();
        for part in key {
            let path = part.key_str();
            if self.is_meta_path(path) {
                out.append_bytes(format!("{}{}", field::META, below_first(path)).as_bytes(), part.kind, part.bytes);
            } else if self.is_time_path(path) && !time.is_empty() {
                out.append_bytes(time.as_bytes(), part.kind, part.bytes);
            } else {
                let ascends = part.value().as_f64().is_none_or(|direction| direction >= 0.0);
                for is_min in [ascends, !ascends] {
                    out.append_bytes(bound(path, is_min).as_bytes(), part.kind, part.bytes);
                }
            }
        }
        out.finish()
    }

    /// A stored bucket as the server keeps it: bounds under `control`, each field's values as a column under `data`.
    /// The least time is rounded down to `rounding_millis`.
    pub fn server_form(&self, stored: Doc<'_>, rounding_millis: i64) -> DocBuf {
        let header = Header::read(stored, false);
        let readings = self.documents(stored);
        let rows = || readings.iter().map(|reading| Doc::from_stored(reading));
        let mut names: Vec<&[u8]> = vec![self.time.as_bytes()];
        for element in rows().flat_map(Doc::iter) {
            if !self.is_meta(element.key) && !names.contains(&element.key) {
                names.push(element.key);
            }
        }
        let mut out = Builder::new();
        out.append("_id", header.id);
        let control = out.open_document("control");
        out.append("version", 1);
        for (name, wanted) in [("min", Ordering::Less), ("max", Ordering::Greater)] {
            let open = out.open_document(name);
            for name in &names {
                let values = rows().filter_map(|row| row.element(name).map(|e| OwnedValue::new(e.value())));
                let Some(bound) = values.reduce(|a, b| bound(&a, &b, wanted)) else { continue };
                match bound.value() {
                    Value::DateTime(time) if wanted.is_lt() && self.is_time(name) => {
                        let rounded = time.saturating_sub(time.rem_euclid(rounding_millis.max(1)));
                        out.append(name, Value::DateTime(rounded));
                    }
                    value => out.append(name, value),
                }
            }
            out.close(open);
        }
        out.close(control);
        if let Some(meta) = header.meta {
            out.append_bytes(field::META.as_bytes(), meta.kind, meta.bytes);
        }
        let data = out.open_document("data");
        for name in &names {
            let column = out.open_document(name);
            for (position, row) in rows().enumerate() {
                if let Some(element) = row.element(name) {
                    out.append_index(position, element.value());
                }
            }
            out.close(column);
        }
        out.close(data);
        out.finish()
    }
}

/// Appends a value with the fields of all documents in it sorted by name.
fn append_sorted(element: Element<'_>, out: &mut Builder) {
    if !matches!(element.kind, Kind::Document | Kind::Array) {
        return out.append_element(element);
    }
    let inner = match element.value() {
        Value::Document(inner) | Value::Array(inner) => inner,
        _ => doc::EMPTY,
    };
    let mut parts: Vec<Element<'_>> = inner.iter().collect();
    if element.kind == Kind::Document {
        parts.sort_by_key(|part| part.key);
    }
    let open = out.open_kind(element.kind, element.key);
    parts.into_iter().for_each(|part| append_sorted(part, out));
    out.close(open);
}

/// The bound of two values; documents and arrays are bounded part by part.
fn bound(a: &OwnedValue, b: &OwnedValue, wanted: Ordering) -> OwnedValue {
    let (a_value, b_value) = (a.value(), b.value());
    let parts = match (a_value, b_value) {
        (Value::Document(a), Value::Document(b)) | (Value::Array(a), Value::Array(b)) => Some((a, b)),
        _ => None,
    };
    let Some((x, y)) = parts else {
        return if order::compare(&b_value, &a_value) == wanted { b.clone() } else { a.clone() };
    };
    let mut out = Builder::new();
    for part in x {
        match y.element(part.key) {
            Some(other) => {
                let bound = bound(&OwnedValue::new(part.value()), &OwnedValue::new(other.value()), wanted);
                out.append(part.key, bound.value());
            }
            None => out.append_element(part),
        }
    }
    y.iter().filter(|part| x.element(part.key).is_none()).for_each(|part| out.append_element(part));
    let both = out.finish();
    OwnedValue::new(if a_value.kind() == Kind::Array { Value::Array(both.doc()) } else { Value::Document(both.doc()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{DateTime, doc};

    fn stored(layout: &Bucket, readings: &[bson::Document]) -> Vec<u8> {
        let readings: Vec<DocBuf> = readings
            .iter()
            .map(|reading| layout.arranged(DocBuf::from_bson(reading).expect("document").doc(), true))
            .collect();
        layout.fold(Value::Int32(9), readings.iter().map(DocBuf::doc)).expect("readings").expect("a bucket")
    }

    #[test]
    fn a_bucket_is_shown_as_the_server_keeps_it() {
        let layout = Bucket::time_series("t", Some("m"), 3_600_000);
        let at = DateTime::from_millis;
        let bucket = stored(
            &layout,
            &[
                doc! {"v": 1, "m": {"z": 1, "a": [{"y": 1, "b": 2}]}, "t": at(3_667_123), "e": {"k": 5, "l": 1}},
                doc! {"t": at(3_700_000), "m": {"a": [{"b": 2, "y": 1}], "z": 1}, "v": 0.5, "e": {"k": 2}},
            ],
        );
        let shown = layout.server_form(Doc::from_stored(&bucket), 60_000);
        let expected = doc! {
            "_id": 9,
            "control": {
                "version": 1,
                "min": {"t": at(3_660_000), "v": 0.5, "e": {"k": 2, "l": 1}},
                "max": {"t": at(3_700_000), "v": 1, "e": {"k": 5, "l": 1}},
            },
            "meta": {"a": [{"b": 2, "y": 1}], "z": 1},
            "data": {
                "t": {"0": at(3_667_123), "1": at(3_700_000)},
                "v": {"0": 1, "1": 0.5},
                "e": {"0": {"k": 5, "l": 1}, "1": {"k": 2}},
            },
        };
        assert_eq!(shown, DocBuf::from_bson(&expected).expect("document"));
    }

    #[test]
    fn index_keys_are_those_of_bounds() {
        let layout = Bucket::time_series("t", Some("m"), 3_600_000);
        let key = DocBuf::from_bson(&doc! {"m.s": 1, "t": -1, "v": -1}).expect("document");
        let expected = doc! {"meta.s": 1, "start": -1, "summary.v.max": -1, "summary.v.min": -1};
        assert_eq!(layout.series_index_key(key.doc()), DocBuf::from_bson(&expected).expect("document"));
        let expected = doc! {
            "meta.s": 1, "control.max.t": -1, "control.min.t": -1, "control.max.v": -1, "control.min.v": -1,
        };
        assert_eq!(layout.server_index_key(key.doc()), DocBuf::from_bson(&expected).expect("document"));
    }
}
