//! What `insert`, `update` and `delete` share: a batch of statements, ordered or not, and the
//! `writeErrors` of those that failed.

use bindery_document::{Builder, Error, Result, Value, code};

use super::args::Args;

/// The most statements in one batch.
pub(crate) const MAX_BATCH: usize = 100_000;

/// The failures of a batch.
#[derive(Default)]
pub(super) struct WriteErrors {
    errors: Vec<(usize, Error)>,
}

impl WriteErrors {
    /// Notes that the statement at this position failed.
    pub(super) fn push(&mut self, index: usize, error: Error) {
        self.errors.push((index, error));
    }

    /// Appends `writeErrors`, if there were any.
    pub(super) fn show(&self, reply: &mut Builder) {
        if self.errors.is_empty() {
            return;
        }
        let list = reply.open_array("writeErrors");
        for (position, (index, error)) in self.errors.iter().enumerate() {
            let mut digits = [0; 20];
            let entry = reply.open_document(bindery_document::build::index_key(position, &mut digits));
            reply.append("index", *index as i32);
            reply.append("code", error.code);
            if let Some(details) = &error.details {
                for element in details.doc().iter() {
                    reply.append_element(element);
                }
            }
            reply.append("errmsg", error.message.as_str());
            reply.close(entry);
        }
        reply.close(list);
    }
}

/// Whether a failure ends the batch.
///
/// # Errors
/// 14 if the option is no boolean.
pub(super) fn is_ordered(args: &Args<'_>) -> Result<bool> {
    Ok(args.optional_flag("ordered")?.unwrap_or(true))
}

/// Checks `stmtId` and `stmtIds`, by which clients tell statements apart that they send again; nothing is sent again
/// here.
///
/// # Errors
/// 14 for another type, 16 for another number of them than of statements.
pub(super) fn check_statement_ids(args: &Args<'_>, count: usize) -> Result<()> {
    let is_id = |value: &Value<'_>| value.kind().is_number();
    if let Some(id) = args.given("stmtId").filter(|id| !is_id(id)) {
        return Err(args.mismatch("stmtId", id.kind(), "int"));
    }
    let Some(ids) = args.array("stmtIds")? else { return Ok(()) };
    if let Some(id) = ids.iter().find(|id| !is_id(&id.value())) {
        return Err(args.mismatch("stmtIds", id.kind, "int"));
    }
    if ids.count() != count {
        return Err(Error::new(
            code::INVALID_LENGTH,
            format!("Number of statement ids must match the number of batch entries. Got {} but {count}", ids.count()),
        ));
    }
    Ok(())
}

/// Checks the number of statements.
///
/// # Errors
/// 16 if there are none or too many.
pub(super) fn check_batch_size(count: usize) -> Result<()> {
    if count == 0 || count > MAX_BATCH {
        return Err(Error::new(
            code::INVALID_LENGTH,
            format!("Write batch sizes must be between 1 and {MAX_BATCH}. Got {count} operations."),
        ));
    }
    Ok(())
}
