//! Running plans in `explain`'s words: stages, bounds, and what each stage did.

use bindery_document::{Builder, Doc, Value};
use bindery_query::filter::Filter;
use bindery_query::plan::{self, IndexBounds, Plan, ProjectionKind, ScanDirection};

use super::stage::{Stage, StageStats};
use crate::collection::{Index, State, append_number};

/// A plan to be shown.
#[derive(Clone, Copy)]
pub(crate) struct Describe<'a> {
    pub(crate) state: &'a State,
    /// The projection as it was asked for.
    pub(crate) projection: Option<Doc<'a>>,
    /// Whether what is sorted are records to be changed, and not only documents.
    pub(crate) sorts_records: bool,
    /// As many keys as MongoDB's COUNT_SCAN looks at, at most; none where they are counted off the tree.
    pub(crate) counts_up_to: Option<u64>,
}

impl Describe<'_> {
    /// Appends a plan's fields; with what its stages did, if it ran.
    pub(crate) fn show(&self, plan: &Plan, ran: Option<&Stage>, out: &mut Builder) {
        let stats = ran.map(|stage| stage.stats);
        let below = ran.map(Stage::inputs).unwrap_or_default();
        out.append("stage", name(plan));
        show_filter(filter(plan), out);
        match (&stats, plan, self.counts_up_to, ran.and_then(Stage::counted)) {
            (Some(stats), Plan::CountScan(_), Some(most), Some(counted)) => {
                let ended = StageStats { is_eof: counted < most, ..*stats };
                show_common(&ended, Some(counted.min(most)), out);
                append_number(out, "keysExamined", keys_of_count(counted, most));
            }
            (Some(stats), _, _, counted) => show_common(stats, counted, out),
            (None, ..) => {}
        }
        match plan {
            Plan::Project { .. } => {
                self.projection.into_iter().for_each(|shape| out.append("transformBy", Value::Document(shape)));
            }
            Plan::CollectionScan { direction, .. } => out.append("direction", direction_name(*direction)),
            Plan::ClusteredScan { scan, .. } => show_records(scan, out),
            Plan::IndexScan(scan) | Plan::CountScan(scan) | Plan::DistinctScan { scan, .. } => {
                let is_count = matches!(plan, Plan::CountScan(_));
                show_index_scan(&self.state.indexes[scan.index], scan, is_count, out);
            }
            Plan::Sort { order, limit, .. } => {
                show_order(order, out);
                out.append("memLimit", bindery_query::sort::SORT_MEMORY_BYTES as i32);
                if let Some(limit) = limit {
                    append_number(out, "limitAmount", *limit);
                }
                let is_simple = !self.sorts_records && inputs(plan).into_iter().all(gives_documents);
                out.append("type", if is_simple { "simple" } else { "default" });
            }
            Plan::SortMerge { order, .. } => show_order(order, out),
            Plan::Skip { count, .. } => append_number(out, "skipAmount", *count),
            Plan::Limit { count, .. } => append_number(out, "limitAmount", *count),
            _ => {}
        }
        if let Some(stats) = &stats
            && !(matches!(plan, Plan::CountScan(_)) && self.counts_up_to.is_some())
        {
            show_examined(plan, stats, &below, out);
        }
        match inputs(plan).as_slice() {
            [] => {}
            [input] => {
                let open = out.open_document("inputStage");
                self.show(input, below.first().copied(), out);
                out.close(open);
            }
            many => {
                let list = out.open_array("inputStages");
                for (i, input) in many.iter().enumerate() {
                    let mut digits = [0; 20];
                    let open = out.open_document(bindery_document::build::index_key(i, &mut digits));
                    self.show(input, below.get(i).copied(), out);
                    out.close(open);
                }
                out.close(list);
            }
        }
    }
}

/// The keys that MongoDB looks at to count so many: one more shows that there are no others.
fn keys_of_count(counted: u64, most: u64) -> u64 {
    if counted < most { counted + 1 } else { most }
}

/// The keys that MongoDB's counting scans in a plan look at, which are counted off the tree here.
pub(crate) fn keys_counted(stage: &Stage, most: u64) -> u64 {
    match stage.inputs().as_slice() {
        [] => stage.counted().map_or(0, |counted| keys_of_count(counted, most)),
        inputs => inputs.iter().map(|input| keys_counted(input, most)).sum(),
    }
}

/// Whether what a plan gives are documents, and not record ids with keys.
fn gives_documents(plan: &Plan) -> bool {
    match plan {
        Plan::IndexScan(_)
        | Plan::CountScan(_)
        | Plan::DistinctScan { .. }
        | Plan::Or { .. }
        | Plan::SortMerge { .. }
        | Plan::Intersect { .. } => inputs(plan).into_iter().map(gives_documents).reduce(|a, b| a && b) == Some(true),
        Plan::Sort { input, .. } | Plan::Skip { input, .. } | Plan::Limit { input, .. } => gives_documents(input),
        _ => true,
    }
}

