//! The expression language: what computes values in `$expr`, projections, update pipelines and stages.
//!
//! An expression is compiled once ([`Expression::parse`]) into a typed tree, with its constant parts
//! evaluated, and then run on raw documents ([`Expression::evaluate`]). Results ([`Val`]) borrow from the
//! document where they can. Each family of operators has a file with a table of its operators; the
//! [`registry`] joins the tables. No operator's name is looked at when a document is evaluated.
//!
//! ```
//! use bindery_document::{DocBuf, Value};
//! use bindery_query::expression::{Expression, ParseContext, Scope};
//! let spec = DocBuf::from_bson(&bson::doc! {"e": {"$add": ["$a", 1]}})?;
//! let doc = DocBuf::from_bson(&bson::doc! {"a": 2})?;
//! let expression = Expression::parse(spec.doc().get("e").unwrap_or(Value::Null), &mut ParseContext::new())?;
//! let result = expression.evaluate(&Scope::new(doc.doc()))?;
//! assert!(matches!(result.get(), Some(Value::Int32(3))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source of the rules: MongoDB's manual, "Aggregation Operators"; finer points and error codes were asked
//! of a real server. Server-side JavaScript (`$function`, `$accumulator`) is refused.

pub(crate) mod accumulate;
mod arithmetic;
pub(crate) mod array;
mod array_iterate;
pub(crate) mod array_order;
mod boolean;
mod comparison;
mod conditional;
mod convert;
pub(crate) mod date;
pub(crate) mod decimal;
mod dependencies;
pub(crate) mod field_path;
mod fold;
pub(crate) mod limits;
mod literal;
pub(crate) mod measure;
mod nulls_first;
pub(crate) mod number;
pub(crate) mod object;
mod parse;
mod ported;
mod regex_match;
pub(crate) mod registry;
mod rounding;
mod scope;
mod set;
mod string;
pub(crate) mod summation;
mod text;
mod trigonometry;
mod value;
mod variables;
mod zip;

use std::fmt;

use bindery_document::doc::EMPTY;
use bindery_document::{Builder, Doc, Error, FieldSet, OwnedValue, Result, Value};

pub use comparison::{Comparison, Condition};
pub use dependencies::Dependencies;
pub use field_path::{check_length, check_variable_name};
pub use parse::ParseContext;
pub(crate) use parse::check_field_name;
pub use scope::{Scope, StringOrder};
pub use value::Val;

use field_path::{Base, FieldPath};
use registry::{Entry, Function, Named};

use crate::collation::Collation;

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    node: Node,
    /// How strings compare in constant parts; `None` for byte order.
    collation: Option<Collation>,
}

impl Expression {
    /// Compiles an expression: parses it, then evaluates its constant parts.
    ///
    /// # Errors
    /// MongoDB's code for what is wrong with the text of the expression, and for constant parts that cannot
    /// be evaluated (`{$divide: [1, 0]}` fails here, whatever documents there are).
    pub fn parse(value: Value<'_>, ctx: &mut ParseContext) -> Result<Expression> {
        let mut expression = Expression::parse_unfolded(value, ctx)?;
        if !ctx.is_folding_deferred() {
            expression.fold()?;
        }
        if ctx.stays_general() {
            set::generalize(&mut expression.node);
        }
        Ok(expression)
    }

    /// Parses without evaluating constant parts; [`Expression::fold`] does that later. A pipeline parses all
    /// its stages before it folds the first.
    ///
    /// # Errors
    /// MongoDB's code for what is wrong with the text of the expression.
    pub fn parse_unfolded(value: Value<'_>, ctx: &mut ParseContext) -> Result<Expression> {
        Ok(Expression { node: parse::parse(value, ctx)?, collation: ctx.collation().cloned() })
    }

