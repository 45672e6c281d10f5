//! The total order over values: the one home of comparison.
//!
//! Sort keys, index keys, `$group` ids, `$min`/`$max` and range operators all mean this order.
//! Source: MongoDB's manual, "Comparison/Sort Order"; finer points were asked of a real server.

use std::cmp::Ordering;

use crate::{Decimal, Doc, Value};

/// Compares two values by MongoDB's order: by [rank](crate::Kind::rank) of the type, then by value.
/// Numbers compare exactly across their types; NaN is the least number and equal to itself.
#[inline]
pub fn compare(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    compare_with(a, b, &|x: &[u8], y: &[u8]| x.cmp(y))
}

/// As [`compare`], with the order of strings given (a collation's). Symbols follow the same order.
pub fn compare_with<F>(a: &Value<'_>, b: &Value<'_>, strings: &F) -> Ordering
where
    F: Fn(&[u8], &[u8]) -> Ordering + ?Sized,
{
    use Value::{
        Array, Binary, Boolean, DateTime, DbPointer, Decimal128, Document, Double, Int32, Int64, JavaScript,
        JavaScriptWithScope, ObjectId, Regex, String, Symbol, Timestamp,
    };
    match (a, b) {
        (Int32(x), Int32(y)) => x.cmp(y),
        (Int64(x), Int64(y)) => x.cmp(y),
        (Double(x), Double(y)) => compare_doubles(*x, *y),
        (String(x) | Symbol(x), String(y) | Symbol(y)) => strings(x.0, y.0),
        (Document(x), Document(y)) => compare_documents(*x, *y, true, strings),
        (Array(x), Array(y)) => compare_documents(*x, *y, false, strings),
        (Binary { subtype: s, bytes: x }, Binary { subtype: t, bytes: y }) => {
            // The old binary subtype repeats its length inside, and that counts.
            let length = |subtype: u8, bytes: &[u8]| bytes.len() + if subtype == 2 { 4 } else { 0 };
            length(*s, x).cmp(&length(*t, y)).then(s.cmp(t)).then_with(|| x.cmp(y))
        }
        (ObjectId(x), ObjectId(y)) => x.cmp(y),
        (Boolean(x), Boolean(y)) => x.cmp(y),
        (DateTime(x), DateTime(y)) => x.cmp(y),
        (Timestamp(x), Timestamp(y)) => x.cmp(y),
        (Regex { pattern: p, options: o }, Regex { pattern: q, options: r }) => p.cmp(q).then_with(|| o.cmp(r)),
        (DbPointer { namespace: n, id: i }, DbPointer { namespace: m, id: j }) => {
            n.0.len().cmp(&m.0.len()).then_with(|| n.cmp(m)).then_with(|| i.cmp(j))
        }
        (JavaScript(x), JavaScript(y)) => x.cmp(y),
        (JavaScriptWithScope { code: c, scope: s }, JavaScriptWithScope { code: d, scope: t }) => {
            c.cmp(d).then_with(|| compare_documents(*s, *t, true, strings))
        }
        (Int32(_) | Int64(_) | Double(_) | Decimal128(_), Int32(_) | Int64(_) | Double(_) | Decimal128(_)) => {
            compare_numbers(a, b)
        }
        _ => a.kind().rank().cmp(&b.kind().rank()),
    }
}

/// Compares documents element by element: type, then name (unless they are arrays), then value; a
/// document that ends first is less.
fn compare_documents<F>(a: Doc<'_>, b: Doc<'_>, by_name: bool, strings: &F) -> Ordering
where
    F: Fn(&[u8], &[u8]) -> Ordering + ?Sized,
{
    let (mut left, mut right) = (a.iter(), b.iter());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => {
                let names = || if by_name { x.key.cmp(y.key) } else { Ordering::Equal };
                let order = x.kind.rank().cmp(&y.kind.rank()).then_with(names);
                let order = order.then_with(|| compare_with(&x.value(), &y.value(), strings));
                if order != Ordering::Equal {
                    return order;
                }
            }
        }
    }
}

