//! `$slice` of `find`: a part of an array. (In the aggregation language `$slice` is an expression.)

use bindery_document::{Doc, Kind, Value};

/// Which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// How many elements to leave out at the start; from the end if negative.
    skip: Option<i64>,
    /// How many to take; without a skip, from the end if negative.
    limit: i64,
}

impl Slice {
    /// Reads `n` or `[skip, limit]`; `None` for what is neither, which may still be an expression.
    pub(super) fn parse(argument: Value<'_>) -> Option<Slice> {
        let Value::Array(array) = argument else {
            return Some(Slice { skip: None, limit: whole(argument)? });
        };
        let mut numbers = array.iter().map(|number| whole(number.value()));
        let (skip, limit) = (numbers.next()??, numbers.next()??);
        (numbers.next().is_none() && limit > 0).then_some(Slice { skip: Some(skip), limit })
    }

    /// The elements of the array that belong to the part.
    pub(super) fn of(self, array: Doc<'_>) -> impl Iterator<Item = (Kind, &[u8])> {
        let length = array.count() as u64;
        let (start, count) = match self.skip {
            None if self.limit >= 0 => (0, self.limit.unsigned_abs()),
            None => (length.saturating_sub(self.limit.unsigned_abs()), length),
            Some(skip) if skip >= 0 => (skip.unsigned_abs(), self.limit.unsigned_abs()),
            Some(skip) => (length.saturating_sub(skip.unsigned_abs()), self.limit.unsigned_abs()),
        };
        let bounded = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        array.iter().skip(bounded(start)).take(bounded(count)).map(|item| (item.kind, item.bytes))
    }
}

/// A number of any type as a whole one: fractions are cut, NaN is zero, what is too large is the largest.
fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(n)),
        Value::Int64(n) => Some(n),
        // The conversion cuts and saturates.
        Value::Double(d) => Some(d as i64),
        Value::Decimal128(d) => Some(d.as_exact_i64().unwrap_or_else(|| d.to_f64() as i64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::{Bson, doc};

    fn slice(argument: impl Into<Bson>) -> Option<Vec<i32>> {
        let spec = DocBuf::from_bson(&doc! {"s": argument.into(), "a": [0, 1, 2, 3, 4]}).expect("document");
        let array = spec.doc().get("a").and_then(|a| a.as_array()).expect("array");
        let slice = Slice::parse(spec.doc().get("s").expect("argument"))?;
        let numbers = slice.of(array).map(|(kind, bytes)| match Value::decode(kind, bytes) {
            Some(Value::Int32(n)) => n,
            _ => -1,
        });
        Some(numbers.collect())
    }

    #[test]
    fn parts_from_both_ends() {
        assert_eq!(slice(2), Some(vec![0, 1]));
        assert_eq!(slice(-2), Some(vec![3, 4]));
        assert_eq!(slice(i64::MIN), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(slice(f64::NAN), Some(vec![]));
        assert_eq!(slice(vec![1.9, 2.0]), Some(vec![1, 2]));
        assert_eq!(slice(vec![-2, 9]), Some(vec![3, 4]));
        assert_eq!(slice(vec![-100, 2]), Some(vec![0, 1]));
        assert_eq!(slice(vec![100, 2]), Some(vec![]));
    }

    #[test]
    fn what_is_no_slice_is_left_to_expressions() {
        assert_eq!(slice("x"), None);
        assert_eq!(slice(vec![1, 0]), None);
        assert_eq!(slice(vec![1, 2, 3]), None);
        assert_eq!(slice(vec![1]), None);
    }
}
