//! The tests proper: which topics must pass wholly, and the corpus run on the real MongoDB, which
//! proves the runner.

use std::sync::Arc;

use super::explain::run_plans;
use super::topic::{Servers, run_reindexed, run_topic, say};
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

#[test]
fn mongodb_itself_plans_as_it_did() {
    let Some(uri) = Mongod::uri() else {
        return;
    };
    let servers: Servers = Arc::new(move || Box::new(Mongod::connect(&uri)));
    let report = run_plans(&servers);
    say(&report.text());
    assert_eq!(report.worse(), 0, "plans that the runner judges wrongly");
    assert!(report.same_bounds_percent() > 99.9, "bounds that the runner judges wrongly");
}

/// How often an added index changes MongoDB's own answers. Slow, and about MongoDB only: asked by name.
#[test]
fn indexes_that_change_mongodbs_answers() {
    let Some(uri) = Mongod::uri().filter(|_| std::env::var_os("BINDERY_REINDEX_MONGODB").is_some()) else {
        return;
    };
    let servers: Servers = Arc::new(move || Box::new(Mongod::connect(&uri)));
    for topic in topics().iter().filter(|topic| topic.path.starts_with("query/")) {
        say(&run_reindexed(topic, &servers).text(10));
    }
}
