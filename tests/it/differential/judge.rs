//! Whether two answers are alike as far as MongoDB promises anything.
//!
//! Without a sort the order is open; with a sort that does not end in `_id` documents of equal sort keys
//! may come in any order; with a limit but no sort any documents may come. And where MongoDB's own answer
//! changes with an index, or with the optimization of a pipeline, the plain answer is right too.

use bson::{Bson, Document, RawBsonRef, RawDocumentBuf, doc};

use super::scene::{Scene, pipeline_order, raw};
use crate::answer::{Answer, listing, read, without};
use crate::compare::{bag_difference, same, same_documents};
use crate::corpus::fields;
use crate::extjson::to_shell;
use crate::server::Server;
use crate::wire::Mongod;

/// MongoDB's own code for a mistake of its other engine.
const DUPLICATE_FIELD: i32 = 4_822_806;

/// Where the judge keeps what the first half of a pipeline gives.
const STORED: &str = "stored";

/// A name that no generated document has.
const SORT_KEY: &str = "sort key";

/// Judges answers to commands that read, asking MongoDB again where that is needed.
pub(super) struct Judge<'a> {
    pub(super) oracle: &'a mut Mongod,
    pub(super) db: &'a str,
}

impl Judge<'_> {
    pub(super) fn fault(&mut self, command: &Document, expected: &Answer, got: &Answer) -> Option<String> {
        let fault = self.strict_fault(command, expected, got)?;
        if matches!((expected, got), (Answer::Error { .. }, Answer::Error { .. })) && self.meets_first(command, got) {
            return None;
        }
        if let (Answer::Error { message, .. }, Answer::Error { code, .. }) = (expected, got)
            && self.may_be_met_first(command, message, *code)
        {
            return None;
        }
        let unindexed = self.without_indexes(command)?;
        let reply = self.oracle.run(self.db, &raw(&unindexed));
        let expected = read(self.oracle, self.db, &reply);
        self.strict_fault(&unindexed, &expected, got)?;
        if self.is_right_in_two(command, got) { None } else { Some(fault) }
    }

    /// Whether a pipeline is answered as MongoDB answers it in two commands, the second on what the first has stored.
    ///
    /// Between its stages MongoDB's arrays may hold missing values, which no stored array can: an inclusion leaves them
    /// in the place of elements that it drops, but only in documents that a stage before it has changed; `$zip` leaves
    /// them for a default that is missing. Later stages count, unwind or replace them. Here they are never there.
    fn is_right_in_two(&mut self, command: &Document, got: &Answer) -> bool {
        let Ok(stages) = command.get_array("pipeline") else {
            return false;
        };
        (1..stages.len()).any(|cut| {
            let (first, second) = stages.split_at(cut);
            let mut store = command.clone();
            store.insert("pipeline", first.iter().cloned().chain([doc! { "$out": STORED }.into()]).collect::<Vec<_>>());
            let stored = self.oracle.run(self.db, &raw(&store));
            if !matches!(read(self.oracle, self.db, &stored), Answer::Cursor(_)) {
                return false;
            }
            let mut rest = command.clone();
            rest.insert("aggregate", STORED);
            rest.insert("pipeline", second.to_vec());
            let reply = self.oracle.run(self.db, &raw(&rest));
            let expected = read(self.oracle, self.db, &reply);
            self.strict_fault(command, &expected, got).is_none()
        })
    }

    /// Whether a sorted find fails as `got` where MongoDB meets the documents from the other end: documents are
    /// projected before they are sorted or after, and which of two that fail is met first is open. Where a sort leaves
    /// the order open, any document may be the first that fails.
    fn meets_first(&mut self, command: &Document, got: &Answer) -> bool {
        let Ok(sort) = command.get_document("sort") else {
            return false;
        };
        if !command.contains_key("projection") {
            return false;
        }
        if command.get_i32("limit").is_ok_and(|limit| limit != 0) {
            return !sort.contains_key("_id") && self.fails_alone(command, got);
        }
        let mut unsorted = command.clone();
        unsorted.remove("sort");
        [1, -1].into_iter().any(|direction| {
            unsorted.insert("hint", doc! { "$natural": direction });
            let reply = self.oracle.run(self.db, &raw(&unsorted));
            let expected = read(self.oracle, self.db, &reply);
            self.strict_fault(&unsorted, &expected, got).is_none()
        })
    }

    /// Whether a pipeline fails with `code` where only one part of a `$facet` is asked. The parts are run side by side,
    /// a batch of documents at a time, so that which of two that fail is met first depends on which stages block.
    fn fails_in_one_facet(&mut self, command: &Document, code: i32) -> bool {
        let Ok(stages) = command.get_array("pipeline") else {
            return false;
        };
        stages.iter().enumerate().any(|(place, stage)| {
            let Some(parts) = stage.as_document().and_then(|stage| stage.get_document("$facet").ok()) else {
                return false;
            };
            parts.keys().any(|name| {
                let mut alone = parts.clone();
                alone
                    .iter_mut()
                    .filter(|(other, _)| *other != name)
                    .for_each(|(_, part)| *part = Bson::Array(Vec::new()));
                let mut stages = stages.clone();
                stages[place] = doc! { "$facet": alone }.into();
                self.fails(command, stages, code)
            })
        })
    }

    /// Whether a pipeline fails with `code` where a stage is given fewer documents. Documents are read in batches: one
    /// that fails in an early stage is met before another that stands before it fails in a later stage, if both are
    /// in one batch.
    fn fails_with_fewer(&mut self, command: &Document, code: i32) -> bool {
        let Ok(stages) = command.get_array("pipeline") else {
            return false;
        };
        let places = (1..=stages.len()).flat_map(|place| [1, 2, 3, 5, 8, 13, 21, 34].map(|n| (place, n)));
        places.into_iter().any(|(place, n): (usize, i32)| {
            let mut fewer = stages.clone();
            fewer.insert(place, doc! { "$limit": n }.into());
            self.fails(command, fewer, code)
        })
    }

    fn fails(&mut self, command: &Document, stages: Vec<Bson>, expected: i32) -> bool {
        let mut changed = command.clone();
        changed.insert("pipeline", stages);
        let reply = self.oracle.run(self.db, &raw(&changed));
        matches!(read(self.oracle, self.db, &reply), Answer::Error { code, .. } if code == expected)
    }

    /// Whether a pipeline rightly fails with `code`, because MongoDB itself leaves open which of several failures it
    /// meets first: that of a document behind a sample, whose order is random; or that of a computed field without
    /// operands from documents, since it goes over the fields of a projection in the order of a hash table.
    fn may_be_met_first(&mut self, command: &Document, message: &str, code: i32) -> bool {
        let Ok(stages) = command.get_array("pipeline") else {
            return false;
        };
        if stages.iter().any(|stage| stage.as_document().is_some_and(|stage| stage.contains_key("$sample"))) {
            return true;
        }
        if self.fails_in_one_facet(command, code) || self.fails_with_fewer(command, code) {
            return true;
        }
        if !message.contains("Failed to optimize pipeline") {
            return false;
        }
        for (place, stage) in stages.iter().enumerate() {
            let Some((name, Bson::Document(fields))) = stage.as_document().and_then(|stage| stage.iter().next()) else {
                continue;
            };
            if fields.len() < 2 || !["$project", "$addFields", "$set"].contains(&name.as_str()) {
                continue;
            }
            for (field, value) in fields {
                let mut alone = stages.clone();
                alone.truncate(place);
                alone.push(doc! { name: { field: value.clone() } }.into());
                if self.fails(command, alone, code) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether MongoDB fails as `got` for one of the documents on its own.
    fn fails_alone(&mut self, command: &Document, got: &Answer) -> bool {
        let mut alone = command.clone();
        ["sort", "limit", "skip", "hint", "min", "max"].iter().for_each(|field| drop(alone.remove(field)));
        let filter = command.get_document("filter").cloned().unwrap_or_default();
        let all = doc! { "find": "c", "projection": { "_id": 1 }, "batchSize": 10_000 };
        let reply = self.oracle.run(self.db, &raw(&all));
        let Answer::Cursor(docs) = read(self.oracle, self.db, &reply) else {
            return false;
        };
        let ids: Vec<Bson> = docs.iter().filter_map(|doc| Document::try_from(&**doc).ok()?.remove("_id")).collect();
        ids.into_iter().any(|id| {
            alone.insert("filter", doc! { "$and": [{ "_id": { "$eq": id } }, filter.clone()] });
            let reply = self.oracle.run(self.db, &raw(&alone));
            let expected = read(self.oracle, self.db, &reply);
            self.strict_fault(&alone, &expected, got).is_none()
        })
    }

    /// The command such that MongoDB answers it plainly, without an index; nothing if it insists on one.
    pub(super) fn without_indexes(&mut self, command: &Document) -> Option<Document> {
        let names_index = |hint: &Bson| hint.as_document().is_none_or(|hint| !hint.contains_key("$natural"));
        if command.get("hint").is_some_and(names_index) {
            return None;
        }
        let natural = doc! { "$natural": 1 };
        let mut unindexed = command.clone();
        if let Ok(stages) = command.get_array("pipeline") {
            // Neither moved, merged nor handed to the other execution engine, whose errors have other codes.
            let apart: Bson = doc! { "$_internalInhibitOptimization": {} }.into();
            let stages: Vec<Bson> = stages.iter().flat_map(|stage| [apart.clone(), stage.clone()]).collect();
            unindexed.insert("pipeline", stages);
            unindexed.insert("hint", natural);
        } else if command.contains_key("distinct") {
            // It takes no hint: it gets the documents that a hinted find picks.
            let matching = doc! {
                "find": "c",
                "filter": command.get_document("query").ok()?,
                "projection": { "_id": 1 },
                "hint": natural,
                "batchSize": 10_000,
            };
            let reply = self.oracle.run(self.db, &raw(&matching));
            let Answer::Cursor(docs) = read(self.oracle, self.db, &reply) else {
                return None;
            };
            let ids: Vec<Bson> = docs.iter().filter_map(|doc| Document::try_from(&**doc).ok()?.remove("_id")).collect();
            unindexed.insert("query", doc! { "_id": { "$in": ids } });
        } else {
            unindexed.insert("hint", natural);
        }
        Some(unindexed)
    }

    fn strict_fault(&mut self, command: &Document, expected: &Answer, got: &Answer) -> Option<String> {
        match (expected, got) {
            (Answer::Cursor(expected), Answer::Cursor(got)) => self.cursor_fault(command, expected, got),
            (Answer::Reply(expected), Answer::Reply(got)) => {
                let alike = if command.contains_key("distinct") {
                    same_values(expected, got)
                } else {
                    same_documents(expected, got)
                };
                (!alike).then(|| {
                    format!(
                        "expected {}, got {}",
                        to_shell(RawBsonRef::Document(expected)),
                        to_shell(RawBsonRef::Document(got))
                    )
                })
            }
            (Answer::Error { code: expected, .. }, Answer::Error { code: got, .. }) if expected == got => None,
            // A query in which MongoDB's own rewriting has made an operator of a field: a mistake of its optimizer.
            (Answer::Error { message, .. }, _)
                if message.contains("Failed to optimize pipeline :: caused by :: unknown top level operator") =>
            {
                None
            }
            // Its other engine stumbles over an expression that it has written out twice: `{$ifNull: ["$c", "$c"]}`.
            (Answer::Error { code: DUPLICATE_FIELD, message, .. }, _) if message.starts_with("duplicate field") => None,
            (expected, got) => Some(format!("expected {}, got {}", outline(expected), outline(got))),
        }
    }

    fn cursor_fault(
        &mut self,
        command: &Document,
        expected: &[RawDocumentBuf],
        got: &[RawDocumentBuf],
    ) -> Option<String> {
        let in_order = |expected: &[RawDocumentBuf], got: &[RawDocumentBuf]| {
            expected.len() == got.len() && expected.iter().zip(got).all(|(e, g)| same_documents(e, g))
        };
        if in_order(expected, got) {
            return None;
        }
        let settle = |docs: &[RawDocumentBuf]| -> Vec<RawDocumentBuf> { docs.iter().map(settled).collect() };
        let (expected, got) = (&settle(expected)[..], &settle(got)[..]);
        if in_order(expected, got) {
            return None;
        }
        if let Ok(stages) = command.get_array("pipeline") {
            let asked = |stage: &&Bson| {
                stage.as_document().is_none_or(|stage| !stage.contains_key("$_internalInhibitOptimization"))
            };
            let stages: Vec<Bson> = stages.iter().filter(asked).cloned().collect();
            return match pipeline_order(&stages) {
                None => None,
                Some(false) => bag_fault(expected, got),
                Some(true) => bag_fault(expected, got).or_else(|| Some(order_fault(expected, got))),
            };
        }
        let cut = command.get_i32("limit").is_ok_and(|n| n != 0) || command.contains_key("skip");
        let sort = command.get_document("sort").ok();
        let total = sort.is_some_and(|sort| sort.contains_key("_id"));
        if cut && sort.is_none() {
            return (expected.len() != got.len())
                .then(|| format!("{} documents expected, got {}", expected.len(), got.len()));
        }
        if (total || !cut)
            && let Some(fault) = bag_fault(expected, got)
        {
            return Some(fault);
        }
        let sort = sort?;
        let right = if total { false } else { self.sorted_alike(command, sort, expected, got)? };
        (!right).then(|| order_fault(expected, got))
    }

    /// Whether `got` has the sort keys of `expected`, place by place. Nothing where a projection hides
    /// which documents they are. Documents whose ids a server made up are told apart by all that is in them;
    /// where a projection hides that too, any of them may be meant.
    fn sorted_alike(
        &mut self,
        command: &Document,
        sort: &Document,
        expected: &[RawDocumentBuf],
        got: &[RawDocumentBuf],
    ) -> Option<bool> {
        let mut keys = doc! {
            "find": "c",
            "filter": {},
            "sort": sort.clone(),
            "projection": { SORT_KEY: { "$meta": "sortKey" } },
            "batchSize": 10_000,
        };
        if let Some(collation) = command.get("collation") {
            keys.insert("collation", collation.clone());
        }
        let reply = self.oracle.run(self.db, &raw(&keys));
        let Answer::Cursor(all) = read(self.oracle, self.db, &reply) else {
            return None;
        };
        let all: Vec<(RawDocumentBuf, String)> = all
            .iter()
            .filter_map(|found| {
                let key = numbers_alike(found.get(SORT_KEY).ok().flatten()?);
                Some((settled(&without(found, &[SORT_KEY])), key))
            })
            .collect();
        let is_whole = !command.contains_key("projection");
        let keys_of = |document: &RawDocumentBuf| -> Option<Vec<&str>> {
            let id = document.get("_id").ok().flatten()?;
            let has_id = |found: &RawDocumentBuf| found.get("_id").ok().flatten().is_some_and(|other| same(other, id));
            let is_meant = |found: &RawDocumentBuf| has_id(found) && (!is_whole || same_documents(found, document));
            let keys: Vec<&str> = all.iter().filter(|(found, _)| is_meant(found)).map(|(_, key)| &key[..]).collect();
            (!keys.is_empty()).then_some(keys)
        };
        let mut right = expected.len() == got.len();
        for (expected, got) in expected.iter().zip(got) {
            let (expected, got) = (keys_of(expected)?, keys_of(got)?);
            right &= expected.iter().any(|key| got.contains(key));
        }
        Some(right)
    }
}

fn bag_fault(expected: &[RawDocumentBuf], got: &[RawDocumentBuf]) -> Option<String> {
    let (missing, extra) = bag_difference(expected, got);
    if missing.is_empty() && extra.is_empty() {
        return None;
    }
    let chosen = |docs: &[RawDocumentBuf], at: &[usize]| -> Vec<RawDocumentBuf> {
        at.iter().map(|&at| docs[at].clone()).collect()
    };
    Some(format!(
        "missing{}\n      not expected{}",
        listing(&chosen(expected, &missing), 3),
        listing(&chosen(got, &extra), 3)
    ))
}

fn order_fault(expected: &[RawDocumentBuf], got: &[RawDocumentBuf]) -> String {
    format!("order differs, expected{}\n      got{}", listing(expected, 8), listing(got, 8))
}

/// A value as text, numbers by what they are worth: sort keys 1 and 1.0 are one.
fn numbers_alike(value: RawBsonRef<'_>) -> String {
    match value {
        RawBsonRef::Int32(n) => format!("{:?}", f64::from(n)),
        RawBsonRef::Int64(n) => format!("{:?}", n as f64),
        RawBsonRef::Double(d) => format!("{:?}", d + 0.0),
        RawBsonRef::Decimal128(d) => match d.to_string().parse::<f64>() {
            Ok(d) => format!("{:?}", d + 0.0),
            Err(_) => d.to_string(),
        },
        RawBsonRef::Symbol(s) => numbers_alike(RawBsonRef::String(s)),
        RawBsonRef::Undefined => "null".to_owned(),
        RawBsonRef::Document(d) => {
            let inner: Vec<String> =
                fields(d).map(|(name, value)| format!("{name}: {}", numbers_alike(value))).collect();
            format!("{{{}}}", inner.join(", "))
        }
        RawBsonRef::Array(items) => {
            let inner: Vec<String> = items.into_iter().filter_map(|item| Some(numbers_alike(item.ok()?))).collect();
            format!("[{}]", inner.join(", "))
        }
        other => to_shell(other),
    }
}

/// The same distinct values, whichever of several equal numbers stands for them.
fn same_values(expected: &RawDocumentBuf, got: &RawDocumentBuf) -> bool {
    let text = |reply: &RawDocumentBuf| settled(reply).get("values").ok().flatten().map(numbers_alike);
    text(expected) == text(got)
}

fn outline(answer: &Answer) -> String {
    match answer {
        Answer::Error { code, message, .. } => format!("error {code} ({message})"),
        Answer::Cursor(docs) => format!("{} documents{}", docs.len(), listing(docs, 3)),
        Answer::Reply(reply) => to_shell(RawBsonRef::Document(reply)),
    }
}

/// Judges a write by its reply and by what the collection then holds. `Err(None)` says that the sides
/// rightly went apart: a failing update of several documents stops at whichever it meets first.
pub(super) fn write_fault(
    command: &Document,
    scene: &Scene,
    replies: (&Answer, &Answer),
    contents: (&Answer, &Answer),
) -> Result<(), Option<String>> {
    let (expected, got) = (essence(replies.0), essence(replies.1));
    let codes = |reply: &Document| -> Vec<Bson> {
        let errors = reply.get_array("writeErrors").cloned().unwrap_or_default();
        errors.iter().filter_map(|e| e.as_document()?.get("code").cloned()).chain(reply.get("code").cloned()).collect()
    };
    let (expected_codes, got_codes) = (codes(&expected), codes(&got));
    let has_choice = !scene.indexes.is_empty() || asks_for_ids(command);
    let order_decides = !expected_codes.is_empty() && has_choice && names_many(command);
    if expected_codes != got_codes {
        // With several documents in reach, which of two errors comes first is open too.
        if order_decides && !got_codes.is_empty() {
            return Err(None);
        }
        let message = match replies.1 {
            Answer::Error { message, .. } => message.as_str(),
            _ => "",
        };
        return Err(Some(format!("expected {expected}, got {got} {message}")));
    }
    if !order_decides && !same_documents(&raw(&expected), &raw(&got)) {
        return Err(Some(format!("expected {expected}, got {got}")));
    }
    let (Answer::Cursor(expected), Answer::Cursor(got)) = contents else {
        return Err(Some(format!("afterwards {} expected, got {}", outline(contents.0), outline(contents.1))));
    };
    let settle = |docs: &[RawDocumentBuf]| -> Vec<RawDocumentBuf> { docs.iter().map(settled).collect() };
    let (expected, got) = (settle(expected), settle(got));
    match bag_fault(&expected, &got) {
        None => Ok(()),
        Some(_) if order_decides => Err(None),
        Some(fault) => Err(Some(format!("afterwards {fault}"))),
    }
}

fn names_many(command: &Document) -> bool {
    statements(command)
        .any(|s| s.get_bool("multi").unwrap_or(false) || s.get_i32("limit").is_ok_and(|limit| limit == 0))
}

/// Whether the index on `_id`, which is always there, may serve a statement.
fn asks_for_ids(command: &Document) -> bool {
    statements(command).any(|s| s.get_document("q").is_ok_and(|query| query.to_string().contains("\"_id\"")))
}

fn statements(command: &Document) -> impl Iterator<Item = &Document> {
    let statements = command.get_array("updates").or_else(|_| command.get_array("deletes"));
    statements.into_iter().flatten().filter_map(Bson::as_document)
}

/// A write's reply as a document, ids and times that a server made up replaced by one that stands for them.
fn essence(answer: &Answer) -> Document {
    match answer {
        Answer::Error { code, .. } => doc! { "code": *code },
        Answer::Reply(reply) => Document::try_from(&*settled(reply)).unwrap_or_default(),
        Answer::Cursor(_) => doc! { "cursor": true },
    }
}

fn settled(document: &RawDocumentBuf) -> RawDocumentBuf {
    match Document::try_from(&**document) {
        Ok(mut parsed) => {
            let mut changed = false;
            parsed.iter_mut().for_each(|(_, value)| settle_ids(value, &mut changed));
            if changed { raw(&parsed) } else { document.clone() }
        }
        Err(_) => document.clone(),
    }
}

/// Ids and times in generated documents come from the seventies.
const FIRST_OF_2020: i64 = 1_577_836_800_000;

/// Takes away the fields that hold the time at which a command ran, which is not the same on both sides.
pub(super) fn timeless(document: &mut Document) {
    fn has_time(value: &Bson) -> bool {
        match value {
            Bson::DateTime(date) => date.timestamp_millis() > FIRST_OF_2020,
            Bson::Timestamp(time) => i64::from(time.time) * 1000 > FIRST_OF_2020,
            Bson::Document(inner) => inner.values().any(has_time),
            Bson::Array(items) => items.iter().any(has_time),
            _ => false,
        }
    }
    let kept = document.iter().filter(|(_, value)| !has_time(value));
    *document = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
}

fn settle_ids(value: &mut Bson, changed: &mut bool) {
    match value {
        Bson::DateTime(date) if date.timestamp_millis() > FIRST_OF_2020 => {
            *date = bson::DateTime::from_millis(FIRST_OF_2020);
            *changed = true;
        }
        Bson::Timestamp(time) if i64::from(time.time) * 1000 > FIRST_OF_2020 => {
            *time = bson::Timestamp { time: 1_577_836_800, increment: 1 };
            *changed = true;
        }
        Bson::ObjectId(id) if id.timestamp().timestamp_millis() > FIRST_OF_2020 => {
            *id = bson::oid::ObjectId::from_bytes([0xff; 12]);
            *changed = true;
        }
        Bson::Document(inner) => inner.iter_mut().for_each(|(_, value)| settle_ids(value, changed)),
        Bson::Array(items) => items.iter_mut().for_each(|value| settle_ids(value, changed)),
        _ => {}
    }
}
