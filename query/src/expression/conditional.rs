//! `$cond`, `$ifNull`, `$switch`: only what is needed is evaluated.

use bindery_document::{Kind, Result, Value};

use super::fold::fold;
use super::registry::{Arity, Entry, Field, Folding, Function, Named};
use super::{Node, Operator, ParseContext, Scope, Val, fail, parse};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::parsed("$cond", parse_cond),
    Entry::variadic("$ifNull", Arity::AtLeast(2, 1_257_300), if_null).simplify(simplify_if_null),
    Entry::parsed("$switch", parse_switch),
];

static COND: Entry = Entry::variadic("$cond", Arity::Exactly(3), cond).simplify(simplify_cond);

static COND_FIELDS: Named = Named {
    fields: &[Field::required("if", 17080), Field::required("then", 17081), Field::required("else", 17082)],
    not_object: 17083,
    unknown: 17083,
    function: |_, _| Ok(Val::NULL),
};

static COND_NAMED: Entry = Entry {
    name: "$cond",
    arity: Arity::Exactly(3),
    function: Function::Named(&COND_FIELDS),
    folding: Folding::Never,
    simplify: None,
};

/// Both forms become the one with places.
fn parse_cond(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let operands = if let Value::Document(_) = argument {
        match parse::parse_named(&COND_NAMED, &COND_FIELDS, argument, ctx)? {
            Node::Named { operands, .. } => operands.into_iter().flatten().collect(),
            other => return Ok(other),
        }
    } else {
        parse::parse_operands(argument, ctx)?
    };
    parse::check_arity(&COND, operands.len())?;
    Ok(Node::Call { entry: &COND, operands })
}

fn cond<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let [condition, yes, no] = operands else {
        return Err(super::fold::wrong_operands("$cond"));
    };
    if condition.evaluate(scope)?.is_truthy() { yes.evaluate(scope) } else { no.evaluate(scope) }
}

/// A constant condition decides.
fn simplify_cond(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    let [Node::Constant(condition), _, _] = operands.as_slice() else {
        return Ok(None);
    };
    let holds = condition.as_ref().is_some_and(|value| value.value().is_truthy());
    Ok(Some(operands.swap_remove(if holds { 1 } else { 2 })))
}

/// The first operand that is not null, else the last one as it is (so it can be missing).
fn if_null<'a>(scope: &Scope<'a>, operands: &'a [Node]) -> Result<Val<'a>> {
    let mut value = Val::Missing;
    for operand in operands {
        value = operand.evaluate(scope)?;
        if !value.is_nullish() {
            break;
        }
    }
    Ok(value)
}

/// Constant nulls are passed over, and behind another constant nothing counts.
fn simplify_if_null(operands: &mut Vec<Node>) -> Result<Option<Node>> {
    let last = operands.pop();
    let is_null = |node: &Node| match node {
        Node::Constant(None) => true,
        Node::Constant(Some(value)) => matches!(value.kind(), Kind::Null | Kind::Undefined),
        _ => false,
    };
    operands.retain(|operand| !is_null(operand));
    operands.extend(last);
    if let Some(at) = operands.iter().position(|operand| operand.is_constant() && !is_null(operand)) {
        operands.truncate(at + 1);
    }
    Ok(if operands.len() == 1 { operands.pop() } else { None })
}

/// `$switch`: the first branch whose case is true.
#[derive(Debug)]
struct Switch {
    branches: Vec<(Node, Node)>,
    default: Option<Node>,
}

fn parse_switch(argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(40060, "$switch takes a document");
    };
    let mut branches = Vec::new();
    let mut default = None;
    for element in doc {
        match (element.key, element.value()) {
            (b"branches", Value::Array(items)) => {
                for item in items {
                    branches.push(parse_branch(item.value(), ctx)?);
                }
            }
            (b"branches", other) => {
                return fail(40061, format!("$switch's branches must be an array, not {}", other.kind().alias()));
            }
            (b"default", value) => default = Some(parse::parse(value, ctx)?),
            _ => return fail(40067, format!("$switch does not know the field '{}'", element.key_str())),
        }
    }
    if branches.is_empty() {
        return fail(40068, "$switch needs at least one branch");
    }
    Ok(Node::Operator(Box::new(Switch { branches, default })))
}

fn parse_branch(branch: Value<'_>, ctx: &mut ParseContext) -> Result<(Node, Node)> {
    let Value::Document(doc) = branch else {
        return fail(40062, "a branch of $switch must be a document");
    };
    let (mut case, mut then) = (None, None);
    for element in doc {
        match element.key {
            b"case" => case = Some(parse::parse(element.value(), ctx)?),
            b"then" => then = Some(parse::parse(element.value(), ctx)?),
            _ => return fail(40063, format!("a branch of $switch does not know '{}'", element.key_str())),
        }
    }
    match (case, then) {
        (None, _) => fail(40064, "a branch of $switch needs a 'case'"),
        (_, None) => fail(40065, "a branch of $switch needs a 'then'"),
        (Some(case), Some(then)) => Ok((case, then)),
    }
}

impl Operator for Switch {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        for (case, then) in &self.branches {
            if case.evaluate(scope)?.is_truthy() {
                return then.evaluate(scope);
            }
        }
        match &self.default {
            Some(default) => default.evaluate(scope),
            None => fail(40066, "no branch of $switch matches, and there is no default"),
        }
    }

    fn operands(&self) -> Vec<&Node> {
        self.branches.iter().flat_map(|(case, then)| [case, then]).chain(&self.default).collect()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        // They are folded in an order of their own below.
        Vec::new()
    }

    fn simplify(&mut self, scope: &Scope<'_>) -> Result<Option<Node>> {
        if let Some(default) = &mut self.default {
            fold(default, scope)?;
        }
        let mut live = Vec::new();
        for (mut case, mut then) in std::mem::take(&mut self.branches) {
            fold(&mut case, scope)?;
            // Behind a case that is never true nothing is folded, so that its errors never show.
            if is_constantly(&case, false) {
                continue;
            }
            fold(&mut then, scope)?;
            if is_constantly(&case, true) {
                // Nor are the branches behind one that is always true.
                self.default = Some(then);
                break;
            }
            live.push((case, then));
        }
        self.branches = live;
        if !self.branches.is_empty() {
            return Ok(None);
        }
        match self.default.take() {
            Some(default) => Ok(Some(default)),
            None => fail(40069, "all cases of $switch are false, and there is no default"),
        }
    }
}

fn is_constantly(node: &Node, truth: bool) -> bool {
    matches!(node, Node::Constant(value) if value.as_ref().is_some_and(|v| v.value().is_truthy()) == truth)
}
