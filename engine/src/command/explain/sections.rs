//! The two sections of a reply: `queryPlanner`, with the plan that was chosen and those that were not, and
//! `executionStats`, with what each stage did.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_document::{Builder, Doc, DocBuf, Result, Value, doc};
use bindery_query::filter::Filter;
use bindery_query::plan::{Plan, Planned, Query, with_implied};

use super::super::Request;
use super::super::update::Compiled;
use super::subject::{Subject, Top, Write};
use super::{Verbosity, show_bindery, warnings};
use crate::collection::{State, append_number};
use crate::database::Planner;
use crate::execute::{Describe, Stage, build, choose, is_of_everything, keys_counted, try_all};
use crate::trace::{Cx, Trace};

/// A question about to be explained.
pub(super) struct Explained<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) namespace: String,
    /// Whether there is such a collection.
    pub(super) exists: bool,
    pub(super) state: Arc<State>,
    pub(super) query: Query,
    pub(super) subject: &'a Subject<'a>,
    /// Whether what is found are the stored documents of a layout.
    pub(super) is_stored_form: bool,
}

impl Explained<'_> {
    /// Plans, runs if that is asked for, and shows both.
    ///
    /// # Errors
    /// What planning and running say.
    pub(super) fn show(&self, verbosity: Verbosity, reply: &mut Builder, cx: &mut Cx<'_>) -> Result<()> {
        let planner = self.request.server.planner;
        if let Top::Write(write) = &self.subject.top
            && let Some(statement) = &write.update
        {
            // For what is wrong with it.
            Compiled::new(self.request, statement, self.exists.then_some(&*self.state))?;
        }
        let fast_count = matches!(self.subject.top, Top::Count) && is_of_everything(&self.query) && self.exists;
        let planned = match self.exists {
            true => choose(&self.state, &self.query, planner)?,
            false => Planned { winner: Plan::Eof, rejected: Vec::new() },
        };
        let writes = matches!(self.subject.top, Top::Write(_));
        let is_shown = match &planned.winner {
            Plan::Eof => matches!(self.subject.top, Top::Nothing | Top::Distinct(_)) || self.exists,
            Plan::IdLookup { .. } => !writes,
            _ => !fast_count,
        };
        let collation = self.query.collation.as_ref().map(|collation| collation.to_document());
        let section = Section {
            namespace: &self.namespace,
            parsed: is_shown.then_some(&*self.query.filter),
            collation: collation.as_ref().filter(|_| is_shown),
            is_optimized_pipeline: false,
            planner,
            planned: &planned,
            wrap: Wrap {
                describe: Describe {
                    state: &self.state,
                    projection: self.subject.question.projection,
                    sorts_records: writes,
                    counts_up_to: (planner == Planner::MongoDb)
                        .then(|| self.query.limit.map_or(u64::MAX, |limit| limit.saturating_add(self.query.skip))),
                },
                layers: self.layers(&planned.winner),
                fast_count,
                drops_bounds: self.drops_bounds(),
            },
        };
        section.show_planner(reply);
        let mut trace = None;
        if verbosity >= Verbosity::ExecutionStats {
            let mut own = Trace::new();
            let mut inner = Cx::new(&mut own);
            inner.deadline = cx.deadline;
            let started = Instant::now();
            let mut stage = build(&self.state, planned.winner.clone());
            let mut done = Done::default();
            if fast_count {
                done.found = self.state.records.len();
            } else {
                self.run(&mut stage, &mut done, &mut inner)?;
            }
            done.elapsed = started.elapsed();
            self.account(&stage, &mut done);
            section.show_execution(&stage, &done, verbosity, reply)?;
            trace = Some(own);
        }
        show_bindery(planner, trace.as_ref(), &warnings(&self.query, &planned.winner), reply);
        Ok(())
    }

    /// Runs the plan, and an update on each document that it gives, without storing anything.
    fn run(&self, stage: &mut Stage, done: &mut Done, cx: &mut Cx<'_>) -> Result<()> {
        let update = match &self.subject.top {
            Top::Write(write) if !self.is_stored_form => match &write.update {
                Some(statement) => Some(Compiled::new(self.request, statement, Some(&self.state))?),
                None => None,
            },
            _ => None,
        };
        let mut buffer = Vec::new();
        while stage.advance(&self.state, cx)? {
            done.found += 1;
            if let Some(update) = &update {
                // For what it cannot be applied to; the server counts as modified what matches, changed or not.
                update.apply_to(stage.document(&self.state), &mut buffer)?;
            }
        }
        Ok(())
    }

    /// What the command makes of what was found.
    fn account(&self, stage: &Stage, done: &mut Done) {
        done.returned = match &self.subject.top {
            Top::Nothing | Top::Distinct(_) => done.found,
            Top::Count => {
                // Plans that only count leave skip and limit to the command, as does the number of all documents.
                let whole = stage.counted().or(is_of_everything(&self.query).then_some(done.found));
                done.skipped = self.query.skip.min(whole.unwrap_or(self.query.skip));
                if let Some(whole) = whole {
                    done.found = whole.saturating_sub(self.query.skip).min(self.query.limit.unwrap_or(u64::MAX));
                }
                0
            }
            Top::Write(write) => {
                done.upserted = write.upserts() && done.found == 0 && self.exists;
                let gives = done.found > 0 || (done.upserted && write.gives_new == Some(true));
                u64::from(write.gives_new.is_some() && gives)
            }
        };
    }

    /// What stands above the plan, from the outside.
    fn layers(&self, winner: &Plan) -> Vec<Layer<'_>> {
        let mut layers = Vec::new();
        match &self.subject.top {
            Top::Nothing => {}
            Top::Count => layers.push(Layer::Count),
            Top::Distinct(path) => {
                let dotted = path.contains('.');
                match winner {
                    Plan::DistinctScan { .. } if dotted => layers.push(Layer::Values("PROJECTION_DEFAULT")),
                    Plan::DistinctScan { .. } => layers.push(Layer::Values("PROJECTION_COVERED")),
                    Plan::CollectionScan { .. } if dotted => layers.push(Layer::Values("PROJECTION_DEFAULT")),
                    Plan::CollectionScan { .. } => layers.push(Layer::Values("PROJECTION_SIMPLE")),
                    _ => {}
                }
            }
            Top::Write(_) if !self.exists => {}
            Top::Write(write) => {
                layers.extend(write.fields.map(Layer::Fields));
                layers.push(Layer::Write(write));
            }
        }
        if matches!(&*self.query.filter, Filter::Or(_)) && self.query.hint.is_none() && self.exists {
            layers.push(Layer::Subplan);
        }
        layers
    }

    /// Whether the command counts off skip and limit itself, so that the server's plan has no stages for them.
    fn drops_bounds(&self) -> bool {
        match &self.subject.top {
            Top::Count => true,
            // A write of one document stops by itself; only a sorted one has a limit.
            Top::Write(_) => self.query.sort.is_none(),
            Top::Nothing | Top::Distinct(_) => false,
        }
    }
}

