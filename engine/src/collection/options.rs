//! What a collection is declared to be, beside its documents and indexes: reading `create`'s options,
//! keeping them, and showing them again.
//!
//! Source: MongoDB's manual, "create", "Capped Collections" and "Schema Validation".

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Kind, Result, Value, code};
use bindery_query::collation::Collation;
use bindery_query::expression;
use bindery_query::filter::{Filter, ParseContext};

use crate::command::args::{Args, OUT_OF_RANGE};

/// Capped collections' sizes are multiples of this.
const CAPPED_UNIT: u64 = 256;

/// The name of the index on `_id`, if none is given.
const ID_INDEX_NAME: &str = "_id_";

/// A variable that the expression language knows and that is not available.
const NO_SUCH_BUILTIN: i32 = 51_144;

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
    /// Compiled; none if it asks for a variable that validators do not have (`$$NOW`), which the server finds out
    /// with each document, and then refuses it.
    pub(crate) filter: Option<Arc<Filter>>,
}

impl Validator {
    /// Compiles a validator of a collection with this default collation.
    ///
    /// # Errors
    /// What the filter language says, and 2 or 5626500 for operators that validators may not have.
    pub(crate) fn parse(document: Doc<'_>, collation: Option<Collation>) -> Result<Validator> {
        refuse_operators(document)?;
        let expressions = expression::ParseContext::new().staying_general().with_collation(collation.clone());
        let context = ParseContext { expressions, ..ParseContext::with_collation(collation) };
        let filter = match Filter::parse(document, &context) {
            Ok(filter) => Some(Arc::new(filter)),
            Err(error) if error.code == NO_SUCH_BUILTIN => None,
            Err(error) => return Err(error),
        };
        Ok(Validator { document: DocBuf::from(document), filter })
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
    /// The largest size, in bytes: one petabyte.
    pub(crate) const MAX_BYTES: i64 = 1 << 50;

    /// Bounds with the size rounded up as the server does.
    pub(crate) fn new(bytes: u64, documents: Option<u32>) -> Capped {
        Capped { bytes: bytes.div_ceil(CAPPED_UNIT) * CAPPED_UNIT, documents }
    }

    /// A size as `create` and `collMod` take it.
    ///
    /// # Errors
    /// 14 for what is no number, 51024 for one out of range.
    pub(crate) fn parse_size(field: &str, args: &Args<'_>) -> Result<Option<u64>> {
        match args.integer(field)? {
            None => Ok(None),
            Some(n) if (1..=Capped::MAX_BYTES).contains(&n) => Ok(Some(n.unsigned_abs())),
            Some(n) => Err(Error::new(
                OUT_OF_RANGE,
                format!("BSON field '{field}' value must be >= 1 and <= {}, actual value '{n}'", Capped::MAX_BYTES),
            )),
        }
    }

    /// A number of documents as `create` and `collMod` take it. The server takes a bound that cannot be for the
    /// largest one.
    ///
    /// # Errors
    /// 14 for what is no number, 51024 for one that is too large.
    pub(crate) fn parse_documents(field: &str, args: &Args<'_>) -> Result<Option<u32>> {
        match args.integer(field)? {
            None => Ok(None),
            Some(n) if n > i64::from(i32::MAX) => Err(Error::new(
                OUT_OF_RANGE,
                format!("BSON field '{field}' value must be < 2147483648, actual value '{n}'"),
            )),
            Some(n) => Ok(Some(u32::try_from(n).ok().filter(|&n| n > 0).unwrap_or(i32::MAX as u32))),
        }
    }
}

/// The index that a clustered collection is kept in the order of.
#[derive(Clone, Debug)]
pub(crate) struct Clustered {
    /// `{_id: 1}`, as it was given.
    pub(crate) key: DocBuf,
    /// Its name.
    pub(crate) name: String,
}

impl Clustered {
    /// # Errors
    /// 197 for another key than `_id`, 5979700 if it is not unique, 5979704 for another version than 2, 5979703
    /// for the form that only the server's own collections have.
    fn parse(value: &Value<'_>) -> Result<Clustered> {
        let Value::Document(doc) = value else {
            return Err(match value {
                Value::Boolean(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
                    Error::new(5_979_703, "a 'clusteredIndex' must be described by a document")
                }
                other => Error::new(
                    code::TYPE_MISMATCH,
                    format!("'clusteredIndex' is the wrong type '{}', expected an object", other.kind().alias()),
                ),
            });
        };
        let args = Args::of_statement("create", *doc, &["v", "key", "name", "unique"])?;
        let key = args.required_document("key")?;
        args.required("unique")?;
        if !args.loose_flag("unique")?.unwrap_or(false) {
            return Err(Error::new(5_979_700, "The clusteredIndex option requires unique: true to be specified"));
        }
        let mut fields = key.iter();
        let is_id = matches!((fields.next(), fields.next()), (Some(e), None) if e.key == b"_id" && e.value().as_f64() == Some(1.0));
        if !is_id {
            return Err(Error::new(
                code::INVALID_INDEX_SPECIFICATION_OPTION,
                "The clusteredIndex option is only supported for key: {_id: 1}",
            ));
        }
        if args.integer("v")?.is_some_and(|version| version != 2) {
            return Err(Error::new(5_979_704, "a clusteredIndex can only have v: 2"));
        }
        let name = args.string("name")?.unwrap_or(ID_INDEX_NAME).to_owned();
        Ok(Clustered { key: DocBuf::from(key), name })
    }

