//! `$sortArray`, and the first, last, least and greatest elements of an array.

use std::cmp::Ordering;

use bindery_document::{Result, Value};

use super::array::array_of;
use super::field_path::split_path;
use super::registry::{Entry, Field, Folding, Named};
use super::string::named;
use super::{Node, Operator, ParseContext, Scope, Val, array_items, fail, parse, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::parsed("$sortArray", parse_sort_array),
    Entry::named("$firstN", &FIRST_N).folding(Folding::Opaque),
    Entry::named("$lastN", &LAST_N).folding(Folding::Opaque),
    Entry::named("$minN", &MIN_N).folding(Folding::Opaque),
    Entry::named("$maxN", &MAX_N).folding(Folding::Opaque),
];

/// By what elements are ordered.
#[derive(Debug)]
enum SortBy {
    /// The elements themselves; -1 reverses.
    Whole(bool),
    /// Paths inside, each with whether it is descending.
    Paths(Vec<(Box<[Box<str>]>, bool)>),
}

#[derive(Debug)]
struct SortArray {
    input: Node,
    by: SortBy,
}

fn parse_sort_array(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(2_942_500, "$sortArray takes a document");
    };
    let (mut input, mut by) = (None, None);
    for element in doc {
        match element.key {
            b"input" => input = Some(parse::parse(element.value(), ctx)?),
            b"sortBy" => by = Some(parse_sort_by(element.value())?),
            _ => return fail(2_942_501, format!("$sortArray does not know the field '{}'", element.key_str())),
        }
    }
    let Some(input) = input else {
        return fail(2_942_502, "$sortArray needs 'input'");
    };
    let Some(by) = by else {
        return fail(2_942_503, "$sortArray needs 'sortBy'");
    };
    Ok(Node::Operator(Box::new(SortArray { input, by })))
}

fn direction(value: &Value<'_>) -> Option<bool> {
    match value.as_exact_i64() {
        Some(1) => Some(false),
        Some(-1) => Some(true),
        _ => None,
    }
}

fn parse_sort_by(value: Value<'_>) -> Result<SortBy> {
    match value {
        Value::Document(doc) => {
            if doc.is_empty() {
                return fail(2_942_505, "$sortArray's sortBy must not be empty");
            }
            let mut paths = Vec::new();
            for element in doc {
                let Some(descending) = direction(&element.value()) else {
                    return fail(2_942_505, "$sortArray's sortBy takes 1 or -1 for a path");
                };
                let name = element.key_str();
                if name.is_empty() || name.split('.').any(str::is_empty) {
                    return fail(2_942_505, "$sortArray's sortBy must not have empty names");
                }
                let names = split_path(name).unwrap_or_else(|_| name.split('.').map(Into::into).collect());
                paths.push((names, descending));
            }
            Ok(SortBy::Paths(paths))
        }
        number if number.kind().is_number() => match direction(&number) {
            Some(descending) => Ok(SortBy::Whole(descending)),
            None => fail(2_942_506, "$sortArray's sortBy must be 1 or -1"),
        },
        _ => fail(2_942_507, "$sortArray's sortBy must be 1, -1 or a document of paths"),
    }
}

impl Operator for SortArray {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        if input.is_nullish() {
            return Ok(Val::NULL);
        }
        let Some(items) = array_items(&input) else {
            return fail(2_942_504, format!("$sortArray's input must be an array, not {}", type_name(&input)));
        };
        let turn = |order: Ordering, descending: bool| if descending { order.reverse() } else { order };
        let mut values: Vec<Value<'_>> = items.iter().map(|e| e.value()).collect();
        match &self.by {
            SortBy::Whole(descending) => values.sort_by(|a, b| turn(scope.compare(a, b), *descending)),
            SortBy::Paths(paths) => {
                let mut keyed: Vec<(Vec<Value<'_>>, Value<'_>)> = values
                    .into_iter()
                    .map(|value| {
                        let keys = paths.iter().map(|(names, _)| sort_key(value, names));
                        (keys.collect(), value)
                    })
                    .collect();
                keyed.sort_by(|(a, _), (b, _)| {
                    let fields = a.iter().zip(b).zip(paths);
                    let mut orders = fields.map(|((x, y), (_, descending))| turn(scope.compare(x, y), *descending));
                    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
                });
                values = keyed.into_iter().map(|(_, value)| value).collect();
            }
        }
        Ok(array_of(values))
    }

    fn operands(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }
}

