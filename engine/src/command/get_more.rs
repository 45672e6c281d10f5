//! `getMore` and `killCursors`.

use std::time::Duration;

use bindery_document::{Builder, Error, Result, Value, code};

use super::args::Args;
use super::{Request, find};
use crate::namespace;
use crate::trace::Cx;

/// How long an awaiting cursor waits if the client does not say.
const AWAIT: Duration = Duration::from_secs(1);

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let fields = ["collection", "batchSize", "term", "lastKnownCommittedOpTime"];
    let args = Args::of_command("getMore", request.command, &fields)?;
    args.required("getMore")?;
    let Some(Value::Int64(id)) = request.command.first().map(|e| e.value()) else {
        return Err(Error::new(code::TYPE_MISMATCH, "BSON field 'getMore.getMore' must be of type 'long'"));
    };
    let name = args.required_string("collection")?;
    namespace::check_collection(request.database, name)?;
    let batch_size = args.count("batchSize")?.filter(|&n| n > 0).unwrap_or(u64::MAX);
    args.integer("maxTimeMS")?;
    let max_time_ms = find::max_time_ms(&args)?;
    let wanted = request.namespace(name);
    let mut cursor = request.server.cursors.take(id, &wanted)?;
    if max_time_ms > 0 && !cursor.awaits {
        request.server.cursors.give_back(id, cursor);
        return Err(Error::new(code::BAD_VALUE, "cannot set maxTimeMS on getMore command for a non-awaitData cursor"));
    }

    let mut reply = Builder::new();
    let body = reply.open_document("cursor");
    let batch = reply.open_array("nextBatch");
    // A cursor whose batch failed is gone, as on the server.
    cursor.rows.resume()?;
    let empty = reply.len();
    let mut done = cursor.fill(batch_size, &mut reply, cx)?;
    if cursor.awaits && reply.len() == empty && cursor.rows.stays_open() {
        cursor.rows.wait(if max_time_ms > 0 { Duration::from_millis(max_time_ms) } else { AWAIT });
        cursor.rows.resume()?;
        done = cursor.fill(batch_size, &mut reply, cx)?;
    }
    reply.close(batch);
    let keep = cursor.rows.stays_open() || (!done && cursor.may_go_on());
    if keep {
        request.server.cursors.give_back(id, cursor);
    }
    reply.append("id", if keep { id } else { 0i64 });
    reply.append("ns", wanted.as_str());
    reply.close(body);
    Ok(reply)
}

pub(super) fn kill(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("killCursors", request.command, &["cursors"])?;
    request.collection_name()?;
    let mut ids = Vec::new();
    for element in args.required_array("cursors")?.iter() {
        match element.value() {
            Value::Int64(id) => ids.push(id),
            Value::Null | Value::Undefined => {}
            _ => return Err(args.mismatch("cursors", element.kind, "long")),
        }
    }
    let (killed, missing): (Vec<i64>, Vec<i64>) = ids.into_iter().partition(|&id| request.server.cursors.kill(id));
    let mut reply = Builder::new();
    for (field, ids) in
        [("cursorsKilled", killed), ("cursorsNotFound", missing), ("cursorsAlive", vec![]), ("cursorsUnknown", vec![])]
    {
        let list = reply.open_array(field);
        for (i, id) in ids.into_iter().enumerate() {
            reply.append_index(i, id);
        }
        reply.close(list);
    }
    Ok(reply)
}
