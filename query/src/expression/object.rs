//! Documents: merging, to and from arrays, single fields by name.

use bindery_document::{Builder, Result, Value};

use super::registry::{Arity, Entry};
use super::{Node, Operator, ParseContext, Scope, Val, array_items, fail, parse, type_name};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::variadic("$mergeObjects", Arity::Any, merge_objects),
    Entry::unary("$objectToArray", object_to_array),
    Entry::unary("$arrayToObject", array_to_object),
    Entry::parsed("$getField", parse_get_field),
    Entry::parsed("$setField", parse_set_field),
    Entry::parsed("$unsetField", parse_unset_field),
];

/// A document under construction in which a field keeps its first place and its last value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    fields: Vec<(Box<[u8]>, bindery_document::OwnedValue)>,
}

impl Merged {
    /// Sets a field.
    pub(crate) fn set(&mut self, key: &[u8], value: Value<'_>) {
        let value = bindery_document::OwnedValue::new(value);
        match self.fields.iter_mut().find(|(held, _)| &**held == key) {
            Some((_, held)) => *held = value,
            None => self.fields.push((key.into(), value)),
        }
    }

    /// The document.
    pub(crate) fn build(&self) -> Val<'static> {
        let mut builder = Builder::new();
        for (key, value) in &self.fields {
            builder.append(key, value.value());
        }
        Val::Document(builder.finish())
    }
}

/// Later fields win; nulls are passed over. A single operand that is an array stands for its elements.
fn merge_objects<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut merged = Merged::default();
    if let [single] = operands {
        let value = single.evaluate(scope)?;
        match array_items(&value) {
            Some(items) => items.iter().try_for_each(|item| merge(&mut merged, Some(item.value())))?,
            None => merge(&mut merged, value.get())?,
        }
    } else {
        for operand in operands {
            merge(&mut merged, operand.evaluate(scope)?.get())?;
        }
    }
    Ok(merged.build())
}

/// Takes a document into another; shared with the accumulator of the same name.
pub(crate) fn merge(merged: &mut Merged, value: Option<Value<'_>>) -> Result<()> {
    match value {
        None | Some(Value::Null | Value::Undefined) => {}
        Some(Value::Document(doc)) => doc.iter().for_each(|element| merged.set(element.key, element.value())),
        Some(other) => return fail(40400, format!("$mergeObjects takes documents, not {}", other.kind().alias())),
    }
    Ok(())
}

fn object_to_array<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    if value.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(Value::Document(doc)) = value.get() else {
        return fail(40390, format!("$objectToArray takes a document, not {}", type_name(&value)));
    };
    let mut builder = Builder::new();
    let mut digits = [0; 20];
    for (index, element) in doc.iter().enumerate() {
        let open = builder.open_document(bindery_document::build::index_key(index, &mut digits));
        builder.append("k", element.key_str());
        builder.append("v", element.value());
        builder.close(open);
    }
    Ok(Val::Array(builder.finish()))
}

/// From pairs `[k, v]` or documents `{k, v}`, all of one kind.
fn array_to_object<'a>(_: &Scope<'a>, value: Val<'a>) -> Result<Val<'a>> {
    if value.is_nullish() {
        return Ok(Val::NULL);
    }
    let Some(items) = array_items(&value) else {
        return fail(40386, format!("$arrayToObject takes an array, not {}", type_name(&value)));
    };
    let mut merged = Merged::default();
    let mut of_pairs = None;
    for item in items {
        let item = item.value();
        let is_pair = match (item, of_pairs) {
            (Value::Array(_), None | Some(true)) => true,
            (Value::Document(_), None | Some(false)) => false,
            (_, Some(true)) => return fail(40396, "$arrayToObject: elements must all be arrays"),
            (_, Some(false)) => return fail(40391, "$arrayToObject: elements must all be documents"),
            (_, None) => {
                let message = format!("$arrayToObject does not take elements of type {}", item.kind().alias());
                return fail(40398, message);
            }
        };
        of_pairs = Some(is_pair);
        if is_pair { add_pair(&mut merged, item)? } else { add_key_value(&mut merged, item)? }
    }
    Ok(merged.build())
}

fn add_pair(merged: &mut Merged, item: Value<'_>) -> Result<()> {
    let values: Vec<Value<'_>> = item.as_array().into_iter().flatten().map(|e| e.value()).collect();
    let [key, value] = values[..] else {
        return fail(40397, format!("$arrayToObject takes arrays of 2 elements, not of {}", values.len()));
    };
    let Value::String(key) = key else {
        return fail(40395, format!("$arrayToObject: a key must be a string, not {}", key.kind().alias()));
    };
    if key.as_bytes().contains(&0) {
        return fail(4_940_400, "$arrayToObject: a key holds a zero byte");
    }
    merged.set(key.as_bytes(), value);
    Ok(())
}

fn add_key_value(merged: &mut Merged, item: Value<'_>) -> Result<()> {
    let Some(doc) = item.as_document() else {
        return Ok(());
    };
    if doc.count() != 2 {
        return fail(
            40392,
            format!("$arrayToObject takes documents with 'k' and 'v', not with {} fields", doc.count()),
        );
    }
    let (Some(key), Some(value)) = (doc.get("k"), doc.get("v")) else {
        return fail(40393, "$arrayToObject takes documents with 'k' and 'v'");
    };
    let Value::String(key) = key else {
        return fail(40394, format!("$arrayToObject: a key must be a string, not {}", key.kind().alias()));
    };
    if key.as_bytes().contains(&0) {
        return fail(4_940_401, "$arrayToObject: a key holds a zero byte");
    }
    merged.set(key.as_bytes(), value);
    Ok(())
}

