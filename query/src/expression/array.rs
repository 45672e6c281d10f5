//! Arrays: size, elements, parts, joining, searching, ranges.

use bindery_document::{Builder, Doc, Error, Kind, Result, Value};

use super::limits::check_value_bytes;
use super::registry::{Arity, Entry, Folding};
use super::{Node, Scope, Val, array_items, fail, nulls_first, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::unary("$isArray", is_array),
    Entry::unary("$size", size),
    Entry::binary("$arrayElemAt", array_elem_at),
    Entry::unary("$first", first),
    Entry::unary("$last", last),
    Entry::variadic("$concatArrays", Arity::Any, concat_arrays).folding(Folding::Associative),
    Entry::variadic("$slice", Arity::Between(2, 3), slice),
    Entry::unary("$reverseArray", reverse_array),
    Entry::binary("$in", is_in),
    Entry::variadic("$indexOfArray", Arity::Between(2, 4), index_of_array).simplify(check_index_of_array),
    Entry::variadic("$range", Arity::Between(2, 3), range),
];

/// Builds an array from values.
pub(crate) fn array_of<'v>(values: impl IntoIterator<Item = Value<'v>>) -> Val<'static> {
    let mut builder = Builder::new();
    for (index, value) in values.into_iter().enumerate() {
        builder.append_index(index, value);
    }
    Val::Array(builder.finish())
}

fn is_array<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    Ok(Val::from(array_items(&value).is_some()))
}

fn size<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    match array_items(&value) {
        Some(items) => Ok(Val::from(items.count() as i32)),
        None => fail(17124, format!("$size takes an array, not {}", type_name(&value))),
    }
}

fn array_elem_at<'a>(_: &Scope<'a>, array: Val<'a>, index: Val<'a>) -> Result<Val<'a>> {
    if array.is_nullish() || index.is_nullish() {
        return Ok(Val::NULL);
    }
    if array_items(&array).is_none() {
        return fail(28689, format!("$arrayElemAt's first argument must be an array, not {}", type_name(&array)));
    }
    if !index.get().is_some_and(|v| v.kind().is_number()) {
        return fail(28690, format!("$arrayElemAt's second argument must be a number, not {}", type_name(&index)));
    }
    let at = index.get().and_then(|v| v.as_exact_i64()).and_then(|n| i32::try_from(n).ok());
    let Some(at) = at else {
        return fail(28691, "$arrayElemAt's second argument must be a 32-bit integer");
    };
    Ok(array.select(|value| element_at(value.as_array()?, i64::from(at))))
}

/// The element at an index; a negative one counts from the end.
fn element_at(items: Doc<'_>, index: i64) -> Option<Value<'_>> {
    let place = if index < 0 { (items.count() as i64).checked_add(index)? } else { index };
    items.iter().nth(usize::try_from(place).ok()?).map(|e| e.value())
}

fn first<'a>(_: &Scope<'a>, array: Val<'a>) -> Result<Val<'a>> {
    end_of("$first", array, 0)
}

fn last<'a>(_: &Scope<'a>, array: Val<'a>) -> Result<Val<'a>> {
    end_of("$last", array, -1)
}

fn end_of<'a>(name: &str, array: Val<'a>, index: i64) -> Result<Val<'a>> {
    if array.is_nullish() {
        return Ok(Val::NULL);
    }
    if array_items(&array).is_none() {
        return fail(28689, format!("{name} takes an array, not {}", type_name(&array)));
    }
    Ok(array.select(|value| element_at(value.as_array()?, index)))
}

fn concat_arrays<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut builder = Builder::new();
    let mut length = 0;
    let mut rest = operands;
    while let [operand, others @ ..] = rest {
        rest = others;
        let value = operand.evaluate(scope)?;
        if value.is_nullish() {
            return nulls_first::null(scope, rest);
        }
        let Some(items) = array_items(&value) else {
            let error = Error::new(28664, format!("$concatArrays takes arrays, not {}", type_name(&value)));
            return nulls_first::wrong_type(scope, rest, error);
        };
        for item in items {
            builder.append_index(length, item.value());
            length += 1;
            check_value_bytes(builder.len())?;
        }
    }
    Ok(Val::Array(builder.finish()))
}

