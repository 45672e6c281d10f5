//! From page accesses to figures: of one kind of operation, and of the mixed workload.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::stack_distance::{LruStack, MissRatioCurve};
use crate::target::{PageKind, Trace};

/// What one operation of a kind costs on average: distinct pages within an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageFigures {
    /// Pages of separators.
    pub inner: f64,
    /// Pages of index entries.
    pub index_leaf: f64,
    /// Pages of documents.
    pub record: f64,
    /// Pages of parts of large documents.
    pub overflow: f64,
    /// Bytes of all of them.
    pub bytes: f64,
    /// Pages changed.
    pub dirtied: f64,
    /// Bytes of those.
    pub bytes_dirtied: f64,
}

impl PageFigures {
    /// Pages of all kinds.
    pub fn total(&self) -> f64 {
        self.inner + self.index_leaf + self.record + self.overflow
    }
}

/// Sums up traces of one kind of operation.
#[derive(Default)]
pub(super) struct Tally {
    operations: u64,
    traced_pages: bool,
    pages: PageFigures,
    keys_examined: u64,
    documents_examined: u64,
    index_entries_written: u64,
    /// Scratch: the pages of one operation, with whether they were changed.
    seen: FxHashMap<u64, (PageKind, u32, bool)>,
}

impl Tally {
    pub(super) fn add(&mut self, trace: &Trace) {
        self.operations += 1;
        self.keys_examined += trace.keys_examined;
        self.documents_examined += trace.documents_examined;
        self.index_entries_written += trace.index_entries_written;
        self.traced_pages |= !trace.touches.is_empty();
        self.seen.clear();
        for touch in &trace.touches {
            let page = self.seen.entry(touch.page).or_insert((touch.kind, touch.bytes, false));
            page.2 |= touch.dirtied;
        }
        for (kind, bytes, dirtied) in self.seen.values() {
            let count = match kind {
                PageKind::Inner => &mut self.pages.inner,
                PageKind::IndexLeaf => &mut self.pages.index_leaf,
                PageKind::Record => &mut self.pages.record,
                PageKind::Overflow => &mut self.pages.overflow,
            };
            *count += 1.0;
            self.pages.bytes += f64::from(*bytes);
            if *dirtied {
                self.pages.dirtied += 1.0;
                self.pages.bytes_dirtied += f64::from(*bytes);
            }
        }
    }

    fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.operations.max(1) as f64
    }

    pub(super) fn keys_examined(&self) -> f64 {
        self.mean(self.keys_examined)
    }

    pub(super) fn documents_examined(&self) -> f64 {
        self.mean(self.documents_examined)
    }

    pub(super) fn index_entries_written(&self) -> f64 {
        self.mean(self.index_entries_written)
    }

    /// Means per operation; `None` where the target told no pages.
    pub(super) fn pages(&self) -> Option<PageFigures> {
        if !self.traced_pages {
            return None;
        }
        let n = self.operations.max(1) as f64;
        let p = &self.pages;
        Some(PageFigures {
            inner: p.inner / n,
            index_leaf: p.index_leaf / n,
            record: p.record / n,
            overflow: p.overflow / n,
            bytes: p.bytes / n,
            dirtied: p.dirtied / n,
            bytes_dirtied: p.bytes_dirtied / n,
        })
    }
}

/// The mixed workload over a shared cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MixFigures {
    /// Operations that were counted, those that only filled the cache left out.
    pub operations: u64,
    /// Page accesses of those operations.
    pub accesses: u64,
    /// Distinct pages among them: the working set.
    pub pages: u64,
    /// Bytes of those pages.
    pub bytes: u64,
    /// The cache in bytes that hits 90, 95 and 99 % of the accesses; `null` where first accesses alone
    /// are more than the rest.
    pub cache_for_hits: [Option<u64>; 3],
    /// For each cache size, the bytes that would be read per thousand operations.
    pub missed: Vec<Missed>,
}

