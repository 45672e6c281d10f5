//! The database: the one door through which everything goes, and the face that owns the data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code, validate};
use bindery_index::{PageVisitor, Untraced};
use bson::{RawDocument, RawDocumentBuf};
use parking_lot::RwLock;

use crate::catalog::{Catalog, Entry};
use crate::clock::{Clock, ObjectIds};
use crate::collection::Collection;
use crate::command::{self, Request, Target};
use crate::cursor::Cursors;
use crate::execute::Scope;
use crate::expire::expire;
use crate::layout;
use crate::namespace;
use crate::trace::{Cx, Trace};

/// The database that is meant where none is named.
const DEFAULT_NAME: &str = "test";

/// How plans are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planner {
    /// The cheapest plan that the engine knows of.
    #[default]
    Bindery,
    /// What MongoDB 6.0 would choose, its odd choices included, so that counts transfer.
    MongoDb,
}

impl Planner {
    /// What a command's `planner` field says; of an `explain`, that of the explained command counts as well.
    ///
    /// # Errors
    /// 14 if it is no string, 2 if it names no planner.
    fn asked_for(command: Doc<'_>) -> Result<Option<Planner>> {
        let explained = match command.first().map(|first| (first.key_str(), first.value())) {
            Some(("explain", Value::Document(explained))) => explained.get(Planner::FIELD),
            _ => None,
        };
        match command.get(Planner::FIELD).or(explained) {
            None => Ok(None),
            Some(Value::String(name)) => match name.as_str() {
                "bindery" => Ok(Some(Planner::Bindery)),
                "mongodb" => Ok(Some(Planner::MongoDb)),
                other => Err(Error::new(
                    code::BAD_VALUE,
                    format!("planner must be \"bindery\" or \"mongodb\", not \"{other}\""),
                )),
            },
            Some(_) => Err(Error::new(code::TYPE_MISMATCH, "BSON field 'planner' must be a string")),
        }
    }

    /// The field of commands that names a planner.
    pub(crate) const FIELD: &str = "planner";
}

/// How a [`Database`] is set up.
#[derive(Debug, Default)]
pub struct Options {
    /// Where the time comes from.
    pub clock: Clock,
    /// A seed for ObjectIds that are the same in every run; random without.
    pub object_id_seed: Option<u64>,
    /// How plans are chosen.
    pub planner: Planner,
}

/// An in-memory server: many databases of many collections, answering MongoDB's commands.
///
/// Cheap to clone; all clones are the same database. [`Database::fork`] makes an independent one.
///
/// ```
/// let db = bindery_engine::Database::new();
/// let ping = bson::rawdoc! { "ping": 1 };
/// assert_eq!(db.run_command(&ping).get_f64("ok").ok(), Some(1.0));
/// ```
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
    /// The database that collections and commands without `$db` are in.
    name: Arc<str>,
}

/// What commands work on: the server that all share, and how this one plans.
pub(crate) struct Inner {
    shared: Arc<Shared>,
    pub(crate) planner: Planner,
}

/// The server's state.
pub(crate) struct Shared {
    pub(crate) catalog: RwLock<Catalog>,
    pub(crate) cursors: Cursors,
    pub(crate) clock: Clock,
    pub(crate) object_ids: ObjectIds,
    increment: AtomicU64,
}

impl std::ops::Deref for Inner {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Database {
    /// An empty database.
    pub fn new() -> Database {
        Database::with_options(Options::default())
    }

    /// An empty database, set up as asked.
    pub fn with_options(options: Options) -> Database {
        let object_ids = options.object_id_seed.map_or_else(ObjectIds::random, ObjectIds::seeded);
        let shared = Shared {
            catalog: RwLock::default(),
            cursors: Cursors::default(),
            clock: options.clock,
            object_ids,
            increment: AtomicU64::new(1),
        };
        let inner = Inner { shared: Arc::new(shared), planner: options.planner };
        Database { inner: Arc::new(inner), name: DEFAULT_NAME.into() }
    }

