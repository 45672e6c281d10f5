//! `$group`: one document for each value of `_id`, with accumulators over the documents that have it.
//!
//! Documents are read once, without copies: the key's [canonical bytes](super::canonical_key) find the group in
//! a hash table, and the accumulators' states of all groups lie in one vector. Memory is accounted as groups
//! are added and as accumulators grow.

pub(crate) mod accumulator;
mod ordered;
pub(super) mod pushed_down;
mod state;
mod table;

use std::ops::ControlFlow;
use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, FieldSet, FoundFields, OwnedValue, Result, Value};

use super::canonical_key::{self, Strings};
use super::{Environment, Stream};
use crate::collation::Collation;
use crate::expression::{Dependencies, Expression, Val, check_field_name};
use crate::filter::ParseContext;
use crate::plan::GroupEnd;

use accumulator::AccumulatorKind;

pub(crate) use accumulator::Accumulator;
pub(crate) use state::State;
use table::{Entry, Table};

/// The stage.
#[derive(Debug)]
pub struct Group {
    /// What gives the key.
    pub(super) id: Id,
    /// The fields, each with its accumulator.
    pub(super) fields: Vec<(Box<str>, Accumulator)>,
    pub(super) collation: Option<Collation>,
    /// The stage's argument, as `explain` shows it.
    pub(super) written: DocBuf,
    /// Whether MongoDB's other engine would run it, whose error codes it then has.
    pub(super) is_pushed_down: bool,
    /// Whether that engine hands its documents back to the usual one. It writes symbols and other withdrawn types as
    /// something else then; so such a group is as if it were not handed over, but for its errors.
    pub(super) is_handed_back: bool,
    /// The fields that the key and the accumulators read.
    reads: FieldSet,
    /// The numbers of the fields that the key's values are, if they are nothing else.
    key_fields: Option<Vec<usize>>,
}

/// The group's key.
#[derive(Debug)]
pub(super) enum Id {
    /// One expression; a missing value counts as null.
    One(Expression),
    /// A document that is spelled out, field by field. With several fields a missing one is told from null.
    Fields(Vec<(Box<str>, Expression)>),
}

/// Parses the stage.
///
/// # Errors
/// 15947 for what is no document, 15948 for a second `_id`, 15955 for none, 40234 to 40238 and 15952 for
/// malformed fields; those of expressions.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<Group> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(15947, "$group takes a document"));
    };
    let (mut id, mut fields) = (None, Vec::new());
    for element in spec {
        if element.key == b"_id" {
            if id.is_some() {
                return Err(Error::new(15948, "$group has one '_id' only"));
            }
            id = Some(parse_id(element.value(), context)?);
        } else {
            let name = element.key_str();
            fields.push((name.into(), accumulator::parse_field(name, element.value(), context)?));
        }
    }
    let Some(id) = id else {
        return Err(Error::new(15955, "$group needs an '_id'"));
    };
    let written = DocBuf::from(spec);
    Ok(Group {
        id,
        fields,
        collation: context.collation.clone(),
        written,
        is_pushed_down: false,
        is_handed_back: false,
        reads: FieldSet::default(),
        key_fields: None,
    })
}

fn parse_id(value: Value<'_>, context: &mut ParseContext) -> Result<Id> {
    if let Value::Document(doc) = value
        && doc.first().is_some_and(|first| first.key.first() != Some(&b'$'))
    {
        if doc.iter().any(|e| matches!(e.value(), Value::Boolean(_)) || e.kind.is_number()) {
            return Err(Error::new(17390, "$group's '_id' computes fields; a number or a boolean would include one"));
        }
        let mut fields = Vec::new();
        for element in doc {
            let name = element.key_str();
            check_field_name(name)?;
            fields.push((name.into(), Expression::parse_unfolded(element.value(), &mut context.expressions)?));
        }
        return Ok(Id::Fields(fields));
    }
    Ok(Id::One(Expression::parse_unfolded(value, &mut context.expressions)?))
}

impl Group {
    /// A group by one expression, for the stages that are made of one; `written` is what a `$group` would say.
    pub(super) fn new(
        id: Expression,
        fields: Vec<(Box<str>, Accumulator)>,
        collation: Option<Collation>,
        written: DocBuf,
    ) -> Group {
        Group {
            id: Id::One(id),
            fields,
            collation,
            written,
            is_pushed_down: false,
            is_handed_back: false,
            reads: FieldSet::default(),
            key_fields: None,
        }
    }

