//! `$out` and `$merge`: what becomes of a pipeline's documents that do not go to the client.
//!
//! `$out` fills a new collection beside the old one, with its options and indexes, and puts it in its place when all
//! documents are in; a failure leaves the old one as it was. `$merge` writes document by document with the
//! statements that a client would use, so that what was written before a failure stays.
//!
//! Source: MongoDB's manual, "`$out`" and "`$merge`"; the codes were asked of a real server.

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_index::Records;
use bindery_query::collation::Collation;
use bindery_query::expression::Scope;
use bindery_query::pipeline::{Merge, Out, Output, Pipeline, WhenMatched, WhenNotMatched};

use super::{Request, Target, create, insert, not_on_a_view};
use crate::catalog::Entry;
use crate::collection::{Collection, CollectionOptions, Index, State};
use crate::cursor::Rows;
use crate::layout::series::not_on_a_series;
use crate::namespace;
use crate::trace::Cx;
use crate::write;

/// Whether a pipeline's documents go into a collection.
pub(super) fn has_output(pipeline: Doc<'_>) -> bool {
    let last = pipeline.iter().last().map(|stage| stage.value());
    let stage = last.and_then(|stage| stage.as_document()).and_then(Doc::first);
    stage.is_some_and(|stage| matches!(stage.key, b"$out" | b"$merge"))
}

/// Checks that a pipeline does not write into a database of the server's own.
///
/// # Errors
/// 31320 and 31321 if it does.
pub(super) fn check_database(database: &str, pipeline: &Pipeline) -> Result<()> {
    let (code, name, asked) = match pipeline.output() {
        Some(Output::Merge(merge)) => (31320, "$merge", merge.database.as_deref()),
        Some(Output::Out(out)) => (31321, "$out", out.database.as_deref()),
        None => return Ok(()),
    };
    let database = asked.unwrap_or(database);
    if matches!(database, "admin" | "config" | "local") {
        return Err(Error::new(code, format!("cannot {name} to the internal database '{database}'")));
    }
    Ok(())
}

/// Reads the rows and writes them where the pipeline says.
///
/// # Errors
/// 166 for a view as target, 17152 for a capped one, 51183 for fields that no unique index covers; what reading
/// and writing fail with.
pub(super) fn write_output(
    request: &Request<'_>,
    pipeline: &Pipeline,
    rows: &mut dyn Rows,
    cx: &mut Cx<'_>,
) -> Result<()> {
    match pipeline.output() {
        Some(Output::Out(out)) => replace_collection(request, out, rows, cx),
        Some(Output::Merge(merge)) => merge_documents(request, merge, pipeline.collation(), rows, cx),
        None => Ok(()),
    }
}

fn replace_collection(request: &Request<'_>, out: &Out, rows: &mut dyn Rows, cx: &mut Cx<'_>) -> Result<()> {
    let database = out.database.as_deref().unwrap_or(request.database);
    let name = &*out.collection;
    let target = request.server.target(database, name);
    let (options, specs) = match &target {
        Target::View(_) | Target::Layout(_) => return Err(not_on_a_view(&format!("{database}.{name}"))),
        Target::Absent => {
            namespace::check_new_collection(database, name)
                .map_err(|error| Error::new(code::ILLEGAL_OPERATION, format!("$out: {}", error.message)))?;
            (Arc::new(CollectionOptions::default()), Vec::new())
        }
        Target::Collection(collection) => {
            let state = collection.snapshot();
            if state.options.capped.is_some() {
                return Err(Error::new(17152, format!("{database}.{name} is capped, so $out cannot replace it")));
            }
            let specs = state.indexes.iter().map(|index| index.meta.spec.clone()).collect();
            (Arc::clone(&state.options), specs)
        }
    };
    let fresh = if specs.is_empty() {
        create::new_collection(request.server, CollectionOptions::default())?
    } else {
        let indexes = specs.into_iter().map(Index::new).collect::<Result<Vec<Index>>>()?;
        Collection::new(request.server.new_uuid(), State { records: Records::new(), indexes, options })
    };
    {
        let bypass = bypasses_validation(request);
        let mut guard = fresh.lock_for_writing();
        while rows.advance(cx)? {
            let document = insert::prepare(request.server, rows.current())?;
            write::insert(&mut guard, Doc::from_stored(&document), bypass, cx)
                .map_err(|error| request.name_namespace(error, name))?;
            cx.step()?;
        }
    }
    request.server.catalog.write().replace(database, name, Entry::Collection(Arc::new(fresh)));
    let namespace = format!("{database}.{name}");
    request.server.cursors.doom(|cursor| cursor == namespace, "collection dropped");
    Ok(())
}

/// Whether documents are written without asking the target's validator.
fn bypasses_validation(request: &Request<'_>) -> bool {
    request.command.get("bypassDocumentValidation").is_some_and(|bypass| bypass.is_truthy())
}

