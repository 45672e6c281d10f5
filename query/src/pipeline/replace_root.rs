//! `$replaceRoot` and `$replaceWith`.

use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Error, Result, Value};

use super::{Environment, Stream};
use crate::expression::limits::check_given_nesting;
use crate::expression::{Expression, Scope};
use crate::filter::ParseContext;

/// The stage.
#[derive(Debug)]
pub struct ReplaceRoot {
    /// What gives the new document.
    pub root: Expression,
    /// Whether the documents made may be nested too deeply.
    must_check_nesting: bool,
}

/// Parses `$replaceRoot`.
///
/// # Errors
/// 40229 for what is no document, 40414 without `newRoot`, 40415 for other fields; those of expressions.
pub(super) fn parse_replace_root(argument: Value<'_>, context: &mut ParseContext) -> Result<ReplaceRoot> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(40229, "$replaceRoot takes a document"));
    };
    if let Some(other) = spec.iter().find(|field| field.key != b"newRoot") {
        return Err(Error::new(40415, format!("$replaceRoot does not know the field '{}'", other.key_str())));
    }
    match spec.get("newRoot") {
        Some(root) => parse_replace_with(root, context),
        None => Err(Error::new(40414, "$replaceRoot needs 'newRoot'")),
    }
}

/// Parses `$replaceWith`.
///
/// # Errors
/// Those of expressions.
pub(super) fn parse_replace_with(argument: Value<'_>, context: &mut ParseContext) -> Result<ReplaceRoot> {
    let must_check_nesting = argument.as_document().is_some_and(|spec| context.expressions.must_check_nesting(spec));
    Ok(ReplaceRoot { must_check_nesting, root: Expression::parse_unfolded(argument, &mut context.expressions)? })
}

struct ReplaceRootStream {
    stage: Arc<ReplaceRoot>,
    input: Box<dyn Stream>,
    env: Environment,
    current: DocBuf,
}

impl ReplaceRoot {
    /// The document that takes the place of the scope's root.
    ///
    /// # Errors
    /// 40228 for what is no document; those of the expression.
    pub(crate) fn new_root(&self, scope: &Scope<'_>) -> Result<DocBuf> {
        let root = self.root.evaluate(scope)?;
        match root.get() {
            Some(Value::Document(document)) => {
                if self.must_check_nesting {
                    check_given_nesting(document)?;
                }
                super::check_size(document.as_bytes().len())?;
                Ok(DocBuf::from(document))
            }
            other => {
                let found = other.map_or("missing", |value| value.kind().alias());
                Err(Error::new(40228, format!("the new root must be a document, but it is {found}")))
            }
        }
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(ReplaceRootStream { stage: self, input, env: env.clone(), current: DocBuf::new() })
    }
}

impl Stream for ReplaceRootStream {
    fn advance(&mut self) -> Result<bool> {
        if !self.input.advance()? {
            return Ok(false);
        }
        self.current = self.stage.new_root(&self.env.scope(self.input.current()))?;
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }
}
