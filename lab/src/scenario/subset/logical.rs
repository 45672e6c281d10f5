//! All children embedded, as the caller sees it: in a plain collection, or in one with the subset layout.

use bson::{Bson, RawDocumentBuf, rawdoc};

use super::{Operation, PARENTS, Subset, TOP};
use crate::answer::Answer;
use crate::error::Result;
use crate::scenario::{Loader, Role, Schema, create};
use crate::session::{Session, field, owned};

pub(super) struct Embedded<'a> {
    data: &'a Subset,
    native: bool,
}

impl<'a> Embedded<'a> {
    pub(super) fn plain(data: &'a Subset) -> Embedded<'a> {
        Embedded { data, native: false }
    }

    pub(super) fn native(data: &'a Subset) -> Embedded<'a> {
        Embedded { data, native: true }
    }
}

impl Schema<Operation> for Embedded<'_> {
    fn name(&self) -> String {
        if self.native { "native" } else { "naive" }.to_owned()
    }

    fn role(&self) -> Role {
        if self.native { Role::Native } else { Role::Naive }
    }

    fn note(&self) -> String {
        match self.native {
            false => "all children embedded in their parent".to_owned(),
            true => format!("the same documents and commands, the {TOP} newest children kept with the parent"),
        }
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![PARENTS]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        if !self.native {
            return Ok(vec![create(PARENTS, None)]);
        }
        let mut sort = RawDocumentBuf::new();
        sort.append(field(self.data.fields.order.as_str())?, -1);
        let layout = rawdoc! { "subset": { "array": self.data.fields.array.as_str(), "sort": sort, "top": TOP } };
        Ok(vec![create(PARENTS, Some(&layout))])
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        for parent in 0..self.data.parents.len() {
            loader.insert(PARENTS, &self.data.with_children(parent, usize::MAX)?)?;
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        let array = field(self.data.fields.array.as_str())?;
        match operation {
            Operation::Page { parent } => {
                let mut projection = RawDocumentBuf::new();
                projection.append(&array, rawdoc! { "$slice": TOP });
                let rows = session.rows(&rawdoc! {
                    "find": PARENTS, "filter": { "_id": self.data.id_of(*parent)? }, "projection": projection,
                })?;
                Ok(Answer::ordered(rows.iter().map(|row| Answer::row(row)).collect::<Result<_>>()?))
            }
            Operation::Later { parent, skip } => {
                let mut projection = RawDocumentBuf::new();
                projection.append(field(self.data.count_field())?, 1);
                projection.append(&array, rawdoc! { "$slice": [*skip, TOP] });
                let rows = session.rows(&rawdoc! {
                    "find": PARENTS, "filter": { "_id": self.data.id_of(*parent)? }, "projection": projection,
                })?;
                let mut children = Vec::new();
                for row in &rows {
                    if let Some(Bson::Array(found)) = owned(row, array.as_str())? {
                        children.extend(found);
                    }
                }
                Ok(Answer::ordered(children))
            }
            Operation::Add { parent, child } => {
                let mut sort = RawDocumentBuf::new();
                sort.append(field(self.data.fields.order.as_str())?, -1);
                let mut push = RawDocumentBuf::new();
                push.append(&array, rawdoc! { "$each": [child.clone()], "$sort": sort });
                let mut count = RawDocumentBuf::new();
                count.append(field(self.data.count_field())?, 1);
                let reply = session.run(&rawdoc! {
                    "update": PARENTS,
                    "updates": [{
                        "q": { "_id": self.data.id_of(*parent)? }, "u": { "$push": push, "$inc": count },
                    }],
                })?;
                Ok(Answer::ordered(vec![owned(&reply, "nModified")?.unwrap_or(Bson::Null)]))
            }
        }
    }
}
