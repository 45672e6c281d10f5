//! `$zip`: arrays side by side.

use bindery_document::{Builder, Result, Value};

use super::registry::Entry;
use super::{Node, Operator, ParseContext, Scope, Val, array_items, fail, parse, type_name};

pub(super) const OPERATORS: &[Entry] = &[Entry::parsed("$zip", parse_zip)];

#[derive(Debug)]
struct Zip {
    inputs: Vec<Node>,
    defaults: Vec<Node>,
    longest: bool,
}

fn parse_zip(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(34460, "$zip takes a document");
    };
    let (mut inputs, mut defaults, mut longest) = (Vec::new(), Vec::new(), false);
    let list = |value: Value<'_>, code: i32, what: &str, ctx: &mut ParseContext| match value {
        Value::Array(items) => items.iter().map(|item| parse::parse(item.value(), ctx)).collect(),
        other => fail(code, format!("$zip's {what} must be an array, not {}", other.kind().alias())),
    };
    for element in doc {
        match (element.key, element.value()) {
            (b"inputs", value) => inputs = list(value, 34461, "inputs", ctx)?,
            (b"defaults", value) => defaults = list(value, 34462, "defaults", ctx)?,
            (b"useLongestLength", Value::Boolean(value)) => longest = value,
            (b"useLongestLength", other) => {
                let message = format!("$zip's useLongestLength must be a boolean, not {}", other.kind().alias());
                return fail(34463, message);
            }
            _ => return fail(34464, format!("$zip does not know the field '{}'", element.key_str())),
        }
    }
    if inputs.is_empty() {
        return fail(34465, "$zip needs at least one input");
    }
    if !defaults.is_empty() && !longest {
        return fail(34466, "$zip takes defaults only with useLongestLength");
    }
    if !defaults.is_empty() && defaults.len() != inputs.len() {
        return fail(34467, "$zip needs as many defaults as inputs");
    }
    Ok(Node::Operator(Box::new(Zip { inputs, defaults, longest })))
}

impl Operator for Zip {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let mut held = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let value = input.evaluate(scope)?;
            if value.is_nullish() {
                return Ok(Val::NULL);
            }
            if array_items(&value).is_none() {
                return fail(34468, format!("$zip's inputs must be arrays, not {}", type_name(&value)));
            }
            held.push(value);
        }
        let columns: Vec<Vec<Value<'_>>> =
            held.iter().filter_map(array_items).map(|items| items.iter().map(|e| e.value()).collect()).collect();
        let lengths = columns.iter().map(Vec::len);
        let length = if self.longest { lengths.max() } else { lengths.min() }.unwrap_or(0);
        // They are evaluated only if an array is shorter than another.
        let defaults: Vec<Val<'a>> = match columns.iter().all(|column| column.len() == length) {
            true => Vec::new(),
            false => self.defaults.iter().map(|default| default.evaluate(scope)).collect::<Result<_>>()?,
        };
        let mut builder = Builder::new();
        let mut digits = [0; 20];
        for row in 0..length {
            let open = builder.open_array(bindery_document::build::index_key(row, &mut digits));
            let mut place = 0;
            for (index, column) in columns.iter().enumerate() {
                // A default that is missing leaves its place out.
                let default = || defaults.get(index).map_or(Some(Value::Null), Val::get);
                if let Some(value) = column.get(row).copied().or_else(default) {
                    builder.append_index(place, value);
                    place += 1;
                }
                super::limits::check_value_bytes(builder.len())?;
            }
            builder.close(open);
        }
        Ok(Val::Array(builder.finish()))
    }

    fn operands(&self) -> Vec<&Node> {
        self.inputs.iter().chain(&self.defaults).collect()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        self.inputs.iter_mut().chain(&mut self.defaults).collect()
    }
}
