//! SQLite in memory: one table for each collection, with the `_id` as row id and the document as JSON.
//!
//! The row id is SQLite's fastest way to a row, so a find by `_id` needs no JSON. What else is asked for is extracted
//! from documents, or found by an index on what is extracted. What it sorts stays in memory, too: by default it would
//! spill to files.

use rusqlite::{Connection, Params, Row, params};

use crate::data::{Answer, Data, Stretch};
use crate::{Engine, Fallible};

/// How a document is stored.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Text.
    Text,
    /// SQLite's JSONB (<https://sqlite.org/jsonb.html>).
    Binary,
}

pub(crate) struct InSqlite {
    connection: Connection,
    form: Form,
}

impl InSqlite {
    pub(crate) fn open(form: Form) -> Fallible<InSqlite> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "PRAGMA temp_store = MEMORY;
             CREATE TABLE readings (id INTEGER PRIMARY KEY, doc NOT NULL);
             CREATE TABLE orders (id INTEGER PRIMARY KEY, doc NOT NULL);
             CREATE TABLE customers (id INTEGER PRIMARY KEY, doc NOT NULL);",
        )?;
        Ok(InSqlite { connection, form })
    }

    fn insert_into(&self, table: &str) -> String {
        let document = match self.form {
            Form::Text => "?2",
            Form::Binary => "jsonb(?2)",
        };
        format!("INSERT INTO {table} (id, doc) VALUES (?1, {document})")
    }

    /// What gives a document back as text.
    fn shown(&self, column: &str) -> String {
        match self.form {
            Form::Text => column.to_owned(),
            Form::Binary => format!("json({column})"),
        }
    }

    /// Runs a query and reads each row whole: a document (or nothing) first, then a number.
    fn sum(&self, query: &str, parameters: impl Params, answer: &mut Answer) -> Fallible<()> {
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            answer.add(read(row)?);
        }
        Ok(())
    }
}

/// Reads the document as a client would get it, and the number beside it.
fn read(row: &Row<'_>) -> Fallible<f64> {
    let document: String = row.get(0)?;
    std::hint::black_box(document);
    Ok(row.get(1)?)
}

impl Engine for InSqlite {
    fn name(&self) -> &str {
        match self.form {
            Form::Text => "SQLite, JSON",
            Form::Binary => "SQLite, JSONB",
        }
    }

    fn insert(&mut self, data: &Data) -> Fallible<Answer> {
        let sql = self.insert_into("readings");
        let mut answer = Answer::default();
        let readings: Vec<_> = data.readings.iter().zip(&data.readings_json).collect();
        for batch in readings.chunks(1000) {
            let transaction = self.connection.transaction()?;
            {
                let mut insert = transaction.prepare_cached(&sql)?;
                for (reading, document) in batch {
                    answer.count += insert.execute(params![reading.id, document])? as u64;
                }
            }
            transaction.commit()?;
        }
        Ok(answer)
    }

    fn insert_orders(&mut self, data: &Data) -> Fallible<()> {
        let (orders, customers) = (self.insert_into("orders"), self.insert_into("customers"));
        let transaction = self.connection.transaction()?;
        for (id, customer) in &data.orders {
            let document = serde_json::json!({"_id": id, "customer": customer}).to_string();
            transaction.prepare_cached(&orders)?.execute(params![id, document])?;
        }
        for (id, name) in &data.customers {
            let document = serde_json::json!({"_id": id, "name": name}).to_string();
            transaction.prepare_cached(&customers)?.execute(params![id, document])?;
        }
        Ok(transaction.commit()?)
    }

    fn create_index(&mut self) -> Fallible<()> {
        self.connection.execute_batch(
            "CREATE INDEX by_sensor ON readings (json_extract(doc, '$.sensorId'), json_extract(doc, '$.ts')); ANALYZE;",
        )?;
        Ok(())
    }

    fn find_by_id(&mut self, ids: &[i64]) -> Fallible<Answer> {
        let sql = format!("SELECT {}, json_extract(doc, '$.value') FROM readings WHERE id = ?1", self.shown("doc"));
        let mut answer = Answer::default();
        for id in ids {
            self.sum(&sql, params![id], &mut answer)?;
        }
        Ok(answer)
    }

    fn find_by_index(&mut self, asked: &[Stretch]) -> Fallible<Answer> {
        let sql = format!(
            "SELECT {}, json_extract(doc, '$.value') FROM readings WHERE json_extract(doc, '$.sensorId') = ?1
             AND json_extract(doc, '$.ts') >= ?2 AND json_extract(doc, '$.ts') < ?3",
            self.shown("doc")
        );
        let mut answer = Answer::default();
        for Stretch { sensor, from, to } in asked {
            self.sum(&sql, params![sensor, from, to], &mut answer)?;
        }
        Ok(answer)
    }

    fn group(&mut self) -> Fallible<Answer> {
        let sql = "SELECT json_extract(doc, '$.sensorId'), avg(json_extract(doc, '$.value')) FROM readings GROUP BY 1";
        let mut answer = Answer::default();
        self.sum(sql, [], &mut answer)?;
        Ok(answer)
    }

    fn top(&mut self) -> Fallible<Answer> {
        let sql = format!(
            "SELECT {}, json_extract(doc, '$.value') AS value FROM readings ORDER BY value DESC, id LIMIT 10",
            self.shown("doc")
        );
        let mut answer = Answer::default();
        self.sum(&sql, [], &mut answer)?;
        Ok(answer)
    }

    fn lookup(&mut self) -> Fallible<Answer> {
        // A join would give a row for each customer; the subquery gives an array, as $lookup does.
        let sql = format!(
            "SELECT json_set({}, '$.customers', (SELECT json_group_array(json(c.doc)) FROM customers c
             WHERE c.id = json_extract(o.doc, '$.customer'))), json_extract(o.doc, '$.customer') FROM orders o",
            self.shown("o.doc")
        );
        let mut answer = Answer::default();
        self.sum(&sql, [], &mut answer)?;
        Ok(answer)
    }
}
