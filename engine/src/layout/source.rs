//! Logical documents out of stored ones: the pruned filter finds stored documents by their indexes, each is
//! unfolded, and the logical filter is asked of what comes out.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_index::RecordId;
use bindery_patterns::bucket::{Bucket, Header};
use bindery_patterns::prune::{Pruned, StoredOrder};
use bindery_patterns::subset::shortcut::Need;
use bindery_patterns::{Layout, Wanted};
use bindery_query::filter::Filter;
use bindery_query::plan::{Hint, Query};
use bindery_query::sort::Sort;

use super::{LayoutCollection, Moment, subset};
use crate::database::Inner;
use crate::execute::{Question, Stage, build, choose};
use crate::trace::Cx;

/// Where a logical document is: in which stored one, and at which place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) record_id: RecordId,
    pub(crate) ordinal: u32,
}

/// A logical question and what it comes to on stored documents.
pub(crate) struct Asked {
    /// As the caller means it.
    pub(crate) logical: Query,
    /// What finds the stored documents.
    pub(crate) stored: Query,
    /// Whether every logical document in what the stored question finds matches the logical filter.
    pub(crate) exact: bool,
    /// What is left to do about the order.
    pub(crate) sorting: Sorting,
}

/// What is left to do about a logical order.
pub(crate) enum Sorting {
    /// Nothing.
    Done,
    /// Everything has to be sorted.
    Whole,
    /// What is equal under this order of stored documents has to be sorted.
    Groups(Arc<Sort>),
}

impl Asked {
    /// Compiles a logical question.
    ///
    /// # Errors
    /// What the languages say; 2 for what only plain collections answer.
    pub(crate) fn compile(server: &Inner, layout: &Layout, question: &Question<'_>) -> Result<Asked> {
        let logical = question.compile(&server.scope(), None)?;
        if question.min.is_some() || question.max.is_some() || question.return_key {
            return Err(Error::new(
                code::BAD_VALUE,
                "'min', 'max' and 'returnKey' speak of index keys, which are those of stored documents here",
            ));
        }
        let Pruned { filter, exact } = layout.prune(&logical.filter);
        let parse = |order: &DocBuf| Sort::parse(order.doc(), logical.collation.as_ref());
        let (sort, sorting) = match &logical.sort {
            None => (None, Sorting::Done),
            Some(sort) => match layout.order(sort.fields()) {
                StoredOrder::Any => (None, Sorting::Whole),
                StoredOrder::Exact(order) => (Some(Arc::new(parse(&order)?)), Sorting::Done),
                StoredOrder::Groups(order) => {
                    let order = Arc::new(parse(&order)?);
                    (Some(Arc::clone(&order)), Sorting::Groups(order))
                }
            },
        };
        let hint = match &logical.hint {
            Some(Hint::Key(key)) => Some(Hint::Key(layout.index_key(key.doc()).unwrap_or_else(|| key.clone()))),
            other => other.clone(),
        };
        let stored = Query {
            sort,
            hint,
            collation: logical.collation.clone(),
            // With documents to skip the server sorts, and fails where that cannot be done.
            is_id_equality: logical.is_id_equality && layout.is_one_to_one() && logical.skip == 0,
            ..Query::of_filter(filter)
        };
        let mut asked = Asked { logical, stored, exact, sorting };
        if asked.stored.is_id_equality {
            // There is one at most.
            (asked.stored.sort, asked.sorting) = (None, Sorting::Done);
        }
        if asked.exact && layout.is_one_to_one() && matches!(asked.sorting, Sorting::Done) {
            asked.stored.skip = std::mem::take(&mut asked.logical.skip);
            asked.stored.limit = asked.logical.limit.take();
        }
        Ok(asked)
    }

    /// How much of a subset's array is needed to answer; the rest of a document is always read.
    pub(crate) fn need(&self, layout: &Layout, projection: Need) -> Need {
        let Layout::Subset(subset) = layout else { return Need::All };
        // Without the array in the results, the children that the parent holds may be enough to sort by.
        let top_decides = projection == Need::Nothing && self.logical.collation.is_none();
        let sorts = self.logical.sort.as_ref().is_some_and(|sort| {
            let mut of_array =
                sort.fields().iter().filter(|field| field.path.split('.').next() == Some(subset.array()));
            of_array.any(|field| !(top_decides && subset.top_decides(field)))
        });
        match sorts || subset.is_asked_by(&self.logical.filter) {
            true => Need::All,
            false => projection,
        }
    }

    /// Appends what the layout made of the question, for `explain`. Its plan counts stored documents.
    pub(crate) fn show(&self, layout: &str, out: &mut Builder) {
        let open = out.open_document("layout");
        out.append("name", layout);
        out.append("logicalQuery", Value::Document(self.logical.filter.to_document().doc()));
        out.append("storedQuery", Value::Document(self.stored.filter.to_document().doc()));
        out.append("checkedAgain", !self.exact);
        let sorting = match self.sorting {
            Sorting::Done => "by stored documents",
            Sorting::Whole => "after unfolding",
            Sorting::Groups(_) => "within equal stored documents",
        };
        if self.logical.sort.is_some() {
            out.append("sorted", sorting);
        }
        out.close(open);
    }
}

