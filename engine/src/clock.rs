//! Time and ObjectIds: the only places where the engine looks outside itself, both injectable.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the engine takes the time from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A clock that stands still until it is set; milliseconds since the epoch.
    Fixed(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `millis` until [`Clock::set`].
    pub fn fixed(millis: i64) -> Clock {
        Clock::Fixed(Arc::new(AtomicI64::new(millis)))
    }

    /// Milliseconds since the epoch.
    pub fn now_millis(&self) -> i64 {
        match self {
            Clock::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
            }
            Clock::Fixed(millis) => millis.load(Ordering::Relaxed),
        }
    }

    /// Sets a fixed clock; the system's clock is not ours to set, and stays.
    pub fn set(&self, millis: i64) {
        if let Clock::Fixed(at) = self {
            at.store(millis, Ordering::Relaxed);
        }
    }
}

/// Makes ObjectIds: four bytes of time, five of the process, three that count.
#[derive(Debug)]
pub(crate) struct ObjectIds {
    process: [u8; 5],
    counter: AtomicU32,
}

impl ObjectIds {
    /// Ids as different processes make them.
    pub(crate) fn random() -> ObjectIds {
        // The bson crate seeds its own ids from the system's randomness.
        let bytes = bson::oid::ObjectId::new().bytes();
        let process = [bytes[4], bytes[5], bytes[6], bytes[7], bytes[8]];
        ObjectIds { process, counter: AtomicU32::new(u32::from_be_bytes([0, bytes[9], bytes[10], bytes[11]])) }
    }

    /// The same ids in every run.
    pub(crate) fn seeded(seed: u64) -> ObjectIds {
        let bytes = seed.to_be_bytes();
        ObjectIds { process: [bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]], counter: AtomicU32::new(0) }
    }

    /// The next id, for this time.
    pub(crate) fn next(&self, now_millis: i64) -> [u8; 12] {
        let count = self.counter.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let seconds = ((now_millis / 1000) as u32).to_be_bytes();
        let mut id = [0; 12];
        id[..4].copy_from_slice(&seconds);
        id[4..9].copy_from_slice(&self.process);
        id[9..].copy_from_slice(&count[1..]);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_ids_repeat_and_ascend() {
        let (a, b) = (ObjectIds::seeded(7), ObjectIds::seeded(7));
        let first = a.next(5_000);
        assert_eq!(first, b.next(5_000));
        assert!(a.next(5_000) > first);
    }

    #[test]
    fn a_fixed_clock_stands() {
        let clock = Clock::fixed(12);
        assert_eq!(clock.now_millis(), 12);
        clock.set(20);
        assert_eq!(clock.now_millis(), 20);
    }
}
