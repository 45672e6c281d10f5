//! A field for each attribute, as the caller sees it: with plain indexes, with sparse ones, or in a
//! collection with the attribute layout.

use bson::{Bson, RawBson, RawDocumentBuf, rawdoc};

use super::{Attribute, MOST_INDEXES, Operation, PRODUCTS, by_name, listing};
use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::scenario::{Loader, Role, Schema, create, create_indexes};
use crate::session::{BATCH, Session, field, owned};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    PlainIndexes,
    SparseIndexes,
    Native,
}

pub(super) struct Products<'a> {
    data: &'a Attribute,
    held: Held,
}

impl<'a> Products<'a> {
    pub(super) fn new(data: &'a Attribute, held: Held) -> Products<'a> {
        Products { data, held }
    }
}

impl Schema<Operation> for Products<'_> {
    fn name(&self) -> String {
        match self.held {
            Held::PlainIndexes => "naive",
            Held::SparseIndexes => "sparse indexes",
            Held::Native => "native",
        }
        .to_owned()
    }

    fn role(&self) -> Role {
        match self.held {
            Held::PlainIndexes => Role::Naive,
            Held::SparseIndexes => Role::Rival,
            Held::Native => Role::Native,
        }
    }

    fn note(&self) -> String {
        let indexes = self.data.indexed().len();
        let beyond = self.data.attributes.len() - indexes;
        let rest = match beyond {
            0 => String::new(),
            n => format!("; {n} attributes beyond the limit of {} have none", MOST_INDEXES + 1),
        };
        match self.held {
            Held::PlainIndexes => format!("a field and an index for each attribute: {indexes} indexes{rest}"),
            Held::SparseIndexes => format!("the same with sparse indexes: {indexes} indexes{rest}"),
            Held::Native => "the same documents and commands, attributes bound into one indexed array".to_owned(),
        }
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![PRODUCTS]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        if self.held == Held::Native {
            let mut except = bson::RawArrayBuf::new();
            for kept in &self.data.kept {
                except.push(kept.as_str());
            }
            let layout = rawdoc! { "attribute": { "path": "specs", "except": except } };
            return Ok(vec![create(PRODUCTS, Some(&layout))]);
        }
        let mut keys = Vec::new();
        for attribute in self.data.indexed() {
            let mut key = RawDocumentBuf::new();
            key.append(field(attribute.name.as_str())?, 1);
            keys.push(key);
        }
        let sparse = self.held == Held::SparseIndexes;
        Ok(vec![create(PRODUCTS, None), create_indexes(PRODUCTS, &keys, sparse)?])
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        for document in self.data.documents.iter() {
            loader.insert(PRODUCTS, document)?;
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        match operation {
            Operation::Equal { attribute, value } => {
                let mut filter = RawDocumentBuf::new();
                filter.append(field(attribute.as_str())?, raw(value)?);
                list(&self.data.kept, filter, session)
            }
            Operation::Range { attribute, from, to } => {
                let mut filter = RawDocumentBuf::new();
                filter.append(field(attribute.as_str())?, rawdoc! { "$gte": raw(from)?, "$lt": raw(to)? });
                list(&self.data.kept, filter, session)
            }
            Operation::All(values) => {
                let mut filter = RawDocumentBuf::new();
                for (attribute, value) in values {
                    filter.append(field(attribute.as_str())?, raw(value)?);
                }
                let mut rows = Vec::new();
                session.each_row(&rawdoc! { "find": PRODUCTS, "filter": filter, "batchSize": BATCH }, |row| {
                    if let Bson::Document(document) = Answer::row(row)? {
                        rows.push(by_name(document));
                    }
                    Ok(())
                })?;
                Ok(Answer::bag(rows))
            }
            Operation::Insert(document) => insert(document, session),
        }
    }
}

/// A list of the products that match.
pub(super) fn list(kept: &[String], filter: RawDocumentBuf, session: &mut Session<'_>) -> Result<Answer> {
    let mut rows = Vec::new();
    session.each_row(
        &rawdoc! { "find": PRODUCTS, "filter": filter, "projection": listing(kept)?, "batchSize": BATCH },
        |row| {
            rows.push(Answer::row(row)?);
            Ok(())
        },
    )?;
    Ok(Answer::bag(rows))
}

pub(super) fn insert(document: &RawDocumentBuf, session: &mut Session<'_>) -> Result<Answer> {
    let reply = session.run(&rawdoc! { "insert": PRODUCTS, "documents": [document.clone()] })?;
    Ok(Answer::ordered(vec![owned(&reply, "n")?.unwrap_or(Bson::Null)]))
}

pub(super) fn raw(value: &Bson) -> Result<RawBson> {
    RawBson::try_from(value.clone()).map_err(|error| Error::Unsuitable(error.to_string()))
}
