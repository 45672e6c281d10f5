//! Key patterns: the fields of an index, their directions, and what kind of index they make.

use bindery_document::{Doc, Error, Kind, Result, Value, code};

use crate::key::{Direction, Directions, MAX_FIELDS};

/// Too many fields in one pattern.
const TOO_MANY_FIELDS: i32 = 13_103;
/// More than one hashed field.
const TOO_MANY_HASHED: i32 = 31_303;

/// One field of a key pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    name: Box<str>,
    parts: Vec<Box<[u8]>>,
    direction: Direction,
    is_hashed: bool,
}

impl KeyField {
    /// The dotted path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path's components.
    pub fn parts(&self) -> &[Box<[u8]>] {
        &self.parts
    }

    /// The path's first `n` components, dotted.
    pub fn prefix(&self, n: usize) -> &str {
        let end = self.name.match_indices('.').nth(n.saturating_sub(1)).map_or(self.name.len(), |(at, _)| at);
        if n == 0 { "" } else { self.name.get(..end).unwrap_or_default() }
    }

    /// The direction; hashed fields ascend by hash.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether the hash of the value is kept instead of the value.
    pub fn is_hashed(&self) -> bool {
        self.is_hashed
    }
}

/// What kind of index a pattern makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternKind {
    /// Values of named fields.
    Ordered,
    /// One field by its hash, others by their values.
    Hashed,
    /// All fields, or all below a path (`$**`, `a.$**`).
    Wildcard,
}

/// A compiled key pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    fields: Vec<KeyField>,
    directions: Directions,
    kind: PatternKind,
}

impl KeyPattern {
    /// Compiles a pattern such as `{a: 1, "b.c": -1}`.
    ///
    /// # Errors
    /// `CannotCreateIndex` (67) for fields and values that no index can have, and for the kinds of index
    /// that are not supported (text, 2d, 2dsphere); 13103 for more than 32 fields; 31303 for two hashed fields;
    /// `BadValue` (2) for a field that appears twice.
    pub fn parse(pattern: Doc<'_>) -> Result<KeyPattern> {
        let mut fields: Vec<KeyField> = Vec::new();
        let mut kind = PatternKind::Ordered;
        for element in pattern {
            let name = element.key_str();
            if fields.iter().any(|field| &*field.name == name) {
                return Err(Error::new(code::BAD_VALUE, format!("the field '{name}' appears twice in the index key")));
            }
            let value = element.value();
            let field = parse_field(name, &value)?;
            if is_wildcard(name) {
                kind = PatternKind::Wildcard;
            } else if field.is_hashed && kind == PatternKind::Ordered {
                kind = PatternKind::Hashed;
            }
            fields.push(field);
        }
        if fields.is_empty() {
            return Err(cannot("an index needs at least one field".to_owned()));
        }
        if kind == PatternKind::Wildcard && fields.len() > 1 {
            return Err(cannot("a wildcard index cannot have other fields".to_owned()));
        }
        if fields.len() > MAX_FIELDS {
            return Err(Error::new(TOO_MANY_FIELDS, format!("an index has at most {MAX_FIELDS} fields")));
        }
        if fields.iter().filter(|field| field.is_hashed).count() > 1 {
            return Err(Error::new(TOO_MANY_HASHED, "an index has at most one hashed field"));
        }
        let directions = match kind {
            PatternKind::Wildcard => Directions::ASCENDING,
            _ => fields.iter().map(|field| field.direction).collect(),
        };
        Ok(KeyPattern { fields, directions, kind })
    }

    /// The fields, in the order of the key.
    pub fn fields(&self) -> &[KeyField] {
        &self.fields
    }

    /// The directions of the keys' fields.
    pub fn directions(&self) -> Directions {
        self.directions
    }

    /// What kind of index it is.
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// The number of values in a key: one a field; path and value in a wildcard index.
    pub fn key_len(&self) -> usize {
        match self.kind {
            PatternKind::Wildcard => 2,
            _ => self.fields.len(),
        }
    }
}

fn cannot(message: String) -> Error {
    Error::new(code::CANNOT_CREATE_INDEX, message)
}

fn is_wildcard(name: &str) -> bool {
    name == "$**" || name.ends_with(".$**")
}

fn parse_field(name: &str, value: &Value<'_>) -> Result<KeyField> {
    let wildcard = is_wildcard(name);
    let is_hashed = match value {
        Value::String(plugin) => match plugin.as_str() {
            "hashed" if !wildcard => true,
            "" => return Err(cannot(format!("the index key '{name}' cannot be an empty string"))),
            known @ ("text" | "2d" | "2dsphere") => return Err(cannot(format!("{known} indexes are not supported"))),
            other => return Err(cannot(format!("unknown kind of index '{other}' for '{name}'"))),
        },
        number if number.kind().is_number() => false,
        other => {
            let alias = other.kind().alias();
            return Err(cannot(format!("the index key '{name}' cannot be of type {alias}, only a number or a string")));
        }
    };
    let is_negative = !is_hashed && sign(name, value)?;
    if wildcard && is_negative {
        return Err(cannot("a wildcard index must ascend".to_owned()));
    }
    let path = if wildcard { name.trim_end_matches("$**").trim_end_matches('.') } else { name };
    let is_whole_document = wildcard && path.is_empty();
    if !is_whole_document {
        check_path(path)?;
    }
    Ok(KeyField {
        name: name.into(),
        parts: if is_whole_document {
            Vec::new()
        } else {
            path.split('.').map(|part| part.as_bytes().into()).collect()
        },
        direction: if is_negative { Direction::Descending } else { Direction::Ascending },
        is_hashed,
    })
}

/// Whether a direction is negative.
fn sign(name: &str, value: &Value<'_>) -> Result<bool> {
    match value.as_f64() {
        Some(number) if number.is_nan() => Err(cannot(format!("the index key '{name}' cannot be NaN"))),
        Some(number) if number != 0.0 => Ok(number < 0.0),
        _ if value.kind() == Kind::Decimal128 && value.is_truthy() => {
            // Too small for a double, and yet not zero.
            Ok(bindery_document::order::compare(value, &Value::Int32(0)).is_lt())
        }
        _ => Err(cannot(format!("the index key '{name}' cannot be 0"))),
    }
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(cannot("an index key cannot be an empty field".to_owned()));
    }
    for (position, part) in path.split('.').enumerate() {
        if part.is_empty() {
            return Err(cannot(format!("the index key '{path}' has an empty component")));
        }
        // The fields of a DBRef are the only names with a dollar.
        let is_reference = position > 0 && matches!(part, "$id" | "$ref" | "$db");
        if part.starts_with('$') && !is_reference {
            return Err(cannot(format!("the index key '{path}' has a component that starts with '$'")));
        }
    }
    Ok(())
}
