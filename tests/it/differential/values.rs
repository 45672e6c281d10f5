//! Random values, paths and documents, weighted to what engines get wrong: arrays in arrays, null
//! beside missing, numbers of several types that are equal or nearly so, names that look like positions.

use bson::oid::ObjectId;
use bson::raw::cstr;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp};

use super::random::Random;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A path that documents may have: short, often nested, now and then with a position.
pub(super) fn path(random: &mut Random) -> String {
    let mut path = random.pick(&NAMES).to_owned();
    for _ in 0..random.weighted(&[60, 32, 8]) {
        path.push('.');
        path.push_str(random.pick(&["a", "b", "c", "b", "c", "0", "1"]));
    }
    path
}

/// A path without positions, for indexes and sorts most of the time.
pub(super) fn plain_path(random: &mut Random) -> String {
    let mut path = random.pick(&NAMES).to_owned();
    for _ in 0..random.weighted(&[60, 34, 6]) {
        path.push('.');
        path.push_str(random.pick(&NAMES));
    }
    path
}

/// Any value, nested up to `depth` levels.
pub(super) fn value(random: &mut Random, depth: usize) -> Bson {
    let nested = if depth == 0 { 0 } else { 1 };
    match random.weighted(&[14, 36, 16, 4, 12, 24 * nested, 20 * nested]) {
        0 => Bson::Null,
        1 => number(random),
        2 => string(random),
        3 => Bson::Boolean(random.chance(50)),
        4 => rare(random),
        5 => Bson::Array(array(random, depth - 1)),
        _ => Bson::Document(nested_document(random, depth - 1)),
    }
}

pub(super) fn array(random: &mut Random, depth: usize) -> Vec<Bson> {
    let items = random.weighted(&[12, 25, 35, 20, 8]);
    // Arrays of documents are what multikey paths are about.
    if depth > 0 && random.chance(35) {
        return (0..items).map(|_| Bson::Document(nested_document(random, depth - 1))).collect();
    }
    (0..items).map(|_| value(random, depth)).collect()
}

fn nested_document(random: &mut Random, depth: usize) -> Document {
    let mut document = Document::new();
    for _ in 0..random.weighted(&[8, 40, 40, 12]) {
        let name = if random.chance(4) { random.pick(&["0", "1"]) } else { random.pick(&NAMES) };
        document.insert(name, value(random, depth));
    }
    document
}

/// A document of a collection, with the given `_id`.
pub(super) fn document(random: &mut Random, id: i32) -> Document {
    let mut document = Document::new();
    document.insert("_id", id);
    for name in NAMES {
        if random.chance(85) {
            let depth = if random.chance(97) { 3 } else { 7 };
            document.insert(name, value(random, depth));
        }
    }
    document
}

pub(super) fn number(random: &mut Random) -> Bson {
    let small = random.between(-1, 5);
    match random.weighted(&[50, 12, 16, 8, 14]) {
        0 => Bson::Int32(small),
        1 => Bson::Int64(small.into()),
        2 => Bson::Double(f64::from(small) + random.pick(&[0.0, 0.0, 0.5])),
        3 => decimal(random.pick(&["0", "1", "1.0", "2.5", "-0", "3E+0", "0.1"])),
        _ => edge(random),
    }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap_or_else(|_| Decimal128::from_bytes([0; 16])))
}

/// Numbers at the borders of their types.
fn edge(random: &mut Random) -> Bson {
    match random.below(16) {
        14 => Bson::Double(random.pick(&[5e-324, 4_294_967_296.0, 9.3e18, -9_223_372_036_854_775_808.0, 1.5e-5, 2.5])),
        15 => decimal(random.pick(&[
            "1E-6176",
            "9.999999999999999999999999999999999E+6144",
            "-1E+3",
            "0E+3",
            "-0.5",
            "1.50",
        ])),
        0 => Bson::Int32(i32::MAX),
        1 => Bson::Int32(i32::MIN),
        2 => Bson::Int64(i64::MAX),
        3 => Bson::Int64(i64::MIN),
        4 => Bson::Int64((1 << 53) + 1),
        5 => Bson::Double(9_007_199_254_740_992.0),
        6 => Bson::Double(f64::NAN),
        7 => Bson::Double(f64::INFINITY),
        8 => Bson::Double(f64::NEG_INFINITY),
        9 => Bson::Double(-0.0),
        10 => Bson::Double(0.1),
        11 => Bson::Double(1e300),
        12 => decimal(random.pick(&["NaN", "Infinity", "-Infinity", "1E+400", "9007199254740993"])),
        _ => Bson::Int64(i64::from(i32::MAX) + 1),
    }
}

pub(super) fn string(random: &mut Random) -> Bson {
    Bson::String(
        (random.pick(&["", "a", "b", "ab", "A", "aB", "10", "9", "\u{e4}", "a\nb", "a.b", "\u{c4}"])).to_owned(),
    )
}

/// Types that are seldom seen.
fn rare(random: &mut Random) -> Bson {
    match random.below(15) {
        12 => Bson::Undefined,
        13 => Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code: "x".to_owned(), scope: Document::new() }),
        14 => Bson::Binary(Binary {
            subtype: random.pick(&[BinarySubtype::Function, BinarySubtype::Md5, BinarySubtype::UserDefined(128)]),
            bytes: vec![random.pick(&[0, 1, 255]); random.below(3)],
        }),
        0 => Bson::MinKey,
        1 => Bson::MaxKey,
        2 | 3 => Bson::DateTime(DateTime::from_millis(i64::from(random.between(-1, 2)) * 1000)),
        4 | 5 => Bson::ObjectId(ObjectId::from_bytes([random.between(0, 2) as u8; 12])),
        6 => Bson::Timestamp(Timestamp { time: 1, increment: random.between(1, 2) as u32 }),
        7 | 8 => Bson::Binary(Binary {
            subtype: if random.chance(70) { BinarySubtype::Generic } else { BinarySubtype::Uuid },
            bytes: vec![1; random.below(3)],
        }),
        9 => Bson::RegularExpression(regex(random)),
        10 => Bson::JavaScriptCode("x".to_owned()),
        _ => Bson::Symbol((random.pick(&["a", "b"])).to_owned()),
    }
}

pub(super) fn regex(random: &mut Random) -> Regex {
    let patterns = [
        cstr!("^a"),
        cstr!("a"),
        cstr!("b$"),
        cstr!("^$"),
        cstr!("^ab?"),
        cstr!("."),
        cstr!("^a\\.b"),
        cstr!("^\\d"),
        cstr!("^a|^b"),
    ];
    Regex {
        pattern: random.pick(&patterns).to_owned(),
        options: match random.weighted(&[75, 17, 4, 4]) {
            0 => cstr!(""),
            1 => cstr!("i"),
            2 => cstr!("s"),
            _ => cstr!("m"),
        }
        .to_owned(),
    }
}
