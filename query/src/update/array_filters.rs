//! Array filters: what `$[identifier]` selects.
//!
//! A filter is a query whose paths all begin with one identifier, which stands for the element. It is
//! compiled as any query and asked about a document `{identifier: element}`.

use bindery_document::{Builder, Doc, Element, Error, Result, Value, code};

use super::Options;
use crate::filter::{Allowed, Filter, ParseContext};

/// One array filter.
#[derive(Debug)]
pub(super) struct ArrayFilter {
    /// What `$[...]` calls it.
    pub(super) identifier: Box<str>,
    filter: Filter,
}

impl ArrayFilter {
    /// Compiles the filters of an update.
    ///
    /// # Errors
    /// [`code::FAILED_TO_PARSE`] for a filter without an identifier, with two of them, or with one that
    /// another has; [`code::BAD_VALUE`] for an identifier that is no name; those of the query language.
    pub(super) fn parse_all(filters: &[Doc<'_>], options: &Options) -> Result<Vec<ArrayFilter>> {
        let mut parsed: Vec<ArrayFilter> = Vec::with_capacity(filters.len());
        for filter in filters {
            let filter = ArrayFilter::parse(*filter, options)?;
            if parsed.iter().any(|other| other.identifier == filter.identifier) {
                return Err(Error::new(
                    code::FAILED_TO_PARSE,
                    format!("two array filters have the identifier '{}'", filter.identifier),
                ));
            }
            parsed.push(filter);
        }
        Ok(parsed)
    }

    fn parse(query: Doc<'_>, options: &Options) -> Result<ArrayFilter> {
        let context = ParseContext::with_collation(options.collation.clone()).allowing(Allowed::NoWholeDocuments);
        let filter = Filter::parse_in_order(query, &context)?;
        let mut identifier: Option<String> = None;
        find_identifier(query, &mut identifier)?;
        let Some(identifier) = identifier else {
            return Err(Error::new(
                code::FAILED_TO_PARSE,
                "an array filter needs a field name to stand for the element",
            ));
        };
        let is_name = identifier.starts_with(|c: char| c.is_ascii_lowercase())
            && identifier.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_name {
            return Err(Error::new(
                code::BAD_VALUE,
                format!(
                    "the identifier '{identifier}' must begin with a small letter and have only letters and digits"
                ),
            ));
        }
        Ok(ArrayFilter { identifier: identifier.into(), filter })
    }

    /// Whether the filter selects an array element.
    ///
    /// # Errors
    /// Those of [`Filter::matches`].
    pub(super) fn matches(&self, item: Element<'_>) -> Result<bool> {
        let mut document = Builder::new();
        document.append_bytes(self.identifier.as_bytes(), item.kind, item.bytes);
        self.filter.matches(document.finish().doc())
    }
}

/// Finds the one name that all paths of a query begin with.
fn find_identifier(query: Doc<'_>, found: &mut Option<String>) -> Result<()> {
    for element in query {
        if element.key.first() == Some(&b'$') {
            for branch in branches(element.value()) {
                find_identifier(branch, found)?;
            }
            continue;
        }
        let name = element.key_str().split('.').next().unwrap_or_default();
        match found {
            Some(other) if other != name => {
                return Err(Error::new(
                    code::FAILED_TO_PARSE,
                    format!("an array filter needs a single identifier, but has '{other}' and '{name}'"),
                ));
            }
            _ => *found = Some(name.to_owned()),
        }
    }
    Ok(())
}

/// The documents in an array of them.
fn branches<'a>(value: Value<'a>) -> impl Iterator<Item = Doc<'a>> {
    value.as_array().into_iter().flat_map(|array| array.iter()).filter_map(|branch| branch.value().as_document())
}