/// What running came to.
#[derive(Default)]
pub(super) struct Done {
    /// Results of the plan; of a count, what is counted.
    pub(super) found: u64,
    /// Results of the command.
    pub(super) returned: u64,
    pub(super) skipped: u64,
    pub(super) upserted: bool,
    pub(super) elapsed: Duration,
}

/// A stage above the plan.
pub(super) enum Layer<'a> {
    Count,
    /// What `distinct` takes of documents or keys, under the server's name of the projection.
    Values(&'static str),
    Write(&'a Write<'a>),
    /// The shape in which `findAndModify` gives the document back.
    Fields(Doc<'a>),
    Subplan,
}

impl Layer<'_> {
    fn show(&self, ran: Option<(&Stage, &Done)>, out: &mut Builder) {
        match self {
            Layer::Count => out.append("stage", "COUNT"),
            Layer::Values(name) => out.append("stage", *name),
            Layer::Write(write) => out.append("stage", write.name()),
            Layer::Fields(_) => out.append("stage", "PROJECTION_DEFAULT"),
            Layer::Subplan => out.append("stage", "SUBPLAN"),
        }
        if let Some((stage, done)) = ran {
            let advanced = if let Layer::Subplan = self { done.found } else { done.returned };
            show_common(advanced, stage.stats.works.max(1), out);
        }
        match self {
            Layer::Values(_) => out.append("transformBy", Value::Document(doc::EMPTY)),
            Layer::Fields(fields) => out.append("transformBy", Value::Document(*fields)),
            Layer::Count | Layer::Write(_) | Layer::Subplan => {}
        }
        let Some((_, done)) = ran else { return };
        match self {
            Layer::Count => {
                append_number(out, "nCounted", done.found);
                append_number(out, "nSkipped", done.skipped);
            }
            Layer::Write(write) if write.update.is_some() => {
                append_number(out, "nMatched", done.found);
                append_number(out, "nWouldModify", done.found);
                append_number(out, "nWouldUpsert", u64::from(done.upserted));
            }
            Layer::Write(_) => append_number(out, "nWouldDelete", done.found),
            Layer::Values(_) | Layer::Fields(_) | Layer::Subplan => {}
        }
    }
}

