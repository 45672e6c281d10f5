//! Projections: which fields of a document are given back, and what is computed beside them.
//!
//! ```text
//! parse   {a: 1, "b.c": 1, n: "$x"} -> a tree of fields, with MongoDB's rules for what may be mixed
//! apply   tree x document's bytes -> new document's bytes; what is kept is copied, not decoded
//! ```
//!
//! One tree serves `find` and the stages `$project`, `$unset`, `$addFields` and `$set`: they differ in what
//! becomes of fields that are not named ([`Rest`]) and in what may be written ([`Language`]). Names in a
//! path are field names only, numbers too; arrays are gone through, nested ones as well.
//!
//! Several projections one after another (stages of a pipeline) are run on a [`Slotted`] document.
//!
//! Order of the result: fields that are kept stand where they stood; computed ones follow in the order they
//! were written in, except that a field which is kept otherwise (in an exclusion, in `$addFields`) is
//! replaced where it stands.
//!
//! Sources: MongoDB's manual, "Projection Operators", `find` and `$project`; what it leaves open was asked
//! of a real server.

mod apply;
mod elem_match;
mod failure;
mod meta;
mod parse;
mod position;
mod slice;
mod slotted;

use bindery_document::{Doc, Result};

use crate::collation::Collation;
use crate::expression::{self, Dependencies, Expression, Scope};

use elem_match::ElemMatch;
use slice::Slice;

pub use meta::{Meta, Metadata};
pub use slotted::Slotted;
pub(crate) use slotted::{append_slot, is_slot, without_slots};

/// What becomes of the fields that a projection does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They are left out: an inclusion.
    Dropped,
    /// They stay, and named ones go: an exclusion.
    Kept,
    /// They stay, and named ones are computed: `$addFields`.
    Extended,
}

/// Whose rules a projection is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `find` and its kin: `$slice`, `$elemMatch`, `$meta` and the positional `$` are operators of their own.
    Find,
    /// `$project`: everything but inclusion and exclusion is an expression.
    Aggregate,
}

/// A compiled projection.
#[derive(Debug)]
pub struct Projection {
    root: Node,
    rest: Rest,
    needs_position: bool,
    /// The path of the array that the positional `$` is about; empty without one.
    position_path: Vec<Box<str>>,
    needs_sort_key: bool,
}

/// The fields named below one field.
#[derive(Debug, Default)]
struct Node {
    /// In the order written.
    children: Vec<(Box<str>, Child)>,
    /// Numbers of the children, in the order of their names.
    by_name: Vec<usize>,
    /// Whether something below is computed, so that the field must be made when it is missing.
    has_computed: bool,
    /// Whether the positional `$` is below.
    on_position: bool,
    /// The number of children that an inclusion looks for in a document; the others are only computed.
    sought: usize,
}

/// What is done with a named field.
#[derive(Debug)]
enum Child {
    Keep,
    Drop,
    Node(Node),
    Computed(Box<Expression>),
    Slice(Slice),
    ElemMatch(Box<ElemMatch>),
    /// `path.$`: the array element that the query matched.
    Position,
    Meta(Meta),
}

/// What a document is projected with, besides itself.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The surroundings of expressions; its root is the document.
    pub scope: Scope<'a>,
    /// The array position that the query matched, for the positional `$`.
    pub position: Option<usize>,
    /// What is known of the document besides its fields.
    pub metadata: Metadata<'a>,
}

impl<'a> Input<'a> {
    /// For a projection that needs nothing but the document.
    pub fn new(doc: Doc<'a>) -> Input<'a> {
        Input { scope: Scope::new(doc), position: None, metadata: Metadata::default() }
    }
}

impl Projection {
    /// Compiles a projection. An empty one keeps everything; only `find` may have it.
    ///
    /// # Errors
    /// MongoDB's codes: 31253, 31254, 31252 and 31310 for what may not be mixed, 31249 and 31250 for paths
    /// that meet, 15998, 16410, 40352 and 40353 for malformed paths, 51270 and 51272 for empty documents,
    /// 31255, 31256, 31271, 31274 to 31276, 31308, 31394 and 31395 for misused operators, 17307 and 17308 for
    /// `$meta`; those of expressions and of queries.
    pub fn parse(
        spec: Doc<'_>,
        language: Language,
        collation: Option<&Collation>,
        context: &mut expression::ParseContext,
    ) -> Result<Projection> {
        parse::projection(spec, language, collation, context, &|| Ok(()))
    }