    fn show(&self, out: &mut Builder) {
        let open = out.open_document("clusteredIndex");
        out.append("v", 2);
        out.append("key", Value::Document(self.key.doc()));
        out.append("name", self.name.as_str());
        out.append("unique", true);
        out.close(open);
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
    /// The index whose order the collection is kept in.
    pub(crate) clustered: Option<Clustered>,
    /// Documents of a clustered collection whose `_id` is older than this many seconds are deleted.
    pub(crate) expire_after_seconds: Option<i64>,
    /// Options without an effect that are shown again, before the others and after the validator.
    inert: [Option<DocBuf>; 2],
}

impl CollectionOptions {
    /// Reads the options of a `create` command that makes a collection.
    ///
    /// # Errors
    /// 72 for options that do not go together, 51024 for sizes out of range, 14 for wrong types.
    pub(crate) fn parse(args: &Args<'_>) -> Result<CollectionOptions> {
        let mut options = CollectionOptions {
            capped: parse_capped(args)?,
            inert: parse_inert(args)?,
            ..CollectionOptions::default()
        };
        options.validation_level = args.string("validationLevel")?.map(ValidationLevel::parse).transpose()?;
        options.validation_action = args.string("validationAction")?.map(ValidationAction::parse).transpose()?;
        if let Some(collation) = args.document("collation")? {
            options.collation = Collation::parse(collation)?.map(|collation| collation.to_document());
        }
        if let Some(validator) = args.document("validator")?
            && !validator.is_empty()
        {
            options.validator = Some(Validator::parse(validator, options.default_collation()?)?);
        }
        options.parse_clustered(args)?;
        Ok(options)
    }

    /// How strings compare where a command does not say.
    ///
    /// # Errors
    /// None for options that were read by [`CollectionOptions::parse`].
    pub(crate) fn default_collation(&self) -> Result<Option<Collation>> {
        self.collation.as_ref().map_or(Ok(None), |collation| Collation::parse(collation.doc()))
    }