/// A walk over logical documents.
pub(crate) struct Source {
    layout: Arc<Layout>,
    moment: Moment,
    stage: Stage,
    /// What is still to be asked of unfolded documents, beside their times.
    filter: Option<Arc<Filter>>,
    /// How much of a subset's array is asked for.
    need: Need,
    /// The times that readings of buckets are asked for.
    times: RangeInclusive<i64>,
    /// The only fields that are asked for.
    wanted: Option<Vec<Box<str>>>,
    /// The matches in the present stored document.
    batch: Batch,
    current: usize,
}

/// Logical documents of one stored one.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    documents: Vec<(u32, Range<usize>)>,
    next: usize,
    /// Whether readings come in the order of time.
    ordered: bool,
}

/// How many readings of a bucket are asked for, if they come in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    All,
    /// So many of the earliest.
    First(usize),
    /// So many of the latest.
    Last(usize),
}

impl Keep {
    /// The part of these places that is kept.
    fn of(self, places: Range<u32>) -> Range<u32> {
        let few = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        match self {
            Keep::All => places,
            Keep::First(n) => places.start..places.end.min(places.start.saturating_add(few(n))),
            Keep::Last(n) => places.start.max(places.end.saturating_sub(few(n)))..places.end,
        }
    }
}

impl Source {
    /// Plans the stored question and gets ready to run it.
    ///
    /// # Errors
    /// What the planner says.
    pub(crate) fn open(server: &Inner, collection: &LayoutCollection, asked: &Asked, need: Need) -> Result<Source> {
        let moment = collection.snapshot();
        let stage = build(&moment.stored, choose(&moment.stored, &asked.stored, server.planner)?.winner);
        let layout = Arc::clone(&collection.layout);
        let (times, are_all) = match &*layout {
            Layout::Bucket(bucket) => bucket.times_of(&asked.logical.filter),
            Layout::Attribute(_) | Layout::Subset(_) => (i64::MIN..=i64::MAX, false),
        };
        let filter = (!asked.exact && !are_all).then(|| Arc::clone(&asked.logical.filter));
        let batch = Batch::default();
        Ok(Source { layout, moment, stage, filter, need, times, wanted: None, batch, current: 0 })
    }

    /// Makes no other fields than these; false if they may be needed after all, or are stored as they are.
    pub(super) fn want_only(&mut self, fields: Vec<Box<str>>) -> bool {
        let can = self.filter.is_none() && matches!(&*self.layout, Layout::Bucket(_) | Layout::Attribute(_));
        if can {
            self.wanted = Some(fields);
        }
        can
    }

