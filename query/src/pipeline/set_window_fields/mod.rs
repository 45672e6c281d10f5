//! `$setWindowFields`: fields computed over the documents around a document.
//!
//! Documents are sorted by partition and by the stage's order, and held while their partition is worked on.
//! A window that only grows is followed with one state; any other is gone through anew for each document, so
//! that nothing of what left a window stays in a sum.

mod covariance;
mod follow;
mod function;
mod moving;
mod rates;
mod sliding;
mod window;

use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Result, Value, code, doc};
use bindery_index::keygen::Keys;

use super::nested_field::with_added_field;
use super::{Environment, Stream};
use crate::expression::Expression;
use crate::expression::field_path::{split_path, walk};
use crate::filter::ParseContext;
use crate::projection::{Metadata, without_slots};
use crate::sort::Sort;
use function::Function;

/// The stage.
#[derive(Debug)]
pub struct SetWindowFields {
    partition_by: Option<Expression>,
    /// The order of partitions that are told apart by a path: that of a sort by the path.
    partition_order: Option<Sort>,
    order: Option<Sort>,
    /// The only path of the order, if it has one, and whether it is descending.
    sort_path: Option<(Box<[Box<str>]>, bool)>,
    outputs: Vec<(Box<[Box<str>]>, Function)>,
    /// The stage's argument, as `explain` shows it.
    pub(super) written: DocBuf,
}

/// An error in the stage's text.
fn malformed<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(code::FAILED_TO_PARSE, format!("$setWindowFields: {}", message.into())))
}

/// Parses the stage.
///
/// # Errors
/// [`code::FAILED_TO_PARSE`] for most that is malformed, 14 and 40415 for wrong and unknown fields, 6307900 for outputs
/// that meet, 53396xx and 53716xx for windows and orders that functions do not take; those of expressions.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<SetWindowFields> {
    let Value::Document(spec) = argument else {
        return malformed("takes a document");
    };
    let (mut partition_by, mut order, mut output) = (None, None, None);
    for element in spec {
        match (element.key, element.value()) {
            (b"partitionBy", value) => {
                partition_by = Some(Expression::parse_unfolded(value, &mut context.expressions)?);
            }
            (b"sortBy" | b"output", Value::Null | Value::Undefined) => {}
            (b"sortBy", Value::Document(by)) => order = Some(by),
            (b"output", Value::Document(fields)) => output = Some(fields),
            (b"sortBy" | b"output", other) => {
                let message = format!("$setWindowFields: '{}' must not be {}", element.key_str(), other.kind().alias());
                return Err(Error::new(code::TYPE_MISMATCH, message));
            }
            _ => return Err(Error::new(40415, format!("$setWindowFields: unknown field '{}'", element.key_str()))),
        }
    }
    let Some(output) = output else {
        return Err(Error::new(40414, "$setWindowFields needs 'output'"));
    };
    let partition_path = partition_by.as_ref().and_then(Expression::as_field_path).filter(|names| !names.is_empty());
    let partition_order = match partition_path {
        None => None,
        Some(names) => {
            let mut by = Builder::new();
            by.append(names.join("."), 1);
            Some(Sort::parse(by.finish().doc(), context.collation.as_ref())?)
        }
    };
    let has_order = order.is_some();
    let order = match order {
        Some(by) if !by.is_empty() => Some(Sort::parse(by, context.collation.as_ref())?),
        _ => None,
    };
    let sort_path = match order.as_ref().map(Sort::fields) {
        Some([only]) => Some((split_path(&only.path)?, only.descending)),
        _ => None,
    };
    let place = function::Place { has_order, sort: sort_path.as_ref().map(|(_, descending)| *descending) };
    let mut outputs: Vec<(Box<[Box<str>]>, Function)> = Vec::new();
    for element in output {
        let function = function::parse(element.value(), place, context)?;
        let path = split_path(element.key_str())?;
        let meets = |other: &[Box<str>]| other.iter().zip(&path).all(|(a, b)| a == b);
        if outputs.iter().any(|(other, _)| meets(other)) {
            return Err(Error::new(6_307_900, format!("the outputs meet at '{}'", element.key_str())));
        }
        outputs.push((path, function));
    }
    let written = DocBuf::from(spec);
    Ok(SetWindowFields { partition_by, partition_order, order, sort_path, outputs, written })
}

impl SetWindowFields {
    pub(super) fn fold(&mut self) -> Result<()> {
        if let Some(expression) = &mut self.partition_by {
            expression.fold()?;
        }
        self.outputs.iter_mut().try_for_each(|(_, function)| function.fold())
    }