fn show_common(advanced: u64, works: u64, out: &mut Builder) {
    append_number(out, "nReturned", advanced);
    out.append("executionTimeMillisEstimate", 0);
    append_number(out, "works", works);
    append_number(out, "advanced", advanced);
    append_number(out, "needTime", works.saturating_sub(advanced + 1));
    for never in ["needYield", "saveState", "restoreState"] {
        out.append(never, 0);
    }
    out.append("isEOF", 1);
}

/// How plans are shown: with what stands above them.
pub(super) struct Wrap<'a> {
    pub(super) describe: Describe<'a>,
    pub(super) layers: Vec<Layer<'a>>,
    /// Whether the number of all documents is the answer.
    pub(super) fast_count: bool,
    /// Whether skip and limit have no stages.
    pub(super) drops_bounds: bool,
}

impl Wrap<'_> {
    fn show(&self, mut plan: &Plan, ran: Option<(&Stage, &Done)>, out: &mut Builder) {
        if self.fast_count {
            out.append("stage", "RECORD_STORE_FAST_COUNT");
            if let Some((_, done)) = ran {
                show_common(0, 1, out);
                append_number(out, "nCounted", done.found);
                append_number(out, "nSkipped", done.skipped);
            }
            return;
        }
        let mut open = Vec::new();
        for layer in &self.layers {
            layer.show(ran, out);
            open.push(out.open_document("inputStage"));
        }
        let mut stage = ran.map(|(stage, _)| stage);
        while let Plan::Limit { input, .. } | Plan::Skip { input, .. } = plan
            && self.drops_bounds
        {
            plan = input;
            stage = stage.and_then(|stage| stage.inputs().first().copied());
        }
        self.describe.show(plan, stage, out);
        while let Some(inner) = open.pop() {
            out.close(inner);
        }
    }
}

/// A plan with what there is to say about it.
pub(super) struct Section<'a> {
    pub(super) namespace: &'a str,
    /// The filter, where the server shows it.
    pub(super) parsed: Option<&'a Filter>,
    /// The collation of the question.
    pub(super) collation: Option<&'a DocBuf>,
    /// Whether the plan carries out a whole pipeline.
    pub(super) is_optimized_pipeline: bool,
    pub(super) planner: Planner,
    pub(super) planned: &'a Planned,
    pub(super) wrap: Wrap<'a>,
}

