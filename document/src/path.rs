//! Dotted paths, and what they lead to in a document.
//!
//! A path such as `a.b.0` is parsed once and then walked over raw documents. MongoDB's rules for arrays
//! on the way differ between questions, so there are two walks:
//!
//! - [`Path::visit`] is the filters' walk. An array in the middle is entered implicitly (once: an
//!   array directly inside an array is not, unless a position led to it), every embedded document in it is asked for the rest, and a
//!   component of digits is tried both as a field name and as a position. An array at the end gives its
//!   elements and then itself, or only itself ([`Leaf`]).
//! - [`Path::extract`] is `distinct`'s walk: it takes digits after an array as a position only, and
//!   reports nothing for what is missing.
//!
//! | document | path | `visit` with [`Leaf::Elements`] |
//! |---|---|---|
//! | `{a: 5}` | `a` | 5 |
//! | `{a: [5, 6]}` | `a` | 5 (at 0), 6 (at 1), `[5, 6]` |
//! | `{a: [{b: 1}, {c: 2}, 7]}` | `a.b` | 1 (at 0), missing (at 1) |
//! | `{a: [[1, 2], 3]}` | `a.0` | `[1, 2]`, which is not entered |
//! | `{a: 5}`, `{}` | `a.b` | missing |
//! | `{a: []}`, `{a: [7]}` | `a.b` | nothing |
//!
//! Sources: MongoDB's manual, "Query an Array" and "Query an Array of Embedded Documents"; the finer
//! points were asked of a real server. What an answer means is left to the caller.

use std::fmt;
use std::ops::ControlFlow;

use crate::doc::{stored_size, zero_bytes};
use crate::{Doc, Element, Kind};

/// A parsed dotted path. Any text is a path: empty components are fields with an empty name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    dotted: Box<str>,
    components: Box<[Component]>,
}

/// One name of a path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Component {
    name: Box<str>,
    is_numeric: bool,
    /// The first eight bytes of the name and its closing zero, little-endian, and which of them count.
    word: u64,
    mask: u64,
}

impl Component {
    pub(crate) fn new(name: &str) -> Component {
        let is_numeric = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        let mut bytes = [0; 8];
        let n_bytes = name.len().min(8);
        bytes[..n_bytes].copy_from_slice(&name.as_bytes()[..n_bytes]);
        // The closing zero counts where it fits.
        let mask = if n_bytes < 7 { (1 << (8 * (n_bytes + 1))) - 1 } else { u64::MAX };
        Component { name: name.into(), is_numeric, word: u64::from_le_bytes(bytes), mask }
    }

    /// The field name.
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name is all digits, so that it may mean a position in an array.
    #[inline]
    pub fn is_numeric(&self) -> bool {
        self.is_numeric
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name, f)
    }
}

/// What to do with an array at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Give each element and then the whole array.
    Elements,
    /// Give the array only.
    Whole,
}

/// One thing that a path leads to.
#[derive(Clone, Copy, Debug)]
pub struct Reached<'a> {
    /// The element; `None` where the path leads to nothing although its parent is there to be asked.
    pub element: Option<Element<'a>>,
    /// The position in the outermost array that was entered implicitly, if one was.
    pub position: Option<u32>,
}

/// What a path leads to, if no array has a say in it.
#[derive(Clone, Copy, Debug)]
pub enum Plain<'a> {
    /// Nothing.
    Missing,
    /// One value, which is no array.
    Found(Element<'a>),
    /// An array lies on the way or at the end.
    Array,
}

impl Path {
    /// Splits at the dots.
    pub fn parse(dotted: &str) -> Path {
        Path { dotted: dotted.into(), components: dotted.split('.').map(Component::new).collect() }
    }

    /// The path without components: the value itself, as conditions inside a value `$elemMatch` mean it.
    pub fn of_value() -> Path {
        Path { dotted: "".into(), components: Box::default() }
    }

