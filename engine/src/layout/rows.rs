//! The logical documents of a cursor: order, skip, limit and projection on top of a [`Source`].

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Result};
use bindery_index::keygen::Keys;
use bindery_patterns::Layout;
use bindery_patterns::subset::shortcut::Need;
use bindery_query::filter::Filter;
use bindery_query::plan::Shape;
use bindery_query::sort::{SORT_MEMORY_BYTES, Sort, Sorter};

use super::LayoutCollection;
use super::source::{Asked, Place, Sorting, Source, shown};
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
    /// The sorted documents of the present group.
    sorted: std::vec::IntoIter<(Option<Place>, DocBuf)>,
    current: Option<(Option<Place>, DocBuf)>,
    /// Whether the source stands on the first stored document of the next group.
    ahead: bool,
    done: bool,
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
        let source = Source::open(server, collection, &asked, need)?;
        let order = match (&asked.logical.sort, asked.sorting) {
            (None, _) | (_, Sorting::Done) => None,
            (Some(sort), sorting) => Some(Order {
                sort: Arc::clone(sort),
                sorting,
                sorted: Vec::new().into_iter(),
                current: None,
                ahead: false,
                done: false,
            }),
        };
        Ok(LayoutRows {
            source,
            order,
            skip: asked.logical.skip,
            limit: asked.logical.limit,
            shape: asked.logical.shape,
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
            Some(order) => order.current.as_ref().map_or(bindery_document::doc::EMPTY, |(_, document)| document.doc()),
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Option<Place> {
        match &self.order {
            None => self.source.place(),
            Some(order) => order.current.as_ref().and_then(|(place, _)| *place),
        }
    }
}

impl Order {
    /// Moves to the next document in order; `most` is how many may still be asked for.
    fn advance(&mut self, source: &mut Source, most: Option<u64>, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            self.current = self.sorted.next();
            if self.current.is_some() {
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
        let mut sorter = Sorter::new(most, SORT_MEMORY_BYTES);
        let mut keys = Keys::new();
        let mut group: Option<Vec<u8>> = None;
        loop {
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
            source.unfold(cx)?;
            while source.advance_within() {
                cx.step()?;
                let document = source.document();
                let key = self.sort.key(document, &mut keys)?;
                if sorter.wants(key) {
                    sorter.push(key, (source.place(), DocBuf::from(document)), document.as_bytes().len())?;
                }
            }
        }
        self.sorted = sorter.finish().into_iter();
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

    fn current(&self) -> Doc<'_> {
        self.shown.as_ref().map_or_else(|| self.document(), DocBuf::doc)
    }
}
