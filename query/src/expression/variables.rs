//! `$let`: variables for one expression.

use bindery_document::{Result, Value};

use super::field_path::check_variable_name;
use super::registry::Entry;
use super::{Node, Operator, ParseContext, Scope, Val, fail, parse};

pub(super) const OPERATORS: &[Entry] = &[Entry::parsed("$let", parse_let)];

#[derive(Debug)]
struct Let {
    values: Vec<Node>,
    body: Node,
}

/// The variables' values do not see each other.
fn parse_let(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(16874, "$let takes a document");
    };
    let (mut vars, mut body) = (None, None);
    for element in doc {
        match element.key {
            b"vars" => vars = Some(element.value()),
            b"in" => body = Some(element.value()),
            _ => return fail(16875, format!("$let does not know the field '{}'", element.key_str())),
        }
    }
    let Some(vars) = vars else {
        return fail(16876, "$let needs 'vars'");
    };
    let Some(body) = body else {
        return fail(16877, "$let needs 'in'");
    };
    // An array is a document whose names are numbers.
    let (Value::Document(vars) | Value::Array(vars)) = vars else {
        return fail(10065, "$let's 'vars' must be a document");
    };
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for element in vars {
        check_variable_name(element.key_str())?;
        names.push(element.key_str().to_owned());
        values.push(parse::parse(element.value(), ctx)?);
    }
    let body = ctx.with_variables(names, |ctx| parse::parse(body, ctx))?;
    Ok(Node::Operator(Box::new(Let { values, body })))
}

impl Operator for Let {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let held: Vec<Val<'a>> = self.values.iter().map(|value| value.evaluate(scope)).collect::<Result<_>>()?;
        let values: Vec<Option<Value<'_>>> = held.iter().map(Val::get).collect();
        let frame = scope.bind(&values);
        // What the body gives may be borrowed from a variable, and those end here.
        Ok(self.body.evaluate(&scope.inside(&frame))?.detach())
    }

    fn operands(&self) -> Vec<&Node> {
        self.values.iter().chain([&self.body]).collect()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        self.values.iter_mut().chain([&mut self.body]).collect()
    }
}
