//! The runner on a database of a few lines, with a schema that lies when told to.

use bson::{Bson, RawDocument, RawDocumentBuf, rawdoc};

use super::*;
use crate::answer::Answer;
use crate::generate::Random;
use crate::report::{Kind, render};
use crate::scenario::{DataFigures, Effect, Loader, Question, Schema};
use crate::session::Session;
use crate::target::{PageKind, Planner, StorageFigures, Target, Touch, Trace, TreeFigures};

/// Adds numbers up; each number it holds is a page.
#[derive(Clone, Default)]
struct Adder {
    numbers: Vec<i64>,
    trace: Option<Trace>,
}

impl Target for Adder {
    fn run(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        let touch = |page: usize, dirtied| Touch { page: page as u64, kind: PageKind::Record, bytes: 10, dirtied };
        if let Ok(documents) = command.get_array("documents") {
            for document in documents.into_iter().flatten() {
                let number = document.as_document().and_then(|d| d.get_i64("n").ok()).unwrap_or(0);
                self.numbers.push(number);
                if let Some(trace) = &mut self.trace {
                    trace.touches.push(touch(self.numbers.len(), true));
                }
            }
            return Ok(rawdoc! { "n": 1, "ok": 1.0 });
        }
        if command.get("find").is_ok_and(|found| found.is_some()) {
            if let Some(trace) = &mut self.trace {
                trace.documents_examined += self.numbers.len() as u64;
                trace.touches.extend((1..=self.numbers.len()).map(|page| touch(page, false)));
            }
            let sum: i64 = self.numbers.iter().sum();
            let cursor = rawdoc! { "firstBatch": [{ "sum": sum }], "id": 0_i64 };
            return Ok(rawdoc! { "cursor": cursor, "ok": 1.0 });
        }
        Ok(rawdoc! { "ok": 0.0, "code": 59, "errmsg": "no such command" })
    }

    fn begin_trace(&mut self) {
        self.trace = Some(Trace::default());
    }

    fn end_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    fn fork(&mut self) -> Option<Box<dyn Target>> {
        Some(Box::new(self.clone()))
    }

    fn storage(&mut self, collection: &str) -> Result<StorageFigures> {
        let n = self.numbers.len() as u64;
        let tree = TreeFigures {
            collection: collection.to_owned(),
            name: "records".to_owned(),
            entries: n,
            pages: n,
            bytes: n * 10,
            height: 1,
            fill: 1.0,
        };
        Ok(StorageFigures { documents: n, data_bytes: n * 8, records: vec![tree], indexes: Vec::new() })
    }

    fn compact(&mut self, _collection: &str) -> Result<()> {
        Ok(())
    }
}

struct Adders;

impl Targets for Adders {
    fn open(&self, _planner: Planner) -> Result<Box<dyn Target>> {
        Ok(Box::new(Adder::default()))
    }

    fn describe(&self) -> String {
        "an adder".to_owned()
    }
}

/// Holds 1 to 100, once or (as a second schema) with a zero beside each.
struct Sums {
    lies: bool,
    refused: bool,
}

#[derive(Clone)]
enum Operation {
    Sum,
    Add(i64),
}

struct Held {
    padded: bool,
    lies: bool,
    refused: bool,
}

impl Scenario for Sums {
    type Operation = Operation;

    fn name(&self) -> &'static str {
        "sums"
    }

    fn data(&self) -> DataFigures {
        DataFigures { description: "numbers".to_owned(), load_order: "in order".to_owned(), documents: 100, bytes: 800 }
    }

    fn questions(&self) -> Vec<Question> {
        let question = |name: &str, effect, weight, samples| Question {
            name: name.to_owned(),
            text: "a question".to_owned(),
            effect,
            weight,
            samples,
        };
        vec![question("sum", Effect::Read, 9, 5), question("add", Effect::Write, 1, 4)]
    }

    fn mix_operations(&self) -> usize {
        100
    }

    fn draw(&self, question: usize, written: u64, _random: &mut Random) -> Operation {
        if question == 0 { Operation::Sum } else { Operation::Add(1000 + written as i64) }
    }

    fn schemas(&self) -> Vec<Box<dyn Schema<Operation> + '_>> {
        vec![
            Box::new(Held { padded: false, lies: false, refused: false }),
            Box::new(Held { padded: true, lies: self.lies, refused: self.refused }),
        ]
    }
}

