//! Random collations.

use bson::{Document, doc};

use super::random::Random;

/// A collation as commands and indexes take it; seldom one that is refused.
pub(super) fn collation(random: &mut Random) -> Document {
    if random.chance(6) {
        return doc! { "locale": "simple" };
    }
    let mut collation = doc! { "locale": random.pick(&["en", "en", "en", "en_US", "de", "fr", "sv", "fr_CA"]) };
    if random.chance(85) {
        collation.insert("strength", random.between(1, 3));
    }
    if random.chance(15) {
        collation.insert("caseLevel", random.chance(70));
    }
    if random.chance(15) {
        collation.insert("caseFirst", random.pick(&["upper", "lower", "off"]));
    }
    if random.chance(20) {
        collation.insert("numericOrdering", true);
    }
    collation
}
