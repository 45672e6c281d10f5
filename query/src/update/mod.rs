//! The update language: operators, replacement documents and pipelines, compiled once.
//!
//! ```text
//! parse    operator document -> tree of paths (tree) with an operator at each leaf (operator/)
//! apply    tree x document's bytes -> new document's bytes (apply); untouched ranges are copied whole
//! upsert   filter -> the document it describes (upsert) -> operators, `$setOnInsert` among them
//! ```
//!
//! [`Update::apply`] tells whether the document counts as modified (by each operator's own rule, which
//! is not always whether bytes differ), which paths were changed, and what range of bytes is enough to
//! patch when the length has stayed. Clocks, ids and stored data belong to the engine.
//!
//! Sources: MongoDB's manual, "Update Operators" and `update`; what it leaves open was asked of a real
//! server.

mod apply;
mod arithmetic;
mod array_filters;
mod changes;
mod limits;
mod operator;
mod path;
mod pipeline;
mod replacement;
mod tree;
mod upsert;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use bindery_document::{Doc, DocBuf, Error, Result, Value, code, order};

use array_filters::ArrayFilter;
use changes::FieldPath;
use operator::{Name, Operator, Rename};
use tree::{Node, ObjectNode};
use upsert::Equalities;

use crate::collation::Collation;
use crate::filter::{Filter, ParseContext};

pub use changes::{Changes, LeafSet};
pub use limits::{check_depth, check_inserted_size, check_updated_size};
pub use pipeline::{check_stage_names, check_stages_are_documents};
pub use replacement::check_id;

/// What an update is compiled with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How strings compare; `None` for byte order.
    pub collation: Option<Collation>,
    /// Whether all matching documents are updated; a replacement refuses it.
    pub multi: bool,
}

impl Options {
    /// The order of values under the collation.
    fn compare(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        match &self.collation {
            None => order::compare(a, b),
            Some(collation) => order::compare_with(a, b, &|x: &[u8], y: &[u8]| collation.compare(x, y)),
        }
    }
}

/// The time of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the epoch.
    pub date_ms: i64,
    /// Seconds and increment, as the two halves of a BSON timestamp.
    pub timestamp: u64,
}

/// A compiled update.
#[derive(Debug)]
pub struct Update {
    form: Form,
    options: Options,
}

#[derive(Debug)]
enum Form {
    Operators(Operators),
    Replacement(replacement::Replacement),
    Pipeline(pipeline::UpdatePipeline),
}

/// The operators of an update.
#[derive(Debug)]
struct Operators {
    root: ObjectNode,
    /// The path of each leaf, by its number.
    paths: Vec<FieldPath>,
    renames: Vec<operator::RenamePaths>,
    filters: Vec<ArrayFilter>,
    /// Whether the new document may be nested more deeply than is allowed, so that it must be walked.
    may_exceed_depth: bool,
}

/// What an update did to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Whether the document counts as modified; if not, there is nothing to store.
    pub modified: bool,
    /// What was changed.
    pub changes: Changes,
    /// What was not, but counts as modified if an index holds it ([`Update::touches`]).
    pub touched: LeafSet,
    /// If the new document has the old one's length: the range of bytes in which they differ. Writing
    /// these over the old ones is enough.
    pub patch: Option<Range<usize>>,
}

/// What operators see besides the value they change.
struct Context<'a> {
    options: &'a Options,
    now: Now,
    /// The array position that the query matched.
    matched: Option<usize>,
    /// Whether a document is being made, by an upsert.
    inserting: bool,
    /// Whether the `_id` must stay as it is.
    id_is_fixed: bool,
    /// What each `$rename` finds, by its number.
    renames: Vec<Rename<'a>>,
}

impl<'a> Context<'a> {
    fn rename(&self, number: usize) -> &Rename<'a> {
        self.renames.get(number).unwrap_or(&Rename::Missing)
    }
}

