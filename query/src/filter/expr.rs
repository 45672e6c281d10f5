//! `$expr`: the expression language as a condition.

use std::fmt;
use std::sync::Arc;

use bindery_document::{Doc, Kind, OwnedValue, Result, Value};

use super::evaluate::Context;
use super::{Filter, ParseContext};
use crate::collation::Collation;
use crate::expression::{Condition, Expression, Scope, StringOrder};

/// An expression that must hold for the document: give anything but false, zero, null or nothing.
#[derive(Clone)]
pub struct ExprTest {
    /// The compiled expression.
    pub expression: Arc<Expression>,
    /// The expression as it was written.
    pub source: OwnedValue,
    /// How strings compare; `None` for byte order.
    pub collation: Option<Collation>,
    strings: Option<Arc<StringOrder>>,
    /// Whether MongoDB's other engine knows all of it.
    pub(crate) is_ported: bool,
}

impl PartialEq for ExprTest {
    fn eq(&self, other: &ExprTest) -> bool {
        // Variables are constants by now, so the same text may be two expressions.
        Arc::ptr_eq(&self.expression, &other.expression)
            || (&self.source, &self.collation) == (&other.source, &other.collation)
                && format!("{:?}", self.expression) == format!("{:?}", other.expression)
    }
}

impl fmt::Debug for ExprTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExprTest").field(&self.source).finish()
    }
}

impl ExprTest {
    /// Whether the document passes; a failure is noted and counts as not.
    pub(super) fn accepts(&self, doc: Doc<'_>, context: &mut Context<'_>) -> bool {
        let scope = Scope::new(doc).with_parameters(context.parameters()).with_strings(self.strings.as_deref());
        let result = self.expression.evaluate(&scope).map(|value| value.get().is_some_and(|value| value.is_truthy()));
        result.unwrap_or_else(|error| context.fail(error))
    }
}

impl ExprTest {
    /// Whether it says something of a single field that a plain comparison with a constant can say too.
    pub(crate) fn implies_comparisons(&self) -> bool {
        fn implies(condition: &Condition<'_>) -> bool {
            match condition {
                Condition::And(parts) => parts.iter().any(implies),
                Condition::Or(parts) => !parts.is_empty() && parts.iter().all(implies),
                Condition::Compare(_, _, operand) => !matches!(operand.kind(), Kind::Array | Kind::Undefined),
                Condition::Other => false,
            }
        }
        implies(&self.expression.as_condition(&[]))
    }

    /// What the expression gives for a document; `None` for nothing.
    ///
    /// # Errors
    /// What it fails with.
    pub(super) fn result(&self, doc: Doc<'_>) -> Result<Option<OwnedValue>> {
        let scope = Scope::new(doc).with_strings(self.strings.as_deref());
        Ok(self.expression.evaluate(&scope)?.get().map(|value| OwnedValue::new(value)))
    }
}

/// Parses the expression.
///
/// # Errors
/// Those of the expression language, for constant parts that cannot be evaluated, too.
pub(super) fn parse(operand: Value<'_>, context: &ParseContext) -> Result<Filter> {
    let mut expressions = context.expressions.clone();
    expressions.watch_ported();
    let expression = Expression::parse(operand, &mut expressions)?;
    let is_ported = expressions.is_ported();
    let collation = context.collation.clone();
    let strings = collation.as_ref().map(Collation::string_order);
    Ok(Filter::Expr(ExprTest {
        expression: Arc::new(expression),
        is_ported,
        source: OwnedValue::new(operand),
        collation,
        strings,
    }))
}
