//! Running a scenario: every schema loaded, asked, timed and traced in the same way.
//!
//! For each schema, on a target of its own:
//! 1. make the collections, load all data, and note what they occupy, as loaded and, on a fork,
//!    compacted;
//! 2. ask each kind of question its samples, noting answers, keys, documents and pages; then the same
//!    again without tracing, for latencies;
//! 3. on a fork, run the mixed workload, and turn its page accesses into a working set and a miss-ratio
//!    curve; the first fifth only fills the cache;
//! 4. do each kind of write, traced on a fork and timed without.
//!
//! All operations are drawn beforehand, so every schema gets the same ones. The naive schema's answers
//! are the reference; where another schema differs, [`compare`] fails with the first difference and
//! there are no figures at all.

mod draw;
mod latency;
mod schema;
mod workload;

use crate::error::{Error, Result};
use crate::report::{Comparison, findings};
use crate::scenario::{Role, Scenario};
use crate::target::Targets;

pub use latency::Latency;
pub use workload::{Missed, MixFigures, PageFigures};

use draw::Drawn;
use schema::Reference;

/// Told how far a comparison is.
pub trait Progress {
    /// A new piece of work of `steps` steps begins.
    fn begin(&self, what: &str, steps: u64);
    /// So many more steps are done.
    fn advance(&self, steps: u64);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _what: &str, _steps: u64) {}
    fn advance(&self, _steps: u64) {}
}

/// What can be chosen about a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seeds the operations that are drawn.
    pub seed: u64,
    /// Cache sizes in bytes at which missed bytes are told.
    pub caches: Vec<u64>,
    /// Operations of the mixed workload; `None` for as many as the scenario says.
    pub operations: Option<usize>,
    /// At most so many samples of a question; `None` for as many as the scenario says.
    pub samples: Option<usize>,
    /// Schemas to compare with the naive one, by name or role; empty for all.
    pub schemas: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            caches: [1, 4, 16, 64].map(|mib| mib << 20).to_vec(),
            operations: None,
            samples: None,
            schemas: Vec::new(),
        }
    }
}

/// Runs `scenario` on `targets`.
///
/// Fails with [`Error::Disagreement`] where schemas answer differently, with [`Error::Command`] where a
/// command is refused, and with [`Error::Unsuitable`] where a wanted schema does not exist.
pub fn compare<S: Scenario>(
    scenario: &S,
    targets: &dyn Targets,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Comparison> {
    let mut questions = scenario.questions();
    for question in &mut questions {
        question.samples = question.samples.min(options.samples.unwrap_or(usize::MAX));
    }
    let operations = options.operations.unwrap_or(scenario.mix_operations());
    let drawn = Drawn::new(scenario, &questions, operations, options.seed);
    let all = scenario.schemas();
    for wanted in &options.schemas {
        let is_role = ROLES.iter().any(|(_, word)| word.eq_ignore_ascii_case(wanted));
        if !is_role && !all.iter().any(|schema| is_wanted(&schema.name(), schema.role(), wanted)) {
            let names: Vec<String> = all.iter().map(|schema| format!("`{}`", schema.name())).collect();
            let message = format!("no schema `{wanted}` in {}: there are {}", scenario.name(), names.join(", "));
            return Err(Error::Unsuitable(message));
        }
    }
    let mut reference = Reference::default();
    let mut schemas = Vec::new();
    for schema in all {
        let (name, role) = (schema.name(), schema.role());
        let wanted = options.schemas.is_empty()
            || role == Role::Naive
            || options.schemas.iter().any(|wanted| is_wanted(&name, role, wanted));
        if wanted {
            let measured = schema::measure(
                scenario,
                schema.as_ref(),
                &questions,
                &drawn,
                &mut reference,
                targets,
                options,
                progress,
            )?;
            schemas.push(measured);
        }
    }
    let mut comparison = Comparison {
        scenario: scenario.name().to_owned(),
        target: targets.describe(),
        seed: options.seed,
        data: scenario.data(),
        questions,
        schemas,
        findings: Vec::new(),
    };
    comparison.findings = findings(&comparison);
    Ok(comparison)
}

/// Words that name a schema by its role; a scenario need not have one of each.
const ROLES: [(Role, &str); 4] =
    [(Role::Naive, "naive"), (Role::Rival, "rival"), (Role::ByHand, "by hand"), (Role::Native, "native")];

fn is_wanted(name: &str, role: Role, wanted: &str) -> bool {
    let of_role = ROLES.iter().any(|(of, word)| *of == role && word.eq_ignore_ascii_case(wanted));
    of_role || wanted.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests;