impl Section<'_> {
    /// Appends `queryPlanner`.
    pub(super) fn show_planner(&self, out: &mut Builder) {
        let planner = out.open_document("queryPlanner");
        out.append("namespace", self.namespace);
        out.append("indexFilterSet", false);
        if let Some(filter) = self.parsed {
            let implied = with_implied(filter, &[]);
            let shown = implied.as_ref().unwrap_or(filter).to_document();
            out.append("parsedQuery", Value::Document(shown.doc()));
        }
        if let Some(collation) = self.collation {
            out.append("collation", Value::Document(collation.doc()));
        }
        if self.is_optimized_pipeline {
            out.append("optimizedPipeline", true);
        }
        for never in ["maxIndexedOrSolutionsReached", "maxIndexedAndSolutionsReached", "maxScansToExplodeReached"] {
            out.append(never, false);
        }
        let winning = out.open_document("winningPlan");
        self.wrap.show(&self.planned.winner, None, out);
        out.close(winning);
        let rejected = out.open_array("rejectedPlans");
        for (i, candidate) in self.planned.rejected.iter().enumerate() {
            let mut digits = [0; 20];
            let open = out.open_document(bindery_document::build::index_key(i, &mut digits));
            self.wrap.show(&candidate.plan, None, out);
            if self.planner == Planner::Bindery {
                out.append("cost", candidate.cost);
            }
            out.close(open);
        }
        out.close(rejected);
        out.close(planner);
    }

    /// Appends `executionStats` of the winner, which has run; with what all plans do in a trial, if that is asked for.
    ///
    /// # Errors
    /// What trying the plans says.
    pub(super) fn show_execution(
        &self,
        stage: &Stage,
        done: &Done,
        verbosity: Verbosity,
        out: &mut Builder,
    ) -> Result<()> {
        let stats = out.open_document("executionStats");
        out.append("executionSuccess", true);
        append_number(out, "nReturned", done.returned);
        out.append("executionTimeMillis", i32::try_from(done.elapsed.as_millis()).unwrap_or(i32::MAX));
        let counted = self.wrap.describe.counts_up_to.map_or(0, |most| keys_counted(stage, most));
        append_number(out, "totalKeysExamined", stage.total(|s| s.keys_examined) + counted);
        append_number(out, "totalDocsExamined", stage.total(|s| s.docs_examined));
        let stages = out.open_document("executionStages");
        self.wrap.show(&self.planned.winner, Some((stage, done)), out);
        out.close(stages);
        if verbosity == Verbosity::AllPlansExecution {
            self.show_trials(out)?;
        }
        out.close(stats);
        Ok(())
    }

    /// What each plan does until one of them ends or has given enough: by this MongoDB's planner chooses.
    fn show_trials(&self, out: &mut Builder) -> Result<()> {
        let list = out.open_array("allPlansExecution");
        if !self.planned.rejected.is_empty() {
            let rejected = self.planned.rejected.iter().map(|candidate| candidate.plan.clone());
            let plans: Vec<Plan> = std::iter::once(self.planned.winner.clone()).chain(rejected).collect();
            for (i, (plan, trial)) in plans.iter().zip(try_all(self.wrap.describe.state, &plans)?).enumerate() {
                let mut digits = [0; 20];
                let open = out.open_document(bindery_document::build::index_key(i, &mut digits));
                append_number(out, "nReturned", trial.stage.stats.advanced);
                out.append("executionTimeMillisEstimate", 0);
                append_number(out, "totalKeysExamined", trial.stage.total(|s| s.keys_examined));
                append_number(out, "totalDocsExamined", trial.stage.total(|s| s.docs_examined));
                out.append("score", trial.score);
                let stages = out.open_document("executionStages");
                self.wrap.describe.show(plan, Some(&trial.stage), out);
                out.close(stages);
                out.close(open);
            }
        }
        out.close(list);
        Ok(())
    }
}
