//! Reading a command's arguments with MongoDB's checks: unknown fields, types, signs.
//!
//! Codes as MongoDB 6.0 gives them: 40415 for an unknown field, 40414 for a missing one, 14 for a wrong
//! type, 51024 for a number out of range. A null counts as an absent field wherever a type is asked for.

use bindery_document::{Doc, Error, Kind, Result, Value, code};

use crate::database::Planner;

/// A field that is given twice.
const DUPLICATE_FIELD: i32 = 40413;
/// An unknown field.
pub(crate) const UNKNOWN_FIELD: i32 = 40415;
/// A required field that is missing.
pub(crate) const MISSING_FIELD: i32 = 40414;
/// A null in place of an array.
const NO_OBJECT: i32 = 10_065;
/// A number outside of what the field allows.
pub(crate) const OUT_OF_RANGE: i32 = 51024;

/// Fields that every command takes; what the engine has no use for is checked elsewhere or has no effect
/// on a single node. The planner is this engine's own.
const GENERIC: [&str; 17] = [
    "$db",
    "lsid",
    "$clusterTime",
    "$readPreference",
    "$configServerState",
    "apiVersion",
    "apiStrict",
    "apiDeprecationErrors",
    "comment",
    "maxTimeMS",
    "readConcern",
    "writeConcern",
    "txnNumber",
    "autocommit",
    "startTransaction",
    "$queryOptions",
    Planner::FIELD,
];

/// The arguments of one command, or of one statement within a command.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    /// How error messages call it, such as `find` or `update.updates`.
    pub(crate) name: &'static str,
    pub(crate) doc: Doc<'a>,
}

impl<'a> Args<'a> {
    /// A command's arguments; the first field is the command's name and is not looked at.
    ///
    /// # Errors
    /// 40415 for a field that is neither in `fields` nor one that every command takes.
    pub(crate) fn of_command(name: &'static str, doc: Doc<'a>, fields: &[&str]) -> Result<Args<'a>> {
        for element in doc.iter().skip(1) {
            let key = element.key_str();
            if !fields.contains(&key) && !GENERIC.contains(&key) {
                return Err(unknown(name, key));
            }
        }
        Ok(Args { name, doc })
    }

    /// The arguments of a statement or an option document.
    ///
    /// # Errors
    /// 40415 for a field that is not in `fields`.
    pub(crate) fn of_statement(name: &'static str, doc: Doc<'a>, fields: &[&str]) -> Result<Args<'a>> {
        for element in doc.iter() {
            if !fields.contains(&element.key_str()) {
                return Err(unknown(name, element.key_str()));
            }
        }
        check_duplicates(name, doc)?;
        Ok(Args { name, doc })
    }

    /// The value as it is.
    pub(crate) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.doc.get(key)
    }

    /// The value, if there is one that is not null.
    pub(crate) fn given(&self, key: &str) -> Option<Value<'a>> {
        self.get(key).filter(|value| !matches!(value, Value::Null | Value::Undefined))
    }

    /// Some commands do take null for a value of these fields, and a wrong one.
    ///
    /// # Errors
    /// 14 if one of them is null.
    pub(crate) fn refuse_nulls(&self, fields: &[&str]) -> Result<()> {
        match fields.iter().find(|field| matches!(self.get(field), Some(Value::Null | Value::Undefined))) {
            Some(field) => Err(self.mismatch(field, Kind::Null, "another")),
            None => Ok(()),
        }
    }

    /// A required value; null counts as missing.
    pub(crate) fn required(&self, key: &str) -> Result<Value<'a>> {
        self.given(key).ok_or_else(|| self.missing(key))
    }

    /// A value that must be there, but may be null.
    pub(crate) fn required_or_null(&self, key: &str) -> Result<Value<'a>> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    /// An optional document.
    pub(crate) fn document(&self, key: &str) -> Result<Option<Doc<'a>>> {
        match self.given(key) {
            None => Ok(None),
            Some(Value::Document(doc)) => Ok(Some(doc)),
            Some(other) => Err(self.mismatch(key, other.kind(), "object")),
        }
    }

    /// A required string.
    pub(crate) fn required_string(&self, key: &str) -> Result<&'a str> {
        self.required(key)?;
        Ok(self.string(key)?.unwrap_or_default())
    }

    /// A required document.
    pub(crate) fn required_document(&self, key: &str) -> Result<Doc<'a>> {
        self.required(key)?;
        Ok(self.document(key)?.unwrap_or(bindery_document::doc::EMPTY))
    }

    /// An optional array; a null is refused with a code of its own.
    pub(crate) fn array(&self, key: &str) -> Result<Option<Doc<'a>>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Null | Value::Undefined) => {
                Err(Error::new(NO_OBJECT, format!("invalid parameter: expected an object ({key})")))
            }
            Some(Value::Array(doc)) => Ok(Some(doc)),
            Some(other) => Err(self.mismatch(key, other.kind(), "array")),
        }
    }

    /// A required array.
    pub(crate) fn required_array(&self, key: &str) -> Result<Doc<'a>> {
        self.required_or_null(key)?;
        Ok(self.array(key)?.unwrap_or(bindery_document::doc::EMPTY))
    }

    /// An optional array of documents; nulls in it are passed over, as the server does.
    pub(crate) fn documents(&self, key: &str) -> Result<Option<Vec<Doc<'a>>>> {
        let Some(list) = self.array(key)? else {
            return Ok(None);
        };
        let mut documents = Vec::new();
        for element in list {
            match element.value() {
                Value::Document(document) => documents.push(document),
                Value::Null | Value::Undefined => {}
                other => return Err(self.mismatch(key, other.kind(), "object")),
            }
        }
        Ok(Some(documents))
    }

    /// A required array of documents, as [`Args::documents`].
    pub(crate) fn required_documents(&self, key: &str) -> Result<Vec<Doc<'a>>> {
        self.required_or_null(key)?;
        Ok(self.documents(key)?.unwrap_or_default())
    }

    /// An optional string.
    pub(crate) fn string(&self, key: &str) -> Result<Option<&'a str>> {
        match self.given(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(self.mismatch(key, other.kind(), "string")),
        }
    }

    /// A flag that must be a boolean; false if absent.
    pub(crate) fn flag(&self, key: &str) -> Result<bool> {
        Ok(self.optional_flag(key)?.unwrap_or(false))
    }

    /// A flag that must be a boolean.
    pub(crate) fn optional_flag(&self, key: &str) -> Result<Option<bool>> {
        match self.given(key) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.mismatch(key, other.kind(), "bool")),
        }
    }

    /// A flag that may also be a number.
    pub(crate) fn loose_flag(&self, key: &str) -> Result<Option<bool>> {
        match self.given(key) {
            None => Ok(None),
            Some(
                value @ (Value::Boolean(_)
                | Value::Int32(_)
                | Value::Int64(_)
                | Value::Double(_)
                | Value::Decimal128(_)),
            ) => Ok(Some(value.is_truthy())),
            Some(other) => Err(self.mismatch(key, other.kind(), "bool")),
        }
    }

    /// A number that may not be negative; fractions are cut off.
    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>> {
        match self.integer(key)? {
            None => Ok(None),
            Some(n) => match u64::try_from(n) {
                Ok(n) => Ok(Some(n)),
                Err(_) => {
                    Err(Error::new(OUT_OF_RANGE, format!("BSON field '{key}' value must be >= 0, actual value '{n}'")))
                }
            },
        }
    }

    /// A number, cut to an integer.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>> {
        match self.given(key) {
            None => Ok(None),
            Some(value) => match to_integer(&value) {
                Some(n) => Ok(Some(n)),
                None => Err(self.mismatch(key, value.kind(), "long")),
            },
        }
    }

    /// The error for a field that is required and missing.
    fn missing(&self, key: &str) -> Error {
        Error::new(MISSING_FIELD, format!("BSON field '{}.{key}' is missing but a required field", self.name))
    }

    /// The error for a value of the wrong type.
    pub(crate) fn mismatch(&self, key: &str, found: Kind, expected: &str) -> Error {
        Error::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field '{}.{key}' is the wrong type '{}', expected type '{expected}'",
                self.name,
                found.alias()
            ),
        )
    }
}

