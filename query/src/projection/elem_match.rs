//! `$elemMatch` of `find`: the first element of an array that satisfies a query.

use bindery_document::{Builder, Doc, Element, Error, Result, Value};

use crate::collation::Collation;
use crate::filter::{Allowed, Filter, ParseContext};

/// MongoDB's code for an argument that is no document.
const NOT_A_DOCUMENT: i32 = 31274;

/// The query, as one on the field.
#[derive(Debug)]
pub(super) struct ElemMatch(Filter);

impl ElemMatch {
    /// Checks that the argument is a document.
    ///
    /// # Errors
    /// 31274 if not.
    pub(super) fn check(field: &str, argument: Value<'_>) -> Result<()> {
        if argument.as_document().is_some() {
            return Ok(());
        }
        let kind = argument.kind().alias();
        Err(Error::new(NOT_A_DOCUMENT, format!("$elemMatch of '{field}' needs a document, not {kind}")))
    }

    /// Compiles the argument, a document, for a field.
    ///
    /// # Errors
    /// Those of the query language.
    pub(super) fn parse(field: &str, argument: Value<'_>, collation: Option<&Collation>) -> Result<ElemMatch> {
        let mut query = Builder::new();
        let open = query.open_document(field);
        query.append("$elemMatch", argument);
        query.close(open);
        let context = ParseContext::with_collation(collation.cloned()).allowing(Allowed::NoWholeDocuments);
        Ok(ElemMatch(Filter::parse_in_order(query.finish().doc(), &context)?))
    }

    /// The first element of the document's field that satisfies the query.
    ///
    /// # Errors
    /// Those of [`Filter::matches`].
    pub(super) fn find<'a>(&self, root: Doc<'a>, field: &[u8]) -> Result<Option<Element<'a>>> {
        let (matches, position) = self.0.matches_at(root)?;
        let array = root.element(field).and_then(|field| field.value().as_array());
        Ok(match (matches, position, array) {
            (true, Some(position), Some(array)) => array.iter().nth(position as usize),
            _ => None,
        })
    }
}
