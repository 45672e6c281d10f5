//! `$bit`: and, or, xor of integers, in the order given.

use bindery_document::{Builder, Element, Error, Result, Value, code};

use super::Outcome;

/// One step.
#[derive(Debug)]
enum Step {
    And(Integer),
    Or(Integer),
    Xor(Integer),
}

/// An integer with its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Integer {
    value: i64,
    is_long: bool,
}

/// The steps.
#[derive(Debug)]
pub(in crate::update) struct Bit(Vec<Step>);

impl Bit {
    /// Takes the argument.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for all that is wrong with it.
    pub(super) fn parse(path: &str, argument: Value<'_>) -> Result<Bit> {
        let bad = |what: String| Error::new(code::BAD_VALUE, what);
        let Value::Document(steps) = argument else {
            return Err(bad(format!("$bit of '{path}' needs a document such as {{and: 5}}")));
        };
        let steps = steps
            .iter()
            .map(|step| {
                let mask = integer(step.value())
                    .ok_or_else(|| bad(format!("$bit of '{path}' needs an integer, but {} is none", step.key_str())))?;
                match step.key {
                    b"and" => Ok(Step::And(mask)),
                    b"or" => Ok(Step::Or(mask)),
                    b"xor" => Ok(Step::Xor(mask)),
                    _ => Err(bad(format!("$bit knows 'and', 'or' and 'xor', not '{}'", step.key_str()))),
                }
            })
            .collect::<Result<Vec<Step>>>()?;
        if steps.is_empty() {
            return Err(bad(format!("$bit of '{path}' needs at least one of and, or, xor")));
        }
        Ok(Bit(steps))
    }

    /// Changes a field.
    ///
    /// # Errors
    /// [`code::BAD_VALUE`] for a field that is no integer.
    pub(super) fn update(&self, field: Element<'_>, out: &mut Builder) -> Result<Outcome> {
        let Some(old) = integer(field.value()) else {
            return Err(Error::new(
                code::BAD_VALUE,
                format!("$bit needs an integer, but '{}' is of type {}", field.key_str(), field.kind.alias()),
            ));
        };
        let new = self.run(old);
        if new == old {
            return Ok(Outcome::Unchanged);
        }
        out.append(field.key, new.to_value());
        Ok(Outcome::Written)
    }

    /// Makes a missing field, from zero.
    pub(super) fn create(&self, key: &[u8], out: &mut Builder) {
        out.append(key, self.run(Integer { value: 0, is_long: false }).to_value());
    }

    fn run(&self, start: Integer) -> Integer {
        self.0.iter().fold(start, |old, step| {
            let (mask, value) = match step {
                Step::And(mask) => (mask, old.value & mask.value),
                Step::Or(mask) => (mask, old.value | mask.value),
                Step::Xor(mask) => (mask, old.value ^ mask.value),
            };
            Integer { value, is_long: old.is_long || mask.is_long }
        })
    }
}

impl Integer {
    fn to_value(self) -> Value<'static> {
        match i32::try_from(self.value) {
            Ok(short) if !self.is_long => Value::Int32(short),
            _ => Value::Int64(self.value),
        }
    }
}

fn integer(value: Value<'_>) -> Option<Integer> {
    match value {
        Value::Int32(n) => Some(Integer { value: i64::from(n), is_long: false }),
        Value::Int64(value) => Some(Integer { value, is_long: true }),
        _ => None,
    }
}
