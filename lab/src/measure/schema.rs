//! One schema from empty to all its figures.

use std::time::{Duration, Instant};

use crossbeam::channel;

use super::draw::Drawn;
use super::latency::Latency;
use super::workload::{Mix, Tally};
use super::{Options, Progress};
use crate::answer::{Answer, Checksum};
use crate::error::{Error, Result};
use crate::report::{LoadFigures, QuestionFigures, SchemaFigures};
use crate::scenario::{Effect, Loader, Question, Scenario, Schema};
use crate::session::Session;
use crate::target::{StorageFigures, Target, Targets};

/// Commands that the thread which makes them may be ahead of the one that runs them.
const COMMANDS_AHEAD: usize = 8;

/// A kind of read is timed on each sample once, and again while this lasts.
const TIMING: Duration = Duration::from_millis(250);

/// The share of the mixed workload that fills the cache.
const WARM_UP: f64 = 0.2;

/// The naive schema's answers.
#[derive(Default)]
pub(super) struct Reference {
    name: String,
    samples: Vec<Vec<Answer>>,
    /// A checksum for each operation of the mixed workload.
    mix: Vec<Checksum>,
}

impl Reference {
    fn check(&mut self, kind: usize, at: usize, answer: Answer, schema: &str, question: &Question) -> Result<()> {
        if schema == self.name {
            self.samples[kind].push(answer);
            return Ok(());
        }
        let Some(expected) = self.samples[kind].get(at) else {
            return Err(Error::Disagreement(format!("{schema} was asked more than {}", self.name)));
        };
        match expected.difference(&answer) {
            None => Ok(()),
            Some(difference) => Err(Error::Disagreement(format!(
                "`{}` and `{schema}` answer `{}` differently: {difference}",
                self.name, question.name
            ))),
        }
    }

    /// Over the answers to one kind of question.
    fn checksum(&self, kind: usize) -> Checksum {
        let mut checksum = Checksum::new();
        for answer in &self.samples[kind] {
            answer.add_to(&mut checksum);
        }
        checksum
    }

    fn check_mixed(&mut self, at: usize, answer: &Answer, schema: &str, question: &Question) -> Result<()> {
        let mut checksum = Checksum::new();
        answer.add_to(&mut checksum);
        if schema == self.name {
            self.mix.push(checksum);
            return Ok(());
        }
        if self.mix.get(at).is_some_and(|expected| expected.agrees_with(&checksum)) {
            return Ok(());
        }
        Err(Error::Disagreement(format!(
            "`{}` and `{schema}` answer `{}` differently within the mixed workload, operation {at}",
            self.name, question.name
        )))
    }
}

/// What everything below needs to know.
struct Run<'a, O> {
    schema: &'a dyn Schema<O>,
    name: String,
    questions: &'a [Question],
    drawn: &'a Drawn<O>,
    progress: &'a dyn Progress,
}

#[expect(clippy::too_many_arguments, reason = "called in one place, and each is a different thing")]
pub(super) fn measure<S: Scenario>(
    scenario: &S,
    schema: &dyn Schema<S::Operation>,
    questions: &[Question],
    drawn: &Drawn<S::Operation>,
    reference: &mut Reference,
    targets: &dyn Targets,
    options: &Options,
    progress: &dyn Progress,
) -> Result<SchemaFigures> {
    let run = Run { schema, name: schema.name(), questions, drawn, progress };
    if reference.name.is_empty() {
        reference.name.clone_from(&run.name);
        reference.samples = questions.iter().map(|_| Vec::new()).collect();
    }
    let what = |doing: &str| format!("{}: {}: {doing}", scenario.name(), run.name);
    let mut target = targets.open(schema.role().planner())?;

    progress.begin(&what("loading"), scenario.data().documents);
    let load = run.load(target.as_mut(), scenario.data().documents)?;
    let loaded = run.storage(target.as_mut())?;
    let compacted_fork = match target.fork() {
        Some(mut fork) => {
            run.compact(fork.as_mut())?;
            Some(run.storage(fork.as_mut())?)
        }
        None => None,
    };

    let asked: usize = drawn.samples.iter().map(Vec::len).sum();
    progress.begin(&what("asking"), asked as u64);
    let mut figures = Vec::new();
    for (kind, question) in questions.iter().enumerate() {
        figures.push(match question.effect {
            Effect::Read => run.ask(kind, target.as_mut(), reference)?,
            Effect::Write => QuestionFigures::unasked(question),
        });
    }

    progress.begin(&what("mixed workload"), drawn.mix.len() as u64);
    let mix = match target.fork() {
        Some(mut fork) => run.mix(fork.as_mut(), reference)?,
        None => run.mix(target.as_mut(), reference)?,
    };

    progress.begin(&what("writing"), drawn.timed_writes.iter().map(Vec::len).sum::<usize>() as u64);
    for (kind, question) in questions.iter().enumerate() {
        if question.effect == Effect::Write {
            figures[kind] = run.write(kind, target.as_mut(), reference)?;
        }
    }

    let compacted = match compacted_fork {
        Some(compacted) => compacted,
        None => {
            run.compact(target.as_mut())?;
            run.storage(target.as_mut())?
        }
    };
    Ok(SchemaFigures {
        name: run.name,
        role: schema.role(),
        planner: schema.role().planner(),
        note: schema.note(),
        load,
        loaded,
        compacted,
        questions: figures,
        mix: mix.figures(&options.caches),
    })
}

