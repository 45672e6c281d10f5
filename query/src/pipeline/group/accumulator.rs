//! The accumulators by name: what each reads of a document, and the state it keeps.

use bindery_document::{Error, FieldSet, FoundFields, OwnedValue, Result, Value, code};

use super::ordered::{Keep, OrderBy};
use super::state::State;
use crate::expression::number::Number;
use crate::expression::number::Width;
use crate::expression::{Dependencies, Expression, Scope, Val, array_order::read_n};
use crate::filter::ParseContext;

/// One accumulator with its arguments.
#[derive(Debug)]
pub(crate) struct Accumulator {
    pub(super) kind: AccumulatorKind,
    /// What it accumulates; for `$count` nothing, for `$top` and its siblings `output`.
    pub(super) argument: Expression,
    /// The number of values for those that keep several.
    pub(super) n: Option<Expression>,
    /// The order of `$top` and its siblings.
    pub(super) order: Option<OrderBy>,
    /// Whether it runs over windows that values leave again.
    slides: bool,
    /// Whether an argument that changes nothing is evaluated nevertheless: MongoDB's other engine does so.
    pub(super) is_eager: bool,
    /// How a number is had without evaluating the argument.
    source: Source,
}

/// What an argument is, as far as it is known before documents are seen.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The field with this number among those that are found together.
    Field(usize),
    /// Always the same number, as in `{$sum: 1}`.
    Number(Number),
    /// Anything else.
    Computed,
}

/// What is accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccumulatorKind {
    AddToSet,
    Avg,
    Count,
    First,
    FirstN,
    Last,
    LastN,
    Max,
    MaxN,
    MergeObjects,
    Min,
    MinN,
    Push,
    StdDevPop,
    StdDevSamp,
    Sum,
    /// `$top`, `$bottom`: one value in an order.
    OneInOrder(Keep),
    /// `$topN`, `$bottomN`.
    SomeInOrder(Keep),
}

use AccumulatorKind::{
    AddToSet, Avg, Count, First, FirstN, Last, LastN, Max, MaxN, MergeObjects, Min, MinN, OneInOrder, Push,
    SomeInOrder, StdDevPop, StdDevSamp, Sum,
};

const ACCUMULATORS: &[(&str, AccumulatorKind)] = &[
    ("$addToSet", AddToSet),
    ("$avg", Avg),
    ("$bottom", OneInOrder(Keep::Bottom)),
    ("$bottomN", SomeInOrder(Keep::Bottom)),
    ("$count", Count),
    ("$first", First),
    ("$firstN", FirstN),
    ("$last", Last),
    ("$lastN", LastN),
    ("$max", Max),
    ("$maxN", MaxN),
    ("$mergeObjects", MergeObjects),
    ("$min", Min),
    ("$minN", MinN),
    ("$push", Push),
    ("$stdDevPop", StdDevPop),
    ("$stdDevSamp", StdDevSamp),
    ("$sum", Sum),
    ("$top", OneInOrder(Keep::Top)),
    ("$topN", SomeInOrder(Keep::Top)),
];

