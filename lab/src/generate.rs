//! Seeded data for the built-in scenarios: the same seed gives the same bytes on every machine.
//!
//! Only operations that IEEE 754 fixes to the last bit are used (no logarithm, no power), and the
//! random numbers are [`Random`]'s own, so a figure in a report can be repeated anywhere.
//!
//! - [`readings()`]: sensors that report once a minute, some of it late;
//! - [`products()`]: sparse attributes of mixed type;
//! - [`reviews()`]: products with a few reviews each, and a few products with thousands.

mod hot_set;
mod products;
mod random;
mod readings;
mod reviews;

pub use hot_set::HotSet;
pub use products::{Products, products};
pub use random::Random;
pub use readings::{Readings, readings};
pub use reviews::{Reviews, reviews};

/// 2024-03-01T00:00:00Z, the first moment of all generated data, in milliseconds.
pub const EPOCH_MILLIS: i64 = 1_709_251_200_000;

/// Appends `count` words to `text`, with spaces between.
fn words(random: &mut Random, count: u64, text: &mut String) {
    const WORDS: [&str; 48] = [
        "light",
        "sturdy",
        "cheap",
        "quiet",
        "bright",
        "solid",
        "small",
        "large",
        "works",
        "broke",
        "arrived",
        "fits",
        "looks",
        "feels",
        "charges",
        "battery",
        "screen",
        "handle",
        "cable",
        "lid",
        "box",
        "colour",
        "weight",
        "sound",
        "motor",
        "fabric",
        "glass",
        "steel",
        "after",
        "before",
        "within",
        "without",
        "a week",
        "a month",
        "one day",
        "again",
        "never",
        "always",
        "well",
        "badly",
        "as shown",
        "as told",
        "for the price",
        "for a gift",
        "at home",
        "at work",
        "outdoors",
        "exactly",
    ];
    for index in 0..count {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(WORDS[random.below(WORDS.len() as u64) as usize]);
    }
}
