//! Paths of update operators: dotted names with the positional parts `$`, `$[]` and `$[identifier]`.
//!
//! A path is cut into [`Part`]s once, when the update is parsed. The order in which new fields are
//! written is also decided here ([`compare_names`]).
//!
//! Rules: MongoDB's manual, "Update Operators" ("Documents with fields that have multiple values",
//! "Field order") and the pages of the positional operators.

use std::cmp::Ordering;

use bindery_document::{Error, Result, code};

/// One part of an update path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A field name, or an array index when it meets an array.
    Name(Box<str>),
    /// `$`: the array position that the query matched.
    Matched,
    /// `$[]`: every element.
    Every,
    /// `$[identifier]`: the elements that an array filter selects.
    Filtered(Box<str>),
}

/// Cuts a path into parts.
///
/// # Errors
/// [`code::EMPTY_FIELD_NAME`] for an empty part; [`code::BAD_VALUE`] for a positional part in first place or
/// a second `$`.
pub(super) fn parse(path: &str) -> Result<Vec<Part>> {
    let parts: Vec<Part> = path.split('.').map(part).collect();
    if path.split('.').any(str::is_empty) {
        return Err(Error::new(
            code::EMPTY_FIELD_NAME,
            format!("the update path '{path}' has an empty field name in it"),
        ));
    }
    if !matches!(parts.first(), Some(Part::Name(_))) {
        return Err(Error::new(code::BAD_VALUE, format!("the path '{path}' must not begin with a positional part")));
    }
    if parts.iter().filter(|part| **part == Part::Matched).count() > 1 {
        return Err(Error::new(code::BAD_VALUE, format!("the path '{path}' has more than one '$'")));
    }
    Ok(parts)
}

fn part(text: &str) -> Part {
    match text {
        "$" => Part::Matched,
        "$[]" => Part::Every,
        _ => match text.strip_prefix("$[").and_then(|rest| rest.strip_suffix(']')) {
            Some(identifier) => Part::Filtered(identifier.into()),
            None => Part::Name(text.into()),
        },
    }
}

/// The array index that a name stands for when it meets an array: decimal digits, leading zeros
/// allowed, up to the largest unsigned 32-bit number.
pub(super) fn array_index(name: &[u8]) -> Option<usize> {
    if name.is_empty() || !name.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(name).ok()?;
    text.parse::<u32>().ok().map(|index| index as usize)
}

/// Whether a name is written as an array writes its keys: digits without a leading zero.
fn is_plain_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0'))
}

/// The order in which sibling fields are updated, and so created: lexicographic, but array indexes by number.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    if is_plain_index(a) && is_plain_index(b) { a.len().cmp(&b.len()).then_with(|| a.cmp(b)) } else { a.cmp(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let parts = parse("a.$[].b.$[x1].3").expect("path");
        assert_eq!(
            parts,
            [
                Part::Name("a".into()),
                Part::Every,
                Part::Name("b".into()),
                Part::Filtered("x1".into()),
                Part::Name("3".into())
            ]
        );
        assert_eq!(parse("a.$[x").expect("path")[1], Part::Name("$[x".into()));
    }

    #[test]
    fn bad_paths_have_their_codes() {
        for (path, code) in [("", 56), ("a.", 56), (".", 56), ("a..b", 56), ("$", 2), ("$[].a", 2), ("a.$.b.$", 2)] {
            assert_eq!(parse(path).expect_err(path).code, code, "{path}");
        }
    }

    #[test]
    fn names_order_by_number_only_when_both_are_indexes() {
        let mut names = ["a", "10", "2", "02", "9"];
        names.sort_by(|a, b| compare_names(a, b));
        assert_eq!(names, ["02", "2", "9", "10", "a"]);
    }

    #[test]
    fn array_indexes_allow_leading_zeros_and_have_a_limit() {
        assert_eq!(array_index(b"01"), Some(1));
        assert_eq!(array_index(b"2147483648"), Some(2_147_483_648));
        assert_eq!(array_index(b"4294967296"), None);
        assert_eq!(array_index(b"-1"), None);
    }
}