fn merge_documents(
    request: &Request<'_>,
    merge: &Merge,
    collation: Option<&Collation>,
    rows: &mut dyn Rows,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let database = merge.database.as_deref().unwrap_or(request.database);
    let name = &*merge.collection;
    check_target(request, database, merge, collation)?;
    let target = Statements { request: Request { server: request.server, database, command: request.command }, name };
    // All documents are read before the first is written: they may come from the target itself.
    let mut documents = Vec::new();
    // Where other fields tell which document is meant, the target keeps the `_id` that it has.
    let needs_id = merge.on.as_ref().is_none_or(|paths| paths.iter().any(|path| &**path == "_id"));
    while rows.advance(cx)? {
        let document = rows.current();
        documents.push(if needs_id {
            DocBuf::from_stored(insert::prepare(request.server, document)?.into_owned())
        } else {
            DocBuf::from(document)
        });
        cx.step()?;
    }
    // What is asked for and what its pipeline is told is made for all of them before the first is written, too.
    let asked = documents.iter().map(|document| ask(merge, document.doc())).collect::<Result<Vec<Asked>>>()?;
    if let WhenMatched::Fail = merge.when_matched {
        return target.insert(&documents, cx);
    }
    // A failure does not keep the others from being written; the first one is told.
    let mut result = Ok(());
    for (document, asked) in documents.iter().zip(asked) {
        let written = merge_one(&target, merge, document.doc(), asked, cx);
        result = result.and(written);
    }
    result
}

/// Which document of the target is meant by one of the pipeline's, and the variables of an update by a pipeline.
struct Asked {
    query: DocBuf,
    variables: Option<DocBuf>,
}

fn ask(merge: &Merge, document: Doc<'_>) -> Result<Asked> {
    let query = match &merge.on {
        None => id_query(document),
        Some(paths) => on_query(paths, document)?,
    };
    if !matches!(merge.when_matched, WhenMatched::Pipeline(_)) {
        return Ok(Asked { query, variables: None });
    }
    let mut variables = Builder::new();
    for (name, value) in merge.variable_values(&Scope::new(document))? {
        let literal = variables.open_document(name.as_bytes());
        if let Some(value) = &value {
            variables.append("$literal", value.value());
        } else {
            variables.append("$getField", "");
        }
        variables.close(literal);
    }
    Ok(Asked { query, variables: Some(variables.finish()) })
}

/// Checks that the target can be written to and that `on` names one document at most.
fn check_target(request: &Request<'_>, database: &str, merge: &Merge, collation: Option<&Collation>) -> Result<()> {
    let name = &*merge.collection;
    let on: Vec<&str> = merge.on.iter().flatten().map(|path| &**path).collect();
    let is_id = on.is_empty() || on == ["_id"];
    let whole = |collation: Option<&Collation>| collation.map(Collation::to_document);
    let covers = |index: &Index| {
        let spec = &index.meta.spec;
        let names: Vec<&str> = spec.key.doc().iter().map(|field| field.key_str()).collect();
        (spec.unique || names == ["_id"])
            && spec.partial.is_none()
            && whole(index.meta.collation.as_ref()) == whole(collation)
            && names.len() == on.len()
            && on.iter().all(|path| names.contains(path))
    };
    let is_unique = match request.server.target(database, name) {
        Target::View(_) => return Err(not_on_a_view(&format!("{database}.{name}"))),
        Target::Absent => {
            namespace::check_new_collection(database, name)?;
            is_id
        }
        Target::Layout(layout) if layout.series.is_some() => {
            return Err(not_on_a_series(&format!("{database}.{name}")));
        }
        Target::Layout(_) => is_id,
        Target::Collection(collection) => on.is_empty() || collection.snapshot().indexes.iter().any(covers),
    };
    if is_unique {
        return Ok(());
    }
    Err(Error::new(51183, "$merge needs a unique index over the fields of 'on'"))
}

fn merge_one(
    target: &Statements<'_, '_>,
    merge: &Merge,
    document: Doc<'_>,
    asked: Asked,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Asked { query, variables } = asked;
    let upsert = merge.when_not_matched == WhenNotMatched::Insert;
    let mut update = Builder::new();
    let matched = match &merge.when_matched {
        WhenMatched::Pipeline(stages) => {
            // A document that is not there yet comes in as it is, not as the pipeline would make it.
            let matched = target.update(query.doc(), stages.value(), false, variables, cx)?;
            if matched == 0 && upsert {
                return target.insert(&[DocBuf::from(document)], cx);
            }
            matched
        }
        WhenMatched::Replace => target.update(query.doc(), Value::Document(document), upsert, None, cx)?,
        WhenMatched::Merge => {
            update.append("$set", Value::Document(document));
            target.update(query.doc(), Value::Document(update.finish().doc()), upsert, None, cx)?
        }
        WhenMatched::KeepExisting => {
            update.append("$setOnInsert", Value::Document(document));
            target.update(query.doc(), Value::Document(update.finish().doc()), upsert, None, cx)?
        }
        WhenMatched::Fail => 1,
    };
    if matched == 0 && merge.when_not_matched == WhenNotMatched::Fail {
        return Err(Error::new(13113, "$merge found no document to write to, and whenNotMatched is 'fail'"));
    }
    Ok(())
}

