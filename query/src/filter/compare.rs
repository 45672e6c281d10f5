//! `$eq`, `$lt`, `$lte`, `$gt`, `$gte`: one value against one operand.
//!
//! Values of different type [rank](bindery_document::Kind::rank) do not compare ("type bracketing"),
//! with three exceptions: null, undefined and missing are alike; `MinKey` and `MaxKey` as operands
//! compare with everything, missing included; NaN equals NaN and is neither less nor greater than
//! anything.

use std::cmp::Ordering;

use bindery_document::{Element, Error, Kind, OwnedValue, Path, Result, Value, code, order};

use super::Filter;
use super::parse::Place;
use crate::collation::Collation;

/// Which comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Equal.
    Eq,
    /// Less or equal.
    Lte,
    /// Less.
    Lt,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
}

impl CompareOp {
    /// The operator's name in queries.
    pub fn name(self) -> &'static str {
        match self {
            CompareOp::Eq => "$eq",
            CompareOp::Lte => "$lte",
            CompareOp::Lt => "$lt",
            CompareOp::Gt => "$gt",
            CompareOp::Gte => "$gte",
        }
    }

    /// Whether a value that stands in this order to the operand passes.
    #[inline]
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            CompareOp::Eq => order == Ordering::Equal,
            CompareOp::Lte => order != Ordering::Greater,
            CompareOp::Lt => order == Ordering::Less,
            CompareOp::Gt => order == Ordering::Greater,
            CompareOp::Gte => order != Ordering::Less,
        }
    }

    fn accepts_equal(self) -> bool {
        matches!(self, CompareOp::Eq | CompareOp::Lte | CompareOp::Gte)
    }
}

/// A comparison of what a path leads to with a constant.
#[derive(Clone, Debug)]
pub struct Compare {
    /// Where the values are.
    pub path: Path,
    /// Which comparison.
    pub op: CompareOp,
    /// What they are compared with.
    pub operand: OwnedValue,
    /// How strings compare; `None` for byte order.
    pub collation: Option<Collation>,
    /// What is known beforehand, so that most values are decided without decoding.
    known: Known,
}

#[derive(Clone, Debug)]
struct Known {
    rank: u8,
    /// An equality that the value's bytes decide: same type, same bytes, nothing else.
    by_bytes: bool,
    operand_is_nan: bool,
    missing: bool,
    /// The operand, where it is an integer.
    integer: Option<i64>,
    /// The operand, where it is a double and a number.
    double: Option<f64>,
}

impl PartialEq for Compare {
    fn eq(&self, other: &Compare) -> bool {
        (&self.path, self.op, &self.operand, &self.collation)
            == (&other.path, other.op, &other.operand, &other.collation)
    }
}

impl Compare {
    /// A comparison; `operand` must not be undefined, nor a regular expression unless `op` is `Eq`.
    pub fn new(path: Path, op: CompareOp, operand: OwnedValue, collation: Option<Collation>) -> Compare {
        let kind = operand.kind();
        // Only what holds strings can depend on a collation.
        let collation = collation.filter(|_| holds_strings(kind));
        let by_bytes = op == CompareOp::Eq
            && match kind {
                Kind::String => collation.is_none(),
                Kind::ObjectId
                | Kind::Boolean
                | Kind::DateTime
                | Kind::Timestamp
                | Kind::Int32
                | Kind::Int64
                | Kind::Null
                | Kind::MinKey
                | Kind::MaxKey => true,
                _ => false,
            };
        let missing = match kind {
            Kind::Null => op.accepts_equal(),
            Kind::MinKey => matches!(op, CompareOp::Gt | CompareOp::Gte),
            Kind::MaxKey => matches!(op, CompareOp::Lt | CompareOp::Lte),
            _ => false,
        };
        let integer = match operand.value() {
            Value::Int32(n) => Some(i64::from(n)),
            Value::Int64(n) => Some(n),
            _ => None,
        };
        let operand_is_nan = is_nan(&operand.value());
        let double = match operand.value() {
            Value::Double(d) if !d.is_nan() => Some(d),
            _ => None,
        };
        let known = Known { rank: kind.rank(), by_bytes, operand_is_nan, missing, integer, double };
        Compare { path, op, operand, collation, known }
    }

    /// Whether one element, or nothing, passes. Arrays are compared whole.
    #[inline]
    pub fn accepts(&self, element: Option<Element<'_>>) -> bool {
        let Some(element) = element else {
            return self.known.missing;
        };
        if self.known.by_bytes && element.kind == self.operand.kind() {
            return element.bytes == self.operand.bytes();
        }
        if let Some(operand) = self.known.integer
            && let Some(number) = integer(element)
        {
            return self.op.accepts(number.cmp(&operand));
        }
        if let Some(operand) = self.known.double
            && let (Kind::Double, Ok(bytes)) = (element.kind, element.bytes.try_into())
        {
            // NaN, which has no order to a number, passes no comparison with one.
            return f64::from_le_bytes(bytes).partial_cmp(&operand).is_some_and(|order| self.op.accepts(order));
        }
        if element.kind.rank() != self.known.rank {
            return self.accepts_other_type(element.kind);
        }
        self.accepts_same_type(&element.value())
    }

    fn accepts_other_type(&self, kind: Kind) -> bool {
        match self.operand.kind() {
            Kind::Null => kind == Kind::Undefined && self.op.accepts_equal(),
            Kind::MinKey => matches!(self.op, CompareOp::Gt | CompareOp::Gte),
            Kind::MaxKey => matches!(self.op, CompareOp::Lt | CompareOp::Lte),
            _ => false,
        }
    }

    fn accepts_same_type(&self, value: &Value<'_>) -> bool {
        let is_nan = is_nan(value);
        if is_nan || self.known.operand_is_nan {
            return is_nan && self.known.operand_is_nan && self.op.accepts_equal();
        }
        let operand = self.operand.value();
        self.op.accepts(match &self.collation {
            None => order::compare(value, &operand),
            Some(collation) => order::compare_with(value, &operand, &|a: &[u8], b: &[u8]| collation.compare(a, b)),
        })
    }
}

/// Whether values of this type are or can contain strings.
pub(crate) fn holds_strings(kind: Kind) -> bool {
    matches!(kind, Kind::String | Kind::Symbol | Kind::Document | Kind::Array | Kind::JavaScriptWithScope)
}

#[inline]
fn integer(element: Element<'_>) -> Option<i64> {
    match element.kind {
        Kind::Int32 => element.bytes.try_into().ok().map(i32::from_le_bytes).map(i64::from),
        Kind::Int64 => element.bytes.try_into().ok().map(i64::from_le_bytes),
        _ => None,
    }
}

fn is_nan(value: &Value<'_>) -> bool {
    match value {
        Value::Double(d) => d.is_nan(),
        Value::Decimal128(d) => d.is_nan(),
        _ => false,
    }
}

/// Parses the operand of a comparison.
///
/// # Errors
/// Code 2 for undefined, and for a regular expression in anything but an equality.
pub(super) fn parse(path: Path, op: CompareOp, operand: Value<'_>, place: Place<'_>) -> Result<Filter> {
    match operand {
        Value::Undefined => Err(Error::new(code::BAD_VALUE, "cannot compare to undefined")),
        Value::Regex { .. } if op != CompareOp::Eq => {
            Err(Error::new(code::BAD_VALUE, format!("{} on '{path}' does not take a regular expression", op.name())))
        }
        _ => Ok(Filter::Compare(Compare::new(path, op, OwnedValue::new(operand), place.collation()))),
    }
}
