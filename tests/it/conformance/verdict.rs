//! Whether an answer is the one that MongoDB gave.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use crate::answer::{Answer, first_field, listing, only, without};
use crate::compare::{bag_difference, same_documents};
use crate::corpus::{Expect, fields};
use crate::extjson::to_shell;

/// How many documents of each side a report shows; all if `BINDERY_CORPUS_VERBOSE` is set.
fn shown() -> usize {
    if verbose() { usize::MAX } else { 5 }
}

pub(super) fn verbose() -> bool {
    std::env::var("BINDERY_CORPUS_VERBOSE").is_ok_and(|v| !v.is_empty() && v != "0")
}

/// What is wrong with `answer`, or nothing.
pub(super) fn fault(command: &RawDocument, expect: &Expect, answer: &Answer) -> Option<String> {
    match (expect, answer) {
        (Expect::Error { code: None, .. }, Answer::Error { .. }) => None,
        (Expect::Error { code: Some(code), code_name }, Answer::Error { code: got, code_name: got_name, message }) => {
            let right = code == got && code_name.as_ref().is_none_or(|name| name == got_name);
            (!right).then(|| {
                let name = code_name.as_deref().unwrap_or_default();
                format!("error {code} {name} expected, got {got} {got_name}: {message}")
            })
        }
        (Expect::Result { docs, ordered: true }, Answer::Cursor(got)) => sequence_fault(docs, &listed(command, got)),
        (Expect::Result { docs, ordered: false }, Answer::Cursor(got)) => bag_fault(docs, &listed(command, got)),
        (Expect::Reply(expected), Answer::Reply(got)) => {
            let got = if reports_machine(command) {
                let names: Vec<&str> = fields(expected).map(|(name, _)| name).collect();
                only(got, &names)
            } else {
                without(got, unstable_fields(command))
            };
            (!same_documents(expected, &got)).then(|| {
                format!(
                    "expected {}\n      got      {}",
                    to_shell(RawBsonRef::Document(expected)),
                    to_shell(RawBsonRef::Document(&got))
                )
            })
        }
        (expect, answer) => Some(format!("expected {}, got {}", expectation(expect), kind(answer))),
    }
}

/// Commands whose replies tell of the machine and the build too: only the given fields count.
fn reports_machine(command: &RawDocument) -> bool {
    let name = first_field(command).unwrap_or_default().to_ascii_lowercase();
    ["hello", "ismaster", "buildinfo", "dbstats", "collstats"].contains(&name.as_str())
}

/// Reply fields that hold a message or what the storage engine decides.
fn unstable_fields(command: &RawDocument) -> &'static [&'static str] {
    match first_field(command).unwrap_or_default() {
        "createIndexes" => &["note", "createdCollectionAutomatically", "commitQuorum"],
        _ => &[],
    }
}

/// The lists of collections and indexes, less what the storage engine adds to them.
fn listed(command: &RawDocument, got: &[RawDocumentBuf]) -> Vec<RawDocumentBuf> {
    let dropped: &[&str] = match first_field(command).unwrap_or_default() {
        "listCollections" => &["info", "idIndex"],
        "listIndexes" => &["v", "ns"],
        _ => return got.to_vec(),
    };
    got.iter().map(|doc| without(doc, dropped)).collect()
}

fn expectation(expect: &Expect) -> String {
    match expect {
        Expect::Error { code: Some(code), .. } => format!("error {code}"),
        Expect::Error { .. } => "an error".to_owned(),
        Expect::Result { docs, .. } => {
            format!("{} documents{}", docs.len(), listing(docs, shown()))
        }
        Expect::Reply(reply) => to_shell(RawBsonRef::Document(reply)),
    }
}

fn kind(answer: &Answer) -> String {
    match answer {
        Answer::Error { code, code_name, message } => format!("error {code} {code_name}: {message}"),
        Answer::Cursor(docs) => format!("{} documents{}", docs.len(), listing(docs, shown())),
        Answer::Reply(reply) => format!("a reply {}", to_shell(RawBsonRef::Document(reply))),
    }
}

fn sequence_fault(expected: &[RawDocumentBuf], got: &[RawDocumentBuf]) -> Option<String> {
    let wrong = expected.iter().zip(got).position(|(e, g)| !same_documents(e, g));
    if let Some(at) = wrong {
        let (missing, extra) = bag_difference(expected, got);
        if !missing.is_empty() || !extra.is_empty() {
            return bag_fault(expected, got);
        }
        return Some(format!(
            "the order differs from document {at} on; expected{}\n      got{}",
            listing(&expected[at..], shown()),
            listing(&got[at..], shown())
        ));
    }
    if expected.len() == got.len() { None } else { bag_fault(expected, got) }
}

/// What sets two bags of documents apart, or nothing.
pub(super) fn bag_fault(expected: &[RawDocumentBuf], got: &[RawDocumentBuf]) -> Option<String> {
    let (missing, extra) = bag_difference(expected, got);
    if missing.is_empty() && extra.is_empty() {
        return None;
    }
    let pick = |docs: &[RawDocumentBuf], at: &[usize]| -> Vec<RawDocumentBuf> {
        at.iter().map(|&i| docs[i].clone()).collect()
    };
    let mut text = format!(
        "{} documents expected, {} came; missing{}\n      not expected{}",
        expected.len(),
        got.len(),
        listing(&pick(expected, &missing), shown()),
        listing(&pick(got, &extra), shown())
    );
    if verbose() {
        text.push_str(&format!(
            "\n      all expected{}\n      all that came{}",
            listing(expected, usize::MAX),
            listing(got, usize::MAX)
        ));
    }
    Some(text)
}