fn slice<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let [array, second, rest @ ..] = operands else {
        return Err(super::fold::wrong_operands("$slice"));
    };
    let array = array.evaluate(scope)?;
    let second = second.evaluate(scope)?;
    if array.is_nullish() || second.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(items) = array_items(&array) else {
        return fail(28724, format!("$slice's first argument must be an array, not {}", type_name(&array)));
    };
    let second = slice_number(&second, 28725, 28726, "second")?;
    let length = items.count() as i64;
    let (start, count) = match rest.first() {
        None if second >= 0 => (0, second),
        None => ((length + second).max(0), length),
        Some(third) => {
            let third = third.evaluate(scope)?;
            if third.is_nullish() {
                return Ok(Val::NULL);
            }
            let count = slice_number(&third, 28727, 28728, "third")?;
            if count <= 0 {
                return fail(28729, format!("$slice's third argument must be positive, not {count}"));
            }
            (if second < 0 { (length + second).max(0) } else { second }, count)
        }
    };
    let (start, count) = (usize::try_from(start).unwrap_or(0), usize::try_from(count).unwrap_or(0));
    Ok(array_of(items.iter().skip(start).take(count).map(|e| e.value())))
}

fn slice_number(value: &Val<'_>, no_number: i32, no_integer: i32, which: &str) -> Result<i64> {
    if !value.get().is_some_and(|v| v.kind().is_number()) {
        return fail(no_number, format!("$slice's {which} argument must be a number, not {}", type_name(value)));
    }
    match value.get().and_then(|v| v.as_exact_i64()).and_then(|n| i32::try_from(n).ok()) {
        Some(n) => Ok(i64::from(n)),
        None => fail(no_integer, format!("$slice's {which} argument must be a 32-bit integer")),
    }
}

fn reverse_array<'a>(_: &Scope<'a>, array: Val<'a>) -> Result<Val<'a>> {
    if array.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(items) = array_items(&array) else {
        return fail(34435, format!("$reverseArray takes an array, not {}", type_name(&array)));
    };
    let values: Vec<Value<'_>> = items.iter().map(|e| e.value()).collect();
    Ok(array_of(values.into_iter().rev()))
}

fn is_in<'a>(scope: &Scope<'a>, needle: Val<'a>, array: Val<'a>) -> Result<Val<'a>> {
    let Some(items) = array_items(&array) else {
        return fail(40081, format!("$in's second argument must be an array, not {}", type_name(&array)));
    };
    let needle = needle.get();
    Ok(Val::from(items.iter().any(|item| scope.compare_maybe(needle, Some(item.value())).is_eq())))
}

fn index_of_array<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let [array, needle, rest @ ..] = operands else {
        return Err(super::fold::wrong_operands("$indexOfArray"));
    };
    let array = array.evaluate(scope)?;
    if array.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(items) = array_items(&array) else {
        return fail(40090, format!("$indexOfArray's first argument must be an array, not {}", type_name(&array)));
    };
    let start = bound("$indexOfArray", "starting", scope, rest.first())?.unwrap_or(0);
    let end = bound("$indexOfArray", "ending", scope, rest.get(1))?.unwrap_or(usize::MAX);
    let needle = needle.evaluate(scope)?;
    let found = items.iter().enumerate().take(end).skip(start);
    let place = found.into_iter().find(|(_, item)| scope.compare_maybe(needle.get(), Some(item.value())).is_eq());
    Ok(Val::from(place.map_or(-1, |(index, _)| index as i32)))
}

