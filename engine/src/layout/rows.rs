//! The logical documents of a cursor: order, skip, limit and projection on top of a [`Source`].

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result};
use bindery_index::RecordId;
use bindery_index::keygen::Keys;
use bindery_patterns::Layout;
use bindery_patterns::subset::shortcut::Need;
use bindery_query::filter::Filter;
use bindery_query::plan::Shape;
use bindery_query::sort::{SORT_MEMORY_BYTES, Sort, Sorter};

use super::LayoutCollection;
use super::source::{Asked, Batch, Keep, Place, Sorting, Source, shown};
use crate::cursor::Rows;
use crate::database::Inner;
use crate::execute::{Question, project};
use crate::trace::Cx;

/// The documents of a `find` on a collection with a layout, read from one moment.
pub(crate) struct LayoutRows {
    source: Source,
    order: Option<Order>,
    skip: u64,
    limit: Option<u64>,
    shape: Option<Arc<Shape>>,
    shown: Option<DocBuf>,
    show_record_id: bool,
}

/// Sorting that is left to do, and what is sorted.
struct Order {
    sort: Arc<Sort>,
    sorting: Sorting,
    /// Whether readings are sorted by their time alone, and whether the latest come first.
    by_time: Option<bool>,
    /// The fields that stored documents are read in the order of.
    stored_fields: Vec<Box<str>>,
    /// The sorted documents of the present group.
    sorted: Sorted,
    current: Current,
    /// Whether the source stands on the first stored document of the next group.
    ahead: bool,
    done: bool,
}

/// The documents of one group, sorted.
enum Sorted {
    Documents(std::vec::IntoIter<(Option<Place>, DocBuf)>),
    /// Those of one bucket, from whichever end.
    Bucket {
        record_id: Option<RecordId>,
        batch: Batch,
        from: usize,
        latest_first: bool,
    },
}

/// The document that an [`Order`] stands on.
enum Current {
    None,
    Document(Option<Place>, DocBuf),
    /// The one in the bucket with this number.
    InBucket(usize),
}

impl LayoutRows {
    /// Compiles and plans a question and gets ready to run it.
    ///
    /// # Errors
    /// What the languages and the planner say.
    pub(crate) fn open(server: &Inner, collection: &LayoutCollection, question: &Question<'_>) -> Result<LayoutRows> {
        let need = match &*collection.layout {
            Layout::Subset(subset) => subset.need_of_projection(question.projection),
            Layout::Attribute(_) | Layout::Bucket(_) => Need::All,
        };
        LayoutRows::open_for(server, collection, question, need)
    }

    /// As [`LayoutRows::open`], for who reads only these top-level fields of the results, if they are given.
    ///
    /// # Errors
    /// What the languages and the planner say.
    pub(crate) fn open_fields(
        server: &Inner,
        collection: &LayoutCollection,
        question: &Question<'_>,
        fields: Option<BTreeSet<String>>,
    ) -> Result<LayoutRows> {
        let Some(mut fields) = fields else { return LayoutRows::open(server, collection, question) };
        let need = match &*collection.layout {
            Layout::Subset(subset) if !fields.contains(subset.array()) => Need::Nothing,
            _ => Need::All,
        };
        let mut rows = LayoutRows::open_for(server, collection, question, need)?;
        // What is sorted by is made, too.
        let sorted = rows.order.iter().flat_map(|order| order.sort.fields());
        fields.extend(sorted.filter_map(|field| field.path.split('.').next()).map(str::to_owned));
        rows.source.want_only(fields.into_iter().map(Into::into).collect());
        Ok(rows)
    }

    /// As [`LayoutRows::open`], for who needs only this much of a subset's array in the results.
    ///
    /// # Errors
    /// What the languages and the planner say.
    pub(crate) fn open_for(
        server: &Inner,
        collection: &LayoutCollection,
        question: &Question<'_>,
        need: Need,
    ) -> Result<LayoutRows> {
        let asked = Asked::compile(server, &collection.layout, question)?;
        let need = asked.need(&collection.layout, need);
        let mut source = Source::open(server, collection, &asked, need)?;
        let order = match (&asked.logical.sort, asked.sorting) {
            (None, _) | (_, Sorting::Done) => None,
            (Some(sort), sorting) => Some(Order::new(&collection.layout, Arc::clone(sort), sorting)),
        };
        let mut shape = asked.logical.shape;
        if let Some(fields) = shape.as_deref().and_then(|shape| fields_of(shape, asked.logical.sort.as_deref()))
            && source.want_only(fields)
        {
            // What is made is what is asked for.
            shape = None;
        }
        Ok(LayoutRows {
            source,
            order,
            skip: asked.logical.skip,
            limit: asked.logical.limit,
            shape,
            shown: None,
            show_record_id: question.show_record_id,
        })
    }

