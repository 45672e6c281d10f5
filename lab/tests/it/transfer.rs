//! The numbers transfer: what hand-written schemas examine and store on Bindery, planned as MongoDB
//! plans, is what they examine and store on a real MongoDB.

use bindery_lab::measure::{Options, Silent, compare};
use bindery_lab::report::Comparison;
use bindery_lab::scenario::Scenario;
use bindery_lab::scenario::attribute::Attribute;
use bindery_lab::scenario::bucket::Bucket;
use bindery_lab::scenario::subset::Subset;
use bindery_lab::target::{Engine, Targets};

use crate::mongod::Mongod;

fn run<S: Scenario>(scenario: &S, targets: &dyn Targets) -> Comparison {
    let schemas = vec!["by hand".to_owned(), "rival".to_owned()];
    let options = Options { schemas, operations: Some(100), samples: Some(50), ..Options::default() };
    compare(scenario, targets, &options, &Silent).unwrap_or_else(|error| panic!("{error}"))
}

fn transfers<S: Scenario>(scenario: &S) {
    let Some(mongod) = Mongod::from_environment() else { return };
    let (here, there) = (run(scenario, &Engine), run(scenario, &mongod));
    let mut differences = Vec::new();
    for (here, there) in here.schemas.iter().zip(&there.schemas) {
        assert_eq!(here.name, there.name);
        let mut check = |what: &str, here_figure: f64, there_figure: f64| {
            if here_figure != there_figure {
                let name = &here.name;
                differences.push(format!("{name}: {what}: {here_figure} here, {there_figure} on MongoDB"));
            }
        };
        check("documents", here.loaded.documents as f64, there.loaded.documents as f64);
        check("data bytes", here.loaded.data_bytes as f64, there.loaded.data_bytes as f64);
        check("indexes", here.loaded.indexes.len() as f64, there.loaded.indexes.len() as f64);
        for (here, there) in here.questions.iter().zip(&there.questions) {
            assert_eq!(here.checksum, there.checksum, "{}", here.name);
            check(&format!("{}, keys", here.name), here.keys_examined, there.keys_examined);
            check(&format!("{}, documents", here.name), here.documents_examined, there.documents_examined);
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn bucket_figures_transfer() {
    transfers(&Bucket::generated(1, 20, 2_000).expect("good data"));
}

#[test]
fn attribute_figures_transfer() {
    transfers(&Attribute::generated(1, 5_000).expect("good data"));
}

#[test]
fn subset_figures_transfer() {
    transfers(&Subset::generated(1, 600).expect("good data"));
}