/// The accumulator of this name.
pub(crate) fn find(name: &str) -> Option<AccumulatorKind> {
    ACCUMULATORS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Parses a field of `$group`: `name: {$accumulator: argument}`.
pub(crate) fn parse_field(name: &str, value: Value<'_>, context: &mut ParseContext) -> Result<Accumulator> {
    let Value::Document(doc) = value else {
        return Err(Error::new(40234, format!("the field '{name}' must be an accumulator in a document")));
    };
    let Some(first) = doc.first() else {
        return Err(Error::new(40234, format!("the field '{name}' must be an accumulator in a document")));
    };
    if first.key.first() != Some(&b'$') {
        return Err(Error::new(40234, format!("the field '{name}' must be an accumulator in a document")));
    }
    if name.contains('.') {
        return Err(Error::new(40235, format!("the field name '{name}' must not hold dots")));
    }
    if name.starts_with('$') {
        return Err(Error::new(40236, format!("the field name '{name}' must not start with a dollar")));
    }
    if doc.count() > 1 {
        return Err(Error::new(40238, format!("the field '{name}' must have one accumulator")));
    }
    if matches!(first.value(), Value::Array(_)) {
        return Err(Error::new(40237, format!("{} takes one argument, not an array of them", first.key_str())));
    }
    let Some(kind) = find(first.key_str()) else {
        return Err(Error::new(15952, format!("unknown group operator '{}'", first.key_str())));
    };
    parse(first.key_str(), kind, first.value(), context)
}

/// Parses the argument of an accumulator.
pub(crate) fn parse(
    name: &str,
    kind: AccumulatorKind,
    argument: Value<'_>,
    context: &mut ParseContext,
) -> Result<Accumulator> {
    match kind {
        FirstN | LastN | MaxN | MinN => parse_n(name, kind, argument, context),
        OneInOrder(_) | SomeInOrder(_) => parse_in_order(name, kind, argument, context),
        Count => {
            if !matches!(argument, Value::Document(doc) if doc.is_empty()) {
                return Err(Error::new(code::TYPE_MISMATCH, "$count takes an empty document"));
            }
            Ok(Accumulator::new(kind, Expression::constant(None), None, None))
        }
        _ => {
            if matches!(argument, Value::Array(_)) {
                return Err(Error::new(40237, format!("{name} takes one argument, not an array of them")));
            }
            let argument = Expression::parse_unfolded(argument, &mut context.expressions)?;
            Ok(Accumulator::new(kind, argument, None, None))
        }
    }
}

/// Parses an accumulator whose whole argument is one expression, an array too.
pub(crate) fn parse_expression(
    kind: AccumulatorKind,
    argument: Value<'_>,
    context: &mut ParseContext,
) -> Result<Accumulator> {
    let argument = Expression::parse_unfolded(argument, &mut context.expressions)?;
    Ok(Accumulator::new(kind, argument, None, None))
}

fn parse_n(name: &str, kind: AccumulatorKind, argument: Value<'_>, context: &mut ParseContext) -> Result<Accumulator> {
    let Value::Document(spec) = argument else {
        let code = if matches!(kind, FirstN | LastN) { 5_787_801 } else { 5_787_900 };
        return Err(Error::new(code, format!("{name} takes a document")));
    };
    let (mut n, mut input) = (None, None);
    for element in spec {
        let place = match element.key {
            b"n" => &mut n,
            b"input" => &mut input,
            _ => return Err(Error::new(5_787_901, format!("{name} does not know the field '{}'", element.key_str()))),
        };
        *place = Some(Expression::parse_unfolded(element.value(), &mut context.expressions)?);
    }
    if n.is_none() {
        return Err(Error::new(5_787_906, format!("{name} needs 'n'")));
    }
    let Some(argument) = input else {
        return Err(Error::new(5_787_907, format!("{name} needs 'input'")));
    };
    Ok(Accumulator::new(kind, argument, n, None))
}

fn parse_in_order(
    name: &str,
    kind: AccumulatorKind,
    argument: Value<'_>,
    context: &mut ParseContext,
) -> Result<Accumulator> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(5_788_001, format!("{name} takes a document")));
    };
    let takes_n = matches!(kind, SomeInOrder(_));
    let (mut n, mut output, mut order) = (None, None, None);
    for element in spec {
        match element.key {
            b"n" if takes_n => {
                n = Some(Expression::parse_unfolded(element.value(), &mut context.expressions)?);
            }
            b"output" => output = Some(Expression::parse_unfolded(element.value(), &mut context.expressions)?),
            b"sortBy" => {
                // An array is a document whose names are numbers.
                let (Value::Document(by) | Value::Array(by)) = element.value() else {
                    return Err(Error::new(10065, format!("{name}'s sortBy must be a document")));
                };
                order = Some(OrderBy::parse(by, context.collation.as_ref())?);
            }
            _ => return Err(Error::new(5_788_002, format!("{name} does not know the field '{}'", element.key_str()))),
        }
    }
    if takes_n && n.is_none() {
        return Err(Error::new(5_788_003, format!("{name} needs 'n'")));
    }
    let Some(argument) = output else {
        return Err(Error::new(5_788_004, format!("{name} needs 'output'")));
    };
    if order.is_none() {
        return Err(Error::new(5_788_005, format!("{name} needs 'sortBy'")));
    }
    Ok(Accumulator::new(kind, argument, n, order))
}

impl Accumulator {
    /// Adds what is read of the documents.
    pub(super) fn add_dependencies(&self, read: &mut Dependencies) {
        self.argument.add_dependencies(read);
        self.n.iter().for_each(|n| n.add_dependencies(read));
        // What they are ordered by is read, too.
        read.whole_document |= self.order.is_some();
    }

