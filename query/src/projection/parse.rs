//! From projection documents to trees.
//!
//! Whether a projection is an inclusion or an exclusion is decided by the first field that says so; the
//! others must agree. `_id` alone may differ. If nothing says so, `$slice` and `$meta` make an exclusion,
//! `$elemMatch` an inclusion.

use bindery_document::{Doc, Element, Error, Result, Value, code};

use super::elem_match::ElemMatch;
use super::slice::Slice;
use super::{Child, Language, Meta, Node, Projection, Rest};
use crate::collation::Collation;
use crate::expression::{self, Expression, check_length};

/// MongoDB's codes for malformed projections.
mod wrong {
    pub(super) const EMPTY_NAME: i32 = 15998;
    pub(super) const DOLLAR_NAME: i32 = 16410;
    pub(super) const EMPTY_PATH: i32 = 40352;
    pub(super) const TRAILING_DOT: i32 = 40353;
    pub(super) const BELOW_ANOTHER: i32 = 31249;
    pub(super) const ABOVE_OR_AT_ANOTHER: i32 = 31250;
    pub(super) const CONFLICT: i32 = 40176;
    pub(super) const ADDED_EMPTY_DOCUMENT: i32 = 40180;
    pub(super) const OPERATOR_BESIDE_OTHERS: i32 = 40181;
    pub(super) const EXPRESSION_IN_EXCLUSION: i32 = 31252;
    pub(super) const INCLUSION_IN_EXCLUSION: i32 = 31253;
    pub(super) const EXCLUSION_IN_INCLUSION: i32 = 31254;
    pub(super) const ELEM_MATCH_BESIDE_POSITION: i32 = 31255;
    pub(super) const POSITION_BESIDE_ELEM_MATCH: i32 = 31256;
    pub(super) const POSITION_WITH_DOCUMENT: i32 = 31271;
    pub(super) const NESTED_ELEM_MATCH: i32 = 31275;
    pub(super) const TWO_POSITIONS: i32 = 31276;
    pub(super) const POSITION_WITH_LITERAL: i32 = 31308;
    pub(super) const LITERAL_IN_EXCLUSION: i32 = 31310;
    pub(super) const POSITION_IN_AGGREGATION: i32 = 31324;
    pub(super) const UNKNOWN_EXPRESSION: i32 = 31325;
    pub(super) const POSITION_IN_THE_MIDDLE: i32 = 31394;
    pub(super) const POSITION_IN_EXCLUSION: i32 = 31395;
    pub(super) const EMPTY_DOCUMENT: i32 = 51270;
    pub(super) const EMPTY_PROJECTION: i32 = 51272;
    pub(super) const POSITION_OF_NOTHING: i32 = 5_392_900;
}

/// Compiles a projection of `find` or `$project`.
pub(super) fn projection(
    spec: Doc<'_>,
    language: Language,
    collation: Option<&Collation>,
    context: &mut expression::ParseContext,
    on_position: &dyn Fn() -> Result<()>,
) -> Result<Projection> {
    if spec.is_empty() && language == Language::Aggregate {
        return Err(Error::new(wrong::EMPTY_PROJECTION, "a projection needs at least one field"));
    }
    let mut parser = Parser {
        language,
        collation,
        context,
        on_position,
        root: Node::default(),
        is_inclusion: None,
        id: None,
        has_slice: false,
        has_elem_match: false,
        has_position: false,
        needs_sort_key: false,
    };
    parser.fields(spec, &mut Vec::new())?;
    if !parser.context.is_folding_deferred() {
        parser.root.fold()?;
    }
    Ok(parser.finish(spec.is_empty()))
}

/// Compiles the fields of `$addFields`.
pub(super) fn added_fields(spec: Doc<'_>, context: &mut expression::ParseContext) -> Result<Projection> {
    let mut root = Node::default();
    add_fields(spec, &mut Vec::new(), &mut root, context)?;
    Ok(sealed(root, Rest::Extended))
}

/// Compiles the exclusion of paths.
pub(super) fn excluding<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<Projection> {
    of_paths(paths, Rest::Kept, || Child::Drop)
}

/// Compiles the inclusion of paths.
pub(super) fn including<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<Projection> {
    of_paths(paths, Rest::Dropped, || Child::Keep)
}

