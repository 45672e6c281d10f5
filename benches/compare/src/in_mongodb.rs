//! A real MongoDB over loopback: commands in `OP_MSG` messages over one connection, without compression and
//! authentication (<https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>).

use std::io::{Read, Write};
use std::net::TcpStream;

use bson::raw::cstr;
use bson::{RawArrayBuf, RawDocument, RawDocumentBuf, rawdoc};

use crate::data::{Answer, Data, Stretch};
use crate::{Engine, Fallible};

const OP_MSG: i32 = 2013;
const HEADER_BYTES: usize = 21;
/// More than any answer here has, so that a batch is limited by its bytes only.
const ALL: i32 = 10_000_000;

pub(crate) struct InMongoDb {
    socket: TcpStream,
    database: String,
}

impl InMongoDb {
    /// The server that `BINDERY_MONGOD_URI` names, if it does.
    pub(crate) fn of_environment() -> Fallible<Option<InMongoDb>> {
        let Some(uri) = std::env::var("BINDERY_MONGOD_URI").ok().filter(|uri| !uri.is_empty()) else {
            return Ok(None);
        };
        let rest = uri.strip_prefix("mongodb://").unwrap_or(&uri);
        let socket = TcpStream::connect(rest.split(['/', '?']).next().unwrap_or(rest))?;
        socket.set_nodelay(true)?;
        Ok(Some(InMongoDb { socket, database: format!("bindery_compare_{}", std::process::id()) }))
    }

    fn run(&mut self, mut command: RawDocumentBuf) -> Fallible<RawDocumentBuf> {
        command.append(cstr!("$db"), self.database.as_str());
        let body = command.as_bytes();
        let length = i32::try_from(HEADER_BYTES + body.len())?;
        let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
        for word in [length, 1, 0, OP_MSG, 0] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        message.push(0);
        message.extend_from_slice(body);
        self.socket.write_all(&message)?;
        let mut header = [0; HEADER_BYTES];
        self.socket.read_exact(&mut header)?;
        let length = i32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let n_bytes = usize::try_from(length)?.checked_sub(HEADER_BYTES).ok_or("a reply is too short")?;
        let mut reply = vec![0; n_bytes];
        self.socket.read_exact(&mut reply)?;
        let reply = RawDocumentBuf::from_bytes(reply)?;
        match reply.get_f64("ok") {
            Ok(1.0) if reply.get("writeErrors")?.is_none() => Ok(reply),
            _ => Err(format!("MongoDB refuses: {reply:?}").into()),
        }
    }

    /// Runs a command that gives a cursor, and reads it to its end.
    fn sum(
        &mut self,
        command: RawDocumentBuf,
        collection: &str,
        number: impl Fn(&RawDocument) -> Fallible<f64>,
        answer: &mut Answer,
    ) -> Fallible<()> {
        let mut reply = self.run(command)?;
        let mut batch = "firstBatch";
        loop {
            let cursor = reply.get_document("cursor")?;
            for document in cursor.get_array(batch)? {
                answer.add(number(document?.as_document().ok_or("a result is no document")?)?);
            }
            let id = cursor.get_i64("id")?;
            if id == 0 {
                return Ok(());
            }
            reply = self.run(rawdoc! { "getMore": id, "collection": collection, "batchSize": ALL })?;
            batch = "nextBatch";
        }
    }

    fn insert_batch(&mut self, collection: &str, documents: &[RawDocumentBuf]) -> Fallible<()> {
        let documents: RawArrayBuf = documents.iter().cloned().collect();
        self.run(rawdoc! { "insert": collection, "documents": documents })?;
        Ok(())
    }

    fn aggregate(
        &mut self,
        collection: &str,
        stages: impl IntoIterator<Item = RawDocumentBuf>,
        number: impl Fn(&RawDocument) -> Fallible<f64>,
    ) -> Fallible<Answer> {
        let pipeline: RawArrayBuf = stages.into_iter().collect();
        let command = rawdoc! { "aggregate": collection, "pipeline": pipeline, "cursor": { "batchSize": ALL } };
        let mut answer = Answer::default();
        self.sum(command, collection, number, &mut answer)?;
        Ok(answer)
    }
}

fn value(document: &RawDocument) -> Fallible<f64> {
    Ok(document.get_f64("value")?)
}

impl Engine for InMongoDb {
    fn name(&self) -> &str {
        "MongoDB, loopback"
    }

    fn insert(&mut self, data: &Data) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for batch in data.readings_bson.chunks(1000) {
            self.insert_batch("readings", batch)?;
            answer.count += batch.len() as u64;
        }
        Ok(answer)
    }

    fn insert_orders(&mut self, data: &Data) -> Fallible<()> {
        let orders: Vec<_> =
            data.orders.iter().map(|(id, customer)| rawdoc! {"_id": *id, "customer": *customer}).collect();
        self.insert_batch("orders", &orders)?;
        let customers: Vec<_> =
            data.customers.iter().map(|(id, name)| rawdoc! {"_id": *id, "name": name.as_str()}).collect();
        self.insert_batch("customers", &customers)
    }

    fn create_index(&mut self) -> Fallible<()> {
        let index = rawdoc! { "key": { "sensorId": 1, "ts": 1 }, "name": "by_sensor" };
        self.run(rawdoc! { "createIndexes": "readings", "indexes": [index] })?;
        Ok(())
    }

    fn find_by_id(&mut self, ids: &[i64]) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for id in ids {
            let command = rawdoc! { "find": "readings", "filter": { "_id": *id }, "limit": 1, "singleBatch": true };
            self.sum(command, "readings", value, &mut answer)?;
        }
        Ok(answer)
    }

    fn find_by_index(&mut self, asked: &[Stretch]) -> Fallible<Answer> {
        let mut answer = Answer::default();
        for Stretch { sensor, from, to } in asked {
            let filter = rawdoc! { "sensorId": sensor.as_str(), "ts": { "$gte": *from, "$lt": *to } };
            let command = rawdoc! { "find": "readings", "filter": filter, "batchSize": ALL };
            self.sum(command, "readings", value, &mut answer)?;
        }
        Ok(answer)
    }

    fn group(&mut self) -> Fallible<Answer> {
        let stage = rawdoc! { "$group": { "_id": "$sensorId", "avg": { "$avg": "$value" } } };
        self.aggregate("readings", [stage], |group| Ok(group.get_f64("avg")?))
    }

    fn top(&mut self) -> Fallible<Answer> {
        let stages = [rawdoc! { "$sort": { "value": -1, "_id": 1 } }, rawdoc! { "$limit": 10 }];
        self.aggregate("readings", stages, value)
    }

    fn lookup(&mut self) -> Fallible<Answer> {
        let stage = rawdoc! {
            "$lookup": { "from": "customers", "localField": "customer", "foreignField": "_id", "as": "customers" }
        };
        self.aggregate("orders", [stage], |order| {
            Ok(order.get_array("customers")?.get_document(0)?.get_i64("_id")? as f64)
        })
    }
}

impl Drop for InMongoDb {
    fn drop(&mut self) {
        // A database that is left behind is no reason to fail after the measurements were made.
        let _ = self.run(rawdoc! { "dropDatabase": 1 });
    }
}