impl Update {
    /// Compiles an update that is a document: of operators, or a replacement. A pipeline is compiled by
    /// [`Update::parse_pipeline`].
    ///
    /// # Errors
    /// [`code::FAILED_TO_PARSE`] for a malformed update, for array filters that no path uses, and for a
    /// replacement of several documents; [`code::CONFLICTING_UPDATE_OPERATORS`] when two operators meet;
    /// those of paths ([`code::EMPTY_FIELD_NAME`], [`code::BAD_VALUE`]), of the operators and of queries.
    pub fn parse(update: Value<'_>, array_filters: &[Doc<'_>], options: Options) -> Result<Update> {
        let Value::Document(document) = update else {
            return Err(Error::new(
                code::FAILED_TO_PARSE,
                format!("an update is a document or a pipeline, not of type {}", update.kind().alias()),
            ));
        };
        let has_operators = document.first().is_some_and(|first| first.key.first() == Some(&b'$'));
        let form = if has_operators {
            Form::Operators(Operators::parse(document, array_filters, &options)?)
        } else if options.multi {
            return Err(Error::new(code::FAILED_TO_PARSE, "a replacement cannot be made of several documents"));
        } else {
            Form::Replacement(replacement::Replacement::new(document))
        };
        Ok(Update { form, options })
    }

    /// Compiles an update that is a pipeline; the context holds the variables of the command and the
    /// statement's constants.
    ///
    /// # Errors
    /// [`code::FAILED_TO_PARSE`] for array filters; [`code::INVALID_OPTIONS`] for stages that an update must not
    /// have; as [`check_stage_names`]; those of stages and expressions.
    pub fn parse_pipeline(
        pipeline: Doc<'_>,
        array_filters: &[Doc<'_>],
        options: Options,
        context: &mut ParseContext,
    ) -> Result<Update> {
        if !array_filters.is_empty() {
            return Err(Error::new(code::FAILED_TO_PARSE, "a pipeline has no use for array filters"));
        }
        let form = Form::Pipeline(pipeline::UpdatePipeline::parse(pipeline, context)?);
        Ok(Update { form, options })
    }

    /// Whether the update replaces documents whole.
    pub fn is_replacement(&self) -> bool {
        matches!(self.form, Form::Replacement(_))
    }

    /// Whether the update has an operator with a `$` in its path, which needs the position that the query
    /// matched.
    pub fn needs_position(&self) -> bool {
        match &self.form {
            Form::Operators(operators) => operators.root.has_matched(),
            Form::Replacement(_) | Form::Pipeline(_) => false,
        }
    }

    /// Applies the update to a stored document, writing the new one into `out`, whose content is dropped.
    ///
    /// `matched` is the array position that the query matched, if it went through an array.
    ///
    /// # Errors
    /// Those of the operators, [`code::PATH_NOT_VIABLE`], [`code::IMMUTABLE_FIELD`], and those of the limits
    /// of documents. `out` holds nothing of use then.
    pub fn apply(&self, doc: Doc<'_>, matched: Option<usize>, now: Now, out: &mut Vec<u8>) -> Result<Applied> {
        let mut touched = LeafSet::default();
        let (modified, changes) = match &self.form {
            Form::Operators(operators) => {
                let context = Context {
                    options: &self.options,
                    now,
                    matched,
                    inserting: false,
                    id_is_fixed: true,
                    renames: operators.find_renames(doc),
                };
                let done = apply::apply(operators, doc, &context, out)?;
                touched = done.touched;
                let changed = done.changed;
                if operators.may_exceed_depth && !changed.is_empty() {
                    check_depth(Doc::from_stored(out))?;
                }
                (!changed.is_empty(), Changes::Paths(changed))
            }
            Form::Replacement(replacement) => (replacement.apply(doc, now, out)?, Changes::Whole),
            Form::Pipeline(pipeline) => {
                let mut made = Vec::new();
                pipeline.apply(doc, &self.options, &mut made)?;
                let modified = replacement::keep_id(doc, Doc::from_stored(&made), out)?;
                check_depth(Doc::from_stored(out))?;
                (modified, Changes::Whole)
            }
        };
        check_updated_size(out.len())?;
        let patch = if modified { apply::patch_range(doc.as_bytes(), out) } else { None };
        Ok(Applied { modified, changes, touched, patch })
    }

    /// Makes the document that an upsert inserts when nothing matches the filter. Its `_id` stands first if
    /// the filter or the update gives one; else the caller makes one.
    ///
    /// The filter is to be in the order it was written in or canonical; both give the same. Where a canonical one
    /// matches nothing, it says nothing either: see [`Filter::parse_as_description`].
    ///
    /// # Errors
    /// As [`Update::apply`]; [`code::NOT_SINGLE_VALUE_FIELD`] when the filter contradicts itself,
    /// [`code::INVALID_ID_FIELD`] for an `_id` that cannot be one.
    pub fn upsert(&self, filter: &Filter, now: Now) -> Result<DocBuf> {
        let new = match &self.form {
            Form::Operators(operators) => {
                let equalities = Equalities::of(filter)?;
                let start = equalities.document();
                let context = Context {
                    options: &self.options,
                    now,
                    matched: None,
                    inserting: true,
                    id_is_fixed: equalities.mention_id(),
                    renames: operators.find_renames(start.doc()),
                };
                let mut out = Vec::new();
                apply::apply(operators, start.doc(), &context, &mut out)?;
                let new = DocBuf::from_stored(out);
                if equalities.mention_id() && new.doc().element(b"_id").is_none() {
                    return Err(Error::new(code::IMMUTABLE_FIELD, "the update would remove the '_id' of the query"));
                }
                check_depth(new.doc())?;
                id_first(new)
            }
            Form::Replacement(replacement) => {
                let equalities = Equalities::of_id(filter)?;
                if let Some(id @ Value::Array(_)) = equalities.id() {
                    return Err(array_id(&id));
                }
                replacement.insert(equalities.id(), now)?
            }
            Form::Pipeline(pipeline) => {
                let start = Equalities::of(filter)?.document();
                let (mut made, mut out) = (Vec::new(), Vec::new());
                pipeline.apply(start.doc(), &self.options, &mut made)?;
                let made = Doc::from_stored(&made);
                if let Some(id @ Value::Array(_)) = made.get("_id") {
                    return Err(array_id(&id));
                }
                replacement::keep_id(start.doc(), made, &mut out)?;
                let new = DocBuf::from_stored(out);
                check_depth(new.doc())?;
                new
            }
        };
        if let Some(id) = new.doc().element(b"_id") {
            check_id(&id.value())?;
        }
        check_inserted_size(new.as_bytes().len())?;
        Ok(new)
    }

    /// Whether a change can have touched what an index on this path (`a.b`, `a.$**`, `$**`) holds.
    pub fn touches(&self, changes: Changes, index_path: &str) -> bool {
        match (changes, &self.form) {
            (Changes::Paths(leaves), Form::Operators(operators)) => operators
                .paths
                .iter()
                .enumerate()
                .any(|(number, path)| leaves.may_hold(number) && path.meets(index_path)),
            _ => true,
        }
    }
}