    /// All logical documents of the stored ones that may match; the filter itself is left to the caller.
    ///
    /// # Errors
    /// What the planner says.
    pub(crate) fn unfiltered(server: &Inner, collection: &LayoutCollection, filter: &Filter) -> Result<LayoutRows> {
        let question = Question::new(bindery_document::doc::EMPTY);
        let mut asked = Asked::compile(server, &collection.layout, &question)?;
        asked.stored.filter = Arc::new(collection.layout.prune(filter).filter);
        let source = Source::open(server, collection, &asked, Need::All)?;
        Ok(LayoutRows { source, order: None, skip: 0, limit: None, shape: None, shown: None, show_record_id: false })
    }

    /// Moves to the next document without shaping it; false at the end.
    pub(crate) fn advance_unshaped(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.limit == Some(0) {
            return Ok(false);
        }
        loop {
            cx.step()?;
            let moved = match &mut self.order {
                None => self.source.advance(cx)?,
                Some(order) => {
                    let most = self.limit.map(|limit| limit.saturating_add(self.skip));
                    order.advance(&mut self.source, most, cx)?
                }
            };
            if !moved {
                return Ok(false);
            }
            if self.skip == 0 {
                break;
            }
            self.skip -= 1;
        }
        if let Some(limit) = &mut self.limit {
            *limit -= 1;
        }
        Ok(true)
    }

    /// The logical document, whole.
    pub(crate) fn document(&self) -> Doc<'_> {
        match &self.order {
            None => self.source.document(),
            Some(order) => order.document(),
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Option<Place> {
        match &self.order {
            None => self.source.place(),
            Some(order) => order.place(),
        }
    }
}

/// The fields that a projection leaves, if it does nothing else, and they are enough to sort by.
fn fields_of(shape: &Shape, sort: Option<&Sort>) -> Option<Vec<Box<str>>> {
    if !shape.projection.is_simple() || shape.position.is_some() || shape.sort_key.is_some() {
        return None;
    }
    let fields: Vec<Box<str>> = shape.projection.included_paths()?.into_iter().map(Into::into).collect();
    let has = |path: &str| fields.iter().any(|field| path.split('.').next() == Some(field));
    sort.is_none_or(|sort| sort.fields().iter().all(|field| has(&field.path))).then_some(fields)
}

impl Order {
    fn new(layout: &Layout, sort: Arc<Sort>, sorting: Sorting) -> Order {
        let by_time = match (layout, &sorting) {
            (Layout::Bucket(bucket), Sorting::Groups(_)) => bucket.sorts_by_time(sort.fields()),
            _ => None,
        };
        let stored_fields = match &sorting {
            Sorting::Groups(order) => order.fields().iter().map(|field| field.path.clone()).collect(),
            Sorting::Done | Sorting::Whole => Vec::new(),
        };
        let sorted = Sorted::Documents(Vec::new().into_iter());
        Order { sort, sorting, by_time, stored_fields, sorted, current: Current::None, ahead: false, done: false }
    }

    fn document(&self) -> Doc<'_> {
        match (&self.current, &self.sorted) {
            (Current::Document(_, document), _) => document.doc(),
            (Current::InBucket(at), Sorted::Bucket { batch, .. }) => {
                batch.get(*at).map_or(bindery_document::doc::EMPTY, |(_, document)| document)
            }
            _ => bindery_document::doc::EMPTY,
        }
    }

    fn place(&self) -> Option<Place> {
        match (&self.current, &self.sorted) {
            (Current::Document(place, _), _) => *place,
            (Current::InBucket(at), Sorted::Bucket { record_id, batch, .. }) => {
                Some(Place { record_id: (*record_id)?, ordinal: batch.get(*at)?.0 })
            }
            _ => None,
        }
    }

    /// Moves on in the present group; false at its end.
    fn advance_sorted(&mut self) -> bool {
        self.current = match &mut self.sorted {
            Sorted::Documents(documents) => {
                documents.next().map_or(Current::None, |(place, document)| Current::Document(place, document))
            }
            Sorted::Bucket { batch, from, latest_first, .. } => {
                *from += 1;
                match (batch.len().checked_sub(*from), *latest_first) {
                    (None, _) => Current::None,
                    (Some(rest), true) => Current::InBucket(rest),
                    (Some(_), false) => Current::InBucket(*from - 1),
                }
            }
        };
        !matches!(self.current, Current::None)
    }