    /// An independent copy, made in the time it takes to copy the names: all pages are shared until either
    /// side writes. Open cursors stay with the original.
    pub fn fork(&self) -> Database {
        let shared = Shared {
            catalog: RwLock::new(self.inner.catalog.read().fork()),
            cursors: Cursors::default(),
            clock: self.inner.clock.clone(),
            object_ids: ObjectIds::random(),
            increment: AtomicU64::new(1),
        };
        let inner = Inner { shared: Arc::new(shared), planner: self.inner.planner };
        Database { inner: Arc::new(inner), name: Arc::clone(&self.name) }
    }

    /// Runs a command and gives the reply, which for a failure holds `ok: 0`, `code`, `codeName` and `errmsg`.
    ///
    /// The database is named by the command's `$db`; without, it is this one ([`Database::name`]). Beside MongoDB's
    /// fields, every command takes `planner: "bindery"` or `planner: "mongodb"`, which for this command
    /// outweighs [`Options::planner`].
    pub fn run_command(&self, command: &RawDocument) -> RawDocumentBuf {
        self.run_visited(command, &mut Untraced, false).0
    }

    /// As [`Database::run_command`], adding every page touched and the work done to the trace.
    pub fn run_traced(&self, command: &RawDocument, trace: &mut Trace) -> RawDocumentBuf {
        let (reply, work) = self.run_visited(command, trace, true);
        trace.work.add(work);
        reply
    }

    fn run_visited(
        &self,
        command: &RawDocument,
        visitor: &mut dyn PageVisitor,
        is_traced: bool,
    ) -> (RawDocumentBuf, crate::trace::Work) {
        let mut cx = Cx::new(visitor);
        cx.is_traced = is_traced;
        let reply = match self.inner.run(&self.name, command, &mut cx) {
            Ok(reply) => reply,
            Err(error) => error_reply(&error),
        };
        let work = cx.work;
        // The builder writes nothing but well-formed documents.
        let reply = RawDocumentBuf::from_bytes(reply.into_bytes()).unwrap_or_default();
        (reply, work)
    }

    /// Deletes the documents that have expired by the database's clock, those of its TTL indexes and of clustered
    /// collections with `expireAfterSeconds`; says how many. Nothing expires unless this is called.
    ///
    /// ```
    /// use bindery_engine::{Clock, Database, Options};
    /// use bson::{DateTime, doc};
    ///
    /// let clock = Clock::fixed(0);
    /// let db = Database::with_options(Options { clock: clock.clone(), ..Options::default() });
    /// let index = doc! { "key": { "seen": 1 }, "name": "seen_1", "expireAfterSeconds": 60 };
    /// db.run_command(&bson::serialize_to_raw_document_buf(&doc! { "createIndexes": "users", "indexes": [index] })?);
    /// db.collection("users").insert_one(&doc! { "_id": 1, "seen": DateTime::from_millis(0) })?;
    /// clock.set(59_999);
    /// assert_eq!(db.expire()?, 0);
    /// clock.set(60_000);
    /// assert_eq!(db.expire()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Only for what is a fault of ours, such as a corrupt page.
    pub fn expire(&self) -> Result<u64> {
        expire(&self.inner, &mut Cx::new(&mut Untraced))
    }

    /// The same server, seen as the database of this name: collections, and commands without `$db`, are in it.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Database {
        Database { inner: Arc::clone(&self.inner), name: name.into() }
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// What commands work on, for the typed API.
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Default for Database {
    fn default() -> Database {
        Database::new()
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let catalog = self.inner.catalog.read();
        let names: Vec<String> = catalog.databases().map(|(name, _)| name.to_owned()).collect();
        f.debug_struct("Database").field("databases", &names).finish_non_exhaustive()
    }
}

impl Inner {
    fn run(self: &Arc<Self>, default: &str, command: &RawDocument, cx: &mut Cx<'_>) -> Result<DocBuf> {
        validate::validate(command.as_bytes())?;
        let command = Doc::from_bson(command);
        let database = match command.get("$db") {
            None => default,
            Some(Value::String(name)) => name.as_str(),
            Some(_) => return Err(Error::new(code::TYPE_MISMATCH, "BSON field '$db' must be a string")),
        };
        self.execute(database, command, cx)
    }

