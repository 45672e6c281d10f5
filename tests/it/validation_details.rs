//! `errInfo.details` of documents that a validator refuses: why, as MongoDB 6.0.5 said of the cases in
//! `validation_details.jsonl` (filter, document, details).

use bindery::Database;
use bson::{RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, rawdoc};

use crate::extjson::read_document;

fn cases() -> Vec<RawDocumentBuf> {
    let read = |line: &str| read_document(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    include_str!("validation_details.jsonl").lines().map(read).collect()
}

fn part<'a>(case: &'a RawDocument, name: &str) -> &'a RawDocument {
    case.get_document(name).unwrap_or_else(|e| panic!("{e}: {case:?}"))
}

/// A collection with this validator; false if there can be none.
fn create(db: &Database, filter: &RawDocument) -> bool {
    db.run_command(&rawdoc! {"drop": "c"});
    let reply = db.run_command(&rawdoc! {"create": "c", "validator": filter.to_owned()});
    reply.get_f64("ok").ok() == Some(1.0)
}

/// What is said of a document; none if it was taken.
fn refusal(db: &Database, document: &RawDocument) -> Option<RawDocumentBuf> {
    let mut documents = RawArrayBuf::new();
    documents.push(document.to_owned());
    let reply = db.run_command(&rawdoc! {"insert": "c", "documents": documents});
    let errors = reply.get_array("writeErrors").ok()?;
    let error = errors.get_document(0).unwrap_or_else(|e| panic!("{e}: {reply:?}"));
    assert_eq!(error.get_i32("code").ok(), Some(121), "{reply:?}");
    let info = error.get_document("errInfo").unwrap_or_else(|e| panic!("{e}: {reply:?}"));
    assert_eq!(info.get("failingDocumentId").ok(), document.get("_id").ok());
    Some(part(info, "details").to_owned())
}

#[test]
fn details_are_those_of_mongodb() {
    let (db, cases) = (Database::new(), cases());
    let mut differing = Vec::new();
    for case in &cases {
        let (filter, document, expected) = (part(case, "filter"), part(case, "document"), part(case, "details"));
        assert!(create(&db, filter), "{filter:?}");
        let details = refusal(&db, document).unwrap_or_default();
        if *details != *expected {
            differing.push(format!("{filter:?} on {document:?}\n  {expected:?}\nnot {details:?}"));
        }
    }
    assert!(cases.len() > 200);
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), cases.len(), differing.join("\n"));
}

#[test]
fn whatever_is_refused_has_a_reason() {
    // Every filter with every document: the explanation, which is made apart, agrees with the matcher.
    let (db, cases) = (Database::new(), cases());
    for filter in cases.iter().map(|case| part(case, "filter")) {
        assert!(create(&db, filter), "{filter:?}");
        for (nth, document) in cases.iter().map(|case| part(case, "document")).enumerate() {
            let mut document = document.to_owned();
            document = document.iter().flatten().filter(|(name, _)| *name != "_id").fold(
                rawdoc! {"_id": nth as i32},
                |mut whole, (name, value)| {
                    whole.append(name, RawBson::from(value.to_owned()));
                    whole
                },
            );
            let Some(details) = refusal(&db, &document) else { continue };
            for list in ["schemaRulesNotSatisfied", "clausesNotSatisfied", "clausesSatisfied"] {
                let is_empty = details.get_array(list).is_ok_and(|list| list.is_empty());
                assert!(!is_empty, "{filter:?} on {document:?}: {details:?}");
            }
        }
    }
}
