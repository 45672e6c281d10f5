//! The update operators: one file for each, compiled from their arguments once.
//!
//! An operator sees one value, or its absence, and writes what is to stand there; paths, arrays of
//! positions and the rest of the document are the business of [`super::apply`].
//!
//! Each file has the operator's argument as a type with `parse`, and functions that write the new
//! value. Which operators create a missing field, and which pass in silence over a path that cannot
//! be followed, is told here, in [`Operator::creates`] and [`Operator::passes_over`].

mod add_to_set;
mod bit;
mod current_date;
mod min_max;
mod number;
mod pop;
mod pull;
mod pull_all;
mod push;
mod rename;
mod set;

use bindery_document::{Builder, Element, Error, Kind, OwnedValue, Result, Value, code};

use super::{Context, Options};

pub(super) use rename::{Paths as RenamePaths, Rename, parse as parse_rename};

/// The operators by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    AddToSet,
    Bit,
    CurrentDate,
    Inc,
    Max,
    Min,
    Mul,
    Pop,
    Pull,
    PullAll,
    Push,
    Rename,
    Set,
    SetOnInsert,
    Unset,
}

impl Name {
    /// The operator of this name.
    ///
    /// # Errors
    /// [`code::FAILED_TO_PARSE`] for a name that is none.
    pub(super) fn parse(name: &str) -> Result<Name> {
        Ok(match name {
            "$addToSet" => Name::AddToSet,
            "$bit" => Name::Bit,
            "$currentDate" => Name::CurrentDate,
            "$inc" => Name::Inc,
            "$max" => Name::Max,
            "$min" => Name::Min,
            "$mul" => Name::Mul,
            "$pop" => Name::Pop,
            "$pull" => Name::Pull,
            "$pullAll" => Name::PullAll,
            "$push" => Name::Push,
            "$rename" => Name::Rename,
            "$set" => Name::Set,
            "$setOnInsert" => Name::SetOnInsert,
            "$unset" => Name::Unset,
            other => {
                return Err(Error::new(
                    code::FAILED_TO_PARSE,
                    format!("'{other}' is no update operator; a pipeline of stages is given as an array"),
                ));
            }
        })
    }
}

/// An operator with its argument.
#[derive(Debug)]
pub(super) enum Operator {
    AddToSet(add_to_set::AddToSet),
    Bit(bit::Bit),
    CurrentDate(current_date::CurrentDate),
    Inc(number::Operand),
    Max(OwnedValue),
    Min(OwnedValue),
    Mul(number::Operand),
    Pop(pop::Pop),
    Pull(pull::Pull),
    PullAll(pull_all::PullAll),
    Push(push::Push),
    /// At the place that a `$rename` takes a field from; the number is that of the rename.
    RenameFrom(usize),
    /// At the place that a `$rename` moves a field to.
    RenameTo(usize),
    Set(OwnedValue),
    SetOnInsert(OwnedValue),
    Unset,
}

/// What an operator did with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing: the field stays as it is, and the caller copies it.
    Unchanged,
    /// As `Unchanged`, but the document counts as modified if an index holds the field.
    Touched,
    /// The field goes.
    Removed,
    /// The new field has been written.
    Written,
}

impl Operator {
    /// Compiles an operator's argument; `$rename` is compiled with its paths, see [`rename::parse`].
    ///
    /// # Errors
    /// Those of the operator, see its file.
    pub(super) fn parse(name: Name, path: &str, argument: Value<'_>, options: &Options) -> Result<Operator> {
        Ok(match name {
            Name::AddToSet => Operator::AddToSet(add_to_set::AddToSet::parse(argument, options)?),
            Name::Bit => Operator::Bit(bit::Bit::parse(path, argument)?),
            Name::CurrentDate => Operator::CurrentDate(current_date::CurrentDate::parse(path, argument)?),
            Name::Inc => Operator::Inc(number::Operand::parse(path, argument)?),
            Name::Max => Operator::Max(OwnedValue::new(argument)),
            Name::Min => Operator::Min(OwnedValue::new(argument)),
            Name::Mul => Operator::Mul(number::Operand::parse(path, argument)?),
            Name::Pop => Operator::Pop(pop::Pop::parse(path, argument)?),
            Name::Pull => Operator::Pull(pull::Pull::parse(argument, options)?),
            Name::PullAll => Operator::PullAll(pull_all::PullAll::parse(argument)?),
            Name::Push => Operator::Push(push::Push::parse(path, argument)?),
            Name::Set => Operator::Set(OwnedValue::new(argument)),
            Name::SetOnInsert => Operator::SetOnInsert(OwnedValue::new(argument)),
            Name::Unset => Operator::Unset,
            Name::Rename => {
                return Err(Error::new(code::INTERNAL_ERROR, "$rename is compiled with both of its paths"));
            }
        })
    }

    /// Applies the operator to a field that is there, writing the new one under the same key.
    ///
    /// # Errors
    /// [`code::TYPE_MISMATCH`] or [`code::BAD_VALUE`] when the field's value does not suit the operator.
    pub(super) fn update(&self, field: Element<'_>, context: &Context<'_>, out: &mut Builder) -> Result<Outcome> {
        match self {
            Operator::AddToSet(operator) => operator.update(field, context, out),
            Operator::Bit(operator) => operator.update(field, out),
            Operator::CurrentDate(operator) => {
                operator.write(field.key, context, out);
                Ok(Outcome::Written)
            }
            Operator::Inc(operand) => operand.add_to(field, out),
            Operator::Max(value) => Ok(min_max::replace_if_less(field, value, context, out)),
            Operator::Min(value) => Ok(min_max::replace_if_greater(field, value, context, out)),
            Operator::Mul(operand) => operand.multiply(field, out),
            Operator::Pop(operator) => operator.update(field, out),
            Operator::Pull(operator) => operator.update(field, context, out),
            Operator::PullAll(operator) => operator.update(field, context, out),
            Operator::Push(operator) => operator.update(field, context, out),
            Operator::RenameFrom(number) => Ok(rename::take(context.rename(*number))),
            Operator::RenameTo(number) => rename::put(field.key, context.rename(*number), out),
            Operator::Set(value) => Ok(set::replace(field, value, out)),
            Operator::SetOnInsert(value) if context.inserting => Ok(set::replace(field, value, out)),
            Operator::SetOnInsert(_) => Ok(Outcome::Unchanged),
            Operator::Unset => Ok(Outcome::Removed),
        }
    }

