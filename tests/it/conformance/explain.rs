//! The plans of `explain/`: what MongoDB's planner did with a command, against what this one does.
//!
//! Fewer keys or documents examined for the same answer is right too and counted apart as better; more
//! of either is worse, and wrong. How often stages and bounds are printed the same is reported.

use std::sync::{Arc, Mutex};

use bson::raw::cstr;
use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::case::set_up;
use super::topic::{Servers, run_each};
use super::verdict::verbose;
use crate::answer::key;
use crate::compare::same;
use crate::corpus::{self, fields, number};
use crate::extjson::to_shell;
use crate::server::Server;

/// A plan as far as it is compared.
#[derive(Default)]
struct Plan {
    /// Stage names from the root, each before its inputs.
    stages: Vec<String>,
    /// For each index scan what `explain` says of it, less what is not compared.
    scans: Vec<RawDocumentBuf>,
    returned: Option<i32>,
    keys: Option<i32>,
    docs: Option<i32>,
}

/// How one plan compares.
struct Comparison {
    name: String,
    examined: Examined,
    same_stages: bool,
    /// Whether every scan uses the same index with the same bounds; absent where MongoDB scans none.
    same_bounds: Option<bool>,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Examined {
    Equal,
    Better,
    Worse,
}

/// How all plans compare.
pub(super) struct PlanReport {
    plans: Vec<Comparison>,
    failures: Vec<String>,
}

impl PlanReport {
    /// Plans that examine more than MongoDB's, or give no plan at all.
    pub(super) fn worse(&self) -> usize {
        self.count(|plan| plan.examined == Examined::Worse) + self.failures.len()
    }

    /// The plans with index scans that print other bounds.
    pub(super) fn other_bounds(&self) -> Vec<&str> {
        self.plans.iter().filter(|plan| plan.same_bounds == Some(false)).map(|plan| &*plan.name).collect()
    }

    /// The share of plans with index scans that print the same bounds, in percent.
    pub(super) fn same_bounds_percent(&self) -> f64 {
        let with_bounds = self.count(|plan| plan.same_bounds.is_some()) + self.failures.len();
        100.0 * self.count(|plan| plan.same_bounds == Some(true)) as f64 / with_bounds.max(1) as f64
    }

    fn count(&self, what: impl Fn(&Comparison) -> bool) -> usize {
        self.plans.iter().filter(|plan| what(plan)).count()
    }

