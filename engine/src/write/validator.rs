//! Document validation: what a collection's validator accepts.
//!
//! Source: MongoDB's manual, "Schema Validation".

use bindery_document::{Builder, Doc, Error, Result, Value, code};
use bindery_query::filter::{ParseContext, failure};

use crate::collection::{CollectionOptions, ValidationAction, ValidationLevel};

/// # Errors
/// 121 for a document that does not match.
pub(crate) fn check_insert(options: &CollectionOptions, document: Doc<'_>) -> Result<()> {
    match options.validation_level.unwrap_or_default() {
        ValidationLevel::Off => Ok(()),
        ValidationLevel::Strict | ValidationLevel::Moderate => check(options, document),
    }
}

/// # Errors
/// 121 for a document that does not match; with the moderate level only if it did before.
pub(crate) fn check_update(options: &CollectionOptions, before: Doc<'_>, after: Doc<'_>) -> Result<()> {
    match options.validation_level.unwrap_or_default() {
        ValidationLevel::Off => Ok(()),
        ValidationLevel::Strict => check(options, after),
        ValidationLevel::Moderate if is_valid(options, before) => check(options, after),
        ValidationLevel::Moderate => Ok(()),
    }
}

/// A document that the validator cannot be asked of is not valid.
fn is_valid(options: &CollectionOptions, document: Doc<'_>) -> bool {
    let Some(validator) = &options.validator else { return true };
    validator.filter.as_ref().is_some_and(|filter| filter.matches(document).unwrap_or(false))
}

fn check(options: &CollectionOptions, document: Doc<'_>) -> Result<()> {
    if options.validation_action == Some(ValidationAction::Warn) || is_valid(options, document) {
        return Ok(());
    }
    let mut details = Builder::new();
    let info = details.open_document("errInfo");
    if let Some(id) = document.get("_id") {
        details.append("failingDocumentId", id);
    }
    if let Some(validator) = &options.validator {
        let why = failure::explain(validator.document.doc(), document, &ParseContext::default());
        details.append("details", Value::Document(why.doc()));
    }
    details.close(info);
    Err(Error::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation").with_details(details.finish()))
}
