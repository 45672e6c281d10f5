//! Reading declarations: options of a layout, with MongoDB's codes for what is wrong.

use bindery_document::{Doc, Error, Result, Value, code};

/// Error 72: options that cannot be.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(code::INVALID_OPTIONS, message)
}

/// The options of one layout.
#[derive(Clone, Copy)]
pub(crate) struct Options<'a> {
    layout: &'static str,
    doc: Doc<'a>,
}

impl<'a> Options<'a> {
    /// # Errors
    /// 72 for options that the layout does not have.
    pub(crate) fn new(layout: &'static str, doc: Doc<'a>, known: &[&str]) -> Result<Options<'a>> {
        match doc.iter().find(|option| !known.contains(&option.key_str())) {
            Some(option) => Err(invalid(format!("the layout '{layout}' has no option '{}'", option.key_str()))),
            None => Ok(Options { layout, doc }),
        }
    }

    /// # Errors
    /// 14 for another type.
    fn mismatch(&self, option: &str, expected: &str) -> Error {
        Error::new(
            code::TYPE_MISMATCH,
            format!("the option '{option}' of the layout '{}' must be {expected}", self.layout),
        )
    }

    /// A top-level field's name.
    ///
    /// # Errors
    /// 14 if it is no string, 72 if it names no top-level field or `_id`.
    pub(crate) fn field(&self, option: &str) -> Result<Option<Box<str>>> {
        match self.doc.get(option) {
            None => Ok(None),
            Some(Value::String(name)) => check_field(name.as_str()).map(Some),
            Some(_) => Err(self.mismatch(option, "a string")),
        }
    }

    /// As [`Options::field`], for an option that must be there.
    pub(crate) fn required_field(&self, option: &str) -> Result<Box<str>> {
        self.field(option)?.ok_or_else(|| invalid(format!("the layout '{}' needs the option '{option}'", self.layout)))
    }

    /// A list of top-level fields.
    ///
    /// # Errors
    /// As [`Options::field`].
    pub(crate) fn fields(&self, option: &str) -> Result<Option<Vec<Box<str>>>> {
        match self.doc.get(option) {
            None => Ok(None),
            Some(Value::Array(names)) => {
                let mut fields = Vec::new();
                for name in names {
                    match name.value() {
                        Value::String(name) => fields.push(check_field(name.as_str())?),
                        _ => return Err(self.mismatch(option, "an array of strings")),
                    }
                }
                Ok(Some(fields))
            }
            Some(_) => Err(self.mismatch(option, "an array of strings")),
        }
    }

    /// A whole number from 1 on.
    ///
    /// # Errors
    /// 14 for another type, 72 for another number.
    pub(crate) fn count(&self, option: &str) -> Result<Option<u32>> {
        match self.doc.get(option) {
            None => Ok(None),
            Some(value) => match value.as_exact_i64() {
                Some(n) => match u32::try_from(n) {
                    Ok(n) if n > 0 => Ok(Some(n)),
                    _ => Err(invalid(format!("the option '{option}' of the layout '{}' cannot be {n}", self.layout))),
                },
                None => Err(self.mismatch(option, "a whole number")),
            },
        }
    }

    /// A flag.
    ///
    /// # Errors
    /// 14 for what is no boolean.
    pub(crate) fn flag(&self, option: &str) -> Result<Option<bool>> {
        match self.doc.get(option) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.mismatch(option, "a boolean")),
        }
    }

    /// A document.
    ///
    /// # Errors
    /// 14 for another type.
    pub(crate) fn document(&self, option: &str) -> Result<Option<Doc<'a>>> {
        match self.doc.get(option) {
            None => Ok(None),
            Some(Value::Document(doc)) => Ok(Some(doc)),
            Some(_) => Err(self.mismatch(option, "a document")),
        }
    }
}

fn check_field(name: &str) -> Result<Box<str>> {
    if name.is_empty() || name == "_id" || name.starts_with('$') || name.contains('.') {
        return Err(invalid(format!("'{name}' is no top-level field that a layout can bind")));
    }
    Ok(name.into())
}