/// Compares two numbers of any types by exact value.
fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(x), Some(y)) => return x.cmp(&y),
        (Some(x), None) => return compare_integer(x, b),
        (None, Some(y)) => return compare_integer(y, a).reverse(),
        (None, None) => {}
    }
    match (a, b) {
        (Value::Double(x), Value::Double(y)) => compare_doubles(*x, *y),
        (Value::Decimal128(x), Value::Decimal128(y)) => x.compare(*y),
        (Value::Decimal128(x), Value::Double(y)) => x.compare_f64(*y),
        (Value::Double(x), Value::Decimal128(y)) => y.compare_f64(*x).reverse(),
        _ => Ordering::Equal,
    }
}

fn integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        _ => None,
    }
}

fn compare_integer(n: i64, other: &Value<'_>) -> Ordering {
    match other {
        Value::Double(d) => compare_integer_to_double(n, *d),
        Value::Decimal128(d) => Decimal::from_i64(n).compare(*d),
        _ => Ordering::Equal,
    }
}

/// Compares doubles with NaN as the least and equal to itself, and -0.0 equal to 0.0.
#[inline]
pub fn compare_doubles(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| y.is_nan().cmp(&x.is_nan()))
}

/// Compares an integer with a double without rounding either.
pub fn compare_integer_to_double(n: i64, d: f64) -> Ordering {
    if d.is_nan() || d < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    if d >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    let whole = d as i64;
    n.cmp(&whole).then_with(|| {
        if d.fract() > 0.0 {
            Ordering::Less
        } else if d.fract() < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocBuf;

    /// One value of each place in the order, ascending.
    fn ladder() -> Vec<DocBuf> {
        use bson::{Bson, doc};
        let values: Vec<Bson> = vec![
            Bson::MinKey,
            Bson::Undefined,
            Bson::Null,
            Bson::Double(f64::NAN),
            Bson::Double(f64::NEG_INFINITY),
            Bson::Int64(i64::MIN),
            Bson::Int32(-1),
            Bson::Double(0.0),
            Bson::Decimal128("0.1".parse().expect("decimal")),
            Bson::Double(0.1),
            Bson::Int64(9_007_199_254_740_992),
            Bson::Int64(9_007_199_254_740_993),
            Bson::Double(1e300),
            Bson::Decimal128("1E+4000".parse().expect("decimal")),
            Bson::Double(f64::INFINITY),
            Bson::String(String::new()),
            Bson::String("a".into()),
            Bson::Symbol("b".into()),
            Bson::Document(doc! {}),
            Bson::Document(doc! {"b": 1}),
            Bson::Document(doc! {"a": "x"}),
            Bson::Array(vec![]),
            Bson::Array(vec![Bson::Int32(1)]),
            Bson::Boolean(false),
            Bson::Boolean(true),
            Bson::DateTime(bson::DateTime::from_millis(-5)),
            Bson::DateTime(bson::DateTime::from_millis(5)),
            Bson::Timestamp(bson::Timestamp { time: 0, increment: 1 }),
            Bson::JavaScriptCode("x".into()),
            Bson::MaxKey,
        ];
        values.into_iter().map(|v| DocBuf::from_bson(&doc! {"v": v}).expect("document")).collect()
    }

    #[test]
    fn ladder_is_ascending_in_every_pair() {
        let ladder = ladder();
        for (i, a) in ladder.iter().enumerate() {
            for (j, b) in ladder.iter().enumerate() {
                let (x, y) = (a.doc().get("v").expect("v"), b.doc().get("v").expect("v"));
                assert_eq!(compare(&x, &y), i.cmp(&j), "{x:?} against {y:?}");
            }
        }
    }

    #[test]
    fn arrays_ignore_names_and_documents_do_not() {
        let x = DocBuf::from_bson(&bson::doc! {"a": {"k": 1}, "b": {"l": 1}}).expect("document");
        let (a, b) = (x.doc().get("a").and_then(|v| v.as_document()), x.doc().get("b").and_then(|v| v.as_document()));
        let (a, b) = (a.expect("a"), b.expect("b"));
        assert_eq!(compare(&Value::Document(a), &Value::Document(b)), Ordering::Less);
        assert_eq!(compare(&Value::Array(a), &Value::Array(b)), Ordering::Equal);
    }
}
