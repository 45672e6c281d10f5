//! Products with sparse attributes: each category has some of all attributes, each product some of its
//! category's.

use bson::raw::CString;
use bson::{RawBson, RawDocumentBuf};

use super::{HotSet, Random, words};
use crate::documents::Documents;

/// How many products, with attributes from how many.
#[derive(Clone, Copy, Debug)]
pub struct Products {
    /// Products.
    pub products: u32,
    /// Attributes there are, at least one to a category.
    pub attributes: u32,
    /// Categories of products, the first the largest.
    pub categories: u32,
    /// What makes the data what it is.
    pub seed: u64,
}

const ATTRIBUTES_OF_A_CATEGORY: usize = 24;

/// `{_id: int32, name, category, price: double, attr_017: ..., ...}` with 6 to 14 attributes, 10 on
/// average. An attribute has one type (int32, double, string or bool), but one in ten of them holds
/// integers in some products and strings in others.
///
/// Some attributes are in nearly every category and so in two products of five; most are in one, down
/// to one product in a thousand.
pub fn products(wanted: Products) -> Documents {
    let mut random = Random::stream(wanted.seed, "products");
    let categories = categories(wanted, &mut random);
    let names: Vec<CString> = (0..wanted.attributes)
        .map(|attribute| CString::try_from(format!("attr_{attribute:03}")).expect("no zero byte in it"))
        .collect();
    let sizes = HotSet::ranked((0..wanted.categories).collect());
    let mut documents = Documents::new();
    for id in 0..wanted.products {
        let category = sizes.pick(&mut random);
        let mut name = format!("product {id} ");
        words(&mut random, 4, &mut name);
        let mut document = RawDocumentBuf::new();
        document.append(bson::raw::cstr!("_id"), id as i32);
        document.append(bson::raw::cstr!("name"), name);
        document.append(bson::raw::cstr!("category"), format!("category-{category:02}"));
        document.append(bson::raw::cstr!("price"), (100 + random.below(99_900)) as f64 / 100.0);
        let mut attributes = categories[category].clone();
        random.shuffle(&mut attributes);
        attributes.truncate(6 + random.below(9) as usize);
        attributes.sort_unstable();
        for attribute in attributes {
            document.append(&names[attribute as usize], value(attribute, &mut random));
        }
        documents.push(&document);
    }
    documents
}

/// The attributes of each category: popular ones in many, and every attribute in at least one.
fn categories(wanted: Products, random: &mut Random) -> Vec<Vec<u32>> {
    let popular = HotSet::new(wanted.attributes as usize, random);
    let mut categories = vec![Vec::new(); wanted.categories.max(1) as usize];
    for attribute in 0..wanted.attributes {
        let category = attribute as usize % categories.len();
        categories[category].push(attribute);
    }
    let enough = ATTRIBUTES_OF_A_CATEGORY.min(wanted.attributes as usize);
    for category in &mut categories {
        while category.len() < enough {
            let attribute = popular.pick(random) as u32;
            if !category.contains(&attribute) {
                category.push(attribute);
            }
        }
    }
    categories
}

fn value(attribute: u32, random: &mut Random) -> RawBson {
    const STRINGS: [&str; 16] = [
        "aluminium",
        "black",
        "blue",
        "brushed",
        "cotton",
        "fast",
        "green",
        "grey",
        "large",
        "matte",
        "medium",
        "red",
        "small",
        "steel",
        "white",
        "wood",
    ];
    let string = |random: &mut Random| RawBson::String(STRINGS[random.below(16) as usize].to_owned());
    match attribute % 10 {
        0 | 3 | 5 | 8 => RawBson::Int32(random.below(1000) as i32),
        1 | 6 => RawBson::Double(random.below(100_000) as f64 / 100.0),
        2 | 9 => string(random),
        4 => RawBson::Boolean(random.one_in(3)),
        _ if random.one_in(3) => string(random),
        _ => RawBson::Int32(random.below(1000) as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn attributes_are_sparse_and_skewed() {
        let documents = products(Products { products: 20_000, attributes: 500, categories: 50, seed: 1 });
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for document in documents.iter() {
            for element in document.iter() {
                let key = element.expect("valid").0.as_str();
                if key.starts_with("attr_") {
                    *counts.entry(key.to_owned()).or_default() += 1;
                }
            }
        }
        assert_eq!(counts.len(), 500, "every attribute occurs");
        let total: u32 = counts.values().sum();
        assert!((190_000..210_000).contains(&total), "{total} values");
        let most = counts.values().max().expect("some");
        let least = counts.values().min().expect("some");
        assert!(*most > 6_000 && *least < 60, "{most} to {least}");
        let bytes = documents.bytes() / 20_000;
        assert!((250..420).contains(&bytes), "{bytes} bytes each");
    }
}
