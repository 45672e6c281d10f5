//! SKIP and LIMIT.

use bindery_document::Result;

use super::stage::{Stage, StageStats};
use crate::collection::State;
use crate::trace::Cx;

pub(crate) struct Skip {
    pub(super) input: Stage,
    left: u64,
}

impl Skip {
    pub(super) fn new(input: Stage, count: u64) -> Skip {
        Skip { input, left: count }
    }

    pub(super) fn advance(&mut self, state: &State, stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        while self.left > 0 {
            if !self.input.advance(state, cx)? {
                return Ok(false);
            }
            self.left -= 1;
            stats.works += 1;
        }
        self.input.advance(state, cx)
    }
}

pub(crate) struct Limit {
    pub(super) input: Stage,
    left: u64,
}

impl Limit {
    pub(super) fn new(input: Stage, count: u64) -> Limit {
        Limit { input, left: count }
    }

    /// Whether as many results were given as may be.
    pub(super) fn is_reached(&self) -> bool {
        self.left == 0
    }

    pub(super) fn advance(&mut self, state: &State, _stats: &mut StageStats, cx: &mut Cx<'_>) -> Result<bool> {
        if self.left == 0 || !self.input.advance(state, cx)? {
            return Ok(false);
        }
        self.left -= 1;
        Ok(true)
    }
}