impl<O: Send + Sync> Run<'_, O> {
    fn load(&self, target: &mut dyn Target, documents: u64) -> Result<LoadFigures> {
        let mut session = Session::new(target);
        for command in self.schema.prepare()? {
            session.run(&command)?;
        }
        session.elapsed_ns = 0;
        std::thread::scope(|scope| {
            let (sender, commands) = channel::bounded(COMMANDS_AHEAD);
            let schema = self.schema;
            let maker = scope.spawn(move || {
                let mut loader = Loader::new(&sender);
                schema.load(&mut loader)?;
                loader.finish()
            });
            let mut failed = Ok(());
            // The receiver goes with the loop, so that a failure here stops the maker.
            for command in commands {
                failed = session.run(&command.command).map(|_| ());
                self.progress.advance(command.documents);
                if failed.is_err() {
                    break;
                }
            }
            let made = maker
                .join()
                .unwrap_or_else(|_| Err(Error::Target("the thread that makes the load stopped".to_owned())));
            failed.and(made)
        })?;
        let seconds = session.elapsed_ns as f64 / 1e9;
        Ok(LoadFigures { seconds, documents_per_second: documents as f64 / seconds.max(1e-9) })
    }

    fn storage(&self, target: &mut dyn Target) -> Result<StorageFigures> {
        let mut figures = StorageFigures::default();
        for collection in self.schema.collections() {
            figures.add(target.storage(collection)?);
        }
        Ok(figures)
    }

    fn compact(&self, target: &mut dyn Target) -> Result<()> {
        self.schema.collections().into_iter().try_for_each(|collection| target.compact(collection))
    }

    /// Samples of a read: traced, then timed.
    fn ask(&self, kind: usize, target: &mut dyn Target, reference: &mut Reference) -> Result<QuestionFigures> {
        let mut figures = self.traced(kind, target, reference)?;
        let samples = &self.drawn.samples[kind];
        let mut durations = Vec::new();
        let started = Instant::now();
        for operation in samples.iter().cycle() {
            let enough = durations.len() >= samples.len();
            if enough && (started.elapsed() >= TIMING || durations.len() >= 10 * samples.len()) {
                break;
            }
            let mut session = Session::new(target);
            self.schema.answer(operation, &mut session)?;
            durations.push(session.elapsed_ns);
        }
        figures.latency = Latency::of(durations);
        Ok(figures)
    }

    /// Samples of a write: traced on a copy if there can be one, then others timed.
    fn write(&self, kind: usize, target: &mut dyn Target, reference: &mut Reference) -> Result<QuestionFigures> {
        let mut figures = match target.fork() {
            Some(mut fork) => self.traced(kind, fork.as_mut(), reference)?,
            None => self.traced(kind, target, reference)?,
        };
        let mut durations = Vec::new();
        for operation in &self.drawn.timed_writes[kind] {
            let mut session = Session::new(target);
            self.schema.answer(operation, &mut session)?;
            durations.push(session.elapsed_ns);
            self.progress.advance(1);
        }
        figures.latency = Latency::of(durations);
        Ok(figures)
    }

    fn traced(&self, kind: usize, target: &mut dyn Target, reference: &mut Reference) -> Result<QuestionFigures> {
        let question = &self.questions[kind];
        let mut figures = QuestionFigures::unasked(question);
        let mut tally = Tally::default();
        let (mut rows, mut commands, mut reply_bytes) = (0, 0, 0);
        for (at, operation) in self.drawn.samples[kind].iter().enumerate() {
            target.begin_trace();
            let mut session = Session::new(target);
            let answer = self.schema.answer(operation, &mut session);
            commands += session.commands;
            reply_bytes += session.reply_bytes;
            let trace = target.end_trace();
            let answer = answer?;
            if let Some(trace) = trace {
                tally.add(&trace);
            }
            rows += answer.len() as u64;
            reference.check(kind, at, answer, &self.name, question)?;
            self.progress.advance(1);
        }
        let n = self.drawn.samples[kind].len().max(1) as f64;
        figures.samples = self.drawn.samples[kind].len() as u64;
        figures.checksum = reference.checksum(kind).to_string();
        figures.rows = rows as f64 / n;
        figures.commands = commands as f64 / n;
        figures.reply_bytes = reply_bytes as f64 / n;
        figures.keys_examined = tally.keys_examined();
        figures.documents_examined = tally.documents_examined();
        figures.index_entries_written = tally.index_entries_written();
        figures.pages = tally.pages();
        Ok(figures)
    }

    fn mix(&self, target: &mut dyn Target, reference: &mut Reference) -> Result<Mix> {
        let mut mix = Mix::default();
        let warm_up = (self.drawn.mix.len() as f64 * WARM_UP) as usize;
        for (at, (kind, operation)) in self.drawn.mix.iter().enumerate() {
            target.begin_trace();
            let mut session = Session::new(target);
            let answer = self.schema.answer(operation, &mut session);
            let trace = target.end_trace();
            let answer = answer?;
            if let Some(trace) = trace {
                mix.add(&trace, at >= warm_up);
            }
            reference.check_mixed(at, &answer, &self.name, &self.questions[*kind])?;
            self.progress.advance(1);
        }
        Ok(mix)
    }
}
