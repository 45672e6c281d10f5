use super::*;
use bindery_document::DocBuf;
use bson::doc;

fn collation(document: bson::Document) -> Collation {
    let document = DocBuf::from_bson(&document).expect("document");
    Collation::parse(document.doc()).expect("collation").expect("not simple")
}

fn code(document: bson::Document) -> i32 {
    let document = DocBuf::from_bson(&document).expect("document");
    Collation::parse(document.doc()).expect_err("an error").code
}

fn sorted(collation: &Collation, texts: &[&'static str]) -> Vec<&'static str> {
    let mut texts = texts.to_vec();
    texts.sort_by(|a, b| collation.compare(a.as_bytes(), b.as_bytes()));
    texts
}

#[test]
fn strengths_compare_letters_accents_and_case() {
    let equal = |strength: i32, a: &str, b: &str| {
        collation(doc! {"locale": "en", "strength": strength}).compare(a.as_bytes(), b.as_bytes()) == Ordering::Equal
    };
    assert!(equal(1, "e", "É") && equal(2, "e", "E") && !equal(2, "e", "é") && !equal(3, "e", "E"));
}

#[test]
fn order_follows_the_language() {
    assert_eq!(sorted(&collation(doc! {"locale": "sv"}), &["ä", "z", "a"]), ["a", "z", "ä"]);
    assert_eq!(sorted(&collation(doc! {"locale": "de"}), &["ä", "z", "a"]), ["a", "ä", "z"]);
    assert_eq!(sorted(&collation(doc! {"locale": "en", "numericOrdering": true}), &["a10", "a9"]), ["a9", "a10"]);
    assert_eq!(sorted(&collation(doc! {"locale": "en", "caseFirst": "upper"}), &["a", "A"]), ["A", "a"]);
    assert_eq!(sorted(&collation(doc! {"locale": "fr"}), &["côte", "coté"]), ["coté", "côte"]);
    assert_eq!(sorted(&collation(doc! {"locale": "fr", "backwards": true}), &["côte", "coté"]), ["côte", "coté"]);
    assert_eq!(sorted(&collation(doc! {"locale": "fr_CA"}), &["côte", "coté"]), ["côte", "coté"]);
}

#[test]
fn locales_have_defaults_of_their_own() {
    assert_eq!(sorted(&collation(doc! {"locale": "da"}), &["a", "A"]), ["A", "a"]);
    assert_eq!(sorted(&collation(doc! {"locale": "da", "caseFirst": "off"}), &["A", "a"]), ["a", "A"]);
    assert_eq!(collation(doc! {"locale": "th", "strength": 3}).compare(b"a-b", b"ab"), Ordering::Equal);
    assert_eq!(code(doc! {"locale": "da", "strength": 1}), 2);
    assert_eq!(code(doc! {"locale": "fr_CA", "strength": 1}), 2);
    assert_eq!(collation(doc! {"locale": "en"}), collation(doc! {"locale": "en", "caseFirst": "off"}));
}

#[test]
fn sort_keys_order_as_comparison_does() {
    let texts = ["", "a", "A", "á", "ab", "a b", "z", "Z", "ß", "ss", "日", "10", "9"];
    for document in [doc! {"locale": "en"}, doc! {"locale": "en", "strength": 1}, doc! {"locale": "de", "strength": 5}]
    {
        let collation = collation(document);
        for a in texts {
            for b in texts {
                let (mut x, mut y) = (Vec::new(), Vec::new());
                collation.write_sort_key(a.as_bytes(), &mut x);
                collation.write_sort_key(b.as_bytes(), &mut y);
                assert_eq!(x.cmp(&y), collation.compare(a.as_bytes(), b.as_bytes()), "{a} {b}");
            }
        }
    }
}

#[test]
fn malformed_collations_are_refused_with_their_codes() {
    assert_eq!(code(doc! {}), 40414);
    assert_eq!(code(doc! {"locale": "zz"}), 2);
    assert_eq!(code(doc! {"locale": 5}), 14);
    assert_eq!(code(doc! {"locale": "en", "foo": 1}), 40415);
    assert_eq!(code(doc! {"locale": "en", "strength": 0}), 2);
    assert_eq!(code(doc! {"locale": "en", "strength": 6}), 51024);
    assert_eq!(code(doc! {"locale": "en", "version": "58.1"}), 161);
    assert_eq!(code(doc! {"locale": "en", "caseFirst": "upper", "strength": 2}), 2);
    assert_eq!(code(doc! {"locale": "es", "backwards": true}), 2);
    assert_eq!(code(doc! {"locale": "yi"}), 2);
    assert_eq!(code(doc! {"locale": "en@collation=search"}), 2);
}

#[test]
fn settings_come_back_with_defaults() {
    let shown = collation(doc! {"locale": "en", "strength": 1.5}).to_document();
    assert_eq!(shown.doc().get("strength").and_then(|v| v.as_exact_i64()), Some(1));
    assert_eq!(shown.doc().get("version").and_then(|v| v.as_str()), Some("57.1"));
}
