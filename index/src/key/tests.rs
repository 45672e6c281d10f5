//! The law of ordered keys, attacked with all type pairs, numeric edges and random values.

use std::cmp::Ordering;

use bindery_document::order::compare;
use bindery_document::{Builder, Decimal, Doc, OwnedValue, Text, Value};

use super::*;
use crate::RecordId;

/// xorshift64*: enough for tests, repeatable by its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

fn decimal(text: &str) -> Decimal {
    Decimal::from_bytes(text.parse::<bson::Decimal128>().expect("decimal").bytes())
}

/// Doubles near every edge of the encoding, and their neighbours.
fn edge_doubles() -> Vec<f64> {
    let mut doubles = vec![0.1, 0.5, 1.5, 1.0 / 3.0, 19.99, 1e23, 1e300, 5e-324, f64::MIN_POSITIVE, 255.5, 127.25];
    for shift in 0..70 {
        doubles.extend([2f64.powi(shift), 2f64.powi(shift) + 0.5, 2f64.powi(-shift)]);
    }
    doubles.extend([10f64.powi(15), 10f64.powi(22), 10f64.powi(40), f64::MAX, f64::INFINITY, 0.0]);
    let around = doubles.iter().flat_map(|d| [d.next_down(), *d, d.next_up()]).collect::<Vec<_>>();
    around.iter().flat_map(|d| [*d, -*d]).chain([f64::NAN]).collect()
}

fn edge_integers() -> Vec<i64> {
    let mut integers = vec![0, i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1];
    for shift in 0..63 {
        integers.extend((-2..=2).flat_map(|d| [(1i64 << shift).wrapping_add(d), (-1i64 << shift).wrapping_add(d)]));
    }
    integers
}

fn edge_decimals() -> Vec<Decimal> {
    let mut decimals: Vec<Decimal> = [
        "0",
        "-0",
        "0E+3",
        "0E-6176",
        "0E+6111",
        "1",
        "1.0",
        "1.00",
        "10",
        "1E1",
        "0.1",
        "0.10",
        "0.5",
        "0.50",
        "1.5",
        "19.99",
        "19.990",
        "1E-6176",
        "1E+6144",
        "1.000000000000000000000000000000000E+6144",
        "9.999999999999999999999999999999999E+6144",
        "1E-400",
        "1E+400",
        "1E-324",
        "4.9E-324",
        "5E-324",
        "1.7976931348623157E+308",
        "1.7976931348623158E+308",
        "1.8E+308",
        "1E23",
        "1E22",
        "100000000000000000000000",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.5",
        "9007199254740991.5",
        "9223372036854775807",
        "9223372036854775807.5",
        "9223372036854775808",
        "9223372036854775808.0",
        "9223372036854775809",
        "9223372036854775807.99999999999999",
        "0.9999999999999999999999999999999999",
        "0.99999999999999994",
        "1.000000000000000000000000000000001",
        "36028797018963967.75",
        "36028797018963968.25",
        "36028797018963968.5",
        "72057594037927935.5",
        "127.999999999999999999999999999999",
        "128.0000000000000000000000000000001",
        "0.1000000000000000055511151231257827",
        "0.1000000000000000055511151231257828",
        "3.141592653589793238462643383279503",
        "3.141592653589793115997963468544185",
        "1234567890123456789012345678901234",
        "Infinity",
        "NaN",
        "2.2250738585072014E-308",
        "0.3333333333333333148296162562473909",
    ]
    .iter()
    .map(|text| decimal(text))
    .collect();
    for d in edge_doubles().into_iter().filter(|d| *d > 0.0) {
        // The shortest text of the double, and 34 digits of it: on either side, or exactly it.
        for text in [format!("{d:e}"), format!("{d:.33e}"), format!("{d:.16e}")] {
            decimals.extend(text.parse::<bson::Decimal128>().ok().map(|d| Decimal::from_bytes(d.bytes())));
        }
    }
    let negative: Vec<Decimal> = decimals
        .iter()
        .filter(|d| !d.is_nan())
        .map(|d| Decimal::from_bytes((u128::from_le_bytes(d.to_bytes()) ^ 1 << 127).to_le_bytes()))
        .collect();
    decimals.extend(negative);
    decimals
}

fn edge_numbers() -> Vec<OwnedValue> {
    let mut values: Vec<Value<'_>> = edge_doubles().into_iter().map(Value::Double).collect();
    for n in edge_integers() {
        values.push(Value::Int64(n));
        values.extend(i32::try_from(n).ok().map(Value::Int32));
    }
    values.extend(edge_decimals().into_iter().map(Value::Decimal128));
    values.into_iter().map(OwnedValue::new).collect()
}

