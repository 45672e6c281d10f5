//! Equality as a client sees it.
//!
//! Types count (1, 1.0 and NumberLong(1) differ), field order counts, NaN equals NaN, -0.0 equals 0.0,
//! doubles are equal to 13 significant digits, the deprecated undefined is null, and `$ref` and `$id` of a
//! DBRef may change places. An expected `{"$$type": "objectId"}` takes any ObjectId.

use bson::{RawBsonRef, RawDocument};

use crate::corpus::fields;

/// Whether `got` is what was expected.
pub(crate) fn same(expected: RawBsonRef<'_>, got: RawBsonRef<'_>) -> bool {
    use RawBsonRef as B;
    match (expected, got) {
        (B::Document(e), B::ObjectId(_)) => {
            let mut fields = e.iter();
            matches!(fields.next(), Some(Ok((name, B::String("objectId")))) if name.as_str() == "$$type")
                && fields.next().is_none()
        }
        (B::Document(e), B::Document(g)) => same_documents(e, g),
        (B::Array(e), B::Array(g)) => {
            let (mut e, mut g) = (e.into_iter(), g.into_iter());
            loop {
                match (e.next(), g.next()) {
                    (None, None) => return true,
                    (Some(Ok(e)), Some(Ok(g))) if same(e, g) => {}
                    _ => return false,
                }
            }
        }
        (B::Double(e), B::Double(g)) => same_doubles(e, g),
        (B::Decimal128(e), B::Decimal128(g)) => e.bytes() == g.bytes() || (is_nan(e) && is_nan(g)),
        (B::JavaScriptCodeWithScope(e), B::JavaScriptCodeWithScope(g)) => {
            e.code == g.code && same_documents(e.scope, g.scope)
        }
        (B::Null | B::Undefined, B::Null | B::Undefined) => true,
        (e, g) => e == g,
    }
}

/// [`same`] for whole documents.
pub(crate) fn same_documents(expected: &RawDocument, got: &RawDocument) -> bool {
    if expected.as_bytes() == got.as_bytes() {
        return true;
    }
    if is_db_ref(expected) && is_db_ref(got) {
        return fields(expected).count() == fields(got).count()
            && fields(expected).all(|(name, e)| got.get(name).ok().flatten().is_some_and(|g| same(e, g)));
    }
    let (mut e, mut g) = (expected.iter(), got.iter());
    loop {
        match (e.next(), g.next()) {
            (None, None) => return true,
            (Some(Ok((en, ev))), Some(Ok((gn, gv)))) if en == gn && same(ev, gv) => {}
            _ => return false,
        }
    }
}

fn is_db_ref(document: &RawDocument) -> bool {
    let mut first = fields(document).take(2).map(|(name, _)| name);
    matches!((first.next(), first.next()), (Some("$ref"), Some("$id")) | (Some("$id"), Some("$ref")))
}

fn same_doubles(e: f64, g: f64) -> bool {
    const HALF_OF_13_DIGITS: f64 = 5e-13;
    e == g
        || (e.is_nan() && g.is_nan())
        || (e.is_finite() && g.is_finite() && (e - g).abs() <= HALF_OF_13_DIGITS * e.abs().max(g.abs()))
}

fn is_nan(d: bson::Decimal128) -> bool {
    // The five combination bits after the sign, all ones, mark a NaN.
    d.bytes()[15] & 0x7c == 0x7c
}

/// What sets two bags of documents apart: `(missing, extra)`, as positions in `expected` and `got`.
pub(crate) fn bag_difference<E, G>(expected: &[E], got: &[G]) -> (Vec<usize>, Vec<usize>)
where
    E: AsRef<RawDocument>,
    G: AsRef<RawDocument>,
{
    let mut free: Vec<usize> = (0..got.len()).collect();
    let mut missing = Vec::new();
    for (i, e) in expected.iter().enumerate() {
        match free.iter().position(|&j| same_documents(e.as_ref(), got[j].as_ref())) {
            Some(at) => {
                free.remove(at);
            }
            None => missing.push(i),
        }
    }
    (missing, free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extjson::read_document;

    fn equal(a: &str, b: &str) -> bool {
        same_documents(&read_document(a).unwrap(), &read_document(b).unwrap())
    }

    #[test]
    fn types_and_order_count() {
        assert!(!equal(r#"{"a": 1}"#, r#"{"a": {"$numberLong": "1"}}"#));
        assert!(!equal(r#"{"a": 1}"#, r#"{"a": 1.0}"#));
        assert!(!equal(r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#));
        assert!(!equal(r#"{"a": [1]}"#, r#"{"a": [1, 1]}"#));
        assert!(equal(r#"{"a": [{"b": 1}]}"#, r#"{"a": [{"b": 1}]}"#));
    }

    #[test]
    fn doubles_are_equal_to_thirteen_digits() {
        assert!(equal(r#"{"a": 1.00000000000001}"#, r#"{"a": 1.0}"#));
        assert!(!equal(r#"{"a": 1.000000000001}"#, r#"{"a": 1.0}"#));
        assert!(equal(r#"{"a": {"$numberDouble": "NaN"}}"#, r#"{"a": {"$numberDouble": "NaN"}}"#));
        assert!(equal(r#"{"a": -0.0}"#, r#"{"a": 0.0}"#));
        assert!(!equal(r#"{"a": {"$numberDouble": "Infinity"}}"#, r#"{"a": 1.0}"#));
    }

    #[test]
    fn decimals_keep_their_zeros() {
        let decimal = |d: &str| format!(r#"{{"a": {{"$numberDecimal": "{d}"}}}}"#);
        assert!(!equal(&decimal("1.0"), &decimal("1.00")));
        assert!(equal(&decimal("NaN"), &decimal("NaN")));
        assert!(!equal(&decimal("NaN"), &decimal("Infinity")));
    }

    #[test]
    fn a_made_up_id_is_any_object_id() {
        let placeholder = r#"{"_id": {"$$type": "objectId"}}"#;
        assert!(equal(placeholder, r#"{"_id": {"$oid": "0123456789abcdef01234567"}}"#));
        assert!(!equal(placeholder, r#"{"_id": "0123456789abcdef01234567"}"#));
    }

    #[test]
    fn a_db_ref_may_change_its_order() {
        assert!(equal(r#"{"r": {"$ref": "c", "$id": 1}}"#, r#"{"r": {"$id": 1, "$ref": "c"}}"#));
        assert!(!equal(r#"{"r": {"$ref": "c", "$id": 1}}"#, r#"{"r": {"$id": 2, "$ref": "c"}}"#));
        assert!(!equal(r#"{"r": {"$ref": "c", "$id": 1}}"#, r#"{"r": {"$ref": "c"}}"#));
    }

    #[test]
    fn bags_match_each_document_once() {
        let read = |texts: &[&str]| -> Vec<_> { texts.iter().map(|t| read_document(t).unwrap()).collect() };
        let (missing, extra) =
            bag_difference(&read(&[r#"{"a": 1}"#, r#"{"a": 1}"#]), &read(&[r#"{"a": 2}"#, r#"{"a": 1}"#]));
        assert_eq!((missing, extra), (vec![1], vec![0]));
    }
}