impl Schema<Operation> for Held {
    fn name(&self) -> String {
        if self.padded { "padded" } else { "naive" }.to_owned()
    }

    fn role(&self) -> Role {
        if self.padded { Role::ByHand } else { Role::Naive }
    }

    fn note(&self) -> String {
        "numbers".to_owned()
    }

    fn collections(&self) -> Vec<&'static str> {
        vec!["c"]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        Ok(if self.refused { vec![rawdoc! { "create": "c" }] } else { Vec::new() })
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        for n in 1..=100_i64 {
            loader.insert("c", &rawdoc! { "n": n })?;
            if self.padded {
                loader.insert("c", &rawdoc! { "n": 0_i64 })?;
            }
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        match operation {
            Operation::Sum => {
                let rows = session.rows(&rawdoc! { "find": "c" })?;
                let sum = rows[0].get_i64("sum").expect("the adder's answer");
                // A lie that shows only once something was added.
                let lie = i64::from(self.lies && sum > 5050);
                Ok(Answer::ordered(vec![Bson::Int64(sum + lie)]))
            }
            Operation::Add(n) => {
                session.run(&rawdoc! { "insert": "c", "documents": [{ "n": *n }] })?;
                Ok(Answer::ordered(vec![Bson::Int32(1)]))
            }
        }
    }
}

#[test]
fn figures_are_means_over_the_samples() {
    let scenario = Sums { lies: false, refused: false };
    let comparison = compare(&scenario, &Adders, &Options::default(), &Silent).expect("agrees");
    let [naive, padded] = comparison.schemas.as_slice() else { panic!("two schemas") };
    assert_eq!((naive.loaded.documents, padded.loaded.documents), (100, 200));
    let (sum, add) = (&naive.questions[0], &naive.questions[1]);
    assert_eq!((sum.samples, sum.documents_examined, sum.rows), (5, 100.0, 1.0));
    let pages = sum.pages.expect("traced");
    assert_eq!((pages.record, pages.bytes, pages.bytes_dirtied), (100.0, 1000.0, 0.0));
    assert_eq!(add.pages.expect("traced").bytes_dirtied, 10.0);
    assert!(sum.latency.expect("timed").n >= 5);
    assert_eq!(sum.checksum, padded.questions[0].checksum);
    let mix = naive.mix.as_ref().expect("traced");
    assert_eq!(mix.operations, 80);
    assert!(mix.pages >= 100 && mix.bytes == mix.pages * 10);
    let grew = |kind, what: &str| comparison.findings.iter().any(|f| f.kind == kind && f.what == what);
    assert!(grew(Kind::Grew, "records") && grew(Kind::ReadsMore, "sum") && grew(Kind::ExaminesMore, "sum"));
    assert!(!grew(Kind::WritesMore, "add"));
    let text = render(&comparison);
    assert!(text.contains("padded: records grew: 2.00 kB instead of 1.00 kB (x2.00)"), "{text}");
}

#[test]
fn a_schema_that_answers_differently_leaves_no_figures() {
    let scenario = Sums { lies: true, refused: false };
    match compare(&scenario, &Adders, &Options::default(), &Silent) {
        Err(Error::Disagreement(message)) => assert!(message.contains("`naive` and `padded`"), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_command_is_an_error_with_its_code() {
    let scenario = Sums { lies: false, refused: true };
    match compare(&scenario, &Adders, &Options::default(), &Silent) {
        Err(Error::Command { code: 59, command, .. }) => assert_eq!(command, "create"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn schemas_are_chosen_by_name_or_role() {
    let scenario = Sums { lies: true, refused: true };
    let only = |schema: &str| {
        let options = Options { schemas: vec![schema.to_owned()], ..Options::default() };
        compare(&scenario, &Adders, &options, &Silent)
    };
    assert_eq!(only("naive").expect("runs").schemas.len(), 1);
    assert_eq!(only("native").expect("runs").schemas.len(), 1);
    assert!(matches!(only("padded"), Err(Error::Command { .. })));
    assert!(matches!(only("other"), Err(Error::Unsuitable(message)) if message.contains("`padded`")));
}