    /// The path as it was written.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.dotted
    }

    /// The names, outermost first.
    #[inline]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The first name; empty for [`Path::of_value`].
    pub fn first(&self) -> &str {
        self.components.first().map_or("", Component::name)
    }

    /// Whether it is a single top-level field.
    #[inline]
    pub fn is_top_level(&self) -> bool {
        self.components.len() == 1
    }

    /// This path followed by another.
    pub fn join(&self, rest: &Path) -> Path {
        if self.components.is_empty() {
            return rest.clone();
        }
        if rest.components.is_empty() {
            return self.clone();
        }
        Path {
            dotted: format!("{}.{}", self.dotted, rest.dotted).into(),
            components: self.components.iter().chain(&rest.components).cloned().collect(),
        }
    }

    /// Whether this path is the other or leads to it (`a` and `a.b`, not `a` and `ab`).
    pub fn is_prefix_of(&self, other: &Path) -> bool {
        other.components.starts_with(&self.components)
    }

    /// Walks to everything the path leads to by the filters' rules, until the visitor breaks.
    #[inline]
    pub fn visit<'a, B, F>(&self, doc: Doc<'a>, leaf: Leaf, visitor: &mut F) -> ControlFlow<B>
    where
        F: FnMut(Reached<'a>) -> ControlFlow<B>,
    {
        // Most paths are one top-level name, and most values no arrays.
        if let [only] = &*self.components {
            return match find(doc, only) {
                Some(element) if element.kind == Kind::Array && leaf == Leaf::Elements => {
                    elements(element, None, visitor)
                }
                element => visitor(Reached { element, position: None }),
            };
        }
        walk(&self.components, doc, leaf, None, visitor)
    }

    /// The element that a path of one name leads to; `None` for a longer path, and where an array lies there.
    #[inline(always)]
    pub fn find_only<'a>(&self, doc: Doc<'a>) -> Option<Option<Element<'a>>> {
        let [only] = &*self.components else { return None };
        let element = find(doc, only);
        element.is_none_or(|element| element.kind != Kind::Array).then_some(element)
    }

    /// What the path leads to where no array lies on the way or at its end.
    #[inline]
    pub fn find_plain<'a>(&self, mut doc: Doc<'a>) -> Plain<'a> {
        let mut rest = &*self.components;
        while let Some((component, after)) = rest.split_first() {
            rest = after;
            match find(doc, component) {
                Some(element) if element.kind == Kind::Array => return Plain::Array,
                Some(element) if rest.is_empty() => return Plain::Found(element),
                Some(element) if element.kind == Kind::Document => doc = Doc::from_stored(element.bytes),
                _ => break,
            }
        }
        Plain::Missing
    }

    /// Walks to everything the path leads to by `distinct`'s rules: the elements of an array at the end
    /// instead of the array; digits right after an array are a position; a field whose name contains the
    /// dots wins. Missing values are not reported.
    pub fn extract<'a, F: FnMut(Element<'a>)>(&self, doc: Doc<'a>, visitor: &mut F) {
        extract(&self.dotted, doc, visitor);
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.dotted, f)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.dotted)
    }
}

/// An element whose key was read, and whose value was passed over without a look.
pub(crate) struct Passed<'a> {
    pub(crate) type_byte: u8,
    pub(crate) key: &'a [u8],
    pub(crate) bytes: &'a [u8],
    /// The first eight bytes from the key on, little-endian, where there are so many.
    word: Option<u64>,
}

impl Passed<'_> {
    /// Whether the key is this name.
    #[inline(always)]
    pub(crate) fn is_named(&self, component: &Component) -> bool {
        match self.word {
            // With its closing zero, a short name is in the word as a whole.
            Some(word) => {
                word & component.mask == component.word
                    && (component.name.len() < 8 || self.key == component.name.as_bytes())
            }
            None => self.key == component.name.as_bytes(),
        }
    }
}

