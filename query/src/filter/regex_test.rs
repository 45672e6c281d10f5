//! `$regex`, `$options` and regular expression values.

use bindery_document::{Doc, Element, Error, Kind, Path, Result, Value, code};

use super::Filter;
use crate::regex::{Regex, RegexError};

/// A pattern over strings (and symbols); regular expression values match when they are the same.
#[derive(Clone, Debug)]
pub struct RegexTest {
    /// Where the values are.
    pub path: Path,
    /// The compiled pattern.
    pub regex: Regex,
}

impl PartialEq for RegexTest {
    fn eq(&self, other: &RegexTest) -> bool {
        (&self.path, self.regex.pattern(), self.regex.options())
            == (&other.path, other.regex.pattern(), other.regex.options())
    }
}

impl RegexTest {
    /// Compiles a pattern with its option letters.
    ///
    /// # Errors
    /// 51108 for an unknown option, 51091 for a pattern PCRE refuses, 2 for a zero byte.
    pub fn parse(path: Path, pattern: &str, options: &str) -> Result<RegexTest> {
        let failed = |why: RegexError| {
            let code = match why {
                RegexError::Option(_) => 51108,
                RegexError::ZeroByte => code::BAD_VALUE,
                RegexError::Pattern(_) => 51091,
            };
            Error::new(code, why.to_string())
        };
        let regex = Regex::new(pattern, options).map_err(failed)?;
        if pattern.contains('#') || pattern.contains("\\Q") {
            // MongoDB compiles the pattern in parentheses, too, so a comment or a quotation that is still
            // open at the end swallows the closing one.
            Regex::new(&format!("(?:{pattern})"), options).map_err(failed)?;
        }
        Ok(RegexTest { path, regex })
    }

    /// Whether one element passes. A text on which PCRE gives up does not.
    pub(super) fn accepts(&self, element: Option<Element<'_>>) -> bool {
        let Some(element) = element else {
            return false;
        };
        match element.kind {
            Kind::String | Kind::Symbol => match element.value() {
                Value::String(text) | Value::Symbol(text) => self.regex.is_match(text.as_bytes()).unwrap_or(false),
                _ => false,
            },
            Kind::Regex => match element.value() {
                Value::Regex { pattern, options } => {
                    pattern.as_str() == self.regex.pattern() && options.as_str() == self.regex.options()
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// Parses `$regex` and `$options` out of the operator document that holds them.
///
/// # Errors
/// Code 2 for operands of other types and for `$options` alone; 51074 and 51075 where a regular
/// expression value has options and `$options` stands before or after it.
pub(super) fn parse(path: Path, operators: Doc<'_>) -> Result<Filter> {
    let mut pattern = None;
    let mut options: Option<&str> = None;
    let mut of_value = false;
    for element in operators {
        match (element.key, element.value()) {
            (b"$regex", Value::String(text)) => pattern = Some(text.as_str()),
            (b"$regex", Value::Regex { pattern: text, options: letters }) => {
                pattern = Some(text.as_str());
                if !letters.as_bytes().is_empty() {
                    if options.is_some_and(|given| !given.is_empty()) {
                        return Err(Error::new(51074, "options are given both in $regex and in $options"));
                    }
                    options = Some(letters.as_str());
                    of_value = true;
                }
            }
            (b"$regex", _) => return Err(Error::new(code::BAD_VALUE, "$regex has to be a string")),
            (b"$options", Value::String(_)) if of_value => {
                return Err(Error::new(51075, "options are given both in $regex and in $options"));
            }
            (b"$options", Value::String(text)) => options = Some(text.as_str()),
            (b"$options", _) => return Err(Error::new(code::BAD_VALUE, "$options has to be a string")),
            _ => {}
        }
    }
    match pattern {
        Some(pattern) => Ok(Filter::Regex(RegexTest::parse(path, pattern, options.unwrap_or_default())?)),
        None => Err(Error::new(code::BAD_VALUE, "$options needs a $regex")),
    }
}
