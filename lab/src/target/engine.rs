//! Bindery itself as a target, with all measuring hooks.

use bindery::{Database, Options};
use bson::{RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::{PageKind, Planner, StorageFigures, Target, Targets, Touch, Trace, TreeFigures};
use crate::error::{Error, Result};

/// Opens an empty in-memory database for each schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct Engine;

impl Targets for Engine {
    fn open(&self, planner: Planner) -> Result<Box<dyn Target>> {
        let planner = match planner {
            Planner::Bindery => bindery::Planner::Bindery,
            Planner::Mongodb => bindery::Planner::MongoDb,
        };
        // ObjectIds of a seed, so that a run can be repeated to the byte.
        let options = Options { planner, object_id_seed: Some(1), ..Options::default() };
        Ok(Box::new(Opened { database: Database::with_options(options), trace: None }))
    }

    fn describe(&self) -> String {
        format!("bindery {}", env!("CARGO_PKG_VERSION"))
    }
}

struct Opened {
    database: Database,
    trace: Option<bindery::Trace>,
}

impl Target for Opened {
    fn run(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        Ok(match &mut self.trace {
            Some(trace) => self.database.run_traced(command, trace),
            None => self.database.run_command(command),
        })
    }

    fn begin_trace(&mut self) {
        self.trace = Some(bindery::Trace::new());
    }

    fn end_trace(&mut self) -> Option<Trace> {
        let trace = self.trace.take()?;
        let touch = |access: &bindery::Access| Touch {
            page: access.page.0,
            kind: match access.kind {
                bindery::PageKind::RecordLeaf => PageKind::Record,
                bindery::PageKind::IndexLeaf => PageKind::IndexLeaf,
                bindery::PageKind::Inner => PageKind::Inner,
                bindery::PageKind::Overflow => PageKind::Overflow,
            },
            bytes: access.bytes,
            dirtied: access.dirty,
        };
        Some(Trace {
            touches: trace.accesses.iter().map(touch).collect(),
            keys_examined: trace.work.keys_examined,
            documents_examined: trace.work.docs_examined,
            index_entries_written: trace.work.index_entries_written,
        })
    }

    fn fork(&mut self) -> Option<Box<dyn Target>> {
        Some(Box::new(Opened { database: self.database.fork(), trace: None }))
    }

    fn storage(&mut self, collection: &str) -> Result<StorageFigures> {
        let reply = self.database.run_command(&rawdoc! { "collStats": collection });
        let wrong = || Error::Target(format!("collStats of `{collection}` tells no trees"));
        let part = |name: &str| reply.get_document(name).map_err(|_| wrong());
        let trees = |of: &RawDocument| -> Result<Vec<TreeFigures>> {
            let mut trees = Vec::new();
            for (name, value) in of.iter().flatten() {
                if let RawBsonRef::Document(stats) = value {
                    trees.push(tree(collection, name.as_str(), stats));
                }
            }
            Ok(trees)
        };
        // `count` is of logical documents; a layout stores fewer or more.
        let records = trees(part("bindery")?)?;
        Ok(StorageFigures {
            documents: records.iter().map(|tree| tree.entries).sum(),
            data_bytes: integer(&reply, "size"),
            records,
            indexes: trees(part("indexDetails")?)?,
        })
    }

    fn compact(&mut self, collection: &str) -> Result<()> {
        let reply = self.database.run_command(&rawdoc! { "compact": collection });
        match reply.get_f64("ok") {
            Ok(1.0) => Ok(()),
            _ => Err(Error::Command {
                code: reply.get_i32("code").unwrap_or(0),
                message: reply.get_str("errmsg").unwrap_or("no message").to_owned(),
                command: "compact".to_owned(),
            }),
        }
    }
}

fn tree(collection: &str, name: &str, stats: &RawDocument) -> TreeFigures {
    let sum = |names: [&str; 3]| names.iter().map(|name| integer(stats, name)).sum();
    TreeFigures {
        collection: collection.to_owned(),
        name: name.to_owned(),
        entries: integer(stats, "entries"),
        pages: sum(["leafPages", "innerPages", "overflowPages"]),
        bytes: sum(["leafBytes", "innerBytes", "overflowBytes"]),
        height: integer(stats, "height") as u32,
        fill: stats.get_f64("fill").unwrap_or(0.0),
    }
}

fn integer(document: &RawDocument, name: &str) -> u64 {
    match document.get(name) {
        Ok(Some(RawBsonRef::Int32(n))) => n.max(0) as u64,
        Ok(Some(RawBsonRef::Int64(n))) => n.max(0) as u64,
        Ok(Some(RawBsonRef::Double(n))) => n.max(0.0) as u64,
        _ => 0,
    }
}