/// Passes over the first of these elements. Most keys, with their closing zero, fit the eight bytes that are
/// read at once.
#[inline(always)]
pub(crate) fn pass_over<'a>(rest: &mut &'a [u8]) -> Option<Passed<'a>> {
    let (&type_byte, after_type) = rest.split_first()?;
    let (key_length, word) = match after_type.first_chunk::<8>() {
        Some(chunk) => {
            let word = u64::from_le_bytes(*chunk);
            let zeros = zero_bytes(word);
            let length = if zeros != 0 {
                zeros.trailing_zeros() as usize / 8
            } else {
                8 + after_type[8..].iter().position(|&b| b == 0)?
            };
            (length, Some(word))
        }
        None => (after_type.iter().position(|&b| b == 0)?, None),
    };
    let value = after_type.get(key_length + 1..)?;
    let (bytes, more) = value.split_at_checked(stored_size(type_byte, value)?)?;
    *rest = more;
    Some(Passed { type_byte, key: &after_type[..key_length], bytes, word })
}

/// The bytes of a document's elements.
#[inline(always)]
pub(crate) fn elements_of(doc: Doc<'_>) -> Option<&[u8]> {
    let bytes = doc.as_bytes();
    bytes.get(4..bytes.len().checked_sub(1)?)
}

/// The first element with this key.
#[inline(always)]
fn find<'a>(doc: Doc<'a>, component: &Component) -> Option<Element<'a>> {
    let mut rest = elements_of(doc)?;
    loop {
        let passed = pass_over(&mut rest)?;
        if passed.is_named(component) {
            return Some(Element { key: passed.key, kind: Kind::from_byte(passed.type_byte)?, bytes: passed.bytes });
        }
    }
}