fn filter(plan: &Plan) -> Option<&Filter> {
    match plan {
        Plan::CollectionScan { filter, .. } | Plan::ClusteredScan { filter, .. } | Plan::Fetch { filter, .. } => {
            filter.as_deref()
        }
        Plan::IndexScan(scan) | Plan::CountScan(scan) | Plan::DistinctScan { scan, .. } => scan.filter.as_deref(),
        _ => None,
    }
}

/// MongoDB's name of a stage.
pub(crate) fn name(plan: &Plan) -> &'static str {
    match plan {
        Plan::Eof => "EOF",
        Plan::CollectionScan { .. } => "COLLSCAN",
        Plan::ClusteredScan { .. } => "CLUSTERED_IXSCAN",
        Plan::IdLookup { .. } => "IDHACK",
        Plan::IndexScan(_) => "IXSCAN",
        Plan::Fetch { .. } => "FETCH",
        Plan::Or { .. } => "OR",
        Plan::SortMerge { .. } => "SORT_MERGE",
        Plan::Intersect { .. } => "AND_SORTED",
        Plan::Sort { .. } => "SORT",
        Plan::Skip { .. } => "SKIP",
        Plan::Limit { .. } => "LIMIT",
        Plan::Project { kind, .. } => match kind {
            ProjectionKind::Simple => "PROJECTION_SIMPLE",
            ProjectionKind::Covered => "PROJECTION_COVERED",
            ProjectionKind::CoveredDefault | ProjectionKind::Default => "PROJECTION_DEFAULT",
        },
        Plan::ReturnKey { .. } => "RETURN_KEY",
        Plan::CountScan(_) => "COUNT_SCAN",
        Plan::DistinctScan { .. } => "DISTINCT_SCAN",
    }
}

