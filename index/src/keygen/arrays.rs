//! Documents with arrays: the expansion into one key for each element.
//!
//! One step follows all unfinished paths from an object to values, to nothing, or to an array, which
//! must be the same one for all. The step is then repeated for each element of that array, with the
//! element as object. A path that goes on with a position of the array is followed from there at once,
//! and is the same for all elements.

use bindery_document::doc::EMPTY;
use bindery_document::{Doc, Element, Error, Kind, Result, Value, code};

use super::{Found, KeyField, KeyGenerator, Keys, find};
use crate::key::MAX_FIELDS;

/// A name that is both a position of an array and a field of one of its elements.
const AMBIGUOUS_POSITION: i32 = 16_746;
/// Patterns of so many fields are expanded with small frames.
const FEW_FIELDS: usize = 4;

/// A value in a key to be.
type Raw<'d> = (Kind, &'d [u8]);
const NULL: Raw<'static> = (Kind::Null, &[]);
const UNDEFINED: Raw<'static> = (Kind::Undefined, &[]);

/// How far one field has come.
#[derive(Clone, Copy)]
struct Slot<'d> {
    /// The next component; the path's length when it is finished.
    part: usize,
    value: Raw<'d>,
}

/// Where a path leads that goes on with a position of the array being expanded.
#[derive(Clone, Copy)]
struct Position<'d> {
    /// Whether the element at the position is itself an array.
    is_nested: bool,
    /// The value at the end of the path or the array on the way; `None` if the path leads nowhere.
    found: Option<(Raw<'d>, usize)>,
}

/// The positions of all fields that have one.
type Positions<'d, const N: usize> = [Option<Position<'d>>; N];

pub(super) fn generate(generator: &KeyGenerator, doc: Doc<'_>, keys: &mut Keys) -> Result<()> {
    if generator.pattern().fields().len() <= FEW_FIELDS {
        expand_document::<FEW_FIELDS>(generator, doc, keys)?;
    } else {
        expand_document::<MAX_FIELDS>(generator, doc, keys)?;
    }
    keys.finish();
    Ok(())
}

fn expand_document<const N: usize>(generator: &KeyGenerator, doc: Doc<'_>, keys: &mut Keys) -> Result<()> {
    let mut expansion = Expansion { generator, fields: generator.pattern().fields(), keys };
    expansion.expand([Slot { part: 0, value: NULL }; N], doc, 0, &[None; N])
}

struct Expansion<'e> {
    generator: &'e KeyGenerator,
    fields: &'e [KeyField],
    keys: &'e mut Keys,
}

