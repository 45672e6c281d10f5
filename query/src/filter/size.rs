//! `$size`: the number of elements of an array.

use bindery_document::{Doc, Element, Error, Kind, Path, Result, Value, code};

use super::Filter;

/// `$size` on what a path leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTest {
    /// Where the arrays are.
    pub path: Path,
    /// The number of elements that passes.
    pub size: u32,
}

impl SizeTest {
    /// Whether one element is an array of that size.
    pub(super) fn accepts(&self, element: Option<Element<'_>>) -> bool {
        element.is_some_and(|element| {
            // One more than wanted is enough to know.
            let limit = self.size as usize + 1;
            element.kind == Kind::Array
                && Doc::from_stored(element.bytes).iter().take(limit).count() == self.size as usize
        })
    }
}

/// Parses the size.
///
/// # Errors
/// Code 2 for anything but an integer from 0 to 2^31 - 1.
pub(super) fn parse(path: Path, operand: Value<'_>) -> Result<Filter> {
    match operand.as_exact_i64().and_then(|n| i32::try_from(n).ok()).and_then(|n| u32::try_from(n).ok()) {
        Some(size) => Ok(Filter::Size(SizeTest { path, size })),
        None => Err(Error::new(code::BAD_VALUE, "$size needs an integer that is not negative")),
    }
}
