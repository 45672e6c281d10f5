//! The `collation` document: its fields, their defaults, and what MongoDB refuses.

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};

use super::locale;

/// The version MongoDB 6.0 reports and demands.
const VERSION: &str = "57.1";

/// Whether upper or lower case comes first where only case differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaseFirst {
    /// As the tables have it: lower first.
    Off,
    /// Upper first.
    Upper,
    /// Lower first.
    Lower,
}

/// Whether spaces and punctuation count as characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alternate {
    /// They count.
    NonIgnorable,
    /// They matter from strength 4 on only.
    Shifted,
}

/// What `alternate: "shifted"` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaxVariable {
    /// Spaces and punctuation.
    Punct,
    /// Spaces only.
    Space,
}

/// The settings of a collation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// ICU's name of the locale, such as `fr_CA` or `de@collation=phonebook`.
    pub locale: Box<str>,
    /// 1 base letters, 2 accents, 3 case and variants, 4 punctuation (when shifted), 5 code points.
    pub strength: u8,
    /// Whether case counts at strengths 1 and 2.
    pub case_level: bool,
    /// Which case comes first, where that is not as the locale has it.
    pub case_first: Option<CaseFirst>,
    /// Whether digits compare as numbers.
    pub numeric_ordering: bool,
    /// Whether spaces and punctuation count, where that is not as the locale has it.
    pub alternate: Option<Alternate>,
    /// What `alternate` covers.
    pub max_variable: MaxVariable,
    /// Whether text is checked for normal form; comparison always works as if it were.
    pub normalization: bool,
    /// Whether accents compare from the end of the string.
    pub backwards: bool,
}

impl Spec {
    /// Reads the document; `None` for the simple order.
    ///
    /// # Errors
    /// See [`super::Collation::parse`].
    pub fn parse(document: Doc<'_>) -> Result<Option<Spec>> {
        let mut spec = Spec {
            locale: "".into(),
            strength: 3,
            case_level: false,
            case_first: None,
            numeric_ordering: false,
            alternate: None,
            max_variable: MaxVariable::Punct,
            normalization: false,
            backwards: false,
        };
        let (mut locale, mut backwards, mut version) = (None, None, None);
        for element in document {
            let (name, value) = (element.key_str(), element.value());
            match name {
                "locale" if matches!(value, Value::Null | Value::Undefined) => {}
                "locale" => locale = Some(text(name, value)?),
                "backwards" => backwards = Some(flag(name, value)?),
                _ if matches!(value, Value::Null | Value::Undefined) && is_field(name) => {}
                "strength" => spec.strength = strength(value)?,
                "caseLevel" => spec.case_level = flag(name, value)?,
                "numericOrdering" => spec.numeric_ordering = flag(name, value)?,
                "normalization" => spec.normalization = flag(name, value)?,
                "version" => version = Some(text(name, value)?),
                "caseFirst" => {
                    spec.case_first = Some(match text(name, value)? {
                        "off" => CaseFirst::Off,
                        "upper" => CaseFirst::Upper,
                        "lower" => CaseFirst::Lower,
                        other => return Err(no_choice(name, other)),
                    });
                }
                "alternate" => {
                    spec.alternate = Some(match text(name, value)? {
                        "non-ignorable" => Alternate::NonIgnorable,
                        "shifted" => Alternate::Shifted,
                        other => return Err(no_choice(name, other)),
                    });
                }
                "maxVariable" => {
                    spec.max_variable = match text(name, value)? {
                        "punct" => MaxVariable::Punct,
                        "space" => MaxVariable::Space,
                        other => return Err(no_choice(name, other)),
                    }
                }
                _ => return Err(Error::new(40415, format!("collation has no field '{name}'"))),
            }
        }
        let locale = locale.ok_or_else(|| Error::new(40414, "collation needs the field 'locale'"))?;
        if locale == "simple" {
            return Ok(None);
        }
        locale::check(locale).map_err(bad_value)?;
        if let Some(version) = version.filter(|version| *version != VERSION) {
            let why = format!("collation version {version} was asked for, and {VERSION} is what there is");
            return Err(Error::new(code::INCOMPATIBLE_COLLATION_VERSION, why));
        }
        spec.locale = locale.into();
        // Only Canadian French reads accents from the end unless told otherwise.
        spec.backwards = backwards.unwrap_or(locale == "fr_CA");
        // What is said and what is meant anyway are the same setting.
        spec.case_first = spec.case_first.filter(|case_first| *case_first != locale::case_first(locale));
        spec.alternate = spec.alternate.filter(|alternate| *alternate != locale::alternate(locale));
        if spec.backwards && spec.strength == 1 {
            return Err(bad_value("'backwards' makes no sense with strength 1"));
        }
        if spec.case_first() != CaseFirst::Off && !spec.case_level && spec.strength < 3 {
            return Err(bad_value("'caseFirst' needs 'caseLevel' or a strength above 2"));
        }
        Ok(Some(spec))
    }

