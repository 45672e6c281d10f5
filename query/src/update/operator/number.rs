//! `$inc` and `$mul`.

use bindery_document::{Builder, Element, Error, OwnedValue, Result, Value, code};

use super::Outcome;
use crate::update::arithmetic;

/// The number to add or to multiply by.
#[derive(Debug)]
pub(in crate::update) struct Operand(OwnedValue);

impl Operand {
    /// Takes the argument.
    ///
    /// # Errors
    /// [`code::TYPE_MISMATCH`] for what is no number.
    pub(super) fn parse(path: &str, argument: Value<'_>) -> Result<Operand> {
        if !argument.kind().is_number() {
            return Err(Error::new(
                code::TYPE_MISMATCH,
                format!("the argument for '{path}' must be a number, but is of type {}", argument.kind().alias()),
            ));
        }
        Ok(Operand(OwnedValue::new(argument)))
    }

    /// `$inc` of a field.
    ///
    /// # Errors
    /// [`code::TYPE_MISMATCH`] for a field that is no number; [`code::BAD_VALUE`] when 64 bits overflow.
    pub(super) fn add_to(&self, field: Element<'_>, out: &mut Builder) -> Result<Outcome> {
        self.replace(field, arithmetic::add, out)
    }

    /// `$mul` of a field; errors as for [`Operand::add_to`].
    pub(super) fn multiply(&self, field: Element<'_>, out: &mut Builder) -> Result<Outcome> {
        self.replace(field, arithmetic::multiply, out)
    }

    /// `$inc` of a missing field.
    pub(super) fn create_sum(&self, key: &[u8], out: &mut Builder) {
        out.append_bytes(key, self.0.kind(), self.0.bytes());
    }

    /// `$mul` of a missing field: zero of the operand's type (for a decimal, with its exponent).
    pub(super) fn create_product(&self, key: &[u8], out: &mut Builder) {
        let zero = arithmetic::multiply(Value::Int32(0), self.0.value()).unwrap_or(Value::Int32(0));
        out.append(key, zero);
    }

    fn replace(
        &self,
        field: Element<'_>,
        operation: fn(Value<'_>, Value<'_>) -> Option<Value<'static>>,
        out: &mut Builder,
    ) -> Result<Outcome> {
        let old = field.value();
        if !old.kind().is_number() {
            return Err(Error::new(
                code::TYPE_MISMATCH,
                format!("'{}' must be a number, but is of type {}", field.key_str(), old.kind().alias()),
            ));
        }
        let new = operation(old, self.0.value())
            .ok_or_else(|| Error::new(code::BAD_VALUE, format!("'{}' would overflow 64 bits", field.key_str())))?;
        if arithmetic::is_same(&old, &new) {
            return Ok(Outcome::Unchanged);
        }
        out.append(field.key, new);
        Ok(Outcome::Written)
    }
}
