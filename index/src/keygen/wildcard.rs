//! Keys of wildcard indexes: one (path, value) for each leaf of what the projection keeps.
//!
//! - Objects and arrays are entered, and an array adds nothing to the path: `{a: [{b: 1}]}` gives
//!   ("a.b", 1); its path is noted as multikey.
//! - An empty object is a value of its own, an empty array is undefined; both as the projection leaves them.
//! - An array within an array is a value, and not entered.
//! - Fields with a dot in their name cannot be asked for and are left out.
//! - The `_id` field is left out unless the projection names it.
//!
//! The projection is applied while walking: an inclusion below an array drops its scalars and
//! nested arrays, an exclusion keeps them.

use bindery_document::{Doc, Element, Error, Kind, Result, Value, code};

use super::{KeyGenerator, KeyPattern, Keys, PatternKind};
use crate::key::Direction;

const INCLUSION_IN_EXCLUSION: i32 = 31_253;
const EXCLUSION_IN_INCLUSION: i32 = 31_254;
const PATH_COLLISION: i32 = 31_249;
const PATH_COLLISION_ABOVE: i32 = 31_250;
const POSITIONAL: i32 = 31_324;
const EMPTY_SUB_PROJECTION: i32 = 51_270;
const COMPUTED_FIELD: i32 = 51_271;
const EMPTY_PATH: i32 = 40_352;
const EMPTY_COMPONENT: i32 = 15_998;
const DOLLAR_COMPONENT: i32 = 16_410;

/// The paths named by a projection, as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Without children it stands for everything below.
    children: Vec<(Box<[u8]>, Node)>,
}

impl Node {
    fn child(&self, name: &[u8]) -> Option<&Node> {
        self.children.iter().find(|(key, _)| &**key == name).map(|(_, node)| node)
    }
}

/// What a wildcard index covers: the paths it includes, or all but those it excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardProjection {
    root: Node,
    includes: bool,
}

impl WildcardProjection {
    /// The projection that a pattern implies: everything but `_id` for `$**`, what is below `a` for `a.$**`.
    pub fn of_pattern(pattern: &KeyPattern) -> WildcardProjection {
        let parts = match pattern.fields() {
            [field] if pattern.kind() == PatternKind::Wildcard => field.parts(),
            _ => &[],
        };
        if parts.is_empty() {
            let root = Node { children: vec![(b"_id".as_slice().into(), Node::default())] };
            return WildcardProjection { root, includes: false };
        }
        let root = parts.iter().rev().fold(Node::default(), |node, part| Node { children: vec![(part.clone(), node)] });
        WildcardProjection { root, includes: true }
    }

    /// Compiles the `wildcardProjection` option.
    ///
    /// # Errors
    /// `FailedToParse` (9) if it is empty; 31253 and 31254 if it both includes and excludes; 31249 and 31250 for
    /// paths that collide; 31324, 40352, 15998 and 16410 for paths that are none; 51270, 51271 and 168 for values that
    /// are no numbers or booleans.
    pub fn parse(projection: Doc<'_>) -> Result<WildcardProjection> {
        if projection.is_empty() {
            return Err(Error::new(code::FAILED_TO_PARSE, "a wildcardProjection cannot be empty"));
        }
        let mut paths = Vec::new();
        collect(projection, "", &mut paths)?;
        let named_id = paths.iter().find(|(path, _)| path == "_id").map(|(_, included)| *included);
        // With nothing but _id to go by, _id decides.
        let decisive = paths.iter().find(|(path, _)| path != "_id").map(|(_, included)| *included);
        let includes = decisive.or(named_id).unwrap_or(false);
        let mut root = Node::default();
        for (path, included) in paths {
            if included == includes {
                insert(&mut root, &path)?;
            } else if path != "_id" {
                let (number, what) = if includes {
                    (EXCLUSION_IN_INCLUSION, "exclude a field in an inclusion")
                } else {
                    (INCLUSION_IN_EXCLUSION, "include a field in an exclusion")
                };
                return Err(Error::new(number, format!("a wildcardProjection cannot {what}: '{path}'")));
            }
        }
        // An exclusion that says nothing of _id or what is in it leaves it out.
        if named_id.is_none() && !includes && root.child(b"_id").is_none() {
            insert(&mut root, "_id")?;
        }
        Ok(WildcardProjection { root, includes })
    }

    /// Whether a query on this dotted path can use the index: all its values are in it.
    pub fn covers(&self, path: &str) -> bool {
        let mut node = &self.root;
        for part in path.split('.') {
            match node.child(part.as_bytes()) {
                None => return !self.includes,
                Some(child) if child.children.is_empty() => return self.includes,
                Some(child) => node = child,
            }
        }
        // The path ends above what is named: some of its values may be left out. An exclusion below
        // it leaves its scalars in, an inclusion does not.
        !self.includes
    }
}

