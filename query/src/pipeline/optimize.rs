//! Reordering stages so that less is done: queries go forward, neighbouring queries become one.
//!
//! A `$match` moves before a stage that does not change what it asks for, in parts if only some of its
//! conditions allow it. So it can come to stand first, where an index answers it. MongoDB does the same,
//! and a client can see that it does: a document that a query drops early raises no error later.
//!
//! Source: MongoDB's manual, "Aggregation Pipeline Optimization".

use std::sync::Arc;

use super::group::pushed_down::has_position;
use super::{Match, Sort, Stage, redact};
use crate::filter::{Filter, canonical};
use crate::projection::Rest;

/// Reorders the stages.
pub(super) fn optimize(stages: Vec<Stage>) -> Vec<Stage> {
    let mut placed: Vec<Stage> = Vec::with_capacity(stages.len());
    for stage in stages {
        match stage {
            Stage::Match(query) => place_match(&mut placed, query.filter.clone()),
            Stage::Skip(n) => {
                // What is passed over need not be computed.
                let at = placed.iter().rposition(|before| !matches!(before, Stage::Project(_) | Stage::ReplaceRoot(_)));
                placed.insert(at.map_or(0, |at| at + 1), Stage::Skip(n));
            }
            other => placed.push(other),
        }
    }
    join_limits(&mut placed);
    placed
}

/// A stage in its place: its number as written, and of a query that has moved before what renames its fields, what it
/// asks there.
#[derive(Debug, PartialEq)]
pub(super) struct Arranged {
    pub(super) number: usize,
    pub(super) renamed: Option<Filter>,
}

/// The stages in an order with each query as far forward as it can go as a whole; `None` if that is how they stand.
pub(super) fn arrange(stages: &[Stage], origins: &[usize]) -> Option<Vec<Arranged>> {
    let mut placed: Vec<(Arranged, &Stage)> = Vec::with_capacity(stages.len());
    for (stage, number) in stages.iter().zip(origins) {
        let mut arranged = Arranged { number: *number, renamed: None };
        let mut at = placed.len();
        if let Stage::Match(query) = stage {
            if let Some(front) = front_of(&query.filter, &placed) {
                placed.insert(n_leading(&placed), (Arranged { number: *number, renamed: Some(front) }, stage));
                placed.push((arranged, stage));
                continue;
            }
            (at, arranged.renamed) = place_of(&query.filter, &placed);
            // Stages that were written as one stay together.
            if at
                .checked_sub(1)
                .and_then(|b| placed.get(b))
                .zip(placed.get(at))
                .is_some_and(|(b, a)| b.0.number == a.0.number)
            {
                (at, arranged.renamed) = (placed.len(), None);
            }
        }
        placed.insert(at, (arranged, stage));
    }
    let mut order: Vec<Arranged> = placed.into_iter().map(|(arranged, _)| arranged).collect();
    order.dedup_by_key(|arranged| arranged.number);
    let moved = !order.is_sorted_by_key(|arranged| arranged.number);
    moved.then_some(order)
}

/// The number of queries that stand first.
fn n_leading(placed: &[(Arranged, &Stage)]) -> usize {
    placed.iter().take_while(|(_, stage)| matches!(stage, Stage::Match(_))).count()
}

/// Those comparisons of a query that can come to stand first, if the query as a whole cannot. They are asked again where
/// they were written, which changes nothing.
fn front_of(filter: &Filter, placed: &[(Arranged, &Stage)]) -> Option<Filter> {
    let Filter::And(conditions) = filter else { return None };
    let n_leading = n_leading(placed);
    let first: Vec<Filter> = (conditions.iter())
        .filter(|condition| matches!(condition, Filter::Compare(_)))
        .filter_map(|condition| match place_of(condition, placed) {
            (at, renamed) if at <= n_leading => Some(renamed.unwrap_or_else(|| condition.clone())),
            _ => None,
        })
        .collect();
    let is_part = n_leading < placed.len() && !first.is_empty() && first.len() < conditions.len();
    is_part.then(|| canonical::sort(canonical::simplify(Filter::And(first))))
}

/// How far forward a query can go, and what it asks there if that is not what it asks where it was written.
fn place_of(filter: &Filter, placed: &[(Arranged, &Stage)]) -> (usize, Option<Filter>) {
    let mut renamed: Option<Filter> = None;
    let mut reads = Reads::of(filter);
    let mut at = placed.len();
    while let Some((_, before)) = at.checked_sub(1).and_then(|place| placed.get(place)) {
        // Queries keep their order among themselves.
        if matches!(before, Stage::Match(_)) {
            break;
        }
        if !lets_through(before, &reads) {
            let Some(filter) = before_renaming(before, renamed.as_ref().unwrap_or(filter)) else { break };
            reads = Reads::of(&filter);
            renamed = Some(filter);
        }
        at -= 1;
    }
    (at, renamed)
}

