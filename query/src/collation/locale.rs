//! The locales that MongoDB 6.0 accepts, by ICU's names, and their language tags.
//!
//! The order of each locale was compared with the server's over some 300 strings of many scripts. It is the
//! same but for a letter or two in `hy`, `kok`, `ln`, `lv` and `mr`, whose rules are newer here.
//!
//! Source: MongoDB's manual, "Collation Locales and Default Parameters", asked of a real server name by name.

use super::spec::{Alternate, CaseFirst};

/// Languages, and languages with script, region or variant.
const LOCALES: &[&str] = &[
    "af",
    "am",
    "ar",
    "as",
    "az",
    "be",
    "bg",
    "bn",
    "bo",
    "bs",
    "bs_Cyrl",
    "ca",
    "chr",
    "cs",
    "cy",
    "da",
    "de",
    "de_AT",
    "dsb",
    "dz",
    "ee",
    "el",
    "en",
    "en_US",
    "en_US_POSIX",
    "eo",
    "es",
    "et",
    "fa",
    "fa_AF",
    "fi",
    "fil",
    "fo",
    "fr",
    "fr_CA",
    "ga",
    "gl",
    "gu",
    "ha",
    "haw",
    "he",
    "hi",
    "hr",
    "hsb",
    "hu",
    "hy",
    "id",
    "ig",
    "is",
    "it",
    "ja",
    "ka",
    "kk",
    "kl",
    "km",
    "kn",
    "ko",
    "kok",
    "ky",
    "lb",
    "lkt",
    "ln",
    "lo",
    "lt",
    "lv",
    "mk",
    "ml",
    "mn",
    "mr",
    "ms",
    "mt",
    "my",
    "nb",
    "ne",
    "nl",
    "nn",
    "om",
    "or",
    "pa",
    "pl",
    "ps",
    "pt",
    "ro",
    "ru",
    "se",
    "si",
    "sk",
    "sl",
    "smn",
    "sq",
    "sr",
    "sr_Latn",
    "sv",
    "sw",
    "ta",
    "te",
    "th",
    "to",
    "tr",
    "ug",
    "uk",
    "ur",
    "vi",
    "wae",
    "yi",
    "yo",
    "zh",
    "zh_Hant",
    "zu",
];

/// Locales of MongoDB's whose order the tables do not hold.
const UNAVAILABLE: &[&str] = &["haw", "kl", "lkt", "se", "smn", "yi"];

/// Orders beside a locale's default: ICU's name, the language tag's, and the locales that have it.
const VARIANTS: &[(&str, &str, &[&str])] = &[
    ("phonebook", "phonebk", &["de", "de_AT"]),
    ("traditional", "trad", &["bn", "es", "fi", "kn", "vi"]),
    ("standard", "standard", &["zh", "zh_Hant"]),
    ("pinyin", "pinyin", &["zh_Hant"]),
    ("zhuyin", "zhuyin", &["zh", "zh_Hant"]),
    ("unihan", "unihan", &["ja", "ko", "zh", "zh_Hant"]),
    ("compat", "compat", &["ar"]),
];

/// Which case comes first unless told otherwise.
pub(super) fn case_first(locale: &str) -> CaseFirst {
    if matches!(split(locale).0, "da" | "mt") { CaseFirst::Upper } else { CaseFirst::Off }
}

/// Whether spaces and punctuation count unless told otherwise.
pub(super) fn alternate(locale: &str) -> Alternate {
    if split(locale).0 == "th" { Alternate::Shifted } else { Alternate::NonIgnorable }
}

/// Locales whose order is the root order, so that Canadian French differs in `backwards` alone.
#[cfg(feature = "collation")]
const ROOT_ORDER: &[&str] = &["en", "en_US", "fr", "fr_CA", "de", "it", "nl", "pt", "ga", "id", "ms", "sw", "lb", "zu"];

fn split(locale: &str) -> (&str, Option<&str>) {
    match locale.split_once("@collation=") {
        None => (locale, None),
        Some((base, variant)) => (base, Some(variant)),
    }
}

/// Whether the locale can be had.
///
/// # Errors
/// Why not, in words.
pub(super) fn check(locale: &str) -> Result<(), String> {
    let (base, variant) = split(locale);
    if !LOCALES.contains(&base) {
        return Err(format!("there is no collation locale '{locale}'"));
    }
    if UNAVAILABLE.contains(&base) {
        return Err(format!("the order of the locale '{locale}' is not available"));
    }
    match variant {
        None => Ok(()),
        Some(variant) if VARIANTS.iter().any(|(name, _, bases)| *name == variant && bases.contains(&base)) => Ok(()),
        Some(variant) => Err(format!("there is no collation '{variant}' of the locale '{base}'")),
    }
}

/// The BCP 47 tag of a locale that passed [`check`].
///
/// # Errors
/// Why accents cannot be compared backwards, in words.
#[cfg(feature = "collation")]
pub(super) fn language_tag(locale: &str, backwards: bool) -> Result<String, String> {
    let (base, variant) = split(locale);
    if ROOT_ORDER.contains(&base) && variant.is_none() {
        // The tables know `backwards` as a property of one locale only.
        return Ok(if backwards { "fr-CA".to_owned() } else { base.replace("fr_CA", "fr").replace('_', "-") });
    }
    if backwards {
        return Err(format!("'backwards' is not available for the locale '{locale}'"));
    }
    let tag = base.replace('_', "-");
    let order = variant.and_then(|variant| VARIANTS.iter().find(|(name, ..)| *name == variant));
    Ok(match order {
        None => tag,
        Some((_, order, _)) => format!("{tag}-u-co-{order}"),
    })
}