/// A constant first operand is looked at before the first document comes.
#[expect(clippy::ptr_arg, reason = "the table of operators holds functions of this type")]
fn check_index_of_array(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    if let Some(Node::Constant(Some(array))) = operands.first()
        && !matches!(array.kind(), Kind::Array | Kind::Null | Kind::Undefined)
        && !operands.iter().all(Node::is_constant)
    {
        let found = array.kind().alias();
        return fail(50809, format!("$indexOfArray's first argument must be an array, not {found}"));
    }
    Ok(None)
}

/// A start or an end of the searches `$indexOf...`.
pub(super) fn bound(name: &str, which: &str, scope: &Scope<'_>, operand: Option<&Node>) -> Result<Option<usize>> {
    let Some(operand) = operand else {
        return Ok(None);
    };
    // The operand lives as long as the tree, but this scope may not: keep the borrow local.
    let value = evaluate_locally(operand, scope)?;
    let number = value.get().and_then(|v| v.as_exact_i64()).and_then(|n| i32::try_from(n).ok());
    let Some(number) = number else {
        return fail(40096, format!("{name}'s {which} index must be a 32-bit integer, not {}", type_name(&value)));
    };
    match usize::try_from(number) {
        Ok(n) => Ok(Some(n)),
        Err(_) => fail(40097, format!("{name}'s {which} index must not be negative: {number}")),
    }
}

fn evaluate_locally<'s>(node: &'s Node, scope: &Scope<'s>) -> Result<Val<'s>> {
    node.evaluate(scope)
}

fn range<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let [start, end, rest @ ..] = operands else {
        return Err(super::fold::wrong_operands("$range"));
    };
    // Both are evaluated before the first is looked at, and the step after that.
    let (start, end) = (start.evaluate(scope)?, end.evaluate(scope)?);
    if scope.nulls_first() {
        // The other engine evaluates the step as well, and looks at all types before it looks at any value. What is
        // missing, unlike null, makes the result null.
        let step = rest.first().map(|step| step.evaluate(scope)).transpose()?;
        for (value, code, what) in [
            (Some(&start), 34443, "starting value"),
            (Some(&end), 34445, "ending value"),
            (step.as_ref(), 34447, "step"),
        ] {
            match value {
                Some(value) if value.get().is_none() => return Ok(Val::NULL),
                Some(value) => range_type(value, code, what)?,
                None => {}
            }
        }
    }
    let start = range_number(&start, 34443, 34444, "starting value")?;
    let end = range_number(&end, 34445, 34446, "ending value")?;
    let step = match rest.first() {
        None => 1,
        Some(step) => {
            let step = range_number(&step.evaluate(scope)?, 34447, 34448, "step")?;
            if step == 0 {
                return fail(34449, "$range's step must not be zero");
            }
            step
        }
    };
    let mut builder = Builder::new();
    let (mut at, mut index) = (i64::from(start), 0);
    while if step > 0 { at < i64::from(end) } else { at > i64::from(end) } {
        builder.append_index(index, Value::Int32(at as i32));
        if builder.len() > MEMORY_LIMIT {
            return fail(bindery_document::code::EXCEEDED_MEMORY_LIMIT, "$range would use too much memory");
        }
        at += i64::from(step);
        index += 1;
    }
    Ok(Val::Array(builder.finish()))
}

/// The most bytes that `$range` may give.
const MEMORY_LIMIT: usize = 100 << 20;

fn range_type(value: &Val<'_>, code: i32, what: &str) -> Result<()> {
    if value.get().is_some_and(|v| v.kind().is_number()) {
        return Ok(());
    }
    fail(code, format!("$range's {what} must be a number, not {}", type_name(value)))
}

fn range_number(value: &Val<'_>, type_code: i32, value_code: i32, what: &str) -> Result<i32> {
    range_type(value, type_code, what)?;
    match value.get().and_then(|v| v.as_exact_i64()).and_then(|n| i32::try_from(n).ok()) {
        Some(n) => Ok(n),
        None => fail(value_code, format!("$range's {what} must be a 32-bit integer")),
    }
}
