//! Ordered keys: the order of their bytes is the order of values, and values come back from them.
//!
//! Also that bounds enclose what starts with their fields, and that any bytes at all can be asked to be a key.

use std::cmp::Ordering;

use bindery_document::{Doc, Element, Value, order};
use bindery_index::RecordId;
use bindery_index::key::{
    Direction, Directions, KeyBuilder, KeyDecoder, Place, decode, field_end, hash_value, prefix_end, record_id,
};

use crate::loose::Reader;

const FIELDS: usize = 4;

/// The input is a byte of directions and two documents, whose first values are two compound keys.
pub fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let bits = reader.byte();
    let directions: Directions = (0..FIELDS)
        .map(|field| if bits >> field & 1 == 1 { Direction::Descending } else { Direction::Ascending })
        .collect();
    any_bytes(input, directions);
    let (a, b) = (reader.document(), reader.document());
    let (a, b) = (fields(a.doc()), fields(b.doc()));
    for fields in [&a, &b] {
        comes_back(fields, directions);
    }
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let by_value = compare(a, b, directions);
    let (x, y) = (key(a, directions), key(b, directions));
    assert_eq!(x.as_bytes().cmp(y.as_bytes()), by_value, "{a:?} and {b:?} under {directions:?}");

    let mut entry = key(a, directions);
    entry.append_record_id(RecordId(u64::from(bits) << (bits & 31)));
    assert_eq!(record_id(entry.as_bytes()), Ok(RecordId(u64::from(bits) << (bits & 31))));
    for shared in 0..=n {
        let by_prefix = compare(&a[..shared], &b[..shared], directions);
        for (place, beside) in [(Place::Before, Ordering::Greater), (Place::After, Ordering::Less)] {
            let mut bound = key(&b[..shared], directions);
            bound.end(place);
            assert_eq!(entry.as_bytes().cmp(bound.as_bytes()), by_prefix.then(beside), "{a:?} beside {b:?}");
        }
    }
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a.value(), b.value());
        if a.is_identical(&b) {
            assert_eq!(hash_value(&a), hash_value(&b));
        }
    }
}

fn fields(doc: Doc<'_>) -> Vec<Element<'_>> {
    doc.iter().take(FIELDS).collect()
}

fn key(fields: &[Element<'_>], directions: Directions) -> KeyBuilder {
    let mut key = KeyBuilder::new();
    for (number, field) in fields.iter().enumerate() {
        key.append(&field.value(), directions.of(number));
    }
    key
}

fn compare(a: &[Element<'_>], b: &[Element<'_>], directions: Directions) -> Ordering {
    a.iter().zip(b).enumerate().fold(Ordering::Equal, |so_far, (number, (a, b))| {
        let order = order::compare(&a.value(), &b.value());
        so_far.then(if directions.of(number) == Direction::Descending { order.reverse() } else { order })
    })
}

fn comes_back(fields: &[Element<'_>], directions: Directions) {
    let key = key(fields, directions);
    let back = match decode(key.as_bytes(), key.type_bits(), directions, fields.len()) {
        Ok(back) => back,
        Err(error) => panic!("{fields:?}: {error}"),
    };
    for (field, back) in fields.iter().zip(&back) {
        let (value, back) = (field.value(), back.value());
        assert!(
            value.is_identical(&back) || has_odd_number(&value) && order::compare(&value, &back).is_eq(),
            "{value:?} came back as {back:?}"
        );
    }
    assert_eq!(prefix_end(key.as_bytes(), fields.len(), directions), Ok(key.as_bytes().len()));
}

/// Whether there is a number that may come back in another form: NaN, which has many, or a decimal whose
/// coefficient is none.
fn has_odd_number(value: &Value<'_>) -> bool {
    match value {
        Value::Double(d) => d.is_nan(),
        Value::Decimal128(_) => true,
        Value::Document(inner) | Value::Array(inner) => inner.iter().any(|field| has_odd_number(&field.value())),
        Value::JavaScriptWithScope { scope, .. } => scope.iter().any(|field| has_odd_number(&field.value())),
        _ => false,
    }
}

fn any_bytes(bytes: &[u8], directions: Directions) {
    let (key, bits) = bytes.split_at(bytes.len() / 2);
    let _ = record_id(key);
    let _ = field_end(key, 0, directions.of(0));
    let mut decoder = KeyDecoder::new(key, bits, directions);
    while decoder.next_value().is_ok() {}
}
