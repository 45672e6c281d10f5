//! What a logical question was answered, in a form that schemas can be compared by.

use std::cmp::Ordering;

use bson::{Bson, RawDocument};

use crate::error::{Error, Result};

/// The rows that answer one logical question.
///
/// Two schemas agree if they give the same rows: numbers by value (a sum of sums may be a double where
/// the plain schema has an integer, and may differ in its last digits), everything else exactly, the
/// order of a document's fields included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    rows: Vec<Bson>,
}

/// Relative difference up to which two doubles count as the same.
const TOLERANCE: f64 = 1e-9;

impl Answer {
    /// Rows whose order is part of the answer.
    pub fn ordered(rows: Vec<Bson>) -> Answer {
        Answer { rows }
    }

    /// Rows in no order.
    pub fn bag(rows: Vec<Bson>) -> Answer {
        let mut keyed: Vec<(String, Bson)> = rows.into_iter().map(|row| (canonical(&row, 1.0), row)).collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        Answer { rows: keyed.into_iter().map(|(_, row)| row).collect() }
    }

    /// A document as it came.
    pub fn row(document: &RawDocument) -> Result<Bson> {
        Bson::try_from(bson::RawBsonRef::Document(document))
            .map_err(|error| Error::Target(format!("not valid BSON: {error}")))
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether `other` says the same.
    pub fn agrees_with(&self, other: &Answer) -> bool {
        self.rows.len() == other.rows.len() && self.rows.iter().zip(&other.rows).all(|(a, b)| same(a, b))
    }

    /// The first row in which `other` differs, both sides, for an error message.
    pub fn difference(&self, other: &Answer) -> Option<String> {
        if self.agrees_with(other) {
            return None;
        }
        let at = self.rows.iter().zip(&other.rows).position(|(a, b)| !same(a, b));
        let at = at.unwrap_or(self.rows.len().min(other.rows.len()));
        let show = |answer: &Answer| match answer.rows.get(at) {
            Some(row) => shortened(row.to_string()),
            None => "nothing".to_owned(),
        };
        Some(format!("row {at} of {} and {}: {} and {}", self.rows.len(), other.rows.len(), show(self), show(other)))
    }

    /// Mixes this answer into a running checksum.
    pub fn add_to(&self, checksum: &mut Checksum) {
        for row in &self.rows {
            for byte in canonical(row, 1.0).bytes().chain([0]) {
                checksum.here = fnv(checksum.here, byte);
            }
            for byte in canonical(row, BESIDE).bytes().chain([0]) {
                checksum.beside = fnv(checksum.beside, byte);
            }
        }
    }
}

/// A checksum over answers that is the same for answers that agree.
///
/// Doubles that agree may still round differently where they lie at the edge between two roundings. So
/// numbers are rounded on two grids whose edges lie apart, and one of them has to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    here: u64,
    beside: u64,
}

/// What moves the edges of the second grid: any factor that is no simple fraction.
const BESIDE: f64 = 1.234_567_891_3;

impl Checksum {
    /// Of no answers yet.
    pub fn new() -> Checksum {
        Checksum { here: 0xcbf2_9ce4_8422_2325, beside: 0xcbf2_9ce4_8422_2325 }
    }

    /// Whether `other` is over answers that agree with these.
    pub fn agrees_with(&self, other: &Checksum) -> bool {
        self.here == other.here || self.beside == other.beside
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum::new()
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.here)
    }
}

fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64),
        Bson::Double(n) => Some(*n),
        _ => None,
    }
}

fn same(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ka, va), (kb, vb))| ka == kb && same(va, vb))
        }
        (Bson::Array(a), Bson::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Bson::Int32(_) | Bson::Int64(_), Bson::Int32(_) | Bson::Int64(_)) => as_i64(a) == as_i64(b),
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => {
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
            }
            _ => a == b,
        },
    }
}

fn as_i64(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        _ => None,
    }
}

/// Text that is equal for rows that agree, but for doubles at the very edge of rounding; numbers are
/// multiplied by `scale` before they are rounded.
fn canonical(value: &Bson, scale: f64) -> String {
    let mut out = String::new();
    canonical_into(value, scale, &mut out);
    out
}

fn canonical_into(value: &Bson, scale: f64, out: &mut String) {
    use std::fmt::Write as _;
    match value {
        Bson::Document(document) => {
            out.push('{');
            for (key, value) in document {
                let _ = write!(out, "{key}:");
                canonical_into(value, scale, out);
                out.push(',');
            }
            out.push('}');
        }
        Bson::Array(array) => {
            out.push('[');
            for value in array {
                canonical_into(value, scale, out);
                out.push(',');
            }
            out.push(']');
        }
        other => match number(other).map(|n| n * scale) {
            // Nine digits are the same for doubles that agree, and whole numbers look alike in all types.
            Some(n) if n.fract() != 0.0 || n.abs() >= 1e9 => {
                let _ = write!(out, "{n:.8e}");
            }
            Some(n) => {
                let _ = write!(out, "{}", n + 0.0);
            }
            None => {
                let _ = write!(out, "{other}");
            }
        },
    }
}

/// Orders two values as MongoDB would where they are of one simple kind: numbers, strings, dates.
/// `None` for anything else; schemas use it to find the newest or the largest of rows.
pub fn compare(a: &Bson, b: &Bson) -> Option<Ordering> {
    match (a, b) {
        (Bson::String(a), Bson::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Bson::DateTime(a), Bson::DateTime(b)) => Some(a.cmp(b)),
        _ => match (as_i64(a), as_i64(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => number(a)?.partial_cmp(&number(b)?),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::bson;

    #[test]
    fn numbers_agree_by_value_and_nearly() {
        let answer = |value: Bson| Answer::ordered(vec![value]);
        let agree = |a: Bson, b: Bson| answer(a).agrees_with(&answer(b));
        assert!(agree(bson!(1), bson!(1.0)));
        assert!(agree(bson!(1), bson!(1_i64)));
        assert!(agree(bson!({ "a": [0.1 + 0.2] }), bson!({ "a": [0.3] })));
        assert!(!agree(bson!(1), bson!(1.001)));
        assert!(!agree(bson!(9_007_199_254_740_993_i64), bson!(9_007_199_254_740_992_i64)));
        assert!(!agree(bson!({ "a": 1, "b": 2 }), bson!({ "b": 2, "a": 1 })));
        assert!(!agree(bson!("1"), bson!(1)));
    }

    #[test]
    fn bags_have_no_order_and_checksums_follow_agreement() {
        let a = Answer::bag(vec![bson!({ "_id": 2, "v": 0.1 + 0.2 }), bson!({ "_id": 1 })]);
        let b = Answer::bag(vec![bson!({ "_id": 1_i64 }), bson!({ "_id": 2, "v": 0.3 })]);
        assert!(a.agrees_with(&b));
        let checksum = |answer: &Answer| {
            let mut sum = Checksum::new();
            answer.add_to(&mut sum);
            sum
        };
        assert!(checksum(&a).agrees_with(&checksum(&b)));
        let c = Answer::bag(vec![bson!({ "_id": 1 })]);
        assert!(!checksum(&a).agrees_with(&checksum(&c)));
        // Two sides of one edge.
        let (low, high) =
            (Answer::ordered(vec![bson!(20.123_456_749_999_996)]), Answer::ordered(vec![bson!(20.123_456_75)]));
        assert!(low.agrees_with(&high) && checksum(&low).agrees_with(&checksum(&high)));
        assert!(a.difference(&c).expect("differs").contains("row 1 of 2 and 1"));
    }
}