fn of_paths<'p>(paths: impl IntoIterator<Item = &'p str>, rest: Rest, child: fn() -> Child) -> Result<Projection> {
    let mut root = Node::default();
    for path in paths {
        check_path(path)?;
        insert(&mut root, &path.split('.').collect::<Vec<_>>(), child())?;
    }
    Ok(sealed(root, rest))
}

fn sealed(mut root: Node, rest: Rest) -> Projection {
    root.seal();
    let position_path = if root.on_position { super::position::path(&root) } else { Vec::new() };
    Projection { needs_position: root.on_position, position_path, root, rest, needs_sort_key: false }
}

struct Parser<'p> {
    language: Language,
    collation: Option<&'p Collation>,
    context: &'p mut expression::ParseContext,
    /// What has to hold where the positional `$` is used.
    on_position: &'p dyn Fn() -> Result<()>,
    root: Node,
    /// Decided by the first field that says so.
    is_inclusion: Option<bool>,
    /// Whether `_id` as a whole is asked for or left out.
    id: Option<bool>,
    has_slice: bool,
    has_elem_match: bool,
    has_position: bool,
    needs_sort_key: bool,
}

impl Parser<'_> {
    /// Reads the fields of a document; `prefix` are the names above it.
    fn fields<'s>(&mut self, spec: Doc<'s>, prefix: &mut Vec<&'s str>) -> Result<()> {
        for element in spec {
            let path = element.key_str();
            if self.language == Language::Aggregate && path.ends_with(".$") {
                return Err(Error::new(
                    wrong::POSITION_IN_AGGREGATION,
                    "the positional '$' cannot be used in the aggregation language",
                ));
            }
            if self.language == Language::Find && path.contains(".$") {
                if let Some(array) = path.strip_suffix(".$") {
                    self.position(array, element, prefix)?;
                    continue;
                }
                if path.contains(".$.") {
                    return Err(Error::new(
                        wrong::POSITION_IN_THE_MIDDLE,
                        format!("the positional '$' must stand at the end of the path, not as in '{path}'"),
                    ));
                }
            }
            check_path(path)?;
            let above = prefix.len();
            prefix.extend(path.split('.'));
            check_length(prefix.len())?;
            self.field(element, prefix)?;
            prefix.truncate(above);
        }
        Ok(())
    }

    fn field<'s>(&mut self, element: Element<'s>, path: &mut Vec<&'s str>) -> Result<()> {
        match element.value() {
            value @ (Value::Boolean(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Double(_)
            | Value::Decimal128(_)) => {
                let included = value.is_truthy();
                // Paths that meet are told before fields of both kinds.
                insert(&mut self.root, path, if included { Child::Keep } else { Child::Drop })?;
                if path.as_slice() == ["_id"] {
                    self.id = Some(included);
                    Ok(())
                } else if included {
                    self.include(element.key_str())
                } else {
                    self.exclude(element.key_str())
                }
            }
            Value::Document(doc) => match doc.first() {
                None => Err(Error::new(
                    wrong::EMPTY_DOCUMENT,
                    format!("the projection of '{}' must not be an empty document", element.key_str()),
                )),
                Some(operator) if operator.key.first() == Some(&b'$') && doc.count() == 1 => {
                    self.operator(element, operator, path)
                }
                Some(_) => {
                    enter(&mut self.root, path)?;
                    self.fields(doc, path)
                }
            },
            value => {
                self.computed(value, path)?;
                self.compute(wrong::LITERAL_IN_EXCLUSION, element.key_str())
            }
        }
    }

    fn operator<'s>(&mut self, element: Element<'s>, operator: Element<'s>, path: &[&'s str]) -> Result<()> {
        if self.language == Language::Find {
            match operator.key {
                b"$slice" => {
                    // Where it meets another part it is tried as an expression too.
                    if let Some(slice) = Slice::parse(operator.value())
                        && insert(&mut self.root, path, Child::Slice(slice)).is_ok()
                    {
                        self.has_slice = true;
                        return Ok(());
                    }
                }
                b"$elemMatch" => {
                    let [field] = path else {
                        return Err(Error::new(
                            wrong::NESTED_ELEM_MATCH,
                            format!("$elemMatch cannot be used on the nested field '{}'", path.join(".")),
                        ));
                    };
                    ElemMatch::check(field, operator.value())?;
                    if self.has_position {
                        return Err(together(wrong::ELEM_MATCH_BESIDE_POSITION));
                    }
                    let elem_match = ElemMatch::parse(field, operator.value(), self.collation)?;
                    self.has_elem_match = true;
                    return insert(&mut self.root, path, Child::ElemMatch(Box::new(elem_match)));
                }
                b"$meta" => {
                    let meta = Meta::parse(operator.value())?;
                    self.needs_sort_key |= meta == Meta::SortKey;
                    return insert(&mut self.root, path, Child::Meta(meta));
                }
                _ => {}
            }
        }
        if operator.key == b"$elemMatch" {
            return Err(Error::new(code::INVALID_PIPELINE_OPERATOR, "$elemMatch is no operator of expressions"));
        }
        // Projections have a code of their own for an unknown operator, unless it stands inside a known one.
        if is_unknown(element.value()) {
            return Err(Error::new(
                wrong::UNKNOWN_EXPRESSION,
                format!("'{}' is no operator of expressions", operator.key_str()),
            ));
        }
        self.compute(wrong::EXPRESSION_IN_EXCLUSION, element.key_str())?;
        self.computed(element.value(), path)
    }

    /// Constant parts are evaluated when the whole projection has been read.
    fn computed(&mut self, value: Value<'_>, path: &[&str]) -> Result<()> {
        let expression = Expression::parse_unfolded(value, self.context)?;
        insert(&mut self.root, path, Child::Computed(Box::new(expression)))
    }

    fn compute(&mut self, error_code: i32, path: &str) -> Result<()> {
        if self.is_inclusion == Some(false) {
            return Err(Error::new(error_code, format!("an exclusion cannot compute '{path}'")));
        }
        self.is_inclusion = Some(true);
        Ok(())
    }

    /// `array.$`.
    fn position<'s>(&mut self, array: &'s str, element: Element<'s>, prefix: &[&'s str]) -> Result<()> {
        if !array.is_empty() {
            check_path(array)?;
        }
        match element.value() {
            value @ (Value::Boolean(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Double(_)
            | Value::Decimal128(_)) => {
                if !value.is_truthy() {
                    return Err(Error::new(wrong::POSITION_IN_EXCLUSION, "the positional '$' cannot be excluded"));
                }
            }
            Value::Document(_) => {
                return Err(Error::new(
                    wrong::POSITION_WITH_DOCUMENT,
                    "the positional '$' cannot be used with an expression or a document",
                ));
            }
            _ => {
                return Err(Error::new(
                    wrong::POSITION_WITH_LITERAL,
                    "the positional '$' cannot be used with a literal",
                ));
            }
        }
        if array.is_empty() {
            return Err(Error::new(wrong::POSITION_OF_NOTHING, "the positional '$' needs the path of an array"));
        }
        if self.has_position {
            return Err(Error::new(wrong::TWO_POSITIONS, "a projection may have one positional '$' only"));
        }
        if self.has_elem_match {
            return Err(together(wrong::POSITION_BESIDE_ELEM_MATCH));
        }
        (self.on_position)()?;
        let path: Vec<&str> = prefix.iter().copied().chain(array.split('.')).collect();
        insert(&mut self.root, &path, Child::Position)?;
        self.include(element.key_str())?;
        self.has_position = true;
        Ok(())
    }

    fn include(&mut self, path: &str) -> Result<()> {
        if self.is_inclusion == Some(false) {
            return Err(Error::new(wrong::INCLUSION_IN_EXCLUSION, format!("an exclusion cannot include '{path}'")));
        }
        self.is_inclusion = Some(true);
        Ok(())
    }

    fn exclude(&mut self, path: &str) -> Result<()> {
        if self.is_inclusion == Some(true) {
            return Err(Error::new(wrong::EXCLUSION_IN_INCLUSION, format!("an inclusion cannot exclude '{path}'")));
        }
        self.is_inclusion = Some(false);
        Ok(())
    }

    fn finish(mut self, is_empty: bool) -> Projection {
        let is_inclusion = self.is_inclusion.unwrap_or(match self.id {
            _ if is_empty => false,
            Some(true) => true,
            _ => self.has_elem_match && !self.has_slice,
        });
        let rest = if is_inclusion { Rest::Dropped } else { Rest::Kept };
        // `_id` as a whole is there only to be left out of an exclusion or kept by an inclusion.
        if self.id == Some(!is_inclusion) {
            self.root.children.retain(|(name, _)| **name != *"_id");
        }
        if is_inclusion && self.id.is_none() && !self.root.children.iter().any(|(name, _)| **name == *"_id") {
            self.root.children.push(("_id".into(), Child::Keep));
        }
        Projection { needs_sort_key: self.needs_sort_key, ..sealed(self.root, rest) }
    }
}

