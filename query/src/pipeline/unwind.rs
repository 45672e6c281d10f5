//! `$unwind`: a document for each element of an array.

use std::sync::Arc;

use bindery_document::{Builder, Doc, Error, Result, Value};

use super::{Environment, Stream};
use crate::expression::field_path::split_path;

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
    /// The element to go on with, if the input's document is not done.
    next: Option<usize>,
    current: Vec<u8>,
    /// Whether the input's document is given as it is.
    as_is: bool,
}

impl Unwind {
    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, _: &Environment) -> Box<dyn Stream> {
        Box::new(UnwindStream { stage: self, input, next: None, current: Vec::new(), as_is: false })
    }
}

/// What a document has at a path that goes through documents only.
fn find<'a>(doc: Doc<'a>, path: &[Box<str>]) -> Option<Value<'a>> {
    let (first, rest) = path.split_first()?;
    let value = doc.get(first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_document()?, rest) }
}

impl UnwindStream {
    fn give(&mut self, replacement: Option<Value<'_>>, element_index: Option<usize>) {
        // Borrows of the input end here, so the document is written anew.
        let document = self.input.current();
        let mut builder = Builder::with_buffer(std::mem::take(&mut self.current));
        write(document, &self.stage.path, &Change::Element(replacement), &mut builder);
        if let Some(path) = &self.stage.index {
            let index = element_index.map_or(Value::Null, |index| Value::Int64(index as i64));
            let document = builder.finish();
            let mut outer = Builder::new();
            write(document.doc(), path, &Change::Set(index), &mut outer);
            builder = outer;
        }
        self.current = builder.finish().into_bytes();
        self.as_is = false;
    }
}

/// What `write` does at the end of a path.
enum Change<'v> {
    /// Puts an element in place of its array; without one the field goes.
    Element(Option<Value<'v>>),
    /// Sets a field, which may be new.
    Set(Value<'v>),
}

/// Writes a document with a change at a path.
fn write(doc: Doc<'_>, path: &[Box<str>], change: &Change<'_>, builder: &mut Builder) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let mut found = false;
    for element in doc {
        if found || element.key != first.as_bytes() {
            builder.append_element(element);
            continue;
        }
        found = true;
        match (element.value(), rest.is_empty()) {
            (Value::Document(inner), false) => {
                let open = builder.open_document(element.key);
                write(inner, rest, change, builder);
                builder.close(open);
            }
            (_, true) => match change {
                Change::Element(Some(value)) | Change::Set(value) => builder.append(element.key, *value),
                Change::Element(None) => {}
            },
            (_, false) => match change {
                Change::Element(_) => builder.append_element(element),
                Change::Set(_) => append_new(path, change, builder),
            },
        }
    }
    if !found {
        append_new(path, change, builder);
    }
}

/// Appends a field that is not there yet, with documents around it as the path asks.
fn append_new(path: &[Box<str>], change: &Change<'_>, builder: &mut Builder) {
    let (Change::Set(value), Some((first, rest))) = (change, path.split_first()) else {
        return;
    };
    if rest.is_empty() {
        builder.append(first.as_bytes(), *value);
    } else {
        let open = builder.open_document(first.as_bytes());
        append_new(rest, change, builder);
        builder.close(open);
    }
}

impl Stream for UnwindStream {
    fn advance(&mut self) -> Result<bool> {
        loop {
            if let Some(index) = self.next.take() {
                let stage = Arc::clone(&self.stage);
                let element = match find(self.input.current(), &stage.path) {
                    Some(Value::Array(items)) => {
                        items.iter().nth(index).map(|e| bindery_document::OwnedValue::new(e.value()))
                    }
                    _ => None,
                };
                if let Some(element) = element {
                    self.next = Some(index + 1);
                    self.give(Some(element.value()), Some(index));
                    return Ok(true);
                }
            }
            if !self.input.advance()? {
                return Ok(false);
            }
            let stage = Arc::clone(&self.stage);
            match find(self.input.current(), &stage.path) {
                Some(Value::Array(items)) if !items.is_empty() => {
                    self.next = Some(0);
                    continue;
                }
                // An empty array goes; null and undefined stay as they are.
                Some(Value::Array(_)) => {
                    if stage.preserve_empty {
                        self.give(None, None);
                        return Ok(true);
                    }
                }
                None | Some(Value::Null | Value::Undefined) => {
                    if stage.preserve_empty {
                        self.let_through();
                        return Ok(true);
                    }
                }
                // A single value stands for an array of one.
                Some(_) => {
                    self.let_through();
                    return Ok(true);
                }
            }
        }
    }

    fn current(&self) -> Doc<'_> {
        if self.as_is { self.input.current() } else { Doc::from_stored(&self.current) }
    }
}

impl UnwindStream {
    fn let_through(&mut self) {
        let Some(path) = &self.stage.index else {
            self.as_is = true;
            return;
        };
        let mut builder = Builder::with_buffer(std::mem::take(&mut self.current));
        write(self.input.current(), path, &Change::Set(Value::Null), &mut builder);
        self.current = builder.finish().into_bytes();
        self.as_is = false;
    }
}
