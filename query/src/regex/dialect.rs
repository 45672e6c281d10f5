//! The dialect of PCRE 8, which MongoDB 6.0 is built with, in terms of PCRE2.
//!
//! The two agree on nearly all patterns. Where a construct came later it is refused here, as the older library would
//! do; where the same text came to mean something else it is written otherwise:
//!
//! | pattern | PCRE 8 | PCRE2 |
//! |---|---|---|
//! | `a{,2}`, `a{ 1, 2 }` | literal text | quantifiers |
//! | `\p{Lu}` while case is ignored | upper case | any case |
//! | `(?<=a{1,2})`, `(?<=ab?)` | not fixed length | fine |
//! | `(?^i)`, `(?n)`, `(*atomic:a)`, `(?*a)`, `\N{U+41}`, `\p{Script=Greek}`, `(?(VERSION>=10)a)` | errors | fine |

/// Verbs at the start of a pattern that came with PCRE2.
const LATER_VERBS: [&str; 7] =
    ["NOTEMPTY", "NOTEMPTY_ATSTART", "NO_JIT", "NO_DOTSTAR_ANCHOR", "LIMIT_HEAP", "LIMIT_DEPTH", "NUL"];

/// The pattern for PCRE2; `extended` says whether the option `x` is set.
///
/// # Errors
/// Why PCRE 8 would not compile it. What both refuse is left to PCRE2.
pub(super) fn to_pcre2(pattern: &str, extended: bool) -> Result<String, &'static str> {
    let mut translation = Translation {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        lookbehinds: Vec::new(),
        after_quantifier: false,
    };
    while !translation.rest.is_empty() {
        translation.step(extended)?;
    }
    Ok(translation.out)
}

struct Translation<'p> {
    rest: &'p str,
    out: String,
    /// For each open group, whether it is a look-behind or within one.
    lookbehinds: Vec<bool>,
    /// Whether a quantifier was the last thing, so that `?` and `+` modify it.
    after_quantifier: bool,
}

impl<'p> Translation<'p> {
    /// Copies so many bytes.
    fn copy(&mut self, bytes: usize) {
        let (done, rest) = self.rest.split_at(bytes);
        self.out.push_str(done);
        self.rest = rest;
    }

    /// Copies up to the end of a text, or everything if it does not come.
    fn copy_through(&mut self, end: &str) {
        let bytes = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.copy(bytes);
    }

    fn step(&mut self, extended: bool) -> Result<(), &'static str> {
        let was_quantifier = std::mem::take(&mut self.after_quantifier);
        match self.rest.as_bytes()[0] {
            b'\\' => self.escape(false)?,
            b'[' => self.class()?,
            b'(' => self.group()?,
            b')' => {
                self.lookbehinds.pop();
                self.copy(1);
            }
            b'#' if extended => self.copy_through("\n"),
            b'{' => self.brace()?,
            b'?' if !was_quantifier => {
                self.must_be_fixed()?;
                self.after_quantifier = true;
                self.copy(1);
            }
            b'*' | b'+' if !was_quantifier => {
                self.after_quantifier = true;
                self.copy(1);
            }
            _ => self.copy(self.rest.chars().next().map_or(1, char::len_utf8)),
        }
        Ok(())
    }

    fn must_be_fixed(&self) -> Result<(), &'static str> {
        match self.lookbehinds.last() {
            Some(true) => Err("lookbehind assertion is not fixed length"),
            _ => Ok(()),
        }
    }

    /// A backslash and what it quotes.
    fn escape(&mut self, in_class: bool) -> Result<(), &'static str> {
        let rest = self.rest;
        if rest.starts_with("\\Q") {
            self.copy_through("\\E");
            return Ok(());
        }
        if rest.starts_with("\\N{") && !is_quantifier(&rest[2..]) {
            return Err("PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u");
        }
        if let Some(name) = rest.strip_prefix("\\p{").or_else(|| rest.strip_prefix("\\P{"))
            && let Some((name, _)) = name.split_once('}')
        {
            if name.contains(['=', ':']) {
                return Err("unknown property name after \\P or \\p");
            }
            // In a class there is no way to say it.
            let cased = matches!(name, "Lu" | "Ll" | "Lt") && !in_class;
            self.out.push_str(if cased { "(?-i:" } else { "" });
            self.copy("\\p{}".len() + name.len());
            self.out.push_str(if cased { ")" } else { "" });
            return Ok(());
        }
        // What is in braces behind these is a name, a number or a code point.
        if rest.as_bytes().get(1).is_some_and(|letter| b"gkxo".contains(letter)) && rest[2..].starts_with('{') {
            self.copy_through("}");
            return Ok(());
        }
        let quoted = rest[1..].chars().next().map_or(0, char::len_utf8);
        self.copy(1 + quoted);
        Ok(())
    }

    fn class(&mut self) -> Result<(), &'static str> {
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        // A bracket in first place is one of the characters.
        if self.rest.starts_with(']') {
            self.copy(1);
        }
        while let Some(next) = self.rest.chars().next() {
            match next {
                ']' => {
                    self.copy(1);
                    break;
                }
                '\\' => self.escape(true)?,
                '[' if self.rest[1..].starts_with([':', '.', '=']) => {
                    let end = self.rest[2..].find(']').map_or(1, |at| at + 3);
                    self.copy(end);
                }
                other => self.copy(other.len_utf8()),
            }
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), &'static str> {
        let within = self.lookbehinds.last().copied().unwrap_or(false);
        if let Some(verb) = self.rest.strip_prefix("(*") {
            let name: &str = verb.split([')', ':', '=']).next().unwrap_or_default();
            if name.starts_with(|c: char| c.is_ascii_lowercase()) || LATER_VERBS.contains(&name) {
                return Err("(*VERB) not recognized or malformed");
            }
            self.copy_through(")");
            return Ok(());
        }
        let Some(kind) = self.rest.strip_prefix("(?") else {
            self.lookbehinds.push(within);
            self.copy(1);
            return Ok(());
        };
        if kind.starts_with('#') {
            self.copy_through(")");
            return Ok(());
        }
        if kind.starts_with("<*") {
            return Err("unrecognized character after (?<");
        }
        if kind.starts_with("(VERSION") {
            return Err("malformed number or name after (?(");
        }
        if kind.starts_with('C') && !kind[1..].starts_with(|c: char| c.is_ascii_digit() || c == ')') {
            return Err("closing ) for (?C expected");
        }
        let letters =
            kind.len() - kind.trim_start_matches(|c: char| c.is_ascii_lowercase() || "JUX-".contains(c)).len();
        let sets_options = letters > 0 && kind[letters..].starts_with([':', ')']);
        if kind.starts_with(['^', '*']) || (sets_options && kind[..letters].contains(['n', 'a', 'r'])) {
            return Err("unrecognized character after (? or (?-");
        }
        self.lookbehinds.push(within || kind.starts_with("<=") || kind.starts_with("<!"));
        // What follows is not a quantifier.
        self.copy("(?".len());
        if !self.rest.starts_with(['(', ')', '#']) {
            self.copy(self.rest.chars().next().map_or(0, char::len_utf8));
        }
        Ok(())
    }

    /// A brace: of a quantifier, or a character like others.
    fn brace(&mut self) -> Result<(), &'static str> {
        if !is_quantifier(self.rest) {
            self.out.push('\\');
            self.copy(1);
            return Ok(());
        }
        let end = self.rest.find('}').map_or(1, |at| at + 1);
        if let Some((least, most)) = self.rest[1..end - 1].split_once(',')
            && least != most
        {
            self.must_be_fixed()?;
        }
        self.copy(end);
        self.after_quantifier = true;
        Ok(())
    }
}

