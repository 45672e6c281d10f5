//! Windows: which documents of a partition a function sees for one of them.

use std::ops::Range;

use bindery_document::{Error, OwnedValue, Result, Value, code};

use super::{Partition, malformed};
use crate::expression::date::arithmetic_unit::{Unit, Zone, add};
use crate::expression::number::Number;
use crate::expression::summation::Summation;
use crate::filter::ParseContext;

/// A window.
#[derive(Clone, Debug)]
pub(super) enum Window {
    /// By number of documents.
    Documents(Bound<i64>, Bound<i64>),
    /// By distance in the order's value.
    Range { lower: Bound<OwnedValue>, upper: Bound<OwnedValue>, unit: Option<Unit>, is_descending: bool },
}

/// One end of a window.
#[derive(Clone, Debug)]
pub(super) enum Bound<T> {
    Unbounded,
    Current,
    Offset(T),
}

impl Window {
    /// The whole partition.
    pub(super) const WHOLE: Window = Window::Documents(Bound::Unbounded, Bound::Unbounded);

    /// Whether the window's start stays where it is.
    pub(super) fn starts_at_first(&self) -> bool {
        matches!(self, Window::Documents(Bound::Unbounded, _) | Window::Range { lower: Bound::Unbounded, .. })
    }

    /// How many documents beyond the current one the window needs to be known; what a range needs is not known before
    /// the documents are.
    pub(super) fn reach(&self) -> usize {
        match self {
            Window::Documents(_, Bound::Unbounded) | Window::Range { upper: Bound::Unbounded, .. } => usize::MAX,
            Window::Documents(_, Bound::Offset(n)) => usize::try_from(*n).unwrap_or(0),
            Window::Documents(_, Bound::Current) | Window::Range { .. } => 0,
        }
    }

    /// Of a window that ends at a value, the first document whose window holds the last one of the partition: it takes
    /// the one behind to see that. `None` for other windows.
    pub(super) fn first_to_reach_the_end(&self, partition: &Partition<'_>) -> Option<usize> {
        let Window::Range { upper: Bound::Offset(_), .. } = self else {
            return None;
        };
        let reaches = |index: &usize| self.of(partition, *index).is_ok_and(|range| range.end == partition.len());
        Some((0..partition.len()).find(reaches).unwrap_or(partition.len().saturating_sub(1)))
    }

    /// Whether values say where it ends, so that its end is looked for before anything is evaluated.
    pub(super) fn ends_at_a_value(&self) -> bool {
        matches!(self, Window::Range { upper: Bound::Unbounded | Bound::Offset(_), .. })
    }

    /// Parses a window; `sort` tells whether the only path of the order is descending.
    pub(super) fn parse(
        value: Value<'_>,
        has_order: bool,
        sort: Option<bool>,
        context: &mut ParseContext,
    ) -> Result<Window> {
        let Value::Document(spec) = value else {
            return malformed("a window must be a document");
        };
        let (mut documents, mut range, mut unit) = (None, None, None);
        for element in spec {
            match (element.key, element.value()) {
                (b"documents", Value::Array(bounds)) => documents = Some(bounds),
                (b"range", Value::Array(bounds)) => range = Some(bounds),
                (b"unit", Value::String(name)) => match Unit::parse(name.as_str()) {
                    Some(parsed) => unit = Some(parsed),
                    None => return malformed(format!("unknown unit '{}'", name.as_str())),
                },
                _ => return malformed(format!("a window does not take '{}' like this", element.key_str())),
            }
        }
        let ends = |bounds: bindery_document::Doc<'_>| -> Result<[OwnedValue; 2]> {
            let values: Vec<OwnedValue> = bounds.iter().map(|bound| OwnedValue::new(bound.value())).collect();
            <[OwnedValue; 2]>::try_from(values).or_else(|_| malformed("a window has two bounds"))
        };
        match (documents, range) {
            (Some(_), Some(_)) => malformed("a window is given by documents or by range, not both"),
            (None, None) if unit.is_some() => malformed("a unit needs a range"),
            (None, None) => Ok(Window::WHOLE),
            (Some(_), None) if unit.is_some() => malformed("a unit goes with a range, not with documents"),
            (Some(bounds), None) => {
                let [lower, upper] = ends(bounds)?;
                let offset = |value: Value<'_>| match value.as_exact_i64().and_then(|n| i32::try_from(n).ok()) {
                    Some(n) => Ok(i64::from(n)),
                    None => malformed("a bound by documents must be an integer"),
                };
                let lower = parse_bound(&lower, context, offset)?;
                let upper = parse_bound(&upper, context, offset)?;
                let is_bounded = !matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded));
                if is_bounded && !has_order {
                    return Err(Error::new(5_339_901, "a window bounded by documents needs 'sortBy'"));
                }
                let place = |bound: &Bound<i64>, open: i64| match bound {
                    Bound::Unbounded => open,
                    Bound::Current => 0,
                    Bound::Offset(n) => *n,
                };
                if place(&lower, i64::MIN) > place(&upper, i64::MAX) {
                    return Err(Error::new(5_339_900, "a window's lower bound must not exceed its upper bound"));
                }
                Ok(Window::Documents(lower, upper))
            }
            (None, Some(bounds)) => {
                let [lower, upper] = ends(bounds)?;
                let offset = |value: Value<'_>| {
                    if !value.kind().is_number() {
                        return malformed("a bound by range must be a number");
                    }
                    if unit.is_some() && value.as_exact_i64().and_then(|n| i32::try_from(n).ok()).is_none() {
                        return malformed("a bound with a unit must be an integer");
                    }
                    Ok(OwnedValue::new(value))
                };
                let lower = parse_bound(&lower, context, offset)?;
                let upper = parse_bound(&upper, context, offset)?;
                if exceeds(&lower, &upper) {
                    return Err(Error::new(5_339_900, "a window's lower bound must not exceed its upper bound"));
                }
                let Some(is_descending) = sort else {
                    return Err(Error::new(5_339_902, "a window by range needs 'sortBy' with one path"));
                };
                Ok(Window::Range { lower, upper, unit, is_descending })
            }
        }
    }

    /// The documents that the window of one of them holds.
    pub(super) fn of(&self, partition: &Partition<'_>, index: usize) -> Result<Range<usize>> {
        let length = partition.len();
        match self {
            Window::Documents(lower, upper) => {
                let place = |bound: &Bound<i64>, open: i64| match bound {
                    Bound::Unbounded => open,
                    Bound::Current => index as i64,
                    Bound::Offset(n) => index as i64 + n,
                };
                let start = place(lower, 0).clamp(0, length as i64) as usize;
                let end = place(upper, length as i64 - 1).saturating_add(1).clamp(0, length as i64) as usize;
                Ok(start..end.max(start))
            }
            // MongoDB refuses it only when there is a document.
            Window::Range { is_descending: true, .. } => {
                Err(Error::new(5_429_404, "a window by range needs an ascending 'sortBy'"))
            }
            Window::Range { lower, upper, unit, is_descending: false } => {
                let here = partition.position(index);
                check_position(&here, *unit)?;
                let scope = partition.env.scope(bindery_document::doc::EMPTY);
                // The current document, unlike an offset of zero, leaves out others of the same value.
                let start = match lower {
                    Bound::Unbounded => 0,
                    Bound::Current => index,
                    bound => {
                        let least = shifted(&here, bound, *unit)?;
                        (partition.positions).partition_point(|p| scope.compare(&p.value(), &least.value()).is_lt())
                    }
                };
                let end = match upper {
                    Bound::Unbounded => length,
                    Bound::Current => index + 1,
                    bound => {
                        let most = shifted(&here, bound, *unit)?;
                        (partition.positions).partition_point(|p| scope.compare(&p.value(), &most.value()).is_le())
                    }
                };
                Ok(start..end.max(start))
            }
        }
    }
}