    fn new(kind: AccumulatorKind, argument: Expression, n: Option<Expression>, order: Option<OrderBy>) -> Accumulator {
        Accumulator { kind, argument, n, order, slides: false, is_eager: false, source: Source::Computed }
    }

    pub(crate) fn fold(&mut self) -> Result<()> {
        self.argument.fold()?;
        match &mut self.n {
            Some(n) => n.fold(),
            None => Ok(()),
        }
    }

    /// Has the fields that it reads found together with others.
    pub(super) fn bind_fields(&mut self, fields: &mut FieldSet) {
        self.argument.bind_fields(fields);
        let constant = || Number::of(&self.argument.as_constant()??);
        self.source = match self.argument.as_bound_field() {
            Some(field) => Source::Field(field),
            None => constant().map_or(Source::Computed, Source::Number),
        };
    }

    /// Whether it needs documents in an order to mean something.
    #[inline]
    pub(crate) fn kind(&self) -> AccumulatorKind {
        self.kind
    }

    /// `$sum: 1`, as `$count` and `$sortByCount` are made of.
    pub(crate) fn count_one() -> Accumulator {
        let argument = Expression::constant(Some(OwnedValue::new(Value::Int32(1))));
        Accumulator::new(Sum, argument, None, None)
    }

    /// The same over windows that values leave again.
    pub(crate) fn sliding(mut self) -> Accumulator {
        self.slides = true;
        self
    }

    /// The state before the first document.
    pub(crate) fn state(&self) -> State {
        let mut state = State::new(self.kind, self.slides);
        // MongoDB's other engine keeps the last of equal values.
        if self.is_eager
            && let State::Extreme { latest, .. } = &mut state
        {
            *latest = true;
        }
        state
    }

    /// Prepares the state of a new group: the number of values to keep may depend on the group's key, which is
    /// the document that its expression sees.
    pub(crate) fn begin(&self, state: &mut State, key: &Scope<'_>) -> Result<()> {
        if let Some(n) = &self.n {
            state.set_limit(read_n(&n.evaluate(key)?)?);
        }
        Ok(())
    }

    /// As [`Accumulator::add`], where the fields were found that the argument is bound to. Sums of fields take their
    /// numbers from the document's bytes.
    #[inline(always)]
    pub(super) fn add_found(&self, state: &mut State, found: &FoundFields, scope: &Scope<'_>) -> Result<usize> {
        let number = match self.source {
            Source::Field(field) => {
                found.get_bytes(scope.root(), field).and_then(|(kind, bytes)| Number::of_bytes(kind, bytes))
            }
            Source::Number(number) => Some(number),
            Source::Computed => None,
        };
        if number.is_some_and(|number| state.add_number(number)) {
            return Ok(0);
        }
        self.add(state, scope)
    }

    /// Takes a document in; the bytes by which the state grew.
    #[inline]
    pub(crate) fn add(&self, state: &mut State, scope: &Scope<'_>) -> Result<usize> {
        if let Some(order) = &self.order {
            let output = self.argument.evaluate(scope)?.detach();
            return state.add_in_order(self.kind, order, scope, output);
        }
        if !self.is_eager && state.is_settled() {
            return Ok(0);
        }
        let value = self.argument.evaluate(scope)?;
        if self.n.is_some() {
            return Ok(state.add_to_several(self.kind, &value, scope));
        }
        state.add(&value, scope)
    }

    /// What it would take in of one document; `None` if that is missing.
    pub(crate) fn value_of(&self, scope: &Scope<'_>) -> Result<Option<OwnedValue>> {
        Ok(self.argument.evaluate(scope)?.to_owned_value())
    }

    /// Whether a number of values is to be evaluated for each group.
    pub(super) fn has_limit(&self) -> bool {
        self.n.is_some()
    }

    /// The result.
    pub(crate) fn finish(&self, state: State) -> Val<'static> {
        if let (true, State::Avg { sum, count: count @ 1.. }) = (self.is_eager, &state)
            && sum.width() <= Width::Long
            && let Some(total) = sum.long()
        {
            // MongoDB's other engine divides the sum of integers, which is exact; the usual one its leading digits.
            return Val::from(total as f64 / *count as f64);
        }
        state.finish(self.kind)
    }
}
