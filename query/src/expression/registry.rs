//! The operators of the language by name: how many operands each takes, and what it does.

use bindery_document::{Result, Value};

use super::{Node, ParseContext, Scope, Val};

/// One operator.
pub(crate) struct Entry {
    /// Its name, dollar included.
    pub(crate) name: &'static str,
    pub(crate) arity: Arity,
    pub(crate) function: Function,
    pub(crate) folding: Folding,
    /// Looks at the folded operands, before constants are evaluated.
    pub(crate) simplify: Option<Simplify>,
}

/// A simpler expression for folded operands, if there is one. Fails for constant operands that cannot be right.
pub(crate) type Simplify = fn(&mut Vec<Node>) -> Result<Option<Node>>;

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields.iter().map(|field| field.name)).finish()
    }
}

/// How many operands an operator takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arity {
    Exactly(usize),
    Between(usize, usize),
    /// A least number, with the code of the error for fewer.
    AtLeast(usize, i32),
    Any,
}

/// A function of values that were evaluated before.
pub(crate) type Unary = for<'a> fn(&Scope<'a>, Val<'a>) -> Result<Val<'a>>;
/// A function of two values.
pub(crate) type Binary = for<'a> fn(&Scope<'a>, Val<'a>, Val<'a>) -> Result<Val<'a>>;
/// A function of three values.
pub(crate) type Ternary = for<'a> fn(&Scope<'a>, Val<'a>, Val<'a>, Val<'a>) -> Result<Val<'a>>;
/// A function that evaluates its operands itself, in its own order.
pub(crate) type Variadic = for<'a> fn(&Scope<'a>, &'a [Node]) -> Result<Val<'a>>;
/// A function of named operands, in the order of the table; `None` for those left out.
pub(crate) type NamedFunction = for<'a> fn(&Scope<'a>, &'a [Option<Node>]) -> Result<Val<'a>>;

/// What an operator does.
pub(crate) enum Function {
    Unary(Unary),
    Binary(Binary),
    /// The second operand is evaluated before the first.
    BinaryFromRight(Binary),
    Ternary(Ternary),
    Variadic(Variadic),
    /// Operands by name: `{$op: {a: .., b: ..}}`.
    Named(&'static Named),
    /// The operator reads its argument itself.
    Parsed(fn(Value<'_>, &mut ParseContext) -> Result<Node>),
}

/// The named operands of an operator, with the codes of what can be wrong with them.
pub(crate) struct Named {
    pub(crate) fields: &'static [Field],
    /// The argument is no document.
    pub(crate) not_object: i32,
    /// A field that the operator does not know.
    pub(crate) unknown: i32,
    pub(crate) function: NamedFunction,
}

/// One named operand.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The code of the error if it is left out; `None` if it may be.
    pub(crate) required: Option<i32>,
}

/// When constant operands are evaluated at compile time. Errors then come up at once, so this is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folding {
    /// When all operands are constant.
    Whole,
    /// Also runs of constant neighbours.
    Associative,
    /// Also constants anywhere; they are gathered at the end.
    Commutative,
    /// As `Commutative` among several operands; a single one, which may be an array, is another matter.
    CommutativeSeveral,
    /// Never; the operands are still folded each for itself.
    Never,
    /// Not even the operands are folded.
    Opaque,
}

impl Entry {
    pub(crate) const fn unary(name: &'static str, function: Unary) -> Entry {
        Entry {
            name,
            arity: Arity::Exactly(1),
            function: Function::Unary(function),
            folding: Folding::Whole,
            simplify: None,
        }
    }
    pub(crate) const fn binary(name: &'static str, function: Binary) -> Entry {
        Entry {
            name,
            arity: Arity::Exactly(2),
            function: Function::Binary(function),
            folding: Folding::Whole,
            simplify: None,
        }
    }
    pub(crate) const fn binary_from_right(name: &'static str, function: Binary) -> Entry {
        Entry { function: Function::BinaryFromRight(function), ..Entry::binary(name, function) }
    }
    pub(crate) const fn ternary(name: &'static str, function: Ternary) -> Entry {
        Entry {
            name,
            arity: Arity::Exactly(3),
            function: Function::Ternary(function),
            folding: Folding::Whole,
            simplify: None,
        }
    }
    pub(crate) const fn variadic(name: &'static str, arity: Arity, function: Variadic) -> Entry {
        Entry { name, arity, function: Function::Variadic(function), folding: Folding::Whole, simplify: None }
    }
    pub(crate) const fn named(name: &'static str, named: &'static Named) -> Entry {
        Entry { name, arity: Arity::Any, function: Function::Named(named), folding: Folding::Whole, simplify: None }
    }
    pub(crate) const fn parsed(name: &'static str, parse: fn(Value<'_>, &mut ParseContext) -> Result<Node>) -> Entry {
        Entry { name, arity: Arity::Any, function: Function::Parsed(parse), folding: Folding::Never, simplify: None }
    }
    pub(crate) const fn folding(self, folding: Folding) -> Entry {
        Entry { name: self.name, arity: self.arity, function: self.function, folding, simplify: self.simplify }
    }
    pub(crate) const fn simplify(self, simplify: Simplify) -> Entry {
        Entry {
            name: self.name,
            arity: self.arity,
            function: self.function,
            folding: self.folding,
            simplify: Some(simplify),
        }
    }
}

impl Field {
    pub(crate) const fn required(name: &'static str, code: i32) -> Field {
        Field { name, required: Some(code) }
    }
    pub(crate) const fn optional(name: &'static str) -> Field {
        Field { name, required: None }
    }
}

/// All operators, by family.
static FAMILIES: &[&[Entry]] = &[
    super::arithmetic::OPERATORS,
    super::rounding::OPERATORS,
    super::boolean::OPERATORS,
    super::comparison::OPERATORS,
    super::conditional::OPERATORS,
    super::literal::OPERATORS,
    super::variables::OPERATORS,
    super::array::OPERATORS,
    super::array_iterate::OPERATORS,
    super::array_order::OPERATORS,
    super::zip::OPERATORS,
    super::accumulate::OPERATORS,
    super::set::OPERATORS,
    super::string::OPERATORS,
    super::regex_match::OPERATORS,
    super::object::OPERATORS,
    super::convert::OPERATORS,
    super::trigonometry::OPERATORS,
    super::measure::OPERATORS,
];

/// The operator of this name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    FAMILIES.iter().chain(super::date::FAMILIES).flat_map(|family| family.iter()).find(|entry| entry.name == name)
}