    /// As [`Projection::parse`] for `find`; where the positional `$` is used, the caller says whether that may be.
    ///
    /// # Errors
    /// As [`Projection::parse`], and the caller's.
    pub fn parse_find(
        spec: Doc<'_>,
        collation: Option<&Collation>,
        context: &mut expression::ParseContext,
        on_position: &dyn Fn() -> Result<()>,
    ) -> Result<Projection> {
        parse::projection(spec, Language::Find, collation, context, on_position)
    }

    /// Compiles the fields that `$addFields` and `$set` add.
    ///
    /// # Errors
    /// 40176 for paths that meet; those of paths and expressions.
    pub fn parse_added_fields(spec: Doc<'_>, context: &mut expression::ParseContext) -> Result<Projection> {
        parse::added_fields(spec, context)
    }

    /// Compiles the exclusion of these paths, as `$unset` has it.
    ///
    /// # Errors
    /// Those of paths and of paths that meet.
    pub fn excluding<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<Projection> {
        parse::excluding(paths)
    }

    /// Compiles the inclusion of these paths and nothing else, not even `_id`.
    ///
    /// # Errors
    /// As [`Projection::excluding`].
    pub fn including<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<Projection> {
        parse::including(paths)
    }

    /// Writes the projected document into `out`, whose content is dropped.
    ///
    /// # Errors
    /// Those of expressions; 51246 and 51247 if the positional `$` finds no element. `out` holds nothing of
    /// use then.
    pub fn apply(&self, input: &Input<'_>, out: &mut Vec<u8>) -> Result<()> {
        apply::apply(self, input, out)
    }

    /// What becomes of unnamed fields.
    pub fn rest(&self) -> Rest {
        self.rest
    }

    /// Whether the array position that the query matched is needed.
    pub fn needs_position(&self) -> bool {
        self.needs_position
    }

    /// Whether the sort key is needed (`{$meta: "sortKey"}`), so that there must be a sort.
    pub fn needs_sort_key(&self) -> bool {
        self.needs_sort_key
    }

    /// Whether it keeps everything.
    pub fn is_identity(&self) -> bool {
        self.rest != Rest::Dropped && self.root.children.is_empty()
    }

    /// The dotted paths that are kept, in the order written, if the projection is an inclusion and does
    /// nothing else: what an index must have to cover it.
    pub fn included_paths(&self) -> Option<Vec<String>> {
        self.selected_paths().filter(|_| !self.needs_position)
    }

    /// The dotted paths that are kept or computed with: what an index must have to cover the projection. None if it
    /// looks at more than the fields at some paths.
    pub fn read_paths(&self) -> Option<Vec<String>> {
        if let Some(paths) = self.included_paths() {
            return Some(paths);
        }
        let only_computes = |(_, child): &(Box<str>, Child)| matches!(child, Child::Keep | Child::Computed(_));
        if self.rest != Rest::Dropped || self.needs_position || !self.root.children.iter().all(only_computes) {
            return None;
        }
        let dependencies = self.dependencies();
        (!dependencies.whole_document).then(|| dependencies.paths.into_iter().collect())
    }

    /// The dotted paths that are kept as they are, in the order written, if the projection is an inclusion and does
    /// nothing else but to cut an array down to its positional `$`.
    pub fn selected_paths(&self) -> Option<Vec<String>> {
        if self.rest != Rest::Dropped {
            return None;
        }
        let mut paths = Vec::new();
        self.root.collect_kept("", &mut paths).then_some(paths)
    }

    /// Whether it is an inclusion of top-level fields and nothing else (`PROJECTION_SIMPLE`).
    pub fn is_simple(&self) -> bool {
        self.rest == Rest::Dropped && self.root.children.iter().all(|(_, child)| matches!(child, Child::Keep))
    }

    /// Evaluates constant expressions that were parsed with folding deferred
    /// ([`ParseContext::defer_folding`](expression::ParseContext::defer_folding)).
    ///
    /// # Errors
    /// Those of expressions.
    pub fn fold(&mut self) -> Result<()> {
        self.root.fold()
    }

    /// The paths that keep their values, if all others are dropped.
    pub fn kept_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.root.collect_leaves("", &|child| matches!(child, Child::Keep), &mut paths);
        paths
    }

