//! One case: set-up, steps, and the collections afterwards.

use bson::raw::cstr;
use bson::{RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf};

use super::verdict::{bag_fault, fault};
use crate::answer::{Answer, ask, first_field, key};
use crate::corpus::{Case, Collection, fields};
use crate::extjson::to_shell;
use crate::server::Server;

/// Runs a case in the empty databases `db` and, where it is needed, `<db>_plain`; says what is wrong.
pub(super) fn run(server: &mut dyn Server, db: &str, case: &Case) -> Result<(), String> {
    set_up(server, db, &case.setup)?;
    if let Some(create) = &case.added_index {
        ask(server, db, create);
    }
    for (number, step) in case.steps.iter().enumerate() {
        let answer = ask(server, db, &step.command);
        let Some(fault) = fault(&step.command, &step.expect, &answer) else {
            continue;
        };
        if index_decides(case) && answers_alike_without_indexes(server, db, case, number, &answer)? {
            continue;
        }
        let command = to_shell(RawBsonRef::Document(&step.command));
        return Err(format!("step {}: {command}\n      {fault}", number + 1));
    }
    check_afterwards(server, db, case)
}

/// Makes the collections of a set-up: options first, then documents, then indexes.
pub(super) fn set_up(server: &mut dyn Server, db: &str, setup: &[Collection]) -> Result<(), String> {
    const BATCH: usize = 1_000;
    for collection in setup {
        let name = collection.name.as_str();
        let mut create = RawDocumentBuf::new();
        create.append(cstr!("create"), name);
        for (option, value) in fields(&collection.options) {
            create.append(key(option), value);
        }
        must(server, db, &create)?;
        for docs in collection.docs.chunks(BATCH) {
            must(server, db, &with_list("insert", name, "documents", docs))?;
        }
        if !collection.indexes.is_empty() {
            must(server, db, &with_list("createIndexes", name, "indexes", &collection.indexes))?;
        }
    }
    Ok(())
}

fn with_list(command: &str, collection: &str, field: &str, items: &[RawDocumentBuf]) -> RawDocumentBuf {
    let mut list = RawArrayBuf::new();
    items.iter().for_each(|item| list.push(item));
    let mut out = RawDocumentBuf::new();
    out.append(key(command), collection);
    out.append(key(field), list);
    out
}

fn must(server: &mut dyn Server, db: &str, command: &RawDocument) -> Result<(), String> {
    let failed = match ask(server, db, command) {
        Answer::Reply(reply) => match reply.get_array("writeErrors") {
            Ok(_) => to_shell(RawBsonRef::Document(&reply)),
            Err(_) => return Ok(()),
        },
        Answer::Cursor(_) => return Ok(()),
        Answer::Error { code, code_name, message } => format!("{code} {code_name}: {message}"),
    };
    let mut text = to_shell(RawBsonRef::Document(command));
    if text.len() > 300 {
        text.truncate(text.floor_char_boundary(300));
        text.push_str("...");
    }
    Err(format!("set-up: {text}\n      {failed}"))
}

/// Whether MongoDB's own answer changes with an index, so that either answer is right.
fn index_decides(case: &Case) -> bool {
    case.note.as_ref().is_some_and(|note| note.contains("otherwise without the index"))
}

/// Whether the same server gives `answer` to step `number` where the set-up has no indexes. The answers
/// without an index are held against MongoDB's by the corpus's other cases.
fn answers_alike_without_indexes(
    server: &mut dyn Server,
    db: &str,
    case: &Case,
    number: usize,
    answer: &Answer,
) -> Result<bool, String> {
    let plain = format!("{db}_plain");
    let bare: Vec<Collection> = case
        .setup
        .iter()
        .map(|collection| Collection {
            name: collection.name.clone(),
            docs: collection.docs.clone(),
            indexes: Vec::new(),
            options: collection.options.clone(),
        })
        .collect();
    set_up(server, &plain, &bare)?;
    let last = case.steps[..=number].iter().map(|step| ask(server, &plain, &step.command)).last();
    Ok(match (last, answer) {
        (Some(Answer::Cursor(expected)), Answer::Cursor(got)) => bag_fault(&expected, got).is_none(),
        _ => false,
    })
}

fn check_afterwards(server: &mut dyn Server, db: &str, case: &Case) -> Result<(), String> {
    for (name, expected) in case.after.iter().flatten() {
        let mut find = RawDocumentBuf::new();
        find.append(cstr!("find"), name.as_str());
        match ask(server, db, &find) {
            Answer::Cursor(got) => {
                if let Some(fault) = bag_fault(expected, &got) {
                    return Err(format!("afterwards, {name}: {fault}"));
                }
            }
            Answer::Error { code, message, .. } => {
                return Err(format!("afterwards, {name}: error {code}: {message}"));
            }
            Answer::Reply(_) => return Err(format!("afterwards, {name}: no cursor")),
        }
    }
    Ok(())
}

/// The special index type that a case needs, if it needs one that Bindery refuses.
pub(super) fn refused_index_type(case: &Case) -> Option<&'static str> {
    let made = case.setup.iter().flat_map(|collection| collection.indexes.iter().map(AsRef::as_ref));
    let asked = case.steps.iter().flat_map(|step| {
        let creates = first_field(&step.command) == Some("createIndexes");
        let specs = step.command.get_array("indexes").ok().filter(|_| creates);
        specs.into_iter().flatten().filter_map(|spec| spec.ok()?.as_document())
    });
    made.chain(asked).find_map(|spec: &RawDocument| {
        let key = spec.get_document("key").ok()?;
        fields(key).find_map(|(_, kind)| match kind.as_str()? {
            "text" => Some("text index"),
            "2d" | "2dsphere" | "2dsphere_bucket" | "geoHaystack" => Some("geospatial index"),
            _ => None,
        })
    })
}