/// What a query behind a projection asks before it, if it asks only of fields that are kept or renamed.
fn before_renaming(stage: &Stage, filter: &Filter) -> Option<Filter> {
    let Stage::Project(project) = stage else { return None };
    let projection = &project.projection;
    let (renames, kept) = (projection.renames(), projection.kept_paths());
    let changed = projection.changed_paths();
    if renames.is_empty() {
        return None;
    }
    filter.renamed(&|path| {
        let (top, rest) = path.split_once('.').map_or((path, None), |(top, rest)| (top, Some(rest)));
        if let Some((_, old)) = renames.iter().find(|(new, _)| *new == top) {
            return Some(rest.map_or_else(|| (*old).to_owned(), |rest| format!("{old}.{rest}")));
        }
        let is_kept = match projection.rest() {
            Rest::Dropped => kept.iter().any(|k| path == k || path.starts_with(&format!("{k}."))),
            _ => !changed.iter().any(|changed| meet(path, changed)),
        };
        is_kept.then(|| path.to_owned())
    })
}

/// Puts a query as far forward as its conditions allow, each for itself.
fn place_match(placed: &mut Vec<Stage>, filter: Filter) {
    let conditions = match filter {
        Filter::And(conditions) => conditions,
        single => vec![single],
    };
    for condition in conditions {
        let reads = Reads::of(&condition);
        let mut at = placed.len();
        while let Some(before) = at.checked_sub(1).and_then(|place| placed.get(place)) {
            // A query before this one is passed only on the way to something further.
            if !matches!(before, Stage::Match(_)) && !lets_through(before, &reads) {
                break;
            }
            at -= 1;
        }
        let redacted = at.checked_sub(1).filter(|before| matches!(placed.get(*before), Some(Stage::Redact(_))));
        let before = redacted.and_then(|redact| Some((redact, redact::portion_before(&condition)?)));
        insert(placed, at, condition);
        if let Some((redact, portion)) = before {
            let behind = placed.split_off(redact);
            place_match(placed, portion);
            placed.extend(behind);
        }
    }
}

/// Adds a condition to the query at a place, or puts a new one there.
fn insert(placed: &mut Vec<Stage>, at: usize, condition: Filter) {
    if let Some(Stage::Match(query)) = placed.get_mut(at) {
        let joined = canonical::sort(canonical::simplify(Filter::And(vec![query.filter.clone(), condition])));
        *query = Arc::new(Match { filter: joined });
    } else {
        placed.insert(at, Stage::Match(Arc::new(Match { filter: condition })));
    }
}

/// What a query reads of a document.
#[derive(Debug, Default)]
struct Reads {
    paths: Vec<String>,
    /// It reads everything, or is not the same each time.
    everything: bool,
    /// A condition on arrays as such: MongoDB lets it pass nothing but a sort.
    asks_arrays: bool,
}

impl Reads {
    fn of(filter: &Filter) -> Reads {
        let mut reads = Reads::default();
        reads.add(filter);
        reads
    }

    fn add(&mut self, filter: &Filter) {
        match filter {
            Filter::Expr(test) => {
                let dependencies = test.expression.dependencies();
                self.everything |= dependencies.whole_document;
                self.paths.extend(dependencies.paths);
            }
            Filter::Schema(_) | Filter::SampleRate(_) => self.everything = true,
            Filter::Size(_) | Filter::ElemMatchObject(_) | Filter::ElemMatchValue(_) => self.asks_arrays = true,
            Filter::And(_) | Filter::Or(_) | Filter::Nor(_) | Filter::Not(_) => {
                filter.children().iter().for_each(|child| self.add(child));
            }
            leaf => match leaf.path() {
                Some(path) => {
                    // A number in it may be a position, which depends on the whole array.
                    let names = path.as_str().split('.').enumerate();
                    let names = names.take_while(|(place, name)| *place == 0 || !has_position(name));
                    self.paths.push(names.map(|(_, name)| name).collect::<Vec<_>>().join("."));
                }
                // `$alwaysFalse` counts as such a condition to MongoDB.
                None => self.everything |= !matches!(leaf, Filter::AlwaysTrue),
            },
        }
    }

    /// Whether something at one of these paths may differ where `changed` does.
    fn meets(&self, changed: &str) -> bool {
        self.everything || self.paths.iter().any(|path| meet(path, changed))
    }
}

/// Whether one path is the other, or lies below it.
fn meet(a: &str, b: &str) -> bool {
    let below =
        |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    below(a, b) || below(b, a)
}

/// Whether a query gives the same documents before a stage as behind it.
fn lets_through(stage: &Stage, reads: &Reads) -> bool {
    let unchanged = |paths: &[String]| !paths.iter().any(|path| reads.meets(path));
    let joined = |names: &[Box<str>]| names.join(".");
    match stage {
        Stage::Sort(sort) => sort.limit.is_none(),
        _ if reads.asks_arrays => false,
        Stage::Project(project) => {
            let projection = &project.projection;
            if !unchanged(&projection.changed_paths()) {
                return false;
            }
            // Of an inclusion only what it keeps as a whole is there before as behind.
            let kept = projection.kept_paths();
            let is_kept = |path: &String| kept.iter().any(|k| path == k || path.starts_with(&format!("{k}.")));
            projection.rest() != Rest::Dropped || !reads.everything && reads.paths.iter().all(is_kept)
        }
        Stage::Unwind(unwind) => {
            let index = unwind.index.as_deref().map(joined);
            !reads.meets(&joined(&unwind.path)) && index.is_none_or(|index| !reads.meets(&index))
        }
        Stage::Lookup(lookup) => !reads.meets(&joined(&lookup.target)),
        Stage::GraphLookup(lookup) => !reads.meets(&joined(&lookup.target)),
        _ => false,
    }
}

