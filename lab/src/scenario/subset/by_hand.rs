//! Children in a collection of their own, as applications keep them on a MongoDB, with an index on
//! parent and order: only referenced, or the newest embedded besides (the subset pattern).

use bson::raw::cstr;
use bson::{Bson, RawDocumentBuf, rawdoc};

use super::{CHILDREN, Operation, PARENTS, Subset, TOP};
use crate::answer::Answer;
use crate::error::Result;
use crate::scenario::{Loader, Role, Schema, create, create_indexes};
use crate::session::{Session, field, owned};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    ReferencedOnly,
    NewestEmbedded,
}

pub(super) struct Parents<'a> {
    data: &'a Subset,
    beside: Beside,
}

impl<'a> Parents<'a> {
    pub(super) fn new(data: &'a Subset, beside: Beside) -> Parents<'a> {
        Parents { data, beside }
    }

    fn newest_first(&self) -> Result<RawDocumentBuf> {
        let mut sort = RawDocumentBuf::new();
        sort.append(field(self.data.fields.order.as_str())?, -1);
        Ok(sort)
    }

    /// Children of `parent`, newest first, as an array in their parent would hold them.
    fn children(&self, parent: usize, skip: i32, session: &mut Session<'_>) -> Result<Vec<Bson>> {
        let mut filter = RawDocumentBuf::new();
        filter.append(field(self.data.fields.key.as_str())?, self.data.id_of(parent)?);
        let mut projection = RawDocumentBuf::new();
        if !self.data.children_have_ids {
            projection.append(cstr!("_id"), 0);
        }
        projection.append(field(self.data.fields.key.as_str())?, 0);
        let mut command = rawdoc! {
            "find": CHILDREN, "filter": filter, "projection": projection, "sort": self.newest_first()?, "limit": TOP,
        };
        if skip > 0 {
            command.append(cstr!("skip"), skip);
        }
        session.rows(&command)?.iter().map(|row| Answer::row(row)).collect()
    }
}

impl Schema<Operation> for Parents<'_> {
    fn name(&self) -> String {
        match self.beside {
            Beside::ReferencedOnly => "referenced",
            Beside::NewestEmbedded => "by hand",
        }
        .to_owned()
    }

    fn role(&self) -> Role {
        match self.beside {
            Beside::ReferencedOnly => Role::Rival,
            Beside::NewestEmbedded => Role::ByHand,
        }
    }

    fn note(&self) -> String {
        match self.beside {
            Beside::ReferencedOnly => "children only in a collection of their own".to_owned(),
            Beside::NewestEmbedded => {
                format!("the {TOP} newest children embedded, all of them in a collection of their own")
            }
        }
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![PARENTS, CHILDREN]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        let mut key = RawDocumentBuf::new();
        key.append(field(self.data.fields.key.as_str())?, 1);
        key.append(field(self.data.fields.order.as_str())?, -1);
        Ok(vec![create(PARENTS, None), create(CHILDREN, None), create_indexes(CHILDREN, &[key], false)?])
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        for parent in 0..self.data.parents.len() {
            match self.beside {
                Beside::ReferencedOnly => loader.insert(PARENTS, &self.data.with_count(parent)?)?,
                Beside::NewestEmbedded => {
                    loader.insert(PARENTS, &self.data.with_children(parent, TOP as usize)?)?;
                }
            }
        }
        for child in self.data.of.iter().flatten() {
            if let Some(child) = self.data.children.get(*child as usize) {
                loader.insert(CHILDREN, child)?;
            }
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        match operation {
            Operation::Page { parent } => {
                let rows = session.rows(&rawdoc! {
                    "find": PARENTS, "filter": { "_id": self.data.id_of(*parent)? },
                })?;
                let mut rows = rows.iter().map(|row| Answer::row(row)).collect::<Result<Vec<Bson>>>()?;
                if self.beside == Beside::ReferencedOnly {
                    let children = self.children(*parent, 0, session)?;
                    if let Some(Bson::Document(row)) = rows.first_mut() {
                        row.insert(self.data.fields.array.as_str(), children);
                    }
                }
                Ok(Answer::ordered(rows))
            }
            Operation::Later { parent, skip } => Ok(Answer::ordered(self.children(*parent, *skip, session)?)),
            Operation::Add { parent, child } => {
                let id = self.data.id_of(*parent)?;
                let mut referring = RawDocumentBuf::new();
                referring.append(field(self.data.fields.key.as_str())?, id.clone());
                for (name, value) in child.iter().flatten() {
                    referring.append(name, value);
                }
                session.run(&rawdoc! { "insert": CHILDREN, "documents": [referring] })?;
                let mut count = RawDocumentBuf::new();
                count.append(field(self.data.count_field())?, 1);
                let mut update = rawdoc! { "$inc": count };
                if self.beside == Beside::NewestEmbedded {
                    let mut push = RawDocumentBuf::new();
                    let newest = rawdoc! {
                        "$each": [child.clone()], "$sort": self.newest_first()?, "$slice": TOP,
                    };
                    push.append(field(self.data.fields.array.as_str())?, newest);
                    update.append(cstr!("$push"), push);
                }
                let reply =
                    session.run(&rawdoc! { "update": PARENTS, "updates": [{ "q": { "_id": id }, "u": update }] })?;
                Ok(Answer::ordered(vec![owned(&reply, "nModified")?.unwrap_or(Bson::Null)]))
            }
        }
    }
}
