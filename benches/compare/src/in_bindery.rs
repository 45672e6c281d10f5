//! Bindery, through its typed collections of raw documents.

use bindery::{Collection, Database};
use bson::{Document, RawDocument, RawDocumentBuf, doc, rawdoc};

use crate::data::{Answer, Data, Stretch};
use crate::{Engine, Fallible};

pub(crate) struct InBindery {
    db: Database,
    readings: Collection<RawDocumentBuf>,
    orders: Collection<RawDocumentBuf>,
}

impl InBindery {
    pub(crate) fn new() -> Fallible<InBindery> {
        let db = Database::new();
        let (readings, orders) = (db.collection("readings"), db.collection("orders"));
        Ok(InBindery { db, readings, orders })
    }

    fn sum(
        documents: impl Iterator<Item = bindery::Result<RawDocumentBuf>>,
        number: impl Fn(&RawDocument) -> Fallible<f64>,
    ) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for document in documents {
            answer.add(number(&document?)?);
        }
        Ok(answer)
    }
}

fn value(document: &RawDocument) -> Fallible<f64> {
    Ok(document.get_f64("value")?)
}

impl Engine for InBindery {
    fn name(&self) -> &str {
        "Bindery"
    }

    fn insert(&mut self, data: &Data) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for batch in data.readings_bson.chunks(1000) {
            self.readings.insert_many(batch)?;
            answer.count += batch.len() as u64;
        }
        Ok(answer)
    }

    fn insert_orders(&mut self, data: &Data) -> Fallible<()> {
        let orders: Vec<_> =
            data.orders.iter().map(|(id, customer)| rawdoc! {"_id": *id, "customer": *customer}).collect();
        self.orders.insert_many(&orders)?;
        let customers: Vec<_> =
            data.customers.iter().map(|(id, name)| rawdoc! {"_id": *id, "name": name.as_str()}).collect();
        self.db.collection::<RawDocumentBuf>("customers").insert_many(&customers)?;
        Ok(())
    }

    fn create_index(&mut self) -> Fallible<()> {
        self.readings.create_index(doc! { "sensorId": 1, "ts": 1 })?;
        Ok(())
    }

    fn find_by_id(&mut self, ids: &[i64]) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for id in ids {
            if let Some(reading) = self.readings.find_one(doc! { "_id": id }).run()? {
                answer.add(value(&reading)?);
            }
        }
        Ok(answer)
    }

    fn find_by_index(&mut self, asked: &[Stretch]) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for Stretch { sensor, from, to } in asked {
            let filter = doc! { "sensorId": sensor, "ts": { "$gte": *from, "$lt": *to } };
            for reading in self.readings.find(filter).run()? {
                answer.add(value(&reading?)?);
            }
        }
        Ok(answer)
    }

    fn group(&mut self) -> Fallible<Answer> {
        let stages = [doc! { "$group": { "_id": "$sensorId", "avg": { "$avg": "$value" } } }];
        Self::sum(self.readings.aggregate(stages).run_as()?, |group| Ok(group.get_f64("avg")?))
    }

    fn top(&mut self) -> Fallible<Answer> {
        let stages: [Document; 2] = [doc! { "$sort": { "value": -1, "_id": 1 } }, doc! { "$limit": 10 }];
        Self::sum(self.readings.aggregate(stages).run_as()?, value)
    }

    fn lookup(&mut self) -> Fallible<Answer> {
        let stages = [doc! {
            "$lookup": { "from": "customers", "localField": "customer", "foreignField": "_id", "as": "customers" }
        }];
        Self::sum(self.orders.aggregate(stages).run_as()?, |order| {
            Ok(order.get_array("customers")?.get_document(0)?.get_i64("_id")? as f64)
        })
    }
}