    /// The paths that partitions and documents within them are ordered by, and which are descending; `None` if
    /// partitions are computed.
    pub(super) fn reads_in_order(&self) -> Option<Vec<(String, bool)>> {
        if self.partition_by.is_some() && self.partition_order.is_none() {
            return None;
        }
        let orders = [self.partition_order.as_ref(), self.order.as_ref()];
        let fields = orders.into_iter().flatten().flat_map(Sort::fields);
        Some(fields.map(|field| (field.path.to_string(), field.descending)).collect())
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(WindowStream {
            stage: self,
            input: Some(input),
            env: env.clone(),
            rows: Vec::new().into_iter().peekable(),
            ready: Vec::new().into_iter(),
            current: None,
            slotted: None,
            failure: None,
        })
    }
}

/// A document with what it is sorted by.
struct Row {
    partition: OwnedValue,
    partition_key: Box<[u8]>,
    key: Box<[u8]>,
    document: DocBuf,
    /// The document with its slots, if it has any.
    slotted: Option<DocBuf>,
}

/// The documents of one partition, in order.
pub(super) struct Partition<'a> {
    pub(super) documents: Vec<DocBuf>,
    /// The sort keys of the documents.
    pub(super) keys: Vec<Box<[u8]>>,
    /// The values of the order's only path.
    pub(super) positions: Vec<OwnedValue>,
    pub(super) env: &'a Environment,
}

impl Partition<'_> {
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(super) fn document(&self, index: usize) -> Doc<'_> {
        self.documents.get(index).map_or(doc::EMPTY, DocBuf::doc)
    }

    pub(super) fn position(&self, index: usize) -> Value<'_> {
        self.positions.get(index).map_or(Value::Null, OwnedValue::value)
    }
}

/// A finished document.
struct Ready {
    document: DocBuf,
    has_slots: bool,
}

struct WindowStream {
    stage: Arc<SetWindowFields>,
    input: Option<Box<dyn Stream>>,
    env: Environment,
    rows: Peekable<std::vec::IntoIter<Row>>,
    /// The finished documents of the partition that is given now.
    ready: std::vec::IntoIter<Ready>,
    current: Option<DocBuf>,
    /// The current document with its slots, if it has any.
    slotted: Option<DocBuf>,
    /// What comes after the finished documents, if computing the next one failed.
    failure: Option<Error>,
}

fn array_as_partition<T>() -> Result<T> {
    Err(Error::new(code::TYPE_MISMATCH, "a partition must not be an array"))
}

fn holds_symbol(doc: Doc<'_>) -> bool {
    doc.iter().any(|element| match element.value() {
        Value::Symbol(_) => true,
        Value::Document(inner) | Value::Array(inner) => holds_symbol(inner),
        _ => false,
    })
}

/// Whether the next partition is one by an array, which is refused when it is looked at.
fn is_array_next(rows: &mut Peekable<std::vec::IntoIter<Row>>) -> bool {
    rows.peek().is_some_and(|row| matches!(row.partition.value(), Value::Array(_)))
}

impl WindowStream {
    fn fill(&mut self, mut input: Box<dyn Stream>) -> Result<()> {
        let (mut rows, mut used_bytes) = (Vec::new(), 0);
        let mut keys = Keys::default();
        while input.advance()? {
            let document = input.current();
            let partition = match &self.stage.partition_by {
                None => OwnedValue::new(Value::Null),
                Some(expression) => {
                    let value = expression.evaluate(&self.env.scope(document))?;
                    if self.stage.partition_order.is_none() && matches!(value.get(), Some(Value::Array(_))) {
                        return array_as_partition();
                    }
                    // What is computed goes into the keys of the sort, where a symbol may stand alone only.
                    if self.env.strings.is_some()
                        && self.stage.partition_order.is_none()
                        && matches!(value.get(), Some(Value::Document(doc)) if holds_symbol(doc))
                    {
                        let message = "a symbol has no place in the order of a collation";
                        return Err(Error::new(code::CANNOT_BUILD_INDEX_KEYS, message));
                    }
                    OwnedValue::new(value.or_null())
                }
            };
            let partition_key = match &self.stage.partition_order {
                None => Box::default(),
                Some(order) => order.key(document, &mut keys)?.into(),
            };
            let key = match &self.stage.order {
                None => Box::default(),
                Some(order) => order.key(document, &mut keys)?.into(),
            };
            used_bytes += document.as_bytes().len() + size_of::<Row>() + 32;
            if used_bytes > self.env.memory_limit_bytes {
                return Err(Error::new(5_643_011, "$setWindowFields needs more memory than it may use"));
            }
            let slotted = input.metadata().slotted.map(DocBuf::from);
            rows.push(Row { partition, partition_key, key, document: DocBuf::from(document), slotted });
            self.env.check_interrupt()?;
        }
        let scope = self.env.scope(doc::EMPTY);
        rows.sort_by(|a, b| {
            let partitions = a.partition_key.cmp(&b.partition_key);
            // Arrays among the equal keys come as they come: they are refused when they are met.
            let partitions = match self.stage.partition_order {
                Some(_) => partitions,
                None => scope.compare(&a.partition.value(), &b.partition.value()),
            };
            partitions.then_with(|| a.key.cmp(&b.key))
        });
        self.rows = rows.into_iter().peekable();
        Ok(())
    }