/// Collects the paths that a projection names, nested documents as dotted paths.
fn collect(projection: Doc<'_>, prefix: &str, paths: &mut Vec<(String, bool)>) -> Result<()> {
    for element in projection {
        let name = element.key_str();
        if let Some(operator) = name.strip_prefix('$').filter(|_| !prefix.is_empty()) {
            let number = if operator == "elemMatch" { code::INVALID_PIPELINE_OPERATOR } else { COMPUTED_FIELD };
            return Err(Error::new(number, format!("a wildcardProjection cannot compute '{name}'")));
        }
        check_path(name)?;
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        match element.value() {
            Value::Document(doc) if doc.is_empty() => {
                return Err(Error::new(EMPTY_SUB_PROJECTION, format!("'{path}' has an empty projection")));
            }
            Value::Document(doc) => collect(doc, &path, paths)?,
            value @ (Value::Int32(_)
            | Value::Int64(_)
            | Value::Double(_)
            | Value::Decimal128(_)
            | Value::Boolean(_)) => {
                paths.push((path, value.is_truthy()));
            }
            _ => return Err(Error::new(COMPUTED_FIELD, format!("a wildcardProjection cannot compute '{path}'"))),
        }
    }
    Ok(())
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(Error::new(EMPTY_PATH, "a path cannot be empty"));
    }
    for part in path.split('.') {
        if part.is_empty() {
            return Err(Error::new(EMPTY_COMPONENT, format!("'{path}' has an empty component")));
        }
        if part == "$" {
            return Err(Error::new(POSITIONAL, format!("'{path}': no positional projection here")));
        }
        if part.starts_with('$') {
            return Err(Error::new(DOLLAR_COMPONENT, format!("'{path}' has a component that starts with '$'")));
        }
    }
    Ok(())
}

fn insert(root: &mut Node, path: &str) -> Result<()> {
    let mut node = root;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let known = node.children.iter().position(|(name, _)| &**name == part.as_bytes());
        let is_last = parts.peek().is_none();
        if let Some((_, child)) = known.and_then(|at| node.children.get(at)) {
            if is_last {
                return Err(Error::new(PATH_COLLISION_ABOVE, format!("'{path}' collides with a path below it")));
            }
            if child.children.is_empty() {
                return Err(Error::new(PATH_COLLISION, format!("'{path}' collides with a path above it")));
            }
        }
        let at = known.unwrap_or_else(|| {
            node.children.push((part.as_bytes().into(), Node::default()));
            node.children.len() - 1
        });
        let Some((_, child)) = node.children.get_mut(at) else {
            return Ok(());
        };
        node = child;
    }
    Ok(())
}

pub(super) fn generate(generator: &KeyGenerator, doc: Doc<'_>, keys: &mut Keys) {
    keys.reset(1);
    let projection = generator.projection();
    let filter =
        if projection.includes { Filter::Include(&projection.root) } else { Filter::Exclude(&projection.root) };
    let mut walk = Walk { generator, keys, path: Vec::new(), depth: 0 };
    walk.object(doc, filter);
    walk.keys.finish();
}

/// What the projection says of one place in the document.
#[derive(Clone, Copy)]
enum Filter<'p> {
    /// Everything below is kept.
    All,
    /// Only the children named are kept.
    Include(&'p Node),
    /// All but the children named are kept.
    Exclude(&'p Node),
}

impl<'p> Filter<'p> {
    /// What holds for a field of an object; `None` if it is left out.
    fn field(self, name: &[u8]) -> Option<Filter<'p>> {
        match self {
            Filter::All => Some(Filter::All),
            Filter::Include(node) => match node.child(name)? {
                child if child.children.is_empty() => Some(Filter::All),
                child => Some(Filter::Include(child)),
            },
            Filter::Exclude(node) => match node.child(name) {
                None => Some(Filter::All),
                Some(child) if child.children.is_empty() => None,
                Some(child) => Some(Filter::Exclude(child)),
            },
        }
    }

    /// Whether values that have no fields are kept here.
    fn keeps_scalars(self) -> bool {
        !matches!(self, Filter::Include(_))
    }
}

struct Walk<'w> {
    generator: &'w KeyGenerator,
    keys: &'w mut Keys,
    /// The dotted path of the value at hand.
    path: Vec<u8>,
    /// The number of components of the path; names may be empty, so its length does not tell.
    depth: usize,
}

impl Walk<'_> {
    /// Adds the keys of an object's fields; says whether the projection kept any.
    fn object(&mut self, doc: Doc<'_>, filter: Filter<'_>) -> bool {
        let mut kept = false;
        for element in doc {
            let Some(below) = filter.field(element.key) else {
                continue;
            };
            let is_container = matches!(element.kind, Kind::Document | Kind::Array);
            if !is_container && !below.keeps_scalars() {
                continue;
            }
            kept = true;
            if element.key.contains(&b'.') {
                continue;
            }
            let end = self.path.len();
            if self.depth > 0 {
                self.path.push(b'.');
            }
            self.path.extend_from_slice(element.key);
            self.depth += 1;
            self.value(element, below);
            self.depth -= 1;
            self.path.truncate(end);
        }
        kept
    }

    fn value(&mut self, element: Element<'_>, filter: Filter<'_>) {
        match element.value() {
            Value::Document(doc) => {
                if !self.object(doc, filter) {
                    self.add(&Value::Document(bindery_document::doc::EMPTY));
                }
            }
            Value::Array(array) => {
                self.keys.mark_wildcard_multikey(&self.path);
                if !self.elements(array, filter) {
                    self.add(&Value::Undefined);
                }
            }
            value => self.add(&value),
        }
    }

    /// Adds the keys of an array's elements; says whether the projection kept any.
    fn elements(&mut self, array: Doc<'_>, filter: Filter<'_>) -> bool {
        let mut kept = false;
        for element in array {
            if element.kind == Kind::Document {
                self.value(element, filter);
            } else if filter.keeps_scalars() {
                self.add(&element.value());
            } else {
                continue;
            }
            kept = true;
        }
        kept
    }

    fn add(&mut self, value: &Value<'_>) {
        let path = bindery_document::Text(&self.path);
        self.keys.builder.append(&Value::String(path), Direction::Ascending);
        self.keys.builder.append_field(value, Direction::Ascending, self.generator.collator());
        self.keys.push();
    }
}