    /// Evaluates the constant parts.
    ///
    /// # Errors
    /// As evaluation.
    pub fn fold(&mut self) -> Result<()> {
        let strings = self.collation.as_ref().map(Collation::string_order);
        fold::fold(&mut self.node, &Scope::new(EMPTY).with_strings(strings.as_deref()))
    }

    /// The expression that always gives this value; `None` for the missing one.
    pub fn constant(value: Option<OwnedValue>) -> Expression {
        Expression { node: Node::Constant(value), collation: None }
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// MongoDB's code for a value that an operator does not take.
    #[inline]
    pub fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        self.node.evaluate(scope)
    }

    /// Evaluates the expression and appends the result under a key; whether there was one (a missing result
    /// appends nothing). Documents and arrays that the expression spells out are written in place.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    #[inline]
    pub fn append_to(&self, key: &[u8], scope: &Scope<'_>, builder: &mut Builder) -> Result<bool> {
        self.node.append_to(key, scope, builder)
    }

    /// The value of a constant expression; the inner `None` is the missing value.
    pub fn as_constant(&self) -> Option<Option<Value<'_>>> {
        match &self.node {
            Node::Constant(value) => Some(value.as_ref().map(OwnedValue::value)),
            _ => None,
        }
    }

    /// The names of a path that starts at the document itself; empty for `$$ROOT`.
    pub fn as_field_path(&self) -> Option<&[Box<str>]> {
        self.node.as_field_path()
    }

    /// Adds the top-level fields that the expression reads to a set, and has it read them from
    /// [a scope's found fields](Scope::with_found) where they were found for that set. Whoever evaluates it in such a
    /// scope must have found the fields of this set, complete, in the scope's document.
    pub fn bind_fields(&mut self, fields: &mut FieldSet) {
        dependencies::bind(&mut self.node, fields);
    }

    /// The number of the field that the expression is, if it is one top-level field and bound to a set.
    pub(crate) fn as_bound_field(&self) -> Option<usize> {
        match &self.node {
            Node::Path(path) => path.as_bound_field(),
            _ => None,
        }
    }

    /// What the expression reads of the document.
    pub fn dependencies(&self) -> Dependencies {
        let mut dependencies = Dependencies::default();
        self.add_dependencies(&mut dependencies);
        dependencies
    }

    /// Adds what the expression reads of the document.
    pub fn add_dependencies(&self, dependencies: &mut Dependencies) {
        dependencies::collect(&self.node, dependencies);
    }
}

