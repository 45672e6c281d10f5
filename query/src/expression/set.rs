//! Arrays as sets: order and repetitions do not count, equality is that of the scope.

use std::cmp::Ordering;

use bindery_document::{Error, Kind, Result, Value};

use super::array::array_of;
use super::registry::{Arity, Entry, Folding};
use super::{Node, Scope, Val, array_items, fail, nulls_first, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$setUnion", Arity::Any, set_union).folding(Folding::Commutative),
    Entry::variadic("$setIntersection", Arity::Any, set_intersection).folding(Folding::Commutative),
    Entry::binary("$setDifference", set_difference),
    Entry::variadic("$setEquals", Arity::AtLeast(2, 17045), set_equals).simplify(check_set_equals),
    Entry::binary("$setIsSubset", set_is_subset).simplify(check_set_is_subset),
    Entry::unary("$allElementsTrue", all_elements_true),
    Entry::unary("$anyElementTrue", any_element_true),
];

/// The union whose operands stay where they are.
static UNION_IN_ORDER: Entry = Entry::variadic("$setUnion", Arity::Any, set_union).folding(Folding::Associative);

/// The operator to take where strings compare by a collation: of equal strings the first stays.
pub(super) fn under_collation(entry: &'static Entry) -> &'static Entry {
    match entry.name {
        "$setUnion" => &UNION_IN_ORDER,
        _ => entry,
    }
}

/// The elements, sorted and each once; of equal ones the first in the array stays.
fn sorted_set<'v>(scope: &Scope<'_>, value: &'v Val<'_>) -> Option<Vec<Value<'v>>> {
    let mut values: Vec<Value<'v>> = array_items(value)?.iter().map(|e| e.value()).collect();
    values.sort_by(|a, b| scope.compare(a, b));
    values.dedup_by(|later, earlier| scope.compare(later, earlier).is_eq());
    Some(values)
}

fn contains(scope: &Scope<'_>, set: &[Value<'_>], value: &Value<'_>) -> bool {
    set.binary_search_by(|held| scope.compare(held, value)).is_ok()
}

/// Sorted, each element once.
fn set_union<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut held = Vec::with_capacity(operands.len());
    let mut rest = operands;
    while let [operand, others @ ..] = rest {
        rest = others;
        let value = operand.evaluate(scope)?;
        if value.is_nullish() {
            return nulls_first::null(scope, rest);
        }
        if array_items(&value).is_none() {
            let error = Error::new(17043, format!("$setUnion takes arrays, not {}", type_name(&value)));
            return nulls_first::wrong_type(scope, rest, error);
        }
        held.push(value);
    }
    let items = held.iter().filter_map(array_items).flat_map(|items| items.iter().map(|e| e.value()));
    let mut values: Vec<Value<'_>> = items.collect();
    values.sort_by(|a, b| scope.compare(a, b));
    values.dedup_by(|later, earlier| scope.compare(later, earlier).is_eq());
    Ok(array_of(values))
}

fn set_intersection<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut held = Vec::with_capacity(operands.len());
    let mut rest = operands;
    while let [operand, others @ ..] = rest {
        rest = others;
        let value = operand.evaluate(scope)?;
        if value.is_nullish() {
            return nulls_first::null(scope, rest);
        }
        if array_items(&value).is_none() {
            let error = Error::new(17047, format!("$setIntersection takes arrays, not {}", type_name(&value)));
            return nulls_first::wrong_type(scope, rest, error);
        }
        held.push(value);
    }
    let Some((first, rest)) = held.split_first() else {
        return Ok(array_of([]));
    };
    let mut values = sorted_set(scope, first).unwrap_or_default();
    for other in rest {
        let mut other = sorted_set(scope, other).unwrap_or_default();
        // Equal values may be of several types. Those of the smaller set stay, in MongoDB's other engine those of the first.
        if other.len() < values.len() && !scope.nulls_first() {
            std::mem::swap(&mut other, &mut values);
        }
        values.retain(|value| contains(scope, &other, value));
    }
    Ok(array_of(values))
}

/// In the order of the first array, each element once.
fn set_difference<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    if left.is_nullish() || right.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(items) = array_items(&left) else {
        return fail(17048, format!("$setDifference takes arrays, not {} first", type_name(&left)));
    };
    let Some(mut excluded) = sorted_set(scope, &right) else {
        return fail(17049, format!("$setDifference takes arrays, not {} second", type_name(&right)));
    };
    let mut kept = Vec::new();
    for item in items {
        let value = item.value();
        if let Err(place) = excluded.binary_search_by(|held| scope.compare(held, &value)) {
            excluded.insert(place, value);
            kept.push(value);
        }
    }
    Ok(array_of(kept))
}

