//! The conformance corpus: the cases that MongoDB 6.0.5 answered, read from the published copy in
//! `tests/conformance`, or from the folder that `BINDERY_CORPUS` names.
//!
//! `BINDERY_CORPUS_FILTER` keeps only topics and cases whose `topic/name` holds the given text.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use flate2::read::GzDecoder;

use crate::extjson::read_document;

/// One collection of a case's set-up.
#[derive(Clone)]
pub(crate) struct Collection {
    pub(crate) name: String,
    pub(crate) docs: Vec<RawDocumentBuf>,
    pub(crate) indexes: Vec<RawDocumentBuf>,
    pub(crate) options: RawDocumentBuf,
}

/// What MongoDB answered to a command.
#[derive(Clone)]
pub(crate) enum Expect {
    /// A cursor, drained.
    Result { docs: Vec<RawDocumentBuf>, ordered: bool },
    /// A reply's fields.
    Reply(RawDocumentBuf),
    /// An error. Without a code any error is right.
    Error { code: Option<i32>, code_name: Option<String> },
}

pub(crate) struct Step {
    pub(crate) command: RawDocumentBuf,
    pub(crate) expect: Expect,
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) setup: Vec<Collection>,
    pub(crate) steps: Vec<Step>,
    /// Every collection's documents afterwards, each a bag; absent where a case only reads.
    pub(crate) after: Option<Vec<(String, Vec<RawDocumentBuf>)>>,
    pub(crate) note: Option<String>,
    /// A `createIndexes` to try after the set-up; whether it is refused does not matter.
    pub(crate) added_index: Option<RawDocumentBuf>,
}

/// The lines of one topic, not yet read.
pub(crate) struct Topic {
    /// `folder/topic`, as in `query/query_array`.
    pub(crate) path: String,
    text: String,
}

impl Topic {
    /// The topic's own name, without its folder.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Reads the lines that the filter keeps. A line that cannot be read is a fault of the corpus.
    pub(crate) fn lines(&self) -> impl Iterator<Item = RawDocumentBuf> + '_ {
        let filter = std::env::var("BINDERY_CORPUS_FILTER").unwrap_or_default();
        self.text.lines().filter(|line| !line.is_empty()).enumerate().filter_map(move |(i, line)| {
            let document = read_document(line).unwrap_or_else(|e| panic!("{} line {}: {e}", self.path, i + 1));
            let full = format!("{}/{}", self.path, text_of(&document, "name"));
            full.contains(&filter).then_some(document)
        })
    }

    pub(crate) fn cases(&self) -> Vec<Case> {
        self.lines().map(|line| case(&line)).collect()
    }
}

/// The folder with the cases.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("BINDERY_CORPUS").map_or_else(published, PathBuf::from)
}

/// The published copy. It also has `found/`, the project's own, which no other folder has.
fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// Every topic, by folder and name. The plans of `explain/` are no such cases and are left out.
pub(crate) fn topics() -> Vec<Topic> {
    let mut topics = Vec::new();
    for group in listed(&folder()).into_iter().filter(|path| path.is_dir()) {
        let group_name = name_of(&group);
        if group_name != "explain" {
            topics.extend(listed(&group).iter().filter_map(|file| read_topic(&group_name, file)));
        }
    }
    assert!(!topics.is_empty(), "no topics in {}", folder().display());
    topics
}

/// The topic of this name: from the folder, or if it has none, from the published copy.
pub(crate) fn topic(name: &str) -> Topic {
    for group in listed(&folder()).into_iter().chain(listed(&published())) {
        for ending in ["jsonl.gz", "jsonl"] {
            let file = group.join(format!("{name}.{ending}"));
            if let Some(topic) = file.exists().then(|| read_topic(&name_of(&group), &file)).flatten() {
                return topic;
            }
        }
    }
    panic!("no topic {name} in {}", folder().display());
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn read_topic(group: &str, file: &Path) -> Option<Topic> {
    let file_name = name_of(file);
    let bytes = || fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let (name, text) = if let Some(name) = file_name.strip_suffix(".jsonl.gz") {
        let mut text = String::new();
        GzDecoder::new(&bytes()[..]).read_to_string(&mut text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        (name, text)
    } else {
        let name = file_name.strip_suffix(".jsonl")?;
        (name, String::from_utf8(bytes()).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
    };
    Some(Topic { path: format!("{group}/{name}"), text })
}

fn case(line: &RawDocument) -> Case {
    let steps = documents(line, "steps");
    Case {
        name: text_of(line, "name").to_owned(),
        setup: setup(line),
        steps: steps.iter().map(|step| self::step(step)).collect(),
        after: line
            .get_document("after")
            .ok()
            .map(|after| fields(after).map(|(name, value)| (name.to_owned(), all_documents(value))).collect()),
        note: line.get_str("note").ok().map(str::to_owned),
        added_index: None,
    }
}

/// A case's set-up, in its order.
pub(crate) fn setup(line: &RawDocument) -> Vec<Collection> {
    let setup = line.get_document("setup").expect("a case has a set-up");
    fields(setup)
        .map(|(name, value)| {
            let spec = value.as_document().expect("a collection's set-up is a document");
            Collection {
                name: name.to_owned(),
                docs: documents(spec, "docs"),
                indexes: documents(spec, "indexes"),
                options: spec.get_document("options").expect("options").to_owned(),
            }
        })
        .collect()
}

fn step(step: &RawDocument) -> Step {
    let expect = step.get_document("expect").expect("a step expects something");
    Step {
        command: step.get_document("command").expect("a step has a command").to_owned(),
        expect: if number(expect, "ok") != Some(1) {
            Expect::Error {
                code: number(expect, "code"),
                code_name: expect.get_str("codeName").ok().map(str::to_owned),
            }
        } else if let Ok(reply) = expect.get_document("reply") {
            Expect::Reply(reply.to_owned())
        } else {
            Expect::Result {
                docs: documents(expect, "result"),
                ordered: expect.get_bool("ordered").expect("a result says whether it is ordered"),
            }
        },
    }
}

/// The value of a small number of any numeric type.
pub(crate) fn number(document: &RawDocument, field: &str) -> Option<i32> {
    match document.get(field).ok()?? {
        RawBsonRef::Int32(n) => Some(n),
        RawBsonRef::Int64(n) => i32::try_from(n).ok(),
        RawBsonRef::Double(d) => Some(d as i32),
        _ => None,
    }
}

/// A document's fields, up to the first that is no BSON.
pub(crate) fn fields(document: &RawDocument) -> impl Iterator<Item = (&str, RawBsonRef<'_>)> {
    document.iter().map_while(Result::ok).map(|(name, value)| (name.as_str(), value))
}

fn text_of<'a>(line: &'a RawDocument, field: &str) -> &'a str {
    line.get_str(field).unwrap_or_else(|e| panic!("{field}: {e}"))
}

fn documents(document: &RawDocument, field: &str) -> Vec<RawDocumentBuf> {
    document.get(field).ok().flatten().map(all_documents).unwrap_or_else(|| panic!("no {field}"))
}

fn all_documents(array: RawBsonRef<'_>) -> Vec<RawDocumentBuf> {
    let array = array.as_array().expect("an array of documents");
    array.into_iter().map(|item| item.ok().and_then(RawBsonRef::as_document).expect("a document").to_owned()).collect()
}