/// What a value is sorted by at a path, which leads through documents only; null where there is nothing. Unlike in a
/// sort of documents, arrays are not entered: one at the end of the path is compared as a whole.
fn sort_key<'v>(value: Value<'v>, names: &[Box<str>]) -> Value<'v> {
    names.iter().try_fold(value, |held, name| held.as_document()?.get(name)).unwrap_or(Value::Null)
}

const N_FIELDS: &[Field] = &[Field::required("n", 5_787_906), Field::required("input", 5_787_907)];

static FIRST_N: Named = Named {
    fields: N_FIELDS,
    not_object: 5_787_801,
    unknown: 5_787_901,
    function: |scope, operands| take_n(scope, operands, |items, n, _| items.truncate(n)),
};
static LAST_N: Named = Named {
    fields: N_FIELDS,
    not_object: 5_787_801,
    unknown: 5_787_901,
    function: |scope, operands| {
        take_n(scope, operands, |items, n, _| {
            items.drain(..items.len().saturating_sub(n));
        })
    },
};
static MIN_N: Named = Named {
    fields: N_FIELDS,
    not_object: 5_787_900,
    unknown: 5_787_901,
    function: |scope, operands| {
        take_n(scope, operands, |items, n, scope| {
            items.retain(|v| !matches!(v, Value::Null | Value::Undefined));
            items.sort_by(|a, b| scope.compare(a, b));
            items.truncate(n);
        })
    },
};
static MAX_N: Named = Named {
    fields: N_FIELDS,
    not_object: 5_787_900,
    unknown: 5_787_901,
    function: |scope, operands| {
        take_n(scope, operands, |items, n, scope| {
            items.retain(|v| !matches!(v, Value::Null | Value::Undefined));
            let mut greatest: Vec<Value<'_>> = Vec::with_capacity(n.min(items.len()));
            for item in items.drain(..) {
                if let Some(place) = place_among(&greatest, n, true, |held| scope.compare(held, &item)) {
                    greatest.insert(place, item);
                    greatest.truncate(n);
                }
            }
            *items = greatest;
        })
    },
};

fn take_n<'a>(
    scope: &Scope<'a>,
    operands: &'a [Option<Node>],
    choose: fn(&mut Vec<Value<'_>>, usize, &Scope<'_>),
) -> Result<Val<'a>> {
    let n = read_n(&named(scope, operands, 0)?)?;
    let input = named(scope, operands, 1)?;
    let Some(items) = array_items(&input) else {
        return fail(5_788_200, format!("the input must be an array, not {}", type_name(&input)));
    };
    let mut values: Vec<Value<'_>> = items.iter().map(|e| e.value()).collect();
    choose(&mut values, n, scope);
    Ok(array_of(values))
}

/// The place of a value among the least `n`, ascending, or the greatest `n`, descending, as compared with those held;
/// `None` if it is not one of them. Of equal values the later one comes behind the others, counting down before
/// them, and it displaces none of them; the first to go is the last in this order.
pub(crate) fn place_among<V>(held: &[V], n: usize, is_max: bool, order: impl Fn(&V) -> Ordering) -> Option<usize> {
    if !is_max {
        return Some(held.partition_point(|value| order(value) != Ordering::Greater)).filter(|place| *place < n);
    }
    if held.len() >= n && held.last().is_none_or(|least| order(least) != Ordering::Less) {
        return None;
    }
    Some(held.partition_point(|value| order(value) == Ordering::Greater))
}

/// MongoDB's code for a double that no integer comes near to.
pub(super) const NO_INTEGER: i32 = 31109;

/// Whether a value is a double that cannot be cut to an integer.
pub(super) fn is_beyond_integers(value: &Value<'_>) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    matches!(value, Value::Double(d) if d.is_nan() || !(-LIMIT..LIMIT).contains(d))
}

/// The number of elements that `$firstN` and its siblings give; shared with the accumulators.
///
/// # Errors
/// 5787902 if it is no number, 31109 if beyond all integers, 5787903 if no integer, 5787908 if not positive.
pub(crate) fn read_n(value: &Val<'_>) -> Result<usize> {
    let Some(number) = value.get().filter(|v| v.kind().is_number()) else {
        return fail(5_787_902, format!("'n' must be an integer, not {}", type_name(value)));
    };
    let Some(n) = number.as_exact_i64() else {
        if is_beyond_integers(&number) {
            return fail(NO_INTEGER, "'n' is beyond all integers");
        }
        return fail(5_787_903, "'n' must be an integer");
    };
    match usize::try_from(n) {
        Ok(n) if n > 0 => Ok(n),
        _ => fail(5_787_908, format!("'n' must be positive, not {n}")),
    }
}