fn together(error_code: i32) -> Error {
    Error::new(error_code, "the positional '$' and $elemMatch cannot be used together")
}

/// Whether the value is an operator that expressions do not have.
fn is_unknown(value: Value<'_>) -> bool {
    let operator = value.as_document().and_then(|doc| doc.first());
    operator.is_some_and(|operator| expression::registry::find(operator.key_str()).is_none())
}

/// Reads the fields of a document of `$addFields`.
fn add_fields<'s>(
    spec: Doc<'s>,
    prefix: &mut Vec<&'s str>,
    root: &mut Node,
    context: &mut expression::ParseContext,
) -> Result<()> {
    for element in spec {
        let path = element.key_str();
        check_path(path)?;
        let above = prefix.len();
        prefix.extend(path.split('.'));
        match element.value() {
            Value::Document(doc) if doc.is_empty() => {
                return Err(Error::new(
                    wrong::ADDED_EMPTY_DOCUMENT,
                    format!("the field '{path}' cannot be set to an empty document, except by $literal"),
                ));
            }
            Value::Document(doc) if doc.iter().all(|field| field.key.first() != Some(&b'$')) => {
                add_fields(doc, prefix, root, context)?;
            }
            Value::Document(doc) if doc.count() > 1 => {
                return Err(Error::new(
                    wrong::OPERATOR_BESIDE_OTHERS,
                    format!("the expression of '{path}' must have one operator and nothing beside it"),
                ));
            }
            value => {
                let expression = Expression::parse(value, context)?;
                insert(root, prefix, Child::Computed(Box::new(expression)))
                    .map_err(|error| Error { code: wrong::CONFLICT, ..error })?;
            }
        }
        prefix.truncate(above);
    }
    Ok(())
}

