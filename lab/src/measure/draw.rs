//! All operations of a comparison, drawn before the first schema is made.

use crate::generate::Random;
use crate::scenario::{Effect, Question, Scenario};

/// What every schema is asked, in order.
pub(super) struct Drawn<O> {
    /// For each kind of question its samples; for writes, those that are traced.
    pub samples: Vec<Vec<O>>,
    /// For each kind of write those that are timed; empty for reads, which are timed on their samples.
    pub timed_writes: Vec<Vec<O>>,
    /// The mixed workload: kinds and operations.
    pub mix: Vec<(usize, O)>,
}

impl<O> Drawn<O> {
    pub(super) fn new<S: Scenario<Operation = O>>(
        scenario: &S,
        questions: &[Question],
        operations: usize,
        seed: u64,
    ) -> Drawn<O> {
        let mut written = 0;
        let mut draw = |kind: usize, random: &mut Random| {
            let operation = scenario.draw(kind, written, random);
            written += u64::from(questions[kind].effect == Effect::Write);
            operation
        };
        let mut random = Random::stream(seed, "samples");
        let mut reads: Vec<Vec<O>> = Vec::new();
        for (kind, question) in questions.iter().enumerate() {
            let count = if question.effect == Effect::Read { question.samples } else { 0 };
            reads.push((0..count).map(|_| draw(kind, &mut random)).collect());
        }
        let mut random = Random::stream(seed, "mix");
        let total: u32 = questions.iter().map(|question| question.weight).sum();
        let mix = (0..operations).map(|_| {
            let mut at = random.below(u64::from(total)) as u32;
            let mut kind = 0;
            while kind + 1 < questions.len() && at >= questions[kind].weight {
                at -= questions[kind].weight;
                kind += 1;
            }
            (kind, draw(kind, &mut random))
        });
        let mix = mix.collect();
        let mut random = Random::stream(seed, "writes");
        let mut timed_writes = Vec::new();
        for (kind, question) in questions.iter().enumerate() {
            if question.effect == Effect::Write {
                reads[kind] = (0..question.samples).map(|_| draw(kind, &mut random)).collect();
                timed_writes.push((0..question.samples).map(|_| draw(kind, &mut random)).collect());
            } else {
                timed_writes.push(Vec::new());
            }
        }
        Drawn { samples: reads, timed_writes, mix }
    }
}