pub(super) fn inputs(plan: &Plan) -> Vec<&Plan> {
    match plan {
        Plan::Fetch { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Skip { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Project { input, .. }
        | Plan::ReturnKey { input } => vec![input],
        Plan::Or { inputs } | Plan::SortMerge { inputs, .. } | Plan::Intersect { inputs } => inputs.iter().collect(),
        _ => Vec::new(),
    }
}

fn show_common(stats: &StageStats, counted: Option<u64>, out: &mut Builder) {
    append_number(out, "nReturned", counted.unwrap_or(stats.advanced));
    out.append("executionTimeMillisEstimate", 0);
    append_number(out, "works", stats.works);
    append_number(out, "advanced", counted.unwrap_or(stats.advanced));
    append_number(out, "needTime", stats.works.saturating_sub(stats.advanced + u64::from(stats.is_eof)));
    for never in ["needYield", "saveState", "restoreState"] {
        out.append(never, 0);
    }
    out.append("isEOF", i32::from(stats.is_eof));
}

fn show_examined(plan: &Plan, stats: &StageStats, below: &[&Stage], out: &mut Builder) {
    match plan {
        Plan::IndexScan(scan) => {
            append_number(out, "keysExamined", stats.keys_examined);
            append_number(out, "seeks", stats.seeks);
            let tested = if scan.dedupe { stats.advanced + stats.dups_dropped } else { 0 };
            append_number(out, "dupsTested", tested);
            append_number(out, "dupsDropped", stats.dups_dropped);
        }
        Plan::CountScan(_) | Plan::DistinctScan { .. } => append_number(out, "keysExamined", stats.keys_examined),
        Plan::IdLookup { .. } => {
            append_number(out, "keysExamined", stats.keys_examined);
            append_number(out, "docsExamined", stats.docs_examined);
        }
        Plan::Fetch { .. } => {
            append_number(out, "docsExamined", stats.docs_examined);
            out.append("alreadyHasObj", 0);
        }
        Plan::CollectionScan { .. } | Plan::ClusteredScan { .. } => {
            append_number(out, "docsExamined", stats.docs_examined);
        }
        Plan::Or { .. } | Plan::SortMerge { .. } => {
            append_number(out, "dupsTested", below.iter().map(|input| input.stats.advanced).sum());
            append_number(out, "dupsDropped", stats.dups_dropped);
        }
        Plan::Sort { .. } => {
            append_number(out, "totalDataSizeSorted", stats.bytes_sorted);
            out.append("usedDisk", false);
            out.append("spills", 0);
        }
        Plan::Eof
        | Plan::Intersect { .. }
        | Plan::Skip { .. }
        | Plan::Limit { .. }
        | Plan::Project { .. }
        | Plan::ReturnKey { .. } => {}
    }
}

/// The least and the greatest `_id` of a stretch of a clustered collection, as far as it has ends.
fn show_records(scan: &plan::IndexScan, out: &mut Builder) {
    out.append("direction", direction_name(scan.direction));
    let IndexBounds::Fields(fields) = &scan.bounds else { return };
    let Some(intervals) = fields.first().map(|field| &field.intervals) else { return };
    if let (Some(first), Some(last)) = (intervals.first(), intervals.last()) {
        out.append("minRecord", first.start.value());
        out.append("maxRecord", last.end.value());
    }
}

fn show_index_scan(index: &Index, scan: &plan::IndexScan, is_count: bool, out: &mut Builder) {
    let spec = &index.meta.spec;
    match &scan.bounds {
        // Of a wildcard index the path that is looked at is named.
        IndexBounds::Fields(fields) if spec.is_wildcard() => {
            let pattern = out.open_document("keyPattern");
            fields.iter().for_each(|field| out.append(field.path.as_str(), 1));
            out.close(pattern);
        }
        _ => out.append("keyPattern", Value::Document(spec.key.doc())),
    }
    out.append("indexName", spec.name.as_str());
    if let Some(collation) = &spec.collation {
        out.append("collation", Value::Document(collation.doc()));
    }
    let is_multikey = if spec.is_wildcard() { scan.dedupe && wildcard_arrays(index, scan) } else { index.is_multikey };
    out.append("isMultiKey", is_multikey);
    // Hashes are of no arrays, and no paths are kept for them.
    if !spec.key.doc().iter().any(|field| field.value().as_str().is_some()) {
        show_multikey_paths(index, scan, out);
    }
    out.append("isUnique", index.meta.is_unique);
    out.append("isSparse", spec.sparse);
    out.append("isPartial", spec.partial.is_some());
    out.append("indexVersion", 2);
    if !is_count {
        out.append("direction", direction_name(scan.direction));
    }
    match (&scan.bounds, is_count) {
        (IndexBounds::Fields(fields), true) => show_count_ends(fields, out),
        _ => {
            let bounds = out.open_document("indexBounds");
            reversed_for(scan).show(index.meta.collation.as_ref(), out);
            out.close(bounds);
        }
    }
}

/// The bounds as a backward scan meets them.
fn reversed_for(scan: &plan::IndexScan) -> IndexBounds {
    match (&scan.bounds, scan.direction) {
        (IndexBounds::Fields(fields), ScanDirection::Backward) => {
            let reverse = |field: &plan::FieldBounds| {
                let intervals = field.intervals.iter().rev().map(|interval| plan::Interval {
                    start: interval.end.clone(),
                    start_inclusive: interval.end_inclusive,
                    end: interval.start.clone(),
                    end_inclusive: interval.start_inclusive,
                });
                plan::FieldBounds { path: field.path.clone(), intervals: intervals.collect() }
            };
            IndexBounds::Fields(fields.iter().map(reverse).collect())
        }
        (bounds, _) => bounds.clone(),
    }
}

fn show_count_ends(fields: &[plan::FieldBounds], out: &mut Builder) {
    let bounds = out.open_document("indexBounds");
    for (name, start) in [("startKey", true), ("endKey", false)] {
        let mut inclusive = true;
        let key = out.open_document(name);
        for field in fields {
            if let Some(interval) = field.intervals.first() {
                // What comes after an end that is left out begins behind all that have it, or before.
                let value = if start == inclusive { &interval.start } else { &interval.end };
                inclusive &= if start { interval.start_inclusive } else { interval.end_inclusive };
                out.append(field.path.as_str(), value.value());
            }
        }
        out.close(key);
        out.append(if start { "startKeyInclusive" } else { "endKeyInclusive" }, inclusive);
    }
    out.close(bounds);
}

/// Whether the scan of a wildcard index is on a path through an array.
fn wildcard_arrays(index: &Index, scan: &plan::IndexScan) -> bool {
    let IndexBounds::Fields(fields) = &scan.bounds else { return false };
    let Some(field) = fields.get(1) else { return false };
    let path = field.path.as_str();
    path.match_indices('.').map(|(at, _)| &path[..at]).chain([path]).any(|p| index.wildcard_multikey.contains(p))
}

fn show_multikey_paths(index: &Index, scan: &plan::IndexScan, out: &mut Builder) {
    let paths = out.open_document("multiKeyPaths");
    if let (true, IndexBounds::Fields(fields)) = (index.meta.spec.is_wildcard(), &scan.bounds) {
        for field in fields {
            let list = out.open_array(&field.path);
            let path = field.path.as_str();
            let prefixes = path.match_indices('.').map(|(at, _)| &path[..at]).chain([path]);
            for (i, prefix) in prefixes.filter(|p| index.wildcard_multikey.contains(*p)).enumerate() {
                out.append_index(i, prefix);
            }
            out.close(list);
        }
    } else {
        for (n, field) in index.meta.pattern().fields().iter().enumerate() {
            let list = out.open_array(field.name());
            for (i, part) in index.multikey.field(n).iter().enumerate() {
                out.append_index(i, field.prefix(part + 1));
            }
            out.close(list);
        }
    }
    out.close(paths);
}

fn show_filter(filter: Option<&Filter>, out: &mut Builder) {
    if let Some(filter) = filter {
        out.append("filter", Value::Document(filter.to_document().doc()));
    }
}

fn show_order(order: &bindery_query::sort::Sort, out: &mut Builder) {
    let pattern = out.open_document("sortPattern");
    for field in order.fields() {
        out.append(&*field.path, if field.descending { -1 } else { 1 });
    }
    out.close(pattern);
}

fn direction_name(direction: ScanDirection) -> &'static str {
    match direction {
        ScanDirection::Forward => "forward",
        ScanDirection::Backward => "backward",
    }
}
