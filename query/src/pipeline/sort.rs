//! `$sort`; with a `$limit` behind it only the first documents are held.

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, doc};
use bindery_index::keygen::Keys;

use super::{Environment, Stream};
use crate::filter::ParseContext;
use crate::projection::Metadata;
use crate::sort::{self, Sorted, Sorter};

/// The stage.
#[derive(Debug)]
pub struct Sort {
    /// The compiled order.
    pub order: sort::Sort,
    /// How many documents of the order are wanted, if a limit follows.
    pub limit: Option<u64>,
}

/// Parses the order.
///
/// # Errors
/// 15973 for what is no document, 15976 for an empty one; those of sorts.
pub(super) fn parse(argument: Value<'_>, context: &ParseContext) -> Result<Sort> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(15973, "$sort takes a document"));
    };
    if spec.is_empty() {
        return Err(Error::new(15976, "$sort needs at least one field"));
    }
    Ok(Sort { order: sort::Sort::parse(spec, context.collation.as_ref())?, limit: None })
}

/// A document with what goes with it.
struct Item {
    document: DocBuf,
    record_id: Option<i64>,
    /// The document with its slots, if it has any.
    slotted: Option<Box<DocBuf>>,
}

struct SortStream {
    stage: Arc<Sort>,
    input: Option<Box<dyn Stream>>,
    env: Environment,
    sorted: Sorted<Item>,
    current: Option<Item>,
    sort_key: DocBuf,
}

impl Sort {
    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(SortStream {
            stage: self,
            input: Some(input),
            env: env.clone(),
            sorted: Sorted::default(),
            current: None,
            sort_key: DocBuf::new(),
        })
    }
}

/// What a document takes besides its bytes: its memory is rounded up.
const OWNED_BYTES: usize = Sorter::<Item>::HELD_BYTES + 16;

impl SortStream {
    fn fill(&mut self, mut input: Box<dyn Stream>) -> Result<()> {
        let limit = self.stage.limit.and_then(|limit| usize::try_from(limit).ok());
        let mut sorter = Sorter::new(limit, self.env.memory_limit_bytes);
        let mut keys = Keys::default();
        input.drain(&mut |document, metadata| {
            let item = || Item {
                document: DocBuf::from(document),
                record_id: metadata.record_id,
                slotted: metadata.slotted.map(|slotted| Box::new(DocBuf::from(slotted))),
            };
            let slotted = metadata.slotted.map_or(0, |slotted| slotted.as_bytes().len() + size_of::<DocBuf>() + 16);
            sorter.offer(&self.stage.order, document, &mut keys, OWNED_BYTES + slotted, item)?;
            self.env.check_interrupt()?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.sorted = sorter.finish();
        Ok(())
    }
}

impl Stream for SortStream {
    fn advance(&mut self) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.fill(input)?;
        }
        self.current = self.sorted.next();
        if let Some(item) = &self.current {
            let values = self.stage.order.key_values(item.document.doc(), &mut Keys::default())?;
            let mut builder = Builder::new();
            for (index, value) in values.iter().enumerate() {
                builder.append_index(index, value.value());
            }
            self.sort_key = builder.finish();
        }
        Ok(self.current.is_some())
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, |item| item.document.doc())
    }

    fn metadata(&self) -> Metadata<'_> {
        Metadata {
            record_id: self.current.as_ref().and_then(|item| item.record_id),
            sort_key: Some(self.sort_key.doc()),
            index_key: None,
            slotted: self.current.as_ref().and_then(|item| item.slotted.as_deref()).map(DocBuf::doc),
        }
    }
}