    /// What the expressions read of the documents.
    pub(super) fn dependencies(&self) -> Dependencies {
        let mut read = Dependencies::default();
        match &self.id {
            Id::One(expression) => expression.add_dependencies(&mut read),
            Id::Fields(fields) => fields.iter().for_each(|(_, expression)| expression.add_dependencies(&mut read)),
        }
        self.fields.iter().for_each(|(_, field)| field.add_dependencies(&mut read));
        read
    }

    /// Whether any expression reads something of the documents.
    fn reads_anything(&self) -> bool {
        let read = self.dependencies();
        read.whole_document || !read.paths.is_empty()
    }

    pub(super) fn fold(&mut self) -> Result<()> {
        match &mut self.id {
            Id::One(expression) => expression.fold()?,
            Id::Fields(fields) => fields.iter_mut().try_for_each(|(_, expression)| expression.fold())?,
        }
        self.fields.iter_mut().try_for_each(|(_, accumulator)| accumulator.fold())?;
        self.reads = FieldSet::default();
        let parts: Vec<&mut Expression> = match &mut self.id {
            Id::One(expression) => vec![expression],
            Id::Fields(fields) => fields.iter_mut().map(|(_, expression)| expression).collect(),
        };
        let mut bind = |expression: &mut Expression| {
            expression.bind_fields(&mut self.reads);
            expression.as_bound_field()
        };
        let bound: Vec<Option<usize>> = parts.into_iter().map(&mut bind).collect();
        // Under a collation, equal strings may have different bytes.
        self.key_fields = if self.collation.is_none() { bound.into_iter().collect() } else { None };
        self.fields.iter_mut().for_each(|(_, accumulator)| accumulator.bind_fields(&mut self.reads));
        Ok(())
    }

    /// The path that is the key, and which document of a group is all that is read; see
    /// [`Pipeline::leading_group_end`](super::Pipeline::leading_group_end).
    pub(super) fn end(&self) -> Option<(String, GroupEnd)> {
        let key = match &self.id {
            Id::One(key) => key,
            Id::Fields(fields) => match fields.as_slice() {
                [(_, key)] => key,
                _ => return None,
            },
        };
        let names = key.as_field_path().filter(|names| !names.is_empty() && self.collation.is_none())?;
        let all = |kind| self.fields.iter().all(|(_, accumulator)| accumulator.kind() == kind);
        let end = match self.fields.as_slice() {
            [] => GroupEnd::Any,
            _ if all(AccumulatorKind::First) => GroupEnd::First,
            _ if all(AccumulatorKind::Last) => GroupEnd::Last,
            _ => return None,
        };
        Some((names.join("."), end))
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(GroupStream {
            table: Table::new(self.id.len(), self.fields.iter().map(|(_, accumulator)| accumulator)),
            stage: self,
            input: Some(input),
            env: env.clone(),
            next: 0,
            current: DocBuf::new(),
        })
    }
}

impl Id {
    /// How many values a key has.
    fn len(&self) -> usize {
        match self {
            Id::One(_) => 1,
            Id::Fields(fields) => fields.len(),
        }
    }

    fn append_to(&self, id: &[Option<OwnedValue>], builder: &mut Builder) {
        match self {
            Id::One(_) => {
                if let Some(Some(id)) = id.first() {
                    builder.append("_id", id.value());
                }
            }
            Id::Fields(fields) => {
                let open = builder.open_document("_id");
                for ((name, _), value) in fields.iter().zip(id) {
                    if let Some(value) = value {
                        builder.append(name.as_bytes(), value.value());
                    }
                }
                builder.close(open);
            }
        }
    }

    /// The key as a document, empty if it is none.
    fn document(&self, id: &[Option<OwnedValue>]) -> DocBuf {
        let mut builder = Builder::new();
        self.append_to(id, &mut builder);
        match builder.finish().doc().get("_id") {
            Some(Value::Document(id)) => DocBuf::from(id),
            _ => DocBuf::new(),
        }
    }
}