    /// Moves to the next document in order; `most` is how many may still be asked for.
    fn advance(&mut self, source: &mut Source, most: Option<u64>, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if self.advance_sorted() {
                return Ok(true);
            }
            if self.done {
                return Ok(false);
            }
            self.sort_group(source, most, cx)?;
        }
    }

    /// Sorts the next group: everything, or stored documents that are equal under the stored order.
    fn sort_group(&mut self, source: &mut Source, most: Option<u64>, cx: &mut Cx<'_>) -> Result<()> {
        let most = most.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        if let Some(latest_first) = self.by_time {
            return self.sort_readings(source, latest_first, most, cx);
        }
        self.sort_documents(source, None, most, cx)
    }

    /// Sorts the next group of readings by their time, as they are sorted in a bucket already. Only where the group
    /// has more than one bucket do they have to be sorted together.
    fn sort_readings(
        &mut self,
        source: &mut Source,
        latest_first: bool,
        most: Option<usize>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        if let Sorted::Bucket { batch, .. } =
            std::mem::replace(&mut self.sorted, Sorted::Documents(Vec::new().into_iter()))
        {
            source.recycle(batch);
        }
        if !std::mem::take(&mut self.ahead) && !source.advance_stored(cx)? {
            self.done = true;
            return Ok(());
        }
        let stored_fields = &self.stored_fields;
        let is_alone = source.is_alone(&|path| stored_fields.iter().any(|field| **field == *path));
        let keep = match (most, latest_first) {
            (Some(most), false) => Keep::First(most),
            (Some(most), true) => Keep::Last(most),
            (None, _) => Keep::All,
        };
        source.unfold(if is_alone { keep } else { Keep::All }, cx)?;
        if is_alone && source.is_ordered() {
            let (record_id, batch) = source.take_batch();
            self.sorted = Sorted::Bucket { record_id, batch, from: 0, latest_first };
            return Ok(());
        }
        let Sorting::Groups(stored_order) = &self.sorting else { return Ok(()) };
        let mut keys = Keys::new();
        let key = stored_order.key(source.stored(), &mut keys)?.to_vec();
        self.sort_documents(source, Some(key), most, cx)
    }

    /// Sorts the documents of the next group; `begun` is the key of one whose first stored document was unfolded.
    fn sort_documents(
        &mut self,
        source: &mut Source,
        begun: Option<Vec<u8>>,
        most: Option<usize>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let mut is_first = begun.is_some();
        let mut sorter = Sorter::new(most, SORT_MEMORY_BYTES);
        let mut keys = Keys::new();
        let mut group = begun;
        loop {
            if std::mem::take(&mut is_first) {
                self.sort_matches(source, &mut sorter, &mut keys, cx)?;
                continue;
            }
            if !std::mem::take(&mut self.ahead) && !source.advance_stored(cx)? {
                self.done = true;
                break;
            }
            if let Sorting::Groups(stored_order) = &self.sorting {
                let key = stored_order.key(source.stored(), &mut keys)?;
                match &group {
                    None => group = Some(key.to_vec()),
                    Some(group) if group == key => {}
                    Some(_) => {
                        self.ahead = true;
                        break;
                    }
                }
            }
            source.unfold(Keep::All, cx)?;
            self.sort_matches(source, &mut sorter, &mut keys, cx)?;
        }
        self.sorted = Sorted::Documents(sorter.finish().collect::<Vec<_>>().into_iter());
        Ok(())
    }

    /// Takes in what the present stored document was unfolded to.
    fn sort_matches(
        &self,
        source: &mut Source,
        sorter: &mut Sorter<(Option<Place>, DocBuf)>,
        keys: &mut Keys,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        while source.advance_within() {
            cx.step()?;
            let document = source.document();
            let key = self.sort.key(document, keys)?;
            if sorter.wants(key) {
                sorter.push(key, (source.place(), DocBuf::from(document)), document.as_bytes().len())?;
            }
        }
        Ok(())
    }
}

impl Rows for LayoutRows {
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.advance_unshaped(cx)? {
            return Ok(false);
        }
        let shaped = match &self.shape {
            Some(shape) => Some(project(shape, self.document())?),
            None => None,
        };
        self.shown = match self.show_record_id {
            false => shaped,
            true => {
                let mut builder = Builder::new();
                for element in shaped.as_ref().map_or_else(|| self.document(), DocBuf::doc) {
                    builder.append_element(element);
                }
                builder.append("$recordId", shown(self.place()));
                Some(builder.finish())
            }
        };
        Ok(true)
    }

    fn is_at_end(&self) -> bool {
        self.limit == Some(0)
    }

    fn current(&self) -> Doc<'_> {
        self.shown.as_ref().map_or_else(|| self.document(), DocBuf::doc)
    }
}