    /// Writes a new field where there is none; only for an operator that [creates](Operator::creates).
    ///
    /// # Errors
    /// Those of a `$rename` whose paths turned out to be wrong.
    pub(super) fn create(&self, key: &[u8], context: &Context<'_>, out: &mut Builder) -> Result<Outcome> {
        match self {
            Operator::AddToSet(operator) => operator.create(key, out),
            Operator::Bit(operator) => operator.create(key, out),
            Operator::CurrentDate(operator) => operator.write(key, context, out),
            Operator::Inc(operand) => operand.create_sum(key, out),
            Operator::Mul(operand) => operand.create_product(key, out),
            Operator::Push(operator) => operator.create(key, context, out),
            Operator::RenameTo(number) => return rename::put(key, context.rename(*number), out),
            Operator::Max(value) | Operator::Min(value) | Operator::Set(value) => {
                out.append_bytes(key, value.kind(), value.bytes());
            }
            Operator::SetOnInsert(value) if context.inserting => out.append_bytes(key, value.kind(), value.bytes()),
            Operator::SetOnInsert(_)
            | Operator::Pop(_)
            | Operator::Pull(_)
            | Operator::PullAll(_)
            | Operator::RenameFrom(_)
            | Operator::Unset => return Ok(Outcome::Unchanged),
        }
        Ok(Outcome::Written)
    }

    /// Whether the operator makes a field that is missing.
    pub(super) fn creates(&self, context: &Context<'_>) -> bool {
        match self {
            Operator::SetOnInsert(_) => context.inserting,
            Operator::RenameTo(number) => !matches!(context.rename(*number), Rename::Missing),
            Operator::Pop(_) | Operator::Pull(_) | Operator::PullAll(_) | Operator::RenameFrom(_) | Operator::Unset => {
                false
            }
            _ => true,
        }
    }

    /// Whether the operator does nothing, rather than fail, when a scalar stands in the way of its path.
    pub(super) fn passes_over(&self, context: &Context<'_>) -> bool {
        match self {
            Operator::Unset | Operator::RenameFrom(_) => true,
            Operator::SetOnInsert(_) | Operator::RenameTo(_) => !self.creates(context),
            _ => false,
        }
    }

    /// What is wrong with the target of a `$rename`, whatever stands in its way.
    ///
    /// # Errors
    /// Why the rename must not be done.
    pub(super) fn check_target(&self, context: &Context<'_>) -> Result<()> {
        match self {
            Operator::RenameTo(number) => match context.rename(*number) {
                Rename::Refused(error) => Err(error.clone()),
                Rename::Missing | Rename::Found(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whether the operator takes out of an array and never puts in.
    pub(super) fn only_shortens(&self) -> bool {
        matches!(self, Operator::Pop(_) | Operator::Pull(_) | Operator::PullAll(_))
    }

    /// The deepest value that the operator may write, in levels below it; `None` if the document decides.
    pub(super) fn depth(&self) -> Option<usize> {
        let of = |value: &OwnedValue| match value.value() {
            Value::Document(doc) | Value::Array(doc) => 1 + bindery_document::validate::depth(doc),
            _ => 0,
        };
        match self {
            Operator::Max(value) | Operator::Min(value) | Operator::Set(value) | Operator::SetOnInsert(value) => {
                Some(of(value))
            }
            Operator::AddToSet(operator) => Some(1 + operator.values().iter().map(of).max().unwrap_or(0)),
            Operator::Push(operator) => Some(1 + operator.values().iter().map(of).max().unwrap_or(0)),
            Operator::RenameTo(_) => None,
            _ => Some(0),
        }
    }
}

/// The values of an array, to be rearranged and written under new indexes.
type Items<'a> = Vec<(Kind, &'a [u8])>;

/// The values of a field that must be an array.
///
/// # Errors
/// The code given, when it is none.
fn array_items<'a>(field: Element<'a>, operator: &str, error_code: i32) -> Result<Items<'a>> {
    match field.value() {
        Value::Array(array) => Ok(array.iter().map(|item| (item.kind, item.bytes)).collect()),
        other => Err(Error::new(
            error_code,
            format!("{operator} needs an array, but '{}' is of type {}", field.key_str(), other.kind().alias()),
        )),
    }
}

/// Writes an array of these values.
fn write_items(key: &[u8], items: &[(Kind, &[u8])], out: &mut Builder) {
    let open = out.open_array(key);
    let mut digits = [0; 20];
    for (index, (kind, bytes)) in items.iter().enumerate() {
        out.append_bytes(bindery_document::build::index_key(index, &mut digits), *kind, bytes);
    }
    out.close(open);
}

/// A stored item as a value.
fn item_value<'a>((kind, bytes): &(Kind, &'a [u8])) -> Value<'a> {
    Value::decode(*kind, bytes).unwrap_or(Value::Null)
}
