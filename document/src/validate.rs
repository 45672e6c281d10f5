//! The check of documents from outside: done once, on the way in.
//!
//! Everything that the views rely on is checked: lengths that hold together, known types, keys and
//! strings in UTF-8 with their closing zeros, booleans of 0 or 1, and a nesting that no walk overruns.

use std::fmt;

use crate::{Kind, doc::value_size};

/// The largest document that may be stored: 16 MiB, as the manual's "Limits and Thresholds" says.
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// The deepest nesting of a document from outside: a document 200 levels below the top is refused.
/// Stored documents have a lower limit of their own, see [`MAX_STORED_DEPTH`].
pub const MAX_DEPTH: usize = 200;

/// The deepest nesting of a stored document, as measured on MongoDB 6.0.5: 179 levels below the top.
pub const MAX_STORED_DEPTH: usize = 179;

const TOO_DEEP: &str = "nested too deeply";

/// Why bytes are no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Where the fault was seen, in bytes from the start.
    pub offset: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid BSON at byte {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for Invalid {}

impl From<Invalid> for crate::Error {
    fn from(invalid: Invalid) -> crate::Error {
        // Bytes that are sound but for their depth have a code of their own.
        let is_too_deep = invalid.reason == TOO_DEEP;
        crate::Error::new(
            if is_too_deep { crate::code::OVERFLOW } else { crate::code::INVALID_BSON },
            invalid.to_string(),
        )
    }
}

/// Checks that the bytes are exactly one well-formed document.
///
/// # Errors
/// The first fault found. Size limits are the caller's: messages may be larger than documents.
pub fn validate(bytes: &[u8]) -> Result<(), Invalid> {
    document(bytes, 0, 0)
}

/// The number of levels below the top: 0 for a document without embedded ones. What code has as its scope
/// does not count, as it does not for MongoDB's limit of stored documents; [`validate`] counts it.
pub fn depth(doc: crate::Doc<'_>) -> usize {
    doc.iter()
        .filter(|e| matches!(e.kind, Kind::Document | Kind::Array))
        .map(|e| 1 + depth(crate::Doc::from_stored(e.bytes)))
        .max()
        .unwrap_or(0)
}

fn document(bytes: &[u8], base: usize, level: usize) -> Result<(), Invalid> {
    let fault = |offset: usize, reason| Err(Invalid { offset: base + offset, reason });
    if level > MAX_DEPTH {
        return fault(0, TOO_DEEP);
    }
    let Some(length) = bytes.get(..4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) else {
        return fault(0, "too short for a document");
    };
    if length as usize != bytes.len() || bytes.len() < 5 {
        return fault(0, "the length does not match");
    }
    if bytes[bytes.len() - 1] != 0 {
        return fault(bytes.len() - 1, "no closing zero");
    }
    let end = bytes.len() - 1;
    let mut at = 4;
    while at < end {
        let Some(kind) = Kind::from_byte(bytes[at]) else {
            return fault(at, "unknown type");
        };
        let key = &bytes[at + 1..end];
        let Some(key_length) = key.iter().position(|&b| b == 0) else {
            return fault(at + 1, "a key without end");
        };
        if !is_utf8(&key[..key_length]) {
            return fault(at + 1, "a key is not UTF-8");
        }
        let start = at + key_length + 2;
        let Some(rest) = bytes.get(start..end) else {
            return fault(at, "an element without value");
        };
        match value_size(kind, rest) {
            Some(size) if size <= rest.len() => {
                value(kind, &rest[..size], base + start, level)?;
                at = start + size;
            }
            _ => return fault(start, "a value runs past the end"),
        }
    }
    Ok(())
}

fn value(kind: Kind, bytes: &[u8], base: usize, level: usize) -> Result<(), Invalid> {
    let fault = |reason| Err(Invalid { offset: base, reason });
    match kind {
        Kind::String | Kind::JavaScript | Kind::Symbol => text(bytes, base),
        Kind::Document | Kind::Array => document(bytes, base, level + 1),
        Kind::Boolean if bytes[0] > 1 => fault("a boolean is neither 0 nor 1"),
        Kind::Binary if bytes[4] == 2 => {
            match bytes.get(5..9).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) {
                Some(inner) if inner as usize == bytes.len() - 9 => Ok(()),
                _ => fault("the inner length of old binary does not match"),
            }
        }
        Kind::Regex if std::str::from_utf8(bytes).is_err() => fault("a regular expression is not UTF-8"),
        Kind::DbPointer => text(&bytes[..bytes.len() - 12], base),
        Kind::JavaScriptWithScope => {
            let Some(length) = bytes.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) else {
                return fault("code with scope is too short");
            };
            let split = (length as usize).saturating_add(8);
            match bytes.get(4..split).zip(bytes.get(split..)) {
                Some((code, scope)) => {
                    text(code, base + 4)?;
                    document(scope, base + split, level + 1)
                }
                None => fault("code with scope is too short"),
            }
        }
        _ => Ok(()),
    }
}

