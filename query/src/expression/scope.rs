//! What an expression sees while it is evaluated: the document, variables, parameters, the order of strings.

use std::cmp::Ordering;

use bindery_document::{Doc, FoundFields, OwnedValue, Value, order};

/// An order of strings: a collation's. Without one, strings are compared by their bytes.
pub type StringOrder = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// The surroundings of one evaluation. Copying it copies a few references.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    root: Doc<'a>,
    found: Option<&'a FoundFields>,
    frame: Option<&'a Frame<'a>>,
    parameters: &'a [Option<OwnedValue>],
    strings: Option<&'a StringOrder>,
    record_id: Option<i64>,
    nulls_first: bool,
}

/// The variables that one operator binds (`$let`, `$map`, ...), innermost first.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    values: &'a [Option<Value<'a>>],
    parent: Option<&'a Frame<'a>>,
}

impl<'a> Scope<'a> {
    /// A scope with this document as `$$ROOT`, no parameters and the binary order of strings.
    #[inline]
    pub fn new(root: Doc<'a>) -> Scope<'a> {
        Scope { root, found: None, frame: None, parameters: &[], strings: None, record_id: None, nulls_first: false }
    }

    /// The values of the parameters, in the order in which the
    /// [`ParseContext`](super::ParseContext) declared them.
    #[inline]
    pub fn with_parameters(self, parameters: &'a [Option<OwnedValue>]) -> Scope<'a> {
        Scope { parameters, ..self }
    }

    /// The order of strings of a collation.
    #[inline]
    pub fn with_strings(self, strings: Option<&'a StringOrder>) -> Scope<'a> {
        Scope { strings, ..self }
    }

    /// The record's identifier, for `{$meta: "recordId"}`.
    #[inline]
    pub fn with_record_id(self, record_id: Option<i64>) -> Scope<'a> {
        Scope { record_id, ..self }
    }

    /// The same surroundings for expressions that MongoDB runs in its other engine, or in its usual one.
    #[inline]
    pub(crate) fn with_nulls_first(self, nulls_first: bool) -> Scope<'a> {
        Scope { nulls_first, ..self }
    }

    /// Whether some operators look for nulls among all operands first; see [`nulls_first`](super::nulls_first).
    pub(crate) fn nulls_first(&self) -> bool {
        self.nulls_first
    }

    pub(crate) fn record_id(&self) -> Option<i64> {
        self.record_id
    }

    /// The same surroundings with another document as `$$ROOT`.
    #[inline]
    pub fn with_root(self, root: Doc<'a>) -> Scope<'a> {
        Scope { root, found: None, ..self }
    }

    /// Where the document's fields were found, for [expressions that are bound](super::Expression::bind_fields) to
    /// the same set of fields.
    #[inline]
    pub fn with_found(self, found: &'a FoundFields) -> Scope<'a> {
        Scope { found: Some(found), ..self }
    }

    #[inline]
    pub(crate) fn found(&self) -> Option<&'a FoundFields> {
        self.found
    }

    /// The document.
    #[inline]
    pub fn root(&self) -> Doc<'a> {
        self.root
    }

    /// Whether strings may be equal without having the same bytes.
    pub(crate) fn has_string_order(&self) -> bool {
        self.strings.is_some()
    }

    /// Compares by the total order, strings as this scope orders them.
    #[inline]
    pub fn compare(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        match self.strings {
            None => order::compare(a, b),
            Some(strings) => order::compare_with(a, b, strings),
        }
    }

    /// Compares what may be missing: a missing value stands where undefined does, below null.
    #[inline]
    pub fn compare_maybe(&self, a: Option<Value<'_>>, b: Option<Value<'_>>) -> Ordering {
        self.compare(&a.unwrap_or(Value::Undefined), &b.unwrap_or(Value::Undefined))
    }

    /// Binds variables; the frame lives on the caller's stack.
    pub(crate) fn bind<'b>(&self, values: &'b [Option<Value<'b>>]) -> Frame<'b>
    where
        'a: 'b,
    {
        Frame { values, parent: self.frame }
    }

    /// The scope inside a frame.
    pub(crate) fn inside<'b>(&self, frame: &'b Frame<'b>) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope {
            root: self.root,
            found: self.found,
            frame: Some(frame),
            parameters: self.parameters,
            strings: self.strings,
            record_id: self.record_id,
            nulls_first: self.nulls_first,
        }
    }

    pub(crate) fn variable(&self, address: Address) -> Option<Value<'a>> {
        let mut frame = self.frame?;
        for _ in 0..address.depth {
            frame = frame.parent?;
        }
        *frame.values.get(address.index)?
    }

    pub(crate) fn parameter(&self, index: usize) -> Option<Value<'a>> {
        self.parameters.get(index)?.as_ref().map(OwnedValue::value)
    }
}

/// Where a variable is found: how many frames out, and which of the frame's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) depth: usize,
    pub(crate) index: usize,
}
