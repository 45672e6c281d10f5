//! Asking a document: the tree is walked, each leaf walks its path, and the first answer decides.

use std::ops::ControlFlow;

use bindery_document::path::{Leaf, Reached};
use bindery_document::{Doc, Element, Error, OwnedValue, Path, Result};

use super::json_schema::Schema;
use super::{Filter, sample};

/// Where the last condition that went through an array found its match: an index into that array.
///
/// This is what `$` means in a projection or an update. Conditions on a whole array have none, nor
/// has what stands below `$or`, `$nor` and `$not`.
pub type Position = Option<u32>;

/// What one evaluation carries along.
#[derive(Debug)]
pub(super) struct Context<'p> {
    /// The position so far; only kept while `wants_position`.
    position: Position,
    wants_position: bool,
    /// The first failure of an expression or a pattern; it outweighs the answer.
    error: Option<Error>,
    /// The values of the expressions' parameters.
    parameters: &'p [Option<OwnedValue>],
}

impl<'p> Context<'p> {
    fn new(parameters: &'p [Option<OwnedValue>]) -> Context<'p> {
        Context { position: None, wants_position: false, error: None, parameters }
    }

    /// The answer, unless something failed.
    fn conclude<T>(self, answer: impl FnOnce(&Self) -> T) -> Result<T> {
        match self.error {
            None => Ok(answer(&self)),
            Some(error) => Err(error),
        }
    }

    /// The values of the expressions' parameters.
    pub(super) fn parameters(&self) -> &'p [Option<OwnedValue>] {
        self.parameters
    }

    /// Notes a failure. The condition then counts as not met, whatever stands around it.
    pub(super) fn fail(&mut self, error: Error) -> bool {
        self.error.get_or_insert(error);
        false
    }

    /// A scope in which no position is noted; failures still are.
    pub(super) fn without_position(&mut self) -> Scope<'_, 'p> {
        let wanted = std::mem::replace(&mut self.wants_position, false);
        Scope { context: self, wanted }
    }

    #[inline]
    fn note(&mut self, position: Position) {
        if self.wants_position && position.is_some() {
            self.position = position;
        }
    }
}

/// Gives the context back as it was.
pub(super) struct Scope<'a, 'p> {
    context: &'a mut Context<'p>,
    wanted: bool,
}

impl<'p> std::ops::Deref for Scope<'_, 'p> {
    type Target = Context<'p>;
    fn deref(&self) -> &Context<'p> {
        self.context
    }
}

impl<'p> std::ops::DerefMut for Scope<'_, 'p> {
    fn deref_mut(&mut self) -> &mut Context<'p> {
        self.context
    }
}

impl Drop for Scope<'_, '_> {
    fn drop(&mut self) {
        self.context.wants_position = self.wanted;
    }
}

impl Filter {
    /// Whether the document passes.
    ///
    /// # Errors
    /// What an expression of `$expr` fails with on this document; other conditions do not fail.
    #[inline]
    pub fn matches(&self, doc: Doc<'_>) -> Result<bool> {
        self.matches_with(doc, &[])
    }

    /// As [`Filter::matches`], with values for the parameters that the expressions' context declared.
    ///
    /// # Errors
    /// As [`Filter::matches`].
    #[inline]
    pub fn matches_with(&self, doc: Doc<'_>, parameters: &[Option<OwnedValue>]) -> Result<bool> {
        // One comparison of a plain field, the commonest filter of a scan, needs no context.
        if let Filter::Compare(test) = self
            && let Some(plain) = test.path.find_only(doc)
        {
            return Ok(test.accepts(plain));
        }
        let mut context = Context::new(parameters);
        let matched = self.accepts_document(doc, &mut context);
        context.conclude(|_| matched)
    }

    /// Whether the document passes, and at which position of an array the last array condition did.
    ///
    /// # Errors
    /// As [`Filter::matches`].
    pub fn matches_at(&self, doc: Doc<'_>) -> Result<(bool, Position)> {
        let mut context = Context { wants_position: true, ..Context::new(&[]) };
        let matched = self.accepts_document(doc, &mut context);
        context.conclude(|context| (matched, context.position))
    }

    /// Whether a single value passes, arrays taken whole: for conditions whose paths are empty
    /// ([`Path::of_value`]).
    ///
    /// # Errors
    /// As [`Filter::matches`].
    pub fn matches_value(&self, element: Element<'_>) -> Result<bool> {
        let mut context = Context::new(&[]);
        let matched = self.accepts_element(Some(element), &mut context);
        context.conclude(|_| matched)
    }

