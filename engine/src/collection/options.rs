//! What a collection is declared to be, beside its documents and indexes: reading `create`'s options,
//! keeping them, and showing them again.
//!
//! Source: MongoDB's manual, "create", "Capped Collections" and "Schema Validation".

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_query::collation::Collation;
use bindery_query::filter::{Filter, ParseContext};

use crate::command::args::{Args, OUT_OF_RANGE};

/// Capped collections' sizes are multiples of this.
const CAPPED_UNIT: u64 = 256;

/// How strictly a validator is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ValidationLevel {
    /// Not at all.
    Off,
    /// To inserts and updates.
    #[default]
    Strict,
    /// To inserts, and to updates of documents that were valid.
    Moderate,
}

impl ValidationLevel {
    /// # Errors
    /// 2 for another word.
    pub(crate) fn parse(word: &str) -> Result<ValidationLevel> {
        match word {
            "off" => Ok(ValidationLevel::Off),
            "strict" => Ok(ValidationLevel::Strict),
            "moderate" => Ok(ValidationLevel::Moderate),
            other => Err(Error::new(code::BAD_VALUE, format!("'{other}' is no validation level"))),
        }
    }

    fn word(self) -> &'static str {
        match self {
            ValidationLevel::Off => "off",
            ValidationLevel::Strict => "strict",
            ValidationLevel::Moderate => "moderate",
        }
    }
}

/// What happens to a document that is not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ValidationAction {
    /// It is refused.
    #[default]
    Error,
    /// It is accepted.
    Warn,
}

impl ValidationAction {
    /// # Errors
    /// 2 for another word.
    pub(crate) fn parse(word: &str) -> Result<ValidationAction> {
        match word {
            "error" => Ok(ValidationAction::Error),
            "warn" => Ok(ValidationAction::Warn),
            other => Err(Error::new(code::BAD_VALUE, format!("'{other}' is no validation action"))),
        }
    }

    fn word(self) -> &'static str {
        match self {
            ValidationAction::Error => "error",
            ValidationAction::Warn => "warn",
        }
    }
}

/// A validator, as declared and compiled.
#[derive(Clone)]
pub(crate) struct Validator {
    /// As declared.
    pub(crate) document: DocBuf,
    /// Compiled.
    pub(crate) filter: Arc<Filter>,
}

impl Validator {
    /// # Errors
    /// What the filter language says, and 2 or 5626500 for operators that validators may not have.
    pub(crate) fn parse(document: Doc<'_>) -> Result<Validator> {
        refuse_operators(document)?;
        let filter = Filter::parse(document, &ParseContext::default())?;
        Ok(Validator { document: DocBuf::from(document), filter: Arc::new(filter) })
    }
}

/// The bounds of a capped collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capped {
    /// The most bytes of documents.
    pub(crate) bytes: u64,
    /// The most documents, if that is bounded too.
    pub(crate) documents: Option<u32>,
}

impl Capped {
    /// Bounds with the size rounded up as the server does.
    pub(crate) fn new(bytes: u64, documents: Option<u32>) -> Capped {
        Capped { bytes: bytes.div_ceil(CAPPED_UNIT) * CAPPED_UNIT, documents }
    }
}

/// The options in force.
#[derive(Clone, Default)]
pub(crate) struct CollectionOptions {
    /// The bounds, if the collection is capped.
    pub(crate) capped: Option<Capped>,
    /// What documents must match.
    pub(crate) validator: Option<Validator>,
    /// How strictly, if that was said.
    pub(crate) validation_level: Option<ValidationLevel>,
    /// And what happens if they do not.
    pub(crate) validation_action: Option<ValidationAction>,
    /// The default collation document, whole.
    pub(crate) collation: Option<DocBuf>,
}

