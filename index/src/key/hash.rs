//! The hash of a value, as hashed indexes keep it: a signed 64-bit number.
//!
//! The first eight bytes, little-endian, of an MD5 over a canonical form in which values that compare
//! equal are the same bytes: a seed of four zero bytes, the number of the type's place in the order,
//! then the value's bytes. Numbers are cut to 64-bit integers first, so 1 and 1.7 share a hash and a lookup
//! must check what it finds. The numbers equal those of MongoDB, which shows them with `returnKey`.

use bindery_document::{Decimal, DecimalClass, Doc, Kind, Value};

/// The hash of a value. Arrays have one too, but hashed indexes refuse them.
pub fn hash_value(value: &Value<'_>) -> i64 {
    let mut canonical = Vec::with_capacity(64);
    canonical.extend_from_slice(&[0; 4]);
    append(value, b"", false, &mut canonical);
    let digest = md5::compute(&canonical).0;
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_le_bytes(first)
}

fn append(value: &Value<'_>, name: &[u8], named: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&type_number(value.kind()).to_le_bytes());
    if named {
        out.extend_from_slice(name);
        out.push(0);
    }
    match *value {
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            out.extend_from_slice(&integer(value).to_le_bytes());
        }
        Value::Document(doc) | Value::Array(doc) => append_elements(doc, out),
        Value::JavaScriptWithScope { code, scope } => {
            out.extend_from_slice(code.as_bytes());
            out.push(0);
            append_elements(scope, out);
        }
        _ => value.write_to(out),
    }
}

fn append_elements(doc: Doc<'_>, out: &mut Vec<u8>) {
    for element in doc {
        append(&element.value(), element.key, true, out);
    }
    out.extend_from_slice(&0i32.to_le_bytes());
}

/// The place of a type in the order, in the numbers that the canonical form uses.
fn type_number(kind: Kind) -> i32 {
    match kind {
        Kind::MinKey => -1,
        Kind::Undefined => 0,
        Kind::Null => 5,
        Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => 10,
        Kind::String | Kind::Symbol => 15,
        Kind::Document => 20,
        Kind::Array => 25,
        Kind::Binary => 30,
        Kind::ObjectId => 35,
        Kind::Boolean => 40,
        Kind::DateTime => 45,
        Kind::Timestamp => 47,
        Kind::Regex => 50,
        Kind::DbPointer => 55,
        Kind::JavaScript => 60,
        Kind::JavaScriptWithScope => 65,
        Kind::MaxKey => 127,
    }
}

/// A number cut to 64 bits: doubles toward zero, decimals to the nearest, the even one of two.
fn integer(value: &Value<'_>) -> i64 {
    match *value {
        Value::Int32(n) => i64::from(n),
        Value::Int64(n) => n,
        // 2^63 itself wraps around; everything beyond is clamped.
        Value::Double(9_223_372_036_854_775_808.0) => i64::MIN,
        Value::Double(d) => d as i64,
        Value::Decimal128(d) => rounded(d),
        _ => 0,
    }
}

fn rounded(d: Decimal) -> i64 {
    let DecimalClass::Finite { negative, coefficient, exponent } = d.class() else {
        return match d.class() {
            DecimalClass::Infinite(false) => i64::MAX,
            DecimalClass::Infinite(true) => i64::MIN,
            _ => 0,
        };
    };
    let scale = 10u128.checked_pow(exponent.unsigned_abs());
    let magnitude = match scale {
        _ if coefficient == 0 => 0,
        Some(scale) if exponent < 0 => {
            let (whole, rest) = (coefficient / scale, coefficient % scale);
            // Scales of 10^38 exceed twice any coefficient, so doubling the rest is safe.
            let half = (rest * 2).cmp(&scale);
            whole + u128::from(half.is_gt() || half.is_eq() && !whole.is_multiple_of(2))
        }
        None if exponent < 0 => 0,
        Some(scale) => coefficient.saturating_mul(scale),
        None => u128::MAX,
    };
    let clamped = i128::try_from(magnitude).unwrap_or(i128::MAX);
    let signed = if negative { -clamped } else { clamped };
    signed.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_document::DocBuf;
    use bson::{Bson, doc};

    fn hash(value: impl Into<Bson>) -> i64 {
        let doc = DocBuf::from_bson(&doc! {"v": value}).expect("document");
        hash_value(&doc.doc().get("v").expect("v"))
    }

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().expect("decimal"))
    }

    #[test]
    fn hashes_are_those_of_mongodb() {
        assert_eq!(hash(Bson::Null), 2_338_878_944_348_059_895);
        for one in [Bson::Int32(1), Bson::Int64(1), Bson::Double(1.0), Bson::Double(1.7), decimal("1.00")] {
            assert_eq!(hash(one), 5_902_408_780_260_971_510);
        }
        assert_eq!(hash(-1.7), 1_140_205_862_565_771_219);
        assert_eq!(hash(decimal("1.7")), 848_411_777_775_835_583);
        assert_eq!(hash("a"), 2_780_795_045_148_116_090);
        assert_eq!(hash(""), 2_049_396_243_249_673_340);
        assert_eq!(hash(doc! {"a": 1}), -8_705_610_352_600_103_477);
        assert_eq!(hash(doc! {}), 7_980_500_913_326_740_417);
        assert_eq!(hash(doc! {"a": {"b": [1, 2]}}), -2_455_729_632_014_814_444);
        assert_eq!(hash(true), 6_405_873_908_747_105_701);
        assert_eq!(hash(bson::DateTime::from_millis(1_577_836_800_000)), -8_439_725_397_068_880_569);
        assert_eq!(hash(Bson::Timestamp(bson::Timestamp { time: 1, increment: 2 })), 6_130_793_394_493_442_031);
        assert_eq!(hash(Bson::JavaScriptCode("x".into())), 6_541_829_121_976_638_719);
        assert_eq!(hash(Bson::MinKey), 7_961_148_599_568_647_290);
        assert_eq!(hash(Bson::MaxKey), 5_504_842_513_779_440_750);
        assert_eq!(hash(f64::NAN), 4_854_801_880_128_277_513);
        assert_eq!(hash(decimal("NaN")), 4_854_801_880_128_277_513);
        assert_eq!(hash(1i64 << 62), -7_843_268_048_599_641_581);
        for large in [Bson::Double(1e300), Bson::Double(f64::INFINITY), Bson::Double(9.3e18), decimal("1E400")] {
            assert_eq!(hash(large), 921_523_596_458_303_250);
        }
        for least in [-1e300, 9_223_372_036_854_775_808.0, -9_223_372_036_854_775_808.0] {
            assert_eq!(hash(least), 4_532_067_210_535_695_462);
        }
        let regex = Value::Regex { pattern: "a".into(), options: "i".into() };
        assert_eq!(hash_value(&regex), -1_736_204_118_293_582_337);
        assert_eq!(hash(bson::Binary { subtype: 0.into(), bytes: b"abc".to_vec() }), -5_469_096_009_886_218_469);
        assert_eq!(hash(bson::Binary { subtype: 2.into(), bytes: b"x".to_vec() }), 4_520_352_151_162_691_080);
        let scoped = bson::JavaScriptCodeWithScope { code: "x".into(), scope: doc! {"a": 1} };
        assert_eq!(hash(scoped), 1_114_765_668_211_402_900);
    }
}