    /// The paths at which something is removed, computed or cut.
    pub fn changed_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.root.collect_leaves("", &|child| !matches!(child, Child::Keep), &mut paths);
        paths
    }

    /// The top-level fields that are another top-level field under a new name: new and old name.
    pub fn renames(&self) -> Vec<(&str, &str)> {
        let renamed = self.root.children.iter().filter_map(|(name, child)| match child {
            Child::Computed(expression) => match expression.as_field_path() {
                Some([old]) => Some((&**name, &**old)),
                _ => None,
            },
            _ => None,
        });
        renamed.collect()
    }

    /// What is read of the document; the whole of it for an exclusion.
    pub fn dependencies(&self) -> Dependencies {
        let mut dependencies = Dependencies::default();
        if self.rest == Rest::Dropped {
            self.root.collect_dependencies("", &mut dependencies);
        } else {
            dependencies.whole_document = true;
        }
        dependencies
    }
}

impl Child {
    /// Whether the field is made, whatever the document has there.
    fn is_computed(&self) -> bool {
        matches!(self, Child::Computed(_) | Child::ElemMatch(_) | Child::Meta(_))
    }
}

impl Node {
    /// The child of this name.
    #[inline]
    fn find(&self, name: &[u8]) -> Option<usize> {
        /// Up to here a walk over the children is faster than a binary search.
        const FEW: usize = 8;
        if self.children.len() <= FEW {
            return self.children.iter().position(|(other, _)| other.as_bytes() == name);
        }
        let child = |number: &usize| self.children[*number].0.as_bytes();
        self.by_name.binary_search_by(|number| child(number).cmp(name)).ok().map(|at| self.by_name[at])
    }

    /// Notes what is below and sorts the names; to be called when all children are there.
    fn seal(&mut self) {
        for (_, child) in &mut self.children {
            match child {
                Child::Node(node) => {
                    node.seal();
                    self.has_computed |= node.has_computed;
                    self.on_position |= node.on_position;
                }
                Child::Computed(_) | Child::ElemMatch(_) | Child::Meta(_) => self.has_computed = true,
                Child::Position => self.on_position = true,
                Child::Keep | Child::Drop | Child::Slice(_) => {}
            }
        }
        self.sought = self.children.iter().filter(|(_, child)| !child.is_computed()).count();
        self.by_name = (0..self.children.len()).collect();
        self.by_name.sort_by(|a, b| self.children[*a].0.cmp(&self.children[*b].0));
    }

    fn fold(&mut self) -> Result<()> {
        for (_, child) in &mut self.children {
            match child {
                Child::Node(node) => node.fold()?,
                Child::Computed(expression) => expression.fold()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the paths of the leaves that are asked for.
    fn collect_leaves(&self, prefix: &str, wanted: &dyn Fn(&Child) -> bool, paths: &mut Vec<String>) {
        for (name, child) in &self.children {
            match child {
                Child::Node(node) => node.collect_leaves(&format!("{prefix}{name}."), wanted, paths),
                leaf if wanted(leaf) => paths.push(format!("{prefix}{name}")),
                _ => {}
            }
        }
    }

    /// Adds the kept paths; whether there is nothing else but a positional `$`.
    fn collect_kept(&self, prefix: &str, paths: &mut Vec<String>) -> bool {
        self.children.iter().all(|(name, child)| match child {
            Child::Keep => {
                paths.push(format!("{prefix}{name}"));
                true
            }
            Child::Node(node) => node.collect_kept(&format!("{prefix}{name}."), paths),
            Child::Position => true,
            _ => false,
        })
    }

    fn collect_dependencies(&self, prefix: &str, dependencies: &mut Dependencies) {
        for (name, child) in &self.children {
            match child {
                Child::Node(node) => {
                    let path = format!("{prefix}{name}.");
                    // A computed field below makes documents of whatever stands at this path.
                    if node.has_computed {
                        dependencies.add_path(path.trim_end_matches('.'));
                    }
                    node.collect_dependencies(&path, dependencies);
                }
                Child::Computed(expression) => expression.add_dependencies(dependencies),
                Child::Meta(_) | Child::Drop => {}
                Child::Keep | Child::Slice(_) | Child::ElemMatch(_) | Child::Position => {
                    dependencies.add_path(&format!("{prefix}{name}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
