//! The document that an upsert starts from: what the query says its fields are equal to.
//!
//! Equalities are taken from where they must hold: the query itself and `$and`; an `$or` of one branch,
//! an `$in` of one value and an `$all` are such already in the compiled filter. They are written in the
//! order of their paths, `_id` first.

use bindery_document::{Builder, DocBuf, Error, OwnedValue, Path, Result, Value, code};

use crate::filter::{CompareOp, Filter};

/// The fields that a query fixes.
#[derive(Debug, Default)]
pub(super) struct Equalities<'f> {
    /// In the order of their dotted paths.
    fields: Vec<(&'f Path, &'f OwnedValue)>,
}

impl<'f> Equalities<'f> {
    /// All that the filter says.
    ///
    /// # Errors
    /// [`code::NOT_SINGLE_VALUE_FIELD`] when two speak about one path, or about a path and a part of it;
    /// [`code::ILLEGAL_OPERATION`] for the empty path, which no field can be made of.
    pub(super) fn of(filter: &'f Filter) -> Result<Equalities<'f>> {
        let mut equalities = Equalities::default();
        equalities.gather(filter, &|_| true)?;
        if equalities.fields.iter().any(|(path, _)| path.as_str().is_empty()) {
            return Err(Error::new(code::ILLEGAL_OPERATION, "the query fixes a field whose path is empty"));
        }
        Ok(equalities)
    }

    /// What the filter says of `_id`, for a replacement.
    ///
    /// # Errors
    /// As [`Equalities::of`]; 111 if the filter speaks of parts of `_id` only.
    pub(super) fn of_id(filter: &'f Filter) -> Result<Equalities<'f>> {
        let mut equalities = Equalities::default();
        equalities.gather(filter, &|path| path.first() == "_id")?;
        if let Some((path, _)) = equalities.fields.iter().find(|(path, _)| path.as_str() != "_id") {
            return Err(Error::new(
                code::NOT_EXACT_VALUE_FIELD,
                format!("'_id' must be given as a whole, but the query has '{}'", path.as_str()),
            ));
        }
        Ok(equalities)
    }

    fn gather(&mut self, filter: &'f Filter, wanted: &dyn Fn(&Path) -> bool) -> Result<()> {
        match filter {
            Filter::And(children) => children.iter().try_for_each(|child| self.gather(child, wanted)),
            Filter::Compare(test) if test.op == CompareOp::Eq && wanted(&test.path) => {
                self.add(&test.path, &test.operand)
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, path: &'f Path, value: &'f OwnedValue) -> Result<()> {
        let meets = |other: &Path| other == path || other.is_prefix_of(path) || path.is_prefix_of(other);
        if let Some((other, _)) = self.fields.iter().find(|(other, _)| meets(other)) {
            return Err(Error::new(
                code::NOT_SINGLE_VALUE_FIELD,
                format!("the query fixes both '{}' and '{}'", other.as_str(), path.as_str()),
            ));
        }
        let at = self.fields.partition_point(|(other, _)| other.as_str() < path.as_str());
        self.fields.insert(at, (path, value));
        Ok(())
    }

    /// The value of `_id`, if the whole of it is fixed.
    pub(super) fn id(&self) -> Option<Value<'f>> {
        self.fields.iter().find(|(path, _)| path.as_str() == "_id").map(|(_, value)| value.value())
    }

    /// Whether something is said about `_id`.
    pub(super) fn mention_id(&self) -> bool {
        self.fields.iter().any(|(path, _)| path.first() == "_id")
    }

    /// The document with these fields.
    pub(super) fn document(&self) -> DocBuf {
        let mut root = Vec::new();
        let (ids, others): (Vec<_>, Vec<_>) = self.fields.iter().partition(|(path, _)| path.first() == "_id");
        for (path, value) in ids.into_iter().chain(others) {
            let names: Vec<&str> = path.components().iter().map(|component| component.name()).collect();
            Branch::put(&mut root, &names, value);
        }
        let mut out = Builder::new();
        Branch::write(&root, &mut out);
        out.finish()
    }
}

/// A field of the document being made.
enum Branch<'f> {
    Value(&'f str, &'f OwnedValue),
    Document(&'f str, Vec<Branch<'f>>),
}

impl<'f> Branch<'f> {
    fn put(fields: &mut Vec<Branch<'f>>, names: &[&'f str], value: &'f OwnedValue) {
        match names {
            [] => {}
            [name] => fields.push(Branch::Value(name, value)),
            [name, rest @ ..] => {
                let at = fields.iter().position(|field| matches!(field, Branch::Document(other, _) if other == name));
                let at = at.unwrap_or_else(|| {
                    fields.push(Branch::Document(name, Vec::new()));
                    fields.len() - 1
                });
                if let Some(Branch::Document(_, inner)) = fields.get_mut(at) {
                    Branch::put(inner, rest, value);
                }
            }
        }
    }

    fn write(fields: &[Branch<'_>], out: &mut Builder) {
        for field in fields {
            match field {
                Branch::Value(name, value) => out.append_bytes(name.as_bytes(), value.kind(), value.bytes()),
                Branch::Document(name, inner) => {
                    let open = out.open_document(name);
                    Branch::write(inner, out);
                    out.close(open);
                }
            }
        }
    }
}
