//! What a test talks to: anything that takes MongoDB's commands. The same cases then run on Bindery in
//! process and on a real MongoDB.

use bson::{RawDocument, RawDocumentBuf};

/// Something that runs commands, one at a time, and answers as MongoDB does: errors are replies too.
pub(crate) trait Server {
    /// Runs `command` on the database `db`. The command comes without `$db`.
    fn run(&mut self, db: &str, command: &RawDocument) -> RawDocumentBuf;

    /// Runs several commands in order.
    fn run_all(&mut self, db: &str, commands: &[RawDocumentBuf]) -> Vec<RawDocumentBuf> {
        commands.iter().map(|command| self.run(db, command)).collect()
    }
}

impl Server for bindery::Database {
    fn run(&mut self, db: &str, command: &RawDocument) -> RawDocumentBuf {
        self.with_name(db).run_command(command)
    }
}
