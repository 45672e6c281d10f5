//! `listCollections` and `listDatabases`.

use bindery_document::{Builder, Doc, DocBuf, Result, Value};
use bindery_query::filter::{Filter, ParseContext};

use super::Request;
use super::args::Args;
use crate::catalog::Entry;
use crate::collection::State;
use crate::cursor::{Buffered, ServerCursor, reply_listing};
use crate::layout::{self, series};
use crate::trace::Cx;

/// Collections and views, as documents that a filter may choose from.
pub(super) fn collections(request: &Request<'_>, cx: &mut Cx<'_>) -> Result<Builder> {
    let fields = ["filter", "cursor", "nameOnly", "authorizedCollections"];
    let args = Args::of_command("listCollections", request.command, &fields)?;
    let filter = parse_filter(args.document("filter")?)?;
    let name_only = args.flag("nameOnly")?;
    args.flag("authorizedCollections")?;
    let batch_size = cursor_batch_size(&args)?;

    let mut rows = Vec::new();
    for (name, entry) in request.server.catalog.read().entries(request.database) {
        for row in described(name, entry) {
            rows.push(row);
        }
    }
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut chosen = Vec::new();
    for (_, row) in rows {
        // The filter sees what is listed, and no more.
        let row = if name_only { only_name_and_type(row.doc()) } else { row };
        if filter.matches(row.doc())? {
            chosen.push(row);
        }
    }
    let namespace = request.namespace("$cmd.listCollections");
    let mut reply = Builder::new();
    let cursor = ServerCursor::new(namespace, Box::new(Buffered::new(chosen)));
    reply_listing(&request.server.cursors, cursor, batch_size, &mut reply, cx)?;
    Ok(reply)
}

/// Databases with their sizes: the bytes of all pages.
pub(super) fn databases(request: &Request<'_>, _cx: &mut Cx<'_>) -> Result<Builder> {
    let args = Args::of_command("listDatabases", request.command, &["filter", "nameOnly", "authorizedDatabases"])?;
    let filter = parse_filter(args.document("filter")?)?;
    let name_only = args.loose_flag("nameOnly")?.unwrap_or(false);
    let mut total = 0i64;
    let mut reply = Builder::new();
    let list = reply.open_array("databases");
    let mut count = 0;
    for (name, entries) in request.server.catalog.read().databases() {
        let bytes: u64 = entries.values().map(entry_bytes).sum();
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut row = Builder::new();
        row.append("name", name);
        if !name_only {
            row.append("sizeOnDisk", bytes);
            row.append("empty", bytes == 0);
        }
        let row = row.finish();
        if filter.matches(row.doc())? {
            total += bytes;
            reply.append_index(count, Value::Document(row.doc()));
            count += 1;
        }
    }
    reply.close(list);
    if !name_only {
        reply.append("totalSize", total);
        reply.append("totalSizeMb", total >> 20);
    }
    Ok(reply)
}

/// The batch size in a `cursor: {batchSize}` argument; everything without.
pub(super) fn cursor_batch_size(args: &Args<'_>) -> Result<u64> {
    match args.document("cursor")? {
        None => Ok(u64::MAX),
        Some(cursor) => {
            let cursor = Args::of_statement("cursor", cursor, &["batchSize"])?;
            Ok(cursor.count("batchSize")?.unwrap_or(u64::MAX))
        }
    }
}

fn parse_filter(filter: Option<Doc<'_>>) -> Result<Filter> {
    Filter::parse(filter.unwrap_or(bindery_document::doc::EMPTY), &ParseContext::default())
}

fn entry_bytes(entry: &Entry) -> u64 {
    match entry {
        Entry::Collection(collection) => {
            let state = collection.snapshot();
            state.records.stats().bytes() + state.indexes.iter().map(|index| index.tree.stats().bytes()).sum::<u64>()
        }
        Entry::Layout(layout) => layout.parts(&layout.snapshot()).iter().map(|(_, state)| layout::bytes(state)).sum(),
        Entry::View(_) => 0,
    }
}

/// What there is to tell of an entry: one row, or two of a time-series collection, whose buckets are listed, too.
fn described(name: &str, entry: &Entry) -> Vec<(String, DocBuf)> {
    let mut rows = vec![(name.to_owned(), describe(name, entry))];
    if let Entry::Layout(layout) = entry
        && let Some(series) = &layout.series
    {
        let name = series::buckets_name(name);
        let mut row = Builder::new();
        row.append("name", name.as_str());
        row.append("type", "collection");
        let options = row.open_document("options");
        series::show_buckets_options(layout, series, &mut row);
        row.close(options);
        let info = row.open_document("info");
        row.append("readOnly", false);
        row.append("uuid", Value::Binary { subtype: 4, bytes: &layout.uuid });
        row.close(info);
        rows.push((name, row.finish()));
    }
    rows
}

fn describe(name: &str, entry: &Entry) -> DocBuf {
    let mut row = Builder::new();
    row.append("name", name);
    match entry {
        Entry::Collection(collection) => {
            let state = collection.snapshot();
            describe_collection(&mut row, &collection.uuid, &state, &|row| state.options.show(row));
        }
        Entry::Layout(layout) if layout.series.is_some() => {
            row.append("type", "timeseries");
            let options = row.open_document("options");
            layout.show_options(&mut row);
            row.close(options);
            let info = row.open_document("info");
            row.append("readOnly", false);
            row.close(info);
        }
        Entry::Layout(layout) => {
            let moment = layout.snapshot();
            describe_collection(&mut row, &layout.uuid, &moment.stored, &|row| layout.show_options(row));
        }
        Entry::View(view) => {
            row.append("type", "view");
            row.append("options", Value::Document(view.options.doc()));
            let info = row.open_document("info");
            row.append("readOnly", true);
            row.close(info);
        }
    }
    row.finish()
}

fn describe_collection(row: &mut Builder, uuid: &[u8; 16], state: &State, show_options: &dyn Fn(&mut Builder)) {
    row.append("type", "collection");
    let options = row.open_document("options");
    show_options(row);
    row.close(options);
    let info = row.open_document("info");
    row.append("readOnly", false);
    row.append("uuid", Value::Binary { subtype: 4, bytes: uuid });
    row.close(info);
    // What a clustered collection is ordered by is among its options.
    if let Some(index) = state.id_index().filter(|index| !index.meta.spec.clustered) {
        let id = row.open_document("idIndex");
        index.meta.spec.show(row);
        row.close(id);
    }
}

fn only_name_and_type(row: Doc<'_>) -> DocBuf {
    let mut short = Builder::new();
    for element in row.iter().take(2) {
        short.append_element(element);
    }
    short.finish()
}
