//! One document a reading, as the caller sees it: in a plain collection, or in one with a layout.

use bson::raw::cstr;
use bson::{Bson, DateTime, RawDocumentBuf, rawdoc};

use super::{Bucket, HOUR, Operation, READINGS, span_name};
use crate::answer::Answer;
use crate::error::Result;
use crate::scenario::{Loader, Role, Schema, create, create_indexes};
use crate::session::{BATCH, Session, field, owned};

pub(super) struct Readings<'a> {
    data: &'a Bucket,
    /// Milliseconds of a native bucket; `None` for a plain collection.
    span: Option<i64>,
}

impl<'a> Readings<'a> {
    pub(super) fn plain(data: &'a Bucket) -> Readings<'a> {
        Readings { data, span: None }
    }

    pub(super) fn native(data: &'a Bucket, span: i64) -> Readings<'a> {
        Readings { data, span: Some(span) }
    }

    /// `{meta: value}`, or `{}` where there is one sensor only.
    fn of_meta(&self, meta: usize) -> Result<RawDocumentBuf> {
        let mut filter = RawDocumentBuf::new();
        if let Some(name) = &self.data.fields.meta {
            filter.append(field(name.as_str())?, self.data.raw_meta(meta)?);
        }
        Ok(filter)
    }
}

impl Schema<Operation> for Readings<'_> {
    fn name(&self) -> String {
        match self.span {
            None => "naive".to_owned(),
            Some(span) => format!("native, {}", span_name(span)),
        }
    }

    fn role(&self) -> Role {
        if self.span.is_none() { Role::Naive } else { Role::Native }
    }

    fn note(&self) -> String {
        match self.span {
            None => "one document a reading, with an index on sensor and time".to_owned(),
            Some(span) => {
                format!("the same documents and commands, one bucket for each sensor and {}", span_name(span))
            }
        }
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![READINGS]
    }

    fn prepare(&self) -> Result<Vec<RawDocumentBuf>> {
        let fields = &self.data.fields;
        if let Some(span) = self.span {
            let mut bucket = rawdoc! { "time": fields.time.as_str() };
            if let Some(meta) = &fields.meta {
                bucket.append(cstr!("meta"), meta.as_str());
            }
            bucket.append(cstr!("hours"), (span / HOUR) as i32);
            // What buckets by hand sum up, and no more.
            bucket.append(cstr!("summary"), bson::rawbson!([fields.value.as_str()]));
            return Ok(vec![create(READINGS, Some(&rawdoc! { "bucket": bucket }))]);
        }
        let mut key = RawDocumentBuf::new();
        if let Some(meta) = &fields.meta {
            key.append(field(meta.as_str())?, 1);
        }
        key.append(field(fields.time.as_str())?, 1);
        Ok(vec![create(READINGS, None), create_indexes(READINGS, &[key], false)?])
    }

    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        for position in &self.data.order {
            if let Some(document) = self.data.documents.get(*position as usize) {
                loader.insert(READINGS, document)?;
            }
        }
        Ok(())
    }

    fn answer(&self, operation: &Operation, session: &mut Session<'_>) -> Result<Answer> {
        let fields = &self.data.fields;
        let (time, value) = (field(fields.time.as_str())?, field(fields.value.as_str())?);
        match operation {
            Operation::Recent { meta, after, until } => {
                let mut filter = self.of_meta(*meta)?;
                let range = rawdoc! { "$gt": DateTime::from_millis(*after), "$lte": DateTime::from_millis(*until) };
                filter.append(&time, range);
                let mut projection = rawdoc! { "_id": 0 };
                projection.append(&time, 1);
                projection.append(&value, 1);
                let mut sort = RawDocumentBuf::new();
                sort.append(&time, 1);
                let mut rows = Vec::new();
                session.each_row(
                    &rawdoc! {
                        "find": READINGS, "filter": filter, "projection": projection, "sort": sort, "batchSize": BATCH,
                    },
                    |row| {
                        rows.push(reading(fields, row)?);
                        Ok(())
                    },
                )?;
                Ok(Answer::ordered(rows))
            }
            Operation::Summary { meta, from, to } => {
                let mut filter = self.of_meta(*meta)?;
                let range = rawdoc! { "$gte": DateTime::from_millis(*from), "$lt": DateTime::from_millis(*to) };
                filter.append(&time, range);
                let path = format!("${}", fields.value);
                let rows = session.rows(&rawdoc! {
                    "aggregate": READINGS,
                    "pipeline": [
                        { "$match": filter },
                        { "$group": {
                            "_id": null,
                            "min": { "$min": path.as_str() },
                            "max": { "$max": path.as_str() },
                            "avg": { "$avg": path.as_str() },
                        } },
                    ],
                    "cursor": {},
                })?;
                let rows = rows.iter().map(|row| {
                    let part = |name: &str| Ok(owned(row, name)?.unwrap_or(Bson::Null));
                    Ok(Bson::Array(vec![part("min")?, part("max")?, part("avg")?]))
                });
                Ok(Answer::ordered(rows.collect::<Result<_>>()?))
            }
            Operation::Averages => {
                let mut group = RawDocumentBuf::new();
                match &fields.meta {
                    Some(meta) => group.append(cstr!("_id"), format!("${meta}")),
                    None => group.append(cstr!("_id"), bson::RawBson::Null),
                }
                group.append(cstr!("avg"), rawdoc! { "$avg": format!("${}", fields.value) });
                let rows = session.rows(&rawdoc! {
                    "aggregate": READINGS,
                    "pipeline": [{ "$group": group }],
                    "cursor": { "batchSize": BATCH },
                })?;
                Ok(Answer::bag(rows.iter().map(|row| Answer::row(row)).collect::<Result<_>>()?))
            }
            Operation::Latest { meta } => {
                let mut sort = RawDocumentBuf::new();
                sort.append(&time, -1);
                let rows = session.rows(&rawdoc! {
                    "find": READINGS, "filter": self.of_meta(*meta)?, "sort": sort, "limit": 1,
                })?;
                let rows = rows.iter().map(|row| reading(fields, row));
                Ok(Answer::ordered(rows.collect::<Result<_>>()?))
            }
            Operation::Ingest { document, .. } => {
                let reply = session.run(&rawdoc! { "insert": READINGS, "documents": [document.clone()] })?;
                Ok(Answer::ordered(vec![owned(&reply, "n")?.unwrap_or(Bson::Null)]))
            }
        }
    }
}

/// `[time, value]` of a reading, wherever it was stored.
pub(super) fn reading(fields: &super::Fields, document: &bson::RawDocument) -> Result<Bson> {
    let part = |name: &str| Ok(owned(document, name)?.unwrap_or(Bson::Null));
    Ok(Bson::Array(vec![part(&fields.time)?, part(&fields.value)?]))
}