    fn next_partition(&mut self) -> Result<bool> {
        let Some(first) = self.rows.next() else {
            return Ok(false);
        };
        if let Value::Array(_) = first.partition.value() {
            return array_as_partition();
        }
        let mut partition =
            Partition { documents: vec![first.document], keys: vec![first.key], positions: Vec::new(), env: &self.env };
        let scope = self.env.scope(doc::EMPTY);
        let same = |row: &Row| scope.compare(&row.partition.value(), &first.partition.value()) == Ordering::Equal;
        let mut slotted = vec![first.slotted];
        while let Some(row) = self.rows.next_if(same) {
            slotted.push(row.slotted);
            partition.documents.push(row.document);
            partition.keys.push(row.key);
        }
        if let Some((path, _)) = &self.stage.sort_path {
            let read = |document: &DocBuf| OwnedValue::new(walk(Value::Document(document.doc()), path).or_null());
            partition.positions = partition.documents.iter().map(read).collect();
        }
        let mut columns: Vec<function::Column> = Vec::with_capacity(self.stage.outputs.len());
        let is_array_next = is_array_next(&mut self.rows);
        let mut failure: Option<(usize, Error)> = None;
        for (_, function) in &self.stage.outputs {
            let mut column = Vec::with_capacity(partition.len());
            let mut evaluated = function.evaluate(&partition, &mut column);
            // What lies behind the partition is refused when a window comes to it. A window that cannot be said for
            // the document fails before; so does an expression, unless the end of the window is looked for first.
            if is_array_next {
                let met_by = function.first_to_look_beyond(&partition);
                let fails_first = column.len() == met_by
                    && (function.window_fails(&partition, met_by)
                        || evaluated.is_err() && !function.reads_before_it_evaluates());
                if column.len() >= met_by && !fails_first {
                    column.truncate(met_by);
                    evaluated = array_as_partition();
                }
            }
            // Documents are given as long as all fields can be computed; of two failures the earlier document's counts.
            if let Err(error) = evaluated
                && failure.as_ref().is_none_or(|(given, _)| column.len() < *given)
            {
                failure = Some((column.len(), error));
            }
            columns.push(column);
        }
        if is_array_next && self.stage.outputs.is_empty() {
            failure = array_as_partition::<()>().err().map(|error| (partition.len().saturating_sub(1), error));
        }
        if let Some((given, error)) = failure {
            partition.documents.truncate(given);
            self.failure = Some(error);
        }
        let documents = std::mem::take(&mut partition.documents).into_iter().zip(slotted);
        let mut ready: Vec<Ready> = documents
            .map(|(document, slotted)| match slotted {
                Some(slotted) => Ready { document: slotted, has_slots: true },
                None => Ready { document, has_slots: false },
            })
            .collect();
        for ((path, _), column) in self.stage.outputs.iter().zip(columns) {
            for (Ready { document, has_slots }, value) in ready.iter_mut().zip(column) {
                *document = with_added_field(document.doc(), path, value.as_ref().map(OwnedValue::value));
                *has_slots |= value.is_none();
            }
        }
        self.ready = ready.into_iter();
        Ok(true)
    }
}

impl Stream for WindowStream {
    fn advance(&mut self) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.fill(input)?;
        }
        loop {
            (self.current, self.slotted) = match self.ready.next() {
                Some(Ready { document, has_slots: true }) => (Some(without_slots(document.doc())), Some(document)),
                Some(Ready { document, has_slots: false }) => (Some(document), None),
                None => (None, None),
            };
            if self.current.is_some() {
                return Ok(true);
            }
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            if !self.next_partition()? {
                return Ok(false);
            }
        }
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }

    fn metadata(&self) -> Metadata<'_> {
        Metadata { slotted: self.slotted.as_ref().map(DocBuf::doc), ..Metadata::default() }
    }
}