/// Whether a bound by range lies beyond the one that it should not exceed; the current document counts as zero.
fn exceeds(lower: &Bound<OwnedValue>, upper: &Bound<OwnedValue>) -> bool {
    let zero = OwnedValue::new(Value::Int32(0));
    let place = |bound: &Bound<OwnedValue>| match bound {
        Bound::Unbounded => None,
        Bound::Current => Some(zero.clone()),
        Bound::Offset(offset) => Some(offset.clone()),
    };
    let ends = place(lower).zip(place(upper));
    ends.is_some_and(|(lower, upper)| bindery_document::order::compare(&lower.value(), &upper.value()).is_gt())
}

/// A bound is a word or a constant.
fn parse_bound<T>(
    value: &OwnedValue,
    context: &mut ParseContext,
    offset: impl Fn(Value<'_>) -> Result<T>,
) -> Result<Bound<T>> {
    if let Value::String(word) = value.value() {
        match word.as_str() {
            "unbounded" => return Ok(Bound::Unbounded),
            "current" => return Ok(Bound::Current),
            _ => {}
        }
    }
    if matches!(value.value(), Value::String(_)) {
        return malformed("a window's bounds are 'current', 'unbounded', or constant");
    }
    let expression = crate::expression::Expression::parse(value.value(), &mut context.expressions)?;
    match expression.as_constant() {
        Some(Some(value)) => offset(value).map(Bound::Offset),
        _ => malformed("a window's bounds must be constant"),
    }
}

fn check_position(here: &Value<'_>, unit: Option<Unit>) -> Result<()> {
    match (here, unit) {
        (Value::DateTime(_), Some(_)) => Ok(()),
        (Value::DateTime(_), None) => Err(Error::new(5_429_413, "a window by range over dates needs a unit")),
        (_, Some(_)) => Err(Error::new(5_429_513, "a window with a unit needs dates to sort by")),
        (number, None) if number.kind().is_number() => Ok(()),
        (other, None) => {
            let message = format!("a window by range needs numbers to sort by, not {}", other.kind().alias());
            Err(Error::new(5_429_414, message))
        }
    }
}

fn shifted(here: &Value<'_>, bound: &Bound<OwnedValue>, unit: Option<Unit>) -> Result<OwnedValue> {
    let Bound::Offset(by) = bound else {
        return Ok(OwnedValue::new(*here));
    };
    if let (Value::DateTime(ms), Some(unit)) = (here, unit) {
        let moved = by.value().as_exact_i64().and_then(|n| add(*ms, unit, n, &Zone::UTC));
        return match moved {
            Some(ms) => Ok(OwnedValue::new(Value::DateTime(ms))),
            None => Err(Error::new(code::OVERFLOW, "a window's bound is out of range")),
        };
    }
    let mut sum = Summation::default();
    sum.add_value(here);
    if let Some(number) = Number::of(&by.value()) {
        sum.add(number);
    }
    Ok(OwnedValue::new(sum.total().into()))
}
