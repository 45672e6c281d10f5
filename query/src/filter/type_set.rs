//! `$type`: the types a value may have, named by number or alias.

use bindery_document::{Element, Error, Kind, Path, Result, Value, code};

use super::Filter;

/// A set of BSON types.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeSet {
    /// One bit per kind, in the order of [`Kind::ALL`].
    kinds: u32,
    /// Whether it was written with the alias `number`; matters to how it is shown only.
    has_number_alias: bool,
}

impl TypeSet {
    /// The empty set.
    pub fn new() -> TypeSet {
        TypeSet { kinds: 0, has_number_alias: false }
    }

    /// Adds a type.
    pub fn insert(&mut self, kind: Kind) {
        self.kinds |= bit(kind);
    }

    /// Adds the four number types.
    pub fn insert_numbers(&mut self) {
        Kind::ALL.into_iter().filter(|kind| kind.is_number()).for_each(|kind| self.insert(kind));
        self.has_number_alias = true;
    }

    /// Whether the type is in the set.
    #[inline]
    pub fn contains(self, kind: Kind) -> bool {
        self.kinds & bit(kind) != 0
    }

    /// Whether the set holds exactly one type, and which.
    pub fn single(self) -> Option<Kind> {
        let mut kinds = self.iter();
        kinds.next().filter(|_| kinds.next().is_none())
    }

    /// The types, in the order of their bytes.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// Whether the alias `number` was used.
    pub fn has_number_alias(self) -> bool {
        self.has_number_alias
    }

    /// Reads a type, or an array of types, by number or alias.
    ///
    /// # Errors
    /// Code 2 for unknown types, 9 for an empty array, 14 for operands that name no type.
    pub fn parse(operand: Value<'_>) -> Result<TypeSet> {
        let mut set = TypeSet::new();
        match operand {
            Value::Array(members) => {
                for member in members {
                    set.insert_named(&member.value())?;
                }
                if set.kinds == 0 {
                    return Err(Error::new(code::FAILED_TO_PARSE, "at least one type must be given"));
                }
            }
            other => set.insert_named(&other)?,
        }
        Ok(set)
    }

    fn insert_named(&mut self, name: &Value<'_>) -> Result<()> {
        match name {
            Value::String(alias) => self.insert_alias(alias.as_str()),
            Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
                let kind = name.as_exact_i64().and_then(kind_of_number);
                match kind {
                    Some(kind) => self.insert(kind),
                    None => {
                        return Err(Error::new(code::BAD_VALUE, format!("there is no type with the number {name:?}")));
                    }
                }
                Ok(())
            }
            _ => Err(Error::new(code::TYPE_MISMATCH, "a type is named by a number or a string")),
        }
    }

    /// Adds the type with this alias.
    ///
    /// # Errors
    /// Code 2 for an unknown alias.
    pub fn insert_alias(&mut self, alias: &str) -> Result<()> {
        if alias == "number" {
            self.insert_numbers();
            return Ok(());
        }
        let kind = Kind::ALL.into_iter().find(|kind| kind.alias() == alias);
        match kind {
            Some(kind) => self.insert(kind),
            None => return Err(Error::new(code::BAD_VALUE, format!("unknown type name '{alias}'"))),
        }
        Ok(())
    }
}

impl Default for TypeSet {
    fn default() -> TypeSet {
        TypeSet::new()
    }
}

impl std::fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

fn bit(kind: Kind) -> u32 {
    // MinKey's byte is 255, MaxKey's 127: both far from the others, which are 1 to 19.
    match kind {
        Kind::MinKey => 1,
        Kind::MaxKey => 1 << 31,
        other => 1 << (other as u8),
    }
}

fn kind_of_number(number: i64) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| i64::from(kind.number()) == number)
}

/// `$type` on what a path leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeTest {
    /// Where the values are.
    pub path: Path,
    /// The types that pass.
    pub types: TypeSet,
}

impl TypeTest {
    /// Whether one element passes.
    #[inline]
    pub(super) fn accepts(&self, element: Option<Element<'_>>) -> bool {
        element.is_some_and(|element| self.types.contains(element.kind))
    }
}

pub(super) fn parse(path: Path, operand: Value<'_>) -> Result<Filter> {
    Ok(Filter::Type(TypeTest { path, types: TypeSet::parse(operand)? }))
}
