//! Changing a stored document where it lies, for those who know that no index holds what they change.

use bindery_index::RecordId;

use crate::collection::WriteGuard;
use crate::trace::Cx;

/// Gives a record `new_len` bytes and lets `write` change them; false if there is no such record. `write` finds
/// what was there, followed by zeroes, and must leave a well-formed document whose indexed paths are as before.
pub(crate) fn patch(
    guard: &mut WriteGuard<'_>,
    record_id: RecordId,
    new_len: usize,
    write: impl FnOnce(&mut [u8]),
    cx: &mut Cx<'_>,
) -> bool {
    guard.change().get().records.update_with(record_id, new_len, write, &mut cx.visitor)
}
