//! Capped collections: the oldest documents make room for the newest. Updates make no room: they may grow
//! documents beyond the bounds until the next insert.
//!
//! Source: MongoDB's manual, "Capped Collections".

use bindery_document::Result;

use super::Scratch;
use super::delete::delete_record;
use crate::collection::State;
use crate::trace::Cx;

/// Removes the oldest documents until the bounds hold, or only the newest is left, however large it is.
pub(super) fn make_room(state: &mut State, scratch: &mut Scratch, cx: &mut Cx<'_>) -> Result<()> {
    let Some(capped) = state.options.capped else { return Ok(()) };
    let is_over = |state: &State| {
        state.records.data_bytes() > capped.bytes
            || capped.documents.is_some_and(|most| state.records.len() > u64::from(most))
    };
    while is_over(state) {
        let Some(oldest) = state.records.first().filter(|_| state.records.len() > 1) else { break };
        delete_record(state, oldest, scratch, cx)?;
    }
    Ok(())
}
