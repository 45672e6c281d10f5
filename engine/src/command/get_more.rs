//! `getMore` and `killCursors`.

use bindery_document::{Builder, Error, Result, Value, code};

use super::Request;
use super::args::Args;
use crate::cursor::has_more;
use crate::namespace;
use crate::trace::Cx;

pub(super) fn run(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let fields = ["collection", "batchSize", "term", "lastKnownCommittedOpTime"];
    let args = Args::of_command("getMore", request.command, &fields)?;
    let Some(Value::Int64(id)) = request.command.first().map(|e| e.value()) else {
        return Err(Error::new(code::TYPE_MISMATCH, "BSON field 'getMore.getMore' must be of type 'long'"));
    };
    args.required("collection")?;
    let name = args.string("collection")?.unwrap_or_default();
    namespace::check_collection(request.database, name)?;
    let batch_size = args.count("batchSize")?.filter(|&n| n > 0).unwrap_or(u64::MAX);
    let wanted = request.namespace(name);
    let mut cursor = request.server.cursors.take(id, &wanted)?;

    let mut reply = Builder::new();
    let body = reply.open_document("cursor");
    let batch = reply.open_array("nextBatch");
    // A cursor whose batch failed is gone, as on the server.
    let done = cursor.fill(batch_size, &mut reply, cx)?;
    reply.close(batch);
    let keep = cursor.tailable || (!done && has_more(&mut cursor, cx)?);
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
    let name = request.collection_name()?;
    let mut ids = Vec::new();
    for element in args.required_array("cursors")?.iter() {
        match element.value() {
            Value::Int64(id) => ids.push(id),
            _ => return Err(args.mismatch("cursors", element.kind, "long")),
        }
    }
    let namespace = request.namespace(name);
    let (killed, missing): (Vec<i64>, Vec<i64>) =
        ids.into_iter().partition(|&id| request.server.cursors.kill(id, &namespace));
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
