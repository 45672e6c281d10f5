//! COUNT_SCAN: counting the entries between two positions of an index off the tree.

use std::ops::Bound;

use bindery_document::Result;
use bindery_query::plan;

use super::key_range::KeyRange;
use super::stage::StageStats;
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct CountScan {
    pub(super) plan: plan::IndexScan,
    range: KeyRange,
    /// Entries in the range, once it was counted.
    pub(super) count: Option<u64>,
}

impl CountScan {
    pub(super) fn new(state: &State, plan: plan::IndexScan) -> CountScan {
        let range = KeyRange::new(&state.indexes[plan.index].meta, &plan.bounds, plan.direction);
        CountScan { plan, range, count: None }
    }

    /// Counts on the first call. Gives no results: the count is the result.
    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if self.count.is_none() {
            let tree = &state.indexes[self.plan.index].tree;
            let count = match self.range.contiguous_ends() {
                None => 0,
                Some((low, high)) => {
                    let low = low.map_or(Bound::Unbounded, Bound::Included);
                    let high = high.map_or(Bound::Unbounded, Bound::Excluded);
                    tree.count_range(low, high, &mut cx.visitor)
                }
            };
            stats.seeks += 1;
            self.count = Some(count);
        }
        Ok(false)
    }
}