struct GroupStream {
    stage: Arc<Group>,
    input: Option<Box<dyn Stream>>,
    env: Environment,
    table: Table,
    next: usize,
    current: DocBuf,
}

impl GroupStream {
    fn fill(&mut self, mut input: Box<dyn Stream>) -> Result<()> {
        let stage = &*self.stage;
        let strings = match &stage.collation {
            None => Strings::Bytes,
            Some(collation) if stage.is_pushed_down && !stage.is_handed_back => Strings::CollatedWithSymbols(collation),
            Some(collation) => Strings::Collated(collation),
        };
        let has_limits = stage.fields.iter().any(|(_, accumulator)| accumulator.has_limit());
        let (mut key, mut known) = (Vec::new(), 0);
        let (table, env, mut found) = (&mut self.table, &self.env, FoundFields::default());
        input.drain(&mut |document, _| {
            stage.reads.find(document, &mut found);
            let scope = env.scope(document).with_found(&found).with_nulls_first(stage.is_pushed_down);
            key.clear();
            let place = match (&stage.key_fields, &stage.id) {
                (Some(fields), _) => {
                    // A missing value counts as null, but among several.
                    let part = |field: &usize| match found.get(document, *field) {
                        None if fields.len() == 1 => Some(Value::Null),
                        value => value,
                    };
                    for field in fields {
                        let bytes = found.get_bytes(document, *field);
                        if !bytes.is_some_and(|(kind, bytes)| canonical_key::append_bytes(kind, bytes, &mut key)) {
                            canonical_key::append_maybe(part(field), Strings::Bytes, &mut key);
                        }
                    }
                    table.place(&key, |id| id.extend(fields.iter().map(|field| part(field).map(OwnedValue::new))))
                }
                (None, Id::One(expression)) => {
                    let value = expression.evaluate(&scope)?;
                    let value = value.or_null();
                    canonical_key::append(&value, strings, &mut key);
                    table.place(&key, |id| id.push(Some(OwnedValue::new(value))))
                }
                (None, Id::Fields(fields)) => {
                    let values: Vec<Val<'_>> =
                        fields.iter().map(|(_, expression)| expression.evaluate(&scope)).collect::<Result<_>>()?;
                    let one = values.len() == 1;
                    let value = |v: &Val<'_>| if one { Some(OwnedValue::new(v.or_null())) } else { v.to_owned_value() };
                    for v in &values {
                        let held = if one { Some(v.or_null()) } else { v.get() };
                        canonical_key::append_maybe(held, strings, &mut key);
                    }
                    table.place(&key, |id| id.extend(values.iter().map(value)))
                }
            };
            let is_new = table.len() > known;
            known = table.len();
            let mut grown = 0;
            if let Some(Entry { id, states }) = table.get_mut(place) {
                if has_limits && is_new {
                    let id = stage.id.document(id);
                    let scope = env.scope(id.doc());
                    for ((_, accumulator), state) in stage.fields.iter().zip(states.iter_mut()) {
                        accumulator.begin(state, &scope)?;
                    }
                }
                for ((_, accumulator), state) in stage.fields.iter().zip(states) {
                    grown += accumulator.add_found(state, &found, &scope)?;
                }
            }
            table.grow(grown);
            env.check_memory("$group", table.used_bytes())?;
            env.check_interrupt()?;
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl Stream for GroupStream {
    fn advance(&mut self) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.fill(input)
                .map_err(|error| if self.stage.is_pushed_down { pushed_down::translate(error) } else { error })?;
            self.table.close();
        }
        let stage = &*self.stage;
        self.table.forget_before(self.next);
        let Some(Entry { id, states }) = self.table.get_mut(self.next) else {
            return Ok(false);
        };
        self.next += 1;
        let mut builder = Builder::new();
        stage.id.append_to(id, &mut builder);
        for ((name, accumulator), state) in stage.fields.iter().zip(states) {
            let state = std::mem::replace(state, State::Taken);
            if let Some(value) = accumulator.finish(state).get() {
                builder.append(name.as_bytes(), value);
            }
        }
        super::check_size(builder.len())?;
        self.current = builder.finish();
        Ok(true)
    }

    fn current(&self) -> Doc<'_> {
        self.current.doc()
    }
}