/// Lets a sort know how many documents are wanted of it.
fn join_limits(stages: &mut [Stage]) {
    for at in 0..stages.len() {
        let (before, after) = stages.split_at_mut(at + 1);
        let Some(Stage::Sort(sort)) = before.last_mut() else {
            continue;
        };
        let mut skipped = 0u64;
        for stage in after.iter() {
            match stage {
                Stage::Skip(n) => skipped = skipped.saturating_add(*n),
                Stage::Limit(n) => {
                    *sort = Arc::new(Sort { order: sort.order.clone(), limit: Some(n.saturating_add(skipped)) });
                    break;
                }
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bindery_document::{DocBuf, Value};
    use bson::doc;

    use super::super::Pipeline;
    use super::*;
    use crate::filter::ParseContext;

    fn names(stages: Vec<bson::Document>) -> Vec<&'static str> {
        let stages = DocBuf::from_bson(&doc! {"p": stages}).expect("stages");
        let Some(Value::Array(stages)) = stages.doc().get("p") else {
            panic!("no array");
        };
        let pipeline = Pipeline::parse(stages, &mut ParseContext::new()).expect("pipeline");
        optimize(pipeline.stages).iter().map(Stage::name).collect()
    }

    #[test]
    fn queries_move_before_what_does_not_change_their_fields() {
        assert_eq!(names(vec![doc! {"$addFields": {"a": 1}}, doc! {"$match": {"b": 1}}]), ["$match", "$addFields"]);
        assert_eq!(names(vec![doc! {"$addFields": {"a": 1}}, doc! {"$match": {"a.x": 1}}]), ["$addFields", "$match"]);
        assert_eq!(names(vec![doc! {"$sort": {"a": 1}}, doc! {"$match": {"a": 1}}]), ["$match", "$sort"]);
        assert_eq!(names(vec![doc! {"$unwind": "$a"}, doc! {"$match": {"a": 1}}]), ["$unwind", "$match"]);
        assert_eq!(names(vec![doc! {"$project": {"a": 1}}, doc! {"$match": {"b": 1}}]), ["$project", "$match"]);
        assert_eq!(names(vec![doc! {"$limit": 3}, doc! {"$match": {"a": 1}}]), ["$limit", "$match"]);
    }

    #[test]
    fn written_stages_are_arranged() {
        let arranged = |stages: Vec<bson::Document>| {
            let stages = DocBuf::from_bson(&doc! {"p": stages}).expect("stages");
            let Some(Value::Array(stages)) = stages.doc().get("p") else {
                panic!("no array");
            };
            let pipeline = Pipeline::parse(stages, &mut ParseContext::new()).expect("pipeline");
            arrange(&pipeline.stages, &pipeline.origins).map(|order| {
                order.into_iter().map(|a| (a.number, a.renamed.map(|f| f.to_document()))).collect::<Vec<_>>()
            })
        };
        assert_eq!(arranged(vec![doc! {"$sortByCount": "$a"}, doc! {"$match": {"_id": 1}}]), None);
        let moved = arranged(vec![doc! {"$set": {"a": 1}}, doc! {"$match": {"b": 1}}]);
        assert_eq!(moved, Some(vec![(1, None), (0, None)]));
        let query = doc! {"$match": {"p": 1, "q.x": {"$gt": 2}, "k": 3}};
        let renamed = arranged(vec![doc! {"$project": {"p": "$a", "q": "$b", "k": 1}}, query.clone()]);
        let asked = doc! {"$and": [{"k": {"$eq": 3}}, {"a": {"$eq": 1}}, {"b.x": {"$gt": 2}}]};
        assert_eq!(renamed, Some(vec![(1, Some(DocBuf::from_bson(&asked).expect("a query"))), (0, None)]));
        let part = doc! {"$and": [{"k": {"$eq": 3}}, {"b.x": {"$gt": 2}}]};
        let split = arranged(vec![doc! {"$project": {"p": "$a.b", "q": "$b", "k": 1}}, query.clone()]);
        assert_eq!(split, Some(vec![(1, Some(DocBuf::from_bson(&part).expect("a query"))), (0, None), (1, None)]));
        assert_eq!(arranged(vec![doc! {"$project": {"p": "$a.b", "q": "$b.c"}}, query]), None);
    }

    #[test]
    fn conditions_move_one_by_one_and_neighbours_join() {
        let split = vec![doc! {"$unwind": "$a"}, doc! {"$match": {"a": 1, "b": 2}}];
        assert_eq!(names(split), ["$match", "$unwind", "$match"]);
        let joined = vec![doc! {"$match": {"a": 1}}, doc! {"$match": {"b": 2}}];
        assert_eq!(names(joined), ["$match"]);
    }
}