/// Most texts are short and ASCII, which one pass without a branch tells.
#[inline]
fn is_utf8(text: &[u8]) -> bool {
    text.iter().fold(0, |all, byte| all | byte) < 0x80 || std::str::from_utf8(text).is_ok()
}

/// A length (which the walk found to match), text, a closing zero.
fn text(bytes: &[u8], base: usize) -> Result<(), Invalid> {
    let fault = |reason| Err(Invalid { offset: base, reason });
    match bytes.get(4..) {
        Some([content @ .., 0]) => {
            if !is_utf8(content) {
                return fault("a string is not UTF-8");
            }
            Ok(())
        }
        _ => fault("a string without closing zero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Bson, doc};

    /// A document with a value of every type.
    fn sample() -> Vec<u8> {
        let document = doc! {
            "double": 1.5, "string": "text", "document": {"a": {"b": 1}}, "array": [1, "x", {"y": null}],
            "binary": Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1, 2, 3] }),
            "old": Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::BinaryOld, bytes: vec![1, 2] }),
            "undefined": Bson::Undefined, "id": bson::oid::ObjectId::from_bytes([7; 12]), "bool": true,
            "date": bson::DateTime::from_millis(7), "null": null,
            "regex": bson::Regex { pattern: "a.b".try_into().expect("pattern"), options: "i".try_into().expect("options") },
            "code": Bson::JavaScriptCode("f()".into()), "symbol": Bson::Symbol("s".into()),
            "scoped": Bson::JavaScriptCodeWithScope(bson::JavaScriptCodeWithScope { code: "g".into(), scope: doc! {"x": 1} }),
            "int": 1, "timestamp": bson::Timestamp { time: 1, increment: 2 }, "long": 1i64,
            "decimal": "1.5".parse::<bson::Decimal128>().expect("decimal"), "max": Bson::MaxKey, "min": Bson::MinKey,
        };
        document.to_vec().expect("bytes")
    }

    /// Walks everything that can be walked, as a reader would.
    fn walk(doc: crate::Doc<'_>) -> usize {
        doc.iter()
            .map(|e| match e.value() {
                crate::Value::Document(inner) | crate::Value::Array(inner) => 1 + walk(inner),
                other => other.kind().number().unsigned_abs() as usize,
            })
            .sum()
    }

    #[test]
    fn every_type_is_accepted() {
        assert_eq!(validate(&sample()), Ok(()));
    }

    #[test]
    fn every_cut_is_refused() {
        let bytes = sample();
        for end in 0..bytes.len() {
            assert!(validate(&bytes[..end]).is_err(), "cut at {end}");
            let _ = walk(crate::Doc::from_stored(&bytes[..end]));
        }
    }

    #[test]
    fn every_flip_is_refused_or_still_walks() {
        let bytes = sample();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let _ = validate(&flipped);
                let _ = walk(crate::Doc::from_stored(&flipped));
            }
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let nest = |levels: usize| (0..levels).fold(doc! {}, |inner, _| doc! {"a": inner}).to_vec().expect("bytes");
        assert_eq!(validate(&nest(MAX_DEPTH)), Ok(()));
        assert!(validate(&nest(MAX_DEPTH + 1)).is_err());
        assert_eq!(depth(crate::Doc::from_stored(&nest(12))), 12);
    }
}