/// Checks that a path is one of field names.
fn check_path(path: &str) -> Result<()> {
    let fault = |error_code, what: &str| Err(Error::new(error_code, format!("the path '{path}' {what}")));
    if path.is_empty() {
        return fault(wrong::EMPTY_PATH, "is empty");
    }
    if path.ends_with('.') {
        return fault(wrong::TRAILING_DOT, "ends with a dot");
    }
    check_length(path.split('.').count())?;
    for name in path.split('.') {
        if name.is_empty() {
            return fault(wrong::EMPTY_NAME, "has an empty name in it");
        }
        // Those of references and of metadata are names of fields like others.
        if name.starts_with('$') && !matches!(name, "$ref" | "$id" | "$db" | "$recordId" | "$sortKey") {
            return fault(wrong::DOLLAR_NAME, "has a name that starts with a dollar sign");
        }
    }
    Ok(())
}

/// Makes sure that fields may be named below a path.
fn enter(node: &mut Node, path: &[&str]) -> Result<()> {
    let Some((name, below)) = path.split_first() else {
        return Ok(());
    };
    let at = match node.children.iter().position(|(other, _)| **other == **name) {
        Some(at) => at,
        None => {
            node.children.push(((*name).into(), Child::Node(Node::default())));
            node.children.len() - 1
        }
    };
    match &mut node.children[at].1 {
        Child::Node(inner) => enter(inner, below),
        _ => Err(meets(name, if below.is_empty() { wrong::ABOVE_OR_AT_ANOTHER } else { wrong::BELOW_ANOTHER })),
    }
}

fn meets(name: &str, error_code: i32) -> Error {
    Error::new(error_code, format!("two parts of the projection meet at '{name}'"))
}

/// Puts what is done with a field at the end of its path.
fn insert(node: &mut Node, path: &[&str], child: Child) -> Result<()> {
    let Some((name, below)) = path.split_first() else {
        return Ok(());
    };
    let existing = node.children.iter().position(|(other, _)| **other == **name);
    match (existing, below.is_empty()) {
        (Some(_), true) => Err(meets(name, wrong::ABOVE_OR_AT_ANOTHER)),
        (None, true) => {
            node.children.push(((*name).into(), child));
            Ok(())
        }
        (Some(at), false) => match &mut node.children[at].1 {
            Child::Node(inner) => insert(inner, below, child),
            _ => Err(meets(name, wrong::BELOW_ANOTHER)),
        },
        (None, false) => {
            let mut inner = Node::default();
            insert(&mut inner, below, child)?;
            node.children.push(((*name).into(), Child::Node(inner)));
            Ok(())
        }
    }
}
