//! Keys of hashed indexes: the hash of one field, the values of the others, and no arrays.

use bindery_document::{Doc, Error, Result, Value};

use super::{Found, KeyGenerator, Keys, find};
use crate::key::hash_value;

/// An array under a hashed index.
const HASHED_ARRAY: i32 = 16_766;

pub(super) fn generate(generator: &KeyGenerator, doc: Doc<'_>, keys: &mut Keys) -> Result<()> {
    let fields = generator.pattern().fields();
    keys.reset(fields.len());
    let mut missing = 0;
    for field in fields {
        let value = match find(doc, field.parts(), 0) {
            Found::Value(element) => element.value(),
            Found::Missing => {
                missing += 1;
                Value::Null
            }
            Found::Array(_, part) => {
                let path = field.prefix(part);
                return Err(Error::new(HASHED_ARRAY, format!("hashed indexes hold no arrays, and '{path}' is one")));
            }
        };
        let value = if field.is_hashed() { Value::Int64(hash_value(&value)) } else { value };
        keys.builder.append_field(&value, field.direction(), generator.collator());
    }
    if !(generator.is_sparse() && missing == fields.len()) {
        keys.push();
    }
    Ok(())
}
