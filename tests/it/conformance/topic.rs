//! Running many cases, and telling how it went.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, mpsc};
use std::time::Duration;

use bson::RawDocumentBuf;
use bson::raw::cstr;

use super::case::{refused_index_type, run};
use super::reindexed::with_each_index;
use super::verdict::verbose;
use crate::corpus::{Case, Topic};
use crate::server::Server;

/// Makes a server for one case. Called on the case's own thread.
pub(super) type Servers = Arc<dyn Fn() -> Box<dyn Server> + Send + Sync>;

/// Longer than the slowest case on the slowest machine; a case that needs more hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// As a program's main thread has; deep documents are part of the corpus.
const STACK_BYTES: usize = 8 << 20;

pub(super) struct Failure {
    pub(super) name: String,
    pub(super) reason: String,
}

/// How a topic went.
pub(super) struct Report {
    pub(super) path: String,
    pub(super) total: usize,
    pub(super) failures: Vec<Failure>,
    /// Cases that need what Bindery refuses, by what they need: passed and total.
    pub(super) apart: BTreeMap<&'static str, (usize, usize)>,
}

impl Report {
    pub(super) fn passed(&self) -> usize {
        self.total - self.failures.len()
    }

    /// One line, and the first failures below it (all of them if `BINDERY_CORPUS_VERBOSE` is set).
    pub(super) fn text(&self, at_most: usize) -> String {
        let mut out = format!("{:<38} {:>4}/{:<4}", self.path, self.passed(), self.total);
        for (what, (passed, total)) in &self.apart {
            let _ = write!(out, "  apart, {what}: {passed}/{total}");
        }
        out.push('\n');
        let at_most = if verbose() { usize::MAX } else { at_most };
        for failure in self.failures.iter().take(at_most) {
            let _ = writeln!(out, "  FAILED {}\n      {}", failure.name, failure.reason);
        }
        if self.failures.len() > at_most {
            let _ = writeln!(out, "  ... {} more", self.failures.len() - at_most);
        }
        out
    }
}

/// Prints past the test harness's capture: the figures are wanted where everything passes too.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Runs every case of `topic`.
pub(super) fn run_topic(topic: &Topic, servers: &Servers) -> Report {
    run_cases(&topic.path, topic.cases(), servers)
}

/// Runs the reading cases of `topic`, each with every index added that it could use.
pub(super) fn run_reindexed(topic: &Topic, servers: &Servers) -> Report {
    let cases = topic.cases().iter().flat_map(with_each_index).collect();
    run_cases(&format!("{} + an index", topic.path), cases, servers)
}

fn run_cases(path: &str, cases: Vec<Case>, servers: &Servers) -> Report {
    let cases: Vec<Arc<Case>> = cases.into_iter().map(Arc::new).collect();
    let results = run_each(&cases, |case, db| {
        let (case, servers, db) = (Arc::clone(case), Arc::clone(servers), db.to_owned());
        move || {
            let mut server = servers();
            let result = run(server.as_mut(), &db, &case);
            let mut drop = RawDocumentBuf::new();
            drop.append(cstr!("dropDatabase"), 1);
            for name in [db.clone(), format!("{db}_plain")] {
                server.run(&name, &drop);
            }
            result
        }
    });
    let mut report = Report { path: path.to_owned(), total: 0, failures: Vec::new(), apart: BTreeMap::new() };
    for (case, result) in cases.iter().zip(results) {
        if let Some(what) = refused_index_type(case) {
            let (passed, total) = report.apart.entry(what).or_default();
            *passed += usize::from(result.is_ok());
            *total += 1;
            continue;
        }
        report.total += 1;
        if let Err(reason) = result {
            report.failures.push(Failure { name: case.name.clone(), reason });
        }
    }
    report
}

/// Runs a job for each item, each on its own thread and with a database name of its own. A panic or a
/// hang becomes that item's error.
pub(super) fn run_each<T, J>(items: &[T], job: impl Fn(&T, &str) -> J + Sync) -> Vec<Result<(), String>>
where
    T: Sync,
    J: FnOnce() -> Result<(), String> + Send + 'static,
{
    static DATABASES: AtomicUsize = AtomicUsize::new(0);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Result<(), String>>> = Mutex::new(items.iter().map(|_| Ok(())).collect());
    let workers = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let number = DATABASES.fetch_add(1, Ordering::Relaxed);
                    let db = format!("conformance_{}_{number}", std::process::id());
                    let result = guarded(job(item, &db));
                    if let Ok(mut results) = results.lock() {
                        results[at] = result;
                    }
                }
            });
        }
    });
    results.into_inner().expect("no worker panicked")
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

const GUARDED: &str = "guarded case";

/// Runs a job where it can do no harm.
fn guarded(job: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() == Some(GUARDED) {
                PANIC.with(|slot| *slot.borrow_mut() = Some(info.to_string()));
            } else {
                usual(info);
            }
        }));
    });
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new()
        .name(GUARDED.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| {
                let panic = PANIC.with(|slot| slot.borrow_mut().take());
                Err(panic.unwrap_or_else(|| "panicked".to_owned()))
            });
            // The receiver is gone if this took too long.
            let _ = sender.send(result);
        })
        .expect("the system gives another thread");
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())))
}