/// A number made an integer, saturating at the ends; `None` for other types.
pub(crate) fn to_integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        Value::Double(d) => Some(*d as i64),
        // Unlike doubles, which are cut, decimals are rounded.
        Value::Decimal128(d) => Some(d.as_exact_i64().unwrap_or(d.to_f64().round_ties_even() as i64)),
        _ => None,
    }
}

/// Checks that no field is given twice. Arguments are few, so that each is held against those before it.
///
/// # Errors
/// 40413 for one that is.
pub(super) fn check_duplicates(name: &str, doc: Doc<'_>) -> Result<()> {
    for (position, element) in doc.iter().enumerate() {
        if doc.iter().take(position).any(|other| other.key == element.key) {
            let key = element.key_str();
            return Err(Error::new(DUPLICATE_FIELD, format!("BSON field '{name}.{key}' is a duplicate field")));
        }
    }
    Ok(())
}

fn unknown(name: &str, key: &str) -> Error {
    Error::new(UNKNOWN_FIELD, format!("BSON field '{name}.{key}' is an unknown field."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::doc;

    fn code_of<T>(result: Result<T>) -> i32 {
        result.err().map_or(0, |e| e.code)
    }

    #[test]
    fn arguments_are_checked_with_mongodbs_codes() {
        let doc =
            DocBuf::from_bson(&doc! {"find": "c", "skip": -1, "limit": "x", "flag": 1, "q": null}).expect("document");
        let known = ["skip", "limit", "flag", "q"];
        let args = Args::of_command("find", doc.doc(), &known).expect("known fields");
        assert_eq!(code_of(args.count("skip")), OUT_OF_RANGE);
        assert_eq!(code_of(args.count("limit")), code::TYPE_MISMATCH);
        assert_eq!(code_of(args.flag("flag")), code::TYPE_MISMATCH);
        assert_eq!(args.loose_flag("flag"), Ok(Some(true)));
        assert_eq!(code_of(args.required("q")), MISSING_FIELD);
        assert_eq!(args.document("q").map(|q| q.is_none()), Ok(true));
        assert_eq!(code_of(Args::of_command("find", doc.doc(), &known[..2])), UNKNOWN_FIELD);
    }
}