impl Expansion<'_> {
    /// One step; `missing` counts the fields that were found to be missing so far.
    fn expand<'d, const N: usize>(
        &mut self,
        mut slots: [Slot<'d>; N],
        doc: Doc<'d>,
        mut missing: usize,
        positions: &Positions<'d, N>,
    ) -> Result<()> {
        let fields = self.fields;
        let mut array: Option<&'d [u8]> = None;
        let mut in_array = 0u32;
        let mut expands = true;
        for ((i, field), (slot, position)) in fields.iter().enumerate().zip(slots.iter_mut().zip(positions)) {
            if slot.part >= field.parts().len() {
                continue;
            }
            let found = match position {
                None => follow(doc, field, slot.part),
                Some(position) => {
                    if field.parts().get(slot.part).is_some_and(|name| doc.element(name).is_some()) {
                        return Err(ambiguous(field));
                    }
                    expands &= !position.is_nested;
                    position.found
                }
            };
            match found {
                None => {
                    *slot = Slot { part: field.parts().len(), value: NULL };
                    missing += 1;
                }
                Some(((Kind::Array, bytes), part)) => {
                    slot.part = part;
                    if array.is_some_and(|array| !std::ptr::eq(array, bytes)) {
                        return Err(self.parallel(field, in_array));
                    }
                    array = Some(bytes);
                    in_array |= 1 << i;
                }
                Some((value, part)) => *slot = Slot { part, value },
            }
        }
        match array {
            None => {
                self.add_key(&slots, missing);
                Ok(())
            }
            Some(array) => self.expand_array(slots, array, in_array, expands, missing),
        }
    }

    /// Repeats the step for the elements of an array that the fields in `in_array` lead to.
    fn expand_array<'d, const N: usize>(
        &mut self,
        slots: [Slot<'d>; N],
        bytes: &'d [u8],
        in_array: u32,
        expands: bool,
        missing: usize,
    ) -> Result<()> {
        let array = Doc::from_stored(bytes);
        let mut positions: Positions<'d, N> = [None; N];
        for ((i, field), (slot, position)) in self.fields.iter().enumerate().zip(slots.iter().zip(&mut positions)) {
            if in_array >> i & 1 == 0 {
                continue;
            }
            let Some(name) = field.parts().get(slot.part) else {
                // An array found at a position of another one is a value, and not multikey.
                if expands {
                    self.keys.mark_multikey(i, slot.part.saturating_sub(1));
                }
                continue;
            };
            // Arrays name their elements by number; no need to walk them for other names.
            let at_position = if name.first().is_some_and(u8::is_ascii_digit) { array.element(name) } else { None };
            match at_position {
                Some(element) => {
                    let found = follow(array, field, slot.part);
                    *position = Some(Position { is_nested: element.kind == Kind::Array, found });
                }
                // Nor does an empty one so found count, whatever path leads below it.
                None if array.is_empty() && !expands => {}
                None => self.keys.mark_multikey(i, slot.part.saturating_sub(1)),
            }
        }
        if array.is_empty() {
            let filled = self.fill(slots, in_array, UNDEFINED);
            return self.expand(filled, EMPTY, missing, &positions);
        }
        for element in array {
            let raw = (element.kind, element.bytes);
            let filled = self.fill(slots, in_array, if expands { raw } else { (Kind::Array, bytes) });
            let object = if element.kind == Kind::Document { Doc::from_stored(element.bytes) } else { EMPTY };
            self.expand(filled, object, missing, &positions)?;
        }
        Ok(())
    }

    /// Gives the fields that end at the array their value.
    fn fill<'d, const N: usize>(&self, mut slots: [Slot<'d>; N], in_array: u32, value: Raw<'d>) -> [Slot<'d>; N] {
        for ((i, field), slot) in self.fields.iter().enumerate().zip(&mut slots) {
            if in_array >> i & 1 == 1 && slot.part >= field.parts().len() {
                slot.value = value;
            }
        }
        slots
    }

    fn add_key(&mut self, slots: &[Slot<'_>], missing: usize) {
        if self.generator.is_sparse() && missing == self.fields.len() {
            return;
        }
        for (field, slot) in self.fields.iter().zip(slots) {
            let (kind, bytes) = slot.value;
            let value = Value::decode(kind, bytes).unwrap_or(Value::Null);
            self.keys.builder.append_field(&value, field.direction(), self.generator.collator());
        }
        self.keys.push();
    }

    fn parallel(&self, field: &KeyField, in_array: u32) -> Error {
        let other = self.fields.get(in_array.trailing_zeros() as usize).map_or("", KeyField::name);
        let message = format!("cannot index parallel arrays: '{}' and '{other}' lead to different ones", field.name());
        Error::new(code::CANNOT_INDEX_PARALLEL_ARRAYS, message)
    }
}

/// Follows a field's path from component `part` on.
fn follow<'d>(doc: Doc<'d>, field: &KeyField, part: usize) -> Option<(Raw<'d>, usize)> {
    let raw = |element: Element<'d>| (element.kind, element.bytes);
    match find(doc, field.parts(), part) {
        Found::Missing => None,
        Found::Value(element) => Some((raw(element), field.parts().len())),
        Found::Array(element, part) => Some((raw(element), part)),
    }
}

fn ambiguous(field: &KeyField) -> Error {
    let message =
        format!("'{}' is ambiguous: an array has both that position and an element with that field", field.name());
    Error::new(AMBIGUOUS_POSITION, message)
}