fn id_query(document: Doc<'_>) -> DocBuf {
    let mut query = Builder::new();
    if let Some(id) = document.element(b"_id") {
        let open = query.open_document("_id");
        query.append_bytes(b"$eq", id.kind, id.bytes);
        query.close(open);
    }
    query.finish()
}

/// The target's document that equals one at the paths of `on`.
fn on_query(paths: &[Box<str>], document: Doc<'_>) -> Result<DocBuf> {
    let mut query = Builder::new();
    for path in paths {
        let mut value = Some(Value::Document(document));
        for name in path.split('.') {
            value = match value {
                Some(Value::Document(doc)) => doc.get(name),
                Some(Value::Array(_)) => {
                    return Err(Error::new(51185, format!("$merge: the field '{path}' of 'on' must not be an array")));
                }
                _ => None,
            };
        }
        match value {
            None | Some(Value::Null | Value::Undefined) => {
                return Err(Error::new(51132, format!("$merge: the field '{path}' of 'on' is missing or null")));
            }
            Some(Value::Array(_)) => {
                return Err(Error::new(51185, format!("$merge: the field '{path}' of 'on' must not be an array")));
            }
            Some(value) => {
                let open = query.open_document(path.as_bytes());
                query.append("$eq", value);
                query.close(open);
            }
        }
    }
    Ok(query.finish())
}

/// Writes by the commands that clients use.
struct Statements<'a, 'r> {
    request: Request<'r>,
    name: &'a str,
}

impl Statements<'_, '_> {
    /// The number of documents that matched or were made.
    fn update(
        &self,
        query: Doc<'_>,
        update: Value<'_>,
        upsert: bool,
        variables: Option<DocBuf>,
        cx: &mut Cx<'_>,
    ) -> Result<i64> {
        let mut command = Builder::new();
        command.append("update", self.name);
        let updates = command.open_array("updates");
        let statement = command.open_document("0");
        command.append("q", Value::Document(query));
        command.append("u", update);
        command.append("upsert", upsert);
        command.close(statement);
        command.close(updates);
        command.append("bypassDocumentValidation", bypasses_validation(&self.request));
        if let Some(variables) = &variables {
            let variables = variables.doc();
            let open = command.open_document("let");
            variables.iter().for_each(|variable| command.append_element(variable));
            // The command's own variables can be used as well.
            if let Some(Value::Document(outer)) = self.request.command.get("let") {
                let others = outer.iter().filter(|outer| variables.get(outer.key_str()).is_none());
                others.for_each(|variable| command.append_element(variable));
            }
            command.close(open);
        }
        let reply = self.request.server.execute(self.request.database, command.finish().doc(), cx)?;
        check_errors(reply.doc())?;
        Ok(reply.doc().get("n").and_then(|n| n.as_exact_i64()).unwrap_or(0))
    }

    /// Inserts what can be inserted.
    fn insert(&self, documents: &[DocBuf], cx: &mut Cx<'_>) -> Result<()> {
        if documents.is_empty() {
            return Ok(());
        }
        for batch in documents.chunks(1000) {
            let mut command = Builder::new();
            command.append("insert", self.name);
            command.append("ordered", false);
            command.append("bypassDocumentValidation", bypasses_validation(&self.request));
            let array = command.open_array("documents");
            for (index, document) in batch.iter().enumerate() {
                command.append_index(index, Value::Document(document.doc()));
            }
            command.close(array);
            let reply = self.request.server.execute(self.request.database, command.finish().doc(), cx)?;
            check_errors(reply.doc())?;
        }
        Ok(())
    }
}

/// The first error of a statement's reply.
fn check_errors(reply: Doc<'_>) -> Result<()> {
    let Some(Value::Array(errors)) = reply.get("writeErrors") else {
        return Ok(());
    };
    let Some(Value::Document(first)) = errors.first().map(|e| e.value()) else {
        return Ok(());
    };
    let number = first.get("code").and_then(|c| c.as_exact_i64()).and_then(|c| i32::try_from(c).ok());
    let message = first.get("errmsg").and_then(|m| m.as_str()).unwrap_or("a write failed");
    Err(Error::new(number.unwrap_or(code::OPERATION_FAILED), message))
}
