//! Products and their reviews: most have a few, a few have thousands.

use bson::{DateTime, rawdoc};

use super::{EPOCH_MILLIS, Random, words};
use crate::documents::Documents;

/// How many products, and how many reviews at most.
#[derive(Clone, Copy, Debug)]
pub struct Reviews {
    /// Products.
    pub products: u32,
    /// No product has more reviews than this.
    pub most: u32,
    /// What makes the data what it is.
    pub seed: u64,
}

/// Products `{_id: int32, name, price: double, description}` and reviews
/// `{productId: int32, user, rating: int32, date, text}`, product by product, in no order of time.
///
/// Counts follow Pareto's law with shape 8/7 (median 3, and 14 on average if at most 5,000); dates lie
/// in two years, no two of a product the same.
pub fn reviews(wanted: Reviews) -> (Documents, Documents) {
    let mut random = Random::stream(wanted.seed, "reviews");
    let (mut products, mut reviews) = (Documents::new(), Documents::new());
    for id in 0..wanted.products as i32 {
        let (mut name, mut description) = (format!("product {id} "), String::new());
        words(&mut random, 3, &mut name);
        words(&mut random, 24, &mut description);
        products.push(&rawdoc! {
            "_id": id,
            "name": name,
            "price": (100 + random.below(99_900)) as f64 / 100.0,
            "description": description,
        });
        let count = count(&mut random, wanted.most);
        for n in 0..count {
            let mut text = String::new();
            let n_words = 6 + random.below(16);
            words(&mut random, n_words, &mut text);
            // One slot of the two years for each review keeps a product's dates apart.
            let slot = 2 * 365 * 86_400_000 / i64::from(count);
            let order = (i64::from(n) * 7919) % i64::from(count);
            let within = random.below(slot as u64) as i64;
            reviews.push(&rawdoc! {
                "productId": id,
                "user": format!("u{:06}", random.below(200_000)),
                "rating": 5 - (random.below(25) / 10 + random.below(25) / 10) as i32,
                "date": DateTime::from_millis(EPOCH_MILLIS + order * slot + within),
                "text": text,
            });
        }
    }
    (products, reviews)
}

/// `floor(3 u^(-7/8)) - 2` for u in (0, 1]. The eighth root by three square roots, which IEEE 754
/// defines to the last bit.
fn count(random: &mut Random, most: u32) -> u32 {
    let u = 1.0 - random.unit();
    let eighth_root = u.sqrt().sqrt().sqrt();
    let count = (3.0 * eighth_root / u) as u32 - 2;
    count.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn counts_are_skewed_and_dates_differ() {
        let (products, reviews) = reviews(Reviews { products: 20_000, most: 5_000, seed: 1 });
        assert_eq!(products.len(), 20_000);
        let mut dates: BTreeMap<i32, BTreeSet<i64>> = BTreeMap::new();
        for review in reviews.iter() {
            let date = review.get_datetime("date").expect("a date").timestamp_millis();
            let of = dates.entry(review.get_i32("productId").expect("an id")).or_default();
            assert!(of.insert(date), "two reviews at one moment");
        }
        let mut counts: Vec<usize> = dates.values().map(BTreeSet::len).collect();
        counts.sort_unstable();
        assert_eq!(counts.len(), 20_000, "every product has a review");
        assert_eq!(counts[10_000], 3, "the median");
        assert_eq!(*counts.last().expect("some"), 5_000);
        let mean = reviews.len() / 20_000;
        assert!((12..17).contains(&mean), "{mean} on average");
        let bytes = reviews.bytes() as usize / reviews.len();
        assert!((150..220).contains(&bytes), "{bytes} bytes a review");
    }
}