fn set_equals<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut held = Vec::with_capacity(operands.len());
    for operand in operands {
        let value = operand.evaluate(scope)?;
        if array_items(&value).is_none() {
            return fail(17044, format!("$setEquals takes arrays, not {}", type_name(&value)));
        }
        held.push(value);
    }
    let mut sets = held.iter().filter_map(|value| sorted_set(scope, value));
    let first = sets.next().unwrap_or_default();
    let equal = |a: &[Value<'_>], b: &[Value<'_>]| {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| scope.compare(x, y) == Ordering::Equal)
    };
    Ok(Val::from(sets.all(|set| equal(&first, &set))))
}

fn set_is_subset<'a>(scope: &Scope<'a>, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    let Some(items) = array_items(&left) else {
        return fail(17046, format!("$setIsSubset takes arrays, not {} first", type_name(&left)));
    };
    let Some(set) = sorted_set(scope, &right) else {
        return fail(17042, format!("$setIsSubset takes arrays, not {} second", type_name(&right)));
    };
    Ok(Val::from(items.iter().all(|item| contains(scope, &set, &item.value()))))
}

/// The type of a constant that is no array.
fn constant_no_array(operand: &Node) -> Option<&'static str> {
    match operand {
        Node::Constant(None) => Some("missing"),
        Node::Constant(Some(value)) => (value.kind() != Kind::Array).then_some(value.kind().alias()),
        _ => None,
    }
}

#[expect(clippy::ptr_arg, reason = "the table of operators holds functions of this type")]
fn check_set_equals(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    match operands.iter().find_map(constant_no_array) {
        Some(found) => fail(5_887_502, format!("$setEquals takes arrays, not {found}")),
        None => Ok(None),
    }
}

/// A constant array on the right is another operator to MongoDB, with another code.
fn check_set_is_subset(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    let [left, right] = &operands[..] else {
        return Ok(None);
    };
    if left.is_constant() || !right.is_constant() {
        return Ok(None);
    }
    if let Some(found) = constant_no_array(right) {
        return fail(17311, format!("$setIsSubset takes arrays, not {found} second"));
    }
    let operands = std::mem::take(operands).into_boxed_slice();
    Ok(Some(Node::Call { entry: &SUBSET_OF_CONSTANT, operands }))
}

/// Takes back what [`check_set_is_subset`] has done, in a whole expression.
pub(super) fn generalize(node: &mut Node) {
    match node {
        Node::Constant(_) | Node::Path(_) => {}
        Node::Object(fields) => fields.iter_mut().for_each(|(_, value)| generalize(value)),
        Node::Array(items) => items.iter_mut().for_each(generalize),
        Node::Call { entry, operands } => {
            if std::ptr::eq(*entry, &SUBSET_OF_CONSTANT) {
                *entry = OPERATORS.iter().find(|general| general.name == entry.name).unwrap_or(entry);
            }
            operands.iter_mut().for_each(generalize);
        }
        Node::Named { operands, .. } => operands.iter_mut().flatten().for_each(generalize),
        Node::Operator(operator) => operator.operands_mut().into_iter().for_each(generalize),
    }
}

static SUBSET_OF_CONSTANT: Entry = Entry::binary("$setIsSubset", |scope, left, right| {
    if array_items(&left).is_none() {
        return fail(17310, format!("$setIsSubset takes arrays, not {} first", type_name(&left)));
    }
    set_is_subset(scope, left, right)
});

fn all_elements_true<'a>(_: &Scope<'a>, array: Val<'a>) -> Result<Val<'a>> {
    match array_items(&array) {
        Some(items) => Ok(Val::from(items.iter().all(|item| item.value().is_truthy()))),
        None => fail(17040, format!("$allElementsTrue takes an array, not {}", type_name(&array))),
    }
}

fn any_element_true<'a>(_: &Scope<'a>, array: Val<'a>) -> Result<Val<'a>> {
    match array_items(&array) {
        Some(items) => Ok(Val::from(items.iter().any(|item| item.value().is_truthy()))),
        None => fail(17041, format!("$anyElementTrue takes an array, not {}", type_name(&array))),
    }
}
