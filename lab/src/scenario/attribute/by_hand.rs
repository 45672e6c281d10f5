//! The attribute pattern as an application writes it: `specs: [{k: "attr_017", v: 12}, ...]` with one
//! index on `{specs.k: 1, specs.v: 1}`.
//!
//! A condition on an attribute is an `$elemMatch` on name and value; without it, MongoDB would take a
//! name from one element and a value from another. Several attributes are an `$all` of several.

use bson::raw::cstr;
use bson::{Bson, RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, rawdoc};

use super::logical::{insert, list, raw};
use super::{Attribute, Operation, PRODUCTS, by_name};
use crate::answer::Answer;
use crate::error::Result;
use crate::scenario::{Loader, Role, Schema, create, create_indexes};
use crate::session::{BATCH, Session};

pub(super) struct Specs<'a> {
    data: &'a Attribute,
}

impl<'a> Specs<'a> {
    pub(super) fn new(data: &'a Attribute) -> Specs<'a> {
        Specs { data }
    }

    fn fold(&self, logical: &RawDocument) -> RawDocumentBuf {
        let mut stored = RawDocumentBuf::new();
        let mut specs = RawArrayBuf::new();
        for (name, value) in logical.iter().flatten() {
            let text = name.as_str();
            if text == "_id" || self.data.kept.iter().any(|kept| kept == text) {
                stored.append(name, value);
            } else {
                let mut spec = rawdoc! { "k": text };
                spec.append(cstr!("v"), value);
                specs.push(spec);
            }
        }
        stored.append(cstr!("specs"), specs);
        stored
    }

    fn unfold(row: Bson) -> Bson {
        let Bson::Document(mut document) = row else { return row };
        if let Some(Bson::Array(specs)) = document.remove("specs") {
            for spec in specs {
                if let Bson::Document(spec) = spec
                    && let (Ok(name), Some(value)) = (spec.get_str("k"), spec.get("v"))
                {
                    document.insert(name, value.clone());
                }
            }
        }
        by_name(document)
    }
}

fn has(attribute: &str, value: RawBson) -> RawDocumentBuf {
    rawdoc! { "$elemMatch": { "k": attribute, "v": value } }
}

impl Schema<Operation> for Specs<'_> {
    fn name(&self) -> String {
        "by hand".to_owned()
    }

    fn role(&self) -> Role {
        Role::ByHand
    }

    fn note(&self) -> String {
        "an array of names and values with one index on both".to_owned()
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![PRODUCTS]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        let key = rawdoc! { "specs.k": 1, "specs.v": 1 };
        Ok(vec![create(PRODUCTS, None), create_indexes(PRODUCTS, &[key], false)?])
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        for document in self.data.documents.iter() {
            loader.insert(PRODUCTS, &self.fold(document))?;
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        match operation {
            Operation::Equal { attribute, value } => {
                list(&self.data.kept, rawdoc! { "specs": has(attribute, raw(value)?) }, session)
            }
            Operation::Range { attribute, from, to } => {
                let range = RawBson::Document(rawdoc! { "$gte": raw(from)?, "$lt": raw(to)? });
                list(&self.data.kept, rawdoc! { "specs": has(attribute, range) }, session)
            }
            Operation::All(values) => {
                let mut all = RawArrayBuf::new();
                for (attribute, value) in values {
                    all.push(has(attribute, raw(value)?));
                }
                let filter = rawdoc! { "specs": { "$all": all } };
                let mut rows = Vec::new();
                session.each_row(&rawdoc! { "find": PRODUCTS, "filter": filter, "batchSize": BATCH }, |row| {
                    rows.push(Specs::unfold(Answer::row(row)?));
                    Ok(())
                })?;
                Ok(Answer::bag(rows))
            }
            Operation::Insert(document) => insert(&self.fold(document), session),
        }
    }
}
