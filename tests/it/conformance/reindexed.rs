//! The cases that find and count again, each with indexes that its questions could use: an index may change
//! how an answer is found, never the answer.
//!
//! MongoDB itself does not keep to that everywhere (wildcard indexes and null, positions within arrays,
//! arrays compared with arrays; `distinct` answers from an index's keys, missing fields included, and is
//! therefore left out here). Bindery answers as MongoDB does without the index.

use bson::raw::cstr;
use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use crate::answer::{first_field, key};
use crate::corpus::{Case, Collection, Expect, Step, fields};

/// The case with one index more, for every index that makes sense; none where an index decides what is
/// right (a hint, a limit without an order) or where the case writes.
pub(super) fn with_each_index(case: &Case) -> Vec<Case> {
    let reads = case.steps.iter().all(|step| is_plain_read(&step.command));
    if !reads || case.after.is_some() || case.steps.is_empty() {
        return Vec::new();
    }
    let command = &case.steps[0].command;
    let collection = fields(command).next().and_then(|(_, name)| name.as_str()).unwrap_or_default();
    let known = case.setup.iter().any(|made| made.name == collection && made.options.is_empty());
    if !known {
        return Vec::new();
    }
    index_keys(command)
        .into_iter()
        .map(|key| Case {
            name: format!("{} + {}", case.name, crate::extjson::to_shell(RawBsonRef::Document(&key))),
            setup: case.setup.iter().map(Collection::clone).collect(),
            steps: case.steps.iter().map(unordered_without_total_sort).collect(),
            after: None,
            note: case.note.clone(),
            added_index: Some(create_index(collection, &key)),
        })
        .collect()
}

fn is_plain_read(command: &RawDocument) -> bool {
    const INDEX_DECIDES: [&str; 7] = ["hint", "min", "max", "returnKey", "showRecordId", "tailable", "batchSize"];
    let reads = matches!(first_field(command), Some("find" | "count"));
    let has = |name: &str| command.get(name).ok().flatten().is_some();
    let cut = has("limit") || has("skip") || has("singleBatch");
    reads
        && !INDEX_DECIDES.iter().any(|name| has(name))
        && (!cut || command.get_document("sort").is_ok_and(|sort| sort.get("_id").is_ok_and(|id| id.is_some())))
}

fn unordered_without_total_sort(step: &Step) -> Step {
    // Equal sort keys may come in any order.
    let sorted = step.command.get_document("sort").is_ok_and(|sort| sort.get("_id").is_ok_and(|id| id.is_some()));
    Step {
        command: step.command.clone(),
        expect: match &step.expect {
            Expect::Result { docs, ordered } => Expect::Result { docs: docs.clone(), ordered: *ordered && sorted },
            other => other.clone(),
        },
    }
}

fn create_index(collection: &str, pattern: &RawDocument) -> RawDocumentBuf {
    let mut index = RawDocumentBuf::new();
    index.append(cstr!("key"), pattern);
    index.append(cstr!("name"), "added");
    let mut indexes = bson::RawArrayBuf::new();
    indexes.push(index);
    let mut out = RawDocumentBuf::new();
    out.append(cstr!("createIndexes"), collection);
    out.append(cstr!("indexes"), indexes);
    out
}

/// Key patterns over the paths of a command's filter and sort.
fn index_keys(command: &RawDocument) -> Vec<RawDocumentBuf> {
    let mut paths = Vec::new();
    for part in ["filter", "query"] {
        if let Ok(filter) = command.get_document(part) {
            filter_paths(filter, "", &mut paths);
        }
    }
    if let Ok(sort) = command.get_document("sort") {
        fields(sort).for_each(|(path, _)| note_path(path, &mut paths));
    }
    paths.truncate(3);
    let mut keys: Vec<RawDocumentBuf> = Vec::new();
    for path in &paths {
        keys.push(pattern(&[(path, 1)]));
        keys.push(pattern(&[(path, -1)]));
    }
    if let [first, second, ..] = &paths[..] {
        keys.push(pattern(&[(first, 1), (second, 1)]));
        keys.push(pattern(&[(second, -1), (first, 1)]));
    }
    if !paths.is_empty() {
        keys.push(pattern(&[("$**", 1)]));
    }
    keys
}

fn pattern(parts: &[(impl AsRef<str>, i32)]) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    for (path, direction) in parts {
        out.append(key(path.as_ref()), *direction);
    }
    out
}

fn note_path(path: &str, paths: &mut Vec<String>) {
    let usable =
        !path.is_empty() && path != "_id" && path.split('.').all(|part| !part.is_empty() && !part.starts_with('$'));
    if usable && !paths.iter().any(|known| known == path) {
        paths.push(path.to_owned());
    }
}

fn filter_paths(filter: &RawDocument, prefix: &str, paths: &mut Vec<String>) {
    for (name, value) in fields(filter) {
        match (name, value) {
            ("$and" | "$or" | "$nor", RawBsonRef::Array(branches)) => {
                for branch in branches.into_iter().filter_map(|b| b.ok()?.as_document()) {
                    filter_paths(branch, prefix, paths);
                }
            }
            ("$elemMatch" | "$not", RawBsonRef::Document(inner)) => filter_paths(inner, prefix, paths),
            (name, _) if name.starts_with('$') => {}
            (name, value) => {
                let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
                note_path(&path, paths);
                if let RawBsonRef::Document(operators) = value
                    && operators.get_document("$elemMatch").is_ok()
                {
                    filter_paths(operators, &path, paths);
                }
            }
        }
    }
}