impl CollectionOptions {
    /// Reads the options of a `create` command that makes a collection.
    ///
    /// # Errors
    /// 72 for options that do not go together, 51024 for sizes out of range, 14 for wrong types.
    pub(crate) fn parse(args: &Args<'_>) -> Result<CollectionOptions> {
        let mut options = CollectionOptions { capped: parse_capped(args)?, ..CollectionOptions::default() };
        if let Some(validator) = args.document("validator")?
            && !validator.is_empty()
        {
            options.validator = Some(Validator::parse(validator)?);
        }
        options.validation_level = args.string("validationLevel")?.map(ValidationLevel::parse).transpose()?;
        options.validation_action = args.string("validationAction")?.map(ValidationAction::parse).transpose()?;
        if let Some(collation) = args.document("collation")? {
            options.collation = Collation::parse(collation)?.map(|collation| collation.to_document());
        }
        Ok(options)
    }

    /// Appends the options as `listCollections` shows them, in the server's order.
    pub(crate) fn show(&self, out: &mut Builder) {
        if let Some(capped) = self.capped {
            out.append("capped", true);
            append_number(out, "size", capped.bytes);
            if let Some(documents) = capped.documents {
                append_number(out, "max", u64::from(documents));
            }
        }
        if let Some(validator) = &self.validator {
            out.append("validator", Value::Document(validator.document.doc()));
        }
        if let Some(level) = self.validation_level {
            out.append("validationLevel", level.word());
        }
        if let Some(action) = self.validation_action {
            out.append("validationAction", action.word());
        }
        if let Some(collation) = &self.collation {
            out.append("collation", Value::Document(collation.doc()));
        }
    }
}

/// Appends a count: an int32 if it fits, as the server does.
pub(crate) fn append_number(out: &mut Builder, key: &str, n: u64) {
    match i32::try_from(n) {
        Ok(small) => out.append(key, small),
        Err(_) => out.append(key, i64::try_from(n).unwrap_or(i64::MAX)),
    }
}

fn parse_capped(args: &Args<'_>) -> Result<Option<Capped>> {
    let capped = args.loose_flag("capped")?.unwrap_or(false);
    let (size, max) = (args.integer("size")?, args.integer("max")?);
    let invalid = |why: &str| Err(Error::new(code::INVALID_OPTIONS, why));
    match (capped, size) {
        (false, None) if max.is_some() => invalid("the 'max' field requires the 'capped' field to be true"),
        (false, None) => Ok(None),
        (false, Some(_)) => invalid("the 'size' field requires the 'capped' field to be true"),
        (true, None) => invalid("the 'size' field is required when 'capped' is true"),
        (true, Some(size)) => {
            let Some(bytes) = u64::try_from(size).ok().filter(|&n| n > 0 && n < 1 << 50) else {
                return Err(Error::new(OUT_OF_RANGE, format!("the 'size' of a capped collection cannot be {size}")));
            };
            let documents = match max {
                None => None,
                Some(n) if n > i64::from(i32::MAX) => {
                    return Err(Error::new(OUT_OF_RANGE, "the 'max' of a capped collection must be less than 2^31"));
                }
                // The server takes a bound that cannot be for the largest one.
                Some(n) => Some(u32::try_from(n).ok().filter(|&n| n > 0).unwrap_or(i32::MAX as u32)),
            };
            Ok(Some(Capped::new(bytes, documents)))
        }
    }
}

/// Operators that need an index or a script cannot be asked of one document.
fn refuse_operators(document: Doc<'_>) -> Result<()> {
    for element in document.iter() {
        match element.key {
            b"$near" | b"$nearSphere" | b"$geoNear" => {
                return Err(Error::new(5_626_500, format!("{} is not allowed in this context", element.key_str())));
            }
            b"$where" | b"$text" => {
                return Err(Error::new(
                    code::BAD_VALUE,
                    format!("{} is not allowed in this context", element.key_str()),
                ));
            }
            _ => {}
        }
        if let Value::Document(inner) | Value::Array(inner) = element.value() {
            refuse_operators(inner)?;
        }
    }
    Ok(())
}