    /// Runs a command whose bytes are known to be well-formed.
    ///
    /// # Errors
    /// What the command says.
    pub(crate) fn execute(self: &Arc<Self>, database: &str, command: Doc<'_>, cx: &mut Cx<'_>) -> Result<DocBuf> {
        let Some(first) = command.first() else {
            return Err(Error::new(code::COMMAND_NOT_FOUND, "an empty document is no command"));
        };
        namespace::check_database(database)?;
        let planning;
        let server = match Planner::asked_for(command)?.filter(|planner| *planner != self.planner) {
            None => self,
            Some(planner) => {
                planning = Arc::new(Inner { shared: Arc::clone(&self.shared), planner });
                &planning
            }
        };
        let request = Request { server, database, command };
        let mut reply = command::run(first.key_str(), &request, cx)?;
        reply.append("ok", 1.0);
        Ok(reply.finish())
    }

    /// The plain collection with this name, if it is one.
    pub(crate) fn collection(&self, database: &str, name: &str) -> Option<Arc<Collection>> {
        match self.catalog.read().get(database, name) {
            Some(Entry::Collection(collection)) => Some(Arc::clone(collection)),
            _ => None,
        }
    }

    /// What a name stands for, the stored forms of collections with a layout included.
    pub(crate) fn target(&self, database: &str, name: &str) -> Target {
        let catalog = self.catalog.read();
        match catalog.get(database, name) {
            None if name.starts_with(namespace::BUCKETS_PREFIX) => {
                match catalog.get(database, &name[namespace::BUCKETS_PREFIX.len()..]) {
                    Some(Entry::Layout(series)) if series.series.is_some() => {
                        series.buckets(self).map_or(Target::Absent, Target::Collection)
                    }
                    _ => Target::Absent,
                }
            }
            None => match layout::split_stored(name).map(|(base, rest)| (catalog.get(database, base), rest)) {
                Some((Some(Entry::Layout(collection)), rest)) => {
                    collection.stored_form(rest).map_or(Target::Absent, Target::Collection)
                }
                _ => Target::Absent,
            },
            Some(Entry::Layout(collection)) => Target::Layout(Arc::clone(collection)),
            Some(Entry::Collection(collection)) => Target::Collection(Arc::clone(collection)),
            Some(Entry::View(view)) => Target::View(Arc::clone(view)),
        }
    }

    /// What a command's expressions are compiled with.
    pub(crate) fn scope(&self) -> Scope {
        Scope { now_millis: self.now_millis() }
    }

    /// Tells timestamps of one second apart.
    pub(crate) fn next_increment(&self) -> u64 {
        self.increment.fetch_add(1, Ordering::Relaxed) & 0xFFFF_FFFF
    }

    /// A UUID of the random kind, made of two ObjectIds, so that a seed gives the same ones in every run.
    pub(crate) fn new_uuid(&self) -> [u8; 16] {
        let now = self.now_millis();
        let (a, b) = (self.object_ids.next(now), self.object_ids.next(now));
        let mut uuid = [0; 16];
        uuid[..12].copy_from_slice(&a);
        uuid[12..].copy_from_slice(&b[8..]);
        // The version and variant bits of a random UUID (RFC 9562, section 5.4).
        uuid[6] = uuid[6] & 0x0F | 0x40;
        uuid[8] = uuid[8] & 0x3F | 0x80;
        uuid
    }

    /// The time.
    pub(crate) fn now_millis(&self) -> i64 {
        self.clock.now_millis()
    }
}

/// The reply for a failure.
fn error_reply(error: &Error) -> DocBuf {
    let mut reply = Builder::new();
    reply.append("ok", 0.0);
    reply.append("errmsg", error.message.as_str());
    reply.append("code", error.code);
    reply.append("codeName", error.code_name().as_str());
    for element in error.details.iter().flat_map(|details| details.doc().iter()) {
        reply.append_element(element);
    }
    reply.finish()
}
