//! The figures of a comparison, as they are written to JSON.

use serde::Serialize;

use super::Finding;
use crate::measure::{Latency, MixFigures, PageFigures};
use crate::scenario::{DataFigures, Question, Role};
use crate::target::{Planner, StorageFigures};

/// One scenario, all schemas.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// What ran it.
    pub target: String,
    /// The seed of the operations.
    pub seed: u64,
    /// The data that every schema holds.
    pub data: DataFigures,
    /// What was asked and done.
    pub questions: Vec<Question>,
    /// The naive schema first. All of them gave the same answers.
    pub schemas: Vec<SchemaFigures>,
    /// What grew and what got slower against the naive schema.
    pub findings: Vec<Finding>,
}

/// One schema.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaFigures {
    /// The schema's name.
    pub name: String,
    /// What it is to the comparison.
    pub role: Role,
    /// Whose planner chose its plans.
    pub planner: Planner,
    /// What it does, in a sentence.
    pub note: String,
    /// Loading it.
    pub load: LoadFigures,
    /// What it occupies after loading.
    pub loaded: StorageFigures,
    /// What it occupies rewritten with full pages.
    pub compacted: StorageFigures,
    /// One for each question of the comparison, in the same order.
    pub questions: Vec<QuestionFigures>,
    /// The mixed workload; `null` where the target does not tell pages.
    pub mix: Option<MixFigures>,
}

/// How long loading took, within the target.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadFigures {
    /// Seconds, indexes in place.
    pub seconds: f64,
    /// Logical documents a second.
    pub documents_per_second: f64,
}

/// One kind of operation on one schema: means per operation over the samples.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionFigures {
    /// The question's name.
    pub name: String,
    /// How many were asked with tracing.
    pub samples: u64,
    /// Over the naive schema's answers to all samples, with which this schema's agree.
    pub checksum: String,
    /// Rows of the logical answer.
    pub rows: f64,
    /// Commands that it took.
    pub commands: f64,
    /// Bytes of the replies.
    pub reply_bytes: f64,
    /// Index keys examined.
    pub keys_examined: f64,
    /// Documents examined.
    pub documents_examined: f64,
    /// Index entries inserted or removed.
    pub index_entries_written: f64,
    /// Pages; `null` where the target does not tell.
    pub pages: Option<PageFigures>,
    /// Latencies without tracing.
    pub latency: Option<Latency>,
}

impl QuestionFigures {
    /// Of a question that was not asked yet.
    pub(crate) fn unasked(question: &Question) -> QuestionFigures {
        QuestionFigures {
            name: question.name.clone(),
            samples: 0,
            checksum: String::new(),
            rows: 0.0,
            commands: 0.0,
            reply_bytes: 0.0,
            keys_examined: 0.0,
            documents_examined: 0.0,
            index_entries_written: 0.0,
            pages: None,
            latency: None,
        }
    }
}