    /// Moves to the next logical document; false at the end.
    pub(crate) fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if self.advance_within() {
                return Ok(true);
            }
            if !self.advance_stored(cx)? {
                return Ok(false);
            }
            self.unfold(Keep::All, cx)?;
        }
    }

    /// Moves to the next match in the present stored document; false if there is none.
    pub(crate) fn advance_within(&mut self) -> bool {
        self.current = self.batch.next;
        self.batch.next += 1;
        self.current < self.batch.documents.len()
    }

    /// Moves to the next stored document, which has no matches before [`Source::unfold`]; false at the end.
    pub(crate) fn advance_stored(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        self.batch.documents.clear();
        self.batch.next = 0;
        self.stage.advance(&self.moment.stored, cx)
    }

    /// Looks for the matches in the present stored document and stands before the first. Of readings that come in
    /// the order of time, and that nothing else is asked of, only those to keep are made.
    pub(super) fn unfold(&mut self, keep: Keep, cx: &mut Cx<'_>) -> Result<()> {
        let stored = self.stage.document(&self.moment.stored);
        let wanted = self.wanted.as_deref().map_or(Wanted::All, Wanted::Only);
        let batch = &mut self.batch;
        match &*self.layout {
            Layout::Attribute(attribute) => {
                batch.bytes = attribute.unfold(stored, wanted, std::mem::take(&mut batch.bytes));
                if passes(self.filter.as_deref(), &batch.bytes)? {
                    batch.documents.push((0, 0..batch.bytes.len()));
                }
            }
            Layout::Subset(layout) => {
                let (side, bytes) = (self.moment.side.as_ref(), std::mem::take(&mut batch.bytes));
                batch.bytes = subset::unfold(layout, side, stored, self.need, bytes, cx)?;
                if passes(self.filter.as_deref(), &batch.bytes)? {
                    batch.documents.push((0, 0..batch.bytes.len()));
                }
            }
            Layout::Bucket(bucket) => {
                batch.bytes.clear();
                let header = Header::read(stored, false);
                let sieve = self.filter.as_deref().map(|filter| bucket.sieve(&header, filter));
                if !header.has_rows() && sieve.as_ref().is_some_and(|sieve| !sieve.passes_any()) {
                    batch.ordered = true;
                    return Ok(());
                }
                let mut readings = bucket.open(&header, wanted);
                batch.ordered = readings.are_ordered();
                let mut places = readings.ordered(&self.times);
                if batch.ordered && self.filter.is_none() {
                    places = keep.of(places);
                }
                let others: Vec<u32> = readings.others(&self.times).collect();
                for place in places.chain(others) {
                    let mut filter = self.filter.as_deref();
                    if let Some(sieve) = sieve.as_ref().filter(|_| readings.is_in_columns(place)) {
                        if !sieve.passes(place) {
                            continue;
                        }
                        filter = filter.filter(|_| !sieve.is_whole());
                    }
                    let start = batch.bytes.len();
                    readings.write(place, &mut batch.bytes);
                    match passes(filter, &batch.bytes[start..])? {
                        true => batch.documents.push((place, start..batch.bytes.len())),
                        false => batch.bytes.truncate(start),
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves to the next stored bucket and gives the number of matches in it, without looking at readings where
    /// the bucket as a whole says that all match.
    pub(crate) fn advance_bucket(&mut self, bucket: &Bucket, filter: &Filter, cx: &mut Cx<'_>) -> Result<Option<u64>> {
        if !self.stage.advance(&self.moment.stored, cx)? {
            return Ok(None);
        }
        let stored = self.stage.document(&self.moment.stored);
        let header = Header::read(stored, false);
        let are_within = self.times.contains(&header.first) && self.times.contains(&header.last);
        if self.filter.is_none() && are_within || bucket.covers(filter, stored, &header) {
            return Ok(Some(u64::from(header.count)));
        }
        let sieve = bucket.sieve(&header, filter);
        if self.filter.is_some() && !header.has_rows() && !sieve.passes_any() {
            return Ok(Some(0));
        }
        let mut readings = bucket.open(&header, Wanted::All);
        let places = readings.places(&self.times);
        if self.filter.is_none() {
            return Ok(Some(places.len() as u64));
        }
        let mut found = 0;
        for place in places {
            if readings.is_in_columns(place) && (!sieve.passes(place) || sieve.is_whole()) {
                found += u64::from(sieve.passes(place));
                continue;
            }
            self.batch.bytes.clear();
            readings.write(place, &mut self.batch.bytes);
            found += u64::from(filter.matches(Doc::from_stored(&self.batch.bytes))?);
        }
        Ok(Some(found))
    }

    /// Whether no other stored document is equal to the present one under an order that begins with fields that
    /// `ordered` knows. False where that is not known without looking.
    pub(super) fn is_alone(&self, ordered: &dyn Fn(&str) -> bool) -> bool {
        self.stage.is_alone(&self.moment.stored, ordered)
    }

    /// Whether the matches in the present stored document come in the order of time.
    pub(super) fn is_ordered(&self) -> bool {
        self.batch.ordered
    }

    /// Takes the matches in the present stored document, and its record id.
    pub(super) fn take_batch(&mut self) -> (Option<RecordId>, Batch) {
        (self.stage.record_id(), std::mem::take(&mut self.batch))
    }

    /// Gives a batch back, to be filled again.
    pub(super) fn recycle(&mut self, batch: Batch) {
        self.batch = Batch { documents: Vec::new(), ..batch };
    }

    /// The stored document that the walk stands on.
    pub(crate) fn stored(&self) -> Doc<'_> {
        self.stage.document(&self.moment.stored)
    }

    /// The logical document that the walk stands on.
    pub(crate) fn document(&self) -> Doc<'_> {
        match self.batch.documents.get(self.current) {
            Some((_, range)) => Doc::from_stored(&self.batch.bytes[range.clone()]),
            None => bindery_document::doc::EMPTY,
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Option<Place> {
        let (ordinal, _) = self.batch.documents.get(self.current)?;
        Some(Place { record_id: self.stage.record_id()?, ordinal: *ordinal })
    }
}

impl Batch {
    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// One of them, and its place in the stored document.
    pub(super) fn get(&self, at: usize) -> Option<(u32, Doc<'_>)> {
        let (ordinal, range) = self.documents.get(at)?;
        Some((*ordinal, Doc::from_stored(self.bytes.get(range.clone())?)))
    }
}

fn passes(filter: Option<&Filter>, document: &[u8]) -> Result<bool> {
    filter.map_or(Ok(true), |filter| filter.matches(Doc::from_stored(document)))
}

/// The places that match, for a command that will write to them. No snapshot is held afterwards.
///
/// # Errors
/// What the languages, the planner and the time limit say.
pub(crate) fn matching_places(
    server: &Inner,
    collection: &LayoutCollection,
    question: &Question<'_>,
    cx: &mut Cx<'_>,
) -> Result<Vec<Place>> {
    let mut rows = super::LayoutRows::open_for(server, collection, question, Need::Nothing)?;
    let mut places = Vec::new();
    while rows.advance_unshaped(cx)? {
        places.extend(rows.place());
    }
    Ok(places)
}

/// A record id as `showRecordId` shows it.
pub(super) fn shown(place: Option<Place>) -> Value<'static> {
    place.map_or(Value::Null, |place| Value::Int64(place.record_id.0 as i64))
}
