//! Every hand-written schema answers as the naive one does, here and on a real MongoDB.

use bindery_lab::measure::{Options, Silent, compare};
use bindery_lab::report::{Comparison, render};
use bindery_lab::scenario::Scenario;
use bindery_lab::scenario::attribute::Attribute;
use bindery_lab::scenario::bucket::Bucket;
use bindery_lab::scenario::subset::Subset;
use bindery_lab::target::Engine;

use crate::mongod::Mongod;

/// The schemas that a MongoDB can hold, and a workload short enough for round trips.
fn by_hand() -> Options {
    let schemas = vec!["by hand".to_owned(), "rival".to_owned()];
    Options { schemas, operations: Some(400), samples: Some(40), ..Options::default() }
}

fn on_mongod<S: Scenario>(scenario: &S, options: &Options) -> Option<Comparison> {
    let mongod = Mongod::from_environment()?;
    let comparison = compare(scenario, &mongod, options, &Silent).unwrap_or_else(|error| panic!("{error}"));
    eprintln!("{}", render(&comparison));
    Some(comparison)
}

#[test]
fn bucket_answers_agree_on_mongod() {
    let bucket = Bucket::generated(1, 20, 2_000).expect("good data");
    let Some(comparison) = on_mongod(&bucket, &by_hand()) else { return };
    assert_eq!(comparison.schemas.len(), 3);
    let naive = &comparison.schemas[0];
    // An hour of one reading a minute.
    assert!((59.0..=60.0).contains(&naive.questions[0].rows), "{}", naive.questions[0].rows);
    assert_eq!(naive.questions[0].keys_examined, naive.questions[0].rows);
    let hour = &comparison.schemas[1];
    assert!(hour.questions[0].documents_examined <= 2.0);
}

#[test]
fn attribute_answers_agree_on_mongod() {
    let attribute = Attribute::generated(1, 3_000).expect("good data");
    let Some(comparison) = on_mongod(&attribute, &by_hand()) else { return };
    assert_eq!(comparison.schemas.len(), 3);
    // Attributes beyond the limit have no index.
    assert_eq!(comparison.schemas[0].questions[1].documents_examined, 3_000.0);
    assert_eq!(comparison.schemas[0].loaded.indexes.len(), 64);
}

#[test]
fn subset_answers_agree_on_mongod() {
    let subset = Subset::generated(1, 600).expect("good data");
    let Some(comparison) = on_mongod(&subset, &by_hand()) else { return };
    assert_eq!(comparison.schemas.len(), 3);
    assert_eq!(comparison.schemas[2].questions[0].documents_examined, 1.0);
}

fn on_engine<S: Scenario>(scenario: &S) -> Comparison {
    compare(scenario, &Engine, &by_hand(), &Silent).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn attribute_answers_agree_here() {
    let comparison = on_engine(&Attribute::generated(1, 3_000).expect("good data"));
    let naive = &comparison.schemas[0];
    assert_eq!(naive.questions[1].documents_examined, 3_000.0);
    assert!(naive.loaded.record_pages() > 20 && naive.mix.as_ref().is_some_and(|mix| mix.pages > 20));
}

#[test]
fn subset_answers_agree_here() {
    let comparison = on_engine(&Subset::generated(1, 600).expect("good data"));
    let (naive, by_hand) = (&comparison.schemas[0], &comparison.schemas[2]);
    let bytes = |schema: &bindery_lab::report::SchemaFigures| schema.questions[0].pages.expect("traced").bytes;
    // Only the ten newest lie with the parent.
    assert!(bytes(by_hand) < bytes(naive), "{} and {}", bytes(by_hand), bytes(naive));
}
