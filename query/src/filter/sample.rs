//! `$sampleRate`: a share of the documents, chosen at random.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use bindery_document::{Error, Result, Value, code};

use super::Filter;

/// Parses the rate.
///
/// # Errors
/// Code 2 for anything but a number from 0 to 1.
pub(super) fn parse(operand: Value<'_>) -> Result<Filter> {
    let rate = operand.as_f64().ok_or_else(|| Error::new(code::BAD_VALUE, "$sampleRate needs a number"))?;
    if !(0.0..=1.0).contains(&rate) {
        return Err(Error::new(code::BAD_VALUE, "$sampleRate must be from 0 to 1"));
    }
    Ok(if rate == 1.0 { Filter::AlwaysTrue } else { Filter::SampleRate(rate) })
}

/// Whether this draw is taken. The generator is each thread's own (xorshift, seeded by the system).
pub(super) fn draw(rate: f64) -> bool {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0u8) | 1);
    }
    STATE.with(|state| {
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        // The upper 53 bits are a double from 0 to 1, without 1.
        ((x >> 11) as f64) / ((1u64 << 53) as f64) < rate
    })
}