    pub(super) fn accepts_document(&self, doc: Doc<'_>, context: &mut Context<'_>) -> bool {
        match self {
            Filter::And(filters) => {
                let before = context.position;
                let passed = filters.iter().all(|filter| filter.accepts_document(doc, context));
                if !passed {
                    context.position = before;
                }
                passed
            }
            Filter::Or(filters) => {
                let mut inner = context.without_position();
                filters.iter().any(|filter| filter.accepts_document(doc, &mut inner))
            }
            Filter::Nor(filters) => {
                let mut inner = context.without_position();
                !filters.iter().any(|filter| filter.accepts_document(doc, &mut inner))
            }
            Filter::Not(filter) => !filter.accepts_document(doc, &mut context.without_position()),
            Filter::Compare(test) => any(&test.path, doc, Leaf::Elements, context, |e, _| test.accepts(e)),
            Filter::In(test) if test.regexes.is_empty() => {
                any(&test.path, doc, Leaf::Elements, context, |e, _| test.accepts(e))
            }
            Filter::Exists(path) => any(path, doc, Leaf::Elements, context, |e, _| e.is_some()),
            Filter::Type(test) => any(&test.path, doc, Leaf::Elements, context, |e, _| test.accepts(e)),
            Filter::In(super::Membership { path, .. })
            | Filter::Regex(super::RegexTest { path, .. })
            | Filter::Mod(super::Modulo { path, .. })
            | Filter::Bits(super::BitTest { path, .. }) => {
                any(path, doc, Leaf::Elements, context, |e, context| self.accepts_element(e, context))
            }
            Filter::Size(super::SizeTest { path, .. })
            | Filter::ElemMatchObject(super::ElemMatchObject { path, .. })
            | Filter::ElemMatchValue(super::ElemMatchValue { path, .. }) => {
                any(path, doc, Leaf::Whole, context, |e, context| self.accepts_element(e, context))
            }
            Filter::Schema(Schema::Value { path, .. }) => {
                any(path, doc, Leaf::Whole, context, |e, context| self.accepts_element(e, context))
            }
            Filter::Schema(schema) => schema.accepts_document(doc, &mut context.without_position()),
            Filter::Expr(test) => test.accepts(doc, context),
            // The expression beside it decides.
            Filter::ExprCompare(_) => true,
            Filter::SampleRate(rate) => sample::draw(*rate),
            Filter::AlwaysTrue => true,
            Filter::AlwaysFalse => false,
        }
    }

    /// Whether one value passes, without a walk: arrays are taken whole.
    pub(super) fn accepts_element(&self, element: Option<Element<'_>>, context: &mut Context<'_>) -> bool {
        match self {
            Filter::And(filters) => filters.iter().all(|filter| filter.accepts_element(element, context)),
            Filter::Or(filters) => filters.iter().any(|filter| filter.accepts_element(element, context)),
            Filter::Nor(filters) => !filters.iter().any(|filter| filter.accepts_element(element, context)),
            Filter::Not(filter) => !filter.accepts_element(element, context),
            Filter::Compare(test) => test.accepts(element),
            Filter::In(test) => test.accepts(element) || test.regexes.iter().any(|regex| regex.accepts(element)),
            Filter::Regex(test) => test.accepts(element),
            Filter::Exists(_) => element.is_some(),
            Filter::Type(test) => test.accepts(element),
            Filter::Mod(test) => test.accepts(element),
            Filter::Size(test) => test.accepts(element),
            Filter::Bits(test) => test.accepts(element),
            Filter::ElemMatchObject(test) => {
                let position = test.position(element, context);
                context.note(position);
                position.is_some()
            }
            Filter::ElemMatchValue(test) => {
                let position = test.position(element, context);
                context.note(position);
                position.is_some()
            }
            Filter::Schema(schema) => schema.accepts_element(element, context),
            // The parser keeps expressions out of conditions on elements.
            Filter::Expr(_) | Filter::ExprCompare(_) => false,
            Filter::SampleRate(rate) => sample::draw(*rate),
            Filter::AlwaysTrue => true,
            Filter::AlwaysFalse => false,
        }
    }
}

/// Whether anything the path leads to passes; notes the position of what did.
#[inline]
fn any<F>(path: &Path, doc: Doc<'_>, leaf: Leaf, context: &mut Context<'_>, accepts: F) -> bool
where
    F: Fn(Option<Element<'_>>, &mut Context<'_>) -> bool,
{
    let walk = path.visit(doc, leaf, &mut |reached: Reached<'_>| {
        if accepts(reached.element, context) {
            context.note(reached.position);
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    walk.is_break()
}
