//! `$documents`: documents that the pipeline spells out.

use std::sync::Arc;

use bindery_document::{DocBuf, Error, Result, Value, doc};

use super::{Environment, Stream};
use crate::expression::Expression;
use crate::filter::ParseContext;

/// The stage.
#[derive(Debug)]
pub struct SpelledOut {
    /// What gives the array of documents.
    pub documents: Expression,
}

/// Parses the expression.
///
/// # Errors
/// Those of expressions.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<SpelledOut> {
    Ok(SpelledOut { documents: Expression::parse_unfolded(argument, &mut context.expressions)? })
}

impl SpelledOut {
    pub(super) fn open(self: Arc<Self>, env: &Environment) -> Result<Box<dyn Stream>> {
        let value = self.documents.evaluate(&env.scope(doc::EMPTY))?;
        let Some(Value::Array(items)) = value.get() else {
            return Err(Error::new(5_858_203, "$documents must give an array of documents"));
        };
        let mut documents = super::Documents::default();
        for item in items {
            match item.value() {
                Value::Document(document) => documents.push(DocBuf::from(document)),
                _ => return Err(Error::new(40228, "$documents must give documents")),
            }
        }
        Ok(Box::new(documents))
    }
}