    pub(super) fn text(&self) -> String {
        let total = self.plans.len() + self.failures.len();
        let mut out = format!(
            "explain: {total} plans; keys and documents examined equal {}, better {}, worse {}, \
             no plan {}; stages the same {}, bounds the same {:.1} %\n",
            self.count(|plan| plan.examined == Examined::Equal),
            self.count(|plan| plan.examined == Examined::Better),
            self.count(|plan| plan.examined == Examined::Worse),
            self.failures.len(),
            self.count(|plan| plan.same_stages),
            self.same_bounds_percent(),
        );
        let at_most = if verbose() { usize::MAX } else { 3 };
        for failure in self.failures.iter().take(at_most) {
            out.push_str(&format!("  NO PLAN {failure}\n"));
        }
        let worse = |plan: &&Comparison| plan.examined == Examined::Worse;
        let differs = |plan: &&Comparison| !worse(plan) && plan.same_bounds == Some(false);
        for plan in self.plans.iter().filter(worse).take(at_most) {
            out.push_str(&format!("  WORSE {}\n{}", plan.name, plan.text));
        }
        for plan in self.plans.iter().filter(differs).take(at_most) {
            out.push_str(&format!("  OTHER BOUNDS {}\n{}", plan.name, plan.text));
        }
        if verbose() {
            for plan in self.plans.iter().filter(|plan| !plan.same_stages) {
                out.push_str(&format!("  OTHER STAGES {}\n{}", plan.name, plan.text));
            }
        }
        out
    }
}

/// Runs every plan of the corpus.
pub(super) fn run_plans(servers: &Servers) -> PlanReport {
    let cases: Vec<Arc<RawDocumentBuf>> = corpus::topic("explain").lines().map(Arc::new).collect();
    let plans = Arc::new(Mutex::new(Vec::new()));
    let results = run_each(&cases, |case, db| {
        let (case, servers, db, plans) = (Arc::clone(case), Arc::clone(servers), db.to_owned(), Arc::clone(&plans));
        move || {
            let mut server = servers();
            let plan = compare(server.as_mut(), &db, &case);
            let mut drop = RawDocumentBuf::new();
            drop.append(cstr!("dropDatabase"), 1);
            server.run(&db, &drop);
            plans.lock().map_err(|e| e.to_string())?.push(plan?);
            Ok(())
        }
    });
    let named = cases.iter().zip(results);
    let failures = named
        .filter_map(|(case, result)| {
            let name = case.get_str("name").unwrap_or_default();
            result.err().map(|reason| format!("{name}\n      {reason}"))
        })
        .collect();
    let mut plans = std::mem::take(&mut *plans.lock().expect("no case holds the plans"));
    plans.sort_by(|a, b| a.name.cmp(&b.name));
    PlanReport { plans, failures }
}

fn compare(server: &mut dyn Server, db: &str, case: &RawDocument) -> Result<Comparison, String> {
    set_up(server, db, &corpus::setup(case))?;
    let command = case.get_document("command").map_err(|e| e.to_string())?;
    let expected = expected_plan(case.get_document("expect").map_err(|e| e.to_string())?);
    let mut explain = RawDocumentBuf::new();
    explain.append(cstr!("explain"), command);
    explain.append(cstr!("verbosity"), "executionStats");
    let reply = server.run(db, &explain);
    if number(&reply, "ok") != Some(1) {
        return Err(to_shell(RawBsonRef::Document(&reply)));
    }
    let got = explained_plan(&reply)
        .ok_or_else(|| format!("no winning plan in {}", to_shell(RawBsonRef::Document(&reply))))?;
    if got.returned != expected.returned {
        return Err(format!("nReturned {:?} expected, got {:?}", expected.returned, got.returned));
    }
    let (keys, docs) = (expected.keys.cmp(&got.keys), expected.docs.cmp(&got.docs));
    let same_scans =
        expected.scans.len() == got.scans.len() && expected.scans.iter().zip(&got.scans).all(|(e, g)| same_scan(e, g));
    Ok(Comparison {
        name: case.get_str("name").unwrap_or_default().to_owned(),
        examined: if keys.is_lt() || docs.is_lt() {
            Examined::Worse
        } else if keys.is_gt() || docs.is_gt() {
            Examined::Better
        } else {
            Examined::Equal
        },
        same_stages: expected.stages == got.stages,
        same_bounds: (!expected.scans.is_empty()).then_some(same_scans),
        text: format!(
            "      {}\n      expected {}\n      got      {}\n",
            to_shell(RawBsonRef::Document(command)),
            described(&expected),
            described(&got)
        ),
    })
}

fn described(plan: &Plan) -> String {
    let scans: Vec<String> = plan.scans.iter().map(|scan| to_shell(RawBsonRef::Document(scan))).collect();
    format!(
        "keys {} docs {} {} {}",
        plan.keys.unwrap_or(-1),
        plan.docs.unwrap_or(-1),
        plan.stages.join(" < "),
        scans.join(" ")
    )
}

/// Every field that MongoDB's scan has is the same; what else is said does not matter.
fn same_scan(expected: &RawDocument, got: &RawDocument) -> bool {
    fields(expected).all(|(name, e)| got.get(name).ok().flatten().is_some_and(|g| same(e, g)))
}

const SCAN_FIELDS: [&str; 5] = ["indexName", "isMultiKey", "multiKeyPaths", "direction", "indexBounds"];

fn scan_of(stage: &RawDocument) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    for name in SCAN_FIELDS {
        if let Ok(Some(value)) = stage.get(name) {
            out.append(key(name), value);
        }
    }
    out
}

fn expected_plan(expect: &RawDocument) -> Plan {
    let stages = expect.get_array("stages").ok().into_iter().flatten();
    let scans = match expect.get_array("scans") {
        Ok(scans) => scans.into_iter().filter_map(|s| Some(scan_of(s.ok()?.as_document()?))).collect(),
        Err(_) if expect.get_str("indexName").is_ok() => vec![scan_of(expect)],
        Err(_) => Vec::new(),
    };
    Plan {
        stages: stages.filter_map(|s| Some(s.ok()?.as_str()?.to_owned())).collect(),
        scans,
        returned: number(expect, "nReturned"),
        keys: number(expect, "totalKeysExamined"),
        docs: number(expect, "totalDocsExamined"),
    }
}

/// The plan in an explain reply, be it of a find-like command or of a pipeline's cursor.
fn explained_plan(reply: &RawDocument) -> Option<Plan> {
    let source = match reply.get_array("stages") {
        Ok(stages) => stages.get_document(0).ok()?.get_document("$cursor").ok()?,
        Err(_) => reply,
    };
    let winning = source.get_document("queryPlanner").ok()?.get_document("winningPlan").ok()?;
    let statistics = source.get_document("executionStats").ok()?;
    let mut plan = Plan {
        returned: number(statistics, "nReturned"),
        keys: number(statistics, "totalKeysExamined"),
        docs: number(statistics, "totalDocsExamined"),
        ..Plan::default()
    };
    collect(winning.get_document("queryPlan").unwrap_or(winning), &mut plan);
    Some(plan)
}

fn collect(stage: &RawDocument, plan: &mut Plan) {
    if let Ok(name) = stage.get_str("stage") {
        plan.stages.push(name.to_owned());
    }
    if stage.get_str("indexName").is_ok() {
        plan.scans.push(scan_of(stage));
    }
    if let Ok(input) = stage.get_document("inputStage") {
        collect(input, plan);
    }
    for input in stage.get_array("inputStages").ok().into_iter().flatten() {
        if let Some(input) = input.ok().and_then(RawBsonRef::as_document) {
            collect(input, plan);
        }
    }
}
