//! `{attribute: {path: "specs", fields: [...] | except: [...]}}`.

use bindery_document::{Builder, Doc, DocBuf, Result};

use super::{Attribute, Choice, part};
use crate::declare::{Options, invalid};

/// The array's name where none is declared.
const DEFAULT_PATH: &str = "attributes";

impl Attribute {
    /// Reads the options: `path` names the array; `fields` lists the attributes, or `except` the fields that
    /// are none. Without either, every field but `_id` is an attribute.
    ///
    /// # Errors
    /// 72 and 14 for options that cannot be.
    pub fn parse(options: Doc<'_>) -> Result<Attribute> {
        let options = Options::new("attribute", options, &["path", "fields", "except"])?;
        let path = options.field("path")?.unwrap_or_else(|| DEFAULT_PATH.into());
        let choice = match (options.fields("fields")?, options.fields("except")?) {
            (Some(_), Some(_)) => return Err(invalid("an attribute layout has 'fields' or 'except', not both")),
            (Some(fields), None) => Choice::Only(fields),
            (None, except) => Choice::AllBut(except.unwrap_or_default()),
        };
        Ok(Attribute { path, choice })
    }

    /// The index on names and values.
    pub(crate) fn indexes(&self) -> Vec<DocBuf> {
        let mut key = Builder::new();
        key.append(format!("{}.{}", self.path, part::NAME), 1);
        key.append(format!("{}.{}", self.path, part::VALUE), 1);
        vec![key.finish()]
    }

    /// Whether a top-level field is an attribute. The array's own name always is one, so that no kept field
    /// can be taken for the array.
    pub fn is_attribute(&self, name: &[u8]) -> bool {
        if name == b"_id" {
            return false;
        }
        let listed = |names: &[Box<str>]| names.iter().any(|other| other.as_bytes() == name);
        name == self.path.as_bytes()
            || match &self.choice {
                Choice::Only(fields) => listed(fields),
                Choice::AllBut(except) => !listed(except),
            }
    }
}
