//! `$map`, `$filter`, `$reduce`: one expression over each element of an array.

use bindery_document::{Builder, Result, Value};

use super::field_path::check_variable_name;
use super::registry::Entry;
use super::{Node, Operator, ParseContext, Scope, Val, array_items, fail, limits, parse, type_name};

pub(super) const OPERATORS: &[Entry] =
    &[Entry::parsed("$map", parse_map), Entry::parsed("$filter", parse_filter), Entry::parsed("$reduce", parse_reduce)];

#[derive(Debug)]
struct Map {
    input: Node,
    each: Node,
}

fn parse_map(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(16878, "$map takes a document");
    };
    let (mut input, mut name, mut each) = (None, None, None);
    for element in doc {
        match element.key {
            b"input" => input = Some(parse::parse(element.value(), ctx)?),
            b"as" => name = Some(element.value()),
            b"in" => each = Some(element.value()),
            _ => return fail(16879, format!("$map does not know the field '{}'", element.key_str())),
        }
    }
    let Some(input) = input else {
        return fail(16880, "$map needs 'input'");
    };
    let name = variable_name(name)?;
    let Some(each) = each else {
        return fail(16882, "$map needs 'in'");
    };
    let each = ctx.with_variables(vec![name], |ctx| parse::parse(each, ctx))?;
    Ok(Node::Operator(Box::new(Map { input, each })))
}

/// The name under `as`, or `this`.
fn variable_name(name: Option<Value<'_>>) -> Result<String> {
    let Some(name) = name else {
        return Ok("this".to_owned());
    };
    // What is no string reads as an empty name, which is refused.
    let name = name.as_str().unwrap_or_default();
    check_variable_name(name)?;
    Ok(name.to_owned())
}

impl Operator for Map {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        if input.is_nullish() {
            return Ok(Val::NULL);
        }
        let Some(items) = array_items(&input) else {
            return fail(16883, format!("$map's input must be an array, not {}", type_name(&input)));
        };
        let mut builder = Builder::new();
        let mut digits = [0; 20];
        for (index, item) in items.iter().enumerate() {
            let values = [Some(item.value())];
            let frame = scope.bind(&values);
            let key = bindery_document::build::index_key(index, &mut digits);
            if !self.each.append_to(key, &scope.inside(&frame), &mut builder)? {
                builder.append(key, Value::Null);
            }
            limits::check_value_bytes(builder.len())?;
        }
        Ok(Val::Array(builder.finish()))
    }

    fn operands(&self) -> Vec<&Node> {
        vec![&self.input, &self.each]
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input, &mut self.each]
    }
}

#[derive(Debug)]
struct Filter {
    input: Node,
    condition: Node,
    limit: Option<Node>,
}

fn parse_filter(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(28646, "$filter takes a document");
    };
    let (mut input, mut name, mut condition, mut limit) = (None, None, None, None);
    for element in doc {
        match element.key {
            b"input" => input = Some(parse::parse(element.value(), ctx)?),
            b"as" => name = Some(element.value()),
            b"cond" => condition = Some(element.value()),
            b"limit" => limit = Some(parse::parse(element.value(), ctx)?),
            _ => return fail(28647, format!("$filter does not know the field '{}'", element.key_str())),
        }
    }
    let Some(input) = input else {
        return fail(28648, "$filter needs 'input'");
    };
    let name = variable_name(name)?;
    let Some(condition) = condition else {
        return fail(28650, "$filter needs 'cond'");
    };
    let condition = ctx.with_variables(vec![name], |ctx| parse::parse(condition, ctx))?;
    Ok(Node::Operator(Box::new(Filter { input, condition, limit })))
}

impl Operator for Filter {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        if input.is_nullish() {
            return Ok(Val::NULL);
        }
        let Some(items) = array_items(&input) else {
            return fail(28651, format!("$filter's input must be an array, not {}", type_name(&input)));
        };
        let mut remaining = usize::MAX;
        if let Some(limit) = &self.limit {
            let limit = limit.evaluate(scope)?;
            if !limit.is_nullish() {
                let n = limit.get().and_then(|v| v.as_exact_i64()).and_then(|n| i32::try_from(n).ok());
                let Some(n) = n else {
                    return fail(327_391, "$filter's limit must be a 32-bit integer");
                };
                remaining = usize::try_from(n).unwrap_or(0);
                if remaining == 0 {
                    return fail(327_392, format!("$filter's limit must be positive, not {n}"));
                }
            }
        }
        let mut builder = Builder::new();
        let mut kept = 0;
        for item in items {
            if kept >= remaining {
                break;
            }
            let values = [Some(item.value())];
            let frame = scope.bind(&values);
            if self.condition.evaluate(&scope.inside(&frame))?.is_truthy() {
                builder.append_index(kept, item.value());
                kept += 1;
            }
        }
        Ok(Val::Array(builder.finish()))
    }

    fn operands(&self) -> Vec<&Node> {
        [&self.input, &self.condition].into_iter().chain(&self.limit).collect()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        [&mut self.input, &mut self.condition].into_iter().chain(&mut self.limit).collect()
    }
}

/// Each step of `$reduce` may add as many levels as an expression can be deep; few steps stay harmless.
const NESTING_CHECKED_EVERY: usize = 8;

#[derive(Debug)]
struct Reduce {
    input: Node,
    initial: Node,
    combine: Node,
}

fn parse_reduce(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(40075, "$reduce takes a document");
    };
    let (mut input, mut initial, mut combine) = (None, None, None);
    for element in doc {
        match element.key {
            b"input" => input = Some(parse::parse(element.value(), ctx)?),
            b"initialValue" => initial = Some(parse::parse(element.value(), ctx)?),
            b"in" => {
                let names = vec!["this".to_owned(), "value".to_owned()];
                combine = Some(ctx.with_variables(names, |ctx| parse::parse(element.value(), ctx))?);
            }
            _ => return fail(40076, format!("$reduce does not know the field '{}'", element.key_str())),
        }
    }
    let Some(input) = input else {
        return fail(40077, "$reduce needs 'input'");
    };
    let Some(initial) = initial else {
        return fail(40078, "$reduce needs 'initialValue'");
    };
    let Some(combine) = combine else {
        return fail(40079, "$reduce needs 'in'");
    };
    Ok(Node::Operator(Box::new(Reduce { input, initial, combine })))
}

impl Operator for Reduce {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        if input.is_nullish() {
            return Ok(Val::NULL);
        }
        let Some(items) = array_items(&input) else {
            return fail(40080, format!("$reduce's input must be an array, not {}", type_name(&input)));
        };
        let mut value = self.initial.evaluate(scope)?;
        for (number, item) in items.iter().enumerate() {
            let values = [Some(item.value()), value.get()];
            let frame = scope.bind(&values);
            value = self.combine.evaluate(&scope.inside(&frame))?.detach();
            if number % NESTING_CHECKED_EVERY == NESTING_CHECKED_EVERY - 1 {
                limits::check_nesting(&value)?;
            }
        }
        Ok(value)
    }

    fn operands(&self) -> Vec<&Node> {
        vec![&self.input, &self.initial, &self.combine]
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input, &mut self.initial, &mut self.combine]
    }
}
