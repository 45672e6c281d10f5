//! Constant folding: what does not depend on a document is evaluated once.
//!
//! This is not only for speed. MongoDB does it, so a constant part that fails does so before the first
//! document is seen, and gathering the constants of a sum changes the order of its additions.

use bindery_document::{Error, Result, code};

use super::registry::{Entry, Folding, Function};
use super::{Node, Scope};

/// Evaluates constant parts in this scope, which tells the order of strings.
pub(crate) fn fold(expression: &mut Node, scope: &Scope<'_>) -> Result<()> {
    match expression {
        Node::Constant(_) | Node::Path(_) => return Ok(()),
        Node::Object(fields) => {
            for (_, value) in fields.iter_mut() {
                fold(value, scope)?;
            }
            if !fields.iter().all(|(_, value)| value.is_constant()) {
                return Ok(());
            }
        }
        Node::Array(items) => {
            for item in items.iter_mut() {
                fold(item, scope)?;
            }
            if !items.iter().all(Node::is_constant) {
                return Ok(());
            }
        }
        Node::Call { entry, operands } => {
            for operand in operands.iter_mut() {
                fold(operand, scope)?;
            }
            match entry.folding {
                Folding::Associative | Folding::Commutative => flatten(entry, operands, 0),
                Folding::CommutativeSeveral if operands.len() > 1 => flatten(entry, operands, 2),
                _ => {}
            }
            let all_constant = operands.iter().all(Node::is_constant);
            if let (Function::Variadic(function), false) = (&entry.function, all_constant) {
                let evaluate = |run: &[Node]| Ok(Node::Constant(function(scope, run)?.to_owned_value()));
                match entry.folding {
                    Folding::Associative => fold_neighbours(operands, evaluate)?,
                    Folding::Commutative | Folding::CommutativeSeveral => gather_constants(operands, evaluate)?,
                    Folding::Whole | Folding::Never | Folding::Opaque => {}
                }
            }
            if let Some(simplify) = entry.simplify {
                let mut list = std::mem::take(operands).into_vec();
                let simpler = simplify(&mut list)?;
                *operands = list.into_boxed_slice();
                if let Some(simpler) = simpler {
                    *expression = simpler;
                    return Ok(());
                }
            }
            if entry.folding == Folding::Never || !all_constant {
                return Ok(());
            }
        }
        Node::Named { entry, .. } if entry.folding == Folding::Opaque => return Ok(()),
        Node::Named { entry, operands, .. } => {
            for operand in operands.iter_mut().flatten() {
                fold(operand, scope)?;
            }
            if entry.folding == Folding::Never || !operands.iter().flatten().all(Node::is_constant) {
                return Ok(());
            }
        }
        Node::Operator(operator) => {
            for operand in operator.operands_mut() {
                fold(operand, scope)?;
            }
            if let Some(simpler) = operator.simplify(scope)? {
                *expression = simpler;
            }
            return Ok(());
        }
    }
    let value = expression.evaluate(scope)?.to_owned_value();
    *expression = Node::Constant(value);
    Ok(())
}

/// Takes the operands of an operator inside one of its own kind into the outer one, if there are at least so many.
fn flatten(entry: &'static Entry, operands: &mut Box<[Node]>, least: usize) {
    let is_nested = |operand: &Node| matches!(operand, Node::Call { entry: inner, operands } if std::ptr::eq(*inner, entry) && operands.len() >= least);
    if !operands.iter().any(is_nested) {
        return;
    }
    let mut flat = Vec::new();
    for operand in std::mem::take(operands) {
        match operand {
            Node::Call { entry: inner, operands } if std::ptr::eq(inner, entry) && operands.len() >= least => {
                flat.extend(operands);
            }
            other => flat.push(other),
        }
    }
    *operands = flat.into_boxed_slice();
}

/// Evaluates runs of two and more constant neighbours.
fn fold_neighbours(operands: &mut Box<[Node]>, evaluate: impl Fn(&[Node]) -> Result<Node>) -> Result<()> {
    let mut folded = Vec::with_capacity(operands.len());
    let mut run = Vec::new();
    let close = |run: &mut Vec<Node>, folded: &mut Vec<Node>| -> Result<()> {
        if run.len() > 1 {
            folded.push(evaluate(run)?);
            run.clear();
        }
        folded.append(run);
        Ok(())
    };
    for operand in std::mem::take(operands) {
        if operand.is_constant() {
            run.push(operand);
        } else {
            close(&mut run, &mut folded)?;
            folded.push(operand);
        }
    }
    close(&mut run, &mut folded)?;
    *operands = folded.into_boxed_slice();
    Ok(())
}

/// Moves all constants to the end, as one if there are several.
fn gather_constants(operands: &mut Box<[Node]>, evaluate: impl Fn(&[Node]) -> Result<Node>) -> Result<()> {
    let (constants, mut others): (Vec<_>, Vec<_>) =
        std::mem::take(operands).into_vec().into_iter().partition(Node::is_constant);
    match constants.len() {
        0 => {}
        1 => others.extend(constants),
        _ => others.push(evaluate(&constants)?),
    }
    *operands = others.into_boxed_slice();
    Ok(())
}

/// The error of an operator that was built with the wrong number of operands; parsing rules it out.
pub(crate) fn wrong_operands(name: &str) -> Error {
    Error::new(code::INTERNAL_ERROR, format!("{name} was compiled with a wrong number of operands"))
}