    /// Which case comes first.
    pub fn case_first(&self) -> CaseFirst {
        self.case_first.unwrap_or_else(|| locale::case_first(&self.locale))
    }

    /// Whether spaces and punctuation count.
    pub fn alternate(&self) -> Alternate {
        self.alternate.unwrap_or_else(|| locale::alternate(&self.locale))
    }

    /// All settings, defaults filled in; for those that a locale has its own way, MongoDB shows the general
    /// default.
    pub fn to_document(&self) -> DocBuf {
        let mut builder = Builder::new();
        builder.append("locale", &*self.locale);
        builder.append("caseLevel", self.case_level);
        let case_first = match self.case_first.unwrap_or(CaseFirst::Off) {
            CaseFirst::Off => "off",
            CaseFirst::Upper => "upper",
            CaseFirst::Lower => "lower",
        };
        builder.append("caseFirst", case_first);
        builder.append("strength", i32::from(self.strength));
        builder.append("numericOrdering", self.numeric_ordering);
        let alternate = match self.alternate.unwrap_or(Alternate::NonIgnorable) {
            Alternate::NonIgnorable => "non-ignorable",
            Alternate::Shifted => "shifted",
        };
        builder.append("alternate", alternate);
        let max_variable = match self.max_variable {
            MaxVariable::Punct => "punct",
            MaxVariable::Space => "space",
        };
        builder.append("maxVariable", max_variable);
        builder.append("normalization", self.normalization);
        builder.append("backwards", self.backwards);
        builder.append("version", VERSION);
        builder.finish()
    }
}

fn is_field(name: &str) -> bool {
    matches!(
        name,
        "strength"
            | "caseLevel"
            | "caseFirst"
            | "numericOrdering"
            | "alternate"
            | "maxVariable"
            | "normalization"
            | "backwards"
            | "version"
    )
}

fn bad_value(message: impl Into<String>) -> Error {
    Error::new(code::BAD_VALUE, message)
}

fn no_choice(field: &str, value: &str) -> Error {
    bad_value(format!("collation.{field} cannot be '{value}'"))
}

fn wrong_type(field: &str, value: Value<'_>, expected: &str) -> Error {
    let why = format!("collation.{field} is of type {}, expected {expected}", value.kind().alias());
    Error::new(code::TYPE_MISMATCH, why)
}

fn text<'a>(field: &str, value: Value<'a>) -> Result<&'a str> {
    value.as_str().ok_or_else(|| wrong_type(field, value, "string"))
}

fn flag(field: &str, value: Value<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong_type(field, value, "bool"))
}

fn strength(value: Value<'_>) -> Result<u8> {
    let number = value.as_f64().ok_or_else(|| wrong_type("strength", value, "a number"))?;
    // Fractions are cut off.
    match number.trunc() {
        n if (1.0..=5.0).contains(&n) => Ok(n as u8),
        0.0 => Err(no_choice("strength", "0")),
        n => Err(Error::new(51024, format!("collation.strength must be from 1 to 5, not {n}"))),
    }
}