fn random_number(random: &mut Random) -> Value<'static> {
    match random.below(6) {
        0 => Value::Int32(random.next() as i32 >> random.below(32)),
        1 => Value::Int64(random.next() as i64 >> random.below(64)),
        2 => Value::Double(f64::from_bits(random.next())),
        3 => Value::Double((random.next() as i64 >> random.below(64)) as f64 / (1u64 << random.below(60)) as f64),
        4 => {
            let coefficient = (u128::from(random.next()) << 64 | u128::from(random.next())) >> random.below(128);
            let exponent =
                if random.below(4) == 0 { random.below(12_288) as i32 - 6176 } else { -(random.below(40) as i32) };
            let decimal = Decimal::from_parts(random.below(2) == 0, coefficient % 10u128.pow(34), exponent);
            Value::Decimal128(decimal.expect("in range"))
        }
        // Short numbers of all types often meet.
        _ => {
            let (n, places) = (random.below(2000) as i64 - 1000, random.below(3) as i32);
            let decimal = Decimal::from_parts(n < 0, u128::from(n.unsigned_abs()), -places).expect("in range");
            let decimal = if random.below(2) == 0 { decimal } else { self::decimal(&format!("{}", n as f64 / 8.0)) };
            match random.below(3) {
                0 => Value::Double(n as f64 / 8.0),
                1 => Value::Int64(n / 10),
                _ => Value::Decimal128(decimal),
            }
        }
    }
}

/// A random value of any type, with few distinct texts and names so that values often tie.
fn random_value(random: &mut Random, depth: u32) -> OwnedValue {
    const TEXTS: [&str; 11] =
        ["", "\u{1}", "a\u{1}\0", "a", "a\0", "a\0\0", "a\0b", "ab", "b", "\u{7FF}\u{10FFFF}", "\0"];
    const NAMES: [&str; 4] = ["", "a", "ab", "b"];
    let text = Text::from(random.pick(&TEXTS));
    let name = Text::from(random.pick(&NAMES));
    let mut id = [0; 12];
    id[random.below(12) as usize] = random.next() as u8;
    let doc = |random: &mut Random, array: bool| {
        let mut builder = Builder::new();
        for i in 0..random.below(4) as usize {
            let value = random_value(random, depth + 1);
            if array {
                builder.append_index(i, value.value());
            } else {
                builder.append(random.pick(&NAMES), value.value());
            }
        }
        builder.finish()
    };
    let kinds = if depth > 3 { 16 } else { 20 };
    match random.below(kinds) {
        0 => Value::MinKey.into(),
        1 => Value::Undefined.into(),
        2 => Value::Null.into(),
        3..=5 => random_number(random).into(),
        6 => Value::String(text).into(),
        7 => Value::Symbol(text).into(),
        8 => {
            let bytes = vec![random.below(3) as u8 * 127; random.pick(&[0, 1, 2, 253, 254, 255, 256, 300])];
            Value::Binary { subtype: random.pick(&[0, 2, 4, 0xFF]), bytes: &bytes }.into()
        }
        9 => Value::ObjectId(id).into(),
        10 => Value::Boolean(random.below(2) == 0).into(),
        11 => Value::DateTime(random.next() as i64 >> random.below(64)).into(),
        12 => Value::Timestamp(random.next() >> random.below(64)).into(),
        13 => Value::Regex { pattern: name, options: Text::from(random.pick(&["", "i", "im"])) }.into(),
        14 => Value::DbPointer { namespace: text, id }.into(),
        15 => random.pick(&[Value::JavaScript(text), Value::MaxKey]).into(),
        16 => Value::JavaScriptWithScope { code: text, scope: doc(random, false).doc() }.into(),
        17 => Value::Array(doc(random, true).doc()).into(),
        _ => Value::Document(doc(random, false).doc()).into(),
    }
}

fn key_of(values: &[&OwnedValue], directions: Directions) -> KeyBuilder {
    let mut key = KeyBuilder::new();
    for (field, value) in values.iter().enumerate() {
        key.append(&value.value(), directions.of(field));
    }
    key
}

fn descending() -> Directions {
    [Direction::Descending].into_iter().collect()
}