/// A node of the tree.
#[derive(Debug)]
pub(crate) enum Node {
    /// A value known beforehand; `None` is the missing value.
    Constant(Option<OwnedValue>),
    /// A field or a variable.
    Path(FieldPath),
    /// A document to build; fields whose value is missing are left out.
    Object(Vec<(Box<str>, Node)>),
    /// An array to build; missing items become null.
    Array(Vec<Node>),
    /// An operator whose operands have places.
    Call { entry: &'static Entry, operands: Box<[Node]> },
    /// An operator whose operands have names.
    Named { entry: &'static Entry, named: &'static Named, operands: Box<[Option<Node>]> },
    /// An operator with a shape of its own.
    Operator(Box<dyn Operator>),
}

/// An operator that keeps more than operands: variables that it binds, a compiled pattern, a sort key.
pub(crate) trait Operator: fmt::Debug + Send + Sync {
    /// Its value in this scope.
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>>;
    /// The expressions inside.
    fn operands(&self) -> Vec<&Node>;
    /// The expressions inside, to be folded.
    fn operands_mut(&mut self) -> Vec<&mut Node>;
    /// A simpler expression of the same meaning, asked for after the operands were folded in this scope.
    fn simplify(&mut self, _scope: &Scope<'_>) -> Result<Option<Node>> {
        Ok(None)
    }
}

impl Node {
    pub(crate) fn constant(value: Value<'_>) -> Node {
        Node::Constant(Some(OwnedValue::new(value)))
    }

    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Node::Constant(_))
    }

    pub(crate) fn as_field_path(&self) -> Option<&[Box<str>]> {
        match self {
            Node::Path(FieldPath { base: Base::Root, names, .. }) => Some(names),
            _ => None,
        }
    }

    pub(crate) fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        match self {
            Node::Constant(value) => Ok(Val::from(value.as_ref().map(OwnedValue::value))),
            Node::Path(path) => Ok(path.evaluate(scope)),
            Node::Object(fields) => {
                let mut builder = Builder::new();
                append_fields(fields, scope, &mut builder)?;
                Ok(Val::Document(builder.finish()))
            }
            Node::Array(items) => {
                let mut builder = Builder::new();
                append_items(items, scope, &mut builder)?;
                Ok(Val::Array(builder.finish()))
            }
            Node::Call { entry, operands } => match (&entry.function, &**operands) {
                (Function::Unary(function), [a]) => function(scope, a.evaluate(scope)?),
                (Function::Binary(function), [a, b]) => function(scope, a.evaluate(scope)?, b.evaluate(scope)?),
                (Function::BinaryFromRight(function), [a, b]) => {
                    let right = b.evaluate(scope)?;
                    function(scope, a.evaluate(scope)?, right)
                }
                (Function::Ternary(function), [a, b, c]) => {
                    function(scope, a.evaluate(scope)?, b.evaluate(scope)?, c.evaluate(scope)?)
                }
                (Function::Variadic(function), operands) => function(scope, operands),
                _ => Err(fold::wrong_operands(entry.name)),
            },
            Node::Named { named, operands, .. } => (named.function)(scope, operands),
            Node::Operator(operator) => operator.evaluate(scope),
        }
    }

    pub(crate) fn append_to(&self, key: &[u8], scope: &Scope<'_>, builder: &mut Builder) -> Result<bool> {
        match self {
            Node::Object(fields) => {
                let open = builder.open_document(key);
                append_fields(fields, scope, builder)?;
                builder.close(open);
            }
            Node::Array(items) => {
                let open = builder.open_array(key);
                append_items(items, scope, builder)?;
                builder.close(open);
            }
            _ => match self.evaluate(scope)?.get() {
                Some(value) => builder.append(key, value),
                None => return Ok(false),
            },
        }
        Ok(true)
    }
}

fn append_fields(fields: &[(Box<str>, Node)], scope: &Scope<'_>, builder: &mut Builder) -> Result<()> {
    for (name, value) in fields {
        value.append_to(name.as_bytes(), scope, builder)?;
        limits::check_value_bytes(builder.len())?;
    }
    Ok(())
}

fn append_items(items: &[Node], scope: &Scope<'_>, builder: &mut Builder) -> Result<()> {
    let mut digits = [0; 20];
    for (index, item) in items.iter().enumerate() {
        let key = bindery_document::build::index_key(index, &mut digits);
        if !item.append_to(key, scope, builder)? {
            builder.append(key, Value::Null);
        }
        limits::check_value_bytes(builder.len())?;
    }
    Ok(())
}

/// Arithmetic of single numbers, as the operators have it.
pub(crate) mod number_arithmetic {
    pub(crate) use super::arithmetic::{
        add_numbers as add, multiply_numbers as multiply, subtract_from_date, subtract_numbers as subtract,
    };
}

/// An error with a MongoDB code.
pub(crate) fn fail<T>(code: i32, message: impl Into<String>) -> Result<T> {
    Err(Error::new(code, message))
}

/// The name of a value's type, `"missing"` for no value.
pub(crate) fn type_name(value: &Val<'_>) -> &'static str {
    value.get().map_or("missing", |v| v.kind().alias())
}

/// The elements of an array.
pub(crate) fn array_items<'a>(value: &'a Val<'_>) -> Option<Doc<'a>> {
    value.get().and_then(|v| v.as_array())
}

#[cfg(test)]
mod tests;