/// Follows embedded documents up to the end of the path or the first array.
fn walk<'a, B, F>(
    components: &[Component],
    mut doc: Doc<'a>,
    leaf: Leaf,
    position: Option<u32>,
    visitor: &mut F,
) -> ControlFlow<B>
where
    F: FnMut(Reached<'a>) -> ControlFlow<B>,
{
    let mut rest = components;
    while let Some((component, after)) = rest.split_first() {
        rest = after;
        let found = find(doc, component);
        match found {
            Some(element) if rest.is_empty() => {
                return match (element.kind, leaf) {
                    (Kind::Array, Leaf::Elements) => elements(element, position, visitor),
                    _ => visitor(Reached { element: found, position }),
                };
            }
            Some(element) if element.kind == Kind::Document => doc = Doc::from_stored(element.bytes),
            Some(element) if element.kind == Kind::Array => {
                return enter(rest, Doc::from_stored(element.bytes), leaf, position, visitor);
            }
            _ => break,
        }
    }
    visitor(Reached { element: None, position })
}

/// Asks each element of an array in the middle of a path for the rest of it.
fn enter<'a, B, F>(
    rest: &[Component],
    array: Doc<'a>,
    leaf: Leaf,
    position: Option<u32>,
    visitor: &mut F,
) -> ControlFlow<B>
where
    F: FnMut(Reached<'a>) -> ControlFlow<B>,
{
    let Some((next, after)) = rest.split_first() else {
        return ControlFlow::Continue(());
    };
    for (index, element) in (0..).zip(array) {
        if element.kind == Kind::Document {
            walk(rest, Doc::from_stored(element.bytes), leaf, position.or(Some(index)), visitor)?;
        }
        if next.is_numeric && element.key == next.name.as_bytes() {
            // A position that was asked for by number is no implicit one, so it is not reported.
            let inner = Doc::from_stored(element.bytes);
            match element.kind {
                _ if after.is_empty() => visitor(Reached { element: Some(element), position })?,
                Kind::Document => walk(after, inner, leaf, position, visitor)?,
                Kind::Array => enter(after, inner, leaf, position, visitor)?,
                _ => {}
            }
        }
    }
    ControlFlow::Continue(())
}

/// Gives an array's elements, then the array.
fn elements<'a, B, F>(array: Element<'a>, position: Option<u32>, visitor: &mut F) -> ControlFlow<B>
where
    F: FnMut(Reached<'a>) -> ControlFlow<B>,
{
    for (index, element) in (0..).zip(Doc::from_stored(array.bytes)) {
        visitor(Reached { element: Some(element), position: position.or(Some(index)) })?;
    }
    visitor(Reached { element: Some(array), position })
}

fn extract<'a, F: FnMut(Element<'a>)>(path: &str, doc: Doc<'a>, visitor: &mut F) {
    if let Some(element) = doc.element(path.as_bytes()) {
        if element.kind == Kind::Array {
            Doc::from_stored(element.bytes).iter().for_each(visitor);
        } else {
            visitor(element);
        }
        return;
    }
    let Some((first, rest)) = path.split_once('.') else {
        return;
    };
    let Some(element) = doc.element(first.as_bytes()) else {
        return;
    };
    let inner = Doc::from_stored(element.bytes);
    match element.kind {
        Kind::Document => extract(rest, inner, visitor),
        Kind::Array if Component::new(rest.split('.').next().unwrap_or_default()).is_numeric => {
            extract(rest, inner, visitor);
        }
        Kind::Array => {
            for element in inner {
                if matches!(element.kind, Kind::Document | Kind::Array) {
                    extract(rest, Doc::from_stored(element.bytes), visitor);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocBuf;
    use bson::{Document, doc};

    /// What the walk gives, as text: values with `@position`, `-` for missing.
    fn visited(document: Document, path: &str, leaf: Leaf) -> Vec<String> {
        let document = DocBuf::from_bson(&document).expect("document");
        let mut seen = Vec::new();
        let _ = Path::parse(path).visit(document.doc(), leaf, &mut |reached: Reached<'_>| {
            let value = reached.element.map_or("-".to_owned(), |e| bson_value(&e).into_relaxed_extjson().to_string());
            seen.push(reached.position.map_or(value.clone(), |p| format!("{value}@{p}")));
            ControlFlow::<()>::Continue(())
        });
        seen
    }

    fn bson_value(element: &Element<'_>) -> bson::Bson {
        let mut builder = crate::Builder::new();
        builder.append_bytes(b"v", element.kind, element.bytes);
        let bytes = builder.finish().into_bytes();
        let document = bson::Document::from_reader(&bytes[..]).expect("document");
        document.get("v").cloned().expect("v")
    }

    fn extracted(document: Document, path: &str) -> Vec<String> {
        let document = DocBuf::from_bson(&document).expect("document");
        let mut seen = Vec::new();
        Path::parse(path).extract(document.doc(), &mut |e| {
            seen.push(bson_value(&e).into_relaxed_extjson().to_string());
        });
        seen
    }

    #[test]
    fn scalars_and_missing_fields_give_one_answer() {
        assert_eq!(visited(doc! {"a": 5}, "a", Leaf::Elements), ["5"]);
        assert_eq!(visited(doc! {"a": 5}, "b", Leaf::Elements), ["-"]);
        assert_eq!(visited(doc! {"a": 5}, "a.b", Leaf::Elements), ["-"]);
        assert_eq!(visited(doc! {"a": {"b": 5}}, "a.b", Leaf::Elements), ["5"]);
        assert_eq!(visited(doc! {"a": {"b": 5}}, "a.b.c", Leaf::Elements), ["-"]);
    }

    #[test]
    fn a_last_array_gives_elements_and_then_itself() {
        assert_eq!(visited(doc! {"a": [5, 6]}, "a", Leaf::Elements), ["5@0", "6@1", "[5,6]"]);
        assert_eq!(visited(doc! {"a": [5, 6]}, "a", Leaf::Whole), ["[5,6]"]);
        assert_eq!(visited(doc! {"a": [[1], 2]}, "a", Leaf::Elements), ["[1]@0", "2@1", "[[1],2]"]);
    }

    #[test]
    fn a_middle_array_is_entered_once() {
        let document = doc! {"a": [{"b": 1}, {"c": 2}, 7, [{"b": 3}]]};
        assert_eq!(visited(document, "a.b", Leaf::Elements), ["1@0", "-@1"]);
        assert_eq!(visited(doc! {"a": [{"b": [1, 2]}]}, "a.b", Leaf::Elements), ["1@0", "2@0", "[1,2]@0"]);
        assert!(visited(doc! {"a": []}, "a.b", Leaf::Elements).is_empty());
        assert!(visited(doc! {"a": [7]}, "a.b", Leaf::Elements).is_empty());
    }

    #[test]
    fn digits_are_a_position_and_a_name() {
        assert_eq!(visited(doc! {"a": [5, 6]}, "a.1", Leaf::Elements), ["6"]);
        assert_eq!(visited(doc! {"a": [[1, 2], 3]}, "a.0", Leaf::Elements), ["[1,2]"]);
        assert_eq!(visited(doc! {"a": [{"0": 9}, 3]}, "a.0", Leaf::Elements), ["9@0", "{\"0\":9}"]);
        assert_eq!(visited(doc! {"a": [{"b": 1}]}, "a.0.b", Leaf::Elements), ["-@0", "1"]);
        assert_eq!(visited(doc! {"a": {"b": [1, 2]}}, "a.b.0", Leaf::Elements), ["1"]);
        assert_eq!(visited(doc! {"a": [[{"b": 5}]]}, "a.0.b", Leaf::Elements), ["5@0"]);
        assert_eq!(visited(doc! {"a": [[{"b": 5}]]}, "a.0.0.b", Leaf::Elements), ["-@0", "5"]);
        assert!(visited(doc! {"a": [[]]}, "a.0.b", Leaf::Elements).is_empty());
        assert!(visited(doc! {"a": [5]}, "a.00", Leaf::Elements).is_empty());
        assert_eq!(visited(doc! {"a": {"0": 5}}, "a.0", Leaf::Elements), ["5"]);
    }

    #[test]
    fn distinct_takes_digits_after_an_array_as_a_position() {
        assert_eq!(extracted(doc! {"a": [{"0": 9}, 3]}, "a.0"), ["{\"0\":9}"]);
        assert_eq!(extracted(doc! {"a": [{"b": [1, 2]}, {"b": 3}, {}]}, "a.b"), ["1", "2", "3"]);
        assert!(extracted(doc! {"a": [[{"b": 1}]]}, "a.b").is_empty());
        assert!(extracted(doc! {"a": []}, "a").is_empty());
        assert!(extracted(doc! {"b": 1}, "a").is_empty());
    }

    #[test]
    fn plain_values_are_those_without_arrays() {
        let found = |document: Document, path: &str| {
            let document = DocBuf::from_bson(&document).expect("document");
            match Path::parse(path).find_plain(document.doc()) {
                Plain::Missing => "missing".to_owned(),
                Plain::Array => "array".to_owned(),
                Plain::Found(element) => bson_value(&element).into_relaxed_extjson().to_string(),
            }
        };
        assert_eq!(found(doc! {"a": {"b": 5}}, "a.b"), "5");
        assert_eq!(found(doc! {"a": {"b": 5}}, "a.b.c"), "missing");
        assert_eq!(found(doc! {"a": {"b": 5}}, "a.c"), "missing");
        assert_eq!(found(doc! {"a": {"long_name": [5]}}, "a.long_name"), "array");
        assert_eq!(found(doc! {"a": []}, "a.b"), "array");
    }

    #[test]
    fn paths_join_and_contain_each_other() {
        let (a, b, ab) = (Path::parse("a"), Path::parse("b"), Path::parse("a.b"));
        assert_eq!(a.join(&b), ab);
        assert_eq!(Path::of_value().join(&a), a);
        assert!(a.is_prefix_of(&ab) && !b.is_prefix_of(&ab) && !a.is_prefix_of(&Path::parse("ab")));
    }
}