/// Whether a text starts with `{n}`, `{n,}` or `{n,m}`.
fn is_quantifier(text: &str) -> bool {
    let Some((inner, _)) = text.strip_prefix('{').and_then(|rest| rest.split_once('}')) else { return false };
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    !least.is_empty() && is_number(least) && is_number(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_else_is_written_otherwise() {
        let cases = [
            ("a{,2}", r"a\{,2}"),
            ("a{ 1, 2 }b{1,2}", r"a\{ 1, 2 }b{1,2}"),
            (r"\p{Lu}+[\p{Lu}]\P{Nd}", r"(?-i:\p{Lu})+[\p{Lu}]\P{Nd}"),
            (r"\Q{,2}\E[{,2}[:alpha:]\]{,2}]{,2}", r"\Q{,2}\E[{,2}[:alpha:]\]{,2}]\{,2}"),
            ("(?#{,2})(?i)a(?-i:b)(?<n>a)", "(?#{,2})(?i)a(?-i:b)(?<n>a)"),
            ("(?<=a{2}|bc)d{1,2}?", "(?<=a{2}|bc)d{1,2}?"),
            ("(?<=(?:a)b)c?", "(?<=(?:a)b)c?"),
            ("[]{,2}]é{,2}", r"[]{,2}]é\{,2}"),
            (r"\N{2}", r"\N{2}"),
            (r"(a)\g{-1}\x{61}\k{n}", r"(a)\g{-1}\x{61}\k{n}"),
            ("(", "("),
            ("\\", "\\"),
            ("(?", "(?"),
            ("[a", "[a"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(to_pcre2(pattern, false).as_deref(), Ok(expected), "{pattern}");
        }
        assert_eq!(to_pcre2("a # {,2}\nb", true).as_deref(), Ok("a # {,2}\nb"));
    }

    #[test]
    fn what_came_later_is_refused() {
        let cases = [
            "(?^i)a",
            "(?n)a",
            "(?i-n:a)",
            "(*atomic:a)",
            "(*NOTEMPTY)a",
            "(?*a)",
            "(?<*a)",
            r"\N{U+41}",
            r"[\p{Script=Greek}]",
            "(?(VERSION>=10)a|b)",
            "(?C\"x\")a",
            "(?<=a{1,3})b",
            "(?<!ab?)c",
            "(?<=(?:a|b{1,})c)d",
        ];
        for pattern in cases {
            assert!(to_pcre2(pattern, false).is_err(), "{pattern}");
        }
    }
}