/// That the `_id` of a document made by replacement or pipeline is an array.
fn array_id(id: &Value<'_>) -> Error {
    Error::new(code::NOT_SINGLE_VALUE_FIELD, format!("'_id' must not be of type {}", id.kind().alias()))
}

/// The document with its `_id`, if it has one, in front.
fn id_first(document: DocBuf) -> DocBuf {
    let doc = document.doc();
    match doc.element(b"_id") {
        Some(id) if doc.first().is_some_and(|first| first.key != b"_id") => {
            let mut out = bindery_document::Builder::new();
            out.append_element(id);
            for field in doc.iter().filter(|field| field.key != b"_id") {
                out.append_element(field);
            }
            out.finish()
        }
        _ => document,
    }
}

impl Operators {
    fn parse(update: Doc<'_>, array_filters: &[Doc<'_>], options: &Options) -> Result<Operators> {
        let filters = ArrayFilter::parse_all(array_filters, options)?;
        let mut used = vec![false; filters.len()];
        let mut renames = Vec::new();
        let mut root = Node::Object(ObjectNode::default());
        let mut paths_by_insertion: Vec<(Arc<Operator>, FieldPath, usize)> = Vec::new();
        for group in update {
            let name = Name::parse(group.key_str())?;
            let Value::Document(arguments) = group.value() else {
                return Err(Error::new(
                    code::FAILED_TO_PARSE,
                    format!("{} needs a document of fields, not {}", group.key_str(), group.kind.alias()),
                ));
            };
            for argument in arguments {
                let path = argument.key_str();
                let mut insert = |path: &str, parts: &[path::Part], operator: Operator| -> Result<()> {
                    let operator = Arc::new(operator);
                    root.insert(path, parts, Arc::clone(&operator), &mut |identifier| {
                        let number = filters.iter().position(|filter| *filter.identifier == *identifier);
                        let number = number.ok_or_else(|| {
                            Error::new(
                                code::BAD_VALUE,
                                format!("no array filter has the identifier '{identifier}' of the path '{path}'"),
                            )
                        })?;
                        used[number] = true;
                        Ok(number)
                    })?;
                    let names = parts.iter().filter_map(|part| match part {
                        path::Part::Name(name) => Some(&**name),
                        _ => None,
                    });
                    paths_by_insertion.push((operator, FieldPath::new(names), parts.len()));
                    Ok(())
                };
                let parts = path::parse(path)?;
                if name == Name::Rename {
                    // Conflicts of the source come before all that is wrong with the target.
                    let number = renames.len();
                    insert(path, &parts, Operator::RenameFrom(number))?;
                    let rename = operator::parse_rename(path, parts, argument.value())?;
                    let (to, to_parts) = rename.to();
                    insert(to, to_parts, Operator::RenameTo(number))?;
                    renames.push(rename);
                } else {
                    insert(path, &parts, Operator::parse(name, path, argument.value(), options)?)?;
                }
            }
        }
        if let Some((filter, _)) = filters.iter().zip(&used).find(|(_, used)| !**used) {
            return Err(Error::new(
                code::FAILED_TO_PARSE,
                format!("no path of the update uses the array filter '{}'", filter.identifier),
            ));
        }
        let may_exceed_depth = paths_by_insertion.iter().any(|(operator, _, parts)| {
            operator.depth().is_none_or(|depth| parts - 1 + depth > bindery_document::validate::MAX_STORED_DEPTH)
        });
        let mut paths = Vec::with_capacity(paths_by_insertion.len());
        root.number_leaves(0, &mut |leaf| {
            let path = paths_by_insertion.iter().find(|(operator, _, _)| Arc::ptr_eq(operator, &leaf.operator));
            paths.push(path.map_or_else(|| FieldPath::new(std::iter::empty()), |(_, path, _)| path.clone()));
        });
        let Node::Object(root) = root else {
            return Err(Error::new(code::INTERNAL_ERROR, "the root of an update is an object"));
        };
        Ok(Operators { root, paths, renames, filters, may_exceed_depth })
    }

    fn leaf_count(&self) -> usize {
        self.paths.len()
    }

    fn find_renames<'a>(&self, doc: Doc<'a>) -> Vec<Rename<'a>> {
        self.renames.iter().map(|rename| rename.find(doc)).collect()
    }
}

#[cfg(test)]
mod tests;
