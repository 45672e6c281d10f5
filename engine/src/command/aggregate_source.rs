//! The stages that make a pipeline's documents: `$collStats`, `$indexStats`, `$planCacheStats`; and `$documents`, which
//! needs no collection.
//!
//! Source: MongoDB's manual, "`$collStats`" and "`$indexStats`".

use bindery_document::{Builder, Doc, DocBuf, Element, Error, Result, Value, code};

use super::Request;
use crate::collection::State;
use crate::layout::LayoutCollection;
use crate::layout::series::not_on_a_series;
use crate::trace::Cx;

/// The first stage.
fn first(pipeline: Doc<'_>) -> Option<Element<'_>> {
    pipeline.first().and_then(|stage| stage.value().as_document()).and_then(Doc::first)
}

/// Whether a pipeline makes its documents without a collection.
pub(super) fn makes_its_own(pipeline: Doc<'_>) -> bool {
    first(pipeline).is_some_and(|stage| stage.key == b"$documents")
}

/// The documents of a pipeline whose first stage tells of a collection; `None` if it does not.
///
/// # Errors
/// 5447000 and 40168 for a malformed `$collStats`; what `collStats` says.
pub(super) fn documents(
    request: &Request<'_>,
    name: &str,
    state: &State,
    pipeline: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<DocBuf>>> {
    let Some(stage) = first(pipeline) else {
        return Ok(None);
    };
    Ok(match stage.key {
        b"$collStats" => Some(vec![collection_statistics(request, name, state, stage.value(), cx)?]),
        b"$indexStats" => Some(index_statistics(request, state)),
        // Plans are costed anew for each question, so none are kept.
        b"$planCacheStats" => Some(Vec::new()),
        _ => None,
    })
}

/// As [`documents`], of a time-series collection.
///
/// # Errors
/// 166 for what the server does not tell of views; as [`documents`].
pub(super) fn series_documents(
    request: &Request<'_>,
    name: &str,
    collection: &LayoutCollection,
    pipeline: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<DocBuf>>> {
    let state = collection.snapshot().stored;
    let Some(stage) = first(pipeline) else { return Ok(None) };
    Ok(match (stage.key, stage.value()) {
        (b"$collStats", Value::Document(asked)) if asked.get("count").is_some() => {
            return Err(not_on_a_series(&request.namespace(name)));
        }
        (b"$collStats", argument) => Some(vec![collection_statistics(request, name, &state, argument, cx)?]),
        (b"$indexStats", _) => {
            let mut shown = State::clone(&state);
            shown.indexes.drain(..collection.hidden_indexes());
            Some(index_statistics(request, &shown))
        }
        (b"$planCacheStats", _) => Some(Vec::new()),
        _ => None,
    })
}

const HOST: &str = "localhost:27017";

fn collection_statistics(
    request: &Request<'_>,
    name: &str,
    state: &State,
    argument: Value<'_>,
    cx: &mut Cx<'_>,
) -> Result<DocBuf> {
    let Value::Document(asked) = argument else {
        return Err(Error::new(5_447_000, "$collStats takes a document"));
    };
    let mut builder = Builder::new();
    builder.append("ns", request.namespace(name).as_str());
    builder.append("host", HOST);
    builder.append("localTime", Value::DateTime(request.server.now_millis()));
    for field in asked {
        match field.key {
            b"count" => builder.append("count", i32::try_from(state.records.len()).unwrap_or(i32::MAX)),
            b"storageStats" => {
                let mut command = Builder::new();
                command.append("collStats", name);
                let reply = request.server.execute(request.database, command.finish().doc(), cx)?;
                let open = builder.open_document("storageStats");
                for element in reply.doc().iter().filter(|e| !matches!(e.key, b"ok" | b"ns")) {
                    builder.append_element(element);
                }
                builder.close(open);
            }
            b"latencyStats" | b"queryExecStats" => {
                return Err(Error::new(
                    code::COMMAND_NOT_SUPPORTED,
                    format!("$collStats does not keep {}", field.key_str()),
                ));
            }
            _ => return Err(Error::new(40415, format!("$collStats does not know the field '{}'", field.key_str()))),
        }
    }
    Ok(builder.finish())
}

fn index_statistics(request: &Request<'_>, state: &State) -> Vec<DocBuf> {
    let describe = |index: &crate::collection::Index| {
        let spec = index.meta.spec.as_declared();
        let mut builder = Builder::new();
        builder.append("name", spec.name.as_str());
        builder.append("key", Value::Document(spec.key.doc()));
        builder.append("host", HOST);
        let accesses = builder.open_document("accesses");
        builder.append("ops", 0i64);
        builder.append("since", Value::DateTime(request.server.now_millis()));
        builder.close(accesses);
        let shown = builder.open_document("spec");
        spec.show(&mut builder);
        builder.close(shown);
        builder.finish()
    };
    state.indexes.iter().map(describe).collect()
}
