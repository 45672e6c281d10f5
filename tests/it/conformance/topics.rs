//! The tests proper: the topics that must pass wholly, how far the others are, the plans; and the same on
//! the real MongoDB, which proves the runner.

use std::sync::Arc;

use bindery::{Database, Options, Planner};

use super::explain::run_plans;
use super::topic::{Report, Servers, run_reindexed, run_topic, say};
use crate::corpus::{topic, topics};

use crate::wire::Mongod;

fn bindery() -> Servers {
    Arc::new(|| Box::new(Database::new()))
}

fn assert_passes(report: &Report) {
    say(&report.text(3));
    assert!(report.failures.is_empty(), "{} cases of {} fail", report.failures.len(), report.path);
}

/// One test for each topic in which every case must pass, and a list of them all.
macro_rules! required {
    ($($topic:ident)*) => {
        const REQUIRED: &[&str] = &[$(stringify!($topic)),*];
        $(
            #[test]
            fn $topic() {
                assert_passes(&run_topic(&topic(stringify!($topic)), &bindery()));
            }
        )*
    };
}

required! {
    agg_expr_arithmetic
    agg_expr_array
    agg_expr_compare_bool_set
    agg_expr_conditional
    agg_expr_date
    agg_expr_misc
    agg_expr_object
    agg_expr_string
    agg_expr_type
    agg_facet_bucket
    agg_group
    agg_index_interaction
    agg_lookup
    agg_out_merge
    agg_stages_basic
    agg_timeseries
    agg_unwind
    agg_window
    found
    found_dates
    found_expressions
    found_groups
    found_lookups
    found_outputs
    found_pipelines
    found_stages
    found_windows
    index_create
    index_multikey
    index_partial_sparse
    index_ttl_hashed_text_wildcard
    index_unique
    pattern_attribute
    pattern_bucket
    pattern_computed
    pattern_extended_reference
    pattern_outlier
    pattern_polymorphic
    pattern_schema_versioning
    pattern_seeds
    pattern_subset
    query_array
    query_bitwise
    query_comparison
    query_cursor
    query_distinct_count
    query_element
    query_elemmatch
    query_errors
    query_evaluation
    query_indexed
    query_logical
    query_paths
    query_projection
    query_sort
    query_traps
    write_admin
    write_bson
    write_bulk
    write_capped
    write_delete
    write_findandmodify
    write_insert
    write_replace
    write_update_array
    write_update_field
    write_update_matrix
    write_update_pipeline
    write_upsert
    write_validation
}

/// How far the topics are in which not every case passes yet.
#[test]
fn other_topics_are_reported() {
    let mut totals = (0, 0);
    for topic in topics().iter().filter(|topic| !REQUIRED.contains(&topic.name())) {
        let report = run_topic(topic, &bindery());
        if report.total > 0 {
            say(&report.text(0));
        }
        totals.0 += report.passed();
        totals.1 += report.total;
    }
    say(&format!("other topics: {}/{}\n", totals.0, totals.1));
}

#[test]
fn an_added_index_changes_no_answer() {
    let mut failed = 0;
    for topic in topics().iter().filter(|topic| topic.path.starts_with("query/")) {
        if REQUIRED.contains(&topic.name()) {
            let report = run_reindexed(topic, &bindery());
            say(&report.text(3));
            failed += report.failures.len();
        }
    }
    assert_eq!(failed, 0, "answers that an index changed");
}

fn planned_by(planner: Planner) -> Servers {
    Arc::new(move || Box::new(Database::with_options(Options { planner, ..Options::default() })))
}

/// Plans whose bounds are printed otherwise than MongoDB prints them, and why.
const OTHER_BOUNDS: [&str; 1] = [
    // Collation keys are those of another version of the collation data; their order is the same.
    "collation: string query on its index",
];

#[test]
fn plans_are_mongodbs() {
    let report = run_plans(&planned_by(Planner::MongoDb));
    say(&format!("MongoDB's planner: {}", report.text()));
    assert_eq!(report.worse(), 0, "plans that examine more than MongoDB's, or none");
    assert_eq!(report.other_bounds(), OTHER_BOUNDS, "bounds printed otherwise");
    assert!(report.same_bounds_percent() >= 95.0);
}

#[test]
fn own_plans_examine_no_more_than_mongodbs() {
    let report = run_plans(&planned_by(Planner::Bindery));
    say(&format!("own planner: {}", report.text()));
    assert_eq!(report.worse(), 0, "plans that examine more than MongoDB's, or none");
}

fn mongodb() -> Option<Servers> {
    let uri = Mongod::uri()?;
    Some(Arc::new(move || Box::new(Mongod::connect(&uri))))
}

#[test]
fn mongodb_itself_passes_every_case() {
    let Some(servers) = mongodb() else {
        return;
    };
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
    let Some(servers) = mongodb() else {
        return;
    };
    let report = run_plans(&servers);
    say(&report.text());
    assert_eq!(report.worse(), 0, "plans that the runner judges wrongly");
    assert!(report.same_bounds_percent() > 99.9, "bounds that the runner judges wrongly");
}
