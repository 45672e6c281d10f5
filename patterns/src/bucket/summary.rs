//! What is known of one field's numbers in a bucket.
//!
//! The sum is kept as two doubles, the sum and what rounding lost of it, by the method of `$sum`; so sums of
//! whole buckets add up to the sum of all.

use std::cmp::Ordering;

use bindery_document::{Builder, Doc, Value, order};

use super::field;

/// Least, greatest, sum and number of the numbers in one field.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The least number; of equal ones the first.
    pub min: Option<Value<'static>>,
    /// The greatest number; of equal ones the first.
    pub max: Option<Value<'static>>,
    sum: f64,
    rest: f64,
    /// How many numbers.
    pub n: i64,
    width: Width,
    /// Whether there is anything that is neither a plain number nor null, so that this does not say all.
    pub mixed: bool,
}

/// The widest type of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    #[default]
    Int,
    Long,
    Double,
}

impl Summary {
    /// Takes in a value.
    pub fn add(&mut self, value: &Value<'_>) {
        match *value {
            Value::Int32(n) => {
                self.add_double(f64::from(n));
                self.width = self.width.max(Width::Int);
            }
            Value::Int64(n) => {
                self.add_long(n);
                self.width = self.width.max(Width::Long);
            }
            Value::Double(d) if d.is_finite() => {
                self.add_double(d);
                self.width = Width::Double;
            }
            Value::Null | Value::Undefined => return,
            _ => {
                self.mixed = true;
                return;
            }
        }
        self.n += 1;
        if let Some(number) = number(value) {
            self.bound(&number, &number);
        }
    }

    /// Takes in the summary of other values.
    pub fn merge(&mut self, other: &Summary) {
        self.add_double(other.sum);
        self.add_double(other.rest);
        self.n += other.n;
        self.width = self.width.max(other.width);
        self.mixed |= other.mixed;
        if let (Some(min), Some(max)) = (&other.min, &other.max) {
            self.bound(min, max);
        }
    }

    fn bound(&mut self, min: &Value<'static>, max: &Value<'static>) {
        let is = |value: &Value<'_>, than: &Option<Value<'_>>, wanted: Ordering| {
            than.as_ref().is_none_or(|old| order::compare(value, old) == wanted)
        };
        if is(min, &self.min, Ordering::Less) {
            self.min = Some(*min);
        }
        if is(max, &self.max, Ordering::Greater) {
            self.max = Some(*max);
        }
    }

    fn add_double(&mut self, x: f64) {
        let (x, lost) = two_sum(x, self.rest);
        let (sum, rest) = two_sum(self.sum, x);
        self.sum = sum;
        self.rest = rest + lost;
    }

    /// In two halves, which doubles hold exactly.
    fn add_long(&mut self, n: i64) {
        let high = n / (1 << 32) * (1 << 32);
        self.add_double((n - high) as f64);
        self.add_double(high as f64);
    }

    /// What `$sum` gives; `None` where it would leave the integers, or the doubles.
    pub fn total(&self) -> Option<Value<'static>> {
        if self.width == Width::Double {
            return self.sum.is_finite().then_some(Value::Double(self.sum));
        }
        let n = self.integer()?;
        Some(match (self.width, i32::try_from(n)) {
            (Width::Int, Ok(small)) => Value::Int32(small),
            _ => Value::Int64(n),
        })
    }

    /// What `$avg` gives: null without numbers.
    pub fn average(&self) -> Option<Value<'static>> {
        match self.n {
            0 => Some(Value::Null),
            n => self.sum.is_finite().then(|| Value::Double(self.sum / n as f64)),
        }
    }

    /// The sum of integers, while doubles hold it exactly.
    fn integer(&self) -> Option<i64> {
        let exact = self.sum.abs() < 9e18 && self.rest.fract() == 0.0;
        exact.then(|| (self.sum as i64).checked_add(self.rest as i64)).flatten()
    }

    /// Whether both tell the same; sums may differ by what another order of adding rounds.
    pub(super) fn is_like(&self, other: &Summary) -> bool {
        let same = |a: &Option<Value<'_>>, b: &Option<Value<'_>>| match (a, b) {
            (Some(a), Some(b)) => order::compare(a, b).is_eq(),
            (None, None) => true,
            _ => false,
        };
        let scale = self.sum.abs().max(other.sum.abs()).max(1.0);
        same(&self.min, &other.min)
            && same(&self.max, &other.max)
            && self.n == other.n
            && self.width == other.width
            && self.mixed == other.mixed
            && (self.sum - other.sum).abs() <= scale * 1e-9
    }

    /// Reads what [`Summary::write`] wrote.
    pub(super) fn read(doc: Doc<'_>) -> Summary {
        let mut summary = Summary::default();
        for part in doc {
            let value = part.value();
            match part.key {
                key if key == field::MIN.as_bytes() => summary.min = number(&value),
                key if key == field::MAX.as_bytes() => summary.max = number(&value),
                key if key == field::SUM.as_bytes() => match value {
                    Value::Int32(n) => summary.sum = f64::from(n),
                    Value::Int64(n) => {
                        summary.width = Width::Long;
                        summary.add_long(n);
                    }
                    other => {
                        summary.width = Width::Double;
                        summary.sum = other.as_f64().unwrap_or_default();
                    }
                },
                key if key == field::REST.as_bytes() => summary.rest = value.as_f64().unwrap_or_default(),
                key if key == field::N.as_bytes() => summary.n = value.as_exact_i64().unwrap_or_default(),
                key if key == field::MIXED.as_bytes() => summary.mixed = true,
                _ => {}
            }
        }
        summary
    }

    /// Writes the summary as a document under the field's name. Sums of integers are integers of the widest
    /// type that was seen; one that does not fit makes the field `mixed`, so that the readings are asked.
    pub(super) fn write(&self, name: &[u8], out: &mut Builder) {
        let open = out.open_document(name);
        let mut mixed = self.mixed;
        if let (Some(min), Some(max)) = (&self.min, &self.max) {
            out.append(field::MIN, *min);
            out.append(field::MAX, *max);
            let integer = if self.width == Width::Double { None } else { self.integer() };
            match (self.width, integer) {
                (Width::Int, Some(n)) if i32::try_from(n).is_ok() => out.append(field::SUM, n as i32),
                (Width::Long, Some(n)) => out.append(field::SUM, n),
                (width, _) => {
                    mixed |= width != Width::Double;
                    out.append(field::SUM, self.sum);
                    out.append(field::REST, self.rest);
                }
            }
            out.append(field::N, i32::try_from(self.n).unwrap_or(i32::MAX));
        }
        if mixed {
            out.append(field::MIXED, true);
        }
        out.close(open);
    }
}

/// A number that borrows nothing.
fn number(value: &Value<'_>) -> Option<Value<'static>> {
    match *value {
        Value::Int32(n) => Some(Value::Int32(n)),
        Value::Int64(n) => Some(Value::Int64(n)),
        Value::Double(d) => Some(Value::Double(d)),
        _ => None,
    }
}

/// The sum of two doubles and what rounding lost of it (Knuth's TwoSum).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}
