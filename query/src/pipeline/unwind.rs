//! `$unwind`: a document for each element of an array.

use std::ops::Range;
use std::sync::Arc;

use bindery_document::{Doc, Error, Kind, Result, Value};

use super::nested_field::{Change, find, write};
use super::{Environment, Stream};
use crate::expression::field_path::split_path;
use crate::projection::{Metadata, Slotted};

/// The stage.
#[derive(Debug)]
pub struct Unwind {
    /// The names of the path.
    pub path: Box<[Box<str>]>,
    /// Whether documents without an array, or with an empty one, are kept.
    pub preserve_empty: bool,
    /// The path of a field for the element's index.
    pub index: Option<Box<[Box<str>]>>,
}

/// Parses a path, or a document with `path`, `preserveNullAndEmptyArrays`, `includeArrayIndex`.
///
/// # Errors
/// 15981, 28808 to 28812, 28818, 28822; those of paths.
pub(super) fn parse(argument: Value<'_>) -> Result<Unwind> {
    let fail = |code: i32, message: &str| Err(Error::new(code, format!("$unwind: {message}")));
    let (mut path, mut preserve_empty, mut index) = (None, false, None);
    match argument {
        Value::String(text) => path = Some(text.as_str()),
        Value::Document(spec) => {
            for element in spec {
                match (element.key, element.value()) {
                    (b"path", Value::String(text)) => path = Some(text.as_str()),
                    (b"path", _) => return fail(28808, "the path must be a string"),
                    (b"preserveNullAndEmptyArrays", Value::Boolean(value)) => preserve_empty = value,
                    (b"preserveNullAndEmptyArrays", _) => {
                        return fail(28809, "preserveNullAndEmptyArrays must be a boolean");
                    }
                    (b"includeArrayIndex", Value::String(text)) => {
                        let text = text.as_str();
                        if text.is_empty() {
                            return fail(28810, "includeArrayIndex must not be empty");
                        }
                        if text.starts_with('$') {
                            return fail(28822, "includeArrayIndex must not start with a dollar");
                        }
                        index = Some(split_path(text)?);
                    }
                    (b"includeArrayIndex", _) => return fail(28810, "includeArrayIndex must be a string"),
                    _ => return fail(28811, &format!("unknown option '{}'", element.key_str())),
                }
            }
        }
        _ => return fail(15981, "takes a path or a document"),
    }
    let path = path.unwrap_or_default();
    if path.is_empty() {
        return fail(28812, "needs a path");
    }
    let Some(path) = path.strip_prefix('$') else {
        return fail(28818, "the path must start with a dollar");
    };
    Ok(Unwind { path: split_path(path)?, preserve_empty, index })
}

struct UnwindStream {
    stage: Arc<Unwind>,
    input: Box<dyn Stream>,
    /// Where the elements of the input's array lie in its document, and which comes next.
    elements: Vec<(Kind, Range<usize>)>,
    next: usize,
    current: Slotted,
    /// Whether the input's document is given as it is.
    as_is: bool,
}

impl Unwind {
    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, _: &Environment) -> Box<dyn Stream> {
        Box::new(UnwindStream {
            stage: self,
            input,
            elements: Vec::new(),
            next: 0,
            current: Slotted::default(),
            as_is: false,
        })
    }
}

impl UnwindStream {
    /// Writes the input's document with a change at the path, and with the element's index if one is asked for.
    fn give(&mut self, element: Option<usize>) {
        let document = self.input.current();
        let slotted = self.input.metadata().slotted;
        let place = element.and_then(|index| self.elements.get(index));
        let value = place.and_then(|(kind, range)| Value::decode(*kind, document.as_bytes().get(range.clone())?));
        let change = value.map_or(Change::Remove, Change::Replace);
        let has_slots = slotted.is_some() || value.is_none();
        let stage = &self.stage;
        self.current.rewrite(slotted.unwrap_or(document), has_slots, |doc, out| write(doc, &stage.path, change, out));
        if let Some(path) = &stage.index {
            let index = element.map_or(Value::Null, |index| Value::Int64(index as i64));
            self.current.change(|doc, out| write(doc, path, Change::Set(index), out));
        }
        self.as_is = false;
    }

    /// Gives the input's document without a change at the path.
    fn let_through(&mut self) {
        match &self.stage.index {
            None => self.as_is = true,
            Some(path) => {
                let slotted = self.input.metadata().slotted;
                let doc = slotted.unwrap_or(self.input.current());
                let change = Change::Set(Value::Null);
                self.current.rewrite(doc, slotted.is_some(), |doc, out| write(doc, path, change, out));
                self.as_is = false;
            }
        }
    }

    /// Notes where the elements of an array of the input's document lie.
    fn locate(&mut self) {
        let document = self.input.current();
        let base = document.as_bytes().as_ptr().addr();
        self.elements.clear();
        self.next = 0;
        if let Some(Value::Array(items)) = find(document, &self.stage.path) {
            self.elements.extend(items.iter().map(|item| {
                let start = item.bytes.as_ptr().addr().wrapping_sub(base);
                (item.kind, start..start.wrapping_add(item.bytes.len()))
            }));
        }
    }
}

impl Stream for UnwindStream {
    fn advance(&mut self) -> Result<bool> {
        loop {
            if self.next < self.elements.len() {
                self.next += 1;
                self.give(Some(self.next - 1));
                return Ok(true);
            }
            if !self.input.advance()? {
                self.elements.clear();
                return Ok(false);
            }
            self.locate();
            if !self.elements.is_empty() {
                continue;
            }
            let preserve_empty = self.stage.preserve_empty;
            match find(self.input.current(), &self.stage.path) {
                // An empty array goes; null and undefined stay as they are.
                Some(Value::Array(_)) if preserve_empty => self.give(None),
                None | Some(Value::Null | Value::Undefined) if preserve_empty => self.let_through(),
                None | Some(Value::Array(_) | Value::Null | Value::Undefined) => continue,
                // A single value stands for an array of one.
                Some(_) => self.let_through(),
            }
            return Ok(true);
        }
    }

    fn current(&self) -> Doc<'_> {
        if self.as_is { self.input.current() } else { self.current.doc() }
    }

    fn metadata(&self) -> Metadata<'_> {
        let metadata = self.input.metadata();
        if self.as_is { metadata } else { Metadata { slotted: self.current.slotted(), ..metadata } }
    }
}