fn assert_round_trip(value: &OwnedValue, directions: Directions) {
    let key = key_of(&[value], directions);
    let decoded = decode(key.as_bytes(), key.type_bits(), directions, 1).expect("decodes");
    let is_nan = |v: &OwnedValue| matches!(v.value(), Value::Double(d) if d.is_nan());
    assert!(
        decoded[0].value().is_identical(&value.value()) || is_nan(&decoded[0]) && is_nan(value),
        "{value:?} came back as {decoded:?} from {:02X?} / {:02X?}",
        key.as_bytes(),
        key.type_bits()
    );
    assert_eq!(field_end(key.as_bytes(), 0, directions.of(0)), Ok(key.as_bytes().len()), "{value:?}");
}

fn assert_order(a: &OwnedValue, b: &OwnedValue, key_a: &[u8], key_b: &[u8], wanted: Ordering) {
    assert_eq!(key_a.cmp(key_b), wanted, "{a:?} against {b:?}: {key_a:02X?} and {key_b:02X?}");
}

#[test]
fn numeric_edges_interleave_in_every_pair() {
    let values = edge_numbers();
    let keys: Vec<KeyBuilder> = values.iter().map(|v| key_of(&[v], Directions::ASCENDING)).collect();
    // All pairs would take minutes with decimals; sort first, then check neighbours and a stride of pairs.
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| keys[i].as_bytes().cmp(keys[j].as_bytes()));
    for distance in [1, 2, 7, 333] {
        for pair in order.windows(distance + 1) {
            let (i, j) = (pair[0], pair[distance]);
            let wanted = compare(&values[i].value(), &values[j].value());
            assert_order(&values[i], &values[j], keys[i].as_bytes(), keys[j].as_bytes(), wanted);
        }
    }
}

#[test]
fn numeric_edges_come_back_exactly() {
    for value in edge_numbers() {
        assert_round_trip(&value, Directions::ASCENDING);
        assert_round_trip(&value, descending());
    }
}

#[test]
fn byte_order_is_value_order_for_random_pairs() {
    let mut random = Random(0x5EED_0001);
    for _ in 0..40_000 {
        let (a, b) = (random_value(&mut random, 0), random_value(&mut random, 0));
        let wanted = compare(&a.value(), &b.value());
        let keys = |directions| (key_of(&[&a], directions), key_of(&[&b], directions));
        let (x, y) = keys(Directions::ASCENDING);
        assert_order(&a, &b, x.as_bytes(), y.as_bytes(), wanted);
        let (x, y) = keys(descending());
        assert_order(&a, &b, x.as_bytes(), y.as_bytes(), wanted.reverse());
    }
}

#[test]
fn byte_order_is_value_order_for_random_numbers() {
    let mut random = Random(0x5EED_0002);
    for _ in 0..40_000 {
        let (a, b) = (random_number(&mut random).into(), random_number(&mut random).into());
        let (x, y) = (key_of(&[&a], Directions::ASCENDING), key_of(&[&b], Directions::ASCENDING));
        assert_order(&a, &b, x.as_bytes(), y.as_bytes(), compare(&a.value(), &b.value()));
        assert_round_trip(&a, Directions::ASCENDING);
    }
}

#[test]
fn random_values_come_back_exactly() {
    let mut random = Random(0x5EED_0003);
    for _ in 0..20_000 {
        let value = random_value(&mut random, 0);
        assert_round_trip(&value, Directions::ASCENDING);
        assert_round_trip(&value, descending());
    }
}

#[test]
fn compound_keys_order_field_by_field_and_bounds_enclose_prefixes() {
    let mut random = Random(0x5EED_0004);
    for _ in 0..20_000 {
        let mut directions = Directions::ASCENDING;
        for field in 0..3 {
            directions.set(field, random.pick(&[Direction::Ascending, Direction::Descending]));
        }
        let a: Vec<OwnedValue> = (0..3).map(|_| random_value(&mut random, 2)).collect();
        let mut b: Vec<OwnedValue> = (0..3).map(|_| random_value(&mut random, 2)).collect();
        let shared = random.below(4) as usize;
        b[..shared].clone_from_slice(&a[..shared]);
        let field_order = |field: usize| {
            let order = compare(&a[field].value(), &b[field].value());
            if directions.of(field) == Direction::Descending { order.reverse() } else { order }
        };
        let (ids, refs) = ((random.below(300), random.below(300)), |v: &[OwnedValue]| v.to_vec());
        let entry = |values: &[OwnedValue], id: u64| {
            let mut key = key_of(&refs(values).iter().collect::<Vec<_>>(), directions);
            key.append_record_id(RecordId(id));
            key
        };
        let (x, y) = (entry(&a, ids.0), entry(&b, ids.1));
        let wanted =
            (0..3).fold(Ordering::Equal, |order, field| order.then(field_order(field))).then(ids.0.cmp(&ids.1));
        assert_eq!(x.as_bytes().cmp(y.as_bytes()), wanted, "{a:?} against {b:?} under {directions:?}");
        assert_eq!(record_id(x.as_bytes()), Ok(RecordId(ids.0)));
        let back = decode(x.as_bytes(), x.type_bits(), directions, 3).expect("decodes");
        assert_eq!(back.len(), 3);

        for n in 0..=3 {
            let prefix_order = (0..n).fold(Ordering::Equal, |order, field| order.then(field_order(field)));
            let bound = |place| {
                let mut bound = key_of(&b.iter().take(n).collect::<Vec<_>>(), directions);
                bound.end(place);
                bound
            };
            assert_eq!(x.as_bytes().cmp(bound(Place::Before).as_bytes()), prefix_order.then(Ordering::Greater));
            assert_eq!(x.as_bytes().cmp(bound(Place::After).as_bytes()), prefix_order.then(Ordering::Less));
            let prefix = key_of(&a.iter().take(n).collect::<Vec<_>>(), directions);
            assert_eq!(prefix_end(x.as_bytes(), n, directions), Ok(prefix.as_bytes().len()));
        }
    }
}