/// What a cache of one size misses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Missed {
    /// The cache's size in bytes.
    pub cache_bytes: u64,
    /// The share of accesses that it hits.
    pub hit_ratio: f64,
    /// Bytes read into it per thousand operations.
    pub bytes_per_thousand: u64,
}

/// Hit ratios whose cache is told.
pub(super) const HIT_RATIOS: [f64; 3] = [0.90, 0.95, 0.99];

/// Takes the accesses of a mixed workload in order.
#[derive(Default)]
pub(super) struct Mix {
    stack: LruStack,
    curve: MissRatioCurve,
    window: FxHashMap<u64, u32>,
    operations: u64,
}

impl Mix {
    /// One operation; `counted` is whether it is past the part that fills the cache.
    pub(super) fn add(&mut self, trace: &Trace, counted: bool) {
        self.operations += u64::from(counted);
        for touch in &trace.touches {
            let distance = self.stack.access(touch.page, touch.bytes);
            if counted {
                self.curve.record(distance, touch.bytes);
                self.window.insert(touch.page, touch.bytes);
            }
        }
    }

    /// `None` where the target told no pages.
    pub(super) fn figures(mut self, caches: &[u64]) -> Option<MixFigures> {
        if self.curve.accesses() == 0 {
            return None;
        }
        let missed = caches.iter().map(|cache_bytes| {
            let missed = self.curve.bytes_missed(*cache_bytes);
            Missed {
                cache_bytes: *cache_bytes,
                hit_ratio: self.curve.hit_ratio(*cache_bytes),
                bytes_per_thousand: (missed as f64 * 1000.0 / self.operations as f64) as u64,
            }
        });
        let missed = missed.collect();
        Some(MixFigures {
            operations: self.operations,
            accesses: self.curve.accesses(),
            pages: self.window.len() as u64,
            bytes: self.window.values().map(|bytes| u64::from(*bytes)).sum(),
            cache_for_hits: HIT_RATIOS.map(|ratio| self.curve.cache_for(ratio)),
            missed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Touch;

    fn touch(page: u64, kind: PageKind, dirtied: bool) -> Touch {
        Touch { page, kind, bytes: 100, dirtied }
    }

    #[test]
    fn a_page_counts_once_an_operation() {
        let mut tally = Tally::default();
        let touches = vec![
            touch(1, PageKind::Inner, false),
            touch(2, PageKind::Record, false),
            touch(2, PageKind::Record, true),
            touch(1, PageKind::Inner, false),
        ];
        tally.add(&Trace { touches, keys_examined: 3, ..Trace::default() });
        tally.add(&Trace { touches: vec![touch(1, PageKind::Inner, false)], ..Trace::default() });
        let pages = tally.pages().expect("traced");
        assert_eq!((pages.inner, pages.record, pages.bytes), (1.0, 0.5, 150.0));
        assert_eq!((pages.dirtied, pages.bytes_dirtied), (0.5, 50.0));
        assert_eq!(tally.keys_examined(), 1.5);
    }

    #[test]
    fn filling_the_cache_is_not_counted_but_remembered() {
        let mut mix = Mix::default();
        let trace = |page| Trace { touches: vec![touch(page, PageKind::Record, false)], ..Trace::default() };
        mix.add(&trace(1), false);
        mix.add(&trace(2), false);
        for page in [1, 2, 1, 3] {
            mix.add(&trace(page), true);
        }
        let figures = mix.figures(&[100, 200]).expect("traced");
        assert_eq!((figures.operations, figures.accesses, figures.pages, figures.bytes), (4, 4, 3, 300));
        assert_eq!(figures.missed[1].hit_ratio, 0.75);
        assert_eq!(figures.missed[1].bytes_per_thousand, 25_000);
        assert_eq!(figures.missed[0].hit_ratio, 0.0);
        assert_eq!(figures.cache_for_hits, [None; 3]);
    }
}