    /// Reads `clusteredIndex`, and what belongs to it.
    fn parse_clustered(&mut self, args: &Args<'_>) -> Result<()> {
        let is_flag = |value: &Value<'_>| value.kind() == Kind::Boolean || value.kind().is_number();
        let is_off = |value: &Value<'_>| is_flag(value) && !value.is_truthy();
        self.clustered = args
            .given("clusteredIndex")
            .filter(|value| !is_off(value))
            .map(|value| Clustered::parse(&value))
            .transpose()?;
        let invalid = |why: &str| Err(Error::new(code::INVALID_OPTIONS, why));
        if self.clustered.is_some() && self.capped.is_some() {
            return Err(Error::new(6_127_800, "a clustered collection cannot be capped"));
        }
        if self.clustered.is_some() && args.given("idIndex").is_some() {
            return invalid("The 'clusteredIndex' option is not supported with the 'idIndex' option");
        }
        match args.integer("expireAfterSeconds")? {
            None => {}
            Some(_) if self.clustered.is_none() && args.given("timeseries").is_none() => {
                return invalid(
                    "'expireAfterSeconds' is only supported with a 'timeseries' or a 'clusteredIndex' option",
                );
            }
            Some(seconds) if seconds < 0 => {
                return invalid("TTL index 'expireAfterSeconds' option cannot be less than 0");
            }
            Some(seconds) if seconds > i64::from(i32::MAX) => {
                return invalid("'expireAfterSeconds' must be within an acceptable range, try a lower number");
            }
            seconds => self.expire_after_seconds = seconds,
        }
        Ok(())
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
        let show_inert = |inert: &Option<DocBuf>, out: &mut Builder| {
            for element in inert.iter().flat_map(|inert| inert.doc().iter()) {
                out.append_element(element);
            }
        };
        show_inert(&self.inert[0], out);
        if let Some(validator) = &self.validator {
            out.append("validator", Value::Document(validator.document.doc()));
        }
        if let Some(level) = self.validation_level {
            out.append("validationLevel", level.word());
        }
        if let Some(action) = self.validation_action {
            out.append("validationAction", action.word());
        }
        show_inert(&self.inert[1], out);
        if let Some(collation) = &self.collation {
            out.append("collation", Value::Document(collation.doc()));
        }
        if let Some(clustered) = &self.clustered {
            clustered.show(out);
        }
        if let Some(seconds) = self.expire_after_seconds {
            out.append("expireAfterSeconds", seconds);
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
    let (size, documents) = (Capped::parse_size("size", args)?, Capped::parse_documents("max", args)?);
    let invalid = |why: &str| Err(Error::new(code::INVALID_OPTIONS, why));
    match (capped, size) {
        (false, None) if documents.is_none() => Ok(None),
        (false, _) => invalid("the 'capped' field needs to be true when either the 'size' or 'max' fields are present"),
        (true, None) => invalid("the 'size' field is required when 'capped' is true"),
        (true, Some(bytes)) => Ok(Some(Capped::new(bytes, documents))),
    }
}

/// Options that say nothing to this engine, checked, to be shown again.
fn parse_inert(args: &Args<'_>) -> Result<[Option<DocBuf>; 2]> {
    let (mut first, mut second) = (Builder::new(), Builder::new());
    if let Some(auto) = args.loose_flag("autoIndexId")? {
        first.append("autoIndexId", auto);
    }
    if args.flag("recordPreImages")? {
        first.append("recordPreImages", true);
    }
    if let Some(images) = args.document("changeStreamPreAndPostImages")? {
        let images = Args::of_statement("create.changeStreamPreAndPostImages", images, &["enabled"])?;
        images.required("enabled")?;
        if images.flag("enabled")? {
            first.append("changeStreamPreAndPostImages", Value::Document(images.doc));
        }
    }
    if let Some(engine) = args.document("storageEngine")? {
        check_storage_engine(engine)?;
        if !engine.is_empty() {
            first.append("storageEngine", Value::Document(engine));
        }
    }
    if let Some(defaults) = args.document("indexOptionDefaults")? {
        let defaults = Args::of_statement("create.indexOptionDefaults", defaults, &["storageEngine"])?;
        if let Some(engine) = defaults.document("storageEngine")? {
            check_storage_engine(engine)?;
            second.append("indexOptionDefaults", Value::Document(defaults.doc));
        }
    }
    Ok([first, second].map(|inert| Some(inert.finish()).filter(|inert| !inert.doc().is_empty())))
}

/// # Errors
/// 2 for an engine's options that are no document, 72 for an engine that is not known.
pub(crate) fn check_storage_engine(engines: Doc<'_>) -> Result<()> {
    for engine in engines.iter() {
        let name = engine.key_str();
        let Value::Document(options) = engine.value() else {
            return Err(Error::new(code::BAD_VALUE, format!("'storageEngine.{name}' has to be an embedded document.")));
        };
        // Scripts made for MongoDB name its engine; its options say nothing here.
        if !matches!(name, "wiredTiger" | "bindery") {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                format!("{name} is not a registered storage engine for this server"),
            ));
        }
        if let Some(option) = options.iter().find(|option| option.key != b"configString") {
            return Err(Error::new(code::INVALID_OPTIONS, format!("{name} has no option '{}'", option.key_str())));
        }
    }
    Ok(())
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