#[test]
fn sizes_are_those_promised() {
    let bson = bson::doc! {
        "null": null, "zero": 0, "byte": 63, "two": 64, "int": 1_000_000, "long": i64::MAX, "date": bson::DateTime::from_millis(1),
        "oid": bson::oid::ObjectId::from_bytes([7; 12]), "text": "abc", "double": 0.1, "price": "19.99".parse::<bson::Decimal128>().expect("decimal"),
    };
    let bytes = bson.to_vec().expect("bytes");
    let sizes: Vec<(usize, usize)> = Doc::from_stored(&bytes)
        .iter()
        .map(|e| {
            let key = key_of(&[&OwnedValue::new(e.value())], Directions::ASCENDING);
            (key.as_bytes().len(), key.type_bits().len())
        })
        .collect();
    let wanted = [(1, 0), (1, 0), (2, 0), (2, 0), (4, 0), (9, 1), (9, 0), (13, 0), (5, 0), (9, 1), (10, 1)];
    assert_eq!(sizes, wanted);
}

#[test]
fn collated_strings_order_by_their_sort_keys() {
    let fold = |text: &[u8], out: &mut Vec<u8>| out.extend(text.to_ascii_lowercase());
    let key = |text: &str| {
        let mut key = KeyBuilder::new();
        key.append_collated(&Value::from(text), Direction::Ascending, &fold);
        key.as_bytes().to_vec()
    };
    assert_eq!(key("Abc"), key("aBC"));
    assert!(key("a") < key("B") && key("B") < key("b\0"));
}

#[test]
fn rewinding_gives_the_key_as_it_was() {
    let mut key = KeyBuilder::new();
    key.append(&Value::Double(1.0), Direction::Ascending);
    let (mark, bytes, bits) = (key.mark(), key.as_bytes().to_vec(), key.type_bits().to_vec());
    key.append(&Value::Int64(5), Direction::Descending);
    key.rewind(mark);
    assert_eq!((key.as_bytes(), key.type_bits()), (&bytes[..], &bits[..]));
}

#[test]
fn broken_keys_are_errors() {
    let mut random = Random(0x5EED_0005);
    let mut out = Vec::new();
    for _ in 0..2_000 {
        let value = random_value(&mut random, 0);
        let directions = if random.below(2) == 0 { Directions::ASCENDING } else { descending() };
        let key = key_of(&[&value], directions);
        for cut in 0..key.as_bytes().len().min(40) {
            let cut = &key.as_bytes()[..cut];
            assert!(decode(cut, key.type_bits(), directions, 1).is_err(), "{value:?} cut to {cut:02X?}");
            assert!(field_end(cut, 0, directions.of(0)).is_err(), "{value:?} cut to {cut:02X?}");
        }
        let mut flipped = key.as_bytes().to_vec();
        let at = random.below(flipped.len() as u64) as usize;
        flipped[at] ^= 1 << random.below(8);
        // Any answer will do, as long as there is one.
        out.clear();
        let _ = KeyDecoder::new(&flipped, key.type_bits(), directions).next_into(&mut out);
        let _ = field_end(&flipped, 0, directions.of(0));
    }
    let nested = vec![marker::ARRAY; 100_000];
    assert!(decode(&nested, &[], Directions::ASCENDING, 1).is_err());
    assert!(field_end(&nested, 0, Direction::Ascending).is_err());
}
