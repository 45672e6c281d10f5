//! The filter language: what a query document means, compiled once into a tree of typed tests.
//!
//! [`Filter::parse`] turns `{a: {$gt: 1}, "b.c": "x"}` into a [`Filter`] in canonical form
//! ([`canonical`]); [`Filter::matches`] then asks raw documents, decoding only what a test looks at and
//! allocating nothing. The planner reads the same tree: every node and operand is public.
//!
//! ```text
//! parse     documents -> tree, with MongoDB's error codes; one file per operator for its operand
//! canonical tree -> simplified and sorted tree, so that plans do not depend on how it was written
//! evaluate  tree x document -> bool (and the array position for `$` in projections and updates)
//! failure   query document x document -> why it does not match
//! ```
//!
//! The walk along dotted paths and the order of values belong to `bindery_document`; the expressions
//! inside `$expr` to [`crate::expression`].
//!
//! Sources: MongoDB's manual, "Query and Projection Operators"; what it leaves open was asked of a real
//! server.

mod all;
mod bits;
pub mod canonical;
mod compare;
mod elem_match;
mod evaluate;
mod expr;
pub mod failure;
pub mod json_schema;
mod membership;
mod modulo;
mod parse;
mod regex_test;
mod rename;
mod sample;
mod show;
mod size;
mod type_set;

pub use bits::{BitTest, Bits};
pub(crate) use compare::holds_strings;
pub use compare::{Compare, CompareOp};
pub use elem_match::{ElemMatchObject, ElemMatchValue};
pub use evaluate::Position;
pub use expr::ExprTest;
pub use membership::Membership;
pub use modulo::Modulo;
pub use parse::{Allowed, ParseContext};
pub use regex_test::RegexTest;
pub use size::SizeTest;
pub use type_set::{TypeSet, TypeTest};

use bindery_document::{Doc, Path, Result};

/// A condition on documents, as a tree.
///
/// Leaves hold their path; the leaves inside [`ElemMatchValue`] hold the empty path
/// ([`Path::of_value`]) and mean the array element itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All of them; never empty in canonical form.
    And(Vec<Filter>),
    /// At least one; never empty in canonical form.
    Or(Vec<Filter>),
    /// None of them.
    Nor(Vec<Filter>),
    /// Not this one. `$ne` is `Not(Compare(Eq))`, `$nin` is `Not(In)`, `$exists: false` is `Not(Exists)`.
    Not(Box<Filter>),
    /// `$eq`, `$lt`, `$lte`, `$gt`, `$gte`.
    Compare(Compare),
    /// `$in`, regular expressions included.
    In(Membership),
    /// `$regex` and regular expression values.
    Regex(RegexTest),
    /// `$exists: true`: the path leads to something, be it null.
    Exists(Path),
    /// `$type`.
    Type(TypeTest),
    /// `$mod`.
    Mod(Modulo),
    /// `$size`.
    Size(SizeTest),
    /// `$elemMatch` with conditions on fields of the element.
    ElemMatchObject(ElemMatchObject),
    /// `$elemMatch` with conditions on the element itself.
    ElemMatchValue(ElemMatchValue),
    /// `$bitsAllSet` and its siblings.
    Bits(BitTest),
    /// A condition of `$jsonSchema` that no operator expresses.
    Schema(json_schema::Schema),
    /// `$expr`: an expression holds; last in canonical order, because it alone can fail.
    Expr(ExprTest),
    /// What a comparison inside `$expr` says of one path, as `explain` shows it: `$_internalExprEq` and siblings.
    /// Only the planner makes these, beside the `$expr` that implies them, so that an index can serve it.
    ExprCompare(Compare),
    /// `$sampleRate`: matches at random with this probability.
    SampleRate(f64),
    /// Every document.
    AlwaysTrue,
    /// No document.
    AlwaysFalse,
}

impl Filter {
    /// Compiles a query document, simplified and in canonical order: what runs and what is planned.
    ///
    /// # Errors
    /// With MongoDB's code for what is malformed (2 for most, 9 and 14 for wrong operands of some
    /// operators, 51091 and neighbours for regular expressions).
    pub fn parse(query: Doc<'_>, context: &ParseContext) -> Result<Filter> {
        Ok(canonical::sort(Filter::parse_in_order(query, context)?))
    }

    /// As [`Filter::parse`], but conditions stay in the order they were written in.
    ///
    /// The positional projection takes its position from the last condition as written, while the
    /// positional update takes the last in canonical order.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn parse_in_order(query: Doc<'_>, context: &ParseContext) -> Result<Filter> {
        Ok(canonical::simplify(Filter::read(query, context)?))
    }

    /// The conditions as they are written. What is wrong with the text is reported before constant expressions that
    /// cannot be evaluated.
    fn read(query: Doc<'_>, context: &ParseContext) -> Result<Filter> {
        parse::document(query, parse::Place::top(context)).map_err(|met| {
            let mut expressions = context.expressions.clone();
            expressions.defer_folding(true);
            let unfolded = ParseContext { collation: context.collation.clone(), expressions, allowed: context.allowed };
            parse::document(query, parse::Place::top(&unfolded)).err().unwrap_or(met)
        })
    }

    /// As [`Filter::parse`], for the document that an upsert makes of a filter: what can never match still says what
    /// its fields are equal to, unless it is `$alwaysFalse`.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn parse_as_description(query: Doc<'_>, context: &ParseContext) -> Result<Filter> {
        let written = Filter::read(query, context)?;
        Ok(canonical::sort(canonical::simplify_with(written, canonical::Depth::Constants)))
    }

    /// The path that a leaf tests; `None` for what combines others and for what has none.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Filter::Compare(test) | Filter::ExprCompare(test) => Some(&test.path),
            Filter::In(test) => Some(&test.path),
            Filter::Regex(test) => Some(&test.path),
            Filter::Exists(path) => Some(path),
            Filter::Type(test) => Some(&test.path),
            Filter::Mod(test) => Some(&test.path),
            Filter::Size(test) => Some(&test.path),
            Filter::ElemMatchObject(test) => Some(&test.path),
            Filter::ElemMatchValue(test) => Some(&test.path),
            Filter::Bits(test) => Some(&test.path),
            Filter::Schema(json_schema::Schema::Value { path, .. }) => Some(path),
            Filter::And(_)
            | Filter::Or(_)
            | Filter::Nor(_)
            | Filter::Not(_)
            | Filter::Schema(_)
            | Filter::Expr(_)
            | Filter::SampleRate(_)
            | Filter::AlwaysTrue
            | Filter::AlwaysFalse => None,
        }
    }

    /// Whether there is an `$expr` anywhere in it, which may fail.
    pub(crate) fn has_expression(&self) -> bool {
        matches!(self, Filter::Expr(_)) || self.children().iter().any(Filter::has_expression)
    }

    /// The filters directly below this one.
    pub fn children(&self) -> &[Filter] {
        match self {
            Filter::And(children) | Filter::Or(children) | Filter::Nor(children) => children,
            Filter::Not(child) => std::slice::from_ref(&**child),
            Filter::ElemMatchObject(test) => std::slice::from_ref(&*test.filter),
            Filter::ElemMatchValue(test) => &test.filters,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
