//! The tests proper: which topics must pass wholly, and the corpus run on the real MongoDB, which
//! proves the runner.

use std::sync::Arc;

use super::topic::{Servers, run_topic, say};
use crate::corpus::topics;
use crate::wire::Mongod;

#[test]
fn mongodb_itself_passes_every_case() {
    let Some(uri) = Mongod::uri() else {
        return;
    };
    let servers: Servers = Arc::new(move || Box::new(Mongod::connect(&uri)));
    let mut failed = 0;
    for topic in topics() {
        let report = run_topic(&topic, &servers);
        failed += report.failures.len();
        failed += report.apart.values().map(|(passed, total)| total - passed).sum::<usize>();
        say(&report.text(3));
    }
    assert_eq!(failed, 0, "cases that the runner judges wrongly");
}
