//! The numbers transfer: what hand-written schemas examine and store on Bindery, planned as MongoDB
//! plans, is what they examine and store on a real MongoDB.

use bindery_lab::Result;
use bindery_lab::measure::{Options, Silent, compare};
use bindery_lab::report::Comparison;
use bindery_lab::scenario::Scenario;
use bindery_lab::target::{Engine, Planner, StorageFigures, Target, Targets, Trace};
use bson::{RawDocument, RawDocumentBuf};

use crate::mongod::Mongod;

/// The engine without forks: it goes through the same states as a server, which has none.
struct Unforked;

struct UnforkedTarget(Box<dyn Target>);

impl Targets for Unforked {
    fn open(&self, planner: Planner) -> Result<Box<dyn Target>> {
        Ok(Box::new(UnforkedTarget(Engine.open(planner)?)))
    }

    fn describe(&self) -> String {
        Engine.describe()
    }
}

impl Target for UnforkedTarget {
    fn run(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        self.0.run(command)
    }

    fn begin_trace(&mut self) {
        self.0.begin_trace();
    }

    fn end_trace(&mut self) -> Option<Trace> {
        self.0.end_trace()
    }

    fn storage(&mut self, collection: &str) -> Result<StorageFigures> {
        self.0.storage(collection)
    }

    fn compact(&mut self, collection: &str) -> Result<()> {
        self.0.compact(collection)
    }
}

/// Schemas that a MongoDB can hold.
const PLAIN: [&str; 2] = ["by hand", "rival"];

fn run<S: Scenario>(scenario: &S, targets: &dyn Targets, schemas: &[&str]) -> Comparison {
    let schemas = schemas.iter().map(|schema| (*schema).to_owned()).collect();
    let options = Options { schemas, operations: Some(200), samples: Some(50), ..Options::default() };
    compare(scenario, targets, &options, &Silent).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares all schemas on the engine, and holds every count of the hand-written ones against a real
/// MongoDB's if there is one.
pub(crate) fn transfers<S: Scenario>(scenario: &S) -> Comparison {
    let all = run(scenario, &Engine, &[]);
    let Some(mongod) = Mongod::from_environment() else { return all };
    let (here, there) = (run(scenario, &Unforked, &PLAIN), run(scenario, &mongod, &PLAIN));
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
    all
}
