//! Regular expressions with PCRE's behaviour, as MongoDB has them.
//!
//! One wrapper for the filter language (`$regex`, regex values) and the expression language
//! (`$regexMatch` and its siblings), so that both mean the same by a pattern: UTF-8 mode on, `\w` and `\d`
//! ASCII, case folding by Unicode. The engine is PCRE2 itself, told of PCRE 8's dialect by [`dialect`]: look-around,
//! back references, possessive quantifiers and `(?i)` groups differ between regex dialects, and answers must not.
//! The callers give the failures their MongoDB codes, which differ by language.

mod dialect;

use std::fmt;

use pcre2::bytes::RegexBuilder;

/// The longest pattern that MongoDB 6.0.5 was seen to take.
const MAX_PATTERN_BYTES: usize = 32_763;

/// A compiled pattern; cheap to match, safe to share between threads.
#[derive(Clone)]
pub struct Regex {
    pattern: Box<str>,
    options: Box<str>,
    inner: pcre2::bytes::Regex,
}

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// An option letter other than `i`, `m`, `s`, `x`, `u`.
    Option(char),
    /// The pattern or the options hold a zero byte.
    ZeroByte,
    /// PCRE does not accept the pattern; its message.
    Pattern(String),
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegexError::Option(letter) => write!(f, "invalid flag in regex options: {letter}"),
            RegexError::ZeroByte => f.write_str("regular expressions cannot contain an embedded null byte"),
            RegexError::Pattern(why) => write!(f, "invalid regex: {why}"),
        }
    }
}

/// The matcher gave up on a text (backtracking limit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchError(pub String);

/// Byte offsets of one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// First byte of the match.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The capture groups in order, group 0 left out; `None` for a group that took no part.
    pub groups: Vec<Option<(usize, usize)>>,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// Options: `i` ignores case, `m` lets `^` and `$` match at lines, `s` lets `.` match newlines, `x`
    /// ignores white space and comments, `u` changes nothing (UTF-8 is always on).
    ///
    /// # Errors
    /// [`RegexError`] for an unknown option, a zero byte, or a pattern that PCRE refuses.
    pub fn new(pattern: &str, options: &str) -> Result<Regex, RegexError> {
        if pattern.contains('\0') || options.contains('\0') {
            return Err(RegexError::ZeroByte);
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(RegexError::Pattern(format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes")));
        }
        let mut builder = RegexBuilder::new();
        builder.utf(true).jit_if_available(true).max_jit_stack_size(Some(1 << 20));
        for letter in options.chars() {
            match letter {
                'i' => builder.caseless(true),
                'm' => builder.multi_line(true),
                's' => builder.dotall(true),
                'x' => builder.extended(true),
                'u' => &mut builder,
                other => return Err(RegexError::Option(other)),
            };
        }
        let translated =
            dialect::to_pcre2(pattern, options.contains('x')).map_err(|why| RegexError::Pattern(why.to_owned()))?;
        let inner = builder.build(&translated).map_err(|e| RegexError::Pattern(e.to_string()))?;
        Ok(Regex { pattern: pattern.into(), options: options.into(), inner })
    }

    /// The pattern's text.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The option letters as given.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// Whether the pattern matches anywhere in the text (UTF-8 bytes).
    ///
    /// # Errors
    /// When matching exceeds PCRE's limits.
    pub fn is_match(&self, text: &[u8]) -> Result<bool, MatchError> {
        self.inner.is_match(text).map_err(|e| MatchError(e.to_string()))
    }

    /// The first match at or after a byte offset, with its groups.
    ///
    /// # Errors
    /// When matching exceeds PCRE's limits.
    pub fn find_at(&self, text: &[u8], start: usize) -> Result<Option<Match>, MatchError> {
        let mut locations = self.inner.capture_locations();
        let found = self.inner.captures_read_at(&mut locations, text, start);
        let Some(whole) = found.map_err(|e| MatchError(e.to_string()))? else {
            return Ok(None);
        };
        let groups = (1..locations.len()).map(|group| locations.get(group)).collect();
        Ok(Some(Match { start: whole.start(), end: whole.end(), groups }))
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.pattern, self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, options: &str, text: &str) -> bool {
        Regex::new(pattern, options).expect("pattern").is_match(text.as_bytes()).expect("match")
    }

    #[test]
    fn words_are_ascii_and_case_folds_unicode() {
        assert!(!matches(r"^\w$", "", "é"));
        assert!(matches("^É$", "i", "é"));
        assert!(matches("^.$", "", "é"));
    }

    #[test]
    fn look_around_and_back_references_work() {
        assert!(matches(r"(?<=a)b(?!c)", "", "abd"));
        assert!(matches(r"(a)\1", "", "aa"));
        assert!(matches(r"a\ b # note", "x", "a b"));
    }

    #[test]
    fn what_does_not_compile_says_why() {
        assert_eq!(Regex::new("a", "g").unwrap_err(), RegexError::Option('g'));
        assert_eq!(Regex::new("a\0", "").unwrap_err(), RegexError::ZeroByte);
        assert!(matches!(Regex::new("(", "").unwrap_err(), RegexError::Pattern(_)));
    }

    #[test]
    fn groups_that_took_no_part_are_none() {
        let found = Regex::new("(a)|(b)", "").expect("pattern").find_at(b"xb", 0).expect("match").expect("found");
        assert_eq!(found, Match { start: 1, end: 2, groups: vec![None, Some((1, 2))] });
    }
}