/// `$getField`: a field whose name may hold dots and dollars.
#[derive(Debug)]
struct GetField {
    name: Box<str>,
    input: Node,
}

fn parse_get_field(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let codes = NameCodes { is_path: 5_654_600, no_constant: 5_654_601, no_string: 5_654_602 };
    let long_form = match argument {
        Value::Document(doc) => doc.first().is_none_or(|first| first.key.first() != Some(&b'$')).then_some(doc),
        _ => None,
    };
    let (field, input) = match long_form {
        None => (Some(argument), Some(ctx.resolve("CURRENT", Box::default())?)),
        Some(doc) => {
            let (mut field, mut input) = (None, None);
            for element in doc {
                match element.key {
                    b"field" => field = Some(element.value()),
                    b"input" => input = Some(parse::parse(element.value(), ctx)?),
                    _ => {
                        let message = format!("$getField does not know the field '{}'", element.key_str());
                        return fail(3_041_701, message);
                    }
                }
            }
            (field, input)
        }
    };
    let Some(field) = field else {
        return fail(3_041_702, "$getField needs 'field'");
    };
    let Some(input) = input else {
        return fail(3_041_703, "$getField needs 'input'");
    };
    let name = constant_name("$getField", field, ctx, codes)?;
    Ok(Node::Operator(Box::new(GetField { name, input })))
}

struct NameCodes {
    is_path: i32,
    no_constant: i32,
    no_string: i32,
}

/// The name of a field, which must be spelled out, not computed.
fn constant_name(operator: &str, field: Value<'_>, ctx: &mut ParseContext, codes: NameCodes) -> Result<Box<str>> {
    match parse::parse(field, ctx)? {
        Node::Constant(Some(value)) => match value.value() {
            Value::String(text) => Ok(text.as_str().into()),
            other => {
                let message = format!("{operator}'s field must be a string, not {}", other.kind().alias());
                fail(codes.no_string, message)
            }
        },
        Node::Path(_) => fail(codes.is_path, format!("{operator}'s field must not be a path; use $literal for a name")),
        _ => fail(codes.no_constant, format!("{operator}'s field must be a constant")),
    }
}

impl Operator for GetField {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        Ok(match input.get() {
            Some(Value::Document(_)) => input.select(|value| value.as_document()?.get(&self.name)),
            Some(Value::Null | Value::Undefined) => Val::NULL,
            _ => Val::Missing,
        })
    }

    fn operands(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        // MongoDB folds nothing below this operator.
        Vec::new()
    }
}

/// `$setField`, and `$unsetField` as setting to the missing value.
#[derive(Debug)]
struct SetField {
    name: Box<str>,
    input: Node,
    value: Node,
}

fn parse_set_field(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    parse_changed_field("$setField", true, argument, ctx)
}

fn parse_unset_field(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    parse_changed_field("$unsetField", false, argument, ctx)
}

fn parse_changed_field(
    operator: &'static str,
    with_value: bool,
    argument: Value<'_>,
    ctx: &mut ParseContext,
) -> Result<Node> {
    let codes = NameCodes { is_path: 4_161_108, no_constant: 4_161_106, no_string: 4_161_107 };
    let Value::Document(doc) = argument else {
        return fail(4_161_100, format!("{operator} takes a document"));
    };
    let (mut field, mut input, mut value) = (None, None, None);
    for element in doc {
        match element.key {
            b"field" => field = Some(element.value()),
            b"input" => input = Some(parse::parse(element.value(), ctx)?),
            b"value" if with_value => value = Some(parse::parse(element.value(), ctx)?),
            _ => return fail(4_161_101, format!("{operator} does not know the field '{}'", element.key_str())),
        }
    }
    let Some(field) = field else {
        return fail(4_161_102, format!("{operator} needs 'field'"));
    };
    if with_value && value.is_none() {
        return fail(4_161_103, format!("{operator} needs 'value'"));
    }
    let Some(input) = input else {
        return fail(4_161_109, format!("{operator} needs 'input'"));
    };
    let name = constant_name(operator, field, ctx, codes)?;
    Ok(Node::Operator(Box::new(SetField { name, input, value: value.unwrap_or(Node::Constant(None)) })))
}

impl Operator for SetField {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        if input.is_nullish() {
            return Ok(Val::NULL);
        }
        let Some(Value::Document(doc)) = input.get() else {
            return fail(4_161_105, format!("$setField's input must be a document, not {}", type_name(&input)));
        };
        let value = self.value.evaluate(scope)?;
        let mut builder = Builder::new();
        let mut found = false;
        for element in doc {
            if element.key == self.name.as_bytes() {
                found = true;
                if let Some(value) = value.get() {
                    builder.append(element.key, value);
                }
            } else {
                builder.append_element(element);
            }
        }
        if let (false, Some(value)) = (found, value.get()) {
            if self.name.contains('\0') {
                return fail(4_161_107, "$setField's field holds a zero byte");
            }
            builder.append(self.name.as_bytes(), value);
        }
        Ok(Val::Document(builder.finish()))
    }

    fn operands(&self) -> Vec<&Node> {
        vec![&self.input, &self.value]
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        // MongoDB folds nothing below this operator.
        Vec::new()
    }
}
