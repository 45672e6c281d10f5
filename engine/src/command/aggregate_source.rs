//! The stages that make a pipeline's documents: `$collStats`, `$indexStats`, `$planCacheStats`; and `$documents`, which
//! needs no collection.
//!
//! Source: MongoDB's manual, "`$collStats`" and "`$indexStats`".

use bindery_document::{Builder, Doc, DocBuf, Element, Error, Result, Value, code, doc};

use super::{Request, Target, not_on_a_view, view};
use crate::catalog::View;
use crate::collection::State;
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
/// As [`told`].
pub(super) fn documents(
    request: &Request<'_>,
    name: &str,
    pipeline: Doc<'_>,
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<DocBuf>>> {
    match first(pipeline) {
        Some(stage) if tells(stage.key) => told(request, name, stage.key, stage.value(), cx).map(Some),
        _ => Ok(None),
    }
}

/// Whether a stage tells of a collection instead of reading it.
fn tells(stage: &[u8]) -> bool {
    matches!(stage, b"$collStats" | b"$indexStats" | b"$planCacheStats")
}

/// The documents of a stage that is asked for by another pipeline. A view is what it lies on.
///
/// # Errors
/// 40602 for a view with stages of its own; as [`told`].
pub(crate) fn told_to_another(
    request: &Request<'_>,
    name: &str,
    stage: &str,
    argument: Value<'_>,
    cx: &mut Cx<'_>,
) -> Result<Vec<DocBuf>> {
    match request.target(name) {
        Target::View(view) => {
            let below = view_on(request, name, &view, stage)?;
            told(request, &below, stage.as_bytes(), argument, cx)
        }
        _ => told(request, name, stage.as_bytes(), argument, cx),
    }
}

/// What a view lies on, if it is nothing more than that.
fn view_on(request: &Request<'_>, name: &str, view: &View, stage: &str) -> Result<String> {
    let resolved = view::resolve(request.server, request.database, name, view)?;
    if resolved.followed_by(doc::EMPTY).doc().is_empty() {
        return Ok(resolved.collection);
    }
    Err(Error::new(40602, format!("{stage} must be the first stage, and the view '{name}' has others before it")))
}

/// The documents of `$collStats`, `$indexStats` or `$planCacheStats`.
///
/// # Errors
/// 5447000 and 40168 for a malformed `$collStats`; 26 and 50933 for a collection that does not exist, 166 for views
/// where it does not take them; what `collStats` says.
fn told(request: &Request<'_>, name: &str, stage: &[u8], argument: Value<'_>, cx: &mut Cx<'_>) -> Result<Vec<DocBuf>> {
    let target = request.target(name);
    if let Target::View(view) = &target
        && stage != b"$collStats"
    {
        let below = view_on(request, name, view, &String::from_utf8_lossy(stage))?;
        return told(request, &below, stage, argument, cx);
    }
    Ok(match (stage, target) {
        (b"$collStats", target) => vec![collection_statistics(request, name, &target, argument, cx)?],
        (b"$indexStats", Target::Collection(collection)) => index_statistics(request, &collection.snapshot()),
        (b"$indexStats", Target::Layout(collection)) => {
            let mut shown = State::clone(&collection.snapshot().stored);
            shown.indexes.drain(..collection.hidden_indexes());
            index_statistics(request, &shown)
        }
        (b"$planCacheStats", Target::Absent) => {
            let namespace = request.namespace(name);
            return Err(Error::new(50_933, format!("collection '{namespace}' does not exist")));
        }
        // Plans are costed anew for each question, so none are kept.
        _ => Vec::new(),
    })
}

const HOST: &str = "localhost:27017";

fn collection_statistics(
    request: &Request<'_>,
    name: &str,
    target: &Target,
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
            b"count" => {
                let n = match target {
                    Target::Collection(collection) => collection.snapshot().records.len(),
                    Target::Layout(collection) if collection.series.is_none() => {
                        collection.snapshot().stored.records.len()
                    }
                    Target::Layout(_) => return Err(not_on_a_series(&request.namespace(name))),
                    Target::View(_) => return Err(not_on_a_view(&request.namespace(name))),
                    Target::Absent => return Err(absent(request, name)),
                };
                builder.append("count", i32::try_from(n).unwrap_or(i32::MAX));
            }
            b"storageStats" if matches!(target, Target::View(_)) => {
                return Err(not_on_a_view(&request.namespace(name)));
            }
            b"storageStats" if matches!(target, Target::Absent) => return Err(absent(request, name)),
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

fn absent(request: &Request<'_>, name: &str) -> Error {
    Error::new(code::NAMESPACE_NOT_FOUND, format!("collection [{}] not found", request.namespace(name)))
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
